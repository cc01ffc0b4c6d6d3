"""From a tensor to the arrays of its levels, of any kinds in any order: those of each level that is not dense, and the values.

    dense, compressed    0 5 0 / 7 0 8     segments 0 1 3, coordinates 1 0 2, values 5 7 8
    compressed, dense    0 0 0 / 7 0 8     segments 0 1, coordinates 1, values 7 0 8

A coordinate is stored if something below it is not 0. A position of a level is a fiber of the next one; a place of a node that
no coordinate has is one, too, of which nothing is there.

Output:  for each level that is not dense its arrays (`level_arrays`), and the values.
Cost:    the places of a tensor for each level.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...hw.arch.private_buffer import BITVECTOR, DENSE, LINKED, NO_NODE, Level
from ...hw.arch.token import DATA_BITS
from ...tensors.coordinates import Ints

Arrays = list[tuple[int, dict[str, Ints]]]


def level_blocks(tensor: np.ndarray, levels: Sequence[Level], node: int, begin: int = 0) -> tuple[Arrays, Ints]:
    """The arrays of each level with its number, and the values.

    begin: of the last level the coordinate of the first element.
    """
    found: Arrays = []
    parents = np.zeros(1, np.int64)     # the fibers of a level, as numbers of a dense tensor; -1: there is nothing
    for nth, level in enumerate(levels):
        inside = tuple(range(nth + 1, tensor.ndim))
        there = (tensor != 0).any(axis=inside).reshape(-1, level.extent)
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
