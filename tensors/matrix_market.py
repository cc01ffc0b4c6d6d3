"""Read Matrix Market text, strictly: what is not a real, integer or pattern matrix is refused with file and
line.

Symmetric and skew-symmetric files are expanded; they may hold one triangle only. Every token is checked before
a number is read, so that no Fortran exponent, fraction, comma or index with a point is taken for something else.

Errors:  UserError(what, "file:line").
Source:  R. F. Boisvert, R. Pozo, K. A. Remington, The Matrix Market Exchange Formats, NISTIR 5935.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sardonyx.hw.arch.errors import UserError, shown
from sardonyx.tensors.coordinates import Ints

from .table import INDEX, INTEGER, LONGEST, REAL, read_rows, row_at

# Patterns of the numbers of an entry after row and column.
FIELDS = {"real": (REAL,), "integer": (INTEGER,), "pattern": ()}
SYMMETRIES = ("general", "symmetric", "skew-symmetric")
EXAMPLE = "start the file with '%%MatrixMarket matrix coordinate real general'"
_COUNT = "correct the number of entries, or complete the file"


def parse(text: bytes, name: str) -> tuple[tuple[int, ...], Ints, NDArray[np.float64]]:
    """Shape, coordinates from 0 and values of every entry, in the file's order; `name` stands in errors."""
    layout, field, symmetry = _banner(text, name)
    line, sizes, start = _sizes(text, layout, name)
    if symmetry != "general" and sizes[0] != sizes[1]:
        raise UserError(f"a {symmetry} matrix is square but this is {sizes[0]} x {sizes[1]}", f"{name}:{line}",
                        "write the whole matrix as 'general'")
    shape = sizes[0], sizes[1]
    if layout == "array":
        coords, values = _array(text, start, shape, field, symmetry, f"{name}:{line}", name)
    else:
        coords, values = _entries(text, start, shape, field, name)
        if len(coords) != sizes[2]:
            raise UserError(f"there are {len(coords)} entries but the sizes say {sizes[2]}", f"{name}:{line}", _COUNT)
    if symmetry != "general":
        coords, values = _expand(coords, values, symmetry, name)
    return shape, coords, values


def _banner(text: bytes, name: str) -> tuple[str, str, str]:
    """Layout, field and symmetry from the first line."""
    words = text[:1024].split(b"\n", 1)[0].decode("latin-1").lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"] or words[2] not in ("coordinate",
                                                                                        "array"):
        raise UserError("the first line is no Matrix Market banner of a matrix", f"{name}:1", EXAMPLE)
    layout, field, symmetry = words[2:]
    if field == "complex" or symmetry == "hermitian":
        raise UserError(f"the matrix is {'Hermitian' if symmetry == 'hermitian' else 'complex'}", f"{name}:1",
                        "write its real part, or its imaginary part, as a real matrix")
    if field not in FIELDS or symmetry not in SYMMETRIES or (field, layout) == ("pattern", "array"):
        raise UserError(f"'{shown(f'{layout} {field} {symmetry}')}' is no kind of matrix", f"{name}:1",
                        f"use one of {', '.join(FIELDS)} and one of {', '.join(SYMMETRIES)}")
    return layout, field, symmetry


def _sizes(text: bytes, layout: str, name: str) -> tuple[int, list[int], int]:
    """The number of the line of sizes, the sizes, and where what follows begins."""
    at, line = 0, 0
    while at < len(text):
        end = text.find(b"\n", at) + 1 or len(text)
        line += 1
        words = text[at:end].split()
        at = end
        if words and not words[0].startswith(b"%"):
            wanted = 3 if layout == "coordinate" else 2
            found = shown(b" ".join(words).decode("latin-1"))
            # No file has more entries than 18 digits say, and the two sides are bounded below.
            if len(words) != wanted or not all(re.fullmatch(rb"[0-9]{1,18}", word) for word in words):
                raise UserError(f"{wanted} sizes were expected, not '{found}'", f"{name}:{line}",
                                "write rows, columns" + (", entries" if wanted == 3 else ""))
            sizes = [int(word) for word in words]
            if max(sizes[:2]) > LONGEST:
                raise UserError(f"a side of '{found}' is longer than {LONGEST}", f"{name}:{line}", "write a smaller matrix")
            return line, sizes, at
    raise UserError("the file ends before the line of sizes", f"{name}:{line}",
                    "write rows, columns, entries")


def _entries(text: bytes, start: int, shape: tuple[int, int], field: str, name: str) -> tuple[Ints, NDArray[np.float64]]:
    """Coordinates from 0 and values of a coordinate file."""
    refuse = _refusal(shape, field, name)
    table = read_rows(text, (INDEX, INDEX, *FIELDS[field]), refuse, start)
    coords = table[:, :2].astype(np.int64)
    wrong = np.flatnonzero(~((coords >= 1) & (coords <= shape)).all(axis=1))
    if len(wrong):
        raise refuse(*row_at(text, int(wrong[0]), start))
    return coords - 1, table[:, 2] if table.shape[1] > 2 else np.ones(len(table))


def _array(text: bytes, start: int, shape: tuple[int, int], field: str, symmetry: str, where: str, name: str
           ) -> tuple[Ints, NDArray[np.float64]]:
    """Coordinates and values of the nonzeros of an array file: columns one after the other, of a symmetric matrix from the
    diagonal down, of a skew-symmetric one below it."""
    values = read_rows(text, FIELDS[field], _refusal((), field, name), start)[:, 0]
    rows, columns = shape
    count = {"general": rows * columns, "symmetric": rows * (rows + 1) // 2,
             "skew-symmetric": rows * (rows - 1) // 2}[symmetry]
    if len(values) != count:
        raise UserError(f"there are {len(values)} values but a {symmetry} array of {rows} x {columns} has {count}", where,
                        "correct the sizes, or complete the file")
    places = np.flatnonzero(values)
    if symmetry == "general":
        column, row = np.divmod(places, max(rows, 1))
    else:
        # The lower triangle column by column is the upper one row by row.
        above, right = np.triu_indices(rows, int(symmetry != "symmetric"))
        column, row = above[places], right[places]
    return np.stack((row, column), axis=1).astype(np.int64), values[places]


def _refusal(shape: tuple[int, ...], field: str, name: str) -> Callable[[int, list[str]], UserError]:
    """The error for a line that holds no entry: what is wrong with its words. shape: the bounds of the coordinates in it."""
    kind = "whole number" if field == "integer" else "number"

    def refuse(number: int, words: list[str]) -> UserError:
        where, width = f"{name}:{number}", len(shape) + len(FIELDS[field])
        if len(words) != width:
            count = f"{width} numbers" if width > 1 else "one number"
            return UserError(f"an entry has {count}, not '{shown(' '.join(words))}'", where,
                             "write " + (", ".join(("row", "column", "value")[:width]) if shape else "one value a line"))
        for side, word, extent in zip(("row", "column"), words, shape):
            if not (re.fullmatch(INDEX.decode(), word) and 1 <= int(word) <= extent):
                return UserError(f"{side} '{shown(word)}' is no whole number from 1 to {extent}", where,
                                 "count rows and columns from 1 up to the sizes")
        return UserError(f"value '{shown(words[-1])}' is no {kind}", where,
                         "write it as -7, or call the matrix 'real'" if field == "integer" else "write it as -7, 0.5 or 1e-3")

    return refuse


def _expand(coords: Ints, values: NDArray[np.float64], symmetry: str, name: str
            ) -> tuple[Ints, NDArray[np.float64]]:
    """Add the other triangle."""
    side = np.sign(coords[:, 0] - coords[:, 1])
    if (side > 0).any() and (side < 0).any():
        raise UserError(f"the file is {symmetry} but has entries on both sides of the diagonal", name,
                        "write the lower triangle only, or call it 'general'")
    if symmetry == "skew-symmetric" and values[side == 0].any():
        raise UserError("the file is skew-symmetric but its diagonal is not 0", name, "call it 'general'")
    other = -values[side != 0] if symmetry == "skew-symmetric" else values[side != 0]
    return np.concatenate((coords, coords[side != 0][:, ::-1])), np.concatenate((values, other))
