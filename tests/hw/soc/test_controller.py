"""The controller alone, cycle by cycle, in Amaranth's simulator; tests/sim/test_machine.py runs it as Verilog."""


import pytest
from controlled import ARCH, START, STOP, STOP_AFTER, WITH_REGIONS, Driver, simulate

from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.soc import (
    AT_WALL,
    BUSY,
    CONTROLLER,
    CYCLE_LIMIT,
    FINISHED,
    FLUSH_CYCLES,
    MOVED_BITS,
    MOVED_WINDOW,
    OVERFLOW,
    RW,
    STORE_LIMIT,
    STORE_LOST,
    WATCHDOG,
)


def test_identity_is_that_of_the_description() -> None:
    async def scenario(driver: Driver) -> None:
        assert driver.read("fingerprint_high") << 32 | driver.read("fingerprint_low") == ARCH.fingerprint
        assert driver.read("shape") == 6 | 3 << 9 | 3 << 18 | 1 << 27
        for name in ("fingerprint_high", "fingerprint_low", "shape"):
            before = driver.read(name)
            await driver.write(name, ~before & 0xFFFFFFFF)
            assert driver.read(name) == before

    simulate(scenario)


def test_registers_that_can_be_written_are_read_as_written_and_others_are_not_changed() -> None:
    async def scenario(driver: Driver) -> None:
        writable = [register.name for register in CONTROLLER if register.access == RW]
        for number, name in enumerate(writable):
            await driver.write(name, 0xFFFFFFFF - number)
        assert [driver.read(name) for name in writable] == [0xFFFFFFFF - number for number in range(len(writable))]
        for name in ("status", "cycles", "overflow_column", "config_data", "irq_status"):
            await driver.write(name, 0xFFFFFFFF)
            assert driver.read(name) == 0

    simulate(scenario)


def test_a_run_is_flush_then_start_then_cycles_until_nothing_runs() -> None:
    async def scenario(driver: Driver) -> None:
        begin = driver.cycle
        await driver.write("control", START)
        assert driver.read("status") == 1 << BUSY
        await driver.tick(FLUSH_CYCLES + 1)
        assert driver.seen["flush"] == list(range(begin + 1, begin + 1 + FLUSH_CYCLES))
        assert driver.seen["start"] == [begin + 1 + FLUSH_CYCLES]
        driver.put(running=1, moving=1)
        await driver.tick(17)
        assert driver.read("status") == 1 << BUSY
        driver.put(running=0, moving=0)
        await driver.tick()
        assert driver.read("status") == 1 << FINISHED
        assert driver.read("cycles") == 17
        await driver.tick(50)
        assert (driver.read("status"), driver.read("cycles")) == (1 << FINISHED, 17)
        assert driver.seen["irq"] == []

    simulate(scenario)


def test_a_run_of_nothing_is_done_at_once() -> None:
    async def scenario(driver: Driver) -> None:
        await driver.write("control", START)
        await driver.tick(FLUSH_CYCLES + 2)
        assert (driver.read("status"), driver.read("cycles")) == (1 << FINISHED, 0)

    simulate(scenario)


@pytest.mark.parametrize("event,cause", [(OVERFLOW, {"overflow": 0b101000}), (STORE_LIMIT, {"beyond": 1}),
                                         (STORE_LOST, {"lost": 1}), (FINISHED, {"running": 0}),
                                         (AT_WALL, {"walled": 0b110000})])
def test_each_event_ends_the_run_and_raises_the_interrupt_that_is_enabled(event: int, cause: "dict[str, int]") -> None:
    async def scenario(driver: Driver) -> None:
        others = 0xFFFFFFFF & ~(1 << event)
        await driver.write("irq_enable", others)
        await driver.run()
        driver.put(**cause)
        await driver.tick()
        ended = driver.cycle - 1
        driver.put(**{name: 0 for name in cause if name != "running"})
        assert driver.read("status") == 1 << event
        assert driver.read("irq_status") == 1 << event
        assert driver.read("overflow_column") == {OVERFLOW: 3, AT_WALL: 4}.get(event, 0)
        assert not driver.sim.get(driver.dut.irq)
        await driver.write("irq_enable", 1 << event)
        assert driver.seen["stop"][1:] == [ended + STOP_AFTER]
        assert driver.sim.get(driver.dut.irq)
        await driver.write("irq_status", others)
        assert driver.sim.get(driver.dut.irq), "only ones clear"
        await driver.write("irq_status", 1 << event)
        assert not driver.sim.get(driver.dut.irq)
        assert driver.read("status") == 1 << event, "the status stays until the next start"
        driver.put(running=0)
        await driver.write("control", START)
        assert (driver.read("status"), driver.read("overflow_column")) == (1 << BUSY, 0)

    simulate(scenario, WITH_REGIONS)


def test_of_an_overflow_and_a_word_at_a_wall_in_one_cycle_the_column_is_that_of_the_overflow() -> None:
    async def scenario(driver: Driver) -> None:
        await driver.run()
        driver.put(overflow=0b10000, walled=0b100)
        await driver.tick()
        assert driver.read("status") == 1 << OVERFLOW | 1 << AT_WALL
        await driver.tick(5)
        assert driver.read("overflow_column") == 4

    simulate(scenario, WITH_REGIONS)


def test_a_word_at_a_wall_is_an_event_of_runs_only() -> None:
    async def scenario(driver: Driver) -> None:
        driver.put(walled=1)
        await driver.tick(5)
        assert driver.read("status") == driver.read("irq_status") == 0

    simulate(scenario, WITH_REGIONS)


@pytest.mark.parametrize("limit", [1, 7, 40])
def test_the_watchdog_ends_a_run_after_its_limit_of_cycles_without_movement(limit: int) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.write("watchdog_limit", limit)
        await driver.run()
        for _ in range(3):      # movement in time keeps the run alive
            driver.put(moving=0)
            await driver.tick(limit - 1)
            driver.put(moving=1)
            await driver.tick()
        driver.put(moving=0)
        await driver.tick(limit)
        assert driver.read("status") == 1 << BUSY
        await driver.tick()
        assert driver.read("status") == 1 << WATCHDOG
        assert driver.read("irq_status") == 1 << WATCHDOG

    simulate(scenario)


def test_without_a_limit_there_is_no_watchdog() -> None:
    async def scenario(driver: Driver) -> None:
        await driver.run()
        driver.put(moving=0)
        await driver.tick(1000)
        assert driver.read("status") == 1 << BUSY

    simulate(scenario)


@pytest.mark.parametrize("limit", [1, 7, 40])
def test_a_run_that_moves_for_ever_ends_after_its_limit_of_cycles(limit: int) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.write("cycle_limit", limit)
        await driver.write("irq_enable", 1 << CYCLE_LIMIT)
        await driver.run(limit)
        assert driver.read("status") == 1 << BUSY
        assert not driver.sim.get(driver.dut.irq)
        await driver.tick()
        assert driver.read("status") == 1 << CYCLE_LIMIT
        assert driver.read("irq_status") == 1 << CYCLE_LIMIT
        assert driver.sim.get(driver.dut.irq)
        ended = driver.cycle - 1
        await driver.tick(20)
        assert driver.seen["stop"][1:] == [ended + STOP_AFTER]

    simulate(scenario)


def test_a_run_of_just_the_limit_of_cycles_is_done() -> None:
    async def scenario(driver: Driver) -> None:
        await driver.write("cycle_limit", 20)
        await driver.run(20)
        driver.put(running=0)
        await driver.tick()
        assert (driver.read("status"), driver.read("cycles")) == (1 << FINISHED, 20)

    simulate(scenario)


def test_the_columns_that_moved_last_are_kept_when_the_run_ends() -> None:
    async def scenario(driver: Driver) -> None:
        await driver.write("cycle_limit", 2 * MOVED_WINDOW)
        await driver.run(0)
        windows = [(0b000001, 1), (0b001000, MOVED_WINDOW - 1), (0b010000, 1), (0, MOVED_WINDOW - 2), (0b100000, 1)]
        for columns, cycles in windows:
            driver.put(active=columns)
            await driver.tick(cycles)
            if columns == 0b001000:
                assert driver.read("moved_columns") == 0b001001
        driver.put(active=0b000010)     # in the cycle that ends it, and later
        await driver.tick(20)
        assert (driver.read("status"), driver.read("moved_columns")) == (1 << CYCLE_LIMIT, 0b110000)
        await driver.write("control", START)
        assert driver.read("moved_columns") == 0

    simulate(scenario)


def test_columns_beyond_the_bits_of_a_register_share_them() -> None:
    async def scenario(driver: Driver) -> None:
        await driver.run(0)
        driver.put(active=1 << 3 | 1 << MOVED_BITS + 5)
        await driver.tick()
        assert driver.read("moved_columns") == 1 << 3 | 1 << 5

    simulate(scenario, Arch("wide", MOVED_BITS + 8, 1))


def test_a_region_is_occupied_until_what_a_command_stopped_in_the_cycle_of_its_start_runs_no_more() -> None:
    async def scenario(driver: Driver) -> None:
        await driver.write("control", START)
        await driver.tick(FLUSH_CYCLES)
        assert driver.sim.get(driver.dut.start)
        await driver.write("control", STOP)
        driver.put(running=1)   # the DMAs run for a cycle, in which they are stopped
        assert driver.sim.get(driver.dut.stop) and driver.sim.get(driver.dut.occupied)
        await driver.tick()
        driver.put(running=0)
        assert driver.sim.get(driver.dut.occupied)
        await driver.tick()
        assert not driver.sim.get(driver.dut.occupied)

    simulate(scenario)


def test_refused_accesses_of_the_configuration_network_do_nothing() -> None:
    async def scenario(driver: Driver) -> None:
        driver.put(foreign=1)
        await driver.write("config_write", 5)
        await driver.write("config_read", 5)
        assert driver.seen["cfg_valid"] == [] and driver.read("status") == 0
        driver.put(foreign=0)
        at = driver.cycle
        await driver.write("config_write", 5)
        assert driver.seen["cfg_valid"] == [at]

    simulate(scenario)


def test_an_event_is_not_lost_when_others_are_cleared_in_its_cycle() -> None:
    async def scenario(driver: Driver) -> None:
        await driver.run()
        driver.put(running=0)
        await driver.write("irq_status", 0xFFFFFFFF)
        assert driver.read("irq_status") == 1 << FINISHED

    simulate(scenario)


def test_a_stop_ends_the_run_without_an_event() -> None:
    async def scenario(driver: Driver) -> None:
        await driver.run()
        written = driver.cycle
        await driver.write("control", STOP)
        driver.put(running=0)
        await driver.tick(20)
        assert driver.seen["stop"][1:] == [written + STOP_AFTER]
        assert (driver.read("status"), driver.read("irq_status")) == (0, 0)
        assert driver.read("cycles") == 21

    simulate(scenario)


@pytest.mark.parametrize("after", range(FLUSH_CYCLES + 1))
def test_a_stop_during_flush_keeps_the_run_from_starting_and_one_in_the_cycle_of_its_start_stops_it(after: int) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.write("control", START)
        await driver.tick(after)
        written = driver.cycle
        await driver.write("control", STOP)
        await driver.tick(20)
        # In the cycle of `start` it is too late to keep the DMAs from it, but they are stopped in the next one.
        assert driver.seen["start"] == [written] * (after == FLUSH_CYCLES)
        assert driver.seen["stop"][-1] == written + STOP_AFTER
        assert (driver.read("status"), driver.read("irq_status"), driver.read("cycles")) == (0, 0, 0)

    simulate(scenario)


@pytest.mark.parametrize("after", range(1, FLUSH_CYCLES + 2))
def test_a_start_during_flush_begins_the_flush_anew(after: int) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.write("control", START)
        await driver.tick(after)
        again = driver.cycle
        await driver.write("control", START)
        await driver.tick(3 * FLUSH_CYCLES)
        assert [cycle for cycle in driver.seen["start"] if cycle > again] == [again + 1 + FLUSH_CYCLES]
        assert again + STOP_AFTER in driver.seen["stop"]

    simulate(scenario)


def test_a_start_during_a_run_stops_it_first() -> None:
    async def scenario(driver: Driver) -> None:
        await driver.run()
        again = driver.cycle
        await driver.write("control", START)
        await driver.tick(FLUSH_CYCLES + 1)
        assert driver.seen["stop"][1:] == [again + STOP_AFTER]
        assert driver.seen["start"][1:] == [again + 1 + FLUSH_CYCLES]
        await driver.tick(5)
        assert (driver.read("status"), driver.read("cycles")) == (1 << BUSY, 5)

    simulate(scenario)


def test_events_outside_a_run_are_ignored() -> None:
    async def scenario(driver: Driver) -> None:
        driver.put(overflow=1, beyond=1)
        await driver.write("watchdog_limit", 1)
        await driver.tick(10)
        assert (driver.read("status"), driver.read("irq_status")) == (0, 0)

    simulate(scenario)
