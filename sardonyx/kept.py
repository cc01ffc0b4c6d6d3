"""Results that are kept in a file as they come, so that a run that was stopped goes on.

The first line says what the file is of; then there is a line for each result: its key, what it is, and a CRC-32 of both.

Input:   texts of JSON, of a file that may be cut or damaged anywhere: lines that are not as they were written do not count, nor
         do results that an older Sardonyx kept in another form. Nothing of the file is taken away; what is found again is
         added.
Errors:  UserError for a file that is of something else or of another version, whose first line is damaged, and for one that
         cannot be read or written.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from .hw.arch.errors import UserError, shown

_NAME = "name a file that can be written"
VERSION = "version"     # Of a head that has it: the Sardonyx that wrote the file.
LONGEST_VERSION = 100


class Kept:
    """What was found so far.

    Parameters
    ----------
    path : Path         Of the file, which need not be there; None: nothing is kept.
    head : mapping      What the file is of, in JSON: its first line.
    other : str         What a file with another first line is, to the user.
    reads : function    Reads a result; one of which it raises KeyError, TypeError or ValueError is not there.
    """

    def __init__(self, path: Path | None, head: Mapping[str, Any], other: str,
                 reads: Callable[[Any], object] = lambda found: found) -> None:
        self.path, self.found, self._reads = path, dict[str, Any](), reads
        if path is None:
            return
        if "\0" in str(path):
            raise UserError("this is no path: it holds a NUL", repr(str(path)), _NAME)
        first, missing = f"{json.dumps(head)}\n", ""
        with _told(path):
            if path.exists() and not path.is_file() and not path.is_dir():
                # Before it is read: the one has no end, the other no beginning.
                raise UserError("results cannot be kept in it: it is a device or a pipe", str(path), _NAME)
            if path.exists():
                with path.open("rb") as file:
                    start = _text(file.readline(len(first) + LONGEST_VERSION))
                    if not first.startswith(start):
                        raise UserError(_why(start, head, other), str(path), "name another file")
                    # A run may have been stopped within the first line.
                    missing = first[len(start):]
                    for line in map(_text, file):
                        self._read(line.removesuffix("\n"))
                        missing = "" if line.endswith("\n") else "\n"
            else:
                missing = first
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a") as more:
                more.write(missing)

    def _read(self, line: str) -> None:
        # A line that is not as it was written, as the one at which the run was stopped: its result is found again.
        said, _, check = line.rpartition(" ")
        if check == _check(said):
            # Somebody else's, whose check is right, or an older one.
            with contextlib.suppress(ValueError, TypeError, KeyError, RecursionError):
                key, found = json.loads(said)
                self._reads(found)
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
    except OSError as error:
        # Where a folder is to be made and a file stands the system says that it exists, which is what a user wants of a folder.
        why = os.strerror(errno.ENOTDIR) if isinstance(error, FileExistsError) else error.strerror or error
        raise UserError(f"results cannot be kept in it: {why}", str(path), _NAME) from None


def _text(line: bytes) -> str:
    """JSON is plain ASCII; what is not is damage."""
    return line.decode("ascii", "replace")


def _why(start: str, head: Mapping[str, Any], other: str) -> str:
    """Why a file that begins with another line is not gone on with."""
    try:
        found = json.loads(start)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not found.keys() <= head.keys():
        return f"{other}, or its first line is damaged"
    if VERSION in head and found.get(VERSION) != head[VERSION]:
        wrote = f"version {shown(str(found[VERSION]))}" if VERSION in found else "an older version"
        return f"the file is of {wrote} of Sardonyx, here it is {head[VERSION]}, whose results may be others"
    return other


def _check(said: str) -> str:
    return f"{zlib.crc32(said.encode()):08x}"
