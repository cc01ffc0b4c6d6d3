"""Queues of descriptors of the load and store DMAs of a GLB tile: what follows what, with no cycle in between."""

import random
from collections.abc import Sequence

import numpy as np
import pytest
from glb_queue import ONE, PRIME, launch, moved, started
from glb_script import (
    COLUMNS,
    EACH_QUEUE,
    ENDS,
    GLB,
    SEEDS,
    STALLS,
    WAIT,
    WORDS,
    Descriptor,
    Script,
    arm,
    linear,
    loaded,
    memory,
    random_words,
    stored,
)
from hypothesis import example, given, settings
from hypothesis import strategies as st
from nests import Nest, nests

from sardonyx.hw.arch.glb import Glb
from sardonyx.hw.arch.soc import ENDED_BITS, glb_registers, named


def columns(descriptors: Sequence[Descriptor]) -> list[int]:
    """The column of every word."""
    return [each.column for each in descriptors for _ in range(each.words)]


def split(descriptors: Sequence[Descriptor], words: Sequence[int]) -> dict[int, list[int]]:
    """Words one after the other, by column."""
    pairs = list(zip(words, columns(descriptors), strict=True))
    return {column: [word for word, its in pairs if its == column] for column in range(2)}


def descriptors_of(levels: int) -> "st.SearchStrategy[Descriptor]":
    return st.builds(Descriptor, nests(levels, GLB.tile_bytes, most=60), st.integers(0, 3), COLUMNS)


@st.composite
def sections(draw: st.DrawFn) -> Descriptor:
    """Sections, in every run as many, but of other lengths."""
    count, repeat = draw(st.integers(1, 4)), draw(st.integers(0, 3))
    lengths = st.lists(st.integers(0, 12), min_size=count, max_size=count).map(tuple)
    return Descriptor(linear(2 * draw(st.integers(0, WORDS - 60)), 1), repeat, draw(COLUMNS),
                      tuple(draw(lengths) for _ in range(repeat + 1)))


@EACH_QUEUE
@settings(max_examples=60)
@example([Descriptor(ONE, 3), Descriptor(ONE, 0, 1), Descriptor(ONE)], 1, None, False)
@example([Descriptor(PRIME, 1), Descriptor(linear(0, 53), 2, 1), Descriptor(ONE, 2)], 2, 3, False)
@given(queue=st.lists(descriptors_of(GLB.load_loops), min_size=1, max_size=4), seed=SEEDS, stalls=STALLS,
       scribbles=st.booleans())
def test_queued_loads_stream_the_words_of_one_after_the_other_each_as_often_as_it_repeats(
        glb: Glb, queue: "list[Descriptor]", seed: int, stalls: "int | None", scribbles: bool) -> None:
    contents = random_words(seed)
    script = Script(contents, glb)
    launch(script, "load", queue, random.Random(seed) if scribbles else None)
    script.add(WAIT)
    script.show("ended")
    script.add(ENDS)
    result = script.run(stalls)
    words = [word for each in queue for _ in each.counts for word in loaded(contents, each.nest)]
    assert {column: result.outputs[f"g2f{column}"] for column in range(2)} == split(queue, words)
    assert [column for _, column in moved(result, "load")] == columns(queue)
    assert result.outputs["word"] == [len(queue), len(queue)], "the end of each is told once"


@settings(max_examples=120)
@example([Descriptor(ONE, 3), Descriptor(ONE, 0, 1), Descriptor(ONE)], 1, None, False)
@example([Descriptor(ONE, 2, 0, ((0,), (5,), (0,))), Descriptor(PRIME, 1), Descriptor(linear(40, 1), 0, 1, ((3, 0, 7),))],
         2, 3, False)
@given(queue=st.lists(descriptors_of(GLB.store_loops) | sections(), min_size=1, max_size=4), seed=SEEDS, stalls=STALLS,
       scribbles=st.booleans())
def test_queued_stores_write_the_words_of_one_after_the_other_over_those_of_the_repetition_before(
        queue: "list[Descriptor]", seed: int, stalls: "int | None", scribbles: bool) -> None:
    contents, arriving = random_words(seed), iter(random_words(seed + 1, 2000).tolist())
    tokens, after = list[int](), contents
    for each in queue:
        for run, count in enumerate(each.counts):
            lengths = each.sections[run] if each.sections else ()
            words = [word for length in lengths for word in (length, *(next(arriving) for _ in range(length)))] \
                or [next(arriving) for _ in range(count)]
            after = stored(after, linear(each.nest.start, count) if each.sections else each.nest, words)
            tokens += words
    script = Script(contents)
    launch(script, "store", queue, random.Random(seed) if scribbles else None)
    script.add(WAIT)
    for name in ("store_words_before", "store_words", "ended"):
        script.show(name)
    script.add(ENDS)
    script.dump()
    given_ = split(queue, tokens)
    result = script.run(stalls, **{f"f2g{column}": [*given_[column], 7] for column in range(2)})
    assert result.left == {"f2g0": 1, "f2g1": 1}
    assert result.status == {"busy": 0, "beyond": 0, "lost": 0}
    assert [column for _, column in moved(result, "store")] == columns(queue)
    counts = [each.counts[-1] for each in queue]
    before = [0, *counts[:-1]]
    assert result.outputs["word"][:len(queue) + 4] == [*before, before[-1], counts[-1], *[len(queue) << ENDED_BITS] * 2]
    np.testing.assert_array_equal(memory(result.outputs["word"][len(queue) + 4:]), after)


PAIRS = pytest.mark.parametrize("first,second", [
    (Descriptor(linear(0, 53)), Descriptor(linear(100, 47))),
    (Descriptor(linear(2, 53), 1), Descriptor(linear(100, 47), 2, 1)),
    (Descriptor(ONE, 60), Descriptor(ONE)),
    (Descriptor(ONE, 60, 1), Descriptor(linear(10, 1), 5)),
    (Descriptor(PRIME, 2), Descriptor(Nest((31,), (26,), 0), 1)),
    (Descriptor(Nest((31,), (26,), 0), 1), Descriptor(linear(106, 2), 3))],
    ids=["linear", "to another column", "one word, repeated", "one word, both repeated", "prime", "two words"])


@EACH_QUEUE
@PAIRS
def test_a_load_has_no_idle_cycle_between_two_launches(first: Descriptor, second: Descriptor, glb: Glb) -> None:
    contents = random_words(1)
    script = Script(contents, glb)
    launch(script, "load", [first, second])
    result = script.run()
    begin = started(script, result) + 1 + glb.read_latency
    assert moved(result, "load") == list(zip(range(begin, begin + first.words + second.words), columns([first, second])))


@PAIRS
def test_a_store_has_no_idle_cycle_between_two_launches(first: Descriptor, second: Descriptor) -> None:
    script = Script()
    launch(script, "store", [first, second])
    result = script.run(f2g0=[5] * 400, f2g1=[6] * 400)
    begin = started(script, result) + 1
    assert moved(result, "store") == list(zip(range(begin, begin + first.words + second.words), columns([first, second])))


@pytest.mark.parametrize("queue", [
    [Descriptor(ONE, 0, 0, ((40,),)), Descriptor(linear(200, 1), 2, 0, ((3, 0), (0, 5), (1, 1)))],
    [Descriptor(ONE, 40, 0, ((0,),) * 41), Descriptor(linear(200, 19), 1)],
    [Descriptor(linear(200, 19), 1), Descriptor(ONE, 1, 0, ((0,), (0,)))]],
    ids=["sections behind sections", "loops behind sections", "sections behind loops"])
def test_a_store_of_sections_has_no_idle_cycle_between_two_launches(queue: "list[Descriptor]") -> None:
    script = Script()
    launch(script, "store", queue)
    tokens = [word for each in queue for run in each.sections or [()] * (each.repeat + 1)
              for word in ([x for length in run for x in (length, *[9] * length)] or [9] * each.nest.size)]
    result = script.run(f2g0=[*tokens, 1, 1])
    begin = started(script, result) + 1
    assert result.left == {"f2g0": 2}
    assert result.stamps["f2g0"] == list(range(begin, begin + len(tokens)))


def test_a_static_store_takes_the_next_marked_word_for_the_next_launch() -> None:
    contents, draw = random_words(1), np.random.default_rng(2)
    arriving, marks = draw.integers(0, 1 << 16, 900), draw.random(900) < 0.8
    queue = [Descriptor(linear(0, 37), 1, static=True), Descriptor(linear(512, 1), 40, static=True),
             Descriptor(linear(100, 53), static=True)]
    script = Script(contents)
    launch(script, "store", queue)
    script.add(WAIT)
    script.dump()
    result = script.run(f2g0=arriving.tolist(), f2g_bit0=marks.astype(int).tolist())
    stamps = np.array(result.stamps["f2g0"])
    assert stamps.tolist() == result.stamps["f2g_bit0"] == list(range(stamps[0], stamps[0] + 900)), "one every cycle"
    words, after = iter(arriving[marks & (stamps > started(script, result))].tolist()), contents
    for each in queue:
        for count in each.counts:
            after = stored(after, each.nest, [next(words) for _ in range(count)])
    np.testing.assert_array_equal(memory(result.outputs["word"][3:]), after)


@EACH_QUEUE
def test_a_repetition_and_a_queued_load_read_what_was_written_meanwhile(glb: Glb) -> None:
    # All is in one line, which the load holds; it has to wait for the array, so the host writes between the words.
    script = Script(np.full(WORDS, 1, "<u2"), glb)
    launch(script, "load", [Descriptor(linear(0, 2), 20)])
    arm(script, "load", Descriptor(linear(0, 2), 20))
    for value in range(2, 60):
        script.write(0, value * 0x0001_0001_0001_0001)
    result = script.run(stalls=1)
    words = result.outputs["g2f0"]
    assert len(words) == 84 and words == sorted(words)
    assert words[0::2] == words[1::2] and len({*words}) > 15


def test_without_a_queue_there_is_nothing_of_it_in_the_registers() -> None:
    plain = named(glb_registers(Glb(queue=False)))
    more = [name for name in named(glb_registers(Glb(queue=True))) if name not in plain]
    assert more == ["ended", "store_words_before"]
    assert {field[0] for name in ("load_control", "store_control") for field in plain[name].fields} \
        == {"enable", "affine", "static", "sliced", "column"}
