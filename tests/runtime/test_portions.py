"""A launch that begins with a portion of its words: which, and what follows."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from machines import LEAST, copier

from sardonyx.compiler.ir.transfer import WORD_BYTES
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.glb import LANES
from sardonyx.runtime.batches import WATCHDOG_CYCLES
from sardonyx.runtime.commands import Command, Start, WriteMemory, WriteRegister
from sardonyx.runtime.plan import Launch, launches, prepare
from sardonyx.runtime.portions import configuring, in_two
from sardonyx.runtime.registers import LISTED, QUEUED

ARCH = replace(LEAST, glb=replace(LEAST.glb, bank_bytes=8192))


def launch(words: int, count: int = 1, arch: Arch = ARCH) -> Launch:
    """The first of some blocks, so many of so many words, each another one."""
    given = [{"a_vals": np.arange(number, number + words, dtype=np.uint16)} for number in range(count)]
    return next(launches(copier(arch), arch, given, {"b_vals": words}))


def memory(commands: Sequence[Command]) -> dict[int, int]:
    """By address, the words that are written."""
    return {each.address + WORD_BYTES * at: word for each in commands if isinstance(each, WriteMemory)
            for at, word in enumerate(each.words.tolist())}


def register(commands: Sequence[Command], name: str) -> int:
    found, = (each.value for each in commands if isinstance(each, WriteRegister) and each.name == name)
    return found


@pytest.mark.parametrize("words,count", [(1999, 1), (400, 4)])
def test_both_portions_are_the_words_and_the_second_begins_where_the_first_ends(words, count):
    whole = launch(words, count)
    begun, follows = in_two(whole, copier(ARCH), ARCH, ())
    assert memory(begun.loads) | memory(follows) == memory(whole.loads)
    assert not memory(begun.loads).keys() & memory(follows).keys()
    first, second = (register(each, "load_extent0") + 1 for each in (begun.starts, follows))
    assert (first, second) == (len(memory(begun.loads)), len(memory(follows))) and first + second == words * count
    assert first % LANES == 0 and register(follows, "load_start") == register(begun.starts, "load_start") + WORD_BYTES * first
    assert (begun.ends, begun.reads) == (whole.ends, whole.reads)


def test_the_run_is_held_open_until_the_second_portion_is_queued_behind_its_words() -> None:
    begun, follows = in_two(launch(1999), copier(ARCH), ARCH, ())
    assert register(begun.starts, "hold") == 1 and isinstance(begun.starts[-1], Start)
    kinds = [each.name if isinstance(each, WriteRegister) else type(each).__name__ for each in follows]
    assert kinds == ["WriteMemory", "load_start", "load_extent0", "load_control", "hold"]
    assert register(follows, "load_control") == register(begun.starts, "load_control") | QUEUED
    assert register(follows, "hold") == 0


def test_the_rest_comes_in_as_many_cycles_as_the_first_portion_is_taken_in() -> None:
    """A line a cycle, and a word of each stream; so of one stream a fifth is enough."""
    begun, _ = in_two(launch(2000), copier(ARCH), ARCH, ())
    assert len(memory(begun.loads)) == LANES * round(500 * (500 + 3) / (500 + 2000))
    meanwhile, _ = in_two(launch(2000), copier(ARCH), ARCH, (), meanwhile=300)
    assert len(memory(meanwhile.loads)) == LANES * 300, "what comes while the machine is configured"


def test_the_rest_comes_before_the_watchdog_takes_an_array_that_waits_for_it_for_one_that_is_stuck() -> None:
    """The first portion of a short stream may be taken long before that of a long one."""
    room = replace(LEAST, glb=replace(LEAST.glb, bank_bytes=1 << 18))
    program, long, most = copier(room), launch(120_000, arch=room), WATCHDOG_CYCLES // 2
    load, = program.loads
    short = replace(load, name="x_vals", column=load.column + room.glb.columns_per_tile)
    place = short.column // room.glb.columns_per_tile
    registers = [WriteRegister(f"load_{name}", value, place) for name, value in (
        ("control", 1), ("start", 0), ("extent0", 399), ("stride0", WORD_BYTES))]
    given = replace(long, loads=(*long.loads, WriteMemory(place * room.glb.tile_bytes, np.zeros(400, np.uint16))),
                    starts=(*registers, *long.starts))
    begun, follows = in_two(given, replace(program, transfers=(*program.transfers, short)), room, ())
    first, rest = ([each.words.size for each in some if isinstance(each, WriteMemory)] for some in (begun.loads, follows))
    assert len(first) == len(rest) == 2 and sum(first) + sum(rest) == 120_400
    assert most - 2 <= sum(rest) / LANES <= most + 2


@pytest.mark.parametrize("given,whole", [
    (launch(1999), ("a_vals",)), (launch(11), ()), (replace(launch(1999), joins=True), ()),
    (replace(launch(1999), goes_on=True), ())])
def test_a_launch_stays_whole_that_has_to_or_would_not_gain(given, whole):
    assert in_two(given, copier(ARCH), ARCH, whole) == (given, ())


def test_a_launch_stays_whole_that_reads_words_twice_or_has_no_queue() -> None:
    same = next(launches(copier(ARCH), ARCH, [{"a_vals": np.arange(400, dtype=np.uint16)}] * 4, {"b_vals": 400}))
    assert register(same.starts, "load_extent1") == 3 and in_two(same, copier(ARCH), ARCH, ()) == (same, ())
    plain = replace(ARCH, glb=replace(ARCH.glb, queue=False))
    given = launch(1999, arch=plain)
    assert in_two(given, copier(plain), plain, ()) == (given, ())


def test_a_list_is_whole_and_its_loops_stay_beside_a_stream_in_two_portions() -> None:
    """Its words say where others are, and its loops walk these: also where they look like those of so many words in order."""
    program, tile, plain = copier(ARCH), ARCH.glb.tile_bytes, launch(1999)
    load, = program.loads
    listed = replace(load, name="x_vals", column=load.column + ARCH.glb.columns_per_tile)
    place = listed.column // ARCH.glb.columns_per_tile
    for words, extent in ((1200, 25), (1200, 1199)):
        registers = [WriteRegister(f"load_{name}", value, place) for name, value in (
            ("control", LISTED | 1), ("start", 0), ("extent0", extent), ("stride0", WORD_BYTES))]
        names = WriteMemory(place * tile, np.zeros(words, np.uint16))
        given = replace(plain, loads=(*plain.loads, names), starts=(*registers, *plain.starts))
        begun, follows = in_two(given, replace(program, transfers=(*program.transfers, listed)), ARCH, ())
        assert [each.words.size for each in begun.loads if isinstance(each, WriteMemory) and each.address == names.address] == [
            words]
        assert {each.value for each in begun.starts if isinstance(each, WriteRegister) and each.glb_tile == place
                and each.name == "load_extent0"} == {extent}
        assert follows and not any(isinstance(each, WriteRegister) and each.glb_tile == place for each in follows)


def test_what_configures_takes_a_cycle_a_line_of_the_busiest_tile_and_packed_one_a_byte() -> None:
    lines = max(each.words.size // LANES for each in prepare(copier(ARCH), ARCH) if isinstance(each, WriteMemory))
    assert configuring(prepare(copier(ARCH), ARCH), ARCH) == lines
    packs = replace(ARCH, glb=replace(ARCH.glb, packed=True))
    lines = max(each.words.size // LANES for each in prepare(copier(packs), packs) if isinstance(each, WriteMemory))
    assert configuring(prepare(copier(packs), packs), packs) == 9 * lines
    assert configuring((), ARCH) == 0
