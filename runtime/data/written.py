"""From the arrays that buffers of results give to tensors: blocks of lengths and words, of levels and of values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from ...hw.arch.errors import UserError
from ...hw.arch.logic import wrapped
from ...hw.arch.private_buffer import BITVECTOR, COMPRESSED, DENSE, NO_NODE
from ...hw.arch.token import DATA_BITS
from ...hw.arch.written import Written
from ...hw.arch.written_chain import ChainedWritten
from .level_blocks import expanded

Run = list[tuple[int, int]]     # coordinates and values of a fiber


def read(written: Written, streams: Mapping[str, Sequence[int]]) -> np.ndarray:
    """The tensors, with an axis for them in front; AssertionError for arrays that are none, or fibers in no order.

    streams: the words of each array, by the name of its stream.
    """
    blocks = {name: _split(streams[written.name(name)]) for name in written.arrays}
    counts = {len(each) for each in blocks.values()}
    assert len(counts) == 1, f"arrays of {written.tensor.name} are of {counts} tensors"
    found = [_tensor(written, {name: each[nth] for name, each in blocks.items()}) for nth in range(counts.pop())]
    return np.stack(found) if found else np.zeros((0, *written.tensor.shape), np.int64)


def runs(written: Written, arrays: Mapping[str, Sequence[int]]) -> list[list[Run]]:
    """For each fiber what was written of it: one run, or of linked lists one for each node."""
    values = [wrapped(word, written.tensor.bits) for word in arrays["values"]]
    fibers = range(written.fibers)
    if written.kind == DENSE:
        size = written.extent
        assert len(values) == size * written.fibers, "a dense level has a value for each coordinate"
        return [[[*enumerate(values[fiber * size:(fiber + 1) * size])]] for fiber in fibers]
    if written.kind == COMPRESSED:
        segments, coordinates = arrays["segments"], arrays["coordinates"]
        assert len(segments) == written.fibers + 1 and segments[0] == 0, "segments are of each fiber, and one more"
        assert segments[-1] == len(coordinates) == len(values), "segments end with the number of values"
        return [[[*zip(coordinates[begin:end], values[begin:end])]] for begin, end in pairwise(segments)]
    if written.kind == BITVECTOR:
        across, place, found = written.across, iter(values), []
        assert len(arrays["bits"]) == across * written.fibers, "bits are of each fiber"
        for fiber in fibers:
            words = arrays["bits"][fiber * across:(fiber + 1) * across]
            found.append([[(crd, next(place)) for crd in range(across * DATA_BITS)
                           if words[crd // DATA_BITS] >> crd % DATA_BITS & 1]])
        assert next(place, None) is None, "values are as many as bits that are set"
        return found
    return [_nodes(written, arrays, values, head) for head in arrays["heads"][:-1]]


def _nodes(written: Written, arrays: Mapping[str, Sequence[int]], values: Sequence[int], node: int) -> list[Run]:
    """A linked list from its first node on."""
    nodes, found = arrays["heads"][-1], list[Run]()
    assert len(arrays["links"]) == nodes and len(values) == nodes * written.node, "arrays are of each node"
    while node != NO_NODE:
        assert node < nodes and len(found) < nodes, "a list leads astray"
        node, count, first = arrays["links"][node] % (1 << 16), arrays["links"][node] >> 16, node * written.node
        places = range(first, first + count)
        found.append([(arrays["coordinates"][at], values[at]) for at in places])
    return found


def _tensor(written: Written, arrays: Mapping[str, Sequence[int]]) -> np.ndarray:
    if isinstance(written, ChainedWritten):
        lanes = {name: np.array(words, np.int64) for name, words in arrays.items()}
        lanes["values"] = np.array([wrapped(word, written.tensor.bits) for word in arrays["values"]], np.int64)
        # Of a link the next node and the number of elements are a word here.
        lanes |= {name: np.stack((each % (1 << DATA_BITS), each >> DATA_BITS), axis=1).reshape(-1)
                  for name, each in lanes.items() if name.startswith("links")}
        return np.transpose(expanded(written.levels, written.node, lanes), np.argsort(written.order))
    found = np.zeros((written.fibers, written.extent), np.int64)
    for fiber, parts in enumerate(runs(written, arrays)):
        last = -1
        for part in parts:
            for crd, value in part:
                assert crd > last or written.operations > 1, f"fiber {fiber} has coordinate {crd} after {last}"
                found[fiber, crd] += value
                last = crd
    stored = _wrapped(written, found).reshape(*written.outer, written.extent)
    return np.transpose(stored, np.argsort(written.order))


def together(written: Written, results: np.ndarray) -> np.ndarray:
    """The tensors of which each is the sum of several operations, from the results of these; UserError for a rest."""
    count = written.operations
    if len(results) % count:
        raise UserError(f"{len(results)} operations are no tensors of {count}", f"buffers: {written.tensor.name}",
                        f"give a multiple of {count}")
    return _wrapped(written, results.reshape(-1, count, *written.tensor.shape).sum(axis=1))


def _wrapped(written: Written, values: np.ndarray) -> np.ndarray:
    """The low bits of numbers, in two's complement."""
    half = 1 << written.tensor.bits - 1
    return (values + half) % (2 * half) - half


def _split(words: Sequence[int]) -> list[Sequence[int]]:
    """Arrays, each behind its length."""
    found, at = list[Sequence[int]](), 0
    while at < len(words):
        found.append(words[at + 1:at + 1 + words[at]])
        at += 1 + words[at]
    assert at == len(words), "an array is cut short"
    return found
