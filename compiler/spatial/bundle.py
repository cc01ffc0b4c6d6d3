"""Pack a space under an optimistic skip: of every `of` points along an index in a row, `keep` positions are left.

The operand whose zeros are skipped has, at each position, a value and which of its group it was. Operands that also have the
index pass as bundles of `of` values, of which each PE takes the one that belongs to its value. Wires stay, as it is known in
which group a position is; a bundle is read once for its group.

    of A(i, 0..3) = 0 7 0 9, 2 of 4:    A = 7 9, A_at = 1 3;    b_0..b_3 = B(0..3, j), and b_1, then b_3 are taken

Input:   Unrolled, an optimistic skip.
Output:  Unrolled, over positions; inputs are ``A``, shorter, and, where something reads it, ``A_at``.
Errors:  UserError for a bound that is no multiple of `of`, for an index of the result, of which each element has a place of its
         own, and for recurrences that are not of the usual form (`operands`).
Source:  Stellar III-C, Fig. 5; Mishra et al., Accelerating sparse deep neural networks, 2021. Departure: any N of M.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce

from ...hw.arch.errors import UserError
from ...hw.arch.reduction import begins
from ..lang.recurrence import INPUT, VARIABLE, Call, Declared, Expr, Number, Recurrences
from ..lang.sparsity import Skip, promised, zeros
from .operands import Operand, usual
from .points import Compute, Element, Point, Term, Unrolled, Use, Value, elements, source, uses

# How the input is called that says which of its group a value was.
AT = "{}_at"


def bundle(unrolled: Unrolled, skip: Skip) -> Unrolled:
    """The space that is left."""
    (index,), (read,) = skip.indices, zeros(skip.where)
    if unrolled.bounds[index] % skip.of:
        raise UserError(f"{index} has {unrolled.bounds[index]} points, which is no multiple of {skip.of}", str(skip),
                        f"choose a bound of {index} that {skip.of} divides")
    return _Packer(unrolled, skip, index, read.name).packed()


class Empty:
    """Which positions of an optimistic skip conditions on indices leave empty: those whose group has nothing to compute, and,
    where they say what is 0 of the packed operand itself, those behind as many as are left of its group."""

    def __init__(self, skip: Skip, static: Sequence[Skip], recurrences: Recurrences) -> None:
        (self._index,), (read,) = skip.indices, zeros(skip.where)
        self._skip, self._static = skip, static
        self._own = [each for each in static if read.name in promised(each, recurrences)]

    def holds(self, at: Mapping[str, int]) -> bool:
        """Whether a position is one."""
        group, nth = divmod(at[self._index], self._skip.keep)
        members = [{**at, self._index: group * self._skip.of + member} for member in range(self._skip.of)]
        left, own = (sum(not any(each.holds(member) for each in some) for member in members)
                     for some in (self._static, self._own))
        return not left or own <= nth


class _Packer:
    """A space that is being packed."""

    def __init__(self, unrolled: Unrolled, skip: Skip, index: str, tensor: str) -> None:
        self._unrolled, self._skip, self._index, self._tensor = unrolled, skip, index, tensor
        self._parts = usual(unrolled.recurrences)
        if index != (way := self._parts.way):
            raise UserError(f"{index} is an index of the result {self._parts.result}, of which no element is left out",
                            str(skip), f"skip {way} optimistically, which the result is a sum along" if way else "use sp.skip")
        if len({each.indices for each in self._parts.operands if each.tensor == tensor}) > 1:
            raise UserError(f"{tensor} is read at several places of a point, of which one alone is packed", str(skip),
                            "give it as two inputs")
        self._operands = {each.name: each for each in self._parts.operands}
        self._names = tuple(unrolled.bounds)
        self._bounds = {**unrolled.bounds, index: unrolled.bounds[index] // skip.of * skip.keep}
        self._here = (0,) * len(self._names)
        self._taken = set(unrolled.recurrences.declared)
        # By variable that hands something on: the operand, which of its ways, and which of a bundle, or -1 for what says where.
        self._handed: dict[str, tuple[Operand, int, int]] = {}
        self._at = self._fresh(AT.format(tensor))
        self._variables: dict[tuple[str, int, int], str] = {}
        for each in self._parts.operands:
            for nth, (name, _) in enumerate(each.ways):
                for member in self._members(each):
                    mine = name if member == 0 and not self._is_bundle(each) else self._fresh(
                        AT.format(name) if member < 0 else f"{name}_{member}")
                    self._variables[each.name, nth, member] = mine
                    self._handed[mine] = each, nth, member

    def packed(self) -> Unrolled:
        way, indices = self._parts.way, self._parts.indices
        results, values = {}, dict[Value, Term]()
        for at in itertools.product(*(range(self._bounds[name]) for name in indices)):
            place = dict(zip(indices, at))
            point = tuple(self._bounds[name] - 1 if name == way else place[name] for name in self._names)
            results[self._parts.result, at] = self._parts.total, point
        todo = list(results.values())
        while todo:
            value = todo.pop()
            if value not in values:
                values[value] = term = self._term(*value)
                todo += [source(value, use) for use in uses(term)]
        old = self._unrolled.recurrences
        kept = {name: each for name, each in old.declared.items() if each.role != VARIABLE}
        more = {self._at: Declared(self._at, INPUT, "int8")}
        for name, (operand, _, member) in self._handed.items():
            more[name] = Declared(name, VARIABLE, "int8" if member < 0 else old.declared[operand.tensor].dtype)
        declared = {**kept, **more, self._parts.total: old.declared[self._parts.total]}
        shapes = dict(self._unrolled.shapes)
        packed = next(each for each in self._parts.operands if each.tensor == self._tensor)
        axis = packed.indices.index(self._index)
        short = tuple(extent // self._skip.of * self._skip.keep if at == axis else extent
                      for at, extent in enumerate(shapes[self._tensor]))
        shapes[self._tensor] = short
        # Where no bundle passes, nothing depends on the place of a value in its group.
        if any(each.tensor == self._at for term in values.values() for each in elements(term)):
            shapes[self._at] = short
        return replace(self._unrolled, recurrences=replace(old, declared=declared), bounds=self._bounds, values=values,
                       results=results, shapes=shapes)

    def _fresh(self, name: str) -> str:
        unique, count = name, 1
        while unique in self._taken:
            count += 1
            unique = f"{name}_{count}"
        self._taken.add(unique)
        return unique

    def _is_bundle(self, operand: Operand) -> bool:
        return self._index in operand.indices and operand.tensor != self._tensor

    def _members(self, operand: Operand) -> range:
        """What is handed on of an operand: one value, a bundle, or what says where, -1, and a value, 0."""
        return range(self._skip.of) if self._is_bundle(operand) else range(-1 if operand.tensor == self._tensor else 0, 1)

    def _term(self, name: str, point: Point) -> Term:
        """What a variable is at a point."""
        if name in self._handed:
            return self._hand(*self._handed[name], point)
        value = self._value(self._parts.value, point)
        way = self._parts.way
        if not way:
            return value
        reduction = self._parts.reduction
        before = Use(name, self._step(way)) if point[self._names.index(way)] else Number(begins(reduction))
        return Compute(reduction, (before, value))

    def _hand(self, operand: Operand, nth: int, member: int, point: Point) -> Term:
        """A member of an operand as one of its ways hands it on."""
        name, way = self._variables[operand.name, nth, member], operand.ways[nth][1]
        if point[self._names.index(way)]:
            return Use(name, self._step(way))
        if self._is_bundle(operand) and nth == 0 and point[self._names.index(self._index)] % self._skip.keep:
            # The bundle of the position before is that of the same group.
            return Use(name, self._step(self._index))
        if nth:
            return Use(self._variables[operand.name, nth - 1, member], self._here)
        return self._element(operand, member, point)

    def _element(self, operand: Operand, member: int, point: Point) -> Element:
        at = dict(zip(self._names, point))
        if self._is_bundle(operand):
            at[self._index] = at[self._index] // self._skip.keep * self._skip.of + member
        return Element(self._at if member < 0 else operand.tensor, tuple(at[index] for index in operand.indices))

    def _value(self, expr: Expr, point: Point) -> Term:
        if isinstance(expr, Number):
            return expr
        if isinstance(expr, Call):
            return Compute(expr.operation, tuple(self._value(each, point) for each in expr.operands))
        operand = self._operands[expr.name]
        if not self._is_bundle(operand):
            return self._member(operand, 0, point)
        place = self._member(next(each for each in self._parts.operands if each.tensor == self._tensor), -1, point)
        *others, last = (self._member(operand, member, point) for member in range(self._skip.of))
        chosen = [(Compute("eq", (place, Number(member))), each) for member, each in enumerate(others)]
        return reduce(lambda rest, one: Compute("select", (*one, rest)), reversed(chosen), last)

    def _member(self, operand: Operand, member: int, point: Point) -> Term:
        """A member of an operand at a point."""
        if not operand.ways:
            return self._element(operand, member, point)
        return Use(self._variables[operand.name, len(operand.ways) - 1, member], self._here)

    def _step(self, way: str) -> Point:
        return tuple(int(name == way) for name in self._names)
