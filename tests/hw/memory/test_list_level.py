"""A level of linked lists gives its fibers, wherever their nodes lie, and tells of blocks that are none."""

from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx.hw.arch.private_buffer import NO_NODE
from sardonyx.hw.arch.token import DONE, stop
from sardonyx.hw.memory.list_level import ListLevel
from sardonyx.sim.rtl.bench import Bench

FIBERS, NODES, SIZE = 3, 8, 4
Tensor = list[list[list[int]]]      # for each fiber its nodes, each of some coordinates
tensors = st.lists(st.lists(st.lists(st.lists(st.integers(0, 99), max_size=SIZE), max_size=3), min_size=FIBERS, max_size=FIBERS)
                   .filter(lambda tensor: sum(map(len, tensor)) <= NODES), min_size=1, max_size=5)


@cache
def bench(size: int = SIZE) -> Bench:
    return Bench(ListLevel(FIBERS, NODES, size))


def block(tensor: Tensor, seed: int, size: int = SIZE) -> "tuple[list[int], dict[tuple[int, int], int]]":
    """The words of a tensor whose nodes lie at random, and where the first coordinate of each node of a fiber is."""
    nodes = [(fiber, nth) for fiber, found in enumerate(tensor) for nth in range(len(found))]
    place = dict(zip(nodes, np.random.default_rng(seed).permutation(len(nodes)).tolist()))
    links, coordinates = [0] * (2 * len(nodes)), [77] * (size * len(nodes))
    for (fiber, nth), at in place.items():
        held = tensor[fiber][nth]
        links[2 * at:2 * at + 2] = place.get((fiber, nth + 1), NO_NODE), len(held)
        coordinates[at * size:at * size + len(held)] = held
    heads = [place.get((fiber, 0), NO_NODE) for fiber in range(FIBERS)]
    words = [[*heads, len(nodes)], links, coordinates]
    return [word for array in words for word in (len(array), *array)], {key: at * size for key, at in place.items()}


def scanned(tensor: Tensor, places: "dict[tuple[int, int], int]", refs: Sequence[int]) -> "list[list[int]]":
    """Coordinates and references of fibers."""
    crd, ref = list[int](), list[int]()
    for fiber in refs:
        for nth, held in enumerate(tensor[fiber]):
            crd += held
            ref += range(places[fiber, nth], places[fiber, nth] + len(held))
        crd.append(stop(0))
        ref.append(stop(0))
    return [[*crd, DONE], [*ref, DONE]]


@settings(max_examples=40)
@given(tensors=tensors, refs=st.lists(st.integers(0, FIBERS - 1), max_size=6), seed=st.integers(0, 99),
       stalls=st.none() | st.integers(1, 1 << 30))
def test_lists_are_walked_wherever_their_nodes_lie(tensors: "list[Tensor]", refs: "list[int]", seed: int,
                                                   stalls: "int | None") -> None:
    fill, crds, places = list[int](), list[int](), list[int]()
    for nth, tensor in enumerate(tensors):
        words, where = block(tensor, seed + nth)
        crd, ref = scanned(tensor, where, refs)
        fill, crds, places = fill + words, crds + crd, places + ref
    found = bench().run({"fill": fill, "ref": [*refs, DONE] * len(tensors)}, stalls=stalls)
    assert not found.status["fault"] and not found.left
    assert found.outputs == {"crd": crds, "ref_o": places}


def test_the_example_of_the_docstring_holds() -> None:
    found = Bench(ListLevel(2, 4, 2)).run({"fill": [3, 1, 0, 2, 4, NO_NODE, 1, NO_NODE, 2, 4, 5, 0, 2, 4], "ref": [0, 1, DONE]})
    assert found.outputs == {"crd": [2, 4, stop(0), 5, stop(0), DONE], "ref_o": [2, 3, stop(0), 0, stop(0), DONE]}


@pytest.mark.parametrize("size", [1, 4])
def test_a_coordinate_leaves_in_each_cycle_from_node_to_node(size: int) -> None:
    nodes = [[at] * size for at in range(8)]
    words, _ = block([nodes, [], []], 1, size)
    found = bench(size).run({"fill": words, "ref": [0, DONE]})
    stamps = found.stamps["crd"]
    assert stamps[8 * size - 1] - stamps[0] == 8 * size - 1


@pytest.mark.parametrize("fill,refs", [
    ([3, 0], [0]), ([4, 0, NO_NODE, NO_NODE, NODES + 1], [0]), ([4, 0, NO_NODE, NO_NODE, 1, 1], [0]),
    ([4, 0, NO_NODE, NO_NODE, 1, 2, NO_NODE, 1, 5], [0]),
    # A head and a link beyond, too many coordinates, a circle; a fiber that there is not, a stop.
    *(([4, head, NO_NODE, NO_NODE, 1, 2, *link, 4, 0, 0, 0, 0], [0]) for head, link in (
        (1, (NO_NODE, 1)), (0, (1, 1)), (0, (NO_NODE, 5)), (0, (0, 1)))),
    ([4, NO_NODE, NO_NODE, NO_NODE, 0, 0, 0], [FIBERS]), ([4, NO_NODE, NO_NODE, NO_NODE, 0, 0, 0], [stop(0)]),
])
def test_blocks_that_are_none_are_a_fault(fill: "list[int]", refs: "list[int]") -> None:
    assert bench().run({"fill": fill, "ref": [*refs, DONE]}).status["fault"]


@settings(max_examples=15)
@given(seed=st.integers(0, 99), at=st.integers(0, 40), flip=st.integers(1, (1 << 16) - 1))
def test_flipped_words_never_hang_it(seed: int, at: int, flip: int) -> None:
    words, _ = block([[[1, 2], [3]], [], [[4]]], seed)
    words[at % len(words)] ^= flip
    found = bench().run({"fill": words, "ref": [0, 1, 2, DONE]}, max_cycles=1000)
    assert found.status["fault"] or found.outputs["crd"].count(stop(0)) <= FIBERS


def test_a_level_of_no_such_size_is_refused() -> None:
    for size in ((0, 4, 4), (1, 0, 4), (1, 4, 3), (1, 1 << 16, 1)):
        with pytest.raises(ValueError, match="there is no level of"):
            ListLevel(*size)
