"""What a statement means: evaluated with SciPy's sparse matrices, independently of every compiler pass.

Each part of the expression becomes a table of coordinates (one column per index) and values. A product of two tables is
a product of matrices: what they have in common is numbered, and stands across the columns of the left matrix and down the
rows of the right one; of that, what stays in the result also goes down the rows of the left one. Sums concatenate tables,
and an index that nothing outside a part uses is summed at once. Values wrap modulo 2**16; the result holds exactly the
nonzeros, in words as the array must leave them in memory.

Cost:    time follows the number of matching pairs, memory only the operands and the result; a product of a 2000 x 2000
         matrix with 40,000 nonzeros with its transpose takes 0.2 s.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import scipy.sparse

from sardonyx.compiler.lang.einsum import Einsum
from sardonyx.compiler.lang.expr import Access, Constant, Expr, Negate, indices
from sardonyx.tensors.coordinates import Coo, Ints
from sardonyx.tensors.fibertree import build

FEW = 1 << 12     # Numbers that rows may have without being counted.


@dataclass(frozen=True)
class _Table:
    """Values at coordinates: a column for each name, no row twice; values are those of 16 bits."""

    columns: Mapping[str, Ints]
    values: Ints

    def keep(self, wanted: Collection[str]) -> _Table:
        """Sum over the columns that are not wanted."""
        kept = [name for name in self.columns if name in wanted]
        return self if len(kept) == len(self.columns) else _summed({name: self.columns[name] for name in kept}, self.values)


def evaluate(einsum: Einsum, operands: Mapping[str, Coo]) -> Coo:
    """The result of a statement for operands by tensor name.

    Raises UserError if operands do not fit the statement.
    """
    shape = einsum.result_shape({name: tensor.shape for name, tensor in operands.items()})
    table = _evaluate(einsum.expr, operands, set(einsum.result.indices))
    coords = np.zeros((len(table.values), len(shape)), np.int64)
    for at, name in enumerate(einsum.result.indices):
        coords[:, at] = table.columns[name]
    return Coo.make(shape, coords, table.values)


def operations(einsum: Einsum, operands: Mapping[str, Coo]) -> int:
    """How many multiplications of nonzeros and additions of what is there a statement takes, each sum taken once.

    Every product of two entries counts, whatever its value, and every addition of two entries that meet.
    """
    ones = {name: Coo.make(tensor.shape, tensor.coords, np.ones_like(tensor.values)) for name, tensor in operands.items()}
    return _operations(einsum.expr, ones, set(einsum.result.indices))[1]


def words(einsum: Einsum, result: Coo) -> tuple[list[int], ...]:
    """The block words of a result: one block per stored level, then the values."""
    return build(result, einsum.result.format).blocks(str(einsum.result))


def _evaluate(expr: Expr, operands: Mapping[str, Coo], outside: set[str]) -> _Table:
    """The table of a part; `outside` are the indices that must stay since they are used around it."""
    if isinstance(expr, Access):
        tensor = operands[expr.tensor]
        return _Table(dict(zip(expr.indices, tensor.coords.T, strict=True)), tensor.values.astype(np.int64)).keep(outside)
    if isinstance(expr, Constant):
        return _Table({}, np.array([expr.value]))
    if isinstance(expr, Negate):
        table = _evaluate(expr.operand, operands, outside)
        return _Table(table.columns, _wrapped(-table.values))
    if expr.op == "*":
        left = _evaluate(expr.left, operands, outside | indices(expr.right).keys())
        right = _evaluate(expr.right, operands, outside | indices(expr.left).keys())
        return _product(left, right, outside).keep(outside)
    left, right = (_evaluate(side, operands, outside) for side in (expr.left, expr.right))
    assert left.columns.keys() == right.columns.keys(), "a checked sum has the same indices in all terms"
    signed = right.values if expr.op == "+" else -right.values
    both = {name: np.concatenate((column, right.columns[name])) for name, column in left.columns.items()}
    return _summed(both, np.concatenate((left.values, signed)))


def _operations(expr: Expr, ones: Mapping[str, Coo], outside: set[str]) -> tuple[_Table, int]:
    """The coordinates of a part, with ones, and the operations that make it of operands of ones."""
    if isinstance(expr, Access | Constant):
        whole = _whole(expr, ones)
        kept = whole.keep(outside)
        return _ones(kept), len(whole.values) - len(kept.values)
    if isinstance(expr, Negate):
        return _operations(expr.operand, ones, outside)
    if expr.op == "*":
        left, before = _operations(expr.left, ones, outside | indices(expr.right).keys())
        right, beside = _operations(expr.right, ones, outside | indices(expr.left).keys())
        products = _matches(left, right)
        kept = _product(left, right, outside).keep(outside)
        return _ones(kept), before + beside + 2 * products - len(kept.values)
    (left, before), (right, beside) = (_operations(side, ones, outside) for side in (expr.left, expr.right))
    both = {name: np.concatenate((column, right.columns[name])) for name, column in left.columns.items()}
    union = _summed(both, np.ones(len(left.values) + len(right.values), np.int64))
    return _ones(union), before + beside + len(left.values) + len(right.values) - len(union.values)


def _whole(expr: Access | Constant, ones: Mapping[str, Coo]) -> _Table:
    if isinstance(expr, Constant):
        return _Table({}, np.ones(1, np.int64))
    tensor = ones[expr.tensor]
    return _Table(dict(zip(expr.indices, tensor.coords.T, strict=True)), tensor.values.astype(np.int64))


def _ones(table: _Table) -> _Table:
    return _Table(table.columns, np.ones_like(table.values))


def _matches(left: _Table, right: _Table) -> int:
    """Pairs of rows that are equal in what two tables have in common."""
    common, split = [name for name in left.columns if name in right.columns], len(left.values)
    both = [np.concatenate((left.columns[name], right.columns[name])) for name in common]
    numbers = _numbers(both, split + len(right.values))
    many = int(numbers.max(initial=0)) + 1
    return int(np.bincount(numbers[:split], minlength=many) @ np.bincount(numbers[split:], minlength=many))


def _product(left: _Table, right: _Table, outside: set[str]) -> _Table:
    """The product of two tables, summed over what they have in common and nothing outside uses."""
    common = [name for name in left.columns if name in right.columns]
    stay = [name for name in left.columns if name in outside or name not in common]
    added = [name for name in right.columns if name not in common]
    split = len(left.values)
    inner = _numbers([np.concatenate((left.columns[name], right.columns[name])) for name in common], split + len(right.values))
    down, across = _numbers([left.columns[name] for name in stay], split), \
        _numbers([right.columns[name] for name in added], len(right.values))
    rows, columns, middle = (int(numbers.max(initial=-1)) + 1 for numbers in (down, across, inner))
    one = scipy.sparse.csr_array((left.values, (down, inner[:split])), shape=(rows, middle))
    other = scipy.sparse.csr_array((right.values, (inner[split:], across)), shape=(middle, columns))
    found = (one @ other).tocoo()
    # One of the entries that have each number says what it stands for.
    of_row, of_column = np.zeros(rows, np.intp), np.zeros(columns, np.intp)
    of_row[down], of_column[across] = np.arange(split), np.arange(len(right.values))
    at_left, at_right = of_row[found.coords[0]], of_column[found.coords[1]]
    return _Table({name: left.columns[name][at_left] for name in stay}
                  | {name: right.columns[name][at_right] for name in added}, _wrapped(found.data))


def _summed(columns: Mapping[str, Ints], values: Ints) -> _Table:
    """A table in which rows may stand twice, with equal ones added."""
    numbers = _numbers(list(columns.values()), len(values))
    count = int(numbers.max(initial=-1)) + 1
    sums, one = np.zeros(count, np.int64), np.full(count, -1)
    np.add.at(sums, numbers, values)
    one[numbers] = np.arange(len(values))
    there = one >= 0
    return _Table({name: column[one[there]] for name, column in columns.items()}, _wrapped(sums[there]))


def _numbers(columns: Sequence[Ints], length: int) -> Ints:
    """Numbers from 0 on, such that rows are equal where their numbers are; not many more than there are rows."""
    numbers = np.zeros(length, np.int64)
    sizes = [int(column.max(initial=0)) + 1 for column in columns]
    if prod(sizes) <= max(FEW, length):
        for column, size in zip(columns, sizes, strict=True):
            numbers = numbers * size + column
        return numbers
    for column in columns:
        # Both are below the number of rows after this, so no product leaves 64 bits.
        column = np.unique(column, return_inverse=True)[1]
        numbers = np.unique(numbers * (int(column.max(initial=0)) + 1) + column, return_inverse=True)[1]
    return numbers


def _wrapped(values: Ints) -> Ints:
    """Integers modulo 2**16, as two's complement."""
    return values.astype(np.int16).astype(np.int64)
