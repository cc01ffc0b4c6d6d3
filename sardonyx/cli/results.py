"""Results of programs: shown with their tables, written to files."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..hw.arch.errors import UserError
from .console import Console, table


def check_out(out: Path | None, expression: str, order: str | None, formats: Mapping[str, str]) -> None:
    """UserError for a file of another kind than the result of an expression, before the run, which may take minutes."""
    from .. import api
    from ..compiler.lang.program import parse_program
    from ..dump import check_file

    if out is None:
        return
    if out.suffix not in (".mtx", ".npy") or out.is_dir():
        raise UserError("the result is written to a file that ends in .mtx (a matrix) or .npy (a vector or tensor)", str(out),
                        "name such a file")
    check_file(out, "the result")
    try:
        form = parse_program(expression, order or "", formats).result.result.format
    except UserError:
        return      # the run says what is wrong
    api.check_ending(out, form.rank == 2 and form.dense_levels < 2)


def with_tables(result: Any) -> Any:
    """What was found, with energy and counters in tables of their own; of statements that ran in turn those of each."""
    from .. import api

    rest, found = _apart(result.report)
    if "statements" in rest:
        apart = {name: _apart(each) for name, each in rest["statements"].items()}
        rest["statements"] = {name: plain for name, (plain, _) in apart.items()}
        found += [f"{name}: {each}" for name, (_, tables) in apart.items() for each in tables]
    return api.Outcome(result.report, "\n\n".join([table(rest), *found])) if found else result


def _apart(report: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """A report without its tables, and these."""
    from .. import counters, power

    kinds: dict[str, Callable[[Any], str]] = {"power": power.text, "counters": counters.text}
    return ({name: value for name, value in report.items() if name not in kinds},
            [text(report[name]) for name, text in kinds.items() if name in report])


def finish(result: Any, options: argparse.Namespace, console: Console) -> int:
    from .. import api

    if options.out is not None:
        api.save(result, options.out)
    console.show(with_tables(result))
    hint(options, console)
    return 0


def hint(options: argparse.Namespace, console: Console) -> None:
    """End with what to try next."""
    if getattr(options, "engine", "") in ("golden", "tokens", "fabric"):
        hint = "--engine rtl runs the same program in generated Verilog"
    elif options.dump is None:
        hint = "--dump DIR writes every stage of the compiler"
    else:
        hint = f"read the stages in {options.dump}"
    console.end(hint)
