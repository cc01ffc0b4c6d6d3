"""What a processing element (PE) of a spatial array computes in a step: operations over what PEs computed before, words of
ports and constants.

Logic is exact: a sum has a bit more than the wider operand. What takes its value keeps the low bits, in two's complement.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated

from .check import Identifier, OneOf, Tuple, Whole, check

# Types of numbers in tensors and variables: bits in two's complement.
BITS = {"int8": 8, "int16": 16, "int32": 32}
# A logic whose exact result needs more is no user's intent: a product of four int32 has as many.
MOST_BITS = 128

# Places and elements lie no further from 0, and a value is read no later.
FARTHEST, LATEST = 1 << 30, 1 << 30
Coordinates = Annotated[tuple[int, ...], Tuple((Whole(-FARTHEST, FARTHEST),), True)]
Slot = Annotated[int, Whole(0, 1 << 20)]


@dataclass(frozen=True)
class Operation:
    """What logic may compute: its exact meaning on whole numbers, and how wide the result is for operands of some bits."""

    operands: Annotated[int, Whole(1, 3)]
    meaning: Callable[..., int]
    width: Callable[..., int]

    def __post_init__(self) -> None:
        check(self, "operation")


def _wider(*bits: int) -> int:
    return max(bits) + 1


def _widest(*bits: int) -> int:
    return max(bits)


def _truth(*_: int) -> int:
    return 2     # 0 or 1, and a sign


OPERATIONS = {
    "add": Operation(2, operator.add, _wider),
    "sub": Operation(2, operator.sub, _wider),
    "mul": Operation(2, operator.mul, lambda a, b: a + b),
    "neg": Operation(1, operator.neg, _wider),
    "abs": Operation(1, abs, _wider),
    "min": Operation(2, min, _widest),
    "max": Operation(2, max, _widest),
    "lt": Operation(2, lambda a, b: int(a < b), _truth),
    "le": Operation(2, lambda a, b: int(a <= b), _truth),
    "eq": Operation(2, lambda a, b: int(a == b), _truth),
    "ne": Operation(2, lambda a, b: int(a != b), _truth),
    # Of truth values: anything but 0 counts as true.
    "both": Operation(2, lambda a, b: int(bool(a) and bool(b)), _truth),
    "either": Operation(2, lambda a, b: int(bool(a) or bool(b)), _truth),
    "not": Operation(1, lambda a: int(not a), _truth),
    "select": Operation(3, lambda condition, a, b: a if condition else b, lambda _, a, b: max(a, b)),
}


class Logic:
    """What a PE computes in a step: one of the four classes below."""

    def __post_init__(self) -> None:
        check(self, "logic")


@dataclass(frozen=True)
class Constant(Logic):
    """A whole number."""

    value: Annotated[int, Whole(-1 << MOST_BITS - 1, (1 << MOST_BITS - 1) - 1)]


@dataclass(frozen=True)
class Tap(Logic):
    """A variable of the PE at this one's position minus `offset`, `delay` steps ago; of this PE in this step if both are 0."""

    variable: Annotated[str, Identifier()]
    offset: Coordinates
    delay: Annotated[int, Whole(0, LATEST)]


@dataclass(frozen=True)
class Feed(Logic):
    """The word of an input port of this PE; `slot` tells ports of one tensor apart."""

    tensor: Annotated[str, Identifier()]
    slot: Slot


@dataclass(frozen=True)
class Apply(Logic):
    """An operation of the table on logic."""

    operation: Annotated[str, OneOf(tuple(OPERATIONS))]
    operands: tuple[Logic, ...]


def leaves(logic: Logic) -> Iterator[Constant | Tap | Feed]:
    """What logic is over, from left to right."""
    if isinstance(logic, Apply):
        for operand in logic.operands:
            yield from leaves(operand)
    else:
        assert isinstance(logic, Constant | Tap | Feed), "logic is of one of four classes"
        yield logic


def taps(logic: Logic) -> Iterator[Tap]:
    """The variables that logic reads."""
    return (leaf for leaf in leaves(logic) if isinstance(leaf, Tap))


def width(logic: Logic, bits: Callable[[str], int]) -> int:
    """Bits of the exact value of logic; `bits` of a variable or tensor by name."""
    if isinstance(logic, Apply):
        return OPERATIONS[logic.operation].width(*(width(operand, bits) for operand in logic.operands))
    if isinstance(logic, Constant):
        return (logic.value if logic.value >= 0 else ~logic.value).bit_length() + 1
    assert isinstance(logic, Tap | Feed), "logic is of one of four classes"
    return bits(logic.variable if isinstance(logic, Tap) else logic.tensor)


def wrapped(value: int, bits: int) -> int:
    """The low bits of a number, in two's complement."""
    return ((value + (1 << bits - 1)) & (1 << bits) - 1) - (1 << bits - 1)
