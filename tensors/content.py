"""The bytes of a user's file, unpacked if it ends in .gz, and never more than a bound: a file of some kilobytes may unpack to
terabytes, and a device never ends.

Errors:  UserError for a file that cannot be read, is longer, or is no whole gzip data.
"""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from sardonyx.hw.arch.errors import UserError

MOST_BYTES = 1 << 30
_PIECE_BYTES = 1 << 24


def read_content(path: Path, most: int = MOST_BYTES, fix: str = "give the path of a file") -> bytes:
    """What is in a file. most: bytes that it may hold; fix: what to try if it cannot be read."""
    packed = path.suffix == ".gz"
    pieces, left = [], most
    try:
        with gzip.open(path) if packed else path.open("rb") as file:
            while left >= 0 and (piece := file.read(min(_PIECE_BYTES, left + 1))):
                pieces.append(piece)
                left -= len(piece)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise UserError("the file is not whole gzip data", str(path), "compress it again") from None
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", str(path), fix) from None
    except ValueError:
        raise UserError("this is no path: it holds a NUL", repr(str(path)), fix) from None
    if left < 0:
        raise UserError(f"the file {'unpacks to' if packed else 'has'} more than {_size(most)}", str(path),
                        "give a smaller file")
    return b"".join(pieces)


def _size(count: int) -> str:
    """A power of two in words."""
    unit = max(power for power in range(4) if count >> 10 * power)
    return f"{count >> 10 * unit} {('bytes', 'KB', 'MB', 'GB')[unit]}"
