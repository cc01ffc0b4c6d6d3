"""Accumulators against sums of NumPy: whatever is added, in whatever order."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from fibers import flat, run, seeds, stream
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sardonyx.hw.arch.buffer import accumulated
from sardonyx.hw.arch.primitive import ACCUMULATOR
from sardonyx.hw.arch.tile import MEM
from sardonyx.hw.arch.token import DONE, MAYBE, parse_stream, stop
from sardonyx.sim.model.tokens.network import run_primitive as model
from sardonyx.sim.model.tokens.process import ProtocolError
from sardonyx.sim.rtl.bench import primitive_bench, run_primitive

# Few lines, so that every run changes between them; few lanes, and one outer coordinate a line.
SMALL = [replace(MEM, sram_lines=lines, sram_lanes=lanes) for lines, lanes in ((16, 4), (32, 2), (16, 8))]
SPECS = pytest.mark.parametrize("spec", [MEM, *SMALL[:2], pytest.param(SMALL[2], marks=pytest.mark.slow)],
                                ids=lambda spec: f"{spec.sram_lines}x{spec.sram_lanes}")
values = st.integers(0, 0xFFFF) | st.sampled_from([0, 1, 2, 0xFFFE, 0xFFFF, MAYBE])


@pytest.mark.parametrize("crd,val,sums", [
    ("0 3 S0 3 S1 1 S0 S2 D", "5 6 S0 7 S1 4 S0 S2 D", ("0 3 S0 1 S1 D", "5 13 S0 4 S1 D")),
    ("S1 D", "S1 D", ("S0 D", "S0 D")),
    ("S0 S1 S2 D S1 D", "S0 S1 S2 D S1 D", ("S0 S1 D S0 D", "S0 S1 D S0 D")),
    ("1023 0 1023 S1 D", "1 40000 2 S1 D", ("0 1023 S0 D", "40000 3 S0 D")),
    ("5 S0 5 7 S1 D", "1 S0 65535 N S1 D", ("S0 D", "S0 D")),
])
def test_examples_with_one_coordinate(crd: str, val: str, sums: tuple[str, str]) -> None:
    given, _ = run_primitive("accumulator", inputs={"crd": crd, "val": val})
    assert given == {"outer_o": "", "crd_o": sums[0], "val_o": sums[1]}


@pytest.mark.parametrize("outer,crd,val,sums", [
    ("0 2 S0 2 S1 D", "1 S0 3 S1 4 S2 D", "5 S0 6 S1 7 S2 D", ("0 2 S0 D", "1 S0 3 4 S1 D", "5 S0 6 7 S1 D")),
    ("0 2 S0 2 S1 D", "1 S0 3 S1 3 S2 D", "5 S0 6 S1 65530 S2 D", ("0 S0 D", "1 S1 D", "5 S1 D")),
    ("S1 D", "S2 D", "S2 D", ("S0 D", "S1 D", "S1 D")),
    ("S0 4 S0 S1 D", "S1 S1 S2 D", "S1 S1 S2 D", ("S0 D", "S1 D", "S1 D")),
    ("31 S0 0 31 S1 D", "31 S1 0 S0 31 S2 D", "1 S1 2 S0 3 S2 D", ("0 31 S0 D", "0 S0 31 S1 D", "2 S0 4 S1 D")),
])
def test_examples_with_two_coordinates(outer: str, crd: str, val: str, sums: tuple[str, str, str]) -> None:
    given, _ = run_primitive("accumulator", {"use_outer": 1}, {"outer": outer, "crd": crd, "val": val})
    assert given == dict(zip(("outer_o", "crd_o", "val_o"), sums))


def elements(edge: int, near: int) -> st.SearchStrategy[Any]:
    """A fiber of coordinates and values; coordinates that meet often are among them."""
    crds = st.lists(st.integers(0, near - 1) | st.integers(0, edge - 1), max_size=6, unique=True).map(sorted)
    return crds.flatmap(lambda found: st.tuples(*(st.tuples(st.just(crd), values) for crd in found)).map(list))


def part(tree: Any, at: int, depth: int) -> Any:
    return tree[at] if depth == 0 else [part(child, at, depth - 1) for child in tree]


def summed(cells: list[tuple[tuple[int, ...], int]], edges: tuple[int, ...]) -> np.ndarray:
    """The sums at all places, as NumPy adds 16-bit words."""
    total = np.zeros(edges, np.uint16)
    places = tuple(np.array([place for place, _ in cells], np.int64).reshape(-1, len(edges)).T)
    np.add.at(total, places, np.array([0 if value == MAYBE else value for _, value in cells], np.uint16))
    return total


def fibers(row: np.ndarray) -> list[tuple[int, int]]:
    return [(int(crd), int(row[crd])) for crd in np.flatnonzero(row)]


@SPECS
@settings(max_examples=40)
@given(data=st.data(), depth=st.integers(0, 1), seed=seeds)
def test_sums_the_fibers_of_one_level(spec: Any, data: st.DataObject, depth: int, seed: int | None) -> None:
    (edge,) = accumulated(spec.level_words, 1)
    summed_fibers = st.lists(elements(edge, 9), max_size=4)
    nested = st.lists(summed_fibers, max_size=4) if depth else summed_fibers
    transactions = data.draw(st.lists(nested, min_size=1, max_size=3))
    crd = stream([part(tree, 0, depth + 2) for tree in transactions], depth + 2)
    val = stream([part(tree, 1, depth + 2) for tree in transactions], depth + 2)
    result = run("accumulator", {}, {"crd": crd, "val": val}, seed, spec)

    def one(tree: Any) -> list[tuple[int, int]]:
        return fibers(summed([((crd,), value) for crd, value in flat(tree, 2)], (edge,)))

    sums = [[one(each) for each in tree] if depth else one(tree) for tree in transactions]
    assert result.outputs["crd_o"] == stream([part(tree, 0, depth + 1) for tree in sums], depth + 1)
    assert result.outputs["val_o"] == stream([part(tree, 1, depth + 1) for tree in sums], depth + 1)
    assert not result.status["overflow"] and not result.status["fault"]


@SPECS
@settings(max_examples=40)
@given(data=st.data(), seed=seeds)
@example(data=None, seed=None)
def test_sums_the_fibers_of_two_levels(spec: Any, data: st.DataObject | None, seed: int | None) -> None:
    outer_edge, edge = accumulated(spec.level_words, 2)
    rows = st.lists(st.integers(0, outer_edge - 1), max_size=4, unique=True).map(sorted).flatmap(
        lambda found: st.tuples(*(st.tuples(st.just(crd), elements(edge, 3)) for crd in found)).map(list))
    every = [[[(row, [(crd, 1) for crd in range(edge)]) for row in range(outer_edge)]]]
    transactions = data.draw(st.lists(st.lists(rows, max_size=4), min_size=1, max_size=3)) if data else every
    outer = stream([part(tree, 0, 2) for tree in transactions], 2)
    below = [[[row[1] for row in each] for each in tree] for tree in transactions]
    crd, val = (stream([part(tree, at, 3) for tree in below], 3) for at in (0, 1))
    result = run("accumulator", {"use_outer": 1}, {"outer": outer, "crd": crd, "val": val}, seed, spec)
    sums = []
    for tree in transactions:
        cells = [((row, crd), value) for each in tree for row, fiber in each for crd, value in fiber]
        total = summed(cells, (outer_edge, edge))
        sums.append([(int(row), fibers(total[row])) for row in np.flatnonzero(total.any(axis=1))])
    assert result.outputs["outer_o"] == stream([part(tree, 0, 1) for tree in sums], 1)
    for at, port in enumerate(("crd_o", "val_o")):
        assert result.outputs[port] == stream([part([row[1] for row in tree], at, 2) for tree in sums], 2)
    assert not result.status["overflow"] and not result.status["fault"]


def test_values_at_one_line_take_a_cycle_and_others_two() -> None:
    def cycles(crds: list[int]) -> int:
        ones = [1] * len(crds)
        return run("accumulator", {}, {"crd": [*crds, stop(1), DONE], "val": [*ones, stop(1), DONE]}).cycles

    one, other = [0, 1, 2, 3] * 8, [0, 40] * 16
    assert cycles(one * 2) - cycles(one) == len(one)
    assert cycles(other * 2) - cycles(other) == 2 * len(other)
    # A line of n sums takes n cycles to leave, 2 at least.
    assert cycles([*range(64)]) - cycles([*range(32)]) == 8 * (5 + 4)
    assert cycles([*range(0, 64, 4)]) - cycles([*range(0, 32, 4)]) == 8 * (2 + 2)


@pytest.mark.parametrize("config,inputs", [
    ({}, {"crd": "1023 S1 D 1024 S1 D", "val": "1 S1 D 1 S1 D"}),
    ({"use_outer": 1}, {"outer": "31 S1 D 32 S1 D", "crd": "1 S2 D 1 S2 D", "val": "1 S2 D 1 S2 D"}),
    ({"use_outer": 1}, {"outer": "1 S1 D 1 S1 D", "crd": "31 S2 D 32 S2 D", "val": "1 S2 D 1 S2 D"}),
])
def test_a_coordinate_without_a_word_is_an_overflow_and_nothing_more_leaves(config: dict[str, int],
                                                                            inputs: dict[str, str]) -> None:
    for seed in (None, 3):
        result = primitive_bench("accumulator").run({port: parse_stream(text) for port, text in inputs.items()},
                                                    ACCUMULATOR.config.encode(**config), seed)
        assert result.status["overflow"] and not result.status["fault"]
        assert result.outputs["val_o"].count(DONE) == 1 and result.outputs["val_o"][-1] == DONE


@pytest.mark.parametrize("config,inputs", [
    ({}, {"crd": "1 S1 D", "val": "1 2 S1 D"}), ({}, {"crd": "1 S0 S1 D", "val": "1 S1 D"}), ({}, {"crd": "1 D", "val": "1 D"}),
    ({}, {"crd": "N S1 D", "val": "1 S1 D"}),
    ({"use_outer": 1}, {"outer": "1 2 S0 D", "crd": "1 S1 D", "val": "1 S1 D"}),
    ({"use_outer": 1}, {"outer": "1 S1 D", "crd": "1 S0 2 S2 D", "val": "1 S0 2 S2 D"}),
    ({"use_outer": 1}, {"outer": "D", "crd": "S2 D", "val": "S2 D"}),
])
def test_streams_that_do_not_belong_together_are_a_fault(config: dict[str, int], inputs: dict[str, str]) -> None:
    tokens = {port: parse_stream(text) for port, text in inputs.items()}
    for seed in (None, 3):
        result = primitive_bench("accumulator").run(tokens, ACCUMULATOR.config.encode(**config), seed)
        assert result.status["fault"] and DONE not in result.outputs["val_o"]
    with pytest.raises(ProtocolError, match="out of step"):
        model("accumulator", config, tokens)
