"""Program <-> bitstream.

A bitstream is a text file of lines, so that it can be read and compared by eye:

    sardonyx-bitstream 2
    fingerprint 73d6a14c1892b83f
    mode elastic
    source {"expression": "x(i) = b(i) * c(i)", ...}
    load b0 column 3 bank 0 address 0 room 65536 sections 2       (name with %20 for a blank)
    store out column 4 bank 1 address 0 room 65536 loops 62:1 60:62        (static: iterations:stride)
    load c0 column 6 bank 0 address 0 room 196608 tiles 3 sections 2       (in banks of a chain of GLB tiles)
    01030000 00000041                             (address {x, y, register}, data)
    crc 5d1c3a90                                  (CRC-32 of everything above)

A MEM tile that is read as a table has its contents from register 0x8000 on, and their number in the source as ``contents``.
Every register of a used tile is written, zeros too, so that nothing of an earlier program survives. In machines with power
domains the words that hold ``power.on`` come first: 0 for all tiles that are not used, then those of used ones, then all else,
memories last.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping, Sequence
from urllib.parse import quote, unquote

from ...hw.arch.cgra import Arch
from ...hw.arch.config import MEMORY_REGISTER, STATUS_REGISTER, memory_words
from ...hw.arch.errors import UserError, shown
from ...hw.arch.tile import POWER
from ..ir.mapped import LOAD, STORE
from ..ir.program import ELASTIC, STATIC, Config, Program, Site
from ..ir.transfer import Transfer, placed

MAGIC = "sardonyx-bitstream 2"
# 16-bit words that the registers of a tile reach.
MOST_CONTENTS = 2 * (STATUS_REGISTER - MEMORY_REGISTER)


def address(x: int, y: int, register: int) -> int:
    """The configuration address of a register of a tile."""
    return x << 24 | y << 16 | register


def words(program: Program, arch: Arch) -> list[tuple[int, int]]:
    """Every configuration write of a program: (address, data), tile by tile behind the power switches."""
    registers = [(address(x, y, register), word)
                 for (x, y), values in sorted(program.config.items())
                 for register, word in enumerate(arch.config_map(arch.tiles[x, y].kind).encode(values))]
    if arch.power_domains:
        off = [(_switch(site, arch), 0) for site in sorted(arch.tiles.keys() - program.config.keys())]
        switches = {_switch(site, arch) for site in program.config}
        # A stable sort: supplies rise while the rest is written.
        registers = [*off, *sorted(registers, key=lambda word: word[0] not in switches)]
    return registers + contents(program)


def _switch(site: Site, arch: Arch) -> int:
    """The address of the word that switches a tile."""
    return address(*site, arch.config_map(arch.tiles[site].kind).slots[POWER.name, "on"].word)


def contents(program: Program) -> list[tuple[int, int]]:
    """The configuration writes that fill memories."""
    return [(address(x, y, register), word) for (x, y), each in sorted(program.contents.items())
            for register, word in memory_words(each)]


def encode(program: Program, arch: Arch) -> str:
    """The bitstream of a program."""
    assert program.fingerprint == arch.fingerprint, "a program is encoded for the machine it was compiled for"
    lines = [MAGIC, f"fingerprint {program.fingerprint:016x}", f"mode {program.mode}",
             f"source {json.dumps(program.source, sort_keys=True)}"]
    lines += [_written(each) for each in program.transfers]
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
    mode, source = lines[2].split()[1], json.loads(lines[3].partition(" ")[2])
    if mode not in (ELASTIC, STATIC):
        raise ValueError("a mode that is none")
    transfers, raw = [], {}
    for line in lines[4:]:
        first, *rest = line.split()
        if first in (LOAD, STORE):
            transfers.append(_read(first, rest, arch))
        else:
            raw[_hex(first)] = _hex(rest[0])
    if not placed(transfers, arch):
        raise ValueError("no streams of this machine")
    if len({(each.direction, each.column // arch.glb.columns_per_tile) for each in transfers}) != len(transfers):
        raise ValueError("a GLB tile with two streams of a direction")
    sizes = {tuple(map(int, site.split(","))): size for site, size in source.get("contents", {}).items()}
    if any(not 0 <= size <= MOST_CONTENTS for size in sizes.values()) or not isinstance(source.get("names", {}), dict):
        raise ValueError("more words than registers, or names that are none")
    filled = {(x, y): tuple(raw.get(address(x, y, MEMORY_REGISTER + n // 2), 0) >> 16 * (n % 2) & 0xFFFF for n in range(size))
              for (x, y), size in sizes.items()}
    settings = {where: word for where, word in raw.items() if where & 0xFFFF < MEMORY_REGISTER}
    return Program(fingerprint, mode, source, decode_words(settings, arch), tuple(transfers), filled)


def _written(each: Transfer) -> str:
    """The line of a transfer."""
    numbered = f"blocks {each.blocks} order {quote(each.order, safe='')} " if each.blocks else ""
    counted = f"{numbered}sections {each.sections}" if each.sections else "loops " + \
        " ".join(f"{n}:{stride}" for n, stride in each.loops)
    return (f"{each.direction} {quote(each.name, safe='')} column {each.column} bank {each.bank} address {each.address} "
            f"room {each.room} {f'tiles {each.tiles} ' if each.tiles > 1 else ''}{counted}")


def _read(direction: str, line: Sequence[str], arch: Arch) -> Transfer:
    """The transfer of a line, without its first word."""
    name, _, column, _, bank, _, address, _, room, *more = line
    tiles, more = (int(more[1]), more[2:]) if more[0] == "tiles" else (1, more)
    blocks, order, (counted, *numbers) = (int(more[1]), unquote(more[3]), more[4:]) if more[0] == "blocks" else (0, "", more)
    pairs = [each.split(":") for each in numbers] if counted == "loops" else []
    loops = tuple((int(count), int(stride)) for count, stride in pairs)
    sections = 0 if pairs else int(numbers[0])
    if blocks < 0 or bool(blocks) != bool(order) or (blocks and (not sections or direction != STORE or not arch.glb.numbered)):
        raise ValueError("no blocks with numbers")
    if (sections < 1 and not loops) or any(count < 1 for count, _ in loops):
        raise ValueError("a stream without words")
    found = Transfer(unquote(name), direction, int(column), int(bank), int(address), int(room), sections, loops, tiles,
                     blocks, order)
    if _written(found).split()[1:] != list(line) or not 0 <= found.column < arch.columns:
        raise ValueError("no stream of this machine")
    return found


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
        values = space.decode([raw.get(address(x, y, register), 0) for register in range(space.words)])
        # What is off is no part of the program.
        if not arch.power_domains or values[POWER.name]["on"]:
            config[x, y] = values
    return config
