"""Operands of spatial arrays: those given are checked against shapes, types and what skips promise; others are drawn at random.

Every operand has an axis for operations in front here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

from . import arguments
from .compiler.lang.recurrence import Recurrences
from .compiler.lang.sparsity import Skip, fibers
from .compiler.lang.sparsity import zeros as asked
from .compiler.spatial import promise
from .hw.arch.errors import UserError
from .hw.arch.spatial import Shaped

MOST_OPERATIONS = 1 << 16
# Of random operands whose zeros are skipped, how much is not 0.
DENSITY = 0.4


@dataclass(frozen=True)
class Promises:
    """What skips say about operands."""

    recurrences: Recurrences
    bounds: Mapping[str, int]
    skips: tuple[Skip, ...]

    @cached_property
    def zeros(self) -> dict[promise.Element, Skip]:
        """Elements that are 0."""
        return promise.zeros(self.recurrences, self.bounds, self.skips)

    @cached_property
    def groups(self) -> list[tuple[Skip, list[promise.Element]]]:
        """Elements beside each other of which few are not 0."""
        return [(skip, group) for skip in self.skips if skip.of for group in promise.groups(self.bounds, skip)]

    @cached_property
    def sparse(self) -> frozenset[str]:
        """Operands whose zeros are skipped."""
        return frozenset(read.name for skip in self.skips if not skip.of for read in asked(skip.where))

    @cached_property
    def whole(self) -> dict[str, int]:
        """Operands whose fibers are skipped whole: along which axis, behind that of operations."""
        return {read.name: 1 + [str(at) for at in read.at].index(skip.indices[0])
                for skip in self.skips for read in fibers(skip.where)}


def drawn(tensors: Sequence[Shaped], promises: Promises, operations: int, seed: int) -> dict[str, np.ndarray]:
    """Random operands as skips have them."""
    random = np.random.default_rng(seed)
    found = {}
    for tensor in tensors:
        most = 1 << tensor.bits - 1
        array = random.integers(-most, most, (operations, *tensor.shape))
        if tensor.name in promises.sparse:
            array *= random.random(_drawn_at_once(array.shape, promises.whole.get(tensor.name))) < DENSITY
        found[tensor.name] = array
    for name, at in promises.zeros:
        place = slice(None), *at
        found[name][place] = 0
    for skip, group in promises.groups:
        for operation in range(operations):
            for name, at in random.permutation(np.array(group, object))[skip.keep:]:
                place = operation, *at
                found[name][place] = 0
    return found


def _drawn_at_once(shape: tuple[int, ...], axis: int | None) -> tuple[int, ...]:
    """Of a shape, with fibers along an axis as one."""
    return tuple(1 if at == axis else extent for at, extent in enumerate(shape))


def taken(tensors: Sequence[Shaped], promises: Promises, operands: Mapping[str, object], seed: int
          ) -> tuple[dict[str, np.ndarray], bool]:
    """The operands that are given, those that are not at random, and whether any has an axis for operations."""
    known = {tensor.name: tensor for tensor in tensors}
    if unknown := [name for name in operands if name not in known]:
        raise UserError(f"there is no input {unknown[0]}", "operands", f"give {', '.join(known)}")
    found = {name: _array(known[name], value) for name, value in operands.items()}
    _check_promises(found, promises)
    counts = {name: len(array) for name, array in found.items() if array.ndim > len(known[name].shape)}
    if len(set(counts.values())) > 1:
        found_counts = " and ".join(f"{count} ({name})" for name, count in counts.items())
        raise UserError(f"the operands are of {found_counts} operations", "operands", "give as many of each")
    count = next(iter(counts.values()), 1)
    if not 1 <= count <= MOST_OPERATIONS:
        raise UserError(f"the operands are of {count} operations", "operands", f"give 1 to {MOST_OPERATIONS}")
    random = drawn(tensors, promises, 1, seed)
    arrays = {name: found.get(name, random[name]) for name in known}
    return {name: array if name in counts else np.broadcast_to(array, (count, *known[name].shape))
            for name, array in arrays.items()}, bool(counts)


def _check_promises(found: Mapping[str, np.ndarray], promises: Promises) -> None:
    """UserError for an operand that is not 0 where skips take it for 0."""
    for (name, at), skip in promises.zeros.items():
        place = ..., *at
        if name in found and np.any(found[name][place]):
            raise UserError(f"{name}({', '.join(map(str, at))}) is not 0, but is skipped: {skip}", name,
                            "give 0 there, or leave this skip out")
    for skip, group in promises.groups:
        if (name := group[0][0]) not in found:
            continue
        places = [(..., *at) for _, at in group]
        there = np.sum([found[name][place] != 0 for place in places], axis=0)
        if np.any(there > skip.keep):
            first, last = (", ".join(map(str, group[at][1])) for at in (0, -1))
            what = f"of {name}({first}) to {name}({last}) {np.max(there)} are not 0, but only {skip.keep} stay: {skip}"
            raise UserError(what, name, "give fewer, or leave this skip out")


def _dense(tensor: Shaped, value: Any) -> object:
    """What is given, and sparse arrays of SciPy as dense ones: those of another shape may be too large, and are refused."""
    if not scipy.sparse.issparse(value):
        return value
    if value.shape != tensor.shape:
        raise UserError(f"it has the shape {value.shape}", tensor.name, f"give {tensor.shape}")
    return value.toarray()


def _array(tensor: Shaped, value: object) -> np.ndarray:
    """An operand as an array, of the shape of the tensor or with an axis in front."""
    try:
        array = np.asarray([_dense(tensor, each) for each in value] if isinstance(value, list) else _dense(tensor, value))
    except ValueError:
        raise UserError(f"it is {arguments.said(value)}, which is no array", tensor.name,
                        "give an array of whole numbers") from None
    if array.dtype.kind not in "iub" and array.size:
        raise UserError(f"it holds {array.dtype}", tensor.name, "give whole numbers")
    if array.shape != tensor.shape and array.shape[1:] != tensor.shape:
        raise UserError(f"it has the shape {array.shape}", tensor.name,
                        f"give {tensor.shape}, or (operations, {', '.join(map(str, tensor.shape))})")
    most = 1 << tensor.bits - 1
    if array.size and not (-most <= int(array.min()) and int(array.max()) < most):
        raise UserError(f"it has values from {array.min()} to {array.max()}", tensor.name, f"give {-most} to {most - 1}")
    return array.astype(np.int64)
