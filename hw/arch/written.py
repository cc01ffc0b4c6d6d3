"""The description of what writes a result whose ports give fibers: in which format it is stored behind an array.

In an operation each port gives the fiber of one place of the outer dimensions. Fibers are taken in the order of their places,
and become the arrays of a level (`level_arrays`), each of which is held until it is complete, and then leaves behind its
length; the next tensor is written meanwhile. A tensor is what one operation gives, or of linked lists what several give, each
behind those before it.

Source: Stellar III-E and IV-C (axes of buffers, written as they are read).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Annotated

from .check import Identifier, Misfit, OneOf, PowerOfTwo, Tuple, Whole, check
from .elastic import MOST_EXTENT
from .level_arrays import LevelArray, across, level_arrays
from .private_buffer import (
    BITVECTOR,
    DENSE,
    KINDS,
    LEAST_WORDS,
    LINKED,
    MOST_SHARED,
    MOST_WORDS,
    NodeSize,
    most_nodes,
)
from .spatial import Shaped
from .token import DATA_BITS

MOST_PORTS = 256
# Of a value.
MOST_BITS = 32


@dataclass(frozen=True)
class Written:
    """A result that is stored in a format.

    Parameters
    ----------
    tensor : Shaped
    order : tuple       The dimensions of the tensor, as levels have them; fibers go along the last one.
    ports : tuple       Of the array, in the order in which their fibers are stored, or the parts of these.
    kind : str          Of the last level; the others are dense.
    words : int         Values of a tensor, at most.
    node : int          Elements of a node of a linked list.
    operations : int    Operations that make a tensor.
    sums : bool         A tensor is the sum of operations, of as many as an input of the hardware says.
    begins : tuple      Of the parts of a fiber, each of which has a port, the coordinates from which on they are.
    """

    tensor: Shaped
    order: Annotated[tuple[int, ...], Tuple((Whole(0, 63),), True)]
    ports: Annotated[tuple[str, ...], Tuple((Identifier(),), True)]
    kind: Annotated[str, OneOf(KINDS)]
    words: Annotated[int, PowerOfTwo(LEAST_WORDS, MOST_WORDS)]
    node: NodeSize = 4
    operations: Annotated[int, Whole(1, MOST_SHARED)] = 1
    sums: bool = False
    begins: Annotated[tuple[int, ...], Tuple((Whole(0, MOST_EXTENT - 1),), True)] = (0,)

    def __post_init__(self) -> None:
        check(self, "result", self._misfits)

    def _misfits(self) -> Iterator[Misfit]:
        name = self.tensor.name
        if sorted(self.order) != list(range(len(self.tensor.shape))):
            yield Misfit("order", "does not name each dimension once", f"give 0 to {len(self.tensor.shape) - 1}")
        elif self.begins != tuple(sorted({0, *self.begins})) or self.begins[-1] >= self.extent:
            yield Misfit("begins", f"are {', '.join(map(str, self.begins))}",
                         f"give rising coordinates below {self.extent}, from 0 on")
        elif prod(self.outer) * len(self.begins) != len(self.ports) or not 1 <= len(self.ports) <= MOST_PORTS:
            parts = f", in {len(self.begins)} parts each" if len(self.begins) > 1 else ""
            yield Misfit("ports", f"are {len(self.ports)}, but {name} has {prod(self.outer)} fibers{parts}",
                         f"give a port for each, up to {MOST_PORTS}")
        elif self.least > self.words:
            yield Misfit("words", f"are {self.words}, but {name} takes {self.least:,}",
                         f"give {1 << (self.least - 1).bit_length():,} or more, up to {MOST_WORDS:,}")
        if self.tensor.bits > MOST_BITS:
            yield Misfit("tensor", f"has {self.tensor.bits} bits", f"give {MOST_BITS} or fewer")
        if self.kind == LINKED and self.node > self.words:
            yield Misfit("node", f"is {self.node} elements of {self.words}", f"give {self.words} or fewer")
        if self.sums and self.operations > 1:
            yield Misfit("sums", "is set, but lists gather operations as they are", "choose one of both")
        if self.kind != LINKED and self.operations > 1:
            yield Misfit("operations", f"are {self.operations}, but the last level is {self.kind}",
                         "give 1: fibers of several operations follow each other in linked lists only")

    @property
    def outer(self) -> tuple[int, ...]:
        """The extents of the outer levels."""
        return tuple(self.tensor.shape[dimension] for dimension in self.order[:-1])

    @property
    def extent(self) -> int:
        """Of a fiber."""
        return self.tensor.shape[self.order[-1]]

    @property
    def fibers(self) -> int:
        """Of a tensor."""
        return len(self.ports) // len(self.begins)

    @property
    def spans(self) -> tuple[int, ...]:
        """How many coordinates each of the ports of a fiber has."""
        return tuple(end - begin for begin, end in pairwise((*self.begins, self.extent)))

    @property
    def across(self) -> int:
        """Words of bits of a fiber."""
        return across(self.extent)

    @property
    def stored(self) -> int:
        """Words of the array whose length is known: of values of a dense level, or of bits."""
        return self.fibers * (self.extent if self.kind == DENSE else self.across)

    @property
    def least(self) -> int:
        """Words that any tensor with an element takes of that array."""
        return self.stored if self.kind in (DENSE, BITVECTOR) else 0

    @property
    def nodes(self) -> int:
        """Nodes of lists of a tensor, at most."""
        return most_nodes(self.words, self.node)

    @property
    def lanes(self) -> int:
        """16-bit lanes of a value."""
        return -(-self.tensor.bits // DATA_BITS)

    @property
    def arrays(self) -> dict[str, int]:
        """The bits of a word of each array that leaves."""
        return {each.name: each.word_bits for each in self.stored_as}

    @property
    def stored_as(self) -> tuple[LevelArray, ...]:
        """The arrays, the values last."""
        return level_arrays(self.kind, self.fibers, self.extent, self.words, self.node, self.lanes * DATA_BITS)

    def name(self, array: str) -> str:
        """Of the stream of an array."""
        return f"{self.tensor.name}_{array}"
