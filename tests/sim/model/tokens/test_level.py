from typing import Any

import pytest
from fibers import coordinates, map_leaves, stream, trees, words
from graphs import every_way
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.hw.arch.token import DONE, MAYBE, parse_stream, stop
from sardonyx.sim.model.tokens.network import DeadlockError, run_primitive
from sardonyx.sim.model.tokens.process import ProtocolError

levels = st.lists(coordinates, max_size=6)
"""A level by its fibers."""


def block(level: list[list[int]]) -> list[int]:
    segments = [sum(map(len, level[:at])) for at in range(len(level) + 1)]
    crds = [crd for fiber in level for crd in fiber]
    return [len(segments), *segments, len(crds), *crds]


@st.composite
def scans(draw: st.DrawFn) -> tuple[int, list[tuple[list[list[int]], Any]]]:
    """A depth, and levels with a tree of references to their fibers, in any order, some of them maybe."""
    depth = draw(st.integers(0, 2))
    found = []
    for level in draw(st.lists(levels.filter(bool), min_size=1, max_size=3)):
        ref = st.integers(0, len(level) - 1) | st.just(MAYBE)
        found.append((level, draw(trees(st.lists(ref, max_size=4), depth) if depth else ref)))
    return depth, found


@pytest.mark.parametrize("kind", ["block", "stream"])
@given(case=scans())
def test_scan_gives_the_fibers_that_references_name(kind: str, case: tuple[int, Any]) -> None:
    depth, found = case
    crd: list[Any] = []
    ref: list[Any] = []
    for level, tree in found:
        at = {MAYBE: range(0)} | {r: range(sum(map(len, level[:r])), sum(map(len, level[:r + 1])))
                                  for r in range(len(level))}
        crd.append(map_leaves(lambda r, level=level: [] if r == MAYBE else level[r], tree, depth))
        ref.append(map_leaves(lambda r, at=at: list(at[r]), tree, depth))
    refs = [tree for _, tree in found]
    written = ({"wr": stream([level for level, _ in found], 2)} if kind == "stream"
               else {"block": [word for level, _ in found for word in block(level)]})
    every_way("level", {"input": kind}, {**written, "ref": stream(refs, depth)},
              {"crd": stream(crd, depth + 1), "ref_o": stream(ref, depth + 1)})


@given(st.lists(coordinates, min_size=1, max_size=4))
def test_root_scans_each_level_once(fibers: list[list[int]]) -> None:
    every_way("level", {"root": 1}, {"block": [word for fiber in fibers for word in block([fiber])]},
              {"crd": stream(fibers, 1), "ref_o": stream([range(len(fiber)) for fiber in fibers], 1)})


@given(extent=st.integers(0, 5) | st.just(40000), tree=st.lists(st.lists(st.integers(0, 3), max_size=2), max_size=1))
def test_a_dense_level_counts_and_positions_wrap(extent: int, tree: list[list[int]]) -> None:
    crd = [[list(range(extent)) for _ in fiber] for fiber in tree]
    ref = [[[(r * extent + n) % (1 << 16) for n in range(extent)] for r in fiber] for fiber in tree]
    outputs, _ = run_primitive("level", {"dense": 1}, {"block": [2, 0, extent, 0], "ref": stream([tree], 2)}, timed=False)
    assert outputs == {"crd": stream([crd], 3), "ref_o": stream([ref], 3)}


@given(st.lists(st.lists(words, min_size=1, max_size=5), min_size=1, max_size=3), st.data())
def test_lookup_gives_values_and_zero_for_maybe(arrays: list[list[int]], data: st.DataObject) -> None:
    refs = [data.draw(st.lists(st.lists(st.integers(0, len(array) - 1) | st.just(MAYBE), max_size=3), max_size=3))
            for array in arrays]
    found = [[[0 if ref == MAYBE else array[ref] for ref in fiber] for fiber in tree]
             for array, tree in zip(arrays, refs, strict=True)]
    inputs = {"block": [word for array in arrays for word in (len(array), *array)], "ref": stream(refs, 2)}
    every_way("level", {"output": "lookup", "values": 1}, inputs, {"crd": stream(found, 2)})


def test_lookup_of_a_scalar() -> None:
    every_way("level", {"output": "lookup", "values": 1, "root": 1}, {"block": [1, 7, 1, 8]}, {"crd": [7, DONE, 8, DONE]})


@given(st.lists(levels, min_size=1, max_size=3))
def test_what_is_written_from_a_stream_leaves_as_a_block(given: list[list[list[int]]]) -> None:
    # Of a stop only that it is one counts.
    wr: list[int] = []
    for level in given:
        wr += [token for at, fiber in enumerate(level) for token in (*fiber, stop(at % 3))] + [DONE]
    every_way("level", {"input": "stream", "output": "block"}, {"wr": wr},
              {"block_o": [word for level in given for word in block(level)]})


def test_values_ignore_stops_and_maybe_is_written_as_zero() -> None:
    every_way("level", {"input": "stream", "output": "block", "values": 1}, {"wr": parse_stream("5 S0 N S0 S1 6 S2 D D")},
              {"block_o": [3, 5, 0, 6, 0]})


def test_a_word_or_token_moves_in_every_cycle() -> None:
    fibers = [[crd] for crd in range(100)]
    refs = [*range(100), stop(0), DONE]
    _, cycles = run_primitive("level", {}, {"block": block(fibers), "ref": refs})
    # All words of the block, the last of which opens the scan in the next cycle: an element and a stop each, and done.
    assert cycles == len(block(fibers)) + 1 + 2 * 100 + 1


def test_the_third_level_waits_for_the_first_to_be_read() -> None:
    words = [1, 7]
    inputs = {"block": words * 4, "ref": [0]}
    with pytest.raises(DeadlockError) as error:
        run_primitive("level", {"output": "lookup", "values": 1}, inputs)
    assert str(error.value) == """nothing moves any more
  level (level writer) cannot give 1 complete on level, level.level is full; block holds 1 7 1 7
  level (level lookup) waits for ref; level holds 1 complete"""


@pytest.mark.parametrize("config,inputs,text", [
    ({}, {"block": "2 0 0 0", "ref": "1 D"}, "scanner): the level has 1 fibers: ref shows 1"),
    ({}, {"block": "2 0 3 1 7", "ref": "D"}, "writer): segments reach 3 of 1 coordinates"),
    ({}, {"block": "3 0 2 1 2 7 8", "ref": "D"}, "writer): segments fall from 2 to 1"),
    ({"dense": 1}, {"block": "1 0 0", "ref": "1 D"}, "scanner): a dense level has no extent: ref shows 1"),
    ({"output": "block"}, {"block": "2 0 1 1 N"}, "writer): a block has no control tokens: block shows N"),
    ({}, {"block": "2 0 0 0", "ref": "S255 D"}, "scanner): no stop is higher: ref shows S255"),
    ({"output": "lookup", "values": 1}, {"block": "1 5", "ref": "1 D"}, "lookup): there are 1 values: ref shows 1"),
    ({"output": "block"}, {"block": "D"}, "writer): a block has no control tokens: block shows D"),
    ({"output": "block", "words": 3}, {"block": "2 0 4 4 1 2 3 4"},
     "writer): a level needs 4 words but its buffer holds 3"),
])
def test_what_does_not_fit_a_level_is_named(config: dict[str, Any], inputs: dict[str, str], text: str) -> None:
    with pytest.raises(ProtocolError) as error:
        run_primitive("level", config, {port: parse_stream(each) for port, each in inputs.items()})
    assert str(error.value) == f"level ({text}"
