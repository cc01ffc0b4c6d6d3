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

Errors:  UserError for what no recurrence can mean, with the assignment.
Source:  Stellar II-A, Listing 1. Departures: upper is the last plane itself, and planes before it may be named by numbers.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ...hw.arch.errors import UserError, shown
from ...hw.arch.spatial import BITS, OPERATIONS

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


def recurrences(assignments: tuple[Assignment, ...], names: Mapping[str, Declared]) -> Recurrences:
    """Check assignments over declared names."""
    if not assignments:
        raise UserError("there are no assignments", "functionality", "give one at least, as c(i, k).eq(...)")
    indices = _order(assignments, names)
    if len(indices) > MOST_INDICES:
        raise UserError(f"there are {len(indices)} indices", "functionality", f"use {MOST_INDICES} or fewer")
    for one in assignments:
        _check_target(one, names, indices)
        for read in dict.fromkeys(reads(one.value)):
            _check_read(one, read, names, indices, assignments)
    added = {one.target.name for one in assignments if one.adds}
    if mixed := [one for one in assignments if not one.adds and one.target.name in added]:
        raise UserError(f"{mixed[0].target.name} is assigned, and added to", shown(str(mixed[0]), 120), "add to it only")
    return Recurrences(indices, _typed(assignments, names), assignments)


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


def _order(assignments: tuple[Assignment, ...], names: Mapping[str, Declared]) -> tuple[str, ...]:
    """The indices in the order in which variables have them."""
    found: dict[int, dict[str, None]] = {}
    for one in assignments:
        for read in (one.target, *reads(one.value)):
            if names[read.name].role == VARIABLE:
                for at, each in enumerate(read.at):
                    found.setdefault(at, {}).update(dict.fromkeys(_indices(each)))
    order: list[str] = []
    for at, here in sorted(found.items()):
        if len(here) != 1 or next(iter(here)) in order:
            what = f"place {at + 1} of variables has " + (f"the indices {', '.join(here)}" if here else "no index anywhere")
            raise UserError(what if len(here) != 1 else f"index {next(iter(here))} has two places", "functionality",
                            "give every variable the same indices in the same order")
        order += here
    if not order:
        raise UserError("no variable has an index", "functionality", "declare variables and assign them at points")
    return tuple(order)


def _indices(place: Place) -> tuple[str, ...]:
    return (place.index,) if isinstance(place, Plane) else tuple(index for index, _ in place.terms)


def _check_target(one: Assignment, names: Mapping[str, Declared], indices: tuple[str, ...]) -> None:
    declared, at = names[one.target.name], one.target.at
    where = shown(str(one), 120)
    if declared.role == INPUT:
        raise UserError(f"{declared.name} is an input and cannot be assigned", where, "assign a variable, or an output")
    if declared.role == VARIABLE and one.adds:
        raise UserError(f"{declared.name} is a variable and cannot be added to", where, "add to an output")
    if declared.role == OUTPUT:
        if unknown := [index for each in at for index in _indices(each) if index not in indices]:
            raise UserError(f"no variable has the index {unknown[0]}", where, f"use {', '.join(indices)}")
        if any(isinstance(each, Plane) for each in at):
            raise UserError(f"{declared.name} is assigned at a plane", where, "give sums of indices and numbers")
        if not isinstance(one.value, Read) or names[one.value.name].role != VARIABLE:
            raise (UserError(f"what is added to {declared.name} is not one variable", where, "as in C(i + j).add(p(i, j))")
                   if one.adds else
                   UserError(f"{declared.name} is not assigned one variable", where, "as in C(i, j).eq(c(i, j, k.upper))"))
        if moved := [each for each in one.value.at if isinstance(each, Sum) and each.terms and each.constant]:
            raise UserError(f"{one.value.name} is read at {moved[0]}", where, "read it at the index itself, .upper or a number")
        if before := [each for each in one.value.at if isinstance(each, Sum) and not each.terms and each.constant < 0]:
            raise UserError(f"{one.value.name} is read at {before[0]}, where nothing is computed", where,
                            "read it at the index itself, .upper or a number from 0 on")
        return
    if len(at) != len(indices):
        raise UserError(f"{declared.name} has {len(at)} places, but there are {len(indices)} indices", where,
                        f"give one for each of {', '.join(indices)}")
    for each, index in zip(at, indices, strict=True):
        fits = own(each, index) and isinstance(each, Sum) and not each.constant
        fits |= isinstance(each, Plane) and each.index == index
        fits |= isinstance(each, Sum) and not each.terms
        if not fits:
            raise UserError(f"{declared.name} is assigned at {each} where {index} is expected", where,
                            f"give {index}, {index}.lower, {index}.upper or a number")


def _check_read(one: Assignment, read: Read, names: Mapping[str, Declared], indices: tuple[str, ...],
                assignments: tuple[Assignment, ...]) -> None:
    declared, where = names[read.name], shown(str(one), 120)
    if declared.role == OUTPUT:
        raise UserError(f"{declared.name} is an output and cannot be read", where, "read the variable that it is assigned")
    if declared.role == INPUT:
        if unknown := [index for each in read.at for index in _indices(each) if index not in indices]:
            raise UserError(f"no variable has the index {unknown[0]}", where, f"use {', '.join(indices)}")
        if any(isinstance(each, Plane) for each in read.at):
            raise UserError(f"{declared.name} is read at a plane", where, "give sums of indices and numbers")
        return
    if len(read.at) != len(indices):
        raise UserError(f"{declared.name} has {len(read.at)} places, but there are {len(indices)} indices", where,
                        f"give one for each of {', '.join(indices)}")
    for each, index in zip(read.at, indices, strict=True):
        if not (own(each, index) or (isinstance(each, Plane) and each == Plane(index, UPPER))
                or (isinstance(each, Sum) and not each.terms)):
            raise UserError(f"{declared.name} is read at {each} where {index} is expected", where,
                            f"give {index} plus or minus a number, {index}.upper or a number")
    if not any(other.target.name == read.name for other in assignments):
        raise UserError(f"{declared.name} is read but never assigned", where, "assign it, or declare it as an input")


def _typed(assignments: tuple[Assignment, ...], names: Mapping[str, Declared]) -> dict[str, Declared]:
    """All names that are used, with types: a variable that only copies has the type of what it copies, others have int32."""
    used = dict.fromkeys(read.name for one in assignments for read in (one.target, *reads(one.value)))
    types = {name: names[name].dtype for name in used}
    for name in used:
        if not types[name]:
            types[name] = _copied(name, assignments, types)
    return {name: Declared(name, names[name].role, types[name]) for name in used}


def _copied(name: str, assignments: tuple[Assignment, ...], types: Mapping[str, str]) -> str:
    """The type of what a variable or output copies, if that is one thing; else int32."""
    seen, todo, found = {name}, [name], set[str]()
    while todo:
        target = todo.pop()
        for one in assignments:
            if one.target.name != target:
                continue
            if one.adds or not isinstance(one.value, Read):
                return "int32"
            source = one.value.name
            if types[source]:
                found.add(types[source])
            elif source not in seen:
                seen.add(source)
                todo.append(source)
    return found.pop() if len(found) == 1 else "int32"
