"""Levels behind each other, of which any may leave zeros out: how many fibers and positions each has, and so its memories.

    dense 4, compressed 4096, dense 2 x 2      block-CRS, 4 rows of blocks: segments and coordinates of blocks, and their values
    compressed 4096, compressed 4096           DCSR: rows without an element are not stored

Dense levels at the outside have no stage of their own. A position of a level is a fiber of the one behind it; of linked lists
also a place of a node that no coordinate has.

Source: Stellar III-E and IV-C (a chain of stages, one for each axis).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import NamedTuple

from .check import Misfit
from .private_buffer import (
    BITVECTOR,
    COMPRESSED,
    DENSE,
    LEAST_WORDS,
    LINKED,
    STREAMS,
    Bank,
    Level,
    Loop,
    most_nodes,
)
from .token import DATA_BITS


@dataclass(frozen=True)
class ChainedBank(Bank):
    """A bank in which a level without zeros is above another one. Its fibers are read as they are stored, each once in an
    operation, or looked up as they are asked for; ports get an empty one for each that is not stored.

    Parameters
    ----------
    All of a `Bank`; levels are of any kinds in any order.
    sifted : bool       The last level is dense: what is 0 in a fiber is left out.
    complete : bool     The last level is dense: a fiber that is not stored is one of zeros.
    """

    sifted: bool = False
    complete: bool = False

    def _misfits(self) -> Iterator[Misfit]:
        yield from super()._misfits()
        if self.table or self.wide:
            yield Misfit("levels", "has a level without zeros above another one, whose fibers are read as they are stored",
                         "make it dense, or read them so")
        if self.whole and self.loops and self.searched < 0:
            yield Misfit("loops", f"ask {self.asked.extent} coordinates {self.asked.stride} fibers apart, which no level has",
                         "give the loop of a level above the last one")
        extents = [loop.extent for loop in self.loops]
        if not self.bases and (self.first or prod(extents) != self.fibers
                               or any(loop.stride != prod(extents[:nth]) for nth, loop in enumerate(self.loops))):
            yield Misfit("loops", f"do not go over the {self.fibers} fibers of a tensor", "read each once, as they are stored")
        if (self.sifted or self.complete) and (self.kind != DENSE or self.sifted == self.complete):
            yield Misfit("sifted", f"or complete is set of fibers that are {self.kind}, or both", "give one, of dense fibers")
        for link in self.links:
            if said := unfit(link):
                yield Misfit("words", f"are {self.words:,}: level {link.nth} has {said}", "give fewer, or smaller extents")

    @property
    def is_chain(self) -> bool:
        return True

    @property
    def links(self) -> tuple[Link, ...]:
        """Its stages."""
        return chain(self.levels, self.words, self.node)

    @property
    def searched(self) -> int:
        """Of one whose fibers are chosen: the level of the coordinates that are asked for; -1 for none."""
        return next((nth for nth, level in enumerate(self.levels[:-1])
                     if (self.asked.extent, self.asked.stride) == (level.extent, self._apart(nth))), -1)

    def outer(self, number: int) -> tuple[int, ...]:
        """The coordinates of a fiber of the last level, outermost first, by its number in a dense tensor."""
        return tuple(number // self._apart(nth) % level.extent for nth, level in enumerate(self.levels[:-1]))

    def _apart(self, nth: int) -> int:
        """How far fibers are apart, by their numbers, at coordinates of a level next to each other."""
        return prod(level.extent for level in self.levels[nth + 1:-1])

    @property
    def walked(self) -> Bank:
        return replace(self, loops=(Loop(self.fibers, 1, 0),), sinks=1, depth=2, operations=1, bases=(), chosen=(),
                       sifted=self.kind == DENSE)

    @property
    def streams(self) -> tuple[str, ...]:
        return *(STREAMS[link.kind] + link.suffix for link in self.links if link.kind != DENSE), "values"


class Link(NamedTuple):
    """A level of a chain.

    nth: of all levels, the outermost one is 0.  fibers, positions: at most, of a tensor.  is_last: values are behind it.
    """

    nth: int
    kind: str
    extent: int
    node: int
    fibers: int
    positions: int
    is_last: bool

    @property
    def suffix(self) -> str:
        """What its streams and arrays have behind their names: nothing, if values are behind it."""
        return "" if self.is_last else str(self.nth)

    @property
    def across(self) -> int:
        """Of bitvectors, words of a fiber."""
        return -(-self.extent // DATA_BITS)

    @property
    def nodes(self) -> int:
        """Of linked lists, at most."""
        return self.positions // self.node

    @property
    def words(self) -> int:
        """A power of two, in which its segments or coordinates have room."""
        return max(LEAST_WORDS, 1 << max(self.positions - 1, self.fibers).bit_length())


def chain(levels: Sequence[Level], words: int, node: int) -> tuple[Link, ...]:
    """The levels from the first one on that is not dense; () if there is none. words: values that have room."""
    first = next((nth for nth, level in enumerate(levels) if level.kind != DENSE), len(levels))
    fibers, found = prod(level.extent for level in levels[:first]), list[Link]()
    for nth, level in enumerate(levels[first:], first):
        behind = levels[nth + 1:]
        # Where all levels behind it are dense a position has as many values; else it has one at least.
        block = prod(each.extent for each in behind) if all(each.kind == DENSE for each in behind) else 1
        room = max(1, words // block)
        positions = {DENSE: fibers * level.extent, LINKED: most_nodes(room, node) * node}.get(
            level.kind, min(fibers * level.extent, room))
        found.append(Link(nth, level.kind, level.extent, node if level.kind == LINKED else 1, fibers, positions,
                          nth == len(levels) - 1))
        fibers = positions
    return tuple(found)


def unfit(link: Link) -> str:
    """What of a level has no room in references of 16 bits, or nothing."""
    if link.kind == COMPRESSED and link.words > 1 << DATA_BITS - 2:
        return f"{link.fibers:,} fibers and {link.positions:,} coordinates"
    if link.kind == BITVECTOR and link.fibers * link.across >= 1 << DATA_BITS:
        return f"{link.fibers * link.across:,} words of bits"
    if link.kind in (DENSE, LINKED) and max(link.fibers + 1, link.positions) >= 1 << DATA_BITS:
        return f"{link.fibers:,} fibers and {link.positions:,} positions"
    return ""
