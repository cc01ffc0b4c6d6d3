"""Read tensors from files: Matrix Market (.mtx), FROSTT text (.tns), NumPy (.npy); the texts also as .gz.

How values become 16-bit integers is chosen by `values`:

    exact   they must be integers that fit
    round   to the nearest integer (halves to even); those between -1 and 1 become -1 or 1, so none vanishes
    small   the pattern of nonzeros with seeded integers -4..4 without 0

Source: the papers' evaluation rounds SuiteSparse values as `round` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sardonyx.hw.arch.errors import UserError, shown
from sardonyx.tensors.coordinates import Coo, Ints, sum_rows

from . import frostt, matrix_market
from .content import read_content
from .numpy_file import read_array
from .values import from_entries, to_coo

POLICIES = ("exact", "round", "small")
KINDS = (".mtx", ".tns", ".npy")
_SMALL = np.array([-4, -3, -2, -1, 1, 2, 3, 4])


def read_tensor(path: str | Path, values: str = "exact", seed: int = 0) -> Coo:
    """The tensor in a file. `values` is a policy of the above; `seed` is used by `small`."""
    if values not in POLICIES:
        raise UserError(f"'{shown(str(values))}' is no way to take values", fix=f"use one of {', '.join(POLICIES)}")
    path = Path(path)
    kind = Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
    if kind not in KINDS:
        what = f"'{kind}' is no kind of tensor file" if kind else "the name does not say which kind of file it is"
        raise UserError(what, str(path), f"use one of {', '.join(KINDS)}, or .mtx.gz, .tns.gz")
    if kind == ".npy":
        shape, coords, numbers = _numpy(path)
    else:
        shape, coords, numbers = (matrix_market if kind == ".mtx" else frostt).parse(read_content(path), str(path))
    return taken(shape, coords, numbers, values, seed, str(path), first=0 if kind == ".npy" else 1)


def taken(shape: Sequence[int], coords: Ints, numbers: NDArray[Any], values: str, seed: int, name: str, first: int) -> Coo:
    """The tensor of entries with numbers of any kind, by a policy of the above; `name` and `first` as of `from_entries`."""
    return from_entries(shape, *_apply(values, seed, coords, numbers), name, first=first)


def _apply(policy: str, seed: int, coords: Ints, numbers: NDArray[Any]) -> tuple[Ints, NDArray[Any]]:
    """Coordinates and values after a policy; entries stored twice are added before it."""
    if policy == "exact":
        return coords, numbers
    coords, numbers = sum_rows(coords, numbers)
    coords, numbers = coords[numbers != 0], numbers[numbers != 0]
    if policy == "small":
        return coords, np.random.default_rng(seed).choice(_SMALL, len(numbers))
    if numbers.dtype.kind != "f":
        return coords, numbers
    return coords, np.where(np.abs(numbers) < 1, np.sign(numbers), np.rint(numbers))


def _numpy(path: Path) -> tuple[tuple[int, ...], Ints, NDArray[Any]]:
    if path.suffix == ".gz":
        raise UserError("a .npy file is not read compressed", str(path), "unpack it")
    array = read_array(path)
    if array.dtype.kind == "c":
        to_coo(array, str(path))     # Says what is wrong with it.
    # Places of an array without dimensions have no coordinates, of which a list would find all numbers or none.
    return array.shape, np.argwhere(array), array[array != 0]
