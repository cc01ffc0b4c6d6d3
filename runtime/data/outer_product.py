"""The memory of a product of sparse matrices by outer products: operands and job in front of it, the result in it.

Input:   matrices of SciPy; `OuterProduct`.
Output:  bytes of memory, and from those that a run leaves the rows of the result.
Errors:  UserError for more than 32 bits of addresses; AssertionError for a result that is none.
Source:  `hw.arch.outer_product` says how memory is laid out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse

from ...hw.arch.dma import NODE_BYTES
from ...hw.arch.errors import UserError
from ...hw.arch.outer_product import JOB, PAIR_BYTES, WORD_BYTES, OuterProduct

MOST_BYTES = 1 << 31


@dataclass(frozen=True)
class Laid:
    """Memory before a run, and the job: where what is. With commands it has no job, and the memory of a core comes first."""

    content: bytes
    job: Mapping[str, int]


def laid(kind: OuterProduct, left: scipy.sparse.csc_array, right: scipy.sparse.csr_array, elements: int) -> Laid:
    """Memory for a product.

    left, right: whole numbers, coordinates sorted, none stored twice.  elements: of the result, at most.
    """
    arrays = left.indptr, _pairs(left), right.indptr, _pairs(right)
    size = before = kind.job_bytes
    places, parts = [], []
    for array in arrays:
        content = array.astype(np.uint32).tobytes()
        content += bytes(-len(content) % PAIR_BYTES)
        places.append(size)
        parts.append(content)
        size += len(content)
    height = left.shape[0]
    free = size + -(-height // 2) * PAIR_BYTES
    # Each part of a column makes nodes of each part of a row.
    half = kind.pairs // 2
    counts = np.diff(left.indptr).astype(np.int64), np.diff(right.indptr).astype(np.int64)
    nodes = int((counts[0] * -(-counts[1] // half)).sum()) + height
    pairs = int((counts[0] * counts[1]).sum()) + elements
    room = nodes * NODE_BYTES + pairs * PAIR_BYTES
    if kind.node:
        # Of each row all nodes but the first are full.
        fill = np.bincount(left.indices, np.repeat(counts[1], counts[0]), minlength=height).astype(np.int64)
        room = int((-(-fill // kind.node)).sum()) * kind.node_bytes(kind.node) + height * NODE_BYTES + elements * PAIR_BYTES
    if free + room >= MOST_BYTES:
        raise UserError(f"operands, partial products and result take {free + room:,} bytes", kind.name,
                        f"give rows in parts, fewer than {MOST_BYTES:,} bytes each")
    numbers = dict(zip(JOB, (*places, free, free + room, left.shape[1], height, size), strict=True))
    job = b"" if kind.queue else np.array([numbers[name] for name in JOB], np.uint32).tobytes()
    content = job + bytes(before - len(job)) + b"".join(parts)
    return Laid(content + bytes(free + room - len(content)), numbers)


def rows(memory: bytes, place: Laid, shape: tuple[int, int]) -> scipy.sparse.csr_array:
    """The result of a run; sums that are 0 are elements, too."""
    words = np.frombuffer(memory, np.uint32)
    first = words[place.job["table"] // WORD_BYTES:][:shape[0]]
    counts, parts = np.zeros(shape[0], np.int64), []
    for row, address in enumerate(first.tolist()):
        if address:
            at = address // WORD_BYTES
            assert words[at] == 0, f"row {row} has more than a node"
            counts[row] = words[at + 1] // 2
            parts.append(words[at + 2:at + 2 + 2 * counts[row]].reshape(-1, 2))
    found = np.concatenate([np.zeros((0, 2), np.uint32), *parts])
    coordinates = found[:, 0].astype(np.int64)
    segments = np.concatenate([[0], np.cumsum(counts)])
    inner = np.ones(len(coordinates), bool)
    inner[segments[:-1][counts > 0]] = False
    assert (np.diff(coordinates, prepend=0)[inner] > 0).all(), "columns of a row do not rise"
    return scipy.sparse.csr_array((found[:, 1].view(np.int32).astype(np.int64) if len(found) else np.zeros(0, np.int64),
                                   coordinates, segments), shape)


def _pairs(matrix: scipy.sparse.csc_array | scipy.sparse.csr_array) -> np.ndarray:
    return np.stack([matrix.indices.astype(np.int64), matrix.data.astype(np.int64)], 1).ravel() % (1 << 32)
