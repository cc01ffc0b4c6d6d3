"""Read one array of numbers from a NumPy file (.npy).

The header is held against the file before anything is allocated: it may claim any shape.

Errors:  UserError for a file that cannot be read, is no array of numbers, or is shorter than its header says.
"""

from __future__ import annotations

import math
import os
import tokenize
import warnings
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as layout
from numpy.typing import NDArray

from sardonyx.hw.arch.errors import UserError

from .content import MOST_BYTES

# NumPy reads the header as a Python literal; these are what that, and its check of the literal, meets.
_BROKEN = (ValueError, EOFError, TypeError, SyntaxError, KeyError, IndexError, OverflowError, RecursionError, MemoryError,
           tokenize.TokenError)
_READERS = {(1, 0): layout.read_array_header_1_0, (2, 0): layout.read_array_header_2_0}


def read_array(path: Path) -> NDArray[Any]:
    """The array in a file, of Booleans, integers, floating-point or complex numbers."""
    try:
        # A header written by Python 2 is read, and the warning of it would tell the user to do what is done.
        with warnings.catch_warnings(), path.open("rb") as file:
            warnings.simplefilter("ignore")
            _check(file, str(path))
            file.seek(0)
            return np.asarray(layout.read_array(file, allow_pickle=False))
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror or error}", str(path), "give the path of a file") from None
    except _BROKEN:
        raise UserError("this is no NumPy array of numbers", str(path), "save it with numpy.save") from None


def _check(file: BinaryIO, name: str) -> None:
    """UserError, or one of what is broken, if the header is none or says more than the file holds."""
    shape, _, dtype = _READERS[layout.read_magic(file)](file)
    if dtype.kind not in "biufc" or any(extent < 0 for extent in shape):
        raise ValueError("no numbers")
    wanted, held = math.prod(shape) * dtype.itemsize, os.fstat(file.fileno()).st_size - file.tell()
    if wanted > held:
        raise UserError(f"the header says {' x '.join(map(str, shape)) or 'one'} {dtype}, {wanted} bytes, but {held} follow",
                        name, "save it again with numpy.save")
    if wanted > MOST_BYTES:
        raise UserError(f"the array has {wanted} bytes, and {MOST_BYTES} are read at most", name, "give a smaller one")
