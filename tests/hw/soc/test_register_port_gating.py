"""The port for registers, clocked while it is used only, beside one that always is: under any signals both do the same."""

import random
from typing import Any

import pytest
from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator, SimulatorContext

from sardonyx.hw.arch.glb import CELL
from sardonyx.hw.clock_gate import gated_clock, lasting
from sardonyx.hw.emit import macro
from sardonyx.hw.soc import shell
from sardonyx.hw.soc.axi_lite import AxiLite

BITS = ("s_axil_awvalid", "s_axil_wvalid", "s_axil_arvalid", "s_axil_bready", "s_axil_rready")
REST, WORK = 60, 90
# Cycles of rest and work in turn; so many in all.
CYCLES = 4000


class Alike(wiring.Component):
    """Two ports; `differs` says that they once did not do the same; it counts answers, writes and cycles without a clock."""

    def __init__(self, margin: int) -> None:
        self.margin = margin
        self.ports = [AxiLite(8) for _ in range(2)]
        self.inputs = {name: member for name, member in self.ports[0].signature.members.items() if member.flow is In}
        super().__init__({**self.inputs, "reset": In(1), "differs": Out(1), "answers": Out(16), "writes": Out(16),
                          "rested": Out(16)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        clock = gated_clock(m, "registers", CELL, platform)
        m.submodules.plain = plain = macro(self.ports[0], flush=self.reset)
        m.submodules.gated = gated = macro(self.ports[1], flush=self.reset, clock=clock)
        used = Signal()
        m.d.comb += [used.eq(self.reset | lasting(m, "registers", self.reset | shell.registers_are_used(gated), self.margin)),
                     clock.on.eq(used)]
        for name in self.inputs:
            m.d.comb += [getattr(each, name).eq(getattr(self, name)) for each in (plain, gated)]
        with m.If(does(plain) != does(gated)):
            m.d.sync += self.differs.eq(1)
        taken = (plain.s_axil_rvalid & self.s_axil_rready) + (plain.s_axil_bvalid & self.s_axil_bready)
        m.d.sync += [self.answers.eq(self.answers + taken), self.writes.eq(self.writes + plain.write),
                     self.rested.eq(self.rested + ~used)]
        return m


def does(port: Any) -> Value:
    """All outputs; what belongs to an offer, a write or an access if there is one."""
    said = [(port.s_axil_bvalid, port.s_axil_bresp), (port.s_axil_rvalid, Cat(port.s_axil_rdata, port.s_axil_rresp)),
            (port.write, Cat(port.address, port.data)), (port.accepts, port.next)]
    return Cat(port.s_axil_awready, port.s_axil_wready, port.s_axil_arready,
               *(Cat(valid, Mux(valid, what, 0)) for valid, what in said))


def run(margin: int, seed: int) -> "dict[str, int]":
    """Signals at random, some for long, and rests of the bus, in which answers may wait or a write for its data."""
    dut, draw, found = Alike(margin), random.Random(seed), dict[str, int]()

    async def drive(sim: SimulatorContext) -> None:
        left = dict.fromkeys(BITS, 0)
        for cycle in range(CYCLES):
            rests = cycle % (REST + WORK) >= WORK
            for name in BITS:
                left[name] -= 1
                if rests and name.endswith("valid"):
                    sim.set(getattr(dut, name), 0)
                elif left[name] < 0:
                    left[name] = draw.choice((0, 0, 1, 5, 30))
                    sim.set(getattr(dut, name), draw.random() < 0.5)
            for name, bits in (("awaddr", 8), ("araddr", 8), ("wdata", 32)):
                sim.set(getattr(dut, f"s_axil_{name}"), draw.getrandbits(bits))
            sim.set(dut.s_axil_wstrb, draw.choice((15, 15, 15, 3)))
            sim.set(dut.value, draw.getrandbits(32))
            sim.set(dut.error, draw.random() < 0.1)
            sim.set(dut.reset, draw.random() < 0.005)
            await sim.tick()
        found.update({name: sim.get(getattr(dut, name)) for name in ("differs", "answers", "writes", "rested")})

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(drive)
    simulator.run()
    return found


@pytest.mark.parametrize("seed", [1, 2])
def test_a_gated_port_for_registers_does_in_every_cycle_what_another_does(seed: int) -> None:
    found = run(shell.PORT_MARGIN, seed)
    assert not found["differs"] and found["answers"] > 100 and found["writes"] > 50 and found["rested"] > 400, found


def test_a_margin_that_is_too_short_for_registers_is_found() -> None:
    assert run(1, 1)["differs"]
