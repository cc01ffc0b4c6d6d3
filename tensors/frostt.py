"""Read FROSTT text: coordinates from 1 and a value per line; ``# dims: 4 4 4`` gives the shape.

Errors:  UserError(what, "file:line").
Source:  S. Smith et al., FROSTT: The Formidable Repository of Open Sparse Tensors and Tools, frostt.io.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sardonyx.hw.arch.errors import UserError, shown
from sardonyx.tensors.coordinates import Ints

from .table import INDEX, LONGEST, REAL, read_rows, row_at

# Dimensions of an array of NumPy.
MOST_MODES = 64
_COMMENT = re.compile(rb"(?m)^[ \t]*#.*$")
_WRITE = "write coordinates, then the value"


def parse(text: bytes, name: str) -> tuple[tuple[int, ...], Ints, NDArray[Any]]:
    """Shape, coordinates from 0 and values of every entry, in the file's order; `name` stands in errors."""
    shape: tuple[int, ...] = ()
    if b"#" in text:
        for comment in _COMMENT.finditer(text):
            if re.match(rb"[ \t]*#[ \t]*dims:", comment[0]):
                shape = _dimensions(text, comment, name)
        text = _COMMENT.sub(b"", text)
    if not shape and not text.strip(b" \t\r\n"):
        raise UserError("the file has no entries and no dimensions", name,
                        "write '# dims: 4 4 4' as a first line")
    modes = len(shape) or _first_modes(text, name)
    most = np.array(shape or [LONGEST] * modes)

    def refuse(number: int, words: list[str]) -> UserError:
        where = f"{name}:{number}"
        if len(words) != modes + 1:
            return UserError(f"an entry of {modes} coordinates and a value was expected, not '{shown(' '.join(words))}'",
                             where, _WRITE)
        if all(re.fullmatch(INDEX.decode(), word) and 1 <= int(word) <= limit for word, limit in zip(words, most)):
            return UserError(f"value '{shown(words[-1])}' is no number", where, _WRITE)
        return UserError(f"coordinates {shown(' '.join(words[:-1]))} are not whole numbers from 1 to "
                         f"{' '.join(map(str, most))}", where, "count from 1, up to the dimensions")

    table = read_rows(text, [INDEX] * modes + [REAL], refuse)
    coords = table[:, :-1].astype(np.int64)
    wrong = np.flatnonzero(~((coords >= 1) & (coords <= most)).all(axis=1))
    if len(wrong):
        raise refuse(*row_at(text, int(wrong[0])))
    limit = most if shape else coords.max(axis=0)
    return tuple(int(extent) for extent in limit), coords - 1, table[:, -1]


def _dimensions(text: bytes, comment: re.Match[bytes], name: str) -> tuple[int, ...]:
    line = comment[0].decode("latin-1")
    words = line.partition("dims:")[2].split("nnz:")[0].replace("x", " ").split()
    if not 1 <= len(words) <= MOST_MODES or not all(re.fullmatch(INDEX.decode(), word) and int(word) <= LONGEST
                                                    for word in words):
        number = text.count(b"\n", 0, comment.start()) + 1
        raise UserError(f"'{shown(line.strip())}' gives no dimensions", f"{name}:{number}",
                        f"write '# dims: 4 4 4', each {LONGEST} at most")
    return tuple(map(int, words))


def _first_modes(text: bytes, name: str) -> int:
    """The coordinates of the first entry."""
    number, words = row_at(text, 0)
    if not 2 <= len(words) <= MOST_MODES + 1:
        raise UserError(f"an entry of 1 to {MOST_MODES} coordinates and a value was expected, not '{shown(' '.join(words))}'",
                        f"{name}:{number}", _WRITE)
    return len(words) - 1
