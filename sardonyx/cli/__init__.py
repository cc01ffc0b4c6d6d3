"""The command line: `sardonyx doctor | verilog | run | tune | spatial | board | explain | cache`.

Results go to the standard output, progress and elapsed time to the standard error. Exit codes: 0 done; 1 a
fault of ours; 2 a mistake in what the user gave, or a tool that is missing; 130 interrupted.
"""

from __future__ import annotations

import contextlib
import json
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence

from ..hw.arch.errors import UserError
from . import board, cache, doctor, explain, run, spatial, tune, verilog
from .console import Console, write
from .parser import Parser, version

DONE, FAULT, MISTAKE, INTERRUPTED = 0, 1, 2, 130


def parser() -> Parser:
    """The whole command line as a parser."""
    top = Parser("sardonyx", "Sparse and dense tensor accelerators: Verilog, compiler and proof.", [
        "sardonyx doctor",
        "sardonyx verilog --preset small --out build/small",
        "sardonyx run demo",
        "sardonyx run einsum 'X(i,j) = B(i,k) * C(k,j)' --B a.mtx --C b.mtx --arch small --engine rtl",
        "sardonyx explain arch onyx",
    ])
    top.add_argument("--version", action="version", version=f"sardonyx {version()}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=Parser)
    for command in (doctor, verilog, run, tune, spatial, board, explain, cache):
        command.add(commands)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code and never raises for a mistake of the user."""
    words = list(sys.argv[1:] if argv is None else argv)
    console = Console(as_json="--json" in words)
    debug = "--debug" in words
    try:
        options = parser().parse_args(words)
        with console, _silent_when_stopped():
            return int(options.body(options, console))
    except UserError as mistake:
        if debug:
            traceback.print_exc()
        return _mistake(mistake, console)
    except OSError as fault:
        if debug or fault.filename is None:
            return _fault(fault, console, debug)
        return _mistake(UserError((fault.strerror or str(fault)).lower(), where=str(fault.filename),
                                  fix="name another file or folder"), console)
    except MemoryError as fault:
        if debug:
            traceback.print_exc()
        return _mistake(UserError(f"not enough memory: {fault}" if str(fault) else "not enough memory",
                                  fix="use smaller operands, or fewer indices that run over everything"), console)
    except KeyboardInterrupt:
        console.interrupted()
        return INTERRUPTED
    except Exception as fault:
        return _fault(fault, console, debug)


@contextlib.contextmanager
def _silent_when_stopped() -> Iterator[None]:
    """Hardware that was described and is not used as a command ends early is no news: Amaranth would warn of each part."""
    try:
        yield
    except BaseException:
        if amaranth := sys.modules.get("amaranth.hdl"):
            warnings.simplefilter("ignore", amaranth.UnusedElaboratable)
        raise


def _mistake(mistake: UserError, console: Console) -> int:
    # A mistake in the command line itself already begins with the command.
    write(str(mistake) if mistake.where.startswith("sardonyx") else f"sardonyx: {mistake}", sys.stderr)
    if console.as_json:
        error = {"what": mistake.what, "where": mistake.where, "fix": mistake.fix}
        write(json.dumps({"ok": False, "error": error}, indent=2), sys.stdout)
    return MISTAKE


def _fault(fault: Exception, console: Console, debug: bool) -> int:
    if debug:
        traceback.print_exception(fault)
    what = f"internal fault: {type(fault).__name__}: {fault}"
    write(f"sardonyx: {what}\n"
          "  This is our mistake, not yours. Please open an issue with the command, its files, the output\n"
          "  of `sardonyx doctor --json`, and what the same command prints with --debug.", sys.stderr)
    if console.as_json:
        write(json.dumps({"ok": False, "error": {"what": what, "where": "", "fix": ""}}, indent=2), sys.stdout)
    return FAULT
