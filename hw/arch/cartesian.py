"""The description of an array of Cartesian products: a few elements of one fiber times a few of another one in each cycle.

Each element has a value and a place; what two give belongs to the sum whose place is the sum of both, in one of many banks, to
which products find their way through a crossbar. So convolutions of sparse images with sparse weights multiply no zero: of a
channel every pixel that is not 0 meets every weight that is not 0, and places are those of the output (`vectored`).

Source: SCNN (Parashar et al., ISCA 2017) III-B and IV; Stellar VI-B, Fig. 15.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from .check import Identifier, Misfit, PowerOfTwo, Whole, check
from .logic import MOST_BITS, Apply, Feed, Logic, Tap, leaves, width

LEFT, RIGHT = "left", "right"
PRODUCT = Apply("mul", (Feed(LEFT, 0), Feed(RIGHT, 0)))
MOST_ELEMENTS, MOST_BANKS, MOST_WORDS, MOST_DEPTH, MOST_STORED, MOST_FIBERS = 8, 64, 1 << 12, 64, 1 << 12, 8


@dataclass(frozen=True)
class Cartesian:
    """An array of Cartesian products.

    Parameters
    ----------
    name : str            Of the module.
    left, right : int     Elements of each fiber that meet in a cycle; those of the right one are held, and come again for all
                          of the left one.
    banks, words : int    Of sums: place p is in bank p modulo `banks`.
    left_bits, right_bits Of a value of each.
    sum_bits : int        Of a sum, which wraps.
    value : Logic         What two elements give, over the feeds `LEFT` and `RIGHT`.
    value_bits : int      Of what they give, which wraps.
    lanes : int           FIFOs of each product in front of the crossbar: one for each rest of the bank.
    depth : int           Of these FIFOs.
    stored : int          Vectors of a right fiber that are held.
    fibers : int          Right fibers that are held at once: one is given, others enter.
    """

    name: Annotated[str, Identifier()]
    left: Annotated[int, Whole(1, MOST_ELEMENTS)] = 4
    right: Annotated[int, Whole(1, MOST_ELEMENTS)] = 4
    banks: Annotated[int, PowerOfTwo(2, MOST_BANKS)] = 32
    words: Annotated[int, PowerOfTwo(2, MOST_WORDS)] = 64
    left_bits: Annotated[int, Whole(2, 32)] = 8
    right_bits: Annotated[int, Whole(2, 32)] = 8
    sum_bits: Annotated[int, Whole(4, 32)] = 32
    value: Logic = PRODUCT
    value_bits: Annotated[int, Whole(2, 32)] = 32
    lanes: Annotated[int, PowerOfTwo(1, MOST_BANKS)] = 2
    depth: Annotated[int, Whole(1, MOST_DEPTH)] = 4
    stored: Annotated[int, PowerOfTwo(2, MOST_STORED)] = 64
    fibers: Annotated[int, Whole(2, MOST_FIBERS)] = 2

    def __post_init__(self) -> None:
        check(self, "array of products", self._rules)

    def _rules(self) -> Iterator[Misfit]:
        if self.lanes > self.banks:
            yield Misfit("lanes", f"is {self.lanes}, of {self.banks} banks", f"give {self.banks} or fewer")
        feeds = {each.tensor for each in leaves(self.value) if isinstance(each, Feed)}
        if feeds - {LEFT, RIGHT} or any(isinstance(each, Tap) for each in leaves(self.value)):
            yield Misfit("value", "is over more than two elements", f"use feeds {LEFT} and {RIGHT}")
        elif (exact := width(self.value, self._bits)) > MOST_BITS:
            yield Misfit("value", f"has {exact} bits", f"at most {MOST_BITS} bits are computed at once")

    def _bits(self, feed: str) -> int:
        return self.left_bits if feed == LEFT else self.right_bits

    @property
    def product_bits(self) -> int:
        """Of what two elements give, as far as it can matter."""
        return min(width(self.value, self._bits), self.value_bits, self.sum_bits)

    @property
    def places(self) -> int:
        """Of sums."""
        return self.banks * self.words

    @property
    def place_bits(self) -> int:
        """Of a place."""
        return (self.places - 1).bit_length()

    def to_json(self) -> dict[str, Any]:
        """Everything, as plain values."""
        return asdict(self)
