"""The bytes on the serial line between a host and a machine on a board.

The host asks, the board answers, one frame each; nothing else is ever sent. Numbers are little-endian. `check` is CRC-16/XMODEM
of all bytes of its part before it, high byte first.

    request   code  count:2  address:4  check:2  [payload  check:2]
    answer    code  [payload]  status  check:2

    code          address                     payload of the request       payload of the answer
    WRITE         0                           count x (register:4 value:4)
    READ          a register                                               count x value:4, of neighbours
    STORE         a byte, a multiple of 8     count x 8 bytes
    LOAD          a byte, a multiple of 8                                  count x 8 bytes
    WAIT          cycles at most                                           1 byte: the interrupt came

Addresses are those of the two buses of the machine (`docs/registers.md`). A header whose check is wrong, or whose code is none
of these, is refused: the answer has code REFUSED, no payload, and comes when the line has been quiet for as long as the
board's patience. A request that does not go on for so long is dropped without an answer. So whatever was sent, after that time
the next byte begins a request. Payload is written as it comes; a wrong check of it shows in the status.
"""

from __future__ import annotations

import binascii
import struct
from enum import IntEnum

HEADER = struct.Struct("<BHI")
CHECK = struct.Struct(">H")
HEADER_BYTES = HEADER.size + CHECK.size
PAIR_BYTES, VALUE_BYTES, LINE_BYTES = 8, 4, 8
MOST_COUNT = (1 << 16) - 1


class Code(IntEnum):
    """What a request asks for, and what an answer answers."""

    WRITE = 0x57
    READ = 0x52
    STORE = 0x53
    LOAD = 0x4C
    WAIT = 0x49
    REFUSED = 0x3F


class Status(IntEnum):
    """How it went: bits, 0 if well."""

    BUS = 1         # a bus answered an access with an error: there is no such register or memory
    PAYLOAD = 2     # the payload arrived with a wrong check
    HEADER = 4      # the header did


def checked(data: bytes) -> bytes:
    """Bytes with their check behind them."""
    return data + CHECK.pack(binascii.crc_hqx(data, 0))


def is_intact(data: bytes) -> bool:
    """Whether bytes with their check arrived as they were sent."""
    return binascii.crc_hqx(data, 0) == 0


def request(code: Code, count: int, address: int, payload: bytes = b"") -> bytes:
    """The bytes of a request."""
    assert 0 <= count <= MOST_COUNT and 0 <= address < 1 << 32, "counts and addresses fit the header"
    return checked(HEADER.pack(code, count, address)) + (checked(payload) if payload else b"")
