"""Number rows anew, so that parts have rows of like lengths at the same time.

    rows              0 1  2 3  4 5       new numbers       4 0 3 5 2 1
    nonzeros          3 9  1 4  2 8       by new number     9 8  2 1  3 4
    of two parts      3|9  1|4  2|8       of two parts      9|8  2|1  3|4

Parts wait for the one that has the longest row, and the one with the most nonzeros is loaded last: before, three rows of each
take 9 + 4 + 8 cycles and their ends, and then 9 + 2 + 4; the longest row is now in one part and now in another. Sums are
merged at one a cycle, which is slower than short rows are summed, so that these come between long ones. An index has the new
numbers wherever it is used, so what is looked up at columns is found; the host gives vectors in the new order, and puts the
result back into its own. Of a tensor that is used several times all uses have the same numbers, as they may share streams. An
index that is cut into tiles keeps its own.

Needs:   what `parts.py` needs.
Source:  ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from sardonyx.compiler.lang.einsum import Einsum
from sardonyx.compiler.lang.expr import Access
from sardonyx.tensors.coordinates import Coo, Ints

from .tiles import Tiles

# The new number of each coordinate, by index.
Numbers = Mapping[str, tuple[int, ...]]


def row_numbers(einsum: Einsum, dealt: Mapping[str, Access], operands: Mapping[str, Coo], parts: int
                ) -> dict[str, tuple[int, ...]]:
    """The new numbers of the rows of operands that are dealt to so many parts, and of all that has the coordinates of those;
    dealt: by tensor."""
    same = _together(einsum)
    lengths: dict[str, np.ndarray] = {}
    for name, access in dealt.items():
        mode, tensor = access.format.order[0], operands[name]
        index = same[access.modes[mode]]
        lengths[index] = lengths.get(index, 0) + np.bincount(tensor.coords[:, mode], minlength=tensor.shape[mode])
    found = {index: tuple(_numbers(each, parts).tolist()) for index, each in lengths.items()}
    return {index: found[first] for index, first in same.items() if first in found}


def _numbers(lengths: Ints, parts: int) -> Ints:
    """The new numbers of rows of such lengths: the longest ones, one for each part, then the shortest ones, and so on; last
    those that are left over, of which some parts have none."""
    order, rounds = np.argsort(-lengths, kind="stable"), len(lengths) // parts
    # By their lengths, of which the longest one is in the first part, then in the last one.
    each = order[:rounds * parts].reshape(rounds, parts)
    each[1::2] = each[1::2, ::-1].copy()
    turn = np.empty(rounds, np.int64)
    turn[::2], turn[1::2] = np.arange(rounds - rounds // 2), rounds - 1 - np.arange(rounds // 2)
    order[:rounds * parts] = each[turn].reshape(-1)
    numbers = np.empty(len(lengths), np.int64)
    numbers[order] = np.arange(len(lengths))
    return numbers


def _together(einsum: Einsum) -> dict[str, str]:
    """Of each index the first one that has to have the same numbers: some tensor has both at one mode."""
    same = {index: index for index in einsum.order}
    first: dict[tuple[str, int], str] = {}
    for access in einsum.operands:
        for mode, index in enumerate(access.modes):
            one, other = same[first.setdefault((access.tensor, mode), index)], same[index]
            same = {each: one if root == other else root for each, root in same.items()}
    return same


def renumbered(tiles: Tiles, numbers: Numbers) -> Tiles:
    """Tiles with the new numbers of every index of which they have all coordinates."""
    coords = tiles.coords.copy()
    for mode, index in enumerate(tiles.access.modes):
        if index in numbers and tiles.edges[mode] == len(numbers[index]):
            coords[:, mode] = np.array(numbers[index])[coords[:, mode]]
    return replace(tiles, coords=coords)
