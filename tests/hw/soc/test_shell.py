"""The shell: only the GLB tile that an access means sees it, and none is at its place before its reset has ended."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from amaranth.hdl import ClockDomain, Module
from amaranth.sim import Simulator, SimulatorContext
from machines import LEAST

from sardonyx.hw.arch.soc import (
    ASTRAY,
    AT_WALL,
    BUSY,
    CONFIGURED,
    CONFIGURING,
    CONTROLLER,
    FLUSH_CYCLES,
    GLB_REGISTER_STRIDE,
    GLB_REGISTERS,
    GROUP,
    GROUP_REGISTERS,
    OVERFLOW,
    REGION_STRIDE,
    STORE_LIMIT,
    STORE_LOST,
    WATCHDOG,
    controller_registers,
    glb_registers,
    named,
    offsets,
)
from sardonyx.hw.soc.shell import Shell

# Two GLB tiles of two columns.
STALLING = replace(LEAST, columns=4, regions=2, glb=replace(LEAST.glb, columns_per_tile=2), column_stall=True)


def test_nothing_moves_in_a_glb_tile_that_is_not_meant() -> None:
    shell = Shell(LEAST)
    seen: dict[int, set[int]] = {0: set(), 1: set()}

    async def drive(sim: SimulatorContext) -> None:
        async def step() -> None:
            for tile, values in seen.items():
                values |= {sim.get(getattr(shell, f"glb{tile}_{name}")) for name in (
                    "register_index", "register_data", "register_write", "host_write_line", "host_write_data",
                    "host_write_strobe", "host_write_valid", "host_read_line", "host_read_valid")}
            await sim.tick()

        for name, value in (("awaddr", GLB_REGISTERS + GLB_REGISTER_STRIDE + 4), ("wdata", 0x1234), ("wstrb", 15),
                            ("awvalid", 1), ("wvalid", 1), ("bready", 1)):
            sim.set(getattr(shell, f"s_axil_{name}"), value)
        for _ in range(4):
            await step()
        for name, value in (("awaddr", LEAST.glb.tile_bytes), ("awsize", 3), ("awburst", 1), ("awvalid", 1), ("wdata", 0x5678),
                            ("wstrb", 255), ("wlast", 1), ("wvalid", 1), ("bready", 1), ("arsize", 3), ("arburst", 1),
                            ("araddr", LEAST.glb.tile_bytes + 8 * 99), ("arvalid", 1), ("rready", 1)):
            sim.set(getattr(shell, f"s_axi_{name}"), value)
        for _ in range(4):
            await step()

    simulator = Simulator(shell)
    simulator.add_clock(1e-9)
    simulator.add_testbench(drive)
    simulator.run()
    assert {0x1234, 0x5678, 99} <= seen[1]
    assert seen[0] == {0}


def test_what_is_asked_in_the_first_cycle_after_reset_is_at_its_place_after_the_reset_there() -> None:
    """And a reset of one cycle resets everything, in the middle of an access."""
    m, domain = Module(), ClockDomain("sync")
    m.domains += domain
    m.submodules.shell = shell = Shell(LEAST)
    asked: dict[str, list[int]] = {"config0": [], "glb0": []}
    reset: list[int] = []

    async def drive(sim: SimulatorContext) -> None:
        for name in ("wstrb", "bready"):
            sim.set(getattr(shell, f"s_axil_{name}"), 15)
        sim.set(shell.s_axi_wstrb, 255)
        for name in ("s_axi_awvalid", "s_axi_wvalid", "s_axi_wlast", "s_axi_bready"):
            sim.set(getattr(shell, name), 1)
        sim.set(shell.s_axi_awsize, 3)
        sim.set(shell.s_axil_awaddr, offsets(CONTROLLER)["config_write"])
        for cycle in range(40):
            sim.set(domain.rst, cycle in (0, 20))
            for name in ("s_axil_awvalid", "s_axil_wvalid"):
                sim.set(getattr(shell, name), cycle not in (0, 20))
            _, _, configured, stored, resets = await sim.tick().sample(
                shell.config0.valid, shell.glb0_host_write_valid, shell.reset)
            for name, here in (("config0", configured), ("glb0", stored)):
                asked[name] += [cycle] * here
            reset.extend([cycle] * resets)

    simulator = Simulator(m)
    simulator.add_clock(1e-9)
    simulator.add_testbench(drive)
    simulator.run()
    assert reset == [1, 21]
    for cycles in asked.values():
        assert {2 + delay for delay in range(2)} & {*cycles} and {22 + delay for delay in range(2)} & {*cycles}, "at once"
        assert not {1, 21} & {*cycles}


def _port(shell: Shell, name: str) -> Any:
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
            self.sim.set(_port(self.shell, name), value)

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


@pytest.mark.parametrize("region", range(2))
@pytest.mark.parametrize(("event", "report"), [(OVERFLOW, "overflow"), (STORE_LIMIT, "beyond"), (STORE_LOST, "lost"),
                                                 (AT_WALL, "walled")])
def test_what_stops_a_run_stops_it_in_the_region_that_reports_it(event: int, report: str, region: int) -> None:
    async def scenario(ports: Ports) -> None:
        ports.put(glb0_busy=1, glb1_busy=1)
        for number in range(2):
            await ports.write(number, "control", 1)
        await ports.tick(2 * FLUSH_CYCLES)
        ports.put(**{report: 1 << region} if report in ("overflow", "walled") else {f"glb{region}_{report}": 1})
        await ports.tick(3)
        assert (await ports.status(region), await ports.status(1 - region)) == (1 << event, 1 << BUSY)

    with_two_regions(scenario)


def test_each_region_has_its_interrupt_on_a_line_of_its_own_until_it_is_answered_there() -> None:
    async def scenario(ports: Ports) -> None:
        def lines() -> "tuple[int, int]":
            return ports.sim.get(ports.shell.region_irq), ports.sim.get(ports.shell.irq)

        ports.put(glb0_busy=1, glb1_busy=1)
        for number in range(2):
            await ports.write(number, "irq_enable", 1 << STORE_LIMIT)
            await ports.write(number, "control", 1)
        await ports.tick(2 * FLUSH_CYCLES)
        assert lines() == (0, 0)
        for region, found in ((1, 0b10), (0, 0b11)):
            ports.put(**{f"glb{region}_beyond": 1})
            await ports.tick(3)
            assert lines() == (found, 1)
        ports.put(glb0_beyond=0, glb1_beyond=0)
        await ports.write(1, "irq_status", 1 << STORE_LIMIT)
        assert lines() == (0b01, 1)
        await ports.write(0, "irq_enable", 0)
        assert lines() == (0, 0)

    with_two_regions(scenario)


@pytest.mark.parametrize("region", range(2))
@pytest.mark.parametrize("report", ["active", "moved"])
def test_what_moves_in_a_region_keeps_the_watchdog_of_no_other_one_quiet(report: str, region: int) -> None:
    async def scenario(ports: Ports) -> None:
        ports.put(glb0_busy=1, glb1_busy=1)
        for number in range(2):
            await ports.write(number, "watchdog_limit", 30)
            await ports.write(number, "control", 1)
        ports.put(**{"active": 1 << region} if report == "active" else {f"glb{region}_moved": 1})
        await ports.tick(60)
        assert (await ports.status(region), await ports.status(1 - region)) == (1 << BUSY, 1 << WATCHDOG)
        columns = [await ports.read(number, "moved_columns") for number in (region, 1 - region)]
        assert columns == [1 << region if report == "active" else 0, 0]

    with_two_regions(scenario)


@pytest.mark.parametrize("region", range(2))
def test_a_configuration_ends_with_the_words_of_its_region_and_is_told_of_these_alone(region: int) -> None:
    async def scenario(ports: Ports) -> None:
        ports.put(**{f"glb{region}_config_busy": 1})
        for number in range(2):
            await ports.write(number, "control", 4)
        ports.put(**{f"glb{region}_config_astray": 1})
        await ports.tick(20)
        assert (await ports.status(region), await ports.status(1 - region)) == (
            1 << CONFIGURING | 1 << ASTRAY, 1 << CONFIGURED)

    with_two_regions(scenario)


def test_an_answer_from_a_column_of_another_region_is_none() -> None:
    async def scenario(ports: Ports) -> None:
        ports.put(config1__rvalid=1, config1__rdata=7)
        await ports.write(0, "config_read", 0)
        await ports.tick(20)
        assert await ports.read(0, "config_data") == 0
        await ports.write(1, "config_address", 1 << 24)
        await ports.write(1, "config_read", 0)
        assert await ports.read(1, "config_data") == 7

    with_two_regions(scenario)


@pytest.mark.parametrize("region", range(2))
def test_commands_and_flush_go_to_the_tiles_of_their_region(region: int) -> None:
    async def scenario(ports: Ports) -> None:
        names = ("start", "stop", "configure", "config_stop")
        watched = {f"glb{tile}_{name}": 0 for tile in range(2) for name in names} | {"flush0": 0, "flush1": 0}

        async def see(count: int = 1) -> None:
            for _ in range(count):
                for name in watched:
                    watched[name] += ports.sim.get(_port(ports.shell, name))
                await ports.sim.tick()

        ports.tick = see    # type: ignore[method-assign]
        for command in (1, 2, 4, 2):
            await ports.write(region, "control", command)
            await see(20)
        assert all(bool(count) == (f"{region}" in name) for name, count in watched.items()), watched

    with_two_regions(scenario)


@pytest.mark.parametrize("region", range(2))
def test_the_end_of_a_dma_is_told_to_the_region_that_has_it(region: int) -> None:
    async def scenario(ports: Ports) -> None:
        ports.put(**{f"glb{region}_load_ends": 1, f"glb{1 - region}_store_ends": 1})
        await ports.tick()
        ended = [[await ports.read(number, f"{unit}s_ended") for unit in ("load", "store")] for number in (region, 1 - region)]
        assert ended == [[1 << region, 0], [0, 2 >> region]]

    with_two_regions(scenario)


def group(regions: int, **commands: int) -> int:
    return named(GROUP)["group"].word(regions=regions, **commands)


def watch(ports: Ports) -> "dict[str, list[int]]":
    """From now on, the cycles in which a port of a tile or its columns is 1."""
    seen: dict[str, list[int]] = {f"glb{tile}_{name}": [] for tile in range(2) for name in ("start", "stop", "configure")}
    seen |= {"flush0": [], "flush1": []}
    cycle = 0

    async def see(count: int = 1) -> None:
        nonlocal cycle
        for _ in range(count):
            for name, cycles in seen.items():
                cycles += [cycle] * ports.sim.get(_port(ports.shell, name))
            await ports.sim.tick()
            cycle += 1

    ports.tick = see    # type: ignore[method-assign]
    return seen


def test_regions_of_a_group_flush_start_stop_and_configure_in_the_same_cycle() -> None:
    async def scenario(ports: Ports) -> None:
        seen = watch(ports)
        for commands in (group(3, start=1), group(3, stop=1), group(3, configure=1), group(3, start=1, configure=1)):
            assert await ports.write_at(GROUP_REGISTERS, commands) == 0
            await ports.tick(20)
        pairs = [(f"glb0_{name}", f"glb1_{name}") for name in ("start", "stop", "configure")]
        for one, other in (("flush0", "flush1"), *pairs):
            assert seen[one] and seen[one] == seen[other], one

    with_two_regions(scenario)


@pytest.mark.parametrize("region", range(2))
def test_a_group_is_of_the_regions_that_it_names(region: int) -> None:
    async def scenario(ports: Ports) -> None:
        seen = watch(ports)
        for strange in (0b100 | 1 << region, 1 << 15):
            assert await ports.write_at(GROUP_REGISTERS, group(strange, start=1, configure=1)) == 2, "an error response"
        await ports.tick(20)
        assert not any(seen.values())
        assert await ports.write_at(GROUP_REGISTERS, group(1 << region, start=1, configure=1)) == 0
        await ports.tick(20)
        assert all(bool(cycles) == (f"{region}" in name) for name, cycles in seen.items()), seen

    with_two_regions(scenario)


@pytest.mark.parametrize("region", range(2))
def test_no_register_of_a_region_gives_commands_to_another(region: int) -> None:
    """All words of its window, the unused ones too."""
    async def scenario(ports: Ports) -> None:
        seen = watch(ports)
        for offset in range(0, REGION_STRIDE, 4):
            if offset != offsets(CONTROLLER)["claim"]:
                await ports.write_at(REGION_STRIDE * region + offset, 0xFFFFFFFF)
        await ports.tick(20)
        assert not any(cycles for name, cycles in seen.items() if f"{1 - region}" in name)
        assert seen[f"flush{region}"]

    with_two_regions(scenario)


def test_one_region_has_no_group() -> None:
    shell, responses = Shell(LEAST), []

    async def bench(sim: SimulatorContext) -> None:
        responses.append(await Ports(sim, shell).write_at(GROUP_REGISTERS, 0))

    simulator = Simulator(shell)
    simulator.add_clock(1e-9)
    simulator.add_testbench(bench)
    simulator.run()
    assert responses == [2]


@pytest.mark.parametrize("region", range(2))
def test_whoever_freezes_a_column_of_a_static_program_freezes_all_of_its_region(region: int) -> None:
    control = named(glb_registers(LEAST.glb))["store_control"]
    mine, other = (0b11 << 2 * number for number in (region, 1 - region))
    first = 1 << 2 * region

    async def scenario(ports: Ports) -> None:
        async def stall(number: int, columns: int) -> None:
            await ports.write_at(REGION_STRIDE * number + offsets(controller_registers(STALLING))["stall"], columns)

        async def frozen(word: int) -> int:
            await ports.write_at(GLB_REGISTERS + GLB_REGISTER_STRIDE * region + control.offset, word)
            for number in range(2):
                await stall(number, 0b0101)
            await ports.tick(20)
            return sum(ports.sim.get(_port(ports.shell, f"stall{x}")) << x for x in range(4))

        for word in (0, control.word(enable=1), control.word(static=1)):
            assert await frozen(word) == 0b0101
        assert await frozen(control.word(enable=1, static=1)) == mine | 0b0101 & other
        assert await frozen(control.word(enable=1, affine=1)) == 0b0101
        await frozen(control.word(enable=1, static=1))
        await stall(region, 0)
        await ports.tick(20)
        assert not ports.sim.get(_port(ports.shell, f"stall{2 * region}"))
        await stall(region, first << 1)
        await ports.tick(20)
        assert ports.sim.get(_port(ports.shell, f"stall{2 * region}"))

    with_two_regions(scenario, column_stall=True)
