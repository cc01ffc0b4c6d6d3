"""Operands and results of arrays of lanes as the places and values of their elements, and what NumPy makes of them.

Errors:  UserError for operands that do not fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from . import arguments
from .compiler.spatial.laned import Laned, Side
from .hw.arch.cartesian import LEFT, RIGHT
from .hw.arch.errors import UserError
from .hw.arch.logic import Apply, Constant, Feed, Logic
from .hw.arch.outer_product import MULTIPLY, VALUE_BITS, OuterProduct
from .hw.arch.reduction import ADD, ALL, ANY, LARGEST, SMALLEST, TIMES
from .sim.golden.scattered import MEANING
from .sparse_products import within

MOST_PAIRS, MOST_DENSE, MOST_TERMS = 1 << 22, 1 << 22, 1 << 20
REDUCED = {ADD: np.add, LARGEST: np.maximum, SMALLEST: np.minimum, TIMES: np.multiply, ALL: np.logical_and, ANY: np.logical_or}
# Of random operands: places of an index at most, how many of them are not 0, and runs of a list.
EXTENT, NONZEROS, LONGEST = 48, 5, 9
# Of those of a shape, how much is not 0.
DENSITY = 0.1


@dataclass(frozen=True)
class Elements:
    """Those of a tensor that are there.

    places : int64[n, d]    Sorted; along the indices of lists, of runs and of elements in a run, those that it has, in that
                            order.
    values : int64[n]
    shape : tuple
    """

    places: np.ndarray
    values: np.ndarray
    shape: tuple[int, ...]

    def sparse(self) -> scipy.sparse.coo_array:
        """The same for SciPy, zeros and all."""
        return scipy.sparse.coo_array((self.values, tuple(self.places.T)), self.shape)


def wrapped(values: np.ndarray) -> np.ndarray:
    """The low bits of numbers, with a sign."""
    half = 1 << VALUE_BITS - 1
    found: np.ndarray = (values + half) % (2 * half) - half
    return found


def taken(made: Laned, side: Side, given: Any) -> Elements:
    """The elements of an operand that are stored; an array of NumPy, or a sparse one of SciPy."""
    dimensions = len(side.indices)
    sparse = coordinates(given)
    if sparse is None or sparse.ndim != dimensions or sparse.dtype.kind not in "iu" or not all(sparse.shape):
        raise UserError(f"it is {arguments.said(given)}", side.name, f"give whole numbers in {dimensions} dimensions")
    bits = made.kind.bits if made.kind.phases == MULTIPLY else VALUE_BITS
    sparse = within(side.name, bits, sparse)
    if side.sparse:
        sparse.eliminate_zeros()
    elif np.prod(sparse.shape) > MOST_DENSE:
        raise UserError(f"it is stored with its zeros, {np.prod(sparse.shape):,} elements", side.name, "skip them")
    else:
        whole = sparse.toarray()
        sparse = scipy.sparse.coo_array((whole.ravel(), np.unravel_index(np.arange(whole.size), whole.shape)), whole.shape)
    return elements(sparse, roles(made, side.indices))


def elements(of: scipy.sparse.coo_array, order: Sequence[int] = (0, 1)) -> Elements:
    """Those of an array of SciPy with its dimensions in an order."""
    places = np.stack([of.coords[at].astype(np.int64) for at in order], 1)
    by = np.lexsort(places.T[::-1])
    return Elements(places[by], of.data[by], tuple(of.shape[at] for at in order))


def coordinates(given: Any) -> scipy.sparse.coo_array | None:
    """An array of NumPy, or one of SciPy, by its elements; None for what is none."""
    if scipy.sparse.issparse(given):
        return scipy.sparse.coo_array(given)
    try:
        array = np.array(given)
    except ValueError:
        return None     # lists of different lengths
    return scipy.sparse.coo_array(array) if array.ndim and array.size and array.dtype.kind in "iuf" else None


def roles(made: Laned, indices: Sequence[str]) -> list[int]:
    """The dimensions that are along lists, runs and elements in a run, in this order."""
    return [indices.index(each) for each in (made.lists, made.runs, made.inner) if each in indices]


def check_extents(made: Laned, given: Mapping[str, Elements]) -> None:
    """UserError for operands whose extents do not fit each other, or the bounds."""
    found: dict[str, int] = {}
    for side in made.operands:
        for index, extent in zip([side.indices[at] for at in roles(made, side.indices)], given[side.name].shape):
            if found.setdefault(index, extent) != extent:
                raise UserError(f"{index} has {found[index]:,} places of one operand and {extent:,} of {side.name}", side.name,
                                "give operands of the same extents")
            most = made.bounds.get(index, MOST_TERMS)
            if extent > most:
                raise UserError(f"{index} has {extent:,} places, and up to {most:,} in this design", side.name,
                                f"give fewer{f', or another bound of {index}' if index in made.bounds else ''}")


def products(logic: Logic, left: Elements, right: Elements) -> Elements:
    """What each element of the left operand gives with those of the right one with its place of runs."""
    begins = np.searchsorted(right.places[:, 0], left.places[:, 1])
    counts = np.searchsorted(right.places[:, 0], left.places[:, 1], side="right") - begins
    if (total := int(counts.sum())) > MOST_PAIRS:
        raise UserError(f"there are {total:,} products", "operands", f"give {MOST_PAIRS:,} or fewer")
    mine = np.repeat(np.arange(len(counts)), counts)
    other = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(begins, counts)
    places = np.column_stack([left.places[mine], right.places[other, 1]])
    values = wrapped(_computed(logic, {LEFT: left.values[mine], RIGHT: right.values[other]}))
    return Elements(places, values, (*left.shape, right.shape[1]))


def _computed(logic: Logic, feeds: Mapping[str, np.ndarray]) -> np.ndarray:
    """Logic on many elements at once, exactly: it has no more bits than NumPy's numbers."""
    if isinstance(logic, Constant):
        return np.full_like(feeds[LEFT], logic.value, np.int64)
    if isinstance(logic, Apply):
        found: np.ndarray = MEANING[logic.operation](*(_computed(each, feeds) for each in logic.operands)).astype(np.int64)
        return found
    assert isinstance(logic, Feed), "it is over elements"
    return feeds[logic.tensor].astype(np.int64)


def added(kind: OuterProduct, runs: Elements) -> Elements:
    """The sum of all runs of a list, or what else they become, where one of them has an element."""
    keys, at = np.unique(runs.places[:, 0] * runs.shape[2] + runs.places[:, 2], return_inverse=True)
    sums = np.full(len(keys), kind.first, np.int64)
    REDUCED[kind.reduction].at(sums, at, runs.values)
    return Elements(np.column_stack(np.divmod(keys, runs.shape[2])), wrapped(sums), (runs.shape[0], runs.shape[2]))


def value(made: Laned, found: Elements, sparse: bool) -> Any:
    """A result with its dimensions as functionality has them: an array, or a sparse one of SciPy."""
    order = np.argsort(roles(made, made.result.indices))
    shape = tuple(found.shape[at] for at in order)
    result = scipy.sparse.coo_array((found.values, tuple(found.places[:, at] for at in order)), shape)
    if sparse:
        return scipy.sparse.csr_array(result) if len(shape) == 2 else result
    if np.prod(shape) > MOST_DENSE:
        raise UserError(f"the result has {np.prod(shape):,} places", "operands", "give sparse arrays of SciPy")
    return result.toarray()


def random(made: Laned, seed: int) -> dict[str, Any]:
    """Random operands, as sparse arrays of SciPy: matrices, or what is merged, in three dimensions."""
    multiplies = made.kind.phases == MULTIPLY
    extents = (min(EXTENT, made.bounds[made.lists]), EXTENT if multiplies else LONGEST,
               min(EXTENT, made.bounds[made.inner], EXTENT if multiplies else made.kind.most_row))
    return shaped(made, extents, seed, NONZEROS / EXTENT)


def shaped(made: Laned, extents: tuple[int, int, int], seed: int, density: float = DENSITY) -> dict[str, Any]:
    """Random operands, sparse as those, with so many lists, runs, and places in a run."""
    generator = np.random.default_rng(arguments.seed(seed))
    most = 1 << (made.kind.bits if made.kind.phases == MULTIPLY else VALUE_BITS) - 1
    extent, found = dict(zip((made.lists, made.runs, made.inner), extents, strict=True)), {}
    for side in made.operands:
        shape = tuple(extent[index] for index in side.indices)
        if (size := int(np.prod(shape))) > MOST_DENSE:
            raise UserError(f"random {side.name} with {size:,} elements", "product",
                            f"use {MOST_DENSE:,} or fewer, or give arrays in Python")
        found[side.name] = scipy.sparse.coo_array(generator.integers(-most, most, shape) * (generator.random(shape) < density))
    return found
