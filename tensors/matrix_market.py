"""Read Matrix Market text, strictly: what is not a real, integer or pattern matrix is refused with file and
line.

Symmetric and skew-symmetric files are expanded; they may hold one triangle only. SciPy does the number
reading; its reader lets wrong counts of numbers in a line, fractions in integer files and both triangles
pass, so those are checked here.

Errors:  UserError(what, "file:line").
Source:  R. F. Boisvert, R. Pozo, K. A. Remington, The Matrix Market Exchange Formats, NISTIR 5935.
"""

from __future__ import annotations

import io
import re
from typing import Any

import numpy as np
import scipy.io
from numpy.typing import NDArray

from sardonyx.hw.arch.errors import UserError
from sardonyx.tensors.coordinates import Ints

FIELDS = {"real": 3, "integer": 3, "pattern": 2}      # Numbers per line.
SYMMETRIES = ("general", "symmetric", "skew-symmetric")
EXAMPLE = "start the file with '%%MatrixMarket matrix coordinate real general'"


def parse(text: bytes, name: str) -> tuple[tuple[int, ...], Ints, NDArray[np.float64]]:
    """Shape, coordinates from 0 and values of every entry, in the file's order; `name` stands in errors."""
    layout, field, symmetry = _banner(text, name)
    size_line, sizes, body = _sizes(text, layout, name)
    if symmetry != "general" and sizes[0] != sizes[1]:
        raise UserError(f"a {symmetry} matrix is square but this is {sizes[0]} x {sizes[1]}",
                        f"{name}:{size_line}",
                        "write the whole matrix as 'general'")
    if layout == "array":
        # Here the number of values depends on the symmetry, so SciPy expands.
        array = _numbers(f"array real {symmetry}", text, name)
        coords = np.argwhere(array)
        return array.shape, coords, array[tuple(coords.T)]
    _check_lines(text, size_line, body, sizes[2], FIELDS[field], name)
    matrix = _numbers(f"coordinate {'pattern' if field == 'pattern' else 'real'} general", text, name)
    coords, values = np.stack((matrix.row, matrix.col),
                              axis=1).astype(np.int64), matrix.data.astype(np.float64)
    if symmetry != "general":
        coords, values = _expand(coords, values, symmetry, name)
    return matrix.shape, coords, values


def _banner(text: bytes, name: str) -> tuple[str, str, str]:
    """Layout, field and symmetry from the first line."""
    words = text.split(b"\n", 1)[0].decode("latin-1").lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"] or words[2] not in ("coordinate",
                                                                                        "array"):
        raise UserError("the first line is no Matrix Market banner of a matrix", f"{name}:1", EXAMPLE)
    layout, field, symmetry = words[2:]
    if field == "complex" or symmetry == "hermitian":
        raise UserError(f"the matrix is {'Hermitian' if symmetry == 'hermitian' else 'complex'}", f"{name}:1",
                        "write its real part, or its imaginary part, as a real matrix")
    if field not in FIELDS or symmetry not in SYMMETRIES or (field, layout) == ("pattern", "array"):
        raise UserError(f"'{layout} {field} {symmetry}' is no kind of matrix", f"{name}:1",
                        f"use one of {', '.join(FIELDS)} and one of {', '.join(SYMMETRIES)}")
    return layout, field, symmetry


def _sizes(text: bytes, layout: str, name: str) -> tuple[int, list[int], bytes]:
    """The number of the line of sizes, the sizes, and what follows."""
    at, line = 0, 0
    while at < len(text):
        end = text.find(b"\n", at) + 1 or len(text)
        line += 1
        words = text[at:end].split()
        at = end
        if words and not words[0].startswith(b"%"):
            wanted = 3 if layout == "coordinate" else 2
            if len(words) != wanted or not all(word.isdigit() for word in words):
                raise UserError(f"{wanted} sizes were expected, not '{b' '.join(words).decode('latin-1')}'",
                                f"{name}:{line}",
                                "write rows, columns" + (", entries" if wanted == 3 else ""))
            return line, [int(word) for word in words], text[at:]
    raise UserError("the file ends before the line of sizes", f"{name}:{line}",
                    "write rows, columns, entries")


def _check_lines(text: bytes, size_line: int, body: bytes, entries: int, width: int, name: str) -> None:
    """Each line has `width` numbers, and there are as many lines as entries."""
    if len(body.split()) == entries * width and body.count(b"\n") + 1 >= entries:
        return
    found = 0
    number = size_line
    for number, line in enumerate(body.split(b"\n"), size_line + 1):
        words = line.split()
        if words and len(words) != width:
            raise UserError(f"an entry has {width} numbers, not '{b' '.join(words).decode('latin-1')}'",
                            f"{name}:{number}", "write row, column" + (", value" if width == 3 else ""))
        found += bool(words)
    if found != entries:
        raise UserError(f"there are {found} entries but the sizes say {entries}", f"{name}:{size_line}",
                        "correct the number of entries, or complete the file")


def _numbers(kind: str, text: bytes, name: str) -> Any:
    """What SciPy reads when the banner is replaced."""
    body = text.split(b"\n", 1)[1]
    try:
        return scipy.io.mmread(io.BytesIO(f"%%MatrixMarket matrix {kind}\n".encode() + body))
    except (ValueError, OverflowError, MemoryError) as error:
        line = re.match(r"Line (\d+): (.*)", str(error))
        what = (line[2] if line else str(error) or "the sizes do not fit in memory").rstrip(".")
        raise UserError(what[:1].lower() + what[1:], f"{name}:{line[1]}" if line else name,
                        "correct the file: indices count from 1 to the sizes, values are numbers") from None


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
