"""Jobs on the regions of generated Verilog: scheduled, in groups, and several that begin together."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from machines import copier
from three_regions import BLOCK, CONFIGURE, PART, START, THREE, blocks, stored

from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.soc import FINISHED, GROUP, named
from sardonyx.runtime import host
from sardonyx.runtime.plan import prepare
from sardonyx.runtime.region import Region
from sardonyx.runtime.scheduler import Scheduler
from sardonyx.runtime.session import Session
from sardonyx.sim.rtl import simulator
from sardonyx.sim.rtl.machine import Machine


@pytest.fixture
def machine() -> Iterator[Machine]:
    with simulator.whole_machine(THREE).start(check=True) as running:
        yield running


def copied(words: np.ndarray) -> "Callable[[Region], list[int]]":
    """Work: words through a region, launch by launch."""
    def work(region: Region) -> list[int]:
        given = [{"a_vals": np.concatenate(([len(part)], part)).astype(np.uint16)} for part in np.array_split(words, 4)]
        outcomes = host.run(region, copier(region.arch), given, {"b_vals": 40})
        return [word for outcome in outcomes for each in outcome.stored for word in each["b_vals"][1:].tolist()]

    return work


def test_scheduled_jobs_have_their_words_wherever_and_beside_whatever_they_run(machine: Machine) -> None:
    columns, words = (2, 2, 4, 6, 2, 2, 2, 4, 6, 2, 4, 2), np.random.default_rng(5).integers(0, 1 << 16, (12, 120))
    with Scheduler(machine) as scheduler:
        jobs = [scheduler.submit(size, copied(each)) for size, each in zip(columns, words, strict=True)]
        assert len({job.first for job in jobs[:2]} - {None}) == 2, "the first two run at once"
    assert [job.result() for job in jobs] == words.tolist()
    assert [machine.read_register("tiles", region=region) for region in range(3)] == [0b111111, 0, 0]
    given = [{"a_vals": BLOCK}]
    outcome, = host.run(machine, copier(THREE), given, {"b_vals": 21})
    assert outcome.stored[0]["b_vals"].tolist() == BLOCK.tolist(), "the machine is one again"


@pytest.mark.parametrize("command", [START, CONFIGURE])
def test_what_a_job_leaves_going_on_is_stopped_before_another_has_its_columns(machine: Machine, command: int) -> None:
    def leave(region: Region) -> None:
        host.execute(region, prepare(copier(region.arch), region.arch))
        for tile in range(2):
            for name, value in (("config_control", 1), ("config_words", 2000), ("store_control", 1), ("store_sections", 9)):
                region.write_register(name, value, tile)
        region.write_register("control", command)

    words = np.arange(120)
    with Scheduler(machine) as scheduler:
        for columns in (2, 4, 6):
            scheduler.submit(columns, leave)
            assert scheduler.submit(6, copied(words)).result() == words.tolist()


def test_runs_of_a_group_take_as_many_cycles_from_one_start_to_one_stop(machine: Machine) -> None:
    """That of the third region is its own."""
    Session(machine, [2, 2, 2])
    for tile in (0, 2, 4):      # of words that nobody sends
        for name in ("store_control", "store_limit", "store_sections"):
            machine.write_register(name, 1, tile)
    together = named(GROUP)["group"]
    machine.write_register("control", START, region=2)
    machine.write_register("group", together.word(regions=0b11, start=1))
    assert [machine.read_register("status", region=region) & 1 for region in range(3)] == [1, 1, 1]
    machine.write_register("group", together.word(regions=0b111, stop=1))
    one, other, alone = (machine.read_register("cycles", region=region) for region in range(3))
    assert one == other > 0 and alone > one
    for region in (0, 1):
        machine.write_register("control", START, region=region)
    machine.read_register("status")
    machine.write_register("group", together.word(regions=0b11, stop=1))
    assert machine.read_register("cycles", region=0) > machine.read_register("cycles", region=1) > 0
    for tile in (0, 2):
        machine.write_register("store_control", 0, tile)
    machine.write_register("group", together.word(regions=0b11, start=1))
    while machine.read_register("status") & 1:
        pass
    ended = [machine.read_register("status", region=region) for region in range(2)]
    assert ended == [1 << FINISHED] * 2, "without streams it is a flush"
    with pytest.raises(AssertionError, match="group was answered with 2"):
        machine.write_register("group", together.word(regions=0b1001, start=1))
    assert machine.read_register("status") & 1 == 0, "nor has region 0 started"


def test_work_that_begins_together_has_its_words_and_cycles_and_starts_when_all_can(machine: Machine) -> None:
    session = Session(machine, [2, 2, 2])
    program, given = copier(PART), [blocks(25, 7), blocks(25, 8), [{"a_vals": np.arange(2000)}]]
    alone = []
    for region in range(3):
        session.load(region, program)
    for region in (0, 1):
        session.run(region, given[region], {"b_vals": 31})
        alone.append(stored(session, region))
    written: list[tuple[str, int, int]] = []
    write = machine.write_register

    def record(name: str, value: int, glb_tile: int | None = None, region: int = 0) -> None:
        written.append((name, value, region))
        write(name, value, glb_tile, region)

    machine.write_register = record     # type: ignore[method-assign]
    session.run_together(dict(enumerate(given)), {region: {"b_vals": 31} for region in range(3)})
    starts = [(name, value, region) for name, value, region in written if name in ("group", "control") and value & START]
    assert starts == [("group", named(GROUP)["group"].word(regions=0b11, start=1), 0)], "region 2 has too many words"
    assert [stored(session, region) for region in (1, 0)] == alone[::-1]
    with pytest.raises(UserError, match="takes 2000 words"):
        session.wait(2)
    with pytest.raises(UserError, match="there is no region 7"):
        session.run_together({0: given[0], 7: given[1]})
    assert not session.busy(0)
    with pytest.raises(UserError, match="register 'group' is of all regions"):
        session.regions[0].write_register("group", 0)
