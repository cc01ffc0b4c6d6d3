from typing import Any

import pytest
from fibers import coordinates, flat, map_leaves, parts, refs, run, seeds, stream, stuck, trees
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.hw.arch.token import DONE, MAYBE, parse_stream
from sardonyx.sim.rtl.bench import run_primitive

BOTH = {"use_ref0": 1, "use_ref1": 1}
INPUTS = {"crd0": "0 2 5 S0 D", "ref0": "7 8 9 S0 D", "crd1": "2 6 S0 D", "ref1": "3 4 S0 D"}


@pytest.mark.parametrize("op,expected", [
    ("intersect", {"crd": "2 S0 D", "ref0_o": "8 S0 D", "ref1_o": "3 S0 D"}),
    ("union", {"crd": "0 2 5 6 S0 D", "ref0_o": "7 8 9 N S0 D", "ref1_o": "N 3 N 4 S0 D"}),
])
def test_example_of_the_contract(op: str, expected: dict[str, str]) -> None:
    assert run_primitive("joiner", {"op": op, **BOTH}, INPUTS)[0] == expected


def sides(fiber: Any) -> Any:
    """A fiber of (coordinate, reference) pairs for each side."""
    return st.tuples(*[coordinates.flatmap(lambda crds: st.lists(refs, min_size=len(crds), max_size=len(crds)).map(
        lambda each: list(zip(crds, each, strict=True)))) for _ in range(2)])


@given(depth=st.shared(st.integers(1, 3), key="depth"), op=st.sampled_from(["intersect", "union"]),
       transactions=st.shared(st.integers(1, 3), key="depth").flatmap(
           lambda depth: st.lists(trees(sides(None), depth), min_size=1, max_size=3)),
       used=st.tuples(st.booleans(), st.booleans()), seed=seeds)
def test_joins_fiber_by_fiber(depth: int, op: str, transactions: list[Any], used: tuple[bool, bool],
                              seed: int | None) -> None:
    def side(number: int, part: int) -> list[int]:
        return stream([map_leaves(lambda pair: [each[part] for each in pair[number]], tree, depth - 1)
                       for tree in transactions], depth)

    def joined(pair: Any) -> list[tuple[int, int, int]]:
        first, second = map(dict, pair)
        kept = first.keys() & second.keys() if op == "intersect" else first.keys() | second.keys()
        return [(crd, first.get(crd, MAYBE), second.get(crd, MAYBE)) for crd in sorted(kept)]

    inputs = {"crd0": side(0, 0), "crd1": side(1, 0)}
    inputs |= {f"ref{number}": side(number, 1) for number in (0, 1) if used[number]}
    config = {"op": op, "use_ref0": used[0], "use_ref1": used[1]}
    result = run("joiner", config, inputs, seed)
    kept = [map_leaves(joined, tree, depth - 1) for tree in transactions]
    outputs = {port: stream(parts(kept, at, depth), depth) for at, port in enumerate(("crd", "ref0_o", "ref1_o"))}
    assert result.outputs == {port: each if port == "crd" or used[int(port[3])] else []
                              for port, each in outputs.items()}

    if seed is None:
        pairs = [pair for tree in transactions for pair in flat(tree, depth - 1)]
        comparisons = sum(len(dict(first).keys() | dict(second).keys()) for first, second in pairs)
        controls = sum(token > 0xFFFF for token in inputs["crd0"])
        # One cycle a comparison or control, and one in the FIFO at the input.
        assert result.cycles == comparisons + controls + 1


@pytest.mark.parametrize("changed", [
    {"crd1": "2 6 S1 D"},
    {"crd1": "2 6 D"},
    {"ref1": "3 4 5 S0 D"},
    {"ref0": "7 8 S0 D"},
])
def test_waits_when_streams_are_out_of_step(changed: dict[str, str]) -> None:
    inputs = {port: parse_stream(text) for port, text in (INPUTS | changed).items()}
    assert not any(DONE in each.outputs["crd"] for each in stuck("joiner", {"op": "union", **BOTH}, inputs))
