"""What every sub-tile must give, from the NumPy meaning of the statement."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..compiler.lang.einsum import Einsum
from ..compiler.lang.expr import Access, changed
from ..runtime.data.blocks import Blocks, without_segments
from ..runtime.data.sub_tiles import Work, arrays, dense_levels, named
from ..tensors.coordinates import Coo
from .golden import einsum as golden

# The index of items: no name that a statement can have.
ITEM = "#"


def expected(work: Work, begin: int = 0, end: int | None = None) -> Iterator[Blocks]:
    """Blocks that every store stream must give, item by item, of some items."""
    einsum = by_slot(work.tiling.einsum)
    for item in range(begin, len(work) if end is None else end):
        yield stored(einsum, golden.evaluate(einsum, work.operands(item)))


def stored(einsum: Einsum, result: Coo) -> Blocks:
    """The blocks that a program stores of a result: of its compressed levels, the outermost one without segments, and its
    values."""
    *outer, _ = arrays(einsum.result)
    blocks, absent = named(einsum.result, golden.words(einsum, result)), dense_levels(einsum.result)
    return {name: without_segments(block) if name in outer else block for name, block in blocks.items() if name not in absent}


def expected_together(work: Work, begin: int, end: int) -> Coo:
    """The results of some items as one tensor, whose outermost index is the item."""
    einsum = by_slot(work.tiling.einsum)

    def of_items(access: Access) -> Access:
        return replace(access, indices=(ITEM, *access.indices))

    many = replace(einsum, result=of_items(einsum.result), expr=changed(einsum.expr, of_items), order=(ITEM, *einsum.order))
    return golden.evaluate(many, work.operands_together(begin, end))


def by_slot(einsum: Einsum) -> Einsum:
    """The statement with every use of a tensor as a tensor of its own, since items take different tiles for each; a diagonal
    is one with a mode for each of its indices."""
    return replace(einsum, expr=changed(einsum.expr, lambda access: replace(access, tensor=access.slot, repeated=())))
