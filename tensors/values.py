"""Tensors of the user (scipy.sparse, NumPy, numbers) to and from sorted coordinates and fibertrees.

Policy, the same for every source of data:
- Values are integers -32768..32767. Floating-point numbers are taken if they are integers, never rounded.
- Stored zeros are removed, entries stored twice are added; both before the range is checked.
- Anything else (NaN, complex, text, numbers out of range, also of unsigned types) is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from sardonyx.hw.arch.errors import UserError
from sardonyx.tensors.coordinates import VALUE_MAX, VALUE_MIN, Coo, Ints, sum_rows
from sardonyx.tensors.fibertree import Format, build, flatten, from_blocks

# Of an entry of several at one place; their sum has to fit 16 bits.
LARGEST = 1 << 40
# Of random tensors: nonzeros at most (1 GB of coordinates and values for matrices), places at most, and places up to which
# each is drawn by itself.
MOST_RANDOM = 1 << 25
MOST_PLACES = 1 << 60
DENSE_PLACES = 1 << 24
# Of a result as a user is given it: elements of an array and rows of a matrix, and what each takes.
MOST_BYTES = 1 << 34
_VALUE_BYTES, _ROW_BYTES = 2, 8


def to_coo(data: Any, name: str = "the tensor") -> Coo:
    """A tensor from scipy.sparse in any format, an array of any order, nested lists or a number.

    `name` stands in errors. Raises UserError by the policy above.
    """
    if isinstance(data, Coo):
        return data
    if isinstance(data, np.ma.MaskedArray):
        raise UserError(f"{name} is masked", fix="say what masked elements are, as with array.filled(0)")
    if scipy.sparse.issparse(data):
        sparse = data.tocoo()
        coords = np.stack([np.asarray(axis, np.int64) for axis in sparse.coords], axis=1)
        return from_entries(sparse.shape, coords, sparse.data, name)
    try:
        array = np.asarray(data)
    except ValueError:
        array = np.asarray(None)
    if array.dtype.kind not in "biufc":
        raise UserError(f"{name} is no tensor of numbers", fix="give a scipy.sparse matrix or a NumPy array")
    filled = array != 0
    # argwhere of a scalar has no column, but two rows of shape would be needed to tell 0 from 1.
    coords = np.argwhere(filled) if array.ndim else np.zeros((int(filled), 0), np.int64)
    return from_entries(array.shape, coords, array[filled] if array.ndim
                        else array.reshape(1)[filled.reshape(1)], name)


def from_entries(shape: Sequence[int], coords: Ints, values: NDArray[Any], name: str = "the tensor", first: int = 0) -> Coo:
    """A tensor from coordinates and values as they come; the policy above is applied.

    `name` stands in errors, and `first` is what the source of the entries calls the first coordinate.
    """
    if values.dtype.kind == "c":
        raise UserError(f"{name} is complex", fix="take the real part, or the imaginary part")
    if values.dtype.kind == "f":
        _check_integers(coords, values, name, first)
    # Before they are added, so that no sum leaves int64.
    _check_range(coords, values, np.abs(values.astype(np.float64)) > LARGEST, name, first)
    coords, values = sum_rows(np.asarray(coords, np.int64), values.astype(np.int64))
    _check_range(coords, values, (values < VALUE_MIN) | (values > VALUE_MAX), name, first)
    return Coo.make(shape, coords, values)


def _check_range(coords: Ints, values: NDArray[Any], beyond: NDArray[np.bool_], name: str, first: int) -> None:
    """UserError if values are beyond what fits."""
    found = np.flatnonzero(beyond)
    if len(found):
        raise UserError(f"value {values[found[0]]} {place(coords[found[0]] + first)}is not in {VALUE_MIN}..{VALUE_MAX}"
                        f"{_others(len(found))}", name,
                        "scale the values, or take small ones on this pattern "
                        "(of a file: --values small, in Python values='small')")


def _check_integers(coords: Ints, values: NDArray[Any], name: str, first: int) -> None:
    """UserError if floating-point numbers are no integers."""
    finite = np.isfinite(values)
    broken = np.flatnonzero(~finite | (np.floor(np.where(finite, values, 0)) != np.where(finite, values, 0)))
    if len(broken):
        raise UserError(f"value {values[broken[0]]} {place(coords[broken[0]] + first)}is not an integer"
                        f"{_others(len(broken))}", name,
                        "scale and round the values (of a file: --values round, in Python values='round')")


def place(coords: Ints) -> str:
    """Where an entry stands, for errors; a scalar's place goes without saying."""
    return f"at ({', '.join(str(crd) for crd in coords.tolist())}) " if len(coords) else ""


def _others(count: int) -> str:
    return f" (and {count - 1} more)" if count > 1 else ""


def to_array(tensor: Coo) -> NDArray[np.int16]:
    """A dense array."""
    array = np.zeros(tensor.shape, np.int16)
    array[tuple(tensor.coords.T)] = tensor.values if tensor.rank else tensor.values.sum()
    return array


def to_value(tensor: Coo) -> Any:
    """What a user expects back: scipy.sparse CSR for a matrix, a number for a scalar, else a dense array."""
    if tensor.rank == 2:
        return scipy.sparse.csr_array((tensor.values, tuple(tensor.coords.T)), shape=tensor.shape)
    return to_array(tensor) if tensor.rank else int(tensor.values.sum())


def check_value(name: str, shape: Sequence[int], dense: bool) -> None:
    """UserError for a result that a user could not be given for want of memory; dense: it is an array whatever its rank."""
    whole = dense or len(shape) != 2
    size = prod(shape) * _VALUE_BYTES if whole else (shape[0] + 1) * _ROW_BYTES
    if size > MOST_BYTES:
        what = "an array of all elements" if whole else f"a matrix with a word for each of its {shape[0]:,} rows"
        raise UserError(f"{what} takes {size / (1 << 30):,.0f} GB, more than {MOST_BYTES >> 30}",
                        f"result {name} of {' x '.join(f'{extent:,}' for extent in shape)}",
                        "number the coordinates that have nonzeros from 0 on, or compute the result in parts"
                        + (", or transpose it" if not whole and shape[1] < shape[0] else ""))


def encode(tensor: Coo, form: Format, name: str = "the tensor") -> tuple[list[int], ...]:
    """The block words of a tensor: one block per stored level, then the values."""
    return build(tensor, form).blocks(name)


def decode(blocks: Sequence[Sequence[int]], form: Format, shape: Sequence[int]) -> Coo:
    """The tensor that block words hold."""
    return flatten(from_blocks(blocks, form, shape))


def random_tensor(shape: Sequence[int], density: float, seed: int, low: int = -4, high: int = 4) -> Coo:
    """A tensor whose places are filled with the given probability by integers low..high without 0.

    Time and memory follow the nonzeros where there are many places. Raises UserError for too many nonzeros.
    """
    extents = tuple(int(extent) for extent in shape)
    places = prod(extents)
    expected = places * density
    named = " x ".join(map(str, extents))
    if expected > MOST_RANDOM:
        raise UserError(f"a random tensor of {named} at density {density:g} has about {expected:,.0f} nonzeros, and "
                        f"{MOST_RANDOM:,} are the most that are drawn",
                        fix="use a smaller --size or --density (size=, density=), or give the operand")
    if places > MOST_PLACES:
        raise UserError(f"a random tensor of {named} has more places than can be numbered",
                        fix="use a smaller --size (size=), or give the operand")
    random = np.random.default_rng(seed)
    choices = np.array([value for value in range(low, high + 1) if value])
    if places <= DENSE_PLACES:
        filled = random.random(extents) < density
        coords = np.argwhere(filled) if extents else np.zeros((int(filled), 0), np.int64)
    else:
        coords = np.stack(np.unravel_index(_filled(random, places, density), extents), axis=1).astype(np.int64, copy=False)
    # They are sorted, each is there once, and no value is 0.
    return Coo(extents, coords, random.choice(choices, len(coords)).astype(np.int16))


def _filled(random: np.random.Generator, places: int, density: float) -> Ints:
    """Numbers below `places`, rising, each there with the same probability, drawn as the gaps between them."""
    parts, last = [np.zeros(0, np.int64)], -1
    while density and last < places:
        gaps = random.geometric(density, int((places - last) * density * 1.01) + 100)
        # What leads far beyond the end is left out before it leaves int64.
        gaps = gaps[:1 + int(np.searchsorted(np.cumsum(gaps, dtype=np.float64), 2.0 * places))]
        parts.append(last + np.cumsum(np.minimum(gaps, places + 1)))
        last = int(parts[-1][-1])
    found = np.concatenate(parts)
    return found[:np.searchsorted(found, places)]
