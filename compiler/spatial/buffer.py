"""How a user states a private buffer, and an operand as it stands in one.

Errors:  UserError for an operand that there is not, and for levels that do not fit it.
Source:  Stellar III-E (a format for each axis).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from ...hw.arch.check import OneOf, PowerOfTwo, Tuple, Whole, check
from ...hw.arch.elastic import Elastic
from ...hw.arch.errors import UserError, many, shown
from ...hw.arch.private_buffer import DENSE, KINDS, LEAST_WORDS, MOST_BANKS, MOST_SHARED, MOST_WORDS, NodeSize
from ...hw.arch.spatial import Shaped, Spatial
from ...hw.arch.token import DATA_BITS


@dataclass(frozen=True, init=False)
class Buffer:
    """How a private buffer stores an operand.

    Parameters
    ----------
    levels : for each dimension, outermost first, "dense", "compressed", "bitvector" or "linked list".
    words : int        Values of a tensor in a bank, a power of two from 16 to 16,384. The buffer holds two tensors.
    banks : int        Each gives a word or pair a cycle.
    order : tuple      The dimension of each level; by default 0, 1, ... as in the operand.
    operations : int   So many operations in a row have the same tensor, which is filled in once for them.
    node : int         Elements of a node of a linked list, a power of two up to 256; `words` has a place for each.
    wide : bool        All ports at once take a row of the last level, which has as many elements; the buffer is filled through
                       words of 64 bits. There is one bank.
    """

    levels: Annotated[tuple[str, ...], Tuple((OneOf(KINDS),), True)]
    words: Annotated[int, PowerOfTwo(LEAST_WORDS, MOST_WORDS)]
    banks: Annotated[int, Whole(1, MOST_BANKS)]
    order: Annotated[tuple[int, ...], Tuple((Whole(0, 63),), True)]
    operations: Annotated[int, Whole(1, MOST_SHARED)]
    node: NodeSize
    wide: bool

    def __init__(self, *levels: str, words: int = 4096, banks: int = 1, order: Sequence[int] = (), operations: int = 1,
                 node: int = 4, wide: bool = False) -> None:
        if isinstance(order, list | tuple):
            order = tuple(order) or tuple(range(len(levels)))
        given = {"levels": levels, "words": words, "banks": banks, "order": order, "operations": operations,
                 "node": node, "wide": wide}
        for name, value in given.items():
            object.__setattr__(self, name, value)
        # Each was an argument of its own, so that a tuple would say nothing to who wrote them.
        if wrong := [level for level in levels if not isinstance(level, str) or level not in KINDS]:
            raise UserError(f"there is no level {shown(repr(wrong[0]))}", "buffer",
                            f"give for each dimension, outermost first, {', '.join(KINDS[:-1])} or {KINDS[-1]}")
        check(self, "buffer")


@dataclass(frozen=True)
class Stored:
    """An operand in its buffer."""

    buffer: Buffer
    tensor: Shaped

    @property
    def name(self) -> str:
        """Of the operand."""
        return self.tensor.name

    @property
    def kind(self) -> str:
        """That of the last level."""
        return self.buffer.levels[-1]

    @property
    def is_chain(self) -> bool:
        """Whether a level without zeros is above another one."""
        return any(kind != DENSE for kind in self.buffer.levels[:-1])

    @property
    def last(self) -> int:
        """The dimension of the last level."""
        return self.buffer.order[-1]

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of levels."""
        return self.at(self.tensor.shape)

    def at(self, element: Sequence[int]) -> tuple[int, ...]:
        """An element as levels have it."""
        return tuple(element[dimension] for dimension in self.buffer.order)

    def mistake(self, what: str, fix: str) -> UserError:
        """What does not fit."""
        return UserError(what, f"buffers: {self.name}", fix)


def stored(name: str, buffer: Buffer, array: Spatial | Elastic) -> Stored:
    """An operand of an array in its buffer."""
    known = {each.name: each for each in array.operands}
    if name not in known:
        raise UserError(f"there is no operand {name}", f"buffers: {name}", f"choose from {', '.join(known)}")
    found = Stored(buffer, known[name])
    levels, dimensions = len(buffer.levels), len(found.tensor.shape)
    if levels != dimensions:
        raise found.mistake(f"it has {many(levels, 'level')}, but {name} has {many(dimensions, 'dimension')}",
                            "give a level for each")
    if sorted(buffer.order) != list(range(dimensions)):
        raise found.mistake(f"its order is {', '.join(map(str, buffer.order))}", f"give each of 0 to {dimensions - 1} once")
    if found.tensor.bits > DATA_BITS:
        raise found.mistake(f"{name} has values of {found.tensor.bits} bits", f"use {DATA_BITS} or fewer")
    return found
