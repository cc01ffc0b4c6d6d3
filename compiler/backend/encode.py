"""Program <-> bitstream.

A bitstream is a text file of lines, so that it can be read and compared by eye:

    sardonyx-bitstream 1
    fingerprint 73d6a14c1892b83f
    source {"expression": "x(i) = b(i) * c(i)", ...}
    load B 0 3                                    (tensor with %20 for a blank, level or -1 for values, column)
    store X 0 4
    01030000 00000041                             (address {x, y, register}, data)
    crc 5d1c3a90                                  (CRC-32 of everything above)

A MEM tile that is read as a table has its contents from register 0x8000 on, and their number in the source as ``contents``.
Every register of a used tile is written, zeros too, so that nothing of an earlier program survives.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping
from urllib.parse import quote, unquote

from ...hw.arch.cgra import Arch
from ...hw.arch.config import MEMORY_REGISTER, STATUS_REGISTER, memory_words
from ...hw.arch.errors import UserError, shown
from ..ir.program import Binding, Config, Program, Site

MAGIC = "sardonyx-bitstream 1"
# 16-bit words that the registers of a tile reach.
MOST_CONTENTS = 2 * (STATUS_REGISTER - MEMORY_REGISTER)


def address(x: int, y: int, register: int) -> int:
    """The configuration address of a register of a tile."""
    return x << 24 | y << 16 | register


def words(program: Program, arch: Arch) -> list[tuple[int, int]]:
    """Every configuration write of a program: (address, data), tile by tile."""
    registers = [(address(x, y, register), word)
                 for (x, y), values in sorted(program.config.items())
                 for register, word in enumerate(arch.config_map(arch.tiles[x, y].kind).encode(values))]
    return registers + contents(program)


def contents(program: Program) -> list[tuple[int, int]]:
    """The configuration writes that fill memories."""
    return [(address(x, y, register), word) for (x, y), each in sorted(program.contents.items())
            for register, word in memory_words(each)]


def encode(program: Program, arch: Arch) -> str:
    """The bitstream of a program."""
    assert program.fingerprint == arch.fingerprint, "a program is encoded for the machine it was compiled for"
    lines = [MAGIC, f"fingerprint {program.fingerprint:016x}", f"source {json.dumps(program.source, sort_keys=True)}"]
    lines += [f"{b.direction} {quote(b.tensor, safe='')} {b.level} {b.column}" for b in program.bindings]
    lines += [f"{where:08x} {word:08x}" for where, word in words(program, arch)]
    body = "\n".join(lines) + "\n"
    return body + f"crc {zlib.crc32(body.encode()):08x}\n"


def decode(text: str, arch: Arch, where: str = "bitstream") -> Program:
    """The program of a bitstream; UserError if it is damaged, truncated, or for another machine."""
    try:
        return _decode(text, arch, where)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        # Only of a file that was made to look right: `encode` writes none of these.
        raise UserError("the bitstream is damaged: its checksum is right, but a line of it is not", where,
                        "compile the program again") from None


def _decode(text: str, arch: Arch, where: str) -> Program:
    retry = "compile the program again"
    body, found, tail = text.rpartition("crc ")
    if not text.startswith(MAGIC.split()[0]):
        raise UserError("not a bitstream", where, "give a file that 'sardonyx run --dump' wrote")
    if not text.startswith(MAGIC + "\n"):
        raise UserError(f"bitstream of another version: '{shown(text.splitlines()[0])}', this is '{MAGIC}'", where, retry)
    if not found or len(tail.strip()) != 8 or not tail.endswith("\n"):
        raise UserError("the bitstream is truncated: it does not end in a checksum", where, retry)
    if f"{zlib.crc32(body.encode()):08x}" != tail.strip():
        raise UserError(f"the bitstream is damaged: checksum {tail.strip()}, contents have {zlib.crc32(body.encode()):08x}",
                        where, retry)
    lines = body.splitlines()
    fingerprint = int(lines[1].split()[1], 16)
    if fingerprint != arch.fingerprint:
        raise UserError(f"the bitstream is for machine {fingerprint:016x}, but '{arch.name}' is {arch.fingerprint:016x}",
                        where, f"compile the program for '{arch.name}', or run it on the machine it was made for")
    source = json.loads(lines[2].partition(" ")[2])
    bindings, raw = [], {}
    for line in lines[3:]:
        first, *rest = line.split()
        if first in ("load", "store"):
            bindings.append(Binding(unquote(rest[0]), int(rest[1]), first, int(rest[2])))
        else:
            raw[_hex(first)] = _hex(rest[0])
    sizes = {tuple(map(int, site.split(","))): size for site, size in source.get("contents", {}).items()}
    if any(not 0 <= size <= MOST_CONTENTS for size in sizes.values()) or not isinstance(source.get("names", {}), dict):
        raise ValueError("more words than registers, or names that are none")
    filled = {(x, y): tuple(raw.get(address(x, y, MEMORY_REGISTER + n // 2), 0) >> 16 * (n % 2) & 0xFFFF for n in range(size))
              for (x, y), size in sizes.items()}
    settings = {where: word for where, word in raw.items() if where & 0xFFFF < MEMORY_REGISTER}
    return Program(fingerprint, source, decode_words(settings, arch), tuple(bindings), filled)


def _hex(word: str) -> int:
    """An address or a word; `int` alone takes signs and underscores too."""
    if not re.fullmatch("[0-9a-f]{8}", word):
        raise ValueError("no word of 32 bits")
    return int(word, 16)


def decode_words(raw: Mapping[int, int], arch: Arch) -> dict[Site, Config]:
    """Configuration by tile from address -> data, as written to the machine."""
    tiles = sorted({(where >> 24, where >> 16 & 0xFF) for where in raw})
    config: dict[Site, Config] = {}
    for x, y in tiles:
        space = arch.config_map(arch.tiles[x, y].kind)
        config[x, y] = space.decode([raw.get(address(x, y, register), 0) for register in range(space.words)])
    return config
