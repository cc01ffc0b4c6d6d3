"""What benches of machines without registers on tracks share, inside a simulator."""

from typing import Any

from cocotb.clock import Clock
from open_machines import blocks

from sardonyx.cocotb import Session
from sardonyx.compiler.ir.program import Program
from sardonyx.hw.arch.cgra import Arch
from sardonyx.runtime import host
from sardonyx.sim.rtl import simulator

BOUNDS = {"b_vals": 30}


async def compared(dut: Any, arch: Arch, program: Program) -> None:
    """Copies blocks, in as many cycles as the same machine stitched of modules."""
    Clock(dut.clk, 10, "ns").start()
    session = await Session.open(dut, arch)
    given = [{"a_vals": each} for each in blocks()]
    found = await session.launch(program, given, BOUNDS)
    with simulator.whole_machine(arch).start() as machine:
        right = [*host.run(machine, program, given, BOUNDS)]
    assert [each.cycles for each in found] == [each.cycles for each in right]
    assert [stored["b_vals"].tolist() for each in found for stored in each.stored] == [each.tolist() for each in blocks()]
