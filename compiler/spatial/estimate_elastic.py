"""Estimates of the area, the longest path and the time of an elastic array, beside those of other arrays (`estimate`).

Area is mostly that of FIFOs, which every link ends in. Time is that of the longest of two: the fibers of a PE, and the rows of
a result that mergers give one element a cycle; both from one density of all operands, as if zeros were spread evenly.
"""

from __future__ import annotations

from graphlib import TopologicalSorter
from math import ceil, log2

from ...hw.arch.elastic import ALIGNED, Elastic, Kind, Link, Spread, Worker
from ...hw.arch.token import DATA_BITS, TOKEN_BITS
from .estimate import CHOICE, FLOP, SUM, delay, logic_gates

# To compare coordinates and find out whether a PE goes on, in delays of a gate.
COMPARE, HANDSHAKE = 2 * log2(DATA_BITS) + 2, 6.0


def elastic_gates(elastic: Elastic) -> int:
    """The estimate for a whole array."""
    kinds = {unit.name: unit.kind for unit in elastic.units}
    bits = {port.name: elastic.bits(port.tensor) for port in (*elastic.inputs, *elastic.outputs)}
    total = 0
    for link in elastic.links:
        total += FLOP * link.depth * (_bits(link, kinds, bits) + TOKEN_BITS)
    for kind in kinds.values():
        if isinstance(kind, Spread):
            total += kind.lanes * kind.rows * (CHOICE * (kind.bits + TOKEN_BITS) + TOKEN_BITS)
            continue
        assert isinstance(kind, Worker), "units are of one of two kinds"
        widths = {each.name: each.bits for each in kind.operands}
        total += logic_gates(kind.value, widths) + (0 if kind.join == ALIGNED else 2 * SUM * DATA_BITS)
        total += (FLOP + SUM) * kind.bits if kind.sums else 0
    return total


def elastic_path(elastic: Elastic) -> float:
    """The estimate of the longest path: of the logic of a PE, or of what decides whether it goes on."""
    found = HANDSHAKE + COMPARE
    for unit in elastic.units:
        if isinstance(unit.kind, Worker):
            widths = {each.name: each.bits for each in unit.kind.operands}
            found = max(found, delay(unit.kind.value, widths, lambda _: 0.0) + (COMPARE if unit.kind.join != ALIGNED else 0))
        elif isinstance(unit.kind, Spread):
            found = max(found, HANDSHAKE + 2 * log2(unit.kind.lanes * unit.kind.rows + 1))
    return found


def duration(elastic: Elastic, density: float) -> tuple[int, int]:
    """Cycles of an operation, and between two of them."""
    extents = dict(elastic.indices)
    found = {each.index: each for each in elastic.found}
    left = 1.0
    if elastic.time in found:
        several = len(found[elastic.time].reads)
        left = density**several if found[elastic.time].needs_all else 1 - (1 - density)**several
    # Of the PEs whose sums are added up, those that have work; a row of the result has what any of them has.
    added = 1 + sum(unit.name.startswith("merge_") for unit in elastic.units) // max(len(elastic.outputs), 1)
    busy = density ** sum(index != elastic.time for index in found)
    interval = ceil(extents[elastic.time] * max(left, 1 - (1 - left * busy)**added)) + 1
    before: dict[str, set[str]] = {unit.name: set() for unit in elastic.units}
    for link in elastic.links:
        if link.sink[0] and link.source[0]:
            before[link.sink[0]].add(link.source[0])
    depths: dict[str, int] = {}
    for name in TopologicalSorter(before).static_order():
        depths[name] = 1 + max((depths[each] for each in before[name]), default=0)
    return interval + max(depths.values()), interval


def _bits(link: Link, kinds: dict[str, Kind], ports: dict[str, int]) -> int:
    """Of the values of a link."""
    kind = kinds.get(link.sink[0])
    if isinstance(kind, Worker):
        return next(each.bits for each in kind.operands if each.name == link.sink[1])
    return kind.bits + TOKEN_BITS if isinstance(kind, Spread) else ports[link.sink[1]]
