"""Tensors with levels behind each other as they lie in memory for requests: each array of all of them, one after the other.

Segments go on from tensor to tensor, where the first one of a tensor is the last one of the tensor before. Heads and links name
the nodes of their tensor; behind the heads of each tensor is its number of nodes.

Output:  for each array of a bank (`chain_arrays`) its elements, and at which element of the first array each tensor begins.
Source:  Stellar V, Listing 7.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...hw.arch.chain import ChainedBank
from ...hw.arch.level_arrays import chain_arrays
from ...hw.arch.token import DATA_BITS
from .level_blocks import level_blocks

# Types of elements by their bits; values keep their sign.
TYPES = {32: np.uint32, 16: np.uint16}


def stacked(bank: ChainedBank, tensors: Sequence[np.ndarray]) -> tuple[dict[str, np.ndarray], list[int]]:
    """The arrays of tensors, by their names, and the places of the first array at which tensors begin."""
    kept = chain_arrays(bank.links, bank.words, DATA_BITS)
    parts: dict[str, list[np.ndarray]] = {each.name: [] for each in kept}
    ends = dict.fromkeys(parts, 0)
    begins, leading = list[int](), next(iter(parts))
    for tensor in tensors:
        levels, values = level_blocks(tensor, bank.levels, bank.node)
        begins.append(sum(map(len, parts[leading])) - (leading.startswith("segments") and bool(parts[leading])))
        for nth, arrays in levels:
            suffix = "" if nth == len(bank.levels) - 1 else str(nth)
            for name, each in arrays.items():
                words = each[0::2] | each[1::2] << DATA_BITS if name == "links" else each
                if name == "segments":
                    # The last one of the tensor before stands for the first one.
                    words = (each + ends[name + suffix])[len(parts[name + suffix]) > 0:]
                    ends[name + suffix] += int(each[-1])
                parts[name + suffix].append(words)
        parts["values"].append(values)
    kinds = {each.name: np.int16 if each.name == "values" else TYPES[each.bits] for each in kept}
    return {name: np.concatenate(each).astype(kinds[name]) for name, each in parts.items()}, begins
