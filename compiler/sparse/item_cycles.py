"""Cycles of each work item in its stages, from the sizes of its tiles: what the loops and values of a statement take.

A level is scanned once for every turn of the loops around it; its fibers are taken to be of average length, and their
coordinates to be anywhere in the tile, so that of a and b out of n both have a b / n, or as many times more as the operands
are alike (`alike.py`). Where sums are accumulated, fibers are as long as those that other operands ask for. A joiner looks at
those in common once. A dense level that is located takes no cycles of its own. Sums that are kept to be read with all
coordinates of dense levels (`Einsum.reframed`) are read in a stage of their own, which begins when they are whole. So are sums
that are statements of their own (`lang/apart.py`), which are computed in a stage before: of other operands, as they are there.

Source:  timing of `hw/memory/level.py`, `hw/sparse/joiner.py` and `hw/sparse/reducer.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from math import ceil, prod

import numpy as np

from sardonyx.compiler.lang.einsum import Einsum
from sardonyx.compiler.lang.expr import Access
from sardonyx.hw.arch.primitive import QUOTIENT_CYCLES
from sardonyx.tensors.coordinates import Ints

from .alike import Ratios
from .normalize import Node, Product, Sum, leaves, located, nested, normalize
from .pipeline import Floats, makespan, over
from .tiles import Tiling

# Cycles from the end of a level to that of the second one after it, besides those of its tokens (`hw/memory/level.py`).
LOADED_TURN, DENSE_TURN, STORED_TURN = 10, 11, 12
# Cycles below which no item is: of a value alone, from block to block, two at a time (4.5 where levels are read when whole).
LEAST = 3.5
# Cycles of an accumulator (`hw/memory/accumulator.py`) beside one for each value, stop and sum: at least so many for a line of
# sums, and for all sums of a fiber. A value in another line than the one before it takes one more.
SWEEP, SWEPT = 2, 5
LINE = 4            # Words of a line.


@dataclass
class Estimate:
    """The estimate of some items at once; every number is an array with one entry per item.

    Parameters
    ----------
    tiling, items      The work, and which of its items.
    loads, stores      By stream: the words of a block; of results as many as are likely.
    compute            Tokens of the longest stream so far.
    again              Those of reading sums once more.
    before             Those of sums that are statements of their own, where there are any.
    entries            Of each level of the result as it is kept.
    """

    tiling: Tiling
    items: slice
    ratios: Ratios
    loads: dict[str, Floats] = field(default_factory=dict)
    stores: dict[str, Floats] = field(default_factory=dict)

    def __post_init__(self) -> None:
        picks = self.tiling.picks[self.items]
        self.count = len(picks)
        self.compute = np.full(self.count, LEAST)
        self.again, self.before = np.zeros(self.count), np.zeros(self.count)
        self.entries: list[Floats] = []
        # Words of buffers: of what is loaded, stored, and kept.
        self._held: tuple[list[Floats], ...] = tuple([np.zeros(self.count)] for _ in range(4))
        self._places: dict[str, Ints] = {}      # By index: coordinates that it has.
        self._lengths: dict[tuple[str, str], Floats] = {}
        self._located: set[str] = set()         # Slots whose level at a loop is not scanned.
        self._fibers = np.zeros(self.count)     # At the innermost loop so far.
        self._shares: dict[tuple[int, int], tuple[Floats | float, ...]] = {}    # By sum and term: of turns in which what is
        # before it, it, and both have a fiber.
        self._there: dict[str, Floats | float] = {}     # By slot: the share of turns in which it has a fiber.
        for at, tiles in enumerate(self.tiling.tiles):
            counts = tiles.all_counts
            above = np.column_stack((np.ones(len(counts), np.int64), counts)).astype(np.float64)
            for level, index in enumerate(tiles.access.stored):
                fibers, entries = above[picks[:, at], level], above[picks[:, at], level + 1]
                places = tiles.places(index, self.tiling.extents[index])[picks[:, at]]
                self._places[index] = np.minimum(self._places.get(index, places), places)
                self._lengths[tiles.access.slot, index] = entries / np.maximum(fibers, 1)
                if tiles.access.format.is_dense(level):
                    self.loads[f"{tiles.access.slot}{level}"] = np.full(self.count, 4.0)
                else:
                    self._level(0, f"{tiles.access.slot}{level}", fibers, entries)
            self.loads[f"{tiles.access.slot}_vals"] = 1 + above[picks[:, at], -1]

        einsum, made = self.tiling.einsum.apart
        for each in made.values():
            self._keep(each)
        self._apart = bool(made)
        self.tiling = replace(self.tiling, einsum=einsum)

    def _keep(self, made: Einsum) -> None:
        """Compute a sum that is a statement of its own before; its levels are as long as it is likely to be."""
        slots = [tiles.access.slot for tiles in self.tiling.tiles]
        at = [slots.index(access.slot) for access in made.operands]
        tiles = tuple(self.tiling.tiles[position] for position in at)
        part = replace(self.tiling, einsum=made, tiles=tiles, picks=self.tiling.picks[:, at])
        inner = Estimate(part, self.items, self.ratios)
        inner.run(normalize(made))
        above = np.ones(self.count)
        for index, entries in zip(made.result.stored, inner.entries):      # A number has a value, and no level.
            self._places.setdefault(index, inner._places[index])
            self._lengths[made.result.slot, index] = entries / np.maximum(above, 1)
            self._held[3].extend((above + 1, entries))
            inner._tokens((STORED_TURN + entries) / 2)
            above = entries
        self.before = np.maximum(self.before, inner.before + inner.compute)

    def run(self, root: Node) -> Floats:
        """Walk the loops and what they compute; the values of the result."""
        einsum, result = self.tiling.einsum, self.tiling.einsum.result
        if self._apart:
            root = normalize(einsum)
        if einsum.accumulated:
            root, _ = nested(einsum)
        turns, entered = np.ones(self.count), []
        framed = () if einsum.reframed else result.stored[:einsum.framed]
        places = result.stored[len(result.stored) - einsum.scattered:]
        for index in einsum.nest:
            turns = self._counted(root, index, turns) if index in framed else self._loop(root, index, turns)
            if index in result.indices:
                entered.append(turns)
        kept = [self._value(root, turns)]
        if einsum.accumulated:
            entered, kept = self._accumulated(entered, kept[0])
        for above in entered[-2::-1]:
            kept.insert(0, above * _some(kept[0] / np.maximum(above, 1e-9)))
        self.entries = kept
        if einsum.reframed:
            entered = self._read_again(kept)
        fibers = np.ones(self.count)
        for level, entries in enumerate(kept[:len(entered) - len(places)]):
            if result.format.is_dense(level):
                fibers = entered[level]
                continue
            if level:
                self._level(1, f"{result.slot}{level}", fibers, entries)
            else:       # as values are
                self.stores[f"{result.slot}{level}"] = 1 + entries
            fibers = entries
        for index in places:
            fibers = fibers * self.tiling.edges[index]
        self.stores[f"{result.slot}_vals"] = 1 + fibers
        return fibers

    def _accumulated(self, entered: list[Floats], values: Floats) -> tuple[list[Floats], list[Floats]]:
        """The loops of the result and its values, where sums are kept: values fall anywhere among the coordinates inside. They
        are added, then the sums leave, one after the other; a line without values is not looked at."""
        einsum = self.tiling.einsum
        inner = next(iter(einsum.accumulated.values()))
        outside = len(entered) - len(inner)
        fibers, places, lines = entered[outside - 1] if outside else np.ones(self.count), 1, 1
        for level, index in enumerate(inner, outside):
            lines = places * ceil(self.tiling.edges[index] / LINE)
            places *= self.tiling.edges[index]
            entered[level] = np.minimum(entered[level], fibers * places)
        at_least = np.maximum(fibers, 1e-9)
        sums, swept = (fibers * number * _some(values / (at_least * number)) for number in (places, lines))
        # Of the lines that a fiber of values can have, it has some.
        most = self._fibers * ceil(self.tiling.edges[inner[-1]] / LINE)
        turned = most * _some(values / np.maximum(most, 1e-9))
        # Each of the outer ones of two coordinates that leaves takes a cycle.
        outer = entered[outside] * _some(self._fibers / np.maximum(entered[outside], 1e-9)) if len(inner) > 1 else 0
        self._tokens(values + turned + self._fibers + outer + np.maximum(SWEEP * swept, sums) + SWEPT * fibers)
        return entered, [sums]

    def _read_again(self, kept: list[Floats]) -> list[Floats]:
        """Keep sums, by level so many, and read them with all coordinates of the dense levels; the loops of the result then."""
        einsum, above, entered = self.tiling.einsum, np.ones(self.count), list[Floats]()
        self.again = np.full(self.count, LEAST)
        for level, (index, entries) in enumerate(zip(einsum.result.stored, kept, strict=True)):
            fibers = kept[level - 1] if level else np.ones(self.count)
            self._held[2].extend((fibers + 1, entries))
            self._tokens((STORED_TURN + entries) / 2)
            inside = above * self.tiling.edges[index] if level < einsum.framed else entries
            self._again(inside + above + 1)
            self._again((LOADED_TURN + entries) / 2)
            entered.append(inside)
            above = inside
        return entered

    @property
    def stages(self) -> tuple[Floats, ...]:
        """Cycles of loading, computing and storing; around those of computing, of sums before and of reading sums again."""
        load, store = (reduce(np.maximum, each.values(), np.zeros(self.count)) for each in (self.loads, self.stores))
        return (load, *((self.before,) if self._apart else ()), self.compute,
                *((self.again,) if self.tiling.einsum.reframed else ()), store)

    def cycles(self) -> float:
        """Cycles from the first word loaded to the last one stored."""
        loaded, stored, kept, before = (over(held, self.tiling.capacity) for held in self._held)
        return makespan(self.stages, (loaded, *((before,) if self._apart else ()),
                                      *((kept,) if self.tiling.einsum.reframed else ()), stored))

    def _level(self, side: int, name: str, fibers: Floats, entries: Floats) -> None:
        """A level that is loaded (side 0) or stored (1), as a block and in its buffer."""
        (self.loads, self.stores)[side][name] = 3 + fibers + entries
        if side:
            (self._again if self.tiling.einsum.reframed else self._tokens)((STORED_TURN + entries) / 2)
        self._held[side].extend((fibers + 1, entries))

    def _tokens(self, count: Floats) -> None:
        self.compute = np.maximum(self.compute, count)

    def _again(self, count: Floats) -> None:
        self.again = np.maximum(self.again, count)

    def _loop(self, part: Node, index: str, turns: Floats) -> Floats:
        """Take a part through a loop that is entered `turns` times; how often its inside is."""
        joined = self._joined_at(part, index, turns)
        assert joined is not None, "a loop spans a part that uses its index"
        self._fibers = turns
        return turns * joined

    def _counted(self, root: Node, index: str, turns: Floats) -> Floats:
        """Take the expression through a loop at which the result has every coordinate; tensors of its index have nothing inside
        those that it adds, others are scanned there, too."""
        joined, extent = self._joined_at(root, index, turns), self.tiling.edges[index]
        assert joined is not None, "a result has the indices of its expression"
        self._tokens(turns * (extent + 1) + 1)
        for access in leaves(root):
            if index in access.indices:
                self._there[access.slot] = self._there.get(access.slot, 1.0) * joined / extent
        self._fibers = turns
        return turns * extent

    def _joined_at(self, part: Node, index: str, turns: Floats) -> Floats | None:
        """The same as `_joined` at a loop of its own."""
        self._located = {access.slot for access in located(part, index, self.tiling.einsum.locate)}
        return self._joined(part, index, turns)

    def _joined(self, part: Node, index: str, turns: Floats) -> Floats | None:
        """The average number of coordinates a part has at a loop; None if it does not depend on the index."""
        if isinstance(part, Product | Sum):
            inside = part.factors if isinstance(part, Product) else [term for _, term in part.terms]
            parts = [(each, length) for each in inside if (length := self._joined(each, index, turns)) is not None]
            if not parts:
                return None
            return self._united(part, parts, index, turns) if isinstance(part, Sum) else self._met(parts, index, turns)
        if (part.slot, index) not in self._lengths or part.slot in self._located:
            return None
        length = self._lengths[part.slot, index] * self._there.get(part.slot, 1.0) * self._longer(part, index)
        dense = part.format.is_dense(part.stored.index(index))
        self._tokens(turns * (length + 1) + 1)
        self._tokens(((DENSE_TURN if dense else LOADED_TURN) + turns * length) / 2)
        return length

    def _longer(self, access: Access, index: str) -> float:
        """How much longer fibers are than on average, where they are scanned once for each entry of another operand and sums
        are accumulated, so that nearly all that is scanned is multiplied."""
        order, level = self.tiling.einsum.order, access.stored.index(index)
        if not self.tiling.einsum.accumulated or not level:
            return 1.0
        above, outside = access.stored[level - 1], [each for each in order[:order.index(index)] if each not in access.indices]
        return prod(self.ratios.longer(access.slot, other.slot, above) for other in self.tiling.einsum.operands
                    if above in other.indices and any(each in other.indices for each in outside))

    def _met(self, parts: Sequence[tuple[Node, Floats]], index: str, turns: Floats) -> Floats:
        """Coordinates that all fibers have."""
        first, found = parts[0]
        for part, length in parts[1:]:
            common = self._common(first, part, index, found, length)
            self._tokens(turns * (found + length - common + 1) + 1)
            found = common
        return found

    def _united(self, whole: Sum, parts: Sequence[tuple[Node, Floats]], index: str, turns: Floats) -> Floats:
        """Coordinates that any fiber has. Of terms that have none at a coordinate, the loops inside find nothing there."""
        first, found = parts[0]
        steps = []
        for at, (part, length) in enumerate(parts[1:]):
            one, other, both = self._shares.get((id(whole), at), (1.0, 1.0, 1.0))
            common = np.minimum(both * self._common(first, part, index, found / one, length / other), np.minimum(found, length))
            steps.append((found, length, common))
            found = found + length - common
            self._tokens(turns * (found + 1) + 1)
        any_ = np.maximum(found, 1e-9)
        for at, step in enumerate(steps):
            self._shares[id(whole), at] = tuple(np.maximum(each / any_, 1e-9) for each in step)
        for part, length in parts:
            for access in leaves(part):
                self._there[access.slot] = self._there.get(access.slot, 1.0) * length / any_
        return found

    def _common(self, part: Node, other: Node, index: str, length: Floats, other_length: Floats) -> Floats:
        """How many coordinates two fibers have in common; parts are as alike as the first operands in them."""
        slot, other_slot = (next(access.slot for access in leaves(each) if index in access.indices) for each in (part, other))
        likely = length * other_length / self._places[index] * self.ratios.ratio(slot, other_slot, index)
        return np.minimum(likely, np.minimum(length, other_length))

    def _value(self, part: Node, turns: Floats) -> Floats:
        """Take the products inside a part through their own loops; how many of `turns` values are likely to be there."""
        if isinstance(part, Product):
            above = self._fibers
            inside = self._loop(part, part.contract, turns) if part.contract else turns
            if part.contract:
                # A sum leaves at the end of its fiber, and a stop above that takes a cycle of its own.
                self._tokens(inside + turns + above + 1)
            there = reduce(np.minimum, [self._value(factor, inside) for factor in part.factors], inside)
            if part.divides:
                # What is absent takes a cycle, as a stop does.
                self._tokens(QUOTIENT_CYCLES * there + (inside - there) + self._fibers)
            return turns * _some(there / np.maximum(turns, 1e-9)) if part.contract else there
        if isinstance(part, Sum):
            return reduce(np.maximum, [self._value(term, turns) for _, term in part.terms], np.zeros(self.count))
        return turns


def _some(average: Floats) -> Floats:
    """The share of fibers that have an entry where they have so many on average, anywhere."""
    return 1 - np.exp(-average)
