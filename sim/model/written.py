"""What buffers of results give: arrays of levels, from the pairs of an array's ports; words in order, without time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np

from ...hw.arch.errors import UserError
from ...hw.arch.private_buffer import BITVECTOR, COMPRESSED, DENSE, LINKED, MOST_WORDS, NO_NODE
from ...hw.arch.token import DATA_BITS, is_control
from ...hw.arch.written import Written
from ...hw.arch.written_chain import ChainedWritten
from ...runtime.data.level_blocks import level_blocks

# A coordinate, a token, and a value.
Pair = tuple[int, int]
Fiber = list[Pair]


def written(kind: Written, ports: Mapping[str, Sequence[Pair]]) -> dict[str, list[int]]:
    """The words of each array by the name of its stream; UserError for tensors that do not fit.

    Of places of linked lists that no element has it says 0.
    """
    parts, count = [_fibers(ports[name]) for name in kind.ports], len(kind.begins)
    # Of each fiber and operation its parts, one behind the other.
    fibers = [[list(chain(*of)) for of in zip(*parts[at:at + count], strict=True)] for at in range(0, len(parts), count)]
    found: dict[str, list[int]] = {kind.name(name): [] for name in kind.arrays}
    for first in range(0, len(fibers[0]), kind.operations):
        tensor = [[each[first + nth] for each in fibers] for nth in range(kind.operations)]
        for name, words in _arrays(kind, tensor).items():
            found[kind.name(name)] += [len(words), *(word % (1 << kind.arrays[name]) for word in words)]
    return found


def too_many(kind: Written) -> UserError:
    """What is said of a tensor that does not fit."""
    what = f"nodes of {kind.node} than the {kind.nodes:,}" if kind.kind == LINKED else f"values than the {kind.words:,}"
    return UserError(f"a tensor has more {what} that its buffer has room for", f"buffers: {kind.tensor.name}",
                     f"give more words, up to {MOST_WORDS:,}")


def _fibers(pairs: Sequence[Pair]) -> list[Fiber]:
    found: list[Fiber] = [[]]
    for crd, value in pairs:
        if is_control(crd):
            found.append([])
        else:
            found[-1].append((crd, value))
    return found[:-1]


def _chained(kind: ChainedWritten, fibers: Sequence[Fiber]) -> dict[str, list[int]]:
    """The arrays of levels behind each other."""
    shape = len(fibers), kind.extent
    values, there = np.zeros(shape, np.int64), np.zeros(shape, bool)
    for row, fiber in enumerate(fibers):
        for crd, value in fiber:
            values[row, crd], there[row, crd] = value, True
    extents = [level.extent for level in kind.levels]
    levels, stored = level_blocks(values.reshape(extents), kind.levels, kind.node, elements=there.reshape(extents))
    if len(stored) > kind.words:
        raise too_many(kind)
    sizes = {link.nth: link.nodes for link in kind.links if link.kind == LINKED}
    for nth, arrays in levels:
        if nth in sizes and arrays["heads"][-1] > sizes[nth]:
            raise UserError(f"level {nth} of a tensor has more nodes of {kind.node} than the {sizes[nth]:,} that its buffer "
                            "has room for", f"buffers: {kind.tensor.name}", f"give more words, up to {MOST_WORDS:,}")
    found = dict[str, list[int]]()
    for nth, arrays in levels:
        for name, words in arrays.items():
            each = words[0::2] | words[1::2] << DATA_BITS if name == "links" else words
            found[name + ("" if nth == len(kind.levels) - 1 else str(nth))] = each.tolist()
    return found | {"values": stored.tolist()}


def _arrays(kind: Written, operations: Sequence[Sequence[Fiber]]) -> dict[str, list[int]]:
    fibers = operations[0]
    if isinstance(kind, ChainedWritten):
        return _chained(kind, fibers)
    elements = [pair for fiber in fibers for pair in fiber]
    values = [value for _, value in elements]
    if kind.kind == DENSE:
        return {"values": [dict(fiber).get(crd, 0) for fiber in fibers for crd in range(kind.extent)]}
    if kind.kind in (COMPRESSED, BITVECTOR):
        if len(values) > kind.words:
            raise too_many(kind)
        if kind.kind == BITVECTOR:
            bits = [sum(1 << crd % DATA_BITS for crd, _ in fiber if crd // DATA_BITS == word)
                    for fiber in fibers for word in range(kind.across)]
            return {"bits": bits, "values": values}
        segments = [sum(map(len, fibers[:nth])) for nth in range(len(fibers) + 1)]
        return {"segments": segments, "coordinates": [crd for crd, _ in elements], "values": values}
    nodes: list[list[Pair]] = []
    lists: list[list[int]] = [[] for _ in fibers]
    for each in operations:
        for nth, fiber in enumerate(each):
            for at in range(0, len(fiber), kind.node):
                lists[nth].append(len(nodes))
                nodes.append(fiber[at:at + kind.node])
    if len(nodes) > kind.nodes:
        raise too_many(kind)
    following = {node: after for each in filter(None, lists) for node, after in zip(each, [*each[1:], NO_NODE], strict=True)}
    places = [pair for node in nodes for pair in [*node, *[(0, 0)] * (kind.node - len(node))]]
    return {"heads": [*(each[0] if each else NO_NODE for each in lists), len(nodes)],
            "links": [following[node] | len(held) << DATA_BITS for node, held in enumerate(nodes)],
            "coordinates": [crd for crd, _ in places], "values": [value for _, value in places]}
