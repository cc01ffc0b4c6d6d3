from collections import deque
from operator import itemgetter
from typing import Any

import pytest
from fibers import coordinates, flat, map_leaves, stream, trees, words
from graphs import every_way
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.hw.arch.token import DONE, MAYBE, parse_stream
from sardonyx.sim.model.tokens.dropper import meaning
from sardonyx.sim.model.tokens.network import run_primitive
from sardonyx.sim.model.tokens.process import ProtocolError

COORDINATE, VALUE = {"form": "coordinate"}, {"form": "value"}
depths = st.shared(st.integers(1, 3), key="depth")


def transactions(belonging: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Some trees whose leaves are (coordinate, what belongs to it)."""
    fibers = coordinates.flatmap(lambda crds: st.tuples(*[belonging] * len(crds)).map(
        lambda each: list(zip(crds, each, strict=True))))
    return depths.flatmap(lambda depth: st.lists(trees(fibers, depth), min_size=1, max_size=3))


def part(given: list[Any], number: int, depth: int) -> list[int]:
    """The stream of one of the two things at the leaves."""
    return stream([map_leaves(itemgetter(number), tree, depth) for tree in given], depth + number)


def pruned(tree: Any, depth: int) -> Any:
    """The tree without empty fibers at any level."""
    if depth == 1:
        return tree
    return [child for each in tree if (child := pruned(each, depth - 1))]


@pytest.mark.parametrize("outer,inner,outer_o,inner_o", [
    ("0 1 2 3 S0 D", "1 S0 1 S0 S0 1 S1 D", "0 1 3 S0 D", "1 S0 1 S0 1 S1 D"),
    ("0 2 S0 D", "0 S0 S1 D", "0 S0 D", "0 S1 D"),
    ("0 1 2 S0 D", "S0 1 S0 S1 D", "1 S0 D", "1 S1 D"),
    ("0 S0 1 S1 D", "S1 3 S2 D", "S0 1 S1 D", "3 S2 D"),
    ("0 2 S0 D", "S0 S1 D", "S0 D", "D"),
    ("S0 D", "S1 D", "S0 D", "D"),
    ("D 3 S0 D", "D 4 S1 D", "D 3 S0 D", "D 4 S1 D"),
    ("N S0 D", "N S1 D", "N S0 D", "N S1 D"),
])
def test_corner_cases_of_the_coordinate_form(outer: str, inner: str, outer_o: str, inner_o: str) -> None:
    every_way("dropper", COORDINATE, {"outer": parse_stream(outer), "inner": parse_stream(inner)},
              {"outer_o": parse_stream(outer_o), "inner_o": parse_stream(inner_o)})


@given(depth=depths, given=transactions(st.lists(words, max_size=3)))
def test_coordinates_of_empty_fibers_leave(depth: int, given: list[Any]) -> None:
    outer, inner = part(given, 0, depth), part(given, 1, depth)
    kept = [map_leaves(lambda fiber: [crd for crd, held in fiber if held], tree, depth - 1) for tree in given]
    left = [pruned(map_leaves(lambda each: each[1], tree, depth), depth + 1) for tree in given]
    inner_o = [token for tree in left for token in (stream([tree], depth + 1) if tree else [DONE])]
    cycles = every_way("dropper", COORDINATE, {"outer": outer, "inner": inner},
                       {"outer_o": stream(kept, depth), "inner_o": inner_o})
    # An empty fiber that is the last of its own has two tokens in outer.
    doubles = sum(bool(fiber) and not fiber[-1][1] for tree in given for fiber in flat(tree, depth - 1))
    assert len(inner) + 1 <= cycles <= len(inner) + doubles + 2


@given(depth=depths, given=transactions(words | st.just(0) | st.just(MAYBE)))
def test_pairs_of_zero_leave(depth: int, given: list[Any]) -> None:
    def streams(given: list[Any]) -> list[list[int]]:
        return [stream([map_leaves(itemgetter(number), tree, depth) for tree in given], depth)
                for number in (0, 1)]

    kept = [map_leaves(lambda fiber: [each for each in fiber if each[1] not in (0, MAYBE)], tree, depth - 1)
            for tree in given]
    outer, inner = streams(given)
    cycles = every_way("dropper", VALUE, {"outer": outer, "inner": inner},
                       dict(zip(("outer_o", "inner_o"), streams(kept), strict=True)))
    assert cycles == len(outer) + 1


@pytest.mark.parametrize("config,outer,inner,text", [
    (COORDINATE, "0 S0 D", "1 S2 D", "outer shows S0, inner shows S2"),
    (COORDINATE, "0 1 S0 D", "1 S1 D", "outer shows 1, inner shows S1"),
    (COORDINATE, "S0 D", "1 S1 D", "outer shows S0, inner shows 1"),
    (COORDINATE, "S0 D", "S0 S1 D", "outer shows S0, inner shows S0"),
    (COORDINATE, "0 S0 D", "1 S0 D", "outer shows S0, inner shows D"),
    (COORDINATE, "0 S0 D", "1 D", "outer shows S0, inner shows D"),
    (VALUE, "0 S0 D", "S0 D", "outer shows 0, inner shows S0"),
    (VALUE, "0 S0 D", "1 S1 D", "outer shows S0, inner shows S1"),
])
def test_streams_out_of_step_are_named(config: dict[str, str], outer: str, inner: str, text: str) -> None:
    with pytest.raises(ProtocolError) as error:
        run_primitive("dropper", config, {"outer": parse_stream(outer), "inner": parse_stream(inner)})
    assert str(error.value) == f"dropper (dropper): the streams are out of step: {text}"


def test_data_does_not_wait_for_the_next_token() -> None:
    outer, inner, given = deque([0, 1]), deque(parse_stream("4 S0 5")), list[int]()
    for event in meaning(COORDINATE, {"outer": outer, "inner": inner}, {"outer_o": id, "inner_o": given.append}):
        if event is inner:
            break
    assert given == parse_stream("4 S0 5")
