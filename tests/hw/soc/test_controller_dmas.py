"""What the controller knows of the DMAs: runs that they hold open, descriptors that wait, and their ends."""

from dataclasses import replace

import pytest
from controlled import ARCH, STALLING, Driver, simulate

from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.soc import (
    BUSY,
    FINISHED,
    FLUSH_CYCLES,
    LOAD_ENDED,
    STORE_ENDED,
)


def test_a_run_that_is_held_open_goes_on_and_ends_when_it_no_longer_is() -> None:
    async def scenario(driver: Driver) -> None:
        await driver.write("hold", 1)
        await driver.run()
        driver.put(running=0)
        await driver.tick(20)
        before = driver.read("cycles")
        driver.put(running=1)       # something was queued
        await driver.tick(7)
        driver.put(running=0)
        await driver.tick(5)
        assert driver.read("status") == 1 << BUSY and driver.read("cycles") == before + 12
        await driver.write("hold", 0)
        await driver.tick(2)
        assert driver.read("status") == 1 << FINISHED

    simulate(scenario, replace(STALLING, glb=replace(STALLING.glb, queue=True)))
    simulate(scenario, replace(ARCH, glb=replace(ARCH.glb, queue=True)))


@pytest.mark.parametrize("late", [0, 3, 20])
@pytest.mark.parametrize("arch", [replace(ARCH, glb=replace(ARCH.glb, queue=True)),
                                  replace(STALLING, glb=replace(STALLING.glb, queue=True))], ids=["plain", "stalling"])
def test_a_run_that_is_held_open_is_followed_by_what_is_asked_for_before_or_after_its_end(late: int, arch: Arch) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.write("hold", 1)
        await driver.run()
        for number, held in enumerate((1, 1, 0), 1):
            if not late:
                await driver.write("runs", number)
            driver.put(running=0)
            await driver.tick(late)
            assert driver.read("runs_done") == number - 1 and driver.read("status") == 1 << BUSY
            asked = driver.cycle
            if late:
                await driver.write("runs", number)
            await driver.write("hold", held)
            driver.put(running=1)
            await driver.tick(FLUSH_CYCLES + 12)
            assert driver.read("runs_done") == number
            assert driver.seen["start"][-1] == driver.seen["again"][-1] and len(driver.seen["start"]) == number + 1
            assert driver.seen["start"][-1] == asked + FLUSH_CYCLES + 1 + (late > 0), "as soon as without a hold"
        assert driver.read("status") == 1 << BUSY
        driver.put(running=0)
        await driver.tick(60)
        assert driver.read("status") == 1 << FINISHED and driver.read("runs_done") == 4

    simulate(scenario, arch)


@pytest.mark.parametrize("columns, loads, stores, told", [(6, 0b101, 0b010, 0b010 << 16 | 0b101),
                                                          (40, 1 << 19 | 1, 1 << 16, 1 << 16 | 0b1001)])
def test_which_descriptors_wait_is_told_of_all_tiles_at_once(columns: int, loads: int, stores: int, told: int) -> None:
    async def scenario(driver: Driver) -> None:
        driver.put(load_queued=loads, store_queued=stores)
        await driver.tick()
        assert driver.read("queued") == told
        driver.put(load_queued=0, store_queued=0)
        await driver.tick()
        assert driver.read("queued") == 0

    simulate(scenario, replace(ARCH, columns=columns, glb=replace(ARCH.glb, queue=True)))


@pytest.mark.parametrize(("unit", "event", "others"), [("load", LOAD_ENDED, "store"), ("store", STORE_ENDED, "load")])
def test_the_end_of_a_dma_is_noted_and_an_event_if_it_is_chosen(unit: str, event: int, others: str) -> None:
    async def scenario(driver: Driver) -> None:
        async def end(tiles: int) -> None:
            driver.put(**{f"{unit}_ends": tiles})
            await driver.tick()
            driver.put(**{f"{unit}_ends": 0})

        await driver.write("irq_enable", 0xFFFFFFFF)
        await end(0b101)
        assert (driver.read(f"{unit}s_ended"), driver.read(f"{others}s_ended")) == (0b101, 0)
        assert (driver.read("irq_status"), driver.read("status")) == (0, 0)
        await driver.write(f"irq_{others}s", 0xFFFFFFFF)
        await driver.write(f"irq_{unit}s", 0b010)
        await end(0b001)
        assert not driver.sim.get(driver.dut.irq), "it is not one that was chosen"
        await end(0b010)
        assert driver.read("irq_status") == 1 << event and driver.sim.get(driver.dut.irq)
        await driver.write(f"{unit}s_ended", 0b011)
        assert driver.read(f"{unit}s_ended") == 0b100, "ones clear"
        await driver.write("irq_status", 1 << event)
        assert not driver.sim.get(driver.dut.irq)
        driver.put(**{f"{unit}_ends": 0b010})
        await driver.write("irq_status", 1 << event)
        assert driver.read("irq_status") == 1 << event, "what happens in the cycle of the clearing is not lost"
        await driver.write(f"{unit}s_ended", 0b110)
        driver.put(**{f"{unit}_ends": 0})
        assert driver.read(f"{unit}s_ended") == 0b010

    simulate(scenario)


def test_the_dmas_of_more_glb_tiles_than_bits_share_them() -> None:
    async def scenario(driver: Driver) -> None:
        driver.put(load_ends=1 << 33 | 1 << 7, store_ends=1 << 39)
        await driver.tick()
        assert (driver.read("loads_ended"), driver.read("stores_ended")) == (1 << 1 | 1 << 7, 1 << 7)

    simulate(scenario, replace(ARCH, columns=80))
