"""From a tensor to the arrays of its levels, of any kinds in any order: those of each level that is not dense, and the values.

    dense, compressed    0 5 0 / 7 0 8     segments 0 1 3, coordinates 1 0 2, values 5 7 8
    compressed, dense    0 0 0 / 7 0 8     segments 0 1, coordinates 1, values 7 0 8

A coordinate is stored if something below it is not 0. A position of a level is a fiber of the next one; a place of a node that
no coordinate has is one, too, of which nothing is there.

Output:  for each level that is not dense its arrays (`level_arrays`), and the values.
Cost:    the places of a tensor for each level.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from ...hw.arch.private_buffer import BITVECTOR, DENSE, LINKED, NO_NODE, Level
from ...hw.arch.token import DATA_BITS
from ...tensors.coordinates import Ints

Arrays = list[tuple[int, dict[str, Ints]]]


def level_blocks(tensor: np.ndarray, levels: Sequence[Level], node: int, begin: int = 0,
                 elements: np.ndarray | None = None) -> tuple[Arrays, Ints]:
    """The arrays of each level with its number, and the values.

    begin: of the last level the coordinate of the first element.  elements: which there are; by default what is not 0.
    """
    elements = tensor != 0 if elements is None else elements
    found: Arrays = []
    parents = np.zeros(1, np.int64)     # the fibers of a level, as numbers of a dense tensor; -1: there is nothing
    for nth, level in enumerate(levels):
        inside = tuple(range(nth + 1, tensor.ndim))
        there = elements.any(axis=inside).reshape(-1, level.extent)
        children = parents[:, None] * level.extent + np.arange(level.extent)
        if level.kind == DENSE:
            parents = np.where(parents[:, None] < 0, -1, children).reshape(-1)
            continue
        stored = there[parents] & (parents >= 0)[:, None]
        rows, coordinates = np.nonzero(stored)
        first = begin if nth == len(levels) - 1 else 0
        if level.kind == BITVECTOR:
            padded = np.pad(stored, ((0, 0), (0, -level.extent % DATA_BITS)))
            found.append((nth, {"bits": np.packbits(padded, axis=1, bitorder="little").view("<u2").reshape(-1)}))
        elif level.kind == LINKED:
            arrays, places = _lists(np.bincount(rows, minlength=len(parents)), node)
            held = np.zeros(int(arrays["heads"][-1]) * node, np.int64)
            held[places] = coordinates + first
            found.append((nth, arrays | {"coordinates": held}))
            parents = np.full(len(held), -1)
            parents[places] = children[stored]
            continue
        else:
            counts = np.bincount(rows, minlength=len(parents))
            found.append((nth, {"segments": np.concatenate(([0], np.cumsum(counts))), "coordinates": coordinates + first}))
        parents = children[stored]
    return found, np.where(parents < 0, 0, tensor.reshape(-1)[parents])


def expanded(levels: Sequence[Level], node: int, arrays: Mapping[str, Ints]) -> np.ndarray:
    """The tensor of its arrays, which have the number of their level behind their names, but for those of the last one;
    AssertionError for arrays that are none."""
    parents = np.zeros(1, np.int64)
    for nth, level in enumerate(levels):
        suffix = "" if nth == len(levels) - 1 else str(nth)
        if level.kind == DENSE:
            places = parents[:, None] * level.extent + np.arange(level.extent)
            parents = np.where(parents[:, None] < 0, -1, places).reshape(-1)
            continue
        if level.kind == BITVECTOR:
            words = np.asarray(arrays["bits" + suffix], "<u2").reshape(len(parents), -(-level.extent // DATA_BITS))
            rows, coordinates = np.nonzero(np.unpackbits(words.view(np.uint8), axis=1, bitorder="little"))
        elif level.kind == LINKED:
            rows, coordinates, places = _walked(node, {name: np.asarray(arrays[name + suffix], np.int64)
                                                       for name in ("heads", "links", "coordinates")})
        else:
            segments, coordinates = (np.asarray(arrays[name + suffix], np.int64) for name in ("segments", "coordinates"))
            assert len(segments) == len(parents) + 1 and segments[0] == 0, "segments are of each fiber, and one more"
            assert segments[-1] == len(coordinates), "segments end with the number of positions"
            assert (np.diff(segments) >= 0).all(), "segments do not fall"
            rows = np.repeat(np.arange(len(parents)), np.diff(segments))
        assert (parents[rows] >= 0).all() and (coordinates < level.extent).all(), "coordinates are of fibers that there are"
        assert (np.diff(coordinates)[np.diff(rows) == 0] > 0).all(), "coordinates rise in a fiber"
        found = parents[rows] * level.extent + coordinates
        parents = found
        if level.kind == LINKED:
            parents = np.full(len(arrays["coordinates" + suffix]), -1)
            parents[places] = found
    values = np.asarray(arrays["values"], np.int64)
    assert len(values) == len(parents), "there is a value for each position"
    tensor = np.zeros(prod(level.extent for level in levels), np.int64)
    tensor[parents[parents >= 0]] = values[parents >= 0]
    return tensor.reshape([level.extent for level in levels])


def _walked(node: int, arrays: Mapping[str, Ints]) -> tuple[Ints, Ints, Ints]:
    """Of linked lists for each element its fiber, its coordinate and its place."""
    rows, places = list[int](), list[int]()
    *heads, nodes = arrays["heads"].tolist()
    assert len(arrays["links"]) == 2 * nodes and len(arrays["coordinates"]) == nodes * node, "arrays are of each node"
    for row, at in enumerate(heads):
        for _ in range(nodes + 1):
            if at == NO_NODE:
                break
            assert at < nodes, "a list leads astray"
            following, count = arrays["links"][2 * at:2 * at + 2].tolist()
            places += range(at * node, at * node + count)
            rows += [row] * count
            at = following
    where = np.array(places, np.int64)
    return np.array(rows, np.int64), arrays["coordinates"][where], where


def _lists(counts: Ints, node: int) -> tuple[dict[str, Ints], Ints]:
    """Heads and links of lists of so many elements, whose nodes are full but for the last one of each; and the places of
    elements."""
    nodes = -(-counts // node)
    ends = np.cumsum(nodes)
    total = int(nodes.sum())
    of = np.repeat(np.arange(len(counts)), nodes)
    within = np.arange(total) - (ends - nodes)[of]
    links = np.stack((np.where(within == nodes[of] - 1, NO_NODE, np.arange(total) + 1),
                      np.minimum(node, counts[of] - within * node)), axis=1)
    element = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    heads = np.where(nodes > 0, ends - nodes, NO_NODE)
    return ({"heads": np.append(heads, total), "links": links.reshape(-1)},
            np.repeat((ends - nodes) * node, counts) + element)
