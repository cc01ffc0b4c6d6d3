"""Blocks that a store places by their numbers, whatever comes first; what belongs nowhere, or has no room, is told."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from glb_script import ENDS, GLB, POLL, SEEDS, STALLS, START, WAIT, Script, linear, memory, random_words, stored
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sardonyx.hw.arch.glb import Glb
from sardonyx.hw.arch.soc import glb_registers, named
from sardonyx.sim.rtl.bench import Result

NUMBERED = replace(GLB, numbered=True)
GLBS = (NUMBERED, replace(NUMBERED, queue=False, read_latency=2))
EACH = pytest.mark.parametrize("glb", GLBS, ids=("queue", "no queue"))
Block = tuple[tuple[int, ...], ...]     # the words of its sections


@dataclass(frozen=True)
class Placing:
    """A descriptor: blocks in the order of their numbers, of so many sections each; byte address of the first, room of each."""

    blocks: tuple[Block, ...]
    start: int
    room: int
    sections: int = 1
    number: int = 0


def written(block: Block) -> list[int]:
    return [word for section in block for word in (len(section), *section)]


def placed(contents: np.ndarray, placings: Sequence[Placing]) -> np.ndarray:
    """The golden meaning: every block in its place, and nothing else."""
    after = contents.copy()
    for each in placings:
        for number, block in enumerate(each.blocks):
            words, first = written(block), each.start // 2 + number * each.room
            after[first:first + len(words)] = words
    return after


def arrivals(placings: Sequence[Placing], order: Sequence[int]) -> list[int]:
    """The words of all blocks, each behind its number, in an order of their places among all."""
    blocks = [((each.number + at) % 65536, block) for each in placings for at, block in enumerate(each.blocks)]
    return [word for at in order for word in (1, blocks[at][0], *written(blocks[at][1]))]


def arm(script: Script, each: Placing, queued: bool = False, **fields: int) -> None:
    script.registers(store_start=each.start, store_limit=each.room, store_sections=each.sections,
                     store_blocks=len(each.blocks), store_number=each.number)
    control = named(glb_registers(script.glb))["store_control"]
    script.registers(store_control=control.word(enable=1, numbered=1, **({"queued": 1} if queued else {}), **fields))


def ran(glb: Glb, contents: np.ndarray, placings: Sequence[Placing], words: Sequence[int], stalls: "int | None" = None
        ) -> Result:
    """A run of descriptors, the second one queued while the first one runs; the memory, and how often a store ended."""
    script = Script(contents, glb)
    arm(script, placings[0])
    script.add(START)
    for each in placings[1:]:
        arm(script, each, queued=True)
    if len(placings) > 1:
        # It is taken when the first one has ended.
        script.add(POLL, index=script.names.index("store_control"), value=1 << 3)
    script.add(WAIT)
    script.add(ENDS)
    script.show("store_words")
    script.dump()
    return script.run(stalls, f2g0=words)


@st.composite
def placings(draw: st.DrawFn, start: int = 0, most: int = 9) -> Placing:
    """Blocks with and without words, of a room that the longest one fills or that is larger; all in 256 words."""
    sections = draw(st.integers(1, 2))
    block = st.tuples(*[st.lists(st.integers(0, 0xFFFF), max_size=4).map(tuple)] * sections)
    blocks = tuple(draw(st.lists(block, min_size=1, max_size=most)))
    room = max(len(written(each)) for each in blocks) + draw(st.integers(0, 7))
    return Placing(blocks, start + 2 * draw(st.integers(0, 40)), room, sections, draw(st.sampled_from((0, 9, 65533))))


def orders(count: int) -> "st.SearchStrategy[list[int]]":
    return st.permutations(range(count))


@EACH
@settings(max_examples=60)
@example(each=Placing((((),), ((7,),), ((), )), 6, 3), order=[2, 0, 1], seed=1, stalls=None)
@given(each=placings(), order=st.none(), seed=SEEDS, stalls=STALLS)
def test_blocks_in_any_order_land_in_order(glb: Glb, each: Placing, order: "list[int] | None", seed: int,
                                           stalls: "int | None") -> None:
    contents, count = random_words(seed), len(each.blocks)
    order = order or np.random.default_rng(seed).permutation(count).tolist()
    words = arrivals([each], order)
    # What comes behind the last block waits.
    result = ran(glb, contents, [each], [*words, 1, each.number], stalls)
    assert result.left == {"f2g0": 2} and result.status == {"busy": 0, "beyond": 0, "lost": 0}
    assert result.outputs["word"][:2] == [1 << 16, len(words) - 2 * count], "words of blocks are counted"
    np.testing.assert_array_equal(memory(result.outputs["word"][2:]), placed(contents, [each]))


@settings(max_examples=60)
@given(first=placings(), second=placings(start=2 * 256), seed=SEEDS, stalls=STALLS)
@example(first=Placing((((1,),), ((2,),)), 0, 4), second=Placing((((3,),), ((4,),)), 512, 4), seed=-1, stalls=None)
def test_blocks_that_come_ahead_go_to_the_descriptor_that_is_queued(first: Placing, second: Placing, seed: int,
                                                                    stalls: "int | None") -> None:
    """Where the seed is below 0 block 0 comes last of all, so that the second descriptor ends with the first one."""
    second = replace(second, sections=first.sections, blocks=tuple((block * 2)[:first.sections] for block in second.blocks))
    second = replace(second, room=max(len(written(block)) for block in second.blocks),
                     number=(first.number + len(first.blocks)) % 65536)
    count = len(first.blocks) + len(second.blocks)
    order = [*range(1, count), 0] if seed < 0 else np.random.default_rng(seed).permutation(count).tolist()
    contents = random_words(abs(seed))
    result = queued_run(contents, first, second, order, stalls)
    assert result.left == {} and result.status == {"busy": 0, "beyond": 0, "lost": 0}
    assert result.outputs["word"][0] == 2 << 16, "each descriptor ended once"
    np.testing.assert_array_equal(memory(result.outputs["word"][1:]), placed(contents, [first, second]))


def queued_run(contents: np.ndarray, first: Placing, second: Placing, order: Sequence[int], stalls: "int | None") -> Result:
    """A run of two descriptors; blocks of the second one wait until it is queued."""
    script = Script(contents, NUMBERED)
    arm(script, first)
    script.add(START)
    arm(script, second, queued=True)
    script.add(POLL, index=script.names.index("store_control"), value=1 << 3)
    script.add(WAIT)
    script.add(ENDS)
    script.dump()
    return script.run(stalls, f2g0=arrivals([first, second], order))


@EACH
@pytest.mark.parametrize("words,taken", [([1, 3, 0], 2), ([1, 65535, 0], 2), ([2, 0, 0], 0), ([0], 0),
                                         ([1, 1, 4, 8, 8, 8, 8], 6)],
                         ids=["a number too high", "a number of another run", "a number of two words", "no number",
                              "a block longer than its room"])
def test_what_belongs_nowhere_waits_and_is_told(glb: Glb, words: list[int], taken: int) -> None:
    """Nothing is written over: of the long block, only what has room."""
    contents, each = random_words(3), Placing((((1,),),) * 3, 40, 4)
    script = Script(contents, glb)
    arm(script, each)
    script.add(START)
    script.dump()
    result = script.run(f2g0=words)
    assert result.status == {"busy": 1, "beyond": 1, "lost": 0} and result.left == {"f2g0": len(words) - taken}
    fits = [] if taken < 3 else words[2:taken]
    np.testing.assert_array_equal(memory(result.outputs["word"]), stored(contents, linear(48, len(fits)), fits))


def test_a_cycle_passes_between_a_number_and_its_block_and_two_with_a_queue() -> None:
    each = Placing((((5, 6),),) * 4, 0, 4)
    for glb, idle in zip(GLBS, (2, 1), strict=True):
        result = ran(glb, random_words(1), [each], arrivals([each], [3, 1, 2, 0]))
        assert np.diff(result.stamps["f2g0"]).tolist() == ([1, 1 + idle, 1, 1, 1] * 4)[:-1]
