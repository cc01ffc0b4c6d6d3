"""The controller alone, cycle by cycle, in Amaranth's simulator, for its tests."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

from amaranth.sim import Simulator, SimulatorContext

from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.glb import Glb
from sardonyx.hw.arch.soc import FLUSH_CYCLES, controller_registers, offsets
from sardonyx.hw.soc.controller import Controller

ARCH = Arch("controlled", 6, 3, glb=Glb(columns_per_tile=2))
WITH_REGIONS = replace(ARCH, regions=2)
# Loads take three cycles, and so does a configuration word to the last row.
STALLING = replace(ARCH, regions=2, column_stall=True, config_rows=2,
                   glb=Glb(columns_per_tile=2, bank_macros=2, read_latency=3))
START, STOP, CONFIGURE = 1, 2, 4
STOP_AFTER = 1
"""Cycles from what ends a run to `stop`."""


class Driver:
    """Registers of a controller, one access a cycle, and the cycles in which outputs are 1."""

    def __init__(self, sim: SimulatorContext, dut: Controller) -> None:
        self.sim, self.dut, self.cycle = sim, dut, 0
        self.index = {name: offset // 4 for name, offset in offsets(controller_registers(dut.arch)).items()}
        watched = ("flush", "start", "again", "stop", "configure", "config_stop", "cfg_valid", "irq")
        self.seen: dict[str, list[int]] = {name: [] for name in watched}

    async def tick(self, count: int = 1) -> None:
        for _ in range(count):
            for name, cycles in self.seen.items():
                if self.sim.get(getattr(self.dut, name)):
                    cycles.append(self.cycle)
            await self.sim.tick()
            self.cycle += 1

    def put(self, **values: int) -> None:
        for name, value in values.items():
            self.sim.set(getattr(self.dut, name), value)

    async def write(self, name: str, value: int) -> None:
        self.put(register_write=1, register_index=self.index[name], register_data=value)
        await self.tick()
        self.put(register_write=0)

    def read(self, name: str) -> int:
        self.put(register_index=self.index[name])
        return self.sim.get(self.dut.register_value)

    async def run(self, running: int = 20) -> None:
        """Start, and be busy for some cycles."""
        await self.write("control", START)
        await self.tick(FLUSH_CYCLES + 1)
        self.put(running=1, moving=1)
        await self.tick(running)
Scenario = Callable[[Driver], Awaitable[None]]


def simulate(scenario: Scenario, arch: Arch = ARCH) -> Driver:
    dut, drivers = Controller(arch), []

    async def bench(sim: SimulatorContext) -> None:
        drivers.append(Driver(sim, dut))
        await drivers[0].tick(2)
        await scenario(drivers[0])

    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    return drivers[0]
