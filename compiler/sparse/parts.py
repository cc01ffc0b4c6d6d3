"""Parts: the rows of an operand dealt to copies of its sum, whose results are merged.

    a(i) = A(i,j) * x(j)     A by dense rows, x located

    rows 0 2 4 .. of A --> coordinates of part 0 --> * x --> sum over j --+-- merge by row --> a
    rows 1 3 5 .. of A --> coordinates of part 1 --> * x --> sum over j --+

Lanes (`lanes.py`) take a cycle for the end of every row, all of them; parts take one for that of each of their own. Parts
wait for one that has a long row, as rows are merged in order, so that rows of like lengths get numbers beside each other
(`renumber.py`). Rows are filled up with empty ones to as many for each part, so that all count the same ones; the last ones
give 0. A result that is stored dense is not merged: each part stores its rows.

Needs:   fused statements of which each is one sum over the rows of an operand that is dealt.
Source:  ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from sardonyx.compiler.ir.sam import Pin
from sardonyx.compiler.ir.sam_alu import Alu
from sardonyx.compiler.ir.sam_parts import PartMerger, PartRows
from sardonyx.compiler.lang.einsum import Einsum
from sardonyx.compiler.lang.expr import Access
from sardonyx.tensors.coordinates import Coo, Ints
from sardonyx.tensors.fibertree import DENSE

from .counted import counted
from .fuse import Fused
from .lanes import LANE, Deal, deal, dealt, of_lane
from .normalize import Product, leaves, live, nested
from .renumber import renumbered, row_numbers
from .tiles import Tiles

Add = Callable[..., str]


def with_parts(fused: Fused, operands: Mapping[str, Coo], capacity: int) -> Fused:
    """Fused statements with parts in place of lanes, where that can be and takes fewer cycles.

    operands: by tensor name. capacity: words that a level may have.
    """
    if fused.lanes < 2 or not _may_have_parts(fused):
        return fused
    slots, lanes, parts = dealt(fused), 0, 0
    uses = {access.tensor: access for access in fused.einsum.operands if access.slot in slots}
    numbers = row_numbers(fused.einsum, uses, operands, fused.lanes)
    for access in uses.values():
        mode, tensor = access.format.order[0], operands[access.tensor]
        extent, rows = tensor.shape[mode], -(-tensor.shape[mode] // fused.lanes)
        if rows * fused.lanes > capacity:
            return fused
        lengths = np.zeros(rows * fused.lanes, np.int64)
        lengths[list(numbers[access.modes[mode]])] = np.bincount(tensor.coords[:, mode], minlength=extent)
        lanes += int((-(-lengths // fused.lanes)).sum()) + extent
        # As if no part went ahead of another one.
        parts += int((lengths.reshape(rows, fused.lanes).max(axis=1) + 1).sum())
    return replace(fused, parts=True, numbers=numbers) if parts < lanes else fused


def _may_have_parts(fused: Fused) -> bool:
    """Whether all sums are of rows that are dealt, and give nothing else."""
    slots = dealt(fused)
    last = fused.nest.einsum
    return bool(slots) and not (counted(last) or last.scattered) and \
        all(_is_sum_of_rows(each, slots) for nest in (*fused.nest.walk(), fused.nest) for each in nest.einsum.every)


def _is_sum_of_rows(einsum: Einsum, slots: frozenset[str]) -> bool:
    root, _ = nested(einsum)
    if not isinstance(root, Product) or root.contract is None or einsum.accumulated or einsum.reframed:
        return False
    rows = [access for access in einsum.operands if access.slot in slots]
    return len(rows) == 1 and len(rows[0].stored) == 2 and einsum.nest == einsum.result.stored == rows[0].stored[:1] and \
        all(factor is rows[0] or live(factor) == {root.contract} for factor in root.factors)


def dealt_tiles(tiles: Tiles, how: Deal) -> tuple[Tiles, ...]:
    """The tiles of each lane or part."""
    return _rows(renumbered(tiles, how.numbers), how.lanes) if how.parts else deal(tiles, how.lanes)


def _rows(tiles: Tiles, parts: int) -> tuple[Tiles, ...]:
    """The tiles of each part: its rows, counted in it."""
    mode = tiles.access.format.order[0]
    owners = np.repeat(np.arange(len(tiles.ids)), np.diff(tiles.bounds))
    return tuple(_part(tiles, mode, parts, part, owners) for part in range(parts))


def _part(tiles: Tiles, mode: int, parts: int, part: int, owners: Ints) -> Tiles:
    own = tiles.coords[:, mode] % parts == part
    found = of_lane(tiles, np.flatnonzero(own), owners)
    coords, counts = found.coords.copy(), found.counts.copy()
    coords[:, mode] //= parts
    rows = -(-tiles.edges[mode] // parts)
    counts[:, 0] = rows
    edges = tuple(rows if at == mode else edge for at, edge in enumerate(tiles.edges))
    return replace(found, edges=edges, coords=coords, counts=counts)


def result_parts(result: Access, deals: Mapping[str, Deal]) -> int:
    """How many parts store their rows of a result apart, 0 where these are merged; deals: of the operands, by slot.

    A vector that is stored dense needs no coordinates, so each part gives its rows when it has them, over a link of its own,
    and the host puts them in order.
    """
    parts = {how.lanes for how in deals.values() if how.parts}
    return parts.pop() if parts and result.format.letters == DENSE else 0


def rows_of(lanes: Mapping[str, Product], deals: Mapping[str, Deal]) -> str:
    """The index of the rows that are dealt to parts, "" where those are lanes; lanes: from `split`."""
    found = [access.stored[0] for slot, part in lanes.items() for access in leaves(part)
             if access.slot == slot and deals[slot.rpartition(LANE)[0]].parts]
    return found[0] if found else ""


def merged(add: Add, index: str, rows: Pin, values: Sequence[Pin]) -> tuple[Pin, Pin]:
    """The coordinates of all rows, and their values, from those of parts; rows: as every part counts them."""
    found = [(Pin(add(f"rows_{index}", PartRows(index, len(values), part), rows=rows), "crd"), value)
             for part, value in enumerate(values)]
    while len(found) > 1:
        pairs = [_two(add, index, found[at], found[at + 1]) for at in range(0, len(found) - 1, 2)]
        found = pairs + found[2 * len(pairs):]
    return found[0]


def _two(add: Add, index: str, one: tuple[Pin, Pin], other: tuple[Pin, Pin]) -> tuple[Pin, Pin]:
    node = add(f"merge_{index}", PartMerger(index), crd0=one[0], val0=one[1], crd1=other[0], val1=other[1])
    total = add("add", Alu("add"), a=Pin(node, "val0_o"), b=Pin(node, "val1_o"))
    return Pin(node, "crd"), Pin(total, "res")
