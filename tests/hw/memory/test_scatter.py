import dataclasses
import random
from typing import Any

import pytest
from fibers import run, seeds, stream, trees, words
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.hw.arch.primitive import PRIMITIVES
from sardonyx.hw.arch.tile import MEM
from sardonyx.hw.arch.token import MAYBE, parse_stream
from sardonyx.sim.model.tokens.network import run_primitive as run_model
from sardonyx.sim.model.tokens.process import ProtocolError
from sardonyx.sim.rtl.bench import primitive_bench, run_primitive

# Sixteen words in each half, in lines of two.
SMALL = dataclasses.replace(MEM, sram_lines=16, sram_lanes=2)
values = words | st.just(MAYBE)


def fibers(extent: int, most: int) -> st.SearchStrategy[Any]:
    """Lists of fibers: pairs of position and value, in any order, positions perhaps twice."""
    return st.lists(st.lists(st.tuples(st.integers(0, extent - 1), values), max_size=6), min_size=1, max_size=most)


def dense(fiber: list[tuple[int, int]], extent: int) -> list[int]:
    """A fiber with its zeros."""
    found = dict(fiber)
    return [0 if found.get(at, 0) == MAYBE else found.get(at, 0) for at in range(extent)]


def block(array: list[int]) -> list[int]:
    return [len(array), *array]


@pytest.mark.parametrize("config,at,val,expected", [
    ({"extent": 4}, "2 0 S0 S0 3 S1 D", "5 6 S0 7 S1 D", "12 6 0 5 0 0 0 0 0 0 0 0 7"),
    ({"extent": 4, "whole": 1}, "3 S0 1 S1 D", "7 S0 8 S1 D", "4 0 8 0 7"),
    ({"extent": 3, "whole": 1}, "S1 D", "D", "3 0 0 0"),
    ({"extent": 3}, "D", "S0 D", "0"),
    ({"extent": 4, "below": 1}, "2 S0 0 S1 3 S2 D", "5 6 7 D", "8 6 0 5 0 0 0 0 7"),
    ({"extent": 2, "below": 3}, "1 S2 0 S3 1 S4 S5 D", "5 6 7 D", "6 6 5 0 7 0 0"),
    ({"extent": 2}, "1 1 S0 D 0 S0 D", "5 N D 7 S0 S1 D", "2 0 0 2 7 0"),
])
def test_examples_of_the_contract(config: dict[str, int], at: str, val: str, expected: str) -> None:
    assert run_primitive("scatter", config, {"at": at, "val": val}, tile=MEM)[0] == {"block_o": expected}


@given(extent=st.integers(1, 5), seed=seeds, data=st.data())
def test_each_stop_ends_a_fiber_with_all_its_words(extent: int, seed: int | None, data: Any) -> None:
    transactions = data.draw(st.lists(fibers(extent, 3), min_size=1, max_size=7))
    at = stream([[[place for place, _ in fiber] for fiber in each] for each in transactions], 2)
    val = stream([[value for fiber in each for _, value in fiber] for each in transactions], 1)
    result = run("scatter", {"extent": extent}, {"at": at, "val": val}, seed, SMALL)
    assert result.outputs["block_o"] == [word for each in transactions
                                         for word in block([word for fiber in each for word in dense(fiber, extent)])]


@given(extent=st.integers(1, 5), seed=seeds, data=st.data())
def test_fibers_of_two_dense_levels_end_at_stops_of_the_outer_one(extent: int, seed: int | None, data: Any) -> None:
    rows = st.lists(st.lists(st.tuples(st.integers(0, extent - 1), values), max_size=4), min_size=1, max_size=3)
    transactions = data.draw(st.lists(st.lists(rows, min_size=1, max_size=3), min_size=1, max_size=5))
    at, val = (stream([[[[pair[n] for pair in row] for row in fiber] for fiber in each] for each in transactions], 3)
               for n in (0, 1))
    result = run("scatter", {"extent": extent, "below": 1}, {"at": at, "val": val}, seed, SMALL)
    arrays = [[word for fiber in each for word in dense([pair for row in fiber for pair in row], extent)]
              for each in transactions]
    assert result.outputs["block_o"] == [word for each in arrays for word in block(each)]


@given(extent=st.integers(1, 16), seed=seeds, data=st.data())
def test_a_whole_array_has_every_value_at_its_position(extent: int, seed: int | None, data: Any) -> None:
    transactions = data.draw(st.lists(trees(st.lists(st.tuples(st.integers(0, extent - 1), values), max_size=6), 2),
                                      min_size=1, max_size=7))
    at, val = (stream([[[pair[n] for pair in fiber] for fiber in each] for each in transactions], 2) for n in (0, 1))
    result = run("scatter", {"extent": extent, "whole": 1}, {"at": at, "val": val}, seed, SMALL)
    assert result.outputs["block_o"] == [word for each in transactions
                                         for word in block(dense([pair for fiber in each for pair in fiber], extent))]


def test_arrays_are_given_a_word_a_cycle_while_others_are_written() -> None:
    """Five large arrays with values in two of three places, in rising order; then with a quarter of them, in any order."""
    extent, count = 1000, 5
    order = [[n for n in range(extent) if n % 3] for _ in range(count)]
    any_order = [random.Random(n).sample(range(extent), 250) for n in range(count)]
    most = extent + 5
    for places in (order, any_order):
        inputs = {port: stream([[n + each for n in place] for place in places], 1) for port, each in (("at", 0), ("val", 7))}
        config = {"extent": extent, "whole": 1}
        result = primitive_bench("scatter", MEM).run(inputs, PRIMITIVES["scatter"].config.encode(**config), idle=MEM.sram_lines)
        # The first array is written before anything is given, its last line not before all lines are clear.
        assert result.cycles <= MEM.sram_lines + len(places[0]) + count * most
        assert run_model("scatter", config, inputs)[0] == result.outputs and not result.left


@pytest.mark.parametrize("config,at,val,flag,text", [
    ({"extent": 9}, "1 S0 2 S0 D", "3 S0 4 S0 D", "overflow", "an array needs 18 words but its buffer holds 16"),
    ({"extent": 17, "whole": 1}, "D", "D", "overflow", "an array needs 17 words but its buffer holds 16"),
    ({"extent": 4}, "4 S0 D", "3 S0 D", "fault", "a position of fibers of 4 words: at shows 4"),
    ({"extent": 4}, "1 2 S0 D", "3 S0 D", "fault", "the streams end apart: at shows 2, val shows D"),
    ({"extent": 4, "whole": 1}, "1 D", "3 4 D", "fault", "the streams end apart: at shows D, val shows 4"),
])
def test_what_does_not_fit_is_told_and_nothing_more_leaves(config: dict[str, int], at: str, val: str, flag: str, text: str
                                                         ) -> None:
    inputs = {"at": parse_stream(at), "val": parse_stream(val)}
    with pytest.raises(ProtocolError) as error:
        run_model("scatter", {**config, "words": 16}, inputs)
    assert str(error.value) == f"scatter (scatter): {text}"
    code = PRIMITIVES["scatter"].config.encode(**config)
    result = primitive_bench("scatter", SMALL).run(inputs, code, None)
    assert result.outputs["block_o"] == []
    assert {name for name, value in result.status.items() if value} == {flag}
