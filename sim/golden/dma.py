"""What requests of a DMA move, in NumPy.

Input:   bytes of memory, from address 0 on, as uint8; a Request.
Output:  the elements of a load, in order; the memory after a store.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...hw.arch.dma import NODE_BYTES, NODES_AXIS, Request


def addresses(request: Request) -> np.ndarray:
    """The byte address of every element in the order of the loops, -1 for those that are not in memory."""
    outermost_first = request.loops[::-1]
    index = np.indices([loop.span for loop in outermost_first]).reshape(len(outermost_first), -1)
    strides, there = (np.array([[getattr(loop, name)] for loop in outermost_first]) for name in ("stride", "there"))
    found = (request.base + (index * strides).sum(axis=0)) % (1 << 32)
    return np.where((index < there).all(axis=0), found, -1)


def listed(memory: np.ndarray, request: Request) -> list[int]:
    """The byte address of every element of a list; at most as many nodes as the request says."""
    node, found = request.base, list[int]()
    for _ in range(request.loops[NODES_AXIS].span):
        following, count = (int.from_bytes(memory[at:to].tobytes(), "little")
                            for at, to in ((node, node + 4), (node + 4, node + 6)))
        found += [node + NODE_BYTES + (each << request.size) for each in range(count)]
        if following % NODE_BYTES or not following:
            break
        node = following
    return found


def loaded(memory: np.ndarray, request: Request) -> list[int]:
    """The elements, as numbers without a sign."""
    size = 1 << request.size
    places = listed(memory, request) if request.linked else addresses(request).tolist()
    return [int.from_bytes(memory[at:at + size].tobytes(), "little") if at >= 0 else 0 for at in places]


def stored(memory: np.ndarray, request: Request, elements: Sequence[int]) -> None:
    """Write elements to where they belong; of two for one place the later one stays."""
    size = 1 << request.size
    for at, element in zip(addresses(request).tolist(), elements, strict=True):
        if at >= 0:
            memory[at:at + size] = list((element % (1 << 8 * size)).to_bytes(size, "little"))
