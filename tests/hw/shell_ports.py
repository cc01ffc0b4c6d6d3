"""A shell of two regions in the simulator of Amaranth, by its ports: what tests of regions and of groups of them share."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from amaranth.sim import Simulator, SimulatorContext
from machines import LEAST

from sardonyx.hw.arch.soc import (
    CONTROLLER,
    REGION_STRIDE,
    offsets,
)
from sardonyx.hw.soc.shell import Shell

# Two GLB tiles of two columns.
STALLING = replace(LEAST, columns=4, regions=2, glb=replace(LEAST.glb, columns_per_tile=2), column_stall=True)


def port_of(shell: Shell, name: str) -> Any:
    """A port by its name in Verilog."""
    outer, _, inner = name.partition("__")
    found = getattr(shell, outer)
    return getattr(found, inner) if inner else found


class Ports:
    """A shell of two regions, tile 0 in region 0 and tile 1 in region 1, by its ports."""

    def __init__(self, sim: SimulatorContext, shell: Shell) -> None:
        self.sim, self.shell = sim, shell

    def put(self, **values: int) -> None:
        for name, value in values.items():
            self.sim.set(port_of(self.shell, name), value)

    async def tick(self, count: int = 1) -> None:
        for _ in range(count):
            await self.sim.tick()

    async def write(self, region: int, name: str, value: int) -> None:
        await self.write_at(REGION_STRIDE * region + offsets(CONTROLLER)[name], value)

    async def write_at(self, address: int, value: int) -> int:
        """The response."""
        self.put(s_axil_awaddr=address, s_axil_wdata=value, s_axil_wstrb=15, s_axil_awvalid=1, s_axil_wvalid=1, s_axil_bready=1)
        await self.tick()
        self.put(s_axil_awvalid=0, s_axil_wvalid=0)
        response = 0
        for _ in range(4):
            await self.tick()
            if self.sim.get(self.shell.s_axil_bvalid):
                response = self.sim.get(self.shell.s_axil_bresp)
        return response

    async def read(self, region: int, name: str) -> int:
        self.put(s_axil_araddr=REGION_STRIDE * region + offsets(CONTROLLER)[name], s_axil_arvalid=1, s_axil_rready=1)
        await self.tick()
        self.put(s_axil_arvalid=0)
        while not self.sim.get(self.shell.s_axil_rvalid):
            await self.tick()
        value = self.sim.get(self.shell.s_axil_rdata)
        await self.tick()
        return value

    async def status(self, region: int) -> int:
        return await self.read(region, "status")


def with_two_regions(scenario: Callable[[Ports], Awaitable[None]], column_stall: bool = False) -> None:
    shell = Shell(STALLING if column_stall else replace(LEAST, regions=2))

    async def bench(sim: SimulatorContext) -> None:
        ports = Ports(sim, shell)
        await ports.tick(2)
        await ports.write(1, "claim", 0b10)
        assert [await ports.read(region, "tiles") for region in range(2)] == [1, 2]
        await scenario(ports)

    simulator = Simulator(shell)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
