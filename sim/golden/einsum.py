"""What a statement means: evaluated on sorted coordinates with NumPy, independently of every compiler pass.

Each part of the expression becomes a table of coordinates (one column per index) and values. Products join
the tables on their common indices, sums concatenate them, and an index that nothing outside a part uses is
summed at once. Values wrap modulo 2**16; the result holds exactly the nonzeros, in words as the array must
leave them in memory.

Cost:    proportional to the number of matching pairs; a product of a 2000 x 2000 matrix with 40,000 nonzeros
         with its transpose takes 0.7 s.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sardonyx.compiler.lang.einsum import Einsum
from sardonyx.compiler.lang.expr import Access, Binary, Constant, Expr, Negate, indices
from sardonyx.tensors.coordinates import Coo, Ints, keys, matches, sum_rows, wrap
from sardonyx.tensors.fibertree import build

PAIRS_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class _Table:
    """Values at coordinates: int64[n, number of names], no row twice."""

    names: tuple[str, ...]
    rows: Ints
    values: Ints

    def keep(self, wanted: set[str]) -> _Table:
        """Sum over the columns that are not wanted."""
        columns = [at for at, name in enumerate(self.names) if name in wanted]
        rows, values = sum_rows(self.rows[:, columns], self.values)
        return _Table(tuple(self.names[at] for at in columns), rows, wrap(values))

    def only(self, names: tuple[str, ...]) -> Ints:
        """The columns of these names."""
        return self.rows[:, [self.names.index(name) for name in names]]


def evaluate(einsum: Einsum, operands: Mapping[str, Coo]) -> Coo:
    """The result of a statement for operands by tensor name.

    Raises UserError if operands do not fit the statement.
    """
    shape = einsum.result_shape({name: tensor.shape for name, tensor in operands.items()})
    outside = set(einsum.result.indices)
    table = _evaluate(einsum.expr, operands, outside).keep(outside)
    return Coo.make(shape, table.only(einsum.result.indices), table.values)


def words(einsum: Einsum, result: Coo) -> tuple[list[int], ...]:
    """The block words of a result: one block per stored level, then the values."""
    return build(result, einsum.result.format).blocks(str(einsum.result))


def _evaluate(expr: Expr, operands: Mapping[str, Coo], outside: set[str]) -> _Table:
    """The table of a part; `outside` are the indices that must stay since they are used around it."""
    if isinstance(expr, Access):
        tensor = operands[expr.tensor]
        return _Table(expr.indices, tensor.coords, tensor.values.astype(np.int64)).keep(outside)
    if isinstance(expr, Constant):
        return _Table((), np.zeros((1, 0), np.int64), np.array([expr.value]))
    if isinstance(expr, Negate):
        table = _evaluate(expr.operand, operands, outside)
        return _Table(table.names, table.rows, -table.values)
    if expr.op != "*":
        left = _evaluate(expr.left, operands, outside)
        right = _evaluate(expr.right, operands, outside)
        assert set(left.names) == set(right.names), "a checked sum has the same indices in all terms"
        signed = right.values if expr.op == "+" else -right.values
        both = np.concatenate((left.rows, right.only(left.names)))
        return _Table(left.names, *sum_rows(both, np.concatenate((left.values, signed))))
    return _product(expr, operands, outside)


def _product(expr: Binary, operands: Mapping[str, Coo], outside: set[str]) -> _Table:
    left = _evaluate(expr.left, operands, outside | indices(expr.right).keys())
    right = _evaluate(expr.right, operands, outside | indices(expr.left).keys())
    common = tuple(name for name in left.names if name in right.names)
    names = left.names + tuple(name for name in right.names if name not in common)
    kept = {name for name in names if name in outside}
    table = _Table(names, np.zeros((0, len(names)), np.int64), np.zeros(0, np.int64)).keep(kept)
    for part in _slices(left, right, common):
        at_left, at_right = matches(left.only(common)[part], right.only(common))
        at_left += part.start
        rows = np.concatenate((left.rows[at_left], right.only(names[len(left.names):])[at_right]), axis=1)
        summed = _Table(names, rows, left.values[at_left] * right.values[at_right]).keep(kept)
        both = np.concatenate((table.rows, summed.rows))
        table = _Table(table.names, both, np.concatenate((table.values, summed.values))).keep(kept)
    return table


def _slices(left: _Table, right: _Table, common: tuple[str, ...]) -> list[slice]:
    """Runs of rows of the left table that match a bounded number of pairs each."""
    key_left, key_right = keys(left.only(common), right.only(common))
    ordered = np.sort(key_right)
    pairs = np.searchsorted(ordered, key_left, "right") - np.searchsorted(ordered, key_left, "left")
    cuts = np.searchsorted(np.cumsum(pairs), np.arange(0, int(pairs.sum()), PAIRS_AT_ONCE)[1:])
    bounds = sorted({0, *cuts.tolist(), len(left.rows)})
    return [slice(low, high) for low, high in pairwise(bounds)]
