"""The port for data, clocked while it is used only, beside one that always is: under any signals both do the same."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator, SimulatorContext
from machines import LEAST
from simulators import run_cocotb

from sardonyx.hw.arch.glb import CELL, HYBRID
from sardonyx.hw.clock_gate import gated_clock, lasting
from sardonyx.hw.emit import macro
from sardonyx.hw.soc import shell
from sardonyx.hw.soc.axi_data import AxiData
from sardonyx.hw.soc.top import Sardonyx

LINES = 16
# How often a master or the memory holds a signal for some cycles, and what it is then.
MEMORY = ("write_ready", "read_ready")
BITS = ("s_axi_awvalid", "s_axi_wvalid", "s_axi_arvalid", "s_axi_bready", "s_axi_rready", "s_axi_wlast", *MEMORY)


class Alike(wiring.Component):
    """Two ports; `differs` says that they once did not do the same, `used` counts answers, `rested` cycles without a clock."""

    def __init__(self, read_latency: int, margin: int) -> None:
        self.read_latency, self.margin = read_latency, margin
        self.ports = [AxiData(8 * LINES, read_latency=read_latency) for _ in range(2)]
        self.inputs = {name: member for name, member in self.ports[0].signature.members.items() if member.flow is In}
        super().__init__({**self.inputs, "reset": In(1), "differs": Out(1), "used": Out(16), "rested": Out(16)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        clock = gated_clock(m, "data", CELL, platform)
        m.submodules.plain = plain = macro(self.ports[0], flush=self.reset)
        m.submodules.gated = gated = macro(self.ports[1], flush=self.reset, clock=clock)
        used = Signal()
        m.d.comb += used.eq(self.reset | lasting(m, "data", self.reset | shell.port_is_used(gated), self.margin))
        m.d.comb += clock.on.eq(used)
        for name in self.inputs:
            m.d.comb += [getattr(each, name).eq(getattr(self, name)) for each in (plain, gated)]
        with m.If(does(plain) != does(gated)):
            m.d.sync += self.differs.eq(1)
        answers = (plain.s_axi_rvalid & self.s_axi_rready) + (plain.s_axi_bvalid & self.s_axi_bready)
        m.d.sync += [self.used.eq(self.used + answers), self.rested.eq(self.rested + ~used)]
        return m


def does(port: Any) -> Value:
    """All outputs; what belongs to an offer if there is one."""
    offers = [(port.s_axi_bvalid, Cat(port.s_axi_bid, port.s_axi_bresp)),
              (port.s_axi_rvalid, Cat(port.s_axi_rid, port.s_axi_rdata, port.s_axi_rresp, port.s_axi_rlast)),
              (port.write_valid, Cat(port.write_line, port.write_data, port.write_strobe)), (port.read_valid, port.read_line)]
    return Cat(port.s_axi_awready, port.s_axi_wready, port.s_axi_arready,
               *(Cat(valid, Mux(valid, said, 0)) for valid, said in offers))


def run(dut: Alike, seed: int, cycles: int) -> "dict[str, int]":
    """Signals at random, some for long."""
    draw, found = random.Random(seed), dict[str, int]()

    async def drive(sim: SimulatorContext) -> None:
        left = dict.fromkeys(BITS, 0)
        for cycle in range(cycles):
            for name in BITS:
                left[name] -= 1
                if cycle % 150 > 100:       # a rest of the bus, in which a burst may wait for its beats, or late for the memory
                    sim.set(getattr(dut, name), name in MEMORY and cycle % 150 > 130)
                elif left[name] < 0:
                    left[name] = draw.choice((0, 0, 1, 5, 40))
                    sim.set(getattr(dut, name), draw.random() < 0.5)
            for channel in ("aw", "ar"):
                sim.set(getattr(dut, f"s_axi_{channel}addr"), 8 * draw.randrange(LINES + 4))
                sim.set(getattr(dut, f"s_axi_{channel}len"), draw.choice((0, 0, 1, 2, 7)))
                sim.set(getattr(dut, f"s_axi_{channel}size"), 3 - (draw.random() < 0.1))
                sim.set(getattr(dut, f"s_axi_{channel}burst"), 1)
                sim.set(getattr(dut, f"s_axi_{channel}id"), draw.getrandbits(4))
            sim.set(dut.s_axi_wdata, draw.getrandbits(64))
            sim.set(dut.s_axi_wstrb, draw.getrandbits(8))
            sim.set(dut.read_word, draw.getrandbits(64))
            sim.set(dut.reset, draw.random() < 0.01)
            await sim.tick()
        found.update({name: sim.get(getattr(dut, name)) for name in ("differs", "used", "rested")})

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(drive)
    simulator.run()
    return found


@pytest.mark.parametrize("read_latency", [1, 3])
def test_a_gated_port_does_in_every_cycle_what_another_does(read_latency: int) -> None:
    found = run(Alike(read_latency, shell.PORT_MARGIN + read_latency), 1, 2000)
    assert not found["differs"] and found["used"] > 20 and found["rested"] > 50, found


def test_a_margin_that_is_too_short_is_found() -> None:
    assert run(Alike(1, 0), 1, 2000)["differs"]


# That a gated port does in every cycle what another does says the same sooner: building this machine takes most of a minute.
@pytest.mark.slow
@pytest.mark.parametrize("simulator", ["verilator", pytest.param("icarus", marks=pytest.mark.icarus)])
def test_the_buses_of_a_machine_with_gated_clocks_answer_as_axi_demands(simulator: str, tmp_path: Path) -> None:
    machine = replace(LEAST, glb=replace(LEAST.glb, clock_gating=HYBRID, clock_gates=CELL))
    run_cocotb(Sardonyx(machine), "cocotb_buses", simulator, tmp_path)
