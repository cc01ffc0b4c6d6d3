"""Regions in generated Verilog: each has its own runs, and nothing in one reaches another."""

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import checks
import numpy as np
import pytest
from machines import LEAST, copier

from sardonyx.compiler.backend.encode import address
from sardonyx.compiler.backend.image import image
from sardonyx.compiler.ir.program import Program
from sardonyx.hw import emit
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.config import EVERY_ROW
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.soc import ASTRAY, AT_WALL, CONFIGURED, CONFIGURING, FINISHED, GROUP, WATCHDOG, named
from sardonyx.hw.configuration import word_bits
from sardonyx.hw.soc.top import Sardonyx
from sardonyx.runtime import host
from sardonyx.runtime.data.images import images
from sardonyx.runtime.plan import prepare
from sardonyx.runtime.region import Region
from sardonyx.runtime.scheduler import Scheduler
from sardonyx.runtime.session import Session
from sardonyx.sim.rtl import simulator
from sardonyx.sim.rtl.machine import Machine

# Three regions of two columns.
THREE = replace(LEAST, name="three", columns=6, regions=3)
STATIC = replace(THREE, name="walls of words", interconnect=replace(THREE.interconnect, fifo="none"))
RINGED = replace(THREE, name="walls of the ring", glb=replace(THREE.glb, ring=3))
PART = replace(LEAST, name="part")
START, STOP, CONFIGURE = 1, 2, 4
BLOCK = np.array([20, *range(1, 21)], np.uint16)


@pytest.fixture
def machine() -> Iterator[Machine]:
    with simulator.whole_machine(THREE).start(check=True) as running:
        yield running


def blocks(count: int, seed: int) -> "list[dict[str, np.ndarray]]":
    draw = np.random.default_rng(seed)
    return [{"a_vals": np.array([size, *draw.integers(0, 1 << 16, size)], np.uint16)} for size in draw.integers(1, 30, count)]


def stored(session: Session, region: int) -> "tuple[list[list[int]], list[int]]":
    """Words and cycles of the launches of a region."""
    found = session.wait(region)
    return [each["b_vals"].tolist() for one in found for each in one.stored], [one.cycles for one in found]


def test_programs_run_at_once_wherever_they_are_placed_with_the_words_and_cycles_that_they_have_alone(machine: Machine) -> None:
    session = Session(machine, [2, 2, 2])
    program, given = copier(PART), [blocks(25, seed) for seed in range(3)]
    alone = []
    for region in range(3):
        assert session.regions[region].arch.fingerprint == PART.fingerprint
        session.load(region, program)
        session.run(region, given[region], {"b_vals": 31})
        alone.append(stored(session, region))
        assert alone[-1][0] == [each["a_vals"].tolist() for each in given[region]]
        assert len(alone[-1][1]) > 2, "several launches"
    for region in range(3):
        session.run(region, given[region], {"b_vals": 31})
    assert all(session.busy(region) for region in range(3))
    assert [stored(session, region) for region in (1, 2, 0)] == [alone[region] for region in (1, 2, 0)]


def test_a_region_of_more_columns_is_another_machine(machine: Machine) -> None:
    session = Session(machine, [4, 2])
    wide = copier(replace(LEAST, columns=4))
    session.load(0, wide)
    session.load(1, copier(PART))
    with pytest.raises(UserError, match="compile it for the `arch` of this region"):
        session.load(1, wide)
    for region in (0, 1):
        session.run(region, [{"a_vals": BLOCK}], {"b_vals": 21})
    assert [stored(session, region)[0] for region in (0, 1)] == [[BLOCK.tolist()]] * 2


@pytest.mark.parametrize("times", [20, pytest.param(1000, marks=pytest.mark.slow)])
def test_a_region_has_its_words_and_cycles_while_another_is_configured_again_and_again(machine: Machine, times: int) -> None:
    session = Session(machine, [2, 2, 2])
    program, given = copier(PART), blocks(100, 1)
    bounds = {"b_vals": 31}
    session.load(0, program)
    session.run(0, given, bounds)
    alone = stored(session, 0)
    there, = images(image(program, PART), PART)
    back, = images([(address(x, EVERY_ROW, register), 0) for x in range(2) for register in range(3)], PART)
    other, configured = session.regions[1], 0
    while configured < times:
        session.run(0, given, bounds)
        while session.busy(0):
            for tile, lines in (there, back)[configured % 2].items():
                other.write_memory(tile * PART.glb.tile_bytes, lines.view("<u2"))
                for name, value in (("config_control", 1), ("config_start", 0), ("config_words", len(lines))):
                    other.write_register(name, value, tile)
            other.write_register("control", CONFIGURE)
            while other.read_register("status") >> CONFIGURING & 1:
                pass
            assert other.read_register("status") >> CONFIGURED & 1
            configured += 1
        assert stored(session, 0) == alone


def hostile(arch: Arch, draw: random.Random) -> "list[tuple[int, int]]":
    """Random words for every register of a machine."""
    bits = {site: word_bits(arch.config_map(spec.kind)) for site, spec in arch.tiles.items()}
    return [(address(*site, register), draw.getrandbits(32) & (1 << bits[site][register]) - 1)
            for site in arch.tiles for register in range(len(bits[site]))]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("arch", [THREE, STATIC, RINGED], ids=lambda arch: str(arch.name))
def test_no_bitstream_of_the_regions_beside_it_changes_words_or_cycles_of_a_region(arch: Arch, seed: int) -> None:
    """Random configurations run there, on random data, and are stopped; among their words are some for columns not theirs."""
    draw = random.Random(seed)
    part = replace(arch, name="part", columns=2, regions=1)
    with simulator.whole_machine(arch).start(check=True) as machine:
        session = Session(machine, [2, 2, 2])
        program, given = copier(part), blocks(12, seed)
        victim = session.regions[1]
        if arch is not STATIC:
            session.load(1, program)
        else:
            victim.configure([(where - (2 << 24), word) for where, word in reader(arch)])
        before = {where: victim.read_configuration(where) for where, _ in hostile(part, draw)}
        alone = ran(session, given, arch)
        for _ in range(3):
            for number in (0, 2):
                attack(session, number, part, draw)
            assert ran(session, given, arch) == alone
            assert not victim.read_register("status") >> AT_WALL & 1
        assert {where: victim.read_configuration(where) for where in before} == before


# Every word that comes from a column in 40 cycles, to the begin of its tile.
SEES = {"store_control": 1 | 1 << 1, "store_start": 0, "store_limit": 64, "store_extent0": 39, "store_stride0": 2}


def reader(arch: Arch) -> "list[tuple[int, int]]":
    """Configuration of column 2 for a stream from the west, on track 0, to its GLB tile."""
    near = copier(replace(arch, columns=2, regions=1))
    config = {(x + 1, y): values for (x, y), values in near.config.items() if x == 1}
    return [(where, word) for where, word in image(replace(near, config=config), arch) if where >> 24 == 2]


def sender(arch: Arch) -> "list[tuple[int, int]]":
    """Configuration of columns 0 and 1 for a stream from the former's GLB tile over the latter to the east, on track 0."""
    near = copier(replace(arch, columns=2, regions=1))
    config = {site: values for site, values in near.config.items() if site[0] == 0}
    config[1, 1] = {"sb_data": {"e0_sel": arch.interconnect.select(arch.pe, "e0", "w_in0", "data")}}
    return [(where, word) for where, word in image(replace(near, config=config), arch) if where >> 24 < 2]


def ran(session: Session, given: "list[dict[str, np.ndarray]]", arch: Arch) -> object:
    """What region 1 gives, and how long that takes; in a static machine what it sees on a track that comes from the west."""
    if arch is not STATIC:
        session.run(1, given, {"b_vals": 31})
        return stored(session, 1)
    view = session.regions[1]
    for name, value in SEES.items():
        view.write_register(name, value, 0)
    view.write_register("watchdog_limit", 200)
    view.write_register("irq_enable", 0)
    view.write_register("control", START)
    while view.read_register("status") & 1:
        pass
    return view.read_register("status"), view.read_register("cycles"), view.read_memory(0, 40).tolist()


def attack(session: Session, number: int, part: Arch, draw: random.Random) -> None:
    """Configure a region at random, over its DMAs with words for any column, and start it; region 0 sends words at the wall."""
    view, meant = session.regions[number], dict(sender(part)) if number == 0 else {}
    view.write_register("irq_enable", 0)
    view.write_register("control", STOP)
    for tile in range(2):
        lines = [(draw.choice([0, 0, 0, 1, 2, 255]) << 56) | (where & 0xFF_FFFF) << 32 | word
                 for where, word in hostile(part, draw) if where >> 24 == tile and where not in meant]
        lines = lines[:part.glb.bank_bytes // 8 - len(meant)] + [
            (where & 0xFF_FFFF) << 32 | word for where, word in meant.items() if where >> 24 == tile]
        view.write_memory(tile * part.glb.tile_bytes, np.array(lines, "<u8").view("<u2"))
        view.write_register("config_control", draw.choice([1, 1, 2]), tile)
        view.write_register("config_words", len(lines), tile)
        for name in ("load_control", "store_control"):
            view.write_register(name, draw.getrandbits(32) | (name == "load_control" and number == 0), tile)
        for name in ("load_start", "store_start", "load_extent0", "load_stride0", "store_limit", "store_sections"):
            view.write_register(name, draw.getrandbits(12), tile)
        if part.glb.ring > 1:
            view.write_register("ring_control", draw.getrandbits(32) | tile, tile)
    view.write_register("control", CONFIGURE | START)


def test_words_for_another_regions_columns_are_dropped_and_reported(machine: Machine) -> None:
    session = Session(machine, [2, 2, 2])
    words = np.array([1 << 56 | address(0, 1, 0) << 32 | 1, 2 << 56 | address(0, 1, 0) << 32 | 1], "<u8")
    for number, astray in ((0, 1), (1, 1)):
        view = session.regions[number]
        view.write_memory(0, words.view("<u2"))
        for tile, control in ((0, 1), (1, 2)):
            view.write_register("config_control", control, tile)
        view.write_register("config_words", 2, 0)
        # The next region would take them.
        session.regions[number + 1].write_register("config_control", 2, 0)
        view.write_register("control", CONFIGURE)
        while view.read_register("status") >> CONFIGURING & 1:
            pass
        assert view.read_register("status") & (1 << CONFIGURED | 1 << ASTRAY) == 1 << CONFIGURED | astray << ASTRAY
        assert view.read_configuration(address(1, 1, 0)) == 1
        assert session.regions[number + 1].read_configuration(address(0, 1, 0)) == 0


def test_the_host_configures_and_reads_columns_of_the_region_over_whose_registers_it_asks(machine: Machine) -> None:
    session = Session(machine, [2, 2, 2])
    session.regions[1].configure([(address(0, 1, 0), 1)])
    assert session.regions[1].read_configuration(address(0, 1, 0)) == 1
    for region, column in ((0, 2), (1, 1), (1, 4), (2, 3)):
        machine.write_register("config_address", address(column, 1, 0), region=region)
        for name in ("config_write", "config_read"):
            with pytest.raises(AssertionError, match=f"write of register {name} was answered with 2"):
                machine.write_register(name, 0, region=region)
    assert session.regions[1].read_configuration(address(0, 1, 0)) == 1


def test_a_tile_changes_hands_only_when_nothing_goes_on_there(machine: Machine) -> None:
    assert [machine.read_register("tiles", region=region) for region in range(3)] == [63, 0, 0]
    assert machine.read_register("shape") >> 27 == 3
    machine.write_register("claim", 0b001100, region=1)
    assert [machine.read_register("tiles", region=region) for region in range(3)] == [0b110011, 0b001100, 0]
    for name in ("store_control", "store_limit", "store_sections"):
        machine.write_register(name, 1, 2)
    machine.write_register("control", START, region=1)      # and nothing comes that it stores
    for region, mask in ((2, 0b001000), (1, 0b100000), (0, 1 << 6), (0, 1 << 31)):
        with pytest.raises(AssertionError, match="claim was answered with 2"):
            machine.write_register("claim", mask, region=region)
    machine.write_register("claim", 0b110000, region=2)
    machine.write_register("control", STOP, region=1)
    machine.write_register("claim", 0b111000, region=2)
    assert [machine.read_register("tiles", region=region) for region in range(3)] == [0b000011, 0b000100, 0b111000]
    machine.write_register("claim", 0b010000, region=2)
    assert [machine.read_register("tiles", region=region) for region in range(3)] == [0b000011, 0b000100, 0b010000]
    machine.write_register("claim", 0b111011)
    assert [machine.read_register("tiles", region=region) for region in range(3)] == [0b111011, 0b000100, 0]


def test_a_machine_of_one_region_has_nothing_to_claim() -> None:
    with simulator.whole_machine(LEAST).start() as machine:
        assert (machine.read_register("tiles"), machine.read_register("shape") >> 27) == (3, 1)
        with pytest.raises(AssertionError, match="claim was answered with 2"):
            machine.write_register("claim", 1)
        assert machine.read_register("tiles") == 3


@pytest.mark.parametrize("walled", [False, True])
@pytest.mark.parametrize("arch", [THREE, STATIC], ids=lambda arch: str(arch.name))
def test_a_track_ends_at_a_wall_and_goes_on_where_there_is_none(arch: Arch, walled: bool) -> None:
    """From column 0 over column 1 to column 2: in one region the words arrive, else they wait, or zeros come in their place."""
    with simulator.whole_machine(arch).start(check=True) as machine:
        if walled:
            machine.write_register("claim", 0b111100, region=1)
        for region, words in ((0, sender(arch)), (int(walled), reader(arch))):
            for where, word in words:
                machine.write_register("config_address", where, region=region)
                machine.write_register("config_write", word, region=region)
        machine.write_memory(0, BLOCK)
        for name, value in {"load_control": 1, "load_extent0": 20, "load_stride0": 2}.items():
            machine.write_register(name, value, 0)
        for name, value in (SEES if arch is STATIC else {"store_control": 1, "store_limit": 64, "store_sections": 1}).items():
            machine.write_register(name, value, 2)
        regions = range(1 + walled)
        for region in regions:
            machine.write_register("watchdog_limit", 100, region=region)
        for region in reversed(regions):
            machine.write_register("control", START, region=region)
        while any(machine.read_register("status", region=region) & 1 for region in regions):
            pass
        came = machine.read_memory(2 * arch.glb.tile_bytes, 40).tolist()
        if arch is THREE:
            assert [machine.read_register("status", region=region) for region in regions] == (
                [1 << AT_WALL, 1 << WATCHDOG] if walled else [1 << FINISHED])
            assert machine.read_register("store_words", 2) == (0 if walled else 21)
        else:
            ended = [machine.read_register("status", region=region) >> AT_WALL & 1 for region in regions]
            assert ended == ([1, 0] if walled else [0]), "what is said of words that are there in every cycle"
        if walled:
            assert machine.read_register("overflow_column", region=0) == 1
        assert {*came} & {*BLOCK[1:].tolist()} == (set() if walled else {*BLOCK[1:].tolist()})


def astray(arch: Arch, side: str, forked: bool = False) -> Program:
    """A program of two columns that leads its words out of its region on a side; forked: and also where `copier` has them."""
    program = copier(arch)
    x, source = {"e": (1, "w_in0"), "w": (0, "n_in0")}[side]
    config = {site: {name: dict(values) for name, values in sets.items()} for site, sets in program.config.items()}
    boxes = config[x, 1]["sb_data"]
    if not forked:
        boxes.clear()
    return replace(program, config={**config, (x, 1): {**config[x, 1], "sb_data": {
        **boxes, f"{side}0_sel": arch.interconnect.select(arch.pe, f"{side}0", source, "data")}}})


@pytest.mark.parametrize("forked", [False, True])
@pytest.mark.parametrize("side", ["e", "w"])
def test_a_word_at_a_wall_is_an_event_of_its_region_and_of_no_other(machine: Machine, side: str, forked: bool) -> None:
    session = Session(machine, [2, 2, 2])
    program, given = copier(PART), blocks(40, 6)
    for region in (0, 2):
        session.load(region, program)
        session.run(region, given, {"b_vals": 31})
    alone = [stored(session, region) for region in (0, 2)]
    session.load(1, astray(PART, side, forked))
    for region in (0, 2):
        session.run(region, given, {"b_vals": 31})
    session.run(1, [{"a_vals": BLOCK}], {"b_vals": 21})
    x = {"e": 1, "w": 0}[side]
    with pytest.raises(UserError) as error:
        session.wait(1)
    assert str(error.value) == (f"tile ({x}, 1): words are led at a wall, into columns of another region\n"
                                "  try: compile the program for the `arch` of the region (`session.regions[n].arch`)")
    assert [stored(session, region) for region in (0, 2)] == alone
    status = [machine.read_register("status", region=region) & ~(1 << CONFIGURED) for region in range(3)]
    assert status == [1 << FINISHED, 1 << AT_WALL, 1 << FINISHED]
    assert session.regions[1].read_register("cycles") < 30, "at once, not by a watchdog"
    assert session.regions[1].read_register("overflow_column") == x


def test_a_word_that_is_awaited_from_a_wall_is_told_with_its_track(machine: Machine) -> None:
    session = Session(machine, [2, 2, 2])
    program, given = copier(PART), blocks(40, 6)
    taken = {**program.config[0, 1], "cb_data": {"data0_sel": PART.interconnect.select(PART.pe, "data0", "w_in0", "data")}}
    session.load(1, replace(program, config={**program.config, (0, 1): taken}))
    for region in (0, 2):
        session.load(region, program)
        session.run(region, given, {"b_vals": 31})
    session.run(1, [{"a_vals": BLOCK}], {"b_vals": 21})
    with pytest.raises(UserError) as error:
        session.wait(1)
    assert str(error.value) == ("w_in0 of tile (0, 1): words are awaited from outside the columns, where none come from\n"
                                "  try: compile the program for the `arch` of the region (`session.regions[n].arch`)")
    for region in (0, 2):
        assert stored(session, region)[0] == [each["a_vals"].tolist() for each in given]


def test_what_a_machine_cannot_be_split_into_is_refused(machine: Machine) -> None:
    session = Session(machine, [2, 2])
    for columns, said in (([2] * 4, "4 regions"), ([4, 4], "columns 4..7"), ([2, 0], "a region of 0 columns"),
                          ([3, 2], "from 3 on are not.*\n.*multiples of 2 columns"), (["2", 2], "of 2 columns"),
                          ([2.0], "2.0"), ([True], "True")):
        with pytest.raises(UserError, match=said):
            session.split(columns)
    assert [machine.read_register("tiles", region=region) for region in range(2)] == [0b000011, 0b001100], "as before"
    with pytest.raises(UserError, match="there is no region 2"):
        Session(machine, [2, 2]).wait(2)
    with pytest.raises(UserError, match="no program"):
        Session(machine, [2, 2]).run(0, [])


@pytest.mark.parametrize("arch", [THREE, STATIC, replace(THREE, feed_through=True, power_domains=True)],
                         ids=["elastic", "static", "abutted, power domains"])
def test_the_verilog_of_regions_is_without_warnings(arch: Arch, tmp_path: Path) -> None:
    # Icarus has a word to say about the queue of descriptors, whatever is around it.
    files = emit.emit(Sardonyx(replace(arch, glb=replace(arch.glb, queue=False))), tmp_path)
    checks.lint(files, "sardonyx")
    checks.check_yosys(files, "sardonyx")
    checks.check_icarus(files, "sardonyx")


def test_a_region_starts_nothing_in_tiles_that_it_had_before(machine: Machine) -> None:
    session = Session(machine, [2, 4])
    session.regions[1].write_register("store_control", 1, 3)     # of words that nobody sends
    session.split([2, 2])
    program = copier(PART)
    session.load(1, program)
    session.run(1, [{"a_vals": BLOCK}], {"b_vals": 21})
    assert stored(session, 1)[0] == [BLOCK.tolist()]


def test_a_machine_of_one_region_has_no_session() -> None:
    with simulator.whole_machine(LEAST).start() as machine, pytest.raises(UserError, match="the machine has one region"):
        Session(machine, [2])


def test_what_stops_a_run_is_raised_for_its_region_and_the_others_go_on(machine: Machine) -> None:
    session = Session(machine, [2, 2, 2])
    program, given = copier(PART), blocks(25, 3)
    for region in range(3):
        session.load(region, program)
    for region in (0, 1):
        session.run(region, [{"a_vals": BLOCK[:-3]}], {"b_vals": 31})
    session.run(2, given, {"b_vals": 31})
    assert stored(session, 2)[0] == [each["a_vals"].tolist() for each in given]
    for region in (0, 1):
        with pytest.raises(AssertionError, match="a block ended before the lengths in it said"):
            session.wait(region)
        session.run(region, given, {"b_vals": 31})
    assert [stored(session, region)[0] for region in (0, 1)] == [[each["a_vals"].tolist() for each in given]] * 2


def test_a_region_is_a_device_while_others_go_on_and_then_has_no_program(machine: Machine) -> None:
    session = Session(machine, [2, 2, 2])
    program, given = copier(PART), blocks(25, 4)
    for region in (0, 1):
        session.load(region, program)
    session.run(0, given, {"b_vals": 31})
    outcomes = host.run(session.regions[1], program, given, {"b_vals": 31})
    found = [each["b_vals"].tolist() for one in outcomes for each in one.stored]
    assert found == stored(session, 0)[0] == [each["a_vals"].tolist() for each in given]
    with pytest.raises(UserError, match="region 1 has no program"):
        session.run(1, given)
    session.run(0, given, {"b_vals": 31})
    with pytest.raises(UserError, match="region 0 is busy"):
        session.regions[0].wait(10)
    assert len(stored(session, 0)[0]) == 25


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
