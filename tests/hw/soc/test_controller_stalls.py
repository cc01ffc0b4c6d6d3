"""Columns that stand still, as the controller alone freezes them."""

import random
from dataclasses import replace

from controlled import CONFIGURE, STALLING, START, Driver, simulate

from sardonyx.hw.arch.soc import BUSY, FINISHED, WATCHDOG


def test_columns_of_the_region_are_frozen_as_the_register_says() -> None:
    async def scenario(driver: Driver) -> None:
        driver.put(mine=0b101)
        await driver.write("stall", 0b101111)
        await driver.tick()
        assert driver.sim.get(driver.dut.stall) == driver.read("stalled") == 0b100011
        driver.put(mine=0b010)
        assert driver.read("stalled") == 0b001100
        await driver.write("stall", 0b000100)
        await driver.tick()
        assert (driver.read("stalled"), driver.read("stall")) == (0b000100, 0b000100)

    simulate(scenario, STALLING)


def test_no_column_is_frozen_from_a_start_till_loads_show_their_first_words() -> None:
    async def scenario(driver: Driver) -> None:
        driver.put(mine=0b111)
        await driver.write("stall", 0b111111)
        await driver.tick()
        await driver.write("control", START)
        while not driver.sim.get(driver.dut.start):
            assert not driver.read("stalled")
            await driver.tick()
        # In the cycle in which `start` is 1 and as many behind it as a load takes; a column follows a cycle later.
        for _ in range(STALLING.glb.load_latency + 1):
            assert not driver.read("stalled")
            await driver.tick()
        assert driver.read("stalled") == 0b111111
        driver.put(configuring=1)
        await driver.write("control", CONFIGURE)
        for _ in range(5):
            await driver.tick()
            assert not driver.read("stalled")

    simulate(scenario, STALLING)


def test_columns_of_a_static_program_are_frozen_all_at_once_or_not_at_all() -> None:
    async def scenario(driver: Driver) -> None:
        driver.put(mine=0b101, whole=1)
        for written, frozen in ((0b000001, 0b110011), (0b001100, 0), (0b010100, 0b110011), (0, 0)):
            await driver.write("stall", written)
            await driver.tick(8)
            assert driver.sim.get(driver.dut.stall) == driver.read("stalled") == frozen, bin(written)
        # Nor is a memory accessed that is about to be frozen with another column.
        await driver.write("config_address", 0x0501_8000)
        await driver.write("stall", 0b000001)
        driver.put(register_index=driver.index["config_write"])
        assert driver.sim.get(driver.dut.refused)
        driver.put(whole=0)
        await driver.tick(8)
        assert driver.read("stalled") == 0b000001, "other programs may be frozen in some columns"

    simulate(scenario, STALLING)


def test_runs_take_as_long_as_without_stalls_though_last_words_go_to_their_banks_meanwhile() -> None:
    found: list[int] = []

    async def scenario(driver: Driver, draw: random.Random, often: float) -> None:
        stood = False   # tiles do, a cycle after they are told

        async def step() -> None:
            nonlocal stood
            stood = bool(driver.read("stalled"))
            if draw.random() < often:
                await driver.write("stall", draw.choice([0, 0b1]))
            else:
                await driver.tick()

        driver.put(mine=0b111)
        await driver.write("runs", 1)
        await driver.write("control", START)
        for number in range(2):
            while len(driver.seen["start"]) == number:
                await step()
            driver.put(running=1)
            left = 9    # words that leave columns
            while left:
                crosses = int(not stood)
                driver.put(moving=crosses, crossed=crosses)
                await step()
                left -= crosses
            driver.put(moving=0, crossed=0)
            for _ in range(3):
                await step()    # the last one is on its way to its bank
            driver.put(running=0)
        while driver.read("status") != 1 << FINISHED:
            await step()
        found.append(driver.read("cycles"))

    for seed in range(12):
        simulate(lambda driver, seed=seed: scenario(driver, random.Random(seed), 0.6 * (seed > 0)), STALLING)
    assert found == [found[0]] * 12


def test_a_stall_waits_until_requests_are_at_their_tiles() -> None:
    async def scenario(driver: Driver) -> None:
        driver.put(mine=0b111)
        await driver.write("config_write", 7)
        asked = driver.cycle - 1
        await driver.write("stall", 0b1)
        while not driver.read("stalled"):
            await driver.tick()
        # At the last of two segments it is 2 cycles later, and columns are frozen 1 cycle after the register.
        assert asked + 2 < driver.cycle + 1 <= asked + 2 + 4
        for _ in range(5):
            await driver.write("config_read", 1)
        await driver.write("stall", 0)
        assert driver.read("stalled"), "nor does it end before"
        await driver.tick(4)
        assert not driver.read("stalled")

    simulate(scenario, STALLING)


def test_words_of_memories_in_frozen_columns_are_refused_and_others_are_not() -> None:
    async def scenario(driver: Driver) -> None:
        driver.put(mine=0b111)
        for stalled, address, refused in ((0b10, 0x0101_8000, 1), (0b10, 0x01FF_FFFE, 1), (0b10, 0x0101_FFFF, 0),
                                          (0b10, 0x0101_7FFF, 0), (0b10, 0x0001_8000, 0), (0, 0x0101_8000, 0)):
            await driver.write("stall", stalled)
            await driver.write("config_address", address)
            await driver.tick(8)
            for name in ("config_write", "config_read"):
                driver.put(register_index=driver.index[name])
                assert driver.sim.get(driver.dut.refused) == refused, (stalled, hex(address))

    simulate(scenario, STALLING)


def test_where_memories_are_read_they_are_reached_when_their_columns_stand_still_and_not_on_the_way_there() -> None:
    async def scenario(driver: Driver) -> None:
        driver.put(mine=0b111)
        await driver.write("config_address", 0x0101_8000)
        await driver.write("config_read", 1)
        await driver.write("stall", 0b10)       # waits till the request is at its tile
        found = []
        for _ in range(10):
            driver.put(register_index=driver.index["config_read"])
            refused = driver.sim.get(driver.dut.refused)
            found.append((driver.read("stalled"), refused))
            await driver.tick()
        assert set(found) == {(0, 1), (0b10, 0)} and found == sorted(found)

    simulate(scenario, replace(STALLING, memory_readback=True))


def test_the_time_of_a_run_stands_still_with_a_column() -> None:
    async def scenario(driver: Driver) -> None:
        driver.put(mine=0b111)
        await driver.write("watchdog_limit", 30)
        await driver.write("cycle_limit", 300)
        await driver.run(20)
        await driver.write("stall", 0b1)
        driver.put(moving=0)
        await driver.tick()
        frozen, before = driver.cycle, driver.read("cycles")
        assert driver.read("stalled")
        await driver.tick(400)
        assert driver.read("cycles") == before and driver.read("status") == 1 << BUSY
        await driver.write("stall", 0)
        while driver.read("stalled"):
            await driver.tick()
        stood = driver.cycle - frozen
        assert driver.read("stalled_cycles") == stood > 400
        await driver.tick(10)
        assert driver.read("cycles") == before + 10 and driver.read("stalled_cycles") == stood
        await driver.tick(30)
        assert driver.read("status") == 1 << WATCHDOG
        await driver.write("control", START)
        assert driver.read("stalled_cycles") == 0

    simulate(scenario, STALLING)
