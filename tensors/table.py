"""Tables of numbers in text: every token is held against a pattern before NumPy reads it.

A row is a line; blanks and tabs stand between its numbers, empty lines are none. So no reader of numbers meets what it would
take for something else (``1D2``, ``7,5``, ``0x10``, a NUL).

Cost:  2 s and 100 MB above the text for 10^6 rows of three numbers; a megabyte of text is looked at at a time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sardonyx.hw.arch.errors import UserError

# Patterns of a number. Digits are bounded: no extent has more than ten, and no double needs more than 800.
INDEX = rb"[0-9]{1,10}"
INTEGER = rb"[-+]?[0-9]{1,800}"
REAL = rb"[-+]?(?:[0-9]{1,800}(?:\.[0-9]{0,800})?|\.[0-9]{1,800})(?:[eE][-+]?[0-9]{1,5})?"
# Extents that fit an index.
LONGEST = (1 << 31) - 1
# Where a number can be nonzero and below the smallest double.
_TINY = re.compile(rb"[eE]-[0-9]{3}|\.0{300}")
_PIECE_BYTES = 1 << 20


def read_rows(text: bytes, columns: Sequence[bytes], refuse: Callable[[int, list[str]], UserError], start: int = 0
              ) -> NDArray[np.float64]:
    """The numbers of the lines from byte `start` on, double[rows, columns].

    columns: a pattern for each number of a row. refuse: the error for a line of another form, from its number in the text and
    its words.
    """
    row = re.compile(rb"(?m)^[ \t]*" + rb"[ \t]+".join(columns) + rb"[ \t\r]*$")
    parts = []
    for at, piece in _pieces(text, start):
        rest, count = row.subn(b"", piece)
        if rest.strip(b" \t\r\n"):
            number, words = next((number, words) for number, line in enumerate(rest.split(b"\n")) if (words := _words(line)))
            raise refuse(text.count(b"\n", 0, at) + 1 + number, words)
        numbers = np.fromstring(piece, sep=" ") if count else np.zeros(0)
        assert len(numbers) == count * len(columns), "NumPy reads what the patterns say"
        if _TINY.search(piece):
            _keep_nonzeros(numbers, piece.split())
        parts.append(numbers)
    return np.concatenate([np.zeros(0), *parts]).reshape(-1, len(columns))


def _keep_nonzeros(numbers: NDArray[np.float64], words: Sequence[bytes]) -> None:
    """Make what is nonzero and was read as 0, such as 1e-400, the double next to 0: it is an entry."""
    for at in np.flatnonzero(numbers == 0):
        if re.search(rb"[1-9]", re.split(rb"[eE]", words[at])[0]):
            numbers[at] = np.copysign(np.nextafter(0, 1), numbers[at])


def row_at(text: bytes, row: int, start: int = 0) -> tuple[int, list[str]]:
    """The number of the line in the text that holds a row, counted from 0, and its words."""
    for at, piece in _pieces(text, start):
        for number, line in enumerate(piece.split(b"\n")):
            if words := _words(line):
                if not row:
                    return text.count(b"\n", 0, at) + 1 + number, words
                row -= 1
    raise AssertionError("the row was read from this text")


def _pieces(text: bytes, start: int) -> Iterator[tuple[int, bytes]]:
    """Whole lines, about a megabyte at a time, and where they begin."""
    while start < len(text):
        end = text.find(b"\n", min(start + _PIECE_BYTES, len(text))) + 1 or len(text)
        yield start, text[start:end]
        start = end


def _words(line: bytes) -> list[str]:
    line = line.strip(b" \t\r")
    return re.split(r"[ \t]+", line.decode("latin-1")) if line else []
