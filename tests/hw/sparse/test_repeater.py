from typing import Any

import pytest
from fibers import coordinates, flat, map_leaves, parts, refs, run, seeds, stream, stuck, trees
from hypothesis import example, given
from hypothesis import strategies as st

from sardonyx.hw.arch.token import DONE, parse_stream
from sardonyx.sim.rtl.bench import run_primitive


@pytest.mark.parametrize("ref,crd,expected", [
    ("7 8 S0 D", "0 1 S0 4 S1 D", "7 7 S0 8 S1 D"),
    ("7 8 S0 D", "S0 4 S1 D", "S0 8 S1 D"),
    ("7 8 S0 D", "S0 S1 D", "S0 S1 D"),
    ("N 8 S0 D", "0 1 S0 4 S1 D", "N N S0 8 S1 D"),
    ("S0 8 S1 D", "S1 4 S2 D", "S1 8 S2 D"),
    ("S0 D", "S1 D", "S1 D"),
])
def test_examples_of_the_contract(ref: str, crd: str, expected: str) -> None:
    assert run_primitive("repeater", inputs={"ref": ref, "crd": crd})[0] == {"ref_o": expected}


def outcome(transactions: list[Any], depth: int, config: dict[str, int], seed: int | None) -> Any:
    """Run on trees of (reference, coordinates of its fiber)."""
    ref, crd = stream(parts(transactions, 0, depth), depth), stream(parts(transactions, 1, depth), depth + 1)
    result = run("repeater", config, {"crd": crd} if config else {"crd": crd, "ref": ref}, seed)
    assert result.outputs["ref_o"] == stream(
        [map_leaves(lambda each: [each[0]] * len(each[1]), tree, depth) for tree in transactions], depth + 1)
    return result


def fibers(least: int = 0) -> Any:
    """Fibers of references, each with its coordinates."""
    return st.lists(st.tuples(refs, coordinates.filter(lambda crds: len(crds) >= least)), max_size=4)


depths = st.shared(st.integers(1, 3), key="depth")


@given(depth=depths, seed=seeds, transactions=depths.flatmap(
    lambda depth: st.lists(trees(fibers(), depth), min_size=1, max_size=3)))
@example(depth=1, seed=None, transactions=[[(7, []), (8, [])]])
def test_repeats_each_reference_once_a_coordinate(depth: int, transactions: list[Any], seed: int | None) -> None:
    result = outcome(transactions, depth, {}, seed)
    if seed is None:
        # An empty fiber that is the last of its own has two tokens in `ref`.
        pairs = sum(bool(fiber) and not fiber[-1][1] for tree in transactions for fiber in flat(tree, depth - 1))
        length = len(result.outputs["ref_o"])
        assert length + 1 <= result.cycles <= length + pairs + 1


@given(depth=depths, transactions=depths.flatmap(
    lambda depth: st.lists(trees(fibers(1), depth), min_size=1, max_size=3)))
def test_one_token_a_cycle(depth: int, transactions: list[Any]) -> None:
    result = outcome(transactions, depth, {}, None)
    assert result.cycles == len(result.outputs["ref_o"]) + 1


@given(transactions=st.lists(coordinates, min_size=1, max_size=4), seed=seeds)
def test_root_repeats_zero_in_every_transaction(transactions: list[list[int]], seed: int | None) -> None:
    result = outcome([(0, crds) for crds in transactions], 0, {"root": 1}, seed)
    if seed is None:
        assert result.cycles == len(result.outputs["ref_o"]) + 1


@pytest.mark.parametrize("ref,crd", [("7 S0 D", "1 S2 D"), ("7 S0 D", "1 S0 2 S1 D"), ("7 8 S0 D", "1 S1 D"),
                                     ("7 D", "1 D")])
def test_waits_when_stops_do_not_fit(ref: str, crd: str) -> None:
    results = stuck("repeater", {}, {"ref": parse_stream(ref), "crd": parse_stream(crd)})
    assert not any(DONE in each.outputs["ref_o"] for each in results)
