"""The shell of a machine of regions: what is told or asked in one reaches no other, and its own tiles alone."""


import pytest
from shell_ports import Ports, port_of, with_two_regions

from sardonyx.hw.arch.soc import (
    ASTRAY,
    AT_WALL,
    BUSY,
    CONFIGURED,
    CONFIGURING,
    FLUSH_CYCLES,
    OVERFLOW,
    STORE_LIMIT,
    STORE_LOST,
    WATCHDOG,
)


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
                    watched[name] += ports.sim.get(port_of(ports.shell, name))
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
