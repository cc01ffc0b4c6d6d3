"""The description of an elastic array: PEs that go on whenever their words are there, for spaces whose extents values decide.

Words are pairs of a coordinate and a value. A *fiber* is a stream of them with rising coordinates and an end; a *word* is one
pair in each operation, or ``N`` (`token`) where there is none. PEs, mergers and spreads are units, joined by links, each
with a FIFO at its sink. An operation takes from each port one fiber or word, and gives one.

Source: Stellar IV-B (arrays whose connections are pruned, with ports at every PE). Departure: streams in the order of
coordinates with an end, in place of register files that are searched for coordinates, so that nothing stalls the whole array.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any

from .check import Identifier, OneOf, Tuple, Whole, check
from .logic import MOST_BITS, Logic
from .reduction import ADD, REDUCTIONS
from .spatial import Shaped
from .token import DATA_BITS

FIBER, WORD = "fiber", "word"
# What a PE does with the fibers that carry coordinates: they are the same, or it takes what either has, or what both have.
ALIGNED, UNION, INTERSECT = "aligned", "union", "intersect"
MOST_LANES = 64
# Coordinates are data of tokens.
MOST_EXTENT = 1 << DATA_BITS
MOST_DEPTH = 1 << 10
# Of a balance: items of a PE that are under way, how many operations the two items of a row may be apart, and bits of the
# counters of operations, by which ages are compared.
IN_FLIGHT, AHEAD, AGE_BITS = 4, 3, 8
Bits = Annotated[int, Whole(1, MOST_BITS)]
# As a position: where a fiber goes along.
ALONG = -1
Position = Annotated[int, Whole(ALONG, MOST_LANES - 1)]


class Kind:
    """What a unit does: a `Worker`, a `Spread` or a `Balance`."""


@dataclass(frozen=True)
class Taken:
    """An operand of a PE; `forwards` others have it from this one."""

    name: Annotated[str, Identifier()]
    bits: Bits
    form: Annotated[str, OneOf((FIBER, WORD))]
    forwards: Annotated[int, Whole(0, MOST_LANES)] = 0

    def __post_init__(self) -> None:
        check(self, "operand of a PE")


@dataclass(frozen=True)
class Worker(Kind):
    """What a PE does; also a merger, of two fibers.

    Parameters
    ----------
    operands : tuple       At least one fiber.
    join, carriers         How the fibers with the coordinates of the PE are joined, and which these are: 1, or 2 to join.
                           All others have a pair for each coordinate that is left.
    value : Logic          Over operands, of which one that is missing counts as 0.
    bits : int             Of the result.
    sums : bool            The result is one word, the sum of all values, or what else they become; else a fiber. It begins
                           with 0, a product with 1.
    quiet : bool           Where a word is missing no value leaves.
    row : str              The word whose coordinate goes beside each pair of the result; "" for none.
    reduction : str        Where it sums, of `REDUCTIONS`, what values become.
    """

    operands: tuple[Taken, ...]
    join: Annotated[str, OneOf((ALIGNED, UNION, INTERSECT))]
    carriers: Annotated[tuple[str, ...], Tuple((Identifier(),), True)]
    value: Logic
    bits: Bits
    sums: bool = False
    quiet: bool = False
    row: str = ""
    reduction: Annotated[str, OneOf(REDUCTIONS)] = ADD

    def __post_init__(self) -> None:
        check(self, "PE")

    @property
    def is_joined(self) -> bool:
        """Whether two fibers have the coordinates, of which one may wait for the other."""
        return self.join != ALIGNED


@dataclass(frozen=True)
class Spread(Kind):
    """From `lanes` fibers, each of one row or none, to a fiber for each of `rows` rows."""

    lanes: Annotated[int, Whole(1, MOST_LANES)]
    rows: Annotated[int, Whole(1, MOST_LANES)]
    bits: Bits

    def __post_init__(self) -> None:
        check(self, "spread")


@dataclass(frozen=True)
class Balance(Kind):
    """Leads the work of rows to whichever row is free: in each operation a row has an item that stays, and one that may move.

    Each item is a fiber in each lane, and the words of its row, which both items have.

    Parameters
    ----------
    takers : tuple     For each row those that may take its work, itself first.
    lanes : tuple      Bits of each fiber of an item.
    results : int      Words of an item, or fibers.
    bits : int         Of a word, or of the values of a fiber.
    reduction : str    Of `REDUCTIONS`, what the words of the two items of a row become.
    words : tuple      Bits of each word of a row.
    fibers : bool      Results are fibers. Those of the two items leave apart, and behind each there is room for a whole one.
    """

    takers: tuple[tuple[Annotated[int, Whole(0, MOST_LANES - 1)], ...], ...]
    lanes: tuple[Bits, ...]
    results: Annotated[int, Whole(1, MOST_LANES)]
    bits: Bits
    reduction: Annotated[str, OneOf(REDUCTIONS)] = field(default=ADD, repr=False)
    words: tuple[Bits, ...] = ()
    fibers: bool = False

    def __post_init__(self) -> None:
        check(self, "balance")

    def choices(self, row: int) -> list[tuple[str, int]]:
        """What a row may do: its own work that stays (``f``), then work that moves (``m``), of which row, its own first."""
        others = [of for of, takers in enumerate(self.takers) if row in takers and of != row]
        return [("f", row), *(("m", of) for of in (row, *others))]

    @property
    def digest(self) -> str:
        """Tells balances apart, in names of modules."""
        said = f"Balance(takers={self.takers}, lanes={self.lanes}, results={self.results}, bits={self.bits})"
        said += self.reduction if self.reduction != ADD else ""
        said += f"{self.words}{self.fibers}" if self.words or self.fibers else ""
        return hashlib.sha256(said.encode()).hexdigest()[:8]


@dataclass(frozen=True)
class Unit:
    """A PE, merger or spread of the array."""

    name: Annotated[str, Identifier()]
    kind: Kind

    def __post_init__(self) -> None:
        check(self, "unit")


@dataclass(frozen=True)
class Link:
    """From an output of a unit to an input of one, or from a port or to one, whose unit is ""; with a FIFO of some entries."""

    source: tuple[str, str]
    sink: tuple[str, str]
    depth: Annotated[int, Whole(2, MOST_DEPTH)] = 2

    def __post_init__(self) -> None:
        check(self, "link")


@dataclass(frozen=True)
class Border:
    """A port.

    Parameters
    ----------
    name : str
    tensor, form
    at : tuple        For each dimension of the tensor its index, and the position there, `ALONG` where a fiber goes along;
                      then those by which they are found.
    crd : str         Of a word, the index whose coordinate goes with it, or "".
    begin, end : int  Of a fiber, the coordinates that go through this port.
    """

    name: Annotated[str, Identifier()]
    tensor: Annotated[str, Identifier()]
    form: Annotated[str, OneOf((FIBER, WORD))]
    at: tuple[tuple[str, Position], ...]
    crd: str = ""
    begin: Annotated[int, Whole(0, MOST_EXTENT)] = 0
    end: Annotated[int, Whole(0, MOST_EXTENT)] = MOST_EXTENT

    def __post_init__(self) -> None:
        check(self, "port")


@dataclass(frozen=True)
class Found:
    """How a skipped index is found: its coordinates are those at which all, or any, of some elements are not 0.

    Parameters
    ----------
    index : str
    needs_all : bool
    reads : tuple       Tensor and indices of each element.
    whole : tuple       Those of `reads` of which all elements along the index count as one: their fibers are whole, or empty.
    """

    index: Annotated[str, Identifier()]
    needs_all: bool
    reads: tuple[tuple[str, tuple[str, ...]], ...]
    whole: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def __post_init__(self) -> None:
        check(self, "skipped index")


@dataclass(frozen=True)
class Elastic:
    """An elastic array.

    Parameters
    ----------
    name : str                 Of the module.
    indices : tuple            Name and extent.
    time : str                 The index along which fibers go.
    operands, results : tuple
    units, links : tuple
    found : tuple              The skipped indices. Positions of one count the coordinates that are left, from 0.
    carried : tuple            Tensor and indices of operands whose fibers hold their own nonzeros; fibers of others have the
                               coordinates left.
    inputs, outputs : tuple    Ports.
    """

    name: Annotated[str, Identifier()]
    indices: tuple[tuple[str, Annotated[int, Whole(1, MOST_EXTENT)]], ...]
    time: Annotated[str, Identifier()]
    operands: tuple[Shaped, ...]
    results: tuple[Shaped, ...]
    units: tuple[Unit, ...]
    links: tuple[Link, ...]
    found: tuple[Found, ...]
    carried: tuple[tuple[Annotated[str, Identifier()], Annotated[tuple[str, ...], Tuple((Identifier(),), True)]], ...]
    inputs: tuple[Border, ...]
    outputs: tuple[Border, ...]

    def __post_init__(self) -> None:
        check(self, "elastic array")

    def bits(self, tensor: str) -> int:
        """Bits of an element."""
        return next(each.bits for each in (*self.operands, *self.results) if each.name == tensor)

    @property
    def reduction(self) -> str:
        """By what the result is made of what its points have."""
        return next((unit.kind.reduction for unit in self.units if isinstance(unit.kind, Worker)
                     and unit.kind.reduction != ADD), ADD)

    def to_json(self) -> dict[str, Any]:
        """Everything, as plain values."""
        return asdict(self)


def adder(bits: int, logic: Logic) -> Worker:
    """A merger of two sorted fibers ``x`` and ``y``: what either has, by `logic` where both have it."""
    return Worker((Taken("x", bits, FIBER), Taken("y", bits, FIBER)), UNION, ("x", "y"), logic, bits)
