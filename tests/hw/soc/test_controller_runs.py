"""Runs that follow each other behind one start, of the controller alone."""

import pytest
from controlled import CONFIGURE, START, STOP, STOP_AFTER, WITH_REGIONS, Driver, simulate

from sardonyx.hw.arch.soc import AT_WALL, BUSY, CYCLE_LIMIT, FINISHED, FLUSH_CYCLES, OVERFLOW, STORE_LIMIT, STORE_LOST, WATCHDOG

REST = FLUSH_CYCLES + 2
"""Cycles between two runs of a start: the one that finds the end, the flush, and the one of the start."""


async def further_run(driver: Driver, running: int) -> None:
    """End a run behind which there is another, and be busy with that for some cycles."""
    driver.put(running=0, moving=0)
    await driver.tick(REST)
    driver.put(running=1, moving=1)
    await driver.tick(running)


@pytest.mark.parametrize("runs", [1, 4])
def test_runs_follow_each_other_behind_a_flush_and_only_the_last_one_is_done(runs: int) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.write("runs", runs)
        await driver.write("irq_enable", 0xFFFFFFFF)
        await driver.run(10)
        first = driver.cycle
        for number in range(runs):
            assert driver.read("runs_done") == number
            await further_run(driver, 10)
            assert driver.read("status") == 1 << BUSY
        starts = [first - 11 + number * (10 + REST) for number in range(runs + 1)]
        assert driver.seen["start"] == starts
        assert [cycle for cycle in driver.seen["again"] if cycle in starts] == starts[1:]
        assert driver.seen["flush"][FLUSH_CYCLES:] == [start - back for start in starts[1:]
                                                       for back in range(FLUSH_CYCLES, 0, -1)]
        assert not driver.seen["irq"] and driver.seen["stop"] == driver.seen["stop"][:1]
        driver.put(running=0)
        await driver.tick()
        assert driver.read("status") == driver.read("irq_status") == 1 << FINISHED
        assert (driver.read("runs_done"), driver.read("cycles")) == (runs + 1, (runs + 1) * 10 + runs * REST)
        await driver.tick(3 * REST)
        assert driver.seen["start"] == starts

    simulate(scenario)


def test_runs_that_are_added_while_they_go_on_follow_too() -> None:
    async def scenario(driver: Driver) -> None:
        await driver.write("runs", 1)
        await driver.run(10)
        await further_run(driver, 10)
        await driver.write("runs", 2)
        await further_run(driver, 10)
        assert (driver.read("status"), driver.read("runs_done")) == (1 << BUSY, 2)
        driver.put(running=0)
        await driver.tick()
        assert (driver.read("status"), driver.read("runs_done")) == (1 << FINISHED, 3)

    simulate(scenario)


@pytest.mark.parametrize("command", [STOP, START, CONFIGURE])
@pytest.mark.parametrize("after", range(REST + 1))
def test_a_command_between_two_runs_ends_the_first_start(after: int, command: int) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.write("runs", 1)
        await driver.run(10)
        driver.put(running=0, moving=0)
        await driver.tick(after)
        await driver.write("control", command)
        begun = len(driver.seen["start"])   # with one in the cycle of the command, which is stopped in the next
        at = driver.cycle
        await driver.tick(REST - 1)
        assert driver.seen["stop"][-1] == at - 1 + STOP_AFTER
        if command != START:
            await driver.tick(3 * REST)
            assert len(driver.seen["start"]) == begun and not driver.read("status") >> BUSY & 1
            assert driver.cycle - 1 not in driver.seen["again"]
            return
        assert driver.seen["start"][begun:] == [at + FLUSH_CYCLES], "as from rest"
        assert driver.seen["again"][-1:] != [at + FLUSH_CYCLES]
        assert driver.read("runs_done") == 0

    simulate(scenario)


@pytest.mark.parametrize("limit", range(8, 14 + REST))
def test_the_limit_of_cycles_ends_runs_wherever_they_are(limit: int) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.write("cycle_limit", limit)
        await driver.write("runs", 5)
        await driver.run(10)
        await further_run(driver, 30)
        assert (driver.read("status"), driver.read("cycles")) == (1 << CYCLE_LIMIT, limit + 1)
        started = len(driver.seen["start"])
        driver.put(running=0)
        await driver.tick(5 * REST)
        assert len(driver.seen["start"]) == started and driver.read("irq_status") == 1 << CYCLE_LIMIT

    simulate(scenario)


@pytest.mark.parametrize("event,cause", [(OVERFLOW, {"overflow": 1}), (STORE_LIMIT, {"beyond": 1}), (STORE_LOST, {"lost": 1}),
                                         (AT_WALL, {"walled": 1})])
@pytest.mark.parametrize("with_its_end", [False, True])
def test_an_event_of_one_run_ends_all(event: int, cause: "dict[str, int]", with_its_end: bool) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.write("runs", 3)
        await driver.run(10)
        await further_run(driver, 10)
        driver.put(running=int(not with_its_end), **cause)
        await driver.tick()
        driver.put(running=0, **dict.fromkeys(cause, 0))
        await driver.tick(3 * REST)
        assert driver.read("status") == 1 << event
        assert len(driver.seen["start"]) == 2 and driver.read("runs_done") == 1

    simulate(scenario, WITH_REGIONS)


def test_the_watchdog_counts_from_the_start_of_each_run() -> None:
    async def scenario(driver: Driver) -> None:
        await driver.write("watchdog_limit", 15)
        await driver.write("runs", 2)
        await driver.run(10)
        for _ in range(2):
            await further_run(driver, 0)
            driver.put(moving=0)
            await driver.tick(5)
        await driver.tick(10)
        assert driver.read("status") == 1 << BUSY
        await driver.tick()
        assert driver.read("status") == 1 << WATCHDOG

    simulate(scenario)
