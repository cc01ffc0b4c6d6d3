"""A machine on a board as a `Device`, at the other end of a line of bytes.

    line = open_port("/dev/ttyUSB0", 1_000_000)
    device = connect(presets.get("fpga"), line, "/dev/ttyUSB0")
    sardonyx.kernel("vec_elemmul", arch=device.arch, engine=device)

The line is an argument: a serial port, or whatever else writes and reads bytes, as a simulation of the board.

Errors:  UserError for a line on which nothing answers, an answer that stops, bytes that arrive damaged in either direction, and
         a board that holds another machine. After a tenth of a second the board takes requests again.
Cost:    16 bytes a configuration word, 8 bytes four words of data; at 1 Mbaud 100,000 bytes a second each way.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterable
from typing import Protocol

import numpy as np

from ..hw.arch.cgra import Arch
from ..hw.arch.errors import UserError
from ..runtime.device import check_fingerprint, read_back, register_address, whole_lines
from .protocol import CHECK, LINE_BYTES, VALUE_BYTES, Code, Status, is_intact, request

# Frames are cut there, so that what is damaged is noticed soon.
MOST_PAIRS = MOST_LINES = 512
# A wait is asked for in parts of so many cycles, less than a second on a board.
WAIT_CYCLES = 10_000_000
TIMEOUT_S = 2.0
DAMAGED = "check the cable, close other programs that use the port, and run it again"


class Line(Protocol):
    """Bytes to and from a board; a serial port of pyserial is one."""

    def write(self, data: bytes, /) -> int | None:
        """Send bytes."""

    def read(self, size: int = 1, /) -> bytes:
        """So many bytes; fewer when no more have come for a while."""


def open_port(port: str, baud: int) -> Line:
    """A serial port, after what was on its way; UserError if there is none."""
    try:
        import serial
    except ImportError:
        raise UserError("the package pyserial is missing", port, "pip install 'sardonyx[board]'") from None
    try:
        line = serial.Serial(port, baud, timeout=TIMEOUT_S)
    except (OSError, ValueError) as error:
        raise UserError(f"the port cannot be opened: {str(error).lower()}", port,
                        "name the serial port of the board, as /dev/ttyUSB0 or COM3, and close other programs that use it"
                        ) from None
    # The board drops a request that began in an earlier session when its patience is over.
    time.sleep(0.2)
    line.reset_input_buffer()
    found: Line = line
    return found


class SerialDevice:
    """A machine behind a `Bridge`; see `connect`.

    Parameters
    ----------
    arch : Arch
    line : Line
    where : str      What errors call the line.
    """

    def __init__(self, arch: Arch, line: Line, where: str = "serial line") -> None:
        self.arch, self._line, self._where = arch, line, where

    def write_register(self, name: str, value: int, glb_tile: int | None = None, region: int = 0) -> None:
        """Write a register of the controller of a region, or one of a GLB tile."""
        self._write([(register_address(self.arch, name, glb_tile, region), value & 0xFFFFFFFF)])

    def read_register(self, name: str, glb_tile: int | None = None, region: int = 0) -> int:
        """Read a register of the controller of a region, or one of a GLB tile."""
        address = register_address(self.arch, name, glb_tile, region)
        return int.from_bytes(self._ask(Code.READ, 1, address, answer=VALUE_BYTES), "little")

    def configure(self, words: Iterable[tuple[int, int]]) -> None:
        """Write configuration words (address, data)."""
        address, data = (register_address(self.arch, name) for name in ("config_address", "config_write"))
        self._write([pair for at, word in words for pair in ((address, at), (data, word))])

    def read_configuration(self, address: int) -> int:
        """Read a configuration word back; 0 where no tile has such a register."""
        return read_back(self, address)

    def write_memory(self, address: int, words: np.ndarray) -> None:
        """Write 16-bit words to the global buffer from a byte address (a multiple of 8) on; the last 64-bit word is
        filled up with zeros."""
        data = whole_lines(words)
        for at in range(0, len(data), MOST_LINES * LINE_BYTES):
            part = data[at:at + MOST_LINES * LINE_BYTES]
            self._ask(Code.STORE, len(part) // LINE_BYTES, address + at, part)

    def read_memory(self, address: int, count: int) -> np.ndarray:
        """Read `count` 16-bit words from a byte address (a multiple of 8) on."""
        lines = -(-count // 4)
        data = b""
        for at in range(0, lines, MOST_LINES):
            part = min(MOST_LINES, lines - at)
            data += self._ask(Code.LOAD, part, address + LINE_BYTES * at, answer=LINE_BYTES * part)
        return np.frombuffer(data, "<u2")[:count].astype(np.uint16)

    def wait(self, limit: int) -> bool:
        """Run until the interrupt, at most `limit` cycles; whether it came."""
        while True:
            part = min(limit, WAIT_CYCLES)
            if self._ask(Code.WAIT, 0, part, answer=1) != b"\0":
                return True
            limit -= part
            if not limit:
                return False

    def _write(self, pairs: list[tuple[int, int]]) -> None:
        for at in range(0, len(pairs), MOST_PAIRS):
            part = pairs[at:at + MOST_PAIRS]
            self._ask(Code.WRITE, len(part), 0, b"".join(struct.pack("<II", *pair) for pair in part))

    def _ask(self, code: Code, count: int, address: int, payload: bytes = b"", answer: int = 0) -> bytes:
        """Send a request; the payload of its answer, of `answer` bytes."""
        try:
            self._line.write(request(code, count, address, payload))
            return self._answer(code, answer)
        except OSError as error:
            raise UserError(f"the line broke: {str(error).lower()}", self._where, "plug the board in again") from None

    def _answer(self, code: Code, payload: int) -> bytes:
        first = self._line.read(1)
        if not first:
            raise UserError("the board does not answer", self._where,
                            "program it with the bitstream of `sardonyx board build`, and name the port it is at")
        wanted = (payload if first[0] == code else 0) + 1 + CHECK.size
        rest = self._line.read(wanted)
        if len(rest) < wanted:
            raise UserError(f"the answer of the board stopped after {1 + len(rest)} of {1 + wanted} bytes", self._where,
                            DAMAGED)
        if not is_intact(first + rest) or first[0] not in (code, Code.REFUSED):
            raise UserError("the answer of the board arrived damaged", self._where, DAMAGED)
        status = rest[-1 - CHECK.size]
        if status & (Status.HEADER | Status.PAYLOAD):
            raise UserError("a request arrived damaged at the board", self._where, DAMAGED)
        assert not status, f"the bus of the machine refused an access: request {code.name}, status {status}"
        return rest[:payload]


def connect(arch: Arch, line: Line, where: str = "serial line") -> SerialDevice:
    """The device at the end of a line; UserError if it is no such machine."""
    device = SerialDevice(arch, line, where)
    check_fingerprint(device, "the board", where,
                      "name the description it was built from (--arch), or program it with the bitstream of this one")
    return device
