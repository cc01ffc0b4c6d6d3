"""What other tools say of emitted Verilog; each check is an AssertionError with the report of its tool."""

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from sardonyx.hw.yosys import run_yosys
from sardonyx.sim.rtl import verilator


def lint(files: Sequence[Path], top: str) -> None:
    """``verilator --lint-only -Wall`` with the waivers of `hw.emit`."""
    verilator.verilator(["--lint-only", *verilator.warnings(), "--top-module", top, *map(str, files)])


def check_yosys(files: Sequence[Path], top: str) -> None:
    """Hierarchy, drivers and loops."""
    with tempfile.TemporaryDirectory() as folder:
        for file in files:
            Path(folder, file.name).write_bytes(file.read_bytes())
        reads = "".join(f"read_verilog -sv {file.name}; " for file in files)
        run_yosys(["-q", "-p", f"{reads}hierarchy -check -top {top}; proc; check -assert"], Path(folder))


def check_icarus(files: Sequence[Path], top: str) -> None:
    """``iverilog -g2012``, which must say nothing."""
    done = subprocess.run(["iverilog", "-g2012", "-t", "null", "-s", top, *map(str, files)], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0 and not done.stdout, f"iverilog failed:\n{done.stdout[:10_000]}"
