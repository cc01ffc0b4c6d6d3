"""The description of a merger: several sorted fibers of coordinates and values become one, equal coordinates added, or met by
another reduction.

A fiber of a merger is a partial matrix: elements with a row, a column and a value, by rows and then by columns, and an *end*,
which is an element, too, so that an operation follows the other. A lane merges the rows whose number leaves the same rest, and
takes some elements of them in a cycle. With many lanes that take one each a merger is row-partitioned, as GAMMA's; with one
lane that takes many it is flat, as SpArch's; what lies between are values of the same description. Within a lane the ways meet
in a tree of nodes, each of which merges two. The elements of a lane are dealt to as many streams as it takes, in turn.

Source: Stellar VI-D, Fig. 19. Departure: values go along and are added; the paper's mergers move coordinates only.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from .check import Identifier, Misfit, OneOf, PowerOfTwo, Whole, check
from .reduction import ADD, REDUCTIONS

MOST_WAYS, MOST_LANES, MOST_TAKEN = 64, 64, 16
# Of the word of a stream: what engines have as one number. So keys of 56 bits are the longest, with values of 8.
MOST_ELEMENT_BITS = 64
MOST_EXTENT = 1 << 32
# Input streams: 32 lanes or a flat merger of 16 with 64 ways fit, all of both do not.
MOST_STREAMS = 4096
WAYS = PowerOfTwo(2, MOST_WAYS)
LANES, TAKE = PowerOfTwo(1, MOST_LANES), PowerOfTwo(1, MOST_TAKEN)
EXTENT = Whole(1, MOST_EXTENT)
BITS = Whole(1, 32)


@dataclass(frozen=True)
class Merger:
    """A merger.

    Parameters
    ----------
    name : str          Of the module.
    ways : int          Fibers that are merged in an operation.
    rows, columns : int Extents of the matrices; with one row, fibers of one coordinate.
    lanes : int         Each has the rows of one rest.
    take : int          Elements that leave a lane in a cycle.
    bits : int          Of a value; sums and products wrap.
    reduction : str     Of `REDUCTIONS`: what values with equal keys become. Of truths every value becomes one, 0 or 1.
    """

    name: Annotated[str, Identifier()]
    ways: Annotated[int, WAYS]
    rows: Annotated[int, EXTENT]
    columns: Annotated[int, EXTENT]
    lanes: Annotated[int, LANES] = 1
    take: Annotated[int, TAKE] = 1
    bits: Annotated[int, BITS] = 16
    reduction: Annotated[str, OneOf(REDUCTIONS)] = ADD

    def __post_init__(self) -> None:
        check(self, "merger", self._rules)

    def _rules(self) -> Iterator[Misfit]:
        """What holds between fields."""
        if self.element_bits > MOST_ELEMENT_BITS:
            yield Misfit("bits", f"is {self.bits}, so that an element of {self.rows:,} rows and {self.columns:,} columns has "
                         f"{self.element_bits} bits", f"give {self.bits - self.element_bits + MOST_ELEMENT_BITS} or fewer")
        if (streams := self.ways * self.lanes * self.take) > MOST_STREAMS:
            yield Misfit("ways", f"is {self.ways}, which are {streams:,} streams with {self.lanes} lanes that take {self.take}",
                         f"use {MOST_STREAMS:,} streams or fewer")

    @property
    def row_bits(self) -> int:
        """Of the row of an element."""
        return (self.rows - 1).bit_length()

    @property
    def column_bits(self) -> int:
        """Of the column of an element."""
        return (self.columns - 1).bit_length()

    @property
    def key_bits(self) -> int:
        """Of what elements are compared by: the column in the low bits, the row, and above it whether it is the end."""
        return self.column_bits + self.row_bits + 1

    @property
    def element_bits(self) -> int:
        """Of a word of a stream: the value in the low bits, then the key."""
        return self.bits + self.key_bits

    @property
    def end(self) -> int:
        """The key of an end, above all others."""
        return 1 << self.key_bits - 1

    def places(self, level: int) -> int:
        """Elements that are held behind the nodes of a level, of inputs 0: 2 in a FIFO, 1 in a register, whose ready follows
        that of the next one, or none. A node of one element is so short that two of them are in one cycle, and takes what its
        inputs show; of many elements it takes the whole of a cycle."""
        if self.take > 1 or level == self.levels:
            return 2
        return int(level > 0 and (self.levels - level) % 2 == 0)

    @property
    def latency(self) -> int:
        """Cycles from an element to where it leaves."""
        return sum(self.places(level) > 0 for level in range(self.levels + 1))

    @property
    def suffix(self) -> str:
        """What tells names of its parts from those of one that adds."""
        return f"_{self.reduction}" if self.reduction != ADD else ""

    @property
    def levels(self) -> int:
        """Of the tree of a lane."""
        return self.ways.bit_length() - 1

    def input(self, way: int, lane: int, nth: int) -> str:
        """The name of an input stream."""
        return f"i_{way}_{lane}_{nth}"

    def output(self, lane: int, nth: int) -> str:
        """The name of an output stream."""
        return f"o_{lane}_{nth}"

    def to_json(self) -> dict[str, Any]:
        """Everything, as plain values, with how a word is made up."""
        fields = {"value": self.bits, "column": self.column_bits, "row": self.row_bits, "end": 1}
        begins = itertools.accumulate(fields.values(), initial=0)
        return {**asdict(self), "word": {name: [begin, bits] for (name, bits), begin in zip(fields.items(), begins)}}
