"""A result whose buffer leaves out fibers without an element: a level without zeros is above another one.

    compressed, compressed          rows without an element are not stored
    compressed, dense, dense        blocks are, if one of their elements is there, with all of them
    linked list, compressed         as the first; a place of a node that no coordinate has is a row, too, which is empty

Source: Stellar III-E and IV-C (axes of buffers, written as they are read).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Annotated, NamedTuple

from .chain import Link, chain
from .check import Misfit, OneOf, Tuple
from .level_arrays import LevelArray, chain_arrays, level_arrays
from .private_buffer import DENSE, KINDS, LINKED, Level
from .spatial import Shaped
from .token import DATA_BITS
from .written import Written


class WrittenLevel(NamedTuple):
    """One of the levels as a writer knows it.

    tensor: a name for its hardware, and bits of values.  values: it is the last one, and has values.
    """

    tensor: Shaped
    link: Link
    values: bool
    operations: int = 1

    @property
    def kind(self) -> str:
        """Its format."""
        return self.link.kind

    @property
    def extent(self) -> int:
        """Of a fiber."""
        return self.link.extent

    @property
    def fibers(self) -> int:
        """Of a tensor, at most."""
        return self.link.fibers

    @property
    def words(self) -> int:
        """Positions of a tensor, at most."""
        return self.link.positions

    @property
    def node(self) -> int:
        """Elements of a node."""
        return self.link.node

    @property
    def nodes(self) -> int:
        """At most."""
        return self.link.nodes

    @property
    def across(self) -> int:
        """Words of bits of a fiber."""
        return self.link.across

    @property
    def stored(self) -> int:
        """Words of values of a dense level, or of bits, at most."""
        return self.fibers * (self.extent if self.kind == DENSE else self.across)

    @property
    def arrays(self) -> dict[str, int]:
        """The bits of a word of each array that leaves."""
        lanes = -(-self.tensor.bits // DATA_BITS)
        found = level_arrays(self.kind, self.fibers, self.extent, self.words, self.node, lanes * DATA_BITS)
        return {each.name: each.word_bits for each in found if self.values or each.name != "values"}


class Split(NamedTuple):
    """Where fibers without an element are left out: at a level, of which each coordinate has so many fibers in what comes."""

    level: WrittenLevel
    extent: int
    group: int


@dataclass(frozen=True)
class ChainedWritten(Written):
    """A result with a level without zeros above another one.

    Parameters
    ----------
    All of a `Written`, and
    above : tuple       The kinds of the levels above the last one, outermost first.
    """

    above: Annotated[tuple[str, ...], Tuple((OneOf(KINDS),), True)] = ()

    def _misfits(self) -> Iterator[Misfit]:
        yield from super()._misfits()
        if len(self.above) != len(self.tensor.shape) - 1 or set(self.above) <= {DENSE}:
            yield Misfit("above", f"is {', '.join(self.above)}", "give a kind for each level above the last, not all dense")
        elif LINKED in self.above and self.node * self._block > self.words:
            yield Misfit("words", f"are {self.words}, but a node is {self.node} x {self._block:,}",
                         "give smaller nodes, or more words")
        if self.operations > 1:
            yield Misfit("operations", f"are {self.operations} of levels behind each other", "give 1")

    @property
    def least(self) -> int:
        return self._block

    @property
    def _block(self) -> int:
        """Values of a position in front of the dense levels that are innermost."""
        dense = itertools.takewhile(lambda level: level.kind == DENSE, reversed(self.levels))
        return prod(level.extent for level in dense)

    @property
    def levels(self) -> tuple[Level, ...]:
        """All of them, outermost first."""
        return tuple(map(Level, (*self.above, self.kind), (*self.outer, self.extent)))

    @property
    def links(self) -> tuple[Link, ...]:
        """Those that have a stage."""
        return chain(self.levels, self.words, self.node)

    @property
    def stored_as(self) -> tuple[LevelArray, ...]:
        return chain_arrays(self.links, self.words, self.lanes * DATA_BITS)

    @property
    def last(self) -> WrittenLevel:
        """The level that has values."""
        link = self.links[-1]
        return WrittenLevel(Shaped(f"{self.tensor.name}_level{link.nth}", self.tensor.bits, (link.extent,)), link, True)

    @property
    def splits(self) -> tuple[Split, ...]:
        """Where fibers are left out, from the last level on outwards."""
        found, group = list[Split](), 1
        for link in reversed(self.links[:-1]):
            if link.kind != DENSE:
                named = Shaped(f"{self.tensor.name}_level{link.nth}", 1, (link.extent,))
                found.append(Split(WrittenLevel(named, link, False), link.extent, group))
                group = 1
            else:
                group *= link.extent
        return tuple(found)
