"""Run cocotb tests on a component: emit it as Verilog, build a simulation, run a module of tests."""

from __future__ import annotations

from pathlib import Path

from amaranth.lib import wiring

from sardonyx.cocotb.runner import run
from sardonyx.hw import emit
from sardonyx.hw.component import module_name


def run_cocotb(component: wiring.Component, module: str, simulator: str, folder: Path) -> None:
    """Run every cocotb test of a module on a component; AssertionError with the log if one fails.

    simulator: ``verilator`` or ``icarus``.
    """
    top = module_name(component)
    emit.emit(component, folder / "verilog")
    run(folder / "verilog", module, out=folder, top=top, simulator=simulator)
