"""What recurrences mean, on arrays: every element of every output, by following assignments back to the inputs.

Neither space nor time plays a part, and nothing is shared with the compiler but the language.

Source: Stellar II-A.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Generator, Iterator, Mapping

import numpy as np

from ...compiler.lang.recurrence import OUTPUT, VARIABLE, Assignment, Call, Expr, Number, Place, Plane, Read, Recurrences
from ...hw.arch.logic import OPERATIONS
from .scattered import pointwise, scattered

Point = tuple[int, ...]
Value = tuple[str, Point]
# A computation that asks for values and is sent them.
Asking = Generator[Value, int, int]


def evaluate(recurrences: Recurrences, bounds: Mapping[str, int], operands: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Every output.

    Parameters
    ----------
    bounds : mapping      The extent of every index.
    operands : mapping    Arrays of whole numbers by the names of inputs; elements beyond those that are read do not matter.
    """
    work = _Evaluation(recurrences, bounds, operands)
    found: dict[str, dict[Point, int]] = {each.name: {} for each in recurrences.of(OUTPUT)}
    results = {}
    for one in recurrences.assignments:
        if one.target.name not in found:
            continue
        alone = sum(each.target.name == one.target.name for each in recurrences.assignments) == 1
        if one.adds and alone and pointwise(recurrences, one):
            results[one.target.name] = scattered(recurrences, bounds, one, operands)
            continue
        assert isinstance(one.value, Read), "outputs are assigned variables"
        # Once for each element: where an index of the output's variable is a plane, at that plane only.
        planes = [work.plane(each, index) for each, index in zip(one.value.at, bounds)]
        for point in itertools.product(*([at for at in range(extent) if plane in (None, at)]
                                         for plane, extent in zip(planes, bounds.values()))):
            names = dict(zip(bounds, point))
            element = tuple(each.at(names) for each in one.target.at if not isinstance(each, Plane))
            before = found[one.target.name].get(element, 0) if one.adds else 0
            found[one.target.name][element] = before + work.value((one.value.name, point))
    for name, elements in found.items():
        if name in results:
            continue
        shape = tuple(1 + max(axis) for axis in zip(*elements))
        results[name] = np.zeros(shape, recurrences.declared[name].dtype)
        for element, value in elements.items():
            results[name][element] = _wrap(value, recurrences.bits(name))
    return results


class _Evaluation:
    """The values that are known so far."""

    def __init__(self, recurrences: Recurrences, bounds: Mapping[str, int], operands: Mapping[str, np.ndarray]) -> None:
        self._recurrences, self._bounds, self._operands = recurrences, bounds, operands
        self._known: dict[Value, int] = {}
        # For each name its assignments: where they are, and what they ask for.
        self._assigned: dict[str, list[tuple[Assignment, tuple[tuple[float, float], ...], tuple[Read, ...]]]] = {}
        for one in recurrences.assignments:
            if recurrences.declared[one.target.name].role == VARIABLE:
                self._assigned.setdefault(one.target.name, []).append((one, self._fitting(one), tuple(self._asked(one.value))))

    def value(self, wanted: Value) -> int:
        """A variable at a point. Chains of points are as long as the space, so what is asked for stands on a list of ours."""
        asking: list[tuple[Value, Asking]] = [(wanted, self._asking(wanted))]
        answer: int | None = None
        while asking:
            value, work = asking[-1]
            try:
                needed = next(work) if answer is None else work.send(answer)
            except StopIteration as done:
                answer = self._known[value] = done.value
                asking.pop()
                continue
            answer = self._known.get(needed)
            if answer is None:
                asking.append((needed, self._asking(needed)))
        assert answer is not None, "the last value answers"
        return answer

    def _asking(self, value: Value) -> Asking:
        name, point = value
        one, asked = next((one, asked) for one, where, asked in self._assigned[name]
                          if all(low <= at <= high for at, (low, high) in zip(point, where)))
        names = dict(zip(self._bounds, point))
        answers = []
        for each in asked:
            answers.append((yield each.name, self._place(each, names)))
        return _wrap(self._expr(one.value, names, iter(answers)), self._recurrences.bits(name))

    def _fitting(self, one: Assignment) -> tuple[tuple[float, float], ...]:
        """The first and the last point of each index for which an assignment is."""
        found: list[tuple[float, float]] = []
        for each, (index, extent) in zip(one.target.at, self._bounds.items(), strict=True):
            fixed = self.plane(each, index)
            if isinstance(each, Plane) and each.side == "lower":
                found.append((-math.inf, -1))
            else:
                found.append((0, extent - 1) if fixed is None else (fixed, fixed))
        return tuple(found)

    def _asked(self, expr: Expr) -> Iterator[Read]:
        """What is read of variables, in order."""
        if isinstance(expr, Read) and self._recurrences.declared[expr.name].role == VARIABLE:
            yield expr
        elif isinstance(expr, Call):
            for operand in expr.operands:
                yield from self._asked(operand)

    def plane(self, each: Place, index: str) -> int | None:
        """Which plane a place names, -1 for any before the first; None if it is an index."""
        if isinstance(each, Plane):
            return -1 if each.side == "lower" else self._bounds[index] - 1
        return None if each.terms else each.constant

    def _expr(self, expr: Expr, names: Mapping[str, int], answers: Iterator[int]) -> int:
        """The value of an expression; answers: of what it asks for."""
        if isinstance(expr, Number):
            return expr.value
        if isinstance(expr, Read):
            if self._recurrences.declared[expr.name].role == VARIABLE:
                return next(answers)
            return int(self._operands[expr.name][self._place(expr, names)])
        return OPERATIONS[expr.operation].meaning(*[self._expr(each, names, answers) for each in expr.operands])

    def _place(self, read: Read, names: Mapping[str, int]) -> Point:
        return tuple(each.at(names) if not isinstance(each, Plane) else self._bounds[each.index] - 1 for each in read.at)


def _wrap(value: int, bits: int) -> int:
    return (value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)
