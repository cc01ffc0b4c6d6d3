from typing import Any

import pytest
from fibers import coordinates, flat, map_leaves, refs, stream, trees
from graphs import every_way
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.hw.arch.token import MAYBE, parse_stream
from sardonyx.sim.model.tokens.network import run_primitive
from sardonyx.sim.model.tokens.process import ProtocolError

depths = st.shared(st.integers(1, 3), key="depth")
side = coordinates.flatmap(lambda crds: st.tuples(*[refs] * len(crds)).map(
    lambda each: dict(zip(crds, each, strict=True))))
"""A fiber: references by coordinate."""


def joined(op: str, pair: Any) -> tuple[dict[int, int], ...]:
    """Both fibers of a pair with the coordinates that are kept."""
    first, second = pair
    kept = first.keys() & second.keys() if op == "intersect" else first.keys() | second.keys()
    return tuple({crd: each.get(crd, MAYBE) for crd in kept} for each in pair)


@pytest.mark.parametrize("op", ["intersect", "union"])
@given(depth=depths, used=st.tuples(st.booleans(), st.booleans()), transactions=depths.flatmap(
    lambda depth: st.lists(trees(st.tuples(side, side), depth), min_size=1, max_size=3)))
def test_keeps_the_coordinates_that_sets_keep(op: str, depth: int, used: tuple[bool, bool],
                                              transactions: list[Any]) -> None:
    def crds(given: list[Any], number: int) -> list[int]:
        return stream([map_leaves(lambda pair: sorted(pair[number]), tree, depth - 1) for tree in given], depth)

    def refs(given: list[Any], number: int) -> list[int]:
        return stream([map_leaves(lambda pair: [pair[number][crd] for crd in sorted(pair[number])], tree, depth - 1)
                       for tree in given], depth)

    kept = [map_leaves(lambda pair: joined(op, pair), tree, depth - 1) for tree in transactions]
    inputs = {"crd0": crds(transactions, 0), "crd1": crds(transactions, 1)}
    expected = {"crd": crds(kept, 0)}
    for number in (0, 1):
        if used[number]:
            inputs[f"ref{number}"] = refs(transactions, number)
            expected[f"ref{number}_o"] = refs(kept, number)
    cycles = every_way("joiner", {"op": op, "use_ref0": used[0], "use_ref1": used[1]}, inputs, expected)
    compared = sum(len({**pair[0], **pair[1]}) for tree in transactions for pair in flat(tree, depth - 1))
    assert cycles == compared + sum(token > 0xFFFF for token in inputs["crd0"]) + 1


@pytest.mark.parametrize("changed,text", [
    ({"crd1": "2 S1 D"}, "crd0 shows S0, crd1 shows S1, ref0 shows S0, ref1 shows S0"),
    ({"crd1": "2 D"}, "crd0 shows S0, crd1 shows D, ref0 shows S0, ref1 shows S0"),
    ({"ref1": "3 4 S0 D"}, "crd0 shows S0, crd1 shows S0, ref0 shows S0, ref1 shows 4"),
    ({"ref0": "S0 D"}, "crd0 shows 2, crd1 shows 2, ref0 shows S0, ref1 shows 3"),
    ({"crd0": "N S0 D", "crd1": "N S0 D"}, "crd0 shows N, crd1 shows N, ref0 shows 8, ref1 shows 3"),
])
def test_streams_out_of_step_are_named(changed: dict[str, str], text: str) -> None:
    inputs = {"crd0": "2 S0 D", "ref0": "8 S0 D", "crd1": "2 S0 D", "ref1": "3 S0 D"} | changed
    with pytest.raises(ProtocolError) as error:
        run_primitive("joiner", {"use_ref0": 1, "use_ref1": 1}, {port: parse_stream(each) for port, each in inputs.items()})
    assert str(error.value) == f"joiner (joiner): the sides are out of step: {text}"
