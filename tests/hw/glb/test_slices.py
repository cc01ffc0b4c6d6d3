"""Descriptors of a GLB tile that are sliced: one iteration of the outermost loop a run, and what follows them."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pytest
from glb_script import (
    AGAIN,
    COLUMNS,
    COMMAND,
    EACH_LATENCY,
    EACH_QUEUE,
    GLB,
    LEVELS,
    SEEDS,
    STALLS,
    START,
    STOP,
    UNITS,
    WAIT,
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
from sardonyx.sim.rtl.bench import Result


@dataclass(frozen=True)
class Slices:
    """A loop nest whose outermost register loop takes a number of iterations, one a run."""

    nest: Nest
    count: int

    @property
    def words(self) -> int:
        """Of a run."""
        return self.nest.size // self.count


def slices(levels: int) -> "st.SearchStrategy[Slices]":
    """Nests in all loops of a unit, those that turn once included."""
    def sliced(inner: Nest, count: int, pitch: int) -> Slices:
        rest = levels - 1 - len(inner.extents)
        return Slices(Nest((*inner.extents, *[1] * rest, count), (*inner.pitches, *[0] * rest, pitch), inner.start), count)

    pitches = st.integers(-40, 40).map(lambda n: 2 * n)
    return st.builds(sliced, nests(levels - 1, GLB.tile_bytes, most=40), st.integers(1, 5), pitches)


def starts(script: Script, runs: int) -> None:
    """So many runs, of which the first is that of a start."""
    for number in range(runs):
        script.add(AGAIN if number else START)
        script.add(WAIT)


def begins(script: Script, result: Result) -> list[int]:
    """The cycles of the starts."""
    ops = {COMMAND.const({"op": op}).as_bits() for op in (START, AGAIN)}
    return [stamp for stamp, command in zip(result.stamps["command"], script.commands) if command in ops]


def by_run(script: Script, result: Result, name: str) -> list[int]:
    """How many words moved in each run."""
    edges = [*begins(script, result), 1 << 60]
    return np.histogram(result.stamps[name], edges)[0].tolist()


WHOLE = Slices(Nest((9, 1, 1, 3), (2, 0, 0, 18), 4), 3)


@EACH_LATENCY
@settings(max_examples=40, deadline=None)
@example(WHOLE, 1, None, 0, 1)
@example(Slices(Nest((1, 1, 1, 4), (0, 0, 0, -2), 6), 4), 2, 3, 1, 0)
@given(each=slices(GLB.load_loops), seed=SEEDS, stalls=STALLS, column=COLUMNS, more=st.integers(0, 3))
def test_a_load_gives_the_words_of_an_iteration_of_its_outermost_loop_a_run_and_begins_anew_behind_the_last(
        glb: Glb, each: Slices, seed: int, stalls: "int | None", column: int, more: int) -> None:
    contents = random_words(seed)
    script = Script(contents, glb)
    script.load(each.nest, column, sliced=True)
    starts(script, each.count + more)
    result = script.run(stalls)
    words = loaded(contents, each.nest)
    runs = [words[number % each.count * each.words:][:each.words] for number in range(each.count + more)]
    assert result.outputs[f"g2f{column}"] == [*chain.from_iterable(runs)]
    assert by_run(script, result, f"g2f{column}") == [each.words] * len(runs)


@EACH_LATENCY
def test_the_first_word_of_every_run_comes_as_late_as_that_of_the_first(glb: Glb) -> None:
    """Also where the line is the one that was read last."""
    script = Script(random_words(1), glb)
    script.load(Nest((2, 1, 1, 8), (2, 0, 0, 4), 0), sliced=True)
    starts(script, 8)
    result = script.run()
    first = [begin + 1 + glb.read_latency for begin in begins(script, result)]
    assert result.stamps["g2f0"] == [cycle + word for cycle in first for word in range(2)]


def test_a_run_reads_what_was_written_before_it() -> None:
    script = Script(random_words(1))
    script.load(Nest((2, 1, 1, 2), (2, 0, 0, 4), 0), sliced=True)
    starts(script, 1)
    script.write(0, 0x0004_0003_0002_0001)
    script.add(AGAIN)
    assert script.run().outputs["g2f0"][2:] == [3, 4]


@EACH_LATENCY
@settings(max_examples=40, deadline=None)
@example(Slices(Nest((9, 1, 3), (2, 0, 18), 4), 3), 1, None, True, 1)
@example(Slices(Nest((9, 1, 3), (2, 0, 18), 4), 3), 1, None, False, 1)
@given(each=slices(GLB.store_loops), seed=SEEDS, stalls=STALLS, static=st.booleans(), more=st.integers(0, 3))
def test_a_store_writes_the_words_of_an_iteration_of_its_outermost_loop_a_run(glb: Glb, each: Slices, seed: int,
                                                                            stalls: "int | None", static: bool,
                                                                            more: int) -> None:
    contents, tokens = random_words(seed), random_words(seed + 1, each.nest.size + more * each.words).tolist()
    script = Script(contents, glb)
    (script.store_static if static else script.store)(each.nest, sliced=True)
    runs = each.count + more
    starts(script, runs)
    script.show("store_words")
    script.dump()
    if static:
        # A stream of bits that is always 1, and whose word is the next one in every cycle: what a run does not take is lost.
        result = script.run(None, f2g0=tokens, f2g_bit0=[1] * 4000)
        assert result.outputs["word"][0] == (each.words * (more - 1) % each.nest.size + each.words if more else each.nest.size)
        return
    result = script.run(stalls, f2g0=[*tokens, 7])
    assert result.left == {"f2g0": 1}
    assert by_run(script, result, "f2g0") == [each.words] * runs
    after = contents
    for first in range(0, len(tokens), each.nest.size):
        part = tokens[first:first + each.nest.size]
        addresses = each.nest.addresses(GLB.tile_bytes)[:len(part)] // 2
        after = after.copy()
        for address, word in zip(addresses, part, strict=True):
            after[address] = word
    np.testing.assert_array_equal(memory(result.outputs["word"][1:]), after)


@pytest.mark.parametrize("unit", UNITS)
def test_what_is_not_sliced_runs_whole_again(unit: str) -> None:
    script, nest = Script(random_words(1)), linear(20, 5)
    (script.load if unit == "load" else script.store)(nest)
    starts(script, 3)
    result = script.run(**({} if unit == "load" else {"f2g0": [1] * 15}))
    assert by_run(script, result, "g2f0" if unit == "load" else "f2g0") == [5, 5, 5]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("stopped", [False, True])
def test_a_start_that_is_not_again_and_one_behind_a_stop_begin_with_the_first_slice(unit: str, stopped: bool) -> None:
    contents = random_words(1)
    script = Script(contents)
    nest = Nest((5,) + (1,) * (LEVELS[unit] - 2) + (3,), (2,) + (0,) * (LEVELS[unit] - 2) + (10,), 40)
    (script.load if unit == "load" else script.store)(nest, sliced=True)
    starts(script, 2)
    if stopped:
        script.add(STOP)
    script.add(AGAIN if stopped else START)
    script.add(WAIT)
    script.dump()
    tokens = [*range(100, 115)]
    result = script.run(**({} if unit == "load" else {"f2g0": tokens}))
    words = loaded(contents, nest)
    if unit == "load":
        assert result.outputs["g2f0"] == [*words[:10], *words[:5]]
    else:
        after = stored(contents, linear(40, 10), [*tokens[10:], *tokens[5:10]])
        np.testing.assert_array_equal(memory(result.outputs["word"]), after)


def sliced_nest(unit: str, count: int, words: int, start: int) -> Nest:
    ones = LEVELS[unit] - 2
    return Nest((words, *[1] * ones, count), (2, *[0] * ones, 2 * words), start)


@EACH_QUEUE
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("first,second,repeat,expected", [
    (True, True, 0, [3, 3, 5, 5]),
    (True, True, 1, [3, 3, 3, 3, 5, 5]),
    (False, True, 0, [6, 5, 5]),
    (False, True, 1, [12, 5, 5]),
    (True, False, 0, [3, 13]),
    (True, False, 1, [3, 3, 3, 13]),
    (False, False, 1, [22]),
])
def test_a_queued_descriptor_begins_where_the_one_before_ends_with_a_slice_at_the_next_start(
        glb: Glb, unit: str, first: bool, second: bool, repeat: int, expected: "Sequence[int]") -> None:
    contents = random_words(random.Random(repeat).randrange(99))
    script = Script(contents, glb)
    nests_ = [sliced_nest(unit, 2, 3, 10), sliced_nest(unit, 2, 5, 100)]
    for number, (nest, sliced) in enumerate(zip(nests_, (first, second))):
        arm(script, unit, Descriptor(nest, repeat if number == 0 else 0), sliced=sliced)
        if number == 0:
            script.add(START)
    script.add(WAIT)
    for _ in expected[1:]:
        script.add(AGAIN)
        script.add(WAIT)
    script.show("ended")
    result = script.run(**({} if unit == "load" else {"f2g0": [1] * sum(expected)}))
    name = "g2f0" if unit == "load" else "f2g0"
    assert by_run(script, result, name) == expected
    assert result.outputs["word"] == [2 << (unit == "store") * 16]
    if unit == "load":
        words = [loaded(contents, nest) for nest in nests_]
        assert result.outputs["g2f0"] == words[0] * (repeat + 1) + words[1]
