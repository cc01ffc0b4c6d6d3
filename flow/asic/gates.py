"""The cells of a netlist as Verilog, so that any simulator runs it: what their Liberty functions say, without delays.

Registers have no initial values: a simulator with four states shows what reset does not reach.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from ...hw.yosys import run_yosys
from .library import Library
from .synthesis import CELLS


def cell_models(netlist: str, library: Library) -> str:
    """A module for every cell that a netlist uses."""
    used = sorted({name for name in re.findall(r"^  (\w+) ", netlist, re.MULTILINE) if library.family.mark in name})
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / CELLS).write_text(library.text)
        # Clock gates have states that Yosys does not read; the netlists that are timed have none.
        (folder / "run.ys").write_text(f"read_liberty -ignore_miss_func {CELLS}\nselect {' '.join(used)}\nproc\n"
                                       "write_verilog -noattr -selected gates.v\n")
        run_yosys(["-q", "run.ys"], folder)
        return (folder / "gates.v").read_text()
