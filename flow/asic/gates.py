"""The cells of a netlist as Verilog, so that any simulator runs it: what their Liberty functions say, without delays.

Registers have no initial values: a simulator with four states shows what reset does not reach.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from ...hw.yosys import run_yosys
from .cells import cells
from .library import Library
from .synthesis import CELLS


def cell_models(netlist: str, library: Library) -> str:
    """A module for every cell that a netlist uses."""
    known = cells(library)
    used = sorted({name for name in re.findall(r"^  (\w+) ", netlist, re.MULTILINE) if library.family.mark in name})
    gates = [name for name in used if known[name].clock_gate]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / CELLS).write_text(library.text)
        # Clock gates have states that Yosys does not read.
        (folder / "run.ys").write_text(f"read_liberty -ignore_miss_func {CELLS}\n"
                                       f"select {' '.join(name for name in used if name not in gates)}\nproc\n"
                                       "write_verilog -noattr -selected gates.v\n")
        run_yosys(["-q", "run.ys"], folder)
        return "".join([(folder / "gates.v").read_text(), *(_clock_gate(name, library) for name in gates)])


def _clock_gate(name: str, library: Library) -> str:
    """A clock gate: it passes the pulses of the clock before which its enable was 1."""
    _, clock, enable, gated, *tied = library.family.gate
    return (f"module {name} ({', '.join(f'input {pin}' for pin in (clock, enable, *tied))}, output {gated});\n"
            f"  reg open;\n  always @* if (!{clock}) open = {enable};\n  assign {gated} = {clock} & open;\nendmodule\n")
