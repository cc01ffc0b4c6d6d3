"""The description of a design whose nonzeros meet in vectors: an array of Cartesian products, and which elements it is given.

A fiber has the elements of an operand for one place of its outer indices; those of both operands that belong together meet,
each with each. An element of the result at a sum of indices is one at a sum of two places, of which each operand knows its own.
What does not fit into the sums at once is done in parts, each with some of the result's outermost dimension.

Source: SCNN III-B (coordinates of an output from those of an activation and of a weight).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from math import prod
from typing import Annotated, Any

from .cartesian import Cartesian
from .check import Identifier, Misfit, Tuple, Whole, check
from .logic import FARTHEST
from .spatial import Shaped
from .token import DATA_BITS

MOST_EXTENT = 1 << 16
# In memory the place of an element that is none.
NOWHERE = (1 << DATA_BITS) - 1
Extent = Annotated[int, Whole(1, MOST_EXTENT)]
Name = Annotated[str, Identifier()]


@dataclass(frozen=True)
class Side:
    """An operand.

    Parameters
    ----------
    tensor : Shaped
    indices : tuple    Of its dimensions.
    along : tuple      Those along which its fibers go, the outermost first.
    sparse : bool      Elements that are 0 are left out.
    factors : tuple    What an index adds to the place of an element, by index; `constant` is the rest.
    """

    tensor: Shaped
    indices: Annotated[tuple[str, ...], Tuple((Identifier(),), True)]
    along: Annotated[tuple[str, ...], Tuple((Identifier(),), True)]
    sparse: bool
    factors: tuple[tuple[Name, Annotated[int, Whole(-FARTHEST, FARTHEST)]], ...]
    constant: Annotated[int, Whole(0, FARTHEST)]

    def __post_init__(self) -> None:
        check(self, "side")

    def reach(self, extents: Mapping[str, int]) -> int:
        """The largest place of an element."""
        return self.constant + sum(max(0, factor) * (extents[index] - 1) for index, factor in self.factors)


@dataclass(frozen=True)
class Vectored:
    """Which fibers an array is given, and what its sums are.

    Parameters
    ----------
    kind : Cartesian
    bounds : tuple       The extent of every index.
    left, right : Side   Places of both are from 0.
    result : Shaped      Row by row its elements are the places of sums.
    part : str           The index that is the outermost dimension of the result, if it is one: by it parts are made; else "".
    """

    kind: Cartesian
    bounds: tuple[tuple[Name, Extent], ...]
    left: Side
    right: Side
    result: Shaped
    part: str = ""

    def __post_init__(self) -> None:
        check(self, "vectors", self._rules)

    def _rules(self) -> Iterator[Misfit]:
        if self.most < 1:
            yield Misfit("result", f"has {self.row:,} sums at once, and the array {self.kind.places:,}",
                         "give more banks or words of sums, or smaller bounds")

    @property
    def shared(self) -> tuple[str, ...]:
        """The indices along which fibers of both sides follow each other, the outermost first."""
        return tuple(index for index, _ in self.bounds if index not in (*self.left.along, *self.right.along))

    @property
    def row(self) -> int:
        """Sums that belong together."""
        return prod(self.result.shape[1:]) if self.part else prod(self.result.shape)

    @property
    def most(self) -> int:
        """Places of the outermost dimension that fit at once."""
        return min(self.kind.places // self.row, self.result.shape[0]) if self.part else self.kind.places // self.row

    @property
    def extents(self) -> dict[str, int]:
        """Of every index in a part, at most."""
        return {index: min(extent, self.most) if index == self.part else extent for index, extent in self.bounds}

    @property
    def fibers(self) -> int:
        """Of each side in a part, at most."""
        return prod(self.extents[index] for index in self.shared)

    def pairs(self, side: Side) -> int:
        """Of elements in a vector, as they lie in memory."""
        return -(-(self.kind.left if side is self.left else self.kind.right) // 2)

    def value_bits(self, side: Side) -> int:
        """Of a value in memory."""
        return 8 if side.tensor.bits <= 8 else DATA_BITS

    @property
    def operands(self) -> tuple[Shaped, ...]:
        """Both, the left one first."""
        return self.left.tensor, self.right.tensor

    @property
    def results(self) -> tuple[Shaped, ...]:
        """The only one."""
        return self.result,

    def to_json(self) -> dict[str, Any]:
        """Everything, as plain values."""
        return asdict(self)
