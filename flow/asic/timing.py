"""Static timing of a netlist with OpenSTA: the worst path of each kind, with its points.

Kinds: from register to register, from input to register, from register to output, from input to output. A delay counts from
the edge that starts the path, or from its input, to the data input of the register or to the output; the setup of the register
at its end, some 20 ps, is given beside it. Wires have no delay, the clock arrives everywhere at once.

Where words are latches, a path may end while they are open, so no delay of one path says what the period is: `least_period`.

Errors:  UserError without ``sta``, where it does not take the library, or where no period is long enough.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...hw.arch.errors import UserError
from . import sram
from .library import ADVICE, Library
from .synthesis import PERIOD_PS, Design

Kinds = Mapping[str, tuple[str, str]]
KINDS: Kinds = {"reg-reg": ("[all_registers -clock_pins]", "[all_registers -data_pins]"),
                "in-reg": ("$inputs", "[all_registers -data_pins]"),
                "reg-out": ("[all_registers -clock_pins]", "[all_outputs]"),
                "in-out": ("$inputs", "[all_outputs]")}
"""Where paths of each kind start and end, in Tcl."""
_MARK = "== "
# The longest period that is tried, and what is told where it is too short.
_LONGEST_PS, NONE = 1000 << 10, "none"
_POINT = re.compile(r"^ *([0-9.]+) +(-?[0-9.]+) [\^v] (\S+) \((\S+)\)$", re.MULTILINE)
_ARRIVAL = re.compile(r"^ +(-?[0-9.]+) +data arrival time$", re.MULTILINE)
_SETUP = re.compile(r"^ *-([0-9.]+) +-?[0-9.]+ +library setup time$", re.MULTILINE)


@dataclass(frozen=True)
class Point:
    """A pin on a path and when the signal is there, in picoseconds."""

    pin: str
    cell: str
    ps: float


@dataclass(frozen=True)
class Worst:
    """The worst path of a kind: its delay, and the setup of the register at its end."""

    kind: str
    ps: float
    setup_ps: float
    points: tuple[Point, ...]


def find_sta() -> str:
    """OpenSTA's program."""
    found = shutil.which("sta")
    if found is None:
        raise UserError("OpenSTA (sta) is not installed", fix="apt-get install opensta")
    return found


def worst_paths(design: Design, netlist: str, library: Library, kinds: Kinds = KINDS) -> dict[str, Worst]:
    """The worst path of every kind that the module has."""
    period = PERIOD_PS / library.picoseconds
    said = _run(design, netlist, library, lambda names: script(design.top, names, period, kinds))
    return read_report(said, library.picoseconds)


def least_period(design: Design, netlist: str, library: Library) -> float:
    """The shortest period in picoseconds, to one of them, with which all registers, latches and clock gates have their setup
    and outputs are there by its end."""
    said = _run(design, netlist, library, lambda names: least_script(design.top, names, library.picoseconds))
    return read_least(said, design.top)


def read_least(text: str, top: str) -> float:
    """The shortest period in what OpenSTA wrote of a module. Errors: UserError where none that was tried is long enough."""
    found = re.search(rf"^{_MARK}([0-9.]+|{NONE})$", text, re.MULTILINE)
    assert found, f"sta failed:\n{text[-10_000:]}"
    if found[1] == NONE:
        raise UserError(f"no period up to {_LONGEST_PS // 1000} ns is long enough for its registers, latches and clock gates",
                        top, "look for loops of latches, or for outputs that follow no register")
    return float(found[1])


def _run(design: Design, netlist: str, library: Library, tcl: Callable[[Sequence[str]], str]) -> str:
    """What OpenSTA writes while it runs a script, which is made for the names of the libraries."""
    program = find_sta()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        views = [f"{name}.lib" for name in design.srams]
        for name in design.srams:
            (folder / f"{name}.lib").write_text(sram.view(name, design.modules[name]))
        (folder / "cells.lib").write_text(library.text)
        (folder / "netlist.v").write_text(netlist)
        (folder / "run.tcl").write_text(tcl(["cells.lib", *views]))
        done = subprocess.run([program, "-no_splash", "-exit", "run.tcl"], cwd=folder, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    if refused := re.search(r"^Error: (cells\.lib.*)$", done.stdout, re.MULTILINE):
        raise UserError(f"OpenSTA cannot read this library: {refused[1]}", str(library.path), ADVICE)
    return linked(done.stdout, design.top)


def linked(said: str, top: str) -> str:
    """What OpenSTA said of a module; AssertionError where it could not read the netlist.

    It goes on behind an error: a bisection over no network ends with the period that it began with.
    """
    failed = re.search(r"^Error: (netlist\.v.*|no network .*)$", said, re.MULTILINE)
    assert not failed, f"OpenSTA on {top}: {failed and failed[1]}"
    return said


def script(top: str, libraries: Sequence[str], period: float, kinds: Kinds = KINDS) -> str:
    """What OpenSTA does, in its language: Tcl."""
    lines = [*_linked(top, libraries), *_clocked(str(period))]
    for kind, (start, end) in kinds.items():
        lines += [f'puts "{_MARK}{kind}"', f"report_checks -path_delay max -from {start} -to {end} -digits 5"]
    return "\n".join([*lines, f'puts "{_MARK}end"']) + "\n"


def least_script(top: str, libraries: Sequence[str], picoseconds: float) -> str:
    """A bisection in Tcl, below the first period that is long enough of those that double from the target on. A slack of 0 is
    that of a latch that passes on how late its word comes."""
    # Not down from a long one: OpenSTA 2.0.17 crashes on some netlists with latches at periods of hundreds of ns.
    return "\n".join([
        *_linked(top, libraries), "proc met {middle} {", "  global inputs period",
        f"  set period [expr {{$middle / {float(picoseconds)}}}]", *(f"  {line}" for line in _clocked("$period")),
        "  return [expr {[worst_slack -max] > -1e-6}]", "}", "set low 0", f"set high {PERIOD_PS}",
        f"while {{$high <= {_LONGEST_PS} && ![met $high]}} {{", "  set low $high", "  set high [expr {2 * $high}]", "}",
        f'if {{$high > {_LONGEST_PS}}} {{ puts "{_MARK}{NONE}" }} else {{', "  while {$high - $low > 1} {",
        "    set middle [expr {($low + $high) / 2}]", "    if {[met $middle]} { set high $middle } else { set low $middle }",
        "  }", f'  puts "{_MARK}$high"', "}"]) + "\n"


def _linked(top: str, libraries: Sequence[str]) -> list[str]:
    # The clock is everywhere at once, so there is nothing to give back; OpenSTA 2.0.17 gives registers behind a common clock
    # gate the whole delay of that gate.
    return ["set sta_crpr_enabled 0", *(f"read_liberty {name}" for name in libraries), "read_verilog netlist.v",
            f"link_design {top}", "set inputs {}",
            'foreach port [all_inputs] { if {[get_property $port full_name] ne "clk"} { lappend inputs $port } }']


def _clocked(period: str) -> list[str]:
    return [f"create_clock -name clk -period {period} [get_ports clk]", "set_input_delay 0 -clock clk $inputs",
            "set_output_delay 0 -clock clk [all_outputs]"]


def read_report(text: str, picoseconds: float) -> dict[str, Worst]:
    """The paths in what OpenSTA wrote; `picoseconds`: its unit."""
    assert text.rstrip().endswith(f"{_MARK}end"), f"sta failed:\n{text[-10_000:]}"
    found = {}
    for part in text.split(f"\n{_MARK}")[1:]:
        kind, _, body = part.partition("\n")
        arrival = _ARRIVAL.search(body)
        if arrival is None:
            continue        # such as from input to output where every output comes from a register
        setup = _SETUP.search(body)
        points = tuple(Point(pin, cell, float(ps) * picoseconds) for _, ps, pin, cell in _POINT.findall(body[:arrival.start()]))
        found[kind] = Worst(kind, float(arrival[1]) * picoseconds, float(setup[1]) * picoseconds if setup else 0.0, points)
    return found
