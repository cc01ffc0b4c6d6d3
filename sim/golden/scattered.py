"""Results to which every point adds a value of inputs alone, all points of a part of the space at once.

Source: SCNN III-B (products add to outputs at places that are sums of coordinates).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np

from ...compiler.lang.recurrence import INPUT, Assignment, Expr, Index, Number, Read, Recurrences, Sum
from ...hw.arch.logic import OPERATIONS

# Points that are evaluated at once.
MOST_AT_ONCE = 1 << 18
MEANING = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "neg": np.negative, "abs": np.abs, "min": np.minimum,
    "max": np.maximum, "lt": np.less, "le": np.less_equal, "eq": np.equal, "ne": np.not_equal, "both": np.logical_and,
    "either": np.logical_or, "not": np.logical_not, "select": lambda condition, a, b: np.where(condition != 0, a, b)}


def pointwise(recurrences: Recurrences, one: Assignment) -> Assignment | None:
    """What the variable is that is added, if it is one expression of inputs at every point; else None."""
    assert isinstance(one.value, Read), "outputs are assigned variables"
    found = [each for each in recurrences.assignments if each.target.name == one.value.name]
    indices = [Index.named(index) for index in recurrences.indices]
    whole = len(found) == 1 and [*found[0].target.at] == indices and [*one.value.at] == indices
    return found[0] if whole and _of_inputs(recurrences, found[0].value) and _bits(recurrences, found[0].value) < 63 else None


def scattered(recurrences: Recurrences, bounds: Mapping[str, int], one: Assignment, operands: Mapping[str, np.ndarray]
              ) -> np.ndarray:
    """An output to which points add so; it wraps at its type."""
    value = pointwise(recurrences, one)
    assert value is not None and not any(not isinstance(at, Sum) for at in one.target.at), "it is pointwise"
    places = [at for at in one.target.at if isinstance(at, Sum)]
    shape = [1 + at.constant + sum(max(0, factor * (bounds[index] - 1)) for index, factor in at.terms) for at in places]
    # A result without indices is a row of one element, too.
    sums = np.zeros((1, *shape), np.int64)
    names, count = [*bounds], 1
    while names and count * bounds[names[-1]] <= MOST_AT_ONCE:
        count *= bounds[names.pop()]
    inside = [index for index in bounds if index not in names]
    grid = np.meshgrid(*(np.arange(bounds[index]) for index in inside), indexing="ij", sparse=True)
    for outer in itertools.product(*(range(bounds[index]) for index in names)):
        at = {**dict(zip(names, map(np.int64, outer))), **dict(zip(inside, grid))}
        values = _wrap(_value(value.value, at, operands), recurrences.bits(value.target.name))
        # Points that differ in an index of neither are as many.
        every = [np.broadcast_to(each, [bounds[index] for index in inside]) for each in
                 (values, np.int64(0), *(_place(each, at) for each in places))]
        np.add.at(sums, tuple(every[1:]), every[0])
    return _wrap(sums[0], recurrences.bits(one.target.name)).astype(recurrences.declared[one.target.name].dtype)


def _of_inputs(recurrences: Recurrences, expr: Expr) -> bool:
    if isinstance(expr, Read):
        return recurrences.declared[expr.name].role == INPUT
    return isinstance(expr, Number) or all(_of_inputs(recurrences, each) for each in expr.operands)


def _bits(recurrences: Recurrences, expr: Expr) -> int:
    """Of the exact value."""
    if isinstance(expr, Read):
        return recurrences.bits(expr.name)
    if isinstance(expr, Number):
        return expr.value.bit_length() + 1
    return OPERATIONS[expr.operation].width(*(_bits(recurrences, each) for each in expr.operands))


def _place(at: Sum, point: Mapping[str, np.ndarray]) -> np.ndarray:
    return np.asarray(sum((factor * point[index] for index, factor in at.terms), np.int64(at.constant)))


def _value(expr: Expr, point: Mapping[str, np.ndarray], operands: Mapping[str, np.ndarray]) -> np.ndarray:
    if isinstance(expr, Number):
        return np.asarray(expr.value, np.int64)
    if isinstance(expr, Read):
        places = tuple(_place(each, point) for each in expr.at if isinstance(each, Sum))
        return np.asarray(operands[expr.name])[places].astype(np.int64)
    return np.asarray(MEANING[expr.operation](*(_value(each, point, operands) for each in expr.operands))).astype(np.int64)


def _wrap(values: np.ndarray, bits: int) -> np.ndarray:
    half = 1 << bits - 1
    return (values + half) % (2 * half) - half
