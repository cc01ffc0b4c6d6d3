from operator import itemgetter
from typing import Any

import numpy as np
import pytest
from fibers import flat, map_leaves, stream, trees, words
from graphs import every_way
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.hw.arch.token import DONE, MAYBE, parse_stream, stop
from sardonyx.sim.model.tokens.network import run_primitive
from sardonyx.sim.model.tokens.process import ProtocolError

values = st.lists(words | st.just(MAYBE), max_size=5)
depths = st.shared(st.integers(1, 3), key="depth")
# Coordinates matter only in that they are there.
fibers = st.lists(values, max_size=5).map(lambda fiber: list(enumerate(fiber)))


def total(fiber: list[int]) -> int:
    """The sum as NumPy adds 16-bit words."""
    return int(np.array([0 if value == MAYBE else value for value in fiber], np.uint16).sum(dtype=np.uint16))


@given(depth=depths, transactions=depths.flatmap(
    lambda depth: st.lists(trees(fibers, depth), min_size=1, max_size=3)))
def test_guided_sums_a_fiber_for_every_coordinate(depth: int, transactions: list[Any]) -> None:
    crd, val = (stream([map_leaves(itemgetter(part), tree, depth) for tree in transactions], depth + part)
                for part in (0, 1))
    sums = stream([map_leaves(lambda each: total(each[1]), tree, depth) for tree in transactions], depth)
    cycles = every_way("reducer", {"guided": 1}, {"val": val, "crd": crd}, {"val_o": sums})
    # n + 1 cycles for n values, one more for a stop above S0 behind them.
    closing = sum(bool(fiber) for tree in transactions for fiber in flat(tree, depth - 1))
    assert len(val) + 1 <= cycles <= len(val) + closing + 1


@given(st.lists(values, min_size=1, max_size=4))
def test_plain_sums_to_a_scalar(transactions: list[list[int]]) -> None:
    val = stream(transactions, 1)
    cycles = every_way("reducer", {}, {"val": val}, {"val_o": stream([total(each) for each in transactions], 0)})
    assert cycles == len(val) + 1


@given(st.lists(st.tuples(values, st.integers(0, 2) | st.just(255)), max_size=8))
def test_plain_sums_at_every_stop(closed: list[tuple[list[int], int]]) -> None:
    val = [token for fiber, level in closed for token in (*fiber, stop(level))]
    sums = [token for fiber, level in closed
            for token in ([total(fiber), stop(level - 1)] if level else [total(fiber)])]
    cycles = every_way("reducer", {}, {"val": [*val, DONE]}, {"val_o": [*sums, DONE]})
    assert cycles == len(val) + sum(level > 0 for _, level in closed) + 2


@pytest.mark.parametrize("crd,val,text", [
    ("0 S0 D", "1 S2 D", "val shows S2, crd shows S0"),
    ("0 1 S0 D", "1 S1 D", "val shows S1, crd shows 1"),
    ("S0 D", "1 S1 D", "val shows S1, crd shows S0"),
    ("S0 D", "D", "val shows D, crd shows S0"),
    ("0 D", "1 D", "val shows D, crd shows 0"),
])
def test_guided_streams_out_of_step_are_named(crd: str, val: str, text: str) -> None:
    with pytest.raises(ProtocolError) as error:
        run_primitive("reducer", {"guided": 1}, {"crd": parse_stream(crd), "val": parse_stream(val)})
    assert str(error.value) == f"reducer (reducer): the streams are out of step: {text}"


def test_a_fiber_without_a_stop_is_named() -> None:
    with pytest.raises(ProtocolError, match="the last fiber has no stop: val shows D"):
        run_primitive("reducer", {}, {"val": parse_stream("1 2 D")})
