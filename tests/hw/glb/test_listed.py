"""Loads of blocks that a list names, each behind its length, wherever they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from glb_chain import Chain
from glb_script import (
    AGAIN,
    COLUMNS,
    GLB,
    LEVELS,
    POLL,
    SEEDS,
    STALLS,
    START,
    STOP,
    WAIT,
    Script,
    linear,
    loaded,
    loops,
    random_words,
)
from hypothesis import example, given, settings
from hypothesis import strategies as st
from nests import Nest, nests

from sardonyx.hw.arch.glb import Glb
from sardonyx.hw.arch.soc import glb_registers, named
from sardonyx.sim.rtl.bench import Result

LISTED = replace(GLB, listed=True)
GLBS = (replace(LISTED, queue=False), LISTED, replace(LISTED, read_latency=3))
EACH = pytest.mark.parametrize("glb", GLBS, ids=("no queue", "queue", "queue, latency 3"))
WITH_QUEUE = pytest.mark.parametrize("glb", GLBS[1:], ids=("latency 1", "latency 3"))
RING = replace(LISTED, ring=2, queue=False)


@dataclass(frozen=True)
class Listing:
    """A descriptor: the loops that walk every block, whose start plays no part; the length of each block and its first byte;
    the line where the list begins."""

    nest: Nest
    blocks: tuple[tuple[int, int], ...]
    line: int
    column: int = 0

    @property
    def entries(self) -> np.ndarray:
        """The lines of the list, as words."""
        last = len(self.blocks) - 1
        return np.array([[length, int(at == last), first & 0xFFFF, first >> 16]
                         for at, (length, first) in enumerate(self.blocks)], "<u2")


def written(contents: np.ndarray, each: Listing) -> np.ndarray:
    """Memory with the list."""
    after = contents.copy()
    after[4 * each.line:4 * each.line + each.entries.size] = each.entries.reshape(-1)
    return after


def given_words(contents: np.ndarray, each: Listing) -> list[int]:
    """The golden meaning: of each block its length, then the words that the loops find from its first byte on."""
    return [word for length, first in each.blocks for word in (length, *loaded(contents, replace(each.nest, start=first)))]


def arm(script: Script, each: Listing, **fields: int) -> None:
    script.registers(load_start=8 * each.line, **loops("load", each.nest, LEVELS["load"]))
    control = named(glb_registers(script.glb))["load_control"]
    script.registers(load_control=control.word(enable=1, listed=1, column=each.column, **fields))


@st.composite
def listings(draw: st.DrawFn) -> Listing:
    blocks = draw(st.lists(st.tuples(st.integers(0, 0xFFFF), st.integers(0, LISTED.tile_bytes // 2 - 1).map(lambda n: 2 * n)),
                           min_size=1, max_size=6))
    line = draw(st.integers(0, LISTED.tile_bytes // 8 - len(blocks)))
    return Listing(draw(nests(LEVELS["load"], LISTED.tile_bytes, most=20)), tuple(blocks), line, draw(COLUMNS))


ONE = Listing(linear(0, 1), ((1, 6),), 127)
PRIME = Listing(Nest((5, 3), (2, 30), 0), ((15, 2), (15, 12), (7, 2), (15, 400)), 64, 1)
# Its words are the list itself.
ITSELF = Listing(linear(0, 4), ((4, 80), (4, 88)), 10)


def ran(glb: Glb, contents: np.ndarray, each: Listing, stalls: int | None = None, **fields: int) -> Result:
    script = Script(contents, glb)
    arm(script, each, **fields)
    script.add(START)
    script.add(WAIT)
    return script.run(stalls)


@EACH
@settings(max_examples=60, deadline=None)
@example(ONE, 1, None)
@example(PRIME, 2, 3)
@example(ITSELF, 2, None)
@given(each=listings(), seed=SEEDS, stalls=STALLS)
def test_a_listed_load_gives_the_length_of_each_block_and_its_words(glb: Glb, each: Listing, seed: int,
                                                                   stalls: int | None) -> None:
    contents = written(random_words(seed), each)
    result = ran(glb, contents, each, stalls)
    assert result.outputs[f"g2f{each.column}"] == given_words(contents, each)
    assert result.outputs[f"g2f{1 - each.column}"] == []


@EACH
def test_as_many_cycles_as_a_read_takes_pass_behind_a_length_and_none_between_blocks(glb: Glb) -> None:
    result = ran(glb, written(random_words(1), PRIME), PRIME)
    assert np.diff(result.stamps["g2f1"]).tolist() == ([1 + glb.read_latency, *[1] * 15] * 4)[:-1]


@EACH
def test_a_list_is_not_sliced(glb: Glb) -> None:
    contents = written(random_words(1), PRIME)
    assert ran(glb, contents, PRIME, sliced=1).outputs["g2f1"] == given_words(contents, PRIME)


@EACH
@pytest.mark.parametrize("wait", range(0, 14, 3))
def test_a_start_behind_a_stop_begins_with_the_first_block(glb: Glb, wait: int) -> None:
    contents = written(random_words(1), PRIME)
    script = Script(contents, glb)
    arm(script, PRIME)
    script.add(START)
    for _ in range(wait):
        script.show("store_words")
    script.add(STOP)
    script.add(AGAIN)
    script.add(WAIT)
    # Then a nest, which begins where its register says.
    script.load(linear(20, 5))
    script.add(START)
    script.add(WAIT)
    outputs = script.run().outputs
    words, whole = outputs["g2f1"], given_words(contents, PRIME)
    assert words[-len(whole):] == whole and words[:-len(whole)] == whole[:len(words) - len(whole)]
    assert outputs["g2f0"] == loaded(contents, linear(20, 5))


def two_tiles(glb: Glb) -> Chain:
    return Chain(glb, 2)


@settings(max_examples=20, deadline=None)
@given(seed=SEEDS, stalls=STALLS)
def test_a_list_and_its_blocks_may_be_in_any_tile_of_a_chain(seed: int, stalls: int | None) -> None:
    draw = np.random.default_rng(seed)
    blocks = tuple((at, 2 * int(draw.integers(0, 600))) for at in range(5))
    each = Listing(Nest((3, 4), (2, 250), 0), blocks, 10 + 64 * (seed % 3))
    contents = written(random_words(seed, 2 * RING.tile_bytes // 2), each)
    script = Script(contents, RING, 2, two_tiles)
    control = named(glb_registers(RING))["ring_control"]
    script.registers(0, ring_control=control.word(hops=1))
    script.registers(1, ring_control=control.word(connected=1))
    arm(script, each)
    script.add(START)
    script.add(WAIT)
    assert script.run(stalls).outputs["g2f0"] == given_words(contents, each)


@WITH_QUEUE
@settings(max_examples=40, deadline=None)
@example([PRIME, linear(20, 9), replace(PRIME, line=80), ONE], 1, 2, None)
@given(queue=st.lists(listings() | nests(LEVELS["load"], GLB.tile_bytes, most=20), min_size=2, max_size=4), seed=SEEDS,
       repeat=st.integers(0, 2), stalls=STALLS)
def test_lists_and_nests_follow_each_other_in_a_queue_each_as_often_as_it_repeats(
        glb: Glb, queue: Sequence[Listing | Nest], seed: int, repeat: int, stalls: int | None) -> None:
    contents = random_words(seed)
    for each in queue:
        contents = written(contents, each) if isinstance(each, Listing) else contents
    # Of lists that lie in each other the one that was written last stays.
    queue = [each for each in queue if isinstance(each, Nest) or np.array_equal(written(contents, each), contents)]
    script = Script(contents, glb)
    control = named(glb_registers(glb))["load_control"]
    for number, each in enumerate(queue):
        if isinstance(each, Listing):
            arm(script, replace(each, column=0), queued=1, repeat=repeat)
        else:
            script.registers(load_start=each.start, **loops("load", each, LEVELS["load"]))
            script.registers(load_control=control.word(enable=1, queued=1, repeat=repeat))
        if number == 0:
            script.add(START)
        script.add(POLL, index=script.names.index("load_control"), value=control.word(queued=1))
    script.add(WAIT)
    script.show("ended")
    result = script.run(stalls)
    words = [word for each in queue for _ in range(repeat + 1)
             for word in (given_words(contents, each) if isinstance(each, Listing) else loaded(contents, each))]
    assert result.outputs["g2f0"] == words
    assert result.outputs["word"] == [len(queue)]
