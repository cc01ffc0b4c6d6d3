"""Results that are kept in a file as they come, so that a run that was stopped goes on.

The first line says what the file is of; then there is a line for each result: its key, what it is, and a CRC-32 of both.

Input:   texts of JSON, of a file that may be cut or damaged anywhere: lines that are not as they were written do not count.
Errors:  UserError for a file that is of something else, and for one that cannot be read or written.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .hw.arch.errors import UserError

_NAME = "name a file that can be written"


class Kept:
    """What was found so far.

    Parameters
    ----------
    path : Path       Of the file, which need not be there; None: nothing is kept.
    head : object     What the file is of, in JSON: its first line.
    other : str       What a file with another first line is, to the user.
    """

    def __init__(self, path: Path | None, head: object, other: str) -> None:
        self.path, self.found = path, dict[str, Any]()
        if path is None:
            return
        if "\0" in str(path):
            raise UserError("this is no path: it holds a NUL", repr(str(path)), _NAME)
        first = json.dumps(head)
        with _told(path):
            if path.exists() and not path.is_file() and not path.is_dir():
                # Before it is read: the one has no end, the other no beginning.
                raise UserError("results cannot be kept in it: it is a device or a pipe", str(path), _NAME)
            text = path.read_text() if path.exists() else ""
            lines = text.splitlines()
            if lines and lines[0] != first:
                raise UserError(other, str(path), "name another file")
            for line in lines[1:]:
                self._read(line)
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a") as file:
                file.write("\n" * (bool(text) and text[-1] != "\n") if lines else first + "\n")

    def _read(self, line: str) -> None:
        # A line that is not as it was written, as the one at which the run was stopped: its result is found again.
        said, _, check = line.rpartition(" ")
        if check == _check(said):
            with contextlib.suppress(ValueError, TypeError, RecursionError):    # somebody else's, whose check is right
                key, found = json.loads(said)
                self.found[key] = found

    def add(self, key: str, found: object) -> None:
        """Keep a result; found: what is plain in JSON."""
        self.found[key] = found
        if self.path is not None:
            said = json.dumps([key, found])
            with _told(self.path), self.path.open("a") as file:
                file.write(f"{said} {_check(said)}\n")


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    """UserError for what keeps a file from being read or written."""
    try:
        yield
    except UnicodeEncodeError:
        # Before it is a path; as text it could not be printed either.
        raise UserError("this is no path: no name of a file has such characters", ascii(str(path)), _NAME) from None
    except UnicodeDecodeError:
        raise UserError("results cannot be kept in it: it is no text", str(path), _NAME) from None
    except OSError as error:
        # Where a folder is to be made and a file stands the system says that it exists, which is what a user wants of a folder.
        why = os.strerror(errno.ENOTDIR) if isinstance(error, FileExistsError) else error.strerror or error
        raise UserError(f"results cannot be kept in it: {why}", str(path), _NAME) from None


def _check(said: str) -> str:
    return f"{zlib.crc32(said.encode()):08x}"
