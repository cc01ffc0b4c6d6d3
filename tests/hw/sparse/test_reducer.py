from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from fibers import coordinates, flat, map_leaves, parts, run, seeds, stream, stuck, trees, words
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.tile import PE
from sardonyx.hw.arch.token import DONE, MAYBE, is_stop, parse_stream, stop
from sardonyx.sim.rtl.bench import run_primitive


@pytest.mark.parametrize("val,expected", [
    ("1 2 S0 3 S1 D", "3 3 S0 D"),
    ("1 2 S0 D", "3 D"),
    ("S0 D", "0 D"),
    ("1 S0 S0 3 S1 D", "1 0 3 S0 D"),
    ("5 S2 D 6 S0 D", "5 S1 D 6 D"),
    ("40000 N 30000 S0 D", "4464 D"),
])
def test_examples_of_the_plain_form(val: str, expected: str) -> None:
    assert run_primitive("reducer", inputs={"val": val})[0] == {"val_o": expected}


@pytest.mark.parametrize("crd,val,expected", [
    ("0 2 S0 S1 D", "1 2 S0 S1 S2 D", "3 0 S0 S1 D"),
    ("S0 D", "S1 D", "S0 D"),
    ("0 S0 D", "S1 D", "0 S0 D"),
])
def test_examples_of_the_guided_form(crd: str, val: str, expected: str) -> None:
    assert run_primitive("reducer", {"guided": 1}, {"crd": crd, "val": val})[0] == {"val_o": expected}


def total(values: list[int]) -> int:
    """The sum as NumPy adds 16-bit words."""
    return int(np.array([0 if value == MAYBE else value for value in values], np.uint16).sum(dtype=np.uint16))


values = st.lists(words | st.just(MAYBE), max_size=5)
depths = st.shared(st.integers(0, 2), key="depth")


@given(transactions=st.lists(values, min_size=1, max_size=4), seed=seeds)
def test_plain_sums_to_a_scalar(transactions: list[list[int]], seed: int | None) -> None:
    result = run("reducer", {}, {"val": stream(transactions, 1)}, seed)
    assert result.outputs["val_o"] == stream([total(each) for each in transactions], 0)


@given(fibers=st.lists(st.tuples(values, st.integers(0, 2) | st.just(255)), max_size=8), seed=seeds)
def test_plain_sums_at_every_stop(fibers: list[tuple[list[int], int]], seed: int | None) -> None:
    val = [token for fiber, level in fibers for token in (*fiber, stop(level))]
    result = run("reducer", {}, {"val": [*val, DONE]}, seed)
    expected = [token for fiber, level in fibers
                for token in ([total(fiber), stop(level - 1)] if level else [total(fiber)])]
    assert result.outputs["val_o"] == [*expected, DONE]
    if seed is None:
        # n + 1 cycles for n values, one more for a stop above S0.
        assert result.cycles == len(val) + 1 + sum(level > 0 for _, level in fibers) + 1


guided_fibers = st.lists(values, max_size=5).flatmap(
    lambda inner: st.lists(st.integers(0, 0xFFFF), min_size=len(inner), max_size=len(inner), unique=True).map(
        lambda crds: list(zip(sorted(crds), inner, strict=True))))


@given(depth=st.shared(st.integers(1, 3), key="depth"), seed=seeds,
       transactions=st.shared(st.integers(1, 3), key="depth").flatmap(
           lambda depth: st.lists(trees(guided_fibers, depth), min_size=1, max_size=3)))
def test_guided_sums_a_fiber_for_every_coordinate(depth: int, transactions: list[Any], seed: int | None) -> None:
    crd, val = stream(parts(transactions, 0, depth), depth), stream(parts(transactions, 1, depth), depth + 1)
    result = run("reducer", {"guided": 1}, {"crd": crd, "val": val}, seed)
    assert result.outputs["val_o"] == stream(
        [map_leaves(lambda each: total(each[1]), tree, depth) for tree in transactions], depth)
    if seed is None:
        closing = sum(bool(fiber) for tree in transactions for fiber in flat(tree, depth - 1))
        assert result.cycles == len(val) + closing + 1


MAXIMA = replace(PE, reduce_max=True)


@pytest.mark.parametrize("extent,val,expected", [
    (3, "-2 -1 S0 -2 -1 -4 S1 D", "0 -1 S0 D"),     # The first fiber has a zero that is not stored.
    (0, "-2 S0 5 -7 S0 S1 D", "0 5 0 S0 D"),
    (1, "-2 S0 N S0 -32768 S1 D", "-2 0 -32768 S0 D"),
    (2, "-32768 -1 S0 32767 -1 S0 S0 D", "-1 32767 0 D"),
])
def test_examples_of_maxima(extent: int, val: str, expected: str) -> None:
    given, right = ([str(int(token) % 65536) if token.lstrip("-").isdigit() else token for token in text.split()]
                    for text in (val, expected))
    found, _ = run_primitive("reducer", {"op": "max", "extent": extent}, {"val": " ".join(given)}, tile=MAXIMA)
    assert found == {"val_o": " ".join(right)}


def largest(values: list[int], extent: int) -> int:
    """The maximum of an array of NumPy, of which the zeros are not in the list."""
    words = np.array([0 if value == MAYBE else value for value in values], np.uint16).astype(np.int16)
    return int(np.append(words, [0] * (len(words) != extent)).astype(np.int16).max(initial=-32768 if len(words) else 0)) % 65536


@given(depth=st.shared(st.integers(1, 3), key="depth"), seed=seeds, extent=st.integers(0, 5),
       transactions=st.shared(st.integers(1, 3), key="depth").flatmap(
           lambda depth: st.lists(trees(guided_fibers, depth), min_size=1, max_size=3)))
def test_guided_takes_the_maximum_of_a_fiber_for_every_coordinate(
        depth: int, transactions: list[Any], extent: int, seed: int | None) -> None:
    crd, val = stream(parts(transactions, 0, depth), depth), stream(parts(transactions, 1, depth), depth + 1)
    config = {"guided": 1, "op": "max", "extent": extent}
    result = run("reducer", config, {"crd": crd, "val": val}, seed, MAXIMA)
    assert result.outputs["val_o"] == stream(
        [map_leaves(lambda each: largest(each[1], extent), tree, depth) for tree in transactions], depth)


@given(transactions=st.lists(values, min_size=1, max_size=4), seed=seeds, extent=st.integers(0, 5),
       op=st.sampled_from(["sum", "max"]))
def test_plain_maxima_and_sums_of_such_a_reducer_are_scalars(
        transactions: list[list[int]], seed: int | None, extent: int, op: str) -> None:
    result = run("reducer", {"op": op, "extent": extent}, {"val": stream(transactions, 1)}, seed, MAXIMA)
    right = [total(each) if op == "sum" else largest(each, extent) for each in transactions]
    assert result.outputs["val_o"] == stream(right, 0)


def test_a_tile_whose_reducers_only_sum_has_no_operation_to_set() -> None:
    with pytest.raises(UserError, match="it has no configuration field 'op'\n  try: its fields are guided"):
        run_primitive("reducer", {"op": "max"}, {"val": "1 S0 D"})


@given(crds=coordinates.filter(bool))
def test_values_do_not_wait_for_their_coordinate(crds: list[int]) -> None:
    for result in stuck("reducer", {"guided": 1}, {"val": [*crds, *parse_stream("S1 D")]}):
        # All values are summed; their stop and done fill the FIFO at the input.
        assert len(result.stamps["val"]) == len(crds) + 2


@pytest.mark.parametrize("crd,val", [("0 S0 D", "1 S2 D"), ("0 1 S0 D", "1 S1 D"), ("S0 D", "1 S1 D"),
                                     ("S0 D", "D"), ("0 D", "1 D"), ("D", "1 D")])
def test_guided_waits_when_streams_are_out_of_step(crd: str, val: str) -> None:
    for result in stuck("reducer", {"guided": 1}, {"crd": parse_stream(crd), "val": parse_stream(val)}):
        assert DONE not in result.outputs["val_o"]
        assert not any(map(is_stop, result.outputs["val_o"]))


def test_plain_waits_for_the_stop_of_the_last_fiber() -> None:
    assert not any(each.outputs["val_o"] for each in stuck("reducer", {}, {"val": parse_stream("1 D")}))
