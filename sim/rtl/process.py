"""A simulation in a process of its own, which answers commands on its standard input."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Sequence
from types import TracebackType
from typing import TypeVar

Own = TypeVar("Own", bound="Process")


class Process:
    """Use as a context manager, so that the process ends.

    Parameters
    ----------
    command : sequence of str     The executable and its arguments.
    wires : str | None            The wire list that it reads first, see `stitch`.
    """

    def __init__(self, command: Sequence[str], wires: str | None) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if wires is not None:
            text = wires.encode()
            self._send(struct.pack("<I", len(text)) + text)

    def __enter__(self: Own) -> Own:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self._process.kill()
        self._process.communicate()

    def _ask(self, command: bytes, answer: str) -> tuple[int, ...]:
        self._send(command)
        return struct.unpack("<" + answer, self._read(struct.calcsize("<" + answer)))

    def _send(self, message: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(message)
            self._process.stdin.flush()
        except BrokenPipeError:
            pass    # the process has ended; reading its answer says why

    def _read(self, count: int) -> bytes:
        assert self._process.stdout is not None and self._process.stderr is not None
        found = self._process.stdout.read(count)
        assert len(found) == count, f"the simulation ended: {self._process.stderr.read().decode().strip()}"
        return found
