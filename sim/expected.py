"""What every sub-tile must give, from the NumPy meaning of the statement."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..compiler.lang.einsum import Einsum
from ..compiler.lang.expr import changed
from ..runtime.data.blocks import Blocks
from ..runtime.data.sub_tiles import Work, counted, named
from ..tensors.coordinates import Coo
from .golden import einsum as golden


def expected(work: Work) -> Iterator[Blocks]:
    """Blocks that every store stream must give, item by item."""
    einsum = by_slot(work.tiling.einsum)
    for item in range(len(work)):
        yield stored(einsum, golden.evaluate(einsum, work.operands(item)))


def stored(einsum: Einsum, result: Coo) -> Blocks:
    """The blocks that a program stores of a result: of its compressed levels and its values."""
    return {name: block for name, block in named(einsum.result, golden.words(einsum, result)).items()
            if name not in counted(einsum.result)}


def by_slot(einsum: Einsum) -> Einsum:
    """The statement with every use of a tensor as a tensor of its own, since items take different tiles for each; a diagonal
    is one with a mode for each of its indices."""
    return replace(einsum, expr=changed(einsum.expr, lambda access: replace(access, tensor=access.slot, repeated=())))
