"""Unroll recurrences: what every variable is at every point that a result needs, and over which other points.

Input:   recurrences, and the extent of every index.
Output:  Unrolled. Reads on planes before the first are replaced by what is assigned there, so all points are inside.
Errors:  UserError for what is read and not assigned, for elements of a result that are assigned twice or never, for values that
         depend on themselves, for spaces of more than `MOST_POINTS` points, and for arrays that are too large (`size`).
Cost:    32 x 32 x 32 points of a matrix product take 0.3 s of processor time, 64 x 64 x 64 2.2 s.
Source:  Stellar IV-A (points and connections by unrolling the functionality).
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from operator import le, lt, sub

from ...hw.arch.errors import UserError, shown
from ..lang.recurrence import (
    LOWER,
    OUTPUT,
    VARIABLE,
    Assignment,
    Expr,
    Number,
    Place,
    Plane,
    Read,
    Recurrences,
    own,
    reads,
    whole,
)
from .dependence import check_order, is_forwards
from .points import Compute, Element, Point, Term, Unrolled, Use, Value, elements, shown_at, source, uses
from .size import may_be_too_large, refuse_too_large
from .transform import Transform

MOST_POINTS = 1 << 18
# Of a tensor, most of which are then not read.
MOST_ELEMENTS = 1 << 22
# Border planes that are read through others, one after the other.
MOST_BORDERS = 16


def unroll(recurrences: Recurrences, bounds: Mapping[str, int], transform: Transform | None = None) -> Unrolled:
    """Recurrences over all points of a space; with the transform of an array that has all of them, as long as it is not too
    large."""
    extents = _extents(recurrences, bounds)
    count = prod(extents.values())
    if count > MOST_POINTS:
        raise UserError(f"the iteration space has {count:,} points", "bounds", f"use {MOST_POINTS:,} or fewer")
    work = _Unroller(recurrences, extents)
    results, parts = work.results()
    if transform is not None and may_be_too_large(transform, tuple(extents.values())):
        # All values of a space that is refused would take many times as long.
        refuse_too_large(transform, tuple(extents.values()), dict.fromkeys(work.summed(results.values())))
    values = work.values([*results.values(), *(value for *_, value in parts)])
    if not is_forwards(values):
        check_order(values)
    return Unrolled(recurrences, extents, values, results, work.shapes(values, results), tuple(parts))


def _extents(recurrences: Recurrences, bounds: Mapping[str, int]) -> dict[str, int]:
    if unknown := [name for name in bounds if name not in recurrences.indices]:
        raise UserError(f"there is no index {shown(str(unknown[0]))}", "bounds", f"give {', '.join(recurrences.indices)}")
    if missing := [name for name in recurrences.indices if name not in bounds]:
        raise UserError(f"index {missing[0]} has no bound", "bounds", f"give the extent of {missing[0]}")
    for name in recurrences.indices:
        if not 1 <= whole(bounds[name], f"bound of {name}") <= MOST_POINTS:
            raise UserError(f"it is {shown(repr(bounds[name]))}", f"bound of {name}", f"give a whole number 1..{MOST_POINTS}")
    return {name: whole(bounds[name]) for name in recurrences.indices}


@dataclass(frozen=True)
class _Inside:
    """An assignment where it reads nothing at a border: its term, variables and distances, and the points where that holds."""

    term: Term
    uses: tuple[tuple[str, Point], ...]
    first: Point
    last: Point


@dataclass(frozen=True)
class _Unroller:
    recurrences: Recurrences
    bounds: Mapping[str, int]

    def results(self) -> tuple[dict[tuple[str, Point], Value], list[tuple[str, Point, Value]]]:
        """The value of every element of every output, and what else points add to some."""
        found: dict[tuple[str, Point], Value] = {}
        parts = []
        for one in self._assigned(OUTPUT):
            assert isinstance(one.value, Read), "outputs are assigned variables"
            ranges = [range(extent) if own(at, index) else (self._fixed(at, index),)
                      for at, (index, extent) in zip(one.value.at, self.bounds.items(), strict=True)]
            for point in itertools.product(*ranges):
                names = dict(zip(self.bounds, point))
                element = tuple(at.at(names) for at in one.target.at if not isinstance(at, Plane))
                if (one.target.name, element) in found and one.adds:
                    parts.append((one.target.name, element, (one.value.name, point)))
                    continue
                if (one.target.name, element) in found:
                    raise UserError(f"{shown_at(one.target.name, element)} is assigned twice", _line(one),
                                    "name a plane, as k.upper, for every index that the output does not have")
                found[one.target.name, element] = one.value.name, point
        if not found:
            raise UserError("no output is assigned", "functionality", "assign one, as C(i, j).eq(c(i, j, k.upper))")
        return found, parts

    def values(self, wanted: Iterable[Value]) -> dict[Value, Term]:
        """What every value is that is needed for some."""
        found: dict[Value, Term] = {}
        todo = list(wanted)
        while todo:
            value = todo.pop()
            if value in found:
                continue
            name, point = value
            inside = self._inside(name, point)
            if inside is not None and all(map(le, inside.first, point)) and all(map(le, point, inside.last)):
                found[value] = inside.term
                todo += [(variable, tuple(map(sub, point, distance))) for variable, distance in inside.uses]
            else:
                found[value] = term = self._term(value)
                todo += [source(value, use) for use in uses(term)]
        return found

    def summed(self, results: Iterable[Value]) -> Iterator[Point]:
        """The points of results, and of what they have from themselves elsewhere, as of a sum: some of all that are needed."""
        seen: set[Value] = set()
        for name, at in results:
            point: Point | None = at
            while point is not None and (name, point) not in seen:
                seen.add((name, point))
                yield point
                point = self._before(name, point)

    def _before(self, name: str, point: Point) -> Point | None:
        """Where a variable has itself from; None where it has not, or from a border."""
        for fixed, distance in self._own_distances.get(name, ()):
            if all(point[at] == place for at, place in fixed):
                before = point if distance is None else tuple(map(sub, point, distance))
                return before if min(before) >= 0 and all(map(lt, before, self.bounds.values())) else None
        return None

    @functools.cached_property
    def _own_distances(self) -> dict[str, list[tuple[list[tuple[int, int]], Point | None]]]:
        """For every variable the assignments that may fit a point inside: the places they are at, how far they read itself."""
        found: dict[str, list[tuple[list[tuple[int, int]], Point | None]]] = {}
        for one, fixed in self._at_places():
            itself = (self._distance(each) for each in reads(one.value) if each.name == one.target.name)
            found.setdefault(one.target.name, []).append((fixed, next(itself, None)))
        return found

    def _inside(self, name: str, point: Point) -> _Inside | None:
        """The assignment of a variable at a point inside, as it is where it reads nothing at a border."""
        for fixed, inside in self._assignments.get(name, ()):
            if all(point[at] == place for at, place in fixed):
                return inside
        return None

    @functools.cached_property
    def _assignments(self) -> dict[str, list[tuple[list[tuple[int, int]], _Inside | None]]]:
        """For every variable the assignments that may fit a point inside, with the places that they are at."""
        found: dict[str, list[tuple[list[tuple[int, int]], _Inside | None]]] = {}
        for one, fixed in self._at_places():
            found.setdefault(one.target.name, []).append((fixed, self._as_inside(one)))
        return found

    def _at_places(self) -> Iterator[tuple[Assignment, list[tuple[int, int]]]]:
        """The assignments of variables that may fit a point inside, each with the places, by axis, that it is at."""
        for one in self._assigned(VARIABLE):
            places = list(zip(one.target.at, self.bounds, strict=True))
            if not any(isinstance(each, Plane) and each.side == LOWER for each, _ in places):
                yield one, [(at, self._fixed(each, index)) for at, (each, index) in enumerate(places) if not own(each, index)]

    def _as_inside(self, one: Assignment) -> _Inside | None:
        """An assignment whose reads are all of variables at constant distances; None of others."""
        distances: dict[Use, None] = {}

        def term(expr: Expr) -> Term | None:
            if isinstance(expr, Number):
                return expr
            if not isinstance(expr, Read):
                operands = tuple(map(term, expr.operands))
                return Compute(expr.operation, tuple(each for each in operands if each is not None)) \
                    if None not in operands else None
            if self.recurrences.declared[expr.name].role != VARIABLE:
                return None
            distance = self._distance(expr)
            if distance is None:
                return None
            use = Use(expr.name, distance)
            distances[use] = None
            return use

        made = term(one.value)
        if made is None:
            return None
        columns = list(zip(*((0,) * len(self.bounds), *(use.distance for use in distances))))
        return _Inside(made, tuple((use.variable, use.distance) for use in distances), tuple(map(max, columns)),
                       tuple(extent - 1 + min(0, *each) for extent, each in zip(self.bounds.values(), columns)))

    def _distance(self, read: Read) -> Point | None:
        """How far away a variable is read; None at a plane."""
        places = list(zip(read.at, self.bounds, strict=True))
        if any(isinstance(each, Plane) or each.terms != ((index, 1),) for each, index in places):
            return None
        return tuple(-each.constant for each, _ in places if not isinstance(each, Plane))

    def shapes(self, values: Mapping[Value, Term], results: Mapping[tuple[str, Point], Value]) -> dict[str, tuple[int, ...]]:
        """The shape of every tensor: as far as its elements are read or assigned."""
        last: dict[str, Point] = {}
        # Points inside share their term, which is one object.
        read = ((each.tensor, each.at) for term in {id(term): term for term in values.values()}.values()
                for each in elements(term))
        for name, at in itertools.chain(read, results):
            if min(at, default=0) < 0:
                raise UserError(f"{shown_at(name, at)} is before the first element", "functionality",
                                "add a number to its places, or assign 0 at a border instead")
            if name in last and len(last[name]) != len(at):
                raise UserError(f"{name} has {len(last[name])} dimensions in one place and {len(at)} in another",
                                "functionality", "give the same number of places everywhere")
            last[name] = tuple(map(max, last[name], at)) if name in last else at
        shapes = {name: tuple(1 + each for each in at) for name, at in last.items()}
        for name, shape in shapes.items():
            if prod(shape) > MOST_ELEMENTS:
                raise UserError(f"{name} has the shape {shape}", "functionality",
                                f"read and assign places near each other: at most {MOST_ELEMENTS:,} elements")
        for name in dict.fromkeys(name for name, _ in results):
            for at in itertools.product(*map(range, shapes[name])):
                if (name, at) not in results and name not in self.recurrences.added:
                    raise UserError(f"{shown_at(name, at)} is never assigned", "functionality",
                                    "assign all elements, or move what is assigned to begin at 0")
        # Inputs, then outputs, in the order of their appearance.
        return {each.name: shapes[each.name] for each in self.recurrences.declared.values() if each.name in shapes}

    def _term(self, value: Value) -> Term:
        name, point = value
        one = self._fitting(name, point)
        if one is None:
            raise UserError(f"{self._at(value)} is needed, but no assignment fits it", "functionality", f"assign {name} there")
        return self._expr(one, one.value, point, point, 0)

    def _expr(self, one: Assignment, expr: Expr, at: Point, reader: Point, borders: int) -> Term:
        """An expression at a point, as the reader at another sees it."""
        if isinstance(expr, Number):
            return expr
        if not isinstance(expr, Read):
            return Compute(expr.operation, tuple(self._expr(one, operand, at, reader, borders) for operand in expr.operands))
        names = dict(zip(self.bounds, at))
        if self.recurrences.declared[expr.name].role != VARIABLE:
            return Element(expr.name, tuple(each.at(names) for each in expr.at if not isinstance(each, Plane)))
        point = tuple(each.at(names) if not isinstance(each, Plane) else self._fixed(each, index)
                      for each, index in zip(expr.at, self.bounds, strict=True))
        beyond = [index for at, (index, extent) in zip(point, self.bounds.items()) if at >= extent]
        if beyond:
            raise UserError(f"{self._at((expr.name, point))} is read, beyond the last {beyond[0]}", _line(one),
                            f"read it at {beyond[0]}.upper, or assign that plane on its own")
        if min(point) >= 0:
            return Use(expr.name, tuple(a - b for a, b in zip(reader, point)))
        border = self._fitting(expr.name, point)
        if border is None:
            lower = next(index for at, index in zip(point, self.bounds) if at < 0)
            raise UserError(f"{self._at((expr.name, point))} is read, but no assignment fits it", _line(one),
                            f"assign {expr.name} at {lower}.lower")
        if borders == MOST_BORDERS:
            raise UserError(f"{expr.name} at a border is read through more than {MOST_BORDERS} others", _line(border),
                            "assign an input, a number or a variable inside")
        return self._expr(border, self._border_value(border), point, reader, borders + 1)

    def _border_value(self, one: Assignment) -> Expr:
        """What is assigned at a border, which no register keeps, so nothing of it may be cut off."""
        bits = self.recurrences.bits(one.target.name)
        fits = isinstance(one.value, Number) and -1 << bits - 1 <= one.value.value < 1 << bits - 1
        fits |= isinstance(one.value, Read) and self.recurrences.bits(one.value.name) <= bits
        if not fits:
            raise UserError(f"what {one.target.name} is at a border is no input, variable or number of {bits} bits or fewer",
                            _line(one), "compute it inside, at a plane such as the number 0")
        return one.value

    def _fitting(self, name: str, point: Point) -> Assignment | None:
        return next((one for one in self._assigned(VARIABLE)
                     if one.target.name == name and self._fits(one.target, point)), None)

    def _fits(self, target: Read, point: Point) -> bool:
        for each, at, (index, extent) in zip(target.at, point, self.bounds.items(), strict=True):
            if isinstance(each, Plane) and each.side == LOWER:
                fits = at < 0
            elif own(each, index):
                fits = 0 <= at < extent
            else:
                fits = at == self._fixed(each, index)
            if not fits:
                return False
        return True

    def _fixed(self, each: Place, index: str) -> int:
        """The one place that a plane or a number is."""
        return self.bounds[index] - 1 if isinstance(each, Plane) else each.constant

    def _assigned(self, role: str) -> Iterator[Assignment]:
        return (one for one in self.recurrences.assignments if self.recurrences.declared[one.target.name].role == role)

    def _at(self, value: Value) -> str:
        return shown_at(value[0], value[1], tuple(self.bounds))


def _line(one: Assignment) -> str:
    return shown(str(one), 120)
