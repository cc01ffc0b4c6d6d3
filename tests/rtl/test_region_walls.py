"""Walls of regions in generated Verilog: nothing in one reaches another, and what tries to is told."""

import random
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from machines import copier
from three_regions import BLOCK, CONFIGURE, PART, RINGED, START, STATIC, STOP, THREE, blocks, stored

from sardonyx.compiler.backend.encode import address
from sardonyx.compiler.backend.image import image
from sardonyx.compiler.ir.program import Program
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.soc import ASTRAY, AT_WALL, CONFIGURED, CONFIGURING, FINISHED, WATCHDOG
from sardonyx.hw.configuration import word_bits
from sardonyx.runtime.session import Session
from sardonyx.sim.rtl import simulator
from sardonyx.sim.rtl.machine import Machine


@pytest.fixture
def machine() -> Iterator[Machine]:
    with simulator.whole_machine(THREE).start(check=True) as running:
        yield running


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


@pytest.mark.parametrize("regions", [8, pytest.param(16, marks=pytest.mark.slow)])
def test_as_many_regions_as_there_may_be_are_as_apart(regions: int) -> None:
    """Every third one computes while all others are configured at random and run."""
    arch = replace(THREE, name=f"{regions} regions", columns=2 * regions, regions=regions)
    part, draw, victims = replace(arch, name="part", columns=2, regions=1), random.Random(regions), range(1, regions, 3)
    with simulator.whole_machine(arch).start(check=True) as machine:
        session = Session(machine, [2] * regions)
        given = {region: blocks(9, region) for region in victims}
        for region in victims:
            session.load(region, copier(part))

        def compute() -> "list[tuple[list[list[int]], list[int]]]":
            for region in victims:
                session.run(region, given[region], {"b_vals": 31})
            return [stored(session, region) for region in victims]

        alone = compute()
        assert [words for words, _ in alone] == [[each["a_vals"].tolist() for each in given[region]] for region in victims]
        for _ in range(2):
            for number in set(range(regions)) - set(victims):
                attack(session, number, part, draw)
            assert compute() == alone
            assert not any(session.regions[region].read_register("status") >> AT_WALL & 1 for region in victims)


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
