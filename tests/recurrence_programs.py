"""Functionality over the grammar of recurrences as plain data, with what it means worked out by itself.

`Program.functionality` writes it as a user would. `Program.meaning` follows the assignments with Python's numbers, and has no
part of Sardonyx in it. `recurrence_draws` draws programs at random.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sardonyx import spatial as sp
from sardonyx.compiler.lang.recurrence import Recurrences

BITS = {"int8": 8, "int16": 16, "int32": 32}
# As a user writes them, and what they mean.
OPERATIONS: dict[str, tuple[Callable[..., Any], Callable[..., int]]] = {
    "+": (lambda a, b: a + b, lambda a, b: a + b), "-": (lambda a, b: a - b, lambda a, b: a - b),
    "*": (lambda a, b: a * b, lambda a, b: a * b), "neg": (lambda a: -a, lambda a: -a),
    "abs": (sp.absolute, abs), "min": (sp.minimum, min), "max": (sp.maximum, max),
    "<": (lambda a, b: a < b, lambda a, b: a < b), "<=": (lambda a, b: a <= b, lambda a, b: a <= b),
    ">": (lambda a, b: a > b, lambda a, b: a > b), ">=": (lambda a, b: a >= b, lambda a, b: a >= b),
    "==": (sp.equal, lambda a, b: a == b), "!=": (sp.different, lambda a, b: a != b),
    "&": (lambda a, b: a & b, lambda a, b: a != 0 and b != 0), "|": (lambda a, b: a | b, lambda a, b: a != 0 or b != 0),
    "~": (lambda a: ~a, lambda a: a == 0), "select": (sp.select, lambda c, a, b: a if c else b)}
OPERANDS = {"neg": 1, "abs": 1, "~": 1, "select": 3}


@dataclass(frozen=True)
class At:
    """A place: a sum of indices, by number, and a number; or a side of one index."""

    terms: tuple[tuple[int, int], ...] = ()
    constant: int = 0
    side: str = ""

    def value(self, point: Sequence[int], extents: Sequence[int]) -> int:
        if self.side:
            return extents[self.terms[0][0]] - 1
        return sum(factor * point[index] for index, factor in self.terms) + self.constant

    def written(self, indices: Sequence[Any]) -> Any:
        if self.side:
            return getattr(indices[self.terms[0][0]], self.side)
        return sum((factor * indices[index] for index, factor in self.terms), start=0) + self.constant


@dataclass(frozen=True)
class Read:
    name: str
    at: tuple[At, ...]


@dataclass(frozen=True)
class Apply:
    operation: str
    operands: tuple[Expr, ...]


Expr = int | Read | Apply


@dataclass(frozen=True)
class Line:
    """An assignment; of an output perhaps an addition."""

    target: Read
    value: Expr
    adds: bool = False


@dataclass(frozen=True)
class Program:
    """Functionality: extents of indices, their signs along which values are handed on, types of names, and assignments."""

    extents: tuple[int, ...]
    signs: tuple[int, ...]
    inputs: Mapping[str, str]
    variables: Mapping[str, str]
    outputs: Mapping[str, str]
    lines: tuple[Line, ...]

    @property
    def bounds(self) -> dict[str, int]:
        return dict(zip(self.names, self.extents))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple("ijkl"[:len(self.extents)])

    @cached_property
    def functionality(self) -> Recurrences:
        """The assignments as a user writes them."""
        indices = sp.indices(" ".join(self.names))
        calls = {name: make(name, dtype=dtype)[0] for make, declared in (
            (sp.inputs, self.inputs), (sp.variables, self.variables), (sp.outputs, self.outputs))
            for name, dtype in declared.items()}

        def written(expr: Expr) -> Any:
            if isinstance(expr, int):
                return expr
            if isinstance(expr, Read):
                return calls[expr.name](*(each.written(indices) for each in expr.at))
            # Python computes with numbers alone by itself.
            operands = [written(each) for each in expr.operands]
            return OPERATIONS[expr.operation][0](*operands)

        return sp.functionality(*(getattr(written(line.target), "add" if line.adds else "eq")(written(line.value))
                                  for line in self.lines))

    def meaning(self, operands: Mapping[str, Any]) -> dict[str, dict[tuple[int, ...], int]]:
        """Every element of every output, for one operation."""
        types = {**self.inputs, **self.variables, **self.outputs}
        known: dict[tuple[str, tuple[int, ...]], int] = {}

        def fits(each: At, index: int, at: int) -> bool:
            if each.side == "lower":
                return at < 0
            return at == each.value((), self.extents) if each.side or not each.terms else 0 <= at < self.extents[index]

        def value(expr: Expr, point: tuple[int, ...]) -> int:
            if isinstance(expr, int):
                return expr
            if isinstance(expr, Apply):
                return int(OPERATIONS[expr.operation][1](*(value(each, point) for each in expr.operands)))
            at = tuple(each.value(point, self.extents) for each in expr.at)
            return int(operands[expr.name][at]) if expr.name in self.inputs else variable(expr.name, at)

        def variable(name: str, point: tuple[int, ...]) -> int:
            if (name, point) not in known:
                line = next(line for line in self.lines if line.target.name == name and all(
                    fits(each, index, at) for index, (each, at) in enumerate(zip(line.target.at, point))))
                known[name, point] = cut(value(line.value, point), types[name])
            return known[name, point]

        found: dict[str, dict[tuple[int, ...], int]] = {name: {} for name in self.outputs}
        for line in self.lines:
            if line.target.name in self.outputs:
                assert isinstance(line.value, Read)
                # An index that the variable is read at a plane of does not count.
                for point in itertools.product(*(range(extent) if at.terms and not at.side else (0,)
                                                 for at, extent in zip(line.value.at, self.extents))):
                    element = tuple(each.value(point, self.extents) for each in line.target.at)
                    before = found[line.target.name].get(element, 0) if line.adds else 0
                    found[line.target.name][element] = before + value(line.value, point)
        return {name: {at: cut(each, types[name]) for at, each in elements.items()} for name, elements in found.items()}

    @cached_property
    def distances(self) -> set[tuple[int, ...]]:
        """Between points and those that they read, or more."""
        places: dict[str, list[tuple[At, ...]]] = {name: [] for name in self.variables}
        # Borders last: by then it is known who reads them.
        for line in sorted(self.lines, key=lambda line: any(each.side == "lower" for each in line.target.at)):
            for read in reads(line.value):
                if read.name in self.variables and line.target.name in self.variables:
                    places[read.name].append(read.at)
                    # What is read of a border comes from elsewhere, but for the points of whoever reads the border.
                    below = {index for index, each in enumerate(line.target.at) if each.side == "lower"}
                    places[read.name] += [tuple(own if index in below else other for index, (own, other) in enumerate(
                        zip(read.at, reader))) for reader in places[line.target.name] if below]
        ways = {way for found in places.values() for at in found for way in itertools.product(*(
            (-each.constant,) if each.terms and not each.side else tuple(sign * far for far in range(extent + 1))
            for each, sign, extent in zip(at, self.signs, self.extents)))}
        return ways | {(0,) * len(self.extents)}


def reads(expr: Expr) -> list[Read]:
    if isinstance(expr, Apply):
        return [each for operand in expr.operands for each in reads(operand)]
    return [expr] if isinstance(expr, Read) else []


def cut(value: int, dtype: str) -> int:
    """The low bits of a number, in two's complement."""
    half = 1 << BITS[dtype] - 1
    return (value + half) % (2 * half) - half
