"""The configuration network, written, read and streamed, of the controller alone."""

from dataclasses import replace

import pytest
from controlled import ARCH, CONFIGURE, START, STOP, STOP_AFTER, Driver, simulate

from sardonyx.hw.arch.soc import ASTRAY, BUSY, CONFIG_BUSY, CONFIGURED, CONFIGURING, FINISHED, FLUSH_CYCLES

SEGMENTS = [(1, 8), (8, 8), (9, 8), (20, 3)]


def test_configuration_is_written_at_the_address_register_and_read_when_the_answer_comes() -> None:
    async def scenario(driver: Driver) -> None:
        dut, get = driver.dut, driver.sim.get
        await driver.write("config_address", 0x05020011)
        assert driver.seen["cfg_valid"] == []
        driver.put(register_write=1, register_index=driver.index["config_write"], register_data=0xCAFE)
        assert (get(dut.cfg_valid), get(dut.cfg_write), get(dut.cfg_address), get(dut.cfg_data)) == (1, 1, 0x05020011, 0xCAFE)
        await driver.tick()
        driver.put(register_write=0)
        assert not get(dut.cfg_valid)
        driver.put(register_write=1, register_index=driver.index["config_read"])
        assert (get(dut.cfg_valid), get(dut.cfg_write), get(dut.cfg_address)) == (1, 0, 0x05020011)
        await driver.tick()
        driver.put(register_write=0)
        await driver.tick(2 * (ARCH.rows + 1) - 1)
        assert driver.read("status") == 1 << CONFIG_BUSY
        driver.put(cfg_answer=1, cfg_value=0xBEEF)
        await driver.tick()
        driver.put(cfg_answer=0, cfg_value=0)
        assert (driver.read("status"), driver.read("config_data")) == (0, 0xBEEF)

    simulate(scenario)


def test_a_configuration_read_without_an_answer_ends_with_0() -> None:
    async def scenario(driver: Driver) -> None:
        await driver.write("config_read", 1)
        driver.put(cfg_answer=1, cfg_value=5)
        await driver.tick()
        driver.put(cfg_answer=0, cfg_value=0)
        assert driver.read("config_data") == 5
        await driver.write("config_read", 1)
        assert driver.read("config_data") == 0
        await driver.tick(2 * (ARCH.rows + 4) + 1)
        assert (driver.read("status"), driver.read("config_data")) == (0, 0)

    simulate(scenario)


@pytest.mark.parametrize("rows,config_rows", SEGMENTS)
def test_configuration_ends_when_its_last_word_is_in_the_last_segment_of_a_column_and_holds_flush_till_then(
        rows: int, config_rows: int) -> None:
    segments = -(-rows // config_rows)

    async def scenario(driver: Driver) -> None:
        await driver.write("irq_enable", 1 << CONFIGURED)
        begin = driver.cycle
        await driver.write("control", CONFIGURE)
        driver.put(configuring=1)
        await driver.tick(10)
        assert driver.read("status") == 1 << CONFIGURING
        driver.put(configuring=0)
        await driver.tick(segments)     # the word of the last cycle with `configuring` is in its register
        assert driver.read("status") == 1 << CONFIGURING
        await driver.tick(2)
        assert driver.read("status") == driver.read("irq_status") == 1 << CONFIGURED
        assert driver.read("config_cycles") == 10 + segments + 1
        assert driver.seen["configure"] == [begin]
        assert driver.seen["flush"] == list(range(begin + 1, begin + 1 + 10 + segments + 1))
        assert driver.seen["irq"] == [driver.cycle - 1] and not driver.seen["start"]
        assert driver.seen["stop"] == [begin + STOP_AFTER] and not driver.seen["config_stop"]

    simulate(scenario, replace(ARCH, rows=rows, config_rows=config_rows))


def test_configuration_of_nothing_ends() -> None:
    async def scenario(driver: Driver) -> None:
        await driver.write("control", CONFIGURE)
        await driver.tick(3)
        assert driver.read("status") == 1 << CONFIGURED

    simulate(scenario)


@pytest.mark.parametrize("together", [True, False])
def test_a_run_that_is_started_with_a_configuration_or_during_it_begins_after_it(together: bool) -> None:
    async def scenario(driver: Driver) -> None:
        begin = driver.cycle
        await driver.write("control", CONFIGURE | START if together else CONFIGURE)
        driver.put(configuring=1)
        if not together:
            await driver.tick(3)
            await driver.write("control", START)
        await driver.tick(6)
        assert driver.read("status") == 1 << CONFIGURING | 1 << BUSY and not driver.seen["start"]
        driver.put(configuring=0)
        last = driver.cycle
        await driver.tick(3 + FLUSH_CYCLES)
        assert driver.seen["start"] == [last + 2 + FLUSH_CYCLES]
        assert driver.seen["flush"] == list(range(begin + 1, driver.seen["start"][0]))
        await driver.tick(2)
        assert driver.read("status") == 1 << CONFIGURED | 1 << FINISHED
        assert driver.seen["configure"] == [begin]

    simulate(scenario)


@pytest.mark.parametrize("cycles", range(1, FLUSH_CYCLES + 6))
def test_a_configuration_ends_a_run_wherever_it_is(cycles: int) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.write("control", START)
        driver.put(running=1, moving=1)
        await driver.tick(cycles)
        await driver.write("control", CONFIGURE)
        started = len(driver.seen["start"])     # with one in the cycle of the command, which is stopped in the next
        stopped = driver.cycle - 1 + STOP_AFTER
        driver.put(configuring=1, running=0, moving=0)
        await driver.tick(20)
        assert driver.seen["stop"][-1] == stopped
        driver.put(configuring=0)
        await driver.tick(20)
        assert driver.read("status") == 1 << CONFIGURED
        assert len(driver.seen["start"]) == started

    simulate(scenario)


@pytest.mark.parametrize("started", [True, False])
def test_a_stop_ends_a_configuration_and_the_run_behind_it_without_an_event(started: bool) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.write("control", CONFIGURE | START * started)
        driver.put(configuring=1)
        await driver.tick(3)
        await driver.write("control", STOP)
        driver.put(configuring=0)
        await driver.tick(20)
        assert driver.read("status") == driver.read("irq_status") == 0
        assert len(driver.seen["config_stop"]) == 1 and not driver.seen["start"]

    simulate(scenario)


def test_a_word_that_is_dropped_shows_until_the_next_configuration() -> None:
    async def scenario(driver: Driver) -> None:
        await driver.write("control", CONFIGURE)
        driver.put(configuring=1, astray=1)
        await driver.tick()
        driver.put(configuring=0, astray=0)
        await driver.tick(5)
        assert driver.read("status") == driver.read("irq_status") == 1 << CONFIGURED | 1 << ASTRAY
        await driver.write("irq_status", 1 << ASTRAY)
        await driver.run()
        assert driver.read("status") == 1 << CONFIGURED | 1 << ASTRAY | 1 << BUSY, "a run is another matter"
        await driver.write("control", CONFIGURE)
        await driver.tick(5)
        assert driver.read("status") == driver.read("irq_status") == 1 << CONFIGURED

    simulate(scenario)


def refused(driver: Driver) -> set[str]:
    """The registers that are not to be accessed in this cycle."""
    found = set()
    for name in driver.index:
        driver.read(name)
        if driver.sim.get(driver.dut.refused):
            found.add(name)
    return found


@pytest.mark.parametrize("stopped", [False, True])
def test_accesses_of_the_configuration_network_and_only_they_are_refused_until_the_last_word_of_dmas(stopped: bool) -> None:
    """A word that is on its way between GLB tiles is at its channel in the cycle behind `configuring`, also after a stop."""
    both = {"config_write", "config_read"}

    async def scenario(driver: Driver) -> None:
        assert not refused(driver)
        await driver.write("control", CONFIGURE)
        assert refused(driver) == both
        driver.put(configuring=1)
        await driver.tick(3)
        assert refused(driver) == both
        if stopped:
            await driver.write("control", STOP)
            await driver.tick()
            assert refused(driver) == both
        driver.put(configuring=0)
        await driver.tick()
        cycles = 0
        while refused(driver):
            await driver.tick()
            cycles += 1
        assert (cycles == 0) is stopped
        assert driver.read("status") == (0 if stopped else 1 << CONFIGURED)

    simulate(scenario)
