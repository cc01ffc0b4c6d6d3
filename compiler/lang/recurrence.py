"""Recurrences over an iteration space: what a spatial array computes, as assignments to variables at its points.

    i, j, k = indices("i j k")
    a(i, j.lower, k).eq(A(i, k))                    # on the plane before the first j, a is read in
    a(i, j, k).eq(a(i, j - 1, k))                   # inside, it comes from the point before
    C(i, j).eq(c(i, j, k.upper))                    # at the last k, a result leaves
    D(i + j).add(c(i, j, k))                        # or every point adds to an element of one

A point has a whole number 0, 1, ... for every index. ``j.lower`` is any plane before 0, ``j.upper`` the last one, and a
number is that one. Of several assignments that fit a point, the first counts. A variable is read at a constant distance, or
at planes that are named; a tensor at any sum of indices and numbers. Numbers are exact until they are assigned, which keeps
the low bits. An element to which points add is the sum of what they give, 0 where none does, and has the low bits of it.

Errors:  UserError for numbers and expressions out of range; `recurrence_checks` has what assignments have to be.
Source:  Stellar II-A, Listing 1. Departures: upper is the last plane itself, and planes before it may be named by numbers.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ...hw.arch.errors import UserError, shown
from ...hw.arch.logic import BITS, OPERATIONS

LOWER, UPPER = "lower", "upper"
MOST_INDICES = 8
# Of an expression, so that recursion over its tree stays shallow and short.
DEEPEST, LARGEST = 50, 1_000
MOST_NUMBER = (1 << 31) - 1


@dataclass(frozen=True)
class Sum:
    """A sum of indices, each times a whole number, and a whole number."""

    terms: tuple[tuple[str, int], ...]
    constant: int = 0

    def __add__(self, other: object) -> Sum:
        more = summed(other)
        factors = dict(self.terms)
        for index, factor in more.terms:
            factors[index] = factors.get(index, 0) + factor
        return Sum(tuple((index, factor) for index, factor in factors.items() if factor), self.constant + more.constant)

    __radd__ = __add__

    def __mul__(self, factor: object) -> Sum:
        by = whole(factor)
        return Sum(tuple((index, by * each) for index, each in self.terms if by), by * self.constant)

    __rmul__ = __mul__

    def __neg__(self) -> Sum:
        return self * -1

    def __sub__(self, other: object) -> Sum:
        return self + summed(other) * -1

    def __rsub__(self, other: object) -> Sum:
        return summed(other) - self

    def at(self, point: Mapping[str, int]) -> int:
        """Its value at a point."""
        return sum(factor * point[index] for index, factor in self.terms) + self.constant

    def __str__(self) -> str:
        parts = [f"{'-' if factor < 0 else '+'} {'' if abs(factor) == 1 else f'{abs(factor)} * '}{index}"
                 for index, factor in self.terms]
        if self.constant or not parts:
            parts.append(f"{'-' if self.constant < 0 else '+'} {abs(self.constant)}")
        text = " ".join(parts).removeprefix("+ ")
        return f"-{text[2:]}" if text.startswith("- ") else text


@dataclass(frozen=True)
class Plane:
    """All points before the first of an index (lower), or its last ones (upper)."""

    index: str
    side: str

    def __str__(self) -> str:
        return f"{self.index}.{self.side}"


Place = Sum | Plane


@dataclass(frozen=True)
class Index(Sum):
    """An index of the iteration space."""

    @classmethod
    def named(cls, name: str) -> Index:
        return cls(((name, 1),))

    @property
    def name(self) -> str:
        return self.terms[0][0]

    @property
    def lower(self) -> Plane:
        return Plane(self.name, LOWER)

    @property
    def upper(self) -> Plane:
        return Plane(self.name, UPPER)

    __str__ = Sum.__str__


@dataclass(frozen=True)
class Number:
    """A whole number."""

    value: int

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class Read:
    """A variable or tensor at a place for each index or dimension."""

    name: str
    at: tuple[Place, ...]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.at))})"


@dataclass(frozen=True)
class Call:
    """An operation of `OPERATIONS`; `call` makes one, and counts how deep its tree is and how many parts it has."""

    operation: str
    operands: tuple[Expr, ...]
    depth: int = field(compare=False)
    size: int = field(compare=False)

    def __str__(self) -> str:
        return f"{self.operation}({', '.join(map(str, self.operands))})"


Expr = Number | Read | Call


@dataclass(frozen=True)
class Assignment:
    """What a variable is at points that fit, or what an element of a result is; or what points add to it."""

    target: Read
    value: Expr
    adds: bool = False

    def __str__(self) -> str:
        return f"{self.target} {'+=' if self.adds else '='} {self.value}"


@dataclass(frozen=True)
class Declared:
    """A name: what it is (one of the roles below) and its type, of `BITS`; a type of "" is that of what is assigned."""

    name: str
    role: str
    dtype: str = ""


INPUT, VARIABLE, OUTPUT = "input", "variable", "output"


@dataclass(frozen=True)
class Recurrences:
    """Checked assignments.

    Parameters
    ----------
    indices : tuple        Of the iteration space, in the order of the coordinates of a point.
    declared : mapping     What the names are, all types known.
    assignments : tuple    The first that fits a point counts.
    """

    indices: tuple[str, ...]
    declared: Mapping[str, Declared]
    assignments: tuple[Assignment, ...]

    def of(self, role: str) -> tuple[Declared, ...]:
        """The names of a role, in the order of their appearance."""
        return tuple(each for each in self.declared.values() if each.role == role)

    @property
    def added(self) -> frozenset[str]:
        """The outputs to whose elements points add."""
        return frozenset(one.target.name for one in self.assignments if one.adds)

    def bits(self, name: str) -> int:
        return BITS[self.declared[name].dtype]


def reads(expr: Expr) -> Iterator[Read]:
    """Everything that an expression reads, from left to right."""
    if isinstance(expr, Read):
        yield expr
    elif isinstance(expr, Call):
        for operand in expr.operands:
            yield from reads(operand)


def call(operation: str, *operands: Expr) -> Expr:
    """An operation on expressions, no deeper than `DEEPEST` and of no more than `LARGEST` parts."""
    assert len(operands) == OPERATIONS[operation].operands, f"{operation} takes {OPERATIONS[operation].operands} operands"
    depths, sizes = zip(*((each.depth, each.size) if isinstance(each, Call) else (1, 1) for each in operands))
    if max(depths) >= DEEPEST:
        raise UserError(f"an expression is nested deeper than {DEEPEST}", "functionality", "assign parts of it to variables")
    if sum(sizes) >= LARGEST:
        raise UserError(f"an expression has more than {LARGEST:,} parts", "functionality", "assign parts of it to variables")
    return Call(operation, operands, 1 + max(depths), 1 + sum(sizes))


def summed(value: object) -> Sum:
    """An index, a sum of indices, or a number, as a sum."""
    return value if isinstance(value, Sum) else Sum((), whole(value))


def whole(value: object, where: str = "functionality") -> int:
    """A whole number, of Python or of NumPy; UserError for anything else."""
    if isinstance(value, Sum | Plane):
        raise UserError(f"{value} is a place and no value", where, "read a tensor or a variable there")
    try:
        number = operator.index(value)     # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise UserError(f"{shown(repr(value))} is no whole number", where, "use a whole number")
    if abs(number) > MOST_NUMBER:
        raise UserError(f"{shown(repr(number))} is out of range", where, f"use -{MOST_NUMBER} to {MOST_NUMBER}")
    return number


def place(value: object) -> Place:
    """Where something is read or assigned."""
    return value if isinstance(value, Plane) else summed(value)


def own(place: Place, index: str) -> bool:
    """Whether a place is an index itself, moved by a number."""
    return isinstance(place, Sum) and place.terms == ((index, 1),)
