"""The controller alone, cycle by cycle, in Amaranth's simulator; tests/sim/test_machine.py runs it as Verilog."""

import random
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from amaranth.sim import Simulator, SimulatorContext

from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.glb import Glb
from sardonyx.hw.arch.soc import (
    ASTRAY,
    AT_WALL,
    BUSY,
    CONFIG_BUSY,
    CONFIGURED,
    CONFIGURING,
    CONTROLLER,
    CYCLE_LIMIT,
    FINISHED,
    FLUSH_CYCLES,
    LOAD_ENDED,
    MOVED_BITS,
    MOVED_WINDOW,
    OVERFLOW,
    RW,
    STORE_ENDED,
    STORE_LIMIT,
    STORE_LOST,
    WATCHDOG,
    controller_registers,
    offsets,
)
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


def test_events_outside_a_run_are_ignored() -> None:
    async def scenario(driver: Driver) -> None:
        driver.put(overflow=1, beyond=1)
        await driver.write("watchdog_limit", 1)
        await driver.tick(10)
        assert (driver.read("status"), driver.read("irq_status")) == (0, 0)

    simulate(scenario)


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


SEGMENTS = [(1, 8), (8, 8), (9, 8), (20, 3)]


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
