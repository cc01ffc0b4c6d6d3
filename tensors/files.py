"""Read tensors from files: Matrix Market (.mtx), FROSTT text (.tns), NumPy (.npy); the texts also as .gz.

How values become 16-bit integers is chosen by `values`:

    exact   they must be integers that fit
    round   to the nearest integer (halves to even); those between -1 and 1 become -1 or 1, so none vanishes
    small   the pattern of nonzeros with seeded integers -4..4 without 0

Source: the papers' evaluation rounds SuiteSparse values as `round` does.
"""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sardonyx.hw.arch.errors import UserError
from sardonyx.tensors.coordinates import Coo, Ints, sum_rows

from . import matrix_market
from .values import from_entries, to_coo

POLICIES = ("exact", "round", "small")
KINDS = (".mtx", ".tns", ".npy")
# Extents that fit an index.
LONGEST = (1 << 31) - 1
_SMALL = np.array([-4, -3, -2, -1, 1, 2, 3, 4])


def read_tensor(path: str | Path, values: str = "exact", seed: int = 0) -> Coo:
    """The tensor in a file. `values` is a policy of the above; `seed` is used by `small`."""
    if values not in POLICIES:
        raise UserError(f"'{values}' is no way to take values", fix=f"use one of {', '.join(POLICIES)}")
    path = Path(path)
    kind = Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
    if kind not in KINDS:
        raise UserError(f"'{path.name}' is no kind of tensor file", str(path),
                        f"use one of {', '.join(KINDS)}, or .mtx.gz, .tns.gz")
    if kind == ".npy":
        shape, coords, numbers = _numpy(path)
    else:
        text = _content(path)
        shape, coords, numbers = (matrix_market.parse if kind == ".mtx" else _frostt)(text, str(path))
    return from_entries(shape, *_apply(values, seed, coords, numbers), str(path), first=0 if kind == ".npy" else 1)


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


def _content(path: Path) -> bytes:
    try:
        raw = path.read_bytes()
        return gzip.decompress(raw) if path.suffix == ".gz" else raw
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise UserError("the file is not whole gzip data", str(path), "compress it again") from None
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", str(path), "give the path of a file") from None


def _numpy(path: Path) -> tuple[tuple[int, ...], Ints, NDArray[Any]]:
    if path.suffix == ".gz":
        raise UserError("a .npy file is not read compressed", str(path), "unpack it")
    try:
        array = np.load(path, allow_pickle=False)
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror or error}", str(path),
                        "give the path of a file") from None
    except (ValueError, EOFError):
        raise UserError("this is no NumPy array of numbers", str(path), "save it with numpy.save") from None
    if array.dtype.kind not in "biuf":
        to_coo(array, str(path))     # Says what is wrong with it.
    array = np.atleast_1d(array) if array.ndim == 0 else array
    coords = np.argwhere(array)
    return array.shape, coords, array[tuple(coords.T)]


def _frostt(text: bytes, name: str) -> tuple[tuple[int, ...], Ints, NDArray[Any]]:
    """FROSTT text: coordinates from 1 and a value per line; `# dims: 4 4 4` gives the shape."""
    lines = text.decode("latin-1").splitlines()
    shape: tuple[int, ...] = ()
    entries = []
    for number, line in enumerate(lines, 1):
        head, _, rest = line.partition("dims:")
        if "dims:" in line and head.strip() == "#":
            words = rest.split("nnz:")[0].replace("x", " ").split()
            if not words or not all(word.isascii() and word.isdecimal() and int(word) <= LONGEST for word in words):
                raise UserError(f"'{line.strip()}' gives no dimensions", f"{name}:{number}",
                                f"write '# dims: 4 4 4', each {LONGEST} at most")
            shape = tuple(map(int, words))
        elif line.strip() and not line.lstrip().startswith("#"):
            entries.append((number, line.split()))
    if not entries and not shape:
        raise UserError("the file has no entries and no dimensions", name,
                        "write '# dims: 4 4 4' as a first line")
    width = len(shape) + 1 if shape else len(entries[0][1])
    for number, words in entries:
        if len(words) != width or width < 2:
            raise UserError(f"an entry of {max(width - 1, 1)} coordinates and a value was expected, not "
                            f"'{' '.join(words)}'", f"{name}:{number}", "write coordinates, then the value")
    try:
        table = np.array([words for _, words in entries], dtype=np.float64).reshape(-1, width)
    except ValueError:
        number, words = next((number, words) for number, words in entries if not all(map(_is_number, words)))
        raise UserError(f"'{' '.join(words)}' are not all numbers", f"{name}:{number}",
                        "write coordinates, then the value") from None
    crd = table[:, :-1]
    most = np.array(shape or [LONGEST] * (width - 1))
    wrong = np.flatnonzero(~((crd == np.floor(crd)) & (crd >= 1) & (crd <= most)).all(axis=1))
    if len(wrong):
        number, words = entries[wrong[0]]
        raise UserError(f"coordinates {' '.join(words[:-1])} are not whole numbers from 1 to "
                        f"{' '.join(map(str, most))}", f"{name}:{number}", "count from 1, up to the dimensions")
    limit = most if shape else crd.max(axis=0)
    return tuple(int(extent) for extent in limit), crd.astype(np.int64) - 1, table[:, -1]


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
