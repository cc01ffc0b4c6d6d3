"""Linked lists of partial products in memory, as one phase of an outer product leaves them and the other one takes them.

Input:   of each row its runs, `int64[n, 2]`: coordinates that rise, and values of 32 bits; `OuterProduct`.
Output:  bytes of memory, and from those that a run leaves the runs of each row, in the order of its list.
Errors:  UserError for more than 32 bits of addresses; AssertionError for lists that are none.
Source:  `hw.arch.outer_product` says how memory is laid out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...hw.arch.dma import MOST_SPAN, NODE_BYTES
from ...hw.arch.errors import UserError
from ...hw.arch.outer_product import WORD_BYTES, OuterProduct
from .outer_product import MOST_BYTES, Laid

Lists = Sequence[Sequence[np.ndarray]]
NODE_WORDS = NODE_BYTES // WORD_BYTES


def lists(memory: bytes, place: Laid, height: int) -> list[list[np.ndarray]]:
    """The lists that begin in the table of a job, a run for each node."""
    words = np.frombuffer(memory, np.uint32)
    found: list[list[np.ndarray]] = []
    left = len(words)
    for address in words[place.job["table"] // WORD_BYTES:][:height].tolist():
        found.append([])
        while address:
            at = address // WORD_BYTES
            count = int(words[at + 1])
            left -= NODE_WORDS + count
            assert left >= 0 and at + NODE_WORDS + count <= len(words), "a list goes in a circle, or out of memory"
            pairs = words[at + NODE_WORDS:at + NODE_WORDS + count].reshape(-1, 2)
            found[-1].append(np.stack([pairs[:, 0].astype(np.int64), pairs[:, 1].view(np.int32).astype(np.int64)], 1))
            address = int(words[at])
    return found


def laid_lists(kind: OuterProduct, given: Lists, elements: int) -> Laid:
    """Memory for a merge of lists of runs, none of which is empty; `elements` of the result, at most.

    The nth nodes of all rows stand one behind the other, so that lists are scattered, as those of a multiply phase are.
    """
    height = len(given)
    before = kind.job_bytes
    heads = before // WORD_BYTES
    nodes = heads + height + height % 2
    pairs = sum(len(run) for runs in given for run in runs)
    table = nodes + NODE_WORDS * sum(map(len, given)) + 2 * pairs
    free = table + height + height % 2
    size = (free + NODE_WORDS * height + 2 * elements) * WORD_BYTES
    if size >= MOST_BYTES:
        raise UserError(f"lists and result take {size:,} bytes", kind.name, f"give rows in parts, fewer than {MOST_BYTES:,}")
    words = np.zeros(size // WORD_BYTES, np.uint32)
    link = [heads + row for row in range(height)]       # of each row, the word that has the address of what comes next
    at = nodes
    for nth in range(max(map(len, given), default=0)):
        for row, runs in enumerate(given):
            if nth < len(runs):
                count = 2 * len(runs[nth])
                assert 0 < count <= MOST_SPAN, "a node has elements, and no more than a request"
                words[link[row]], words[at + 1] = at * WORD_BYTES, count
                words[at + NODE_WORDS:at + NODE_WORDS + count] = (runs[nth].ravel() % (1 << 32)).astype(np.uint32)
                link[row] = at
                at += NODE_WORDS + count
    numbers = {"lists": before, "free": free * WORD_BYTES, "end": size, "height": height, "table": table * WORD_BYTES}
    if not kind.queue:
        words[:len(kind.job)] = [numbers[name] for name in kind.job]
    return Laid(words.tobytes(), numbers)
