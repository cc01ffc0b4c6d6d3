"""Jobs on columns of a machine that only knows when its regions ring: where and when they run, and what their end leaves."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from machines import LEAST

from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.errors import UserError
from sardonyx.runtime.region import Region
from sardonyx.runtime.scheduler import MOST_OVERTAKEN, Job, Scheduler
from sardonyx.runtime.session import Session
from sardonyx.runtime.task import Task

COLUMNS = 12
ARCH = replace(LEAST, name="twelve", columns=COLUMNS, regions=3)
PAIRS = [2, 4, 6, 8, 12]


class Clockwork:
    """A machine of regions whose interrupt comes so many cycles after `runs` is written."""

    def __init__(self, arch: Arch = ARCH) -> None:
        self.arch, self.now = arch, 0
        self.rings: dict[int, int] = {}
        self.tiles: dict[int, int] = {0: (1 << arch.glb_tiles) - 1}
        self.enabled = dict.fromkeys(range(arch.regions), 1)

    def write_register(self, name: str, value: int, glb_tile: "int | None" = None, region: int = 0) -> None:
        match name:
            case "claim":
                others = [tiles for number, tiles in self.tiles.items() if number != region]
                assert not any(tiles & value for tiles in others) or not self.rings, "nobody loses a tile"
                assert region not in self.rings, "nor changes while it runs"
                self.tiles = {number: tiles & ~value for number, tiles in self.tiles.items()} | {region: value}
            case "runs":
                self.rings[region], self.enabled[region] = self.now + value, 1
            case "irq_enable":
                self.enabled[region] = value
            case "irq_status":
                self.rings.pop(region)
            case "control":
                self.rings.pop(region, None)

    def read_register(self, name: str, glb_tile: "int | None" = None, region: int = 0) -> int:
        if name == "irq_enable":
            return self.enabled[region]
        assert name == "irq_status"
        return int(self._rang(region))

    def _rang(self, region: int) -> bool:
        return region in self.rings and self.rings[region] <= self.now

    def wait(self, limit: int) -> bool:
        ends = [end for region, end in self.rings.items() if self.enabled[region]]
        self.now = min([max(self.now, end) for end in ends] + [self.now + limit])
        return any(self._rang(region) for region in self.rings if self.enabled[region])


def machine() -> Any:
    return Clockwork()


def run(region: Region, cycles: int, limit: int = 10_000) -> bool:
    region.write_register("runs", cycles)
    return region.wait(limit)


@given(jobs=st.lists(st.tuples(st.sampled_from(PAIRS), st.lists(st.integers(0, 50), max_size=4)), min_size=1, max_size=12))
def test_every_job_runs_once_on_columns_of_its_own_in_nearly_the_order_given(jobs: "list[tuple[int, list[int]]]") -> None:
    device, begun, active = machine(), list[int](), dict[int, range]()

    def work(number: int, cycles: "list[int]") -> "Callable[[Region], int]":
        def done(region: Region) -> int:
            begun.append(number)
            assert not any(set(region.tiles) & set(tiles) for tiles in active.values())
            active[number] = region.tiles
            assert device.tiles[region.number] == sum(1 << tile for tile in region.tiles)
            for each in cycles:
                before = device.now
                assert run(region, each)
                assert device.now >= before + each
            del active[number]
            return number

        return done

    with Scheduler(device) as scheduler:
        given_ = [scheduler.submit(columns, work(number, cycles)) for number, (columns, cycles) in enumerate(jobs)]
    assert [job.result() for job in given_] == [*range(len(jobs))] == sorted(begun)
    for place, number in enumerate(begun):
        assert sum(other > number for other in begun[:place]) <= MOST_OVERTAKEN
    assert all(job.first is not None and job.first % 2 == 0 and job.first + job.columns <= COLUMNS for job in given_)
    assert device.tiles == {0: (1 << COLUMNS) - 1, 1: 0, 2: 0}, "the machine is one again"


def test_jobs_compute_at_the_same_time_where_there_is_room_and_begin_where_one_ends() -> None:
    device, ends = machine(), dict[str, int]()

    def work(name: str, cycles: int) -> "Callable[[Region], None]":
        def done(region: Region) -> None:
            assert run(region, cycles)
            ends[name] = device.now

        return done

    with Scheduler(device) as scheduler:
        jobs = [scheduler.submit(columns, work(name, cycles)) for name, columns, cycles in (
            ("long", 6, 100), ("short", 4, 30), ("wide", 8, 10), ("late", 4, 20))]
    assert ends == {"long": 100, "short": 30, "late": 50, "wide": 110}
    assert [job.first for job in jobs] == [0, 6, 0, 6]


def test_a_job_is_overtaken_so_often_and_no_more() -> None:
    device, order = machine(), list[int]()

    def work(number: int) -> "Callable[[Region], None]":
        def done(region: Region) -> None:
            order.append(number)
            run(region, 1000 if number == 0 else 10)

        return done

    with Scheduler(device) as scheduler:
        for number in range(12):
            scheduler.submit(12 if number == 1 else 6, work(number))
    assert order == [0, 2, 3, 4, 5, 1, *range(6, 12)]


def test_what_a_job_raises_is_raised_by_its_result_and_at_the_end_if_nobody_asked() -> None:
    device = machine()

    def fail(region: Region) -> None:
        region.write_register("runs", 50)
        raise UserError("no", "job", "yes")

    with pytest.raises(UserError, match="job: no"), Scheduler(device) as scheduler:
        job, other = scheduler.submit(4, fail), scheduler.submit(12, lambda region: run(region, 5))
    assert job.done and other.result() is True
    assert not device.rings, "what it began is stopped"
    with Scheduler(device) as scheduler:
        job = scheduler.submit(4, fail)
        assert device.tiles[0] == 0
        for _ in range(2):
            with pytest.raises(UserError, match="job: no"):
                job.result()


def test_an_error_in_the_statement_stops_the_jobs() -> None:
    device, stopped = machine(), list[int]()

    def work(region: Region) -> None:
        try:
            run(region, 1000)
        finally:
            stopped.append(device.now)

    with pytest.raises(ZeroDivisionError), Scheduler(device) as scheduler:
        for columns in (4, 4, 12):
            scheduler.submit(columns, work)
        raise ZeroDivisionError
    assert stopped == [0, 0] and not device.rings
    assert device.tiles[0] == (1 << COLUMNS) - 1


def test_a_job_may_submit_others_but_not_wait_for_one() -> None:
    device, later = machine(), list["Job[bool]"]()

    def work(region: Region) -> bool:
        later.append(scheduler.submit(12, lambda region: run(region, 7)))
        later.append(scheduler.submit(2, lambda region: run(region, 3)))
        with pytest.raises(UserError, match="waits for other work"):
            later[0].result()
        return run(region, 10)

    with Scheduler(device) as scheduler:
        assert scheduler.submit(4, work).result()
    assert [job.result() for job in later] == [True, True]
    assert device.now == 17


@pytest.mark.parametrize("columns", [0, -2, 3, 14, "4", 2.0, True, None])
def test_columns_that_the_machine_has_not_are_refused(columns: Any) -> None:
    wide: Any = Clockwork(replace(ARCH, glb=replace(ARCH.glb, columns_per_tile=2)))
    scheduler = Scheduler(wide)
    with pytest.raises(UserError, match=r"(?s)a region of .* columns.*give a multiple of 2, 12 at most"):
        scheduler.submit(columns, lambda region: None)
    scheduler.finish()


def test_a_machine_of_one_region_has_no_scheduler() -> None:
    with pytest.raises(UserError, match="the machine has one region"):
        Scheduler(Clockwork(LEAST))  # type: ignore[arg-type]


def test_who_waits_too_long_is_told_and_the_others_go_on() -> None:
    device = machine()
    with Scheduler(device) as scheduler:
        late = scheduler.submit(4, lambda region: run(region, 500, 99))
        fine = scheduler.submit(4, lambda region: run(region, 300))
        assert late.result() is False and device.now == 99
        assert fine.result() is True and device.now == 300


def test_places_are_given_and_given_up_while_others_go_on() -> None:
    device = machine()
    session = Session(device, [4])
    session.begin(0, lambda region: run(region, 40))
    first, second = session.place(6), session.place(2)
    assert [(each.number, each.tiles) for each in session.regions] == [(0, range(4)), (1, range(4, 10)), (2, range(10, 12))]
    with pytest.raises(UserError, match="no room for 2 of 12 columns in 3 regions: region 0 has 4, 1 has 6, 2 has 2"):
        session.place(2)
    session.release(first.number)
    with pytest.raises(UserError, match="region 1 has no columns, or was released"):
        first.write_register("runs", 1)
    assert session.place(4).tiles == range(4, 8)
    with pytest.raises(UserError, match="region 0 is busy"):
        session.release(0)
    assert second.tiles == range(10, 12)
    session.wait(0)
    session.release(0)
    assert session.place(4).tiles == range(4) and device.now == 40


def test_a_split_or_a_session_that_is_refused_leaves_the_machine_as_it_is() -> None:
    device = machine()
    with pytest.raises(UserError, match=r"columns 10\.\.13"):
        Session(device, [10, 4])
    assert device.tiles == {0: (1 << COLUMNS) - 1}

    def fail(region: Region) -> None:
        raise UserError("no", "job", "yes")

    with Session(device, [4, 4]) as session:
        session.begin(1, fail)
        with pytest.raises(UserError, match="job: no"):
            session.split([12])
        assert [each.tiles for each in session.regions] == [range(4), range(4, 8)]
        session.split([12])
        session.begin(0, lambda region: run(region, 1000))
    assert device.now == 0 and not device.rings and device.tiles[0] == (1 << COLUMNS) - 1


def test_a_task_that_is_cancelled_before_it_began_does_nothing() -> None:
    began = list[int]()
    task = Task(lambda: began.append(1))
    task.cancel()
    assert not began


def test_what_was_stopped_has_no_result() -> None:
    device = machine()
    with pytest.raises(ZeroDivisionError), Scheduler(device) as scheduler:
        jobs = [scheduler.submit(columns, lambda region: run(region, 1000)) for columns in (12, 4)]
        raise ZeroDivisionError
    for job, said in zip(jobs, ("was stopped before its end", "never began"), strict=True):
        assert job.done
        with pytest.raises(UserError, match=said):
            job.result()


def test_where_nothing_goes_on_no_time_passes() -> None:
    device = machine()
    with Session(device, [4]) as session, pytest.raises(UserError, match="nothing goes on"):
        session.step()
    scheduler = Scheduler(device)
    with pytest.raises(UserError, match="nothing goes on"):
        scheduler.step()


@pytest.mark.parametrize("kind", [Session, Scheduler])
def test_what_is_no_device_has_no_regions(kind: Callable[[Any], object]) -> None:
    with pytest.raises(UserError) as error:
        kind("small")
    assert str(error.value) == ("device: it is of type str, which is no machine that runs\n"
                                "  try: give one, as of sardonyx.simulated(arch)")
