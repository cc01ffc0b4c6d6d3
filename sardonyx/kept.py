"""Results that are kept in a file as they come, so that a run that was stopped goes on.

The first line says what the file is of; then there is a line for each result: its key, what it is, and a CRC-32 of both.

Input:   texts of JSON, of a file that may be cut or damaged anywhere: lines that are not as they were written do not count.
Errors:  UserError for a file that is of something else, and for one that cannot be read or written.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

from .hw.arch.errors import UserError


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
        first = json.dumps(head)
        try:
            text = path.read_text() if path.exists() else ""
            lines = text.splitlines()
            if lines and lines[0] != first:
                raise UserError(other, str(path), "name another file")
            for line in lines[1:]:
                self._read(line)
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a") as file:
                file.write("\n" * (bool(text) and text[-1] != "\n") if lines else first + "\n")
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "it is no text"
            raise UserError(f"results cannot be kept in it: {why}", str(path), "name a file that can be written") from None

    def _read(self, line: str) -> None:
        # A line that is not as it was written, as the one at which the run was stopped: its result is found again.
        said, _, check = line.rpartition(" ")
        if check == _check(said):
            key, found = json.loads(said)
            self.found[key] = found

    def add(self, key: str, found: object) -> None:
        """Keep a result; found: what is plain in JSON."""
        self.found[key] = found
        if self.path is not None:
            with self.path.open("a") as file:
                said = json.dumps([key, found])
                file.write(f"{said} {_check(said)}\n")


def _check(said: str) -> str:
    return f"{zlib.crc32(said.encode()):08x}"
