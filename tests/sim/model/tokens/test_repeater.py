from typing import Any

import pytest
from fibers import coordinates, flat, map_leaves, refs, stream, trees
from graphs import every_way
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.hw.arch.token import parse_stream
from sardonyx.sim.model.tokens.network import run_primitive
from sardonyx.sim.model.tokens.process import ProtocolError

depths = st.shared(st.integers(1, 3), key="depth")
fibers = st.lists(st.tuples(refs, coordinates), max_size=4)


def check(config: dict[str, int], transactions: list[Any], depth: int) -> None:
    """Run on trees of (reference, coordinates of its fiber)."""
    inputs = {"crd": stream([map_leaves(lambda each: each[1], tree, depth) for tree in transactions], depth + 1)}
    if not config:
        inputs["ref"] = stream([map_leaves(lambda each: each[0], tree, depth) for tree in transactions], depth)
    repeated = [map_leaves(lambda each: [each[0]] * len(each[1]), tree, depth) for tree in transactions]
    cycles = every_way("repeater", config, inputs, {"ref_o": stream(repeated, depth + 1)})
    # An empty fiber that is the last of its own has two tokens in `ref`.
    doubles = sum(bool(fiber) and not fiber[-1][1] for tree in transactions for fiber in flat(tree, depth - 1)) if depth else 0
    assert max(map(len, inputs.values())) + 1 <= cycles <= len(inputs["crd"]) + doubles + 1


@given(depth=depths, transactions=depths.flatmap(
    lambda depth: st.lists(trees(fibers, depth), min_size=1, max_size=3)))
def test_repeats_each_reference_once_a_coordinate(depth: int, transactions: list[Any]) -> None:
    check({}, transactions, depth)


@given(st.lists(coordinates, min_size=1, max_size=4))
def test_root_repeats_zero_in_every_transaction(transactions: list[list[int]]) -> None:
    check({"root": 1}, [(0, crds) for crds in transactions], 0)


@pytest.mark.parametrize("ref,crd,text", [
    ("7 S0 D", "1 S2 D", "the stops do not fit: ref shows S0, crd shows S2"),
    ("7 8 S0 D", "1 S1 D", "the stops do not fit: ref shows 8, crd shows S1"),
    ("7 S0 D", "1 S0 2 S1 D", "a coordinate or fiber has no reference: ref shows S0, crd shows 2"),
    ("7 S0 D", "1 S0 S0 S1 D", "a coordinate or fiber has no reference: ref shows S0, crd shows S0"),
    ("7 8 S0 D", "1 S0 D", "references are left over: ref shows 8, crd shows D"),
    ("7 S0 D", "D", "references are left over: ref shows 7, crd shows D"),
])
def test_streams_that_do_not_fit_are_named(ref: str, crd: str, text: str) -> None:
    with pytest.raises(ProtocolError) as error:
        run_primitive("repeater", {}, {"ref": parse_stream(ref), "crd": parse_stream(crd)})
    assert str(error.value) == f"repeater (repeater): {text}"
