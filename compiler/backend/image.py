"""What is written to configure a machine: from what its registers hold, or nobody knows, to what a program wants of them.

A program decides every register of the machine that does something: modes and boxes of all tiles, which are 0, off, where it
does not use them, and what the primitive that a tile is set to reads. All others are held in reset, whatever their registers
say. Only what differs is written, and a word that most tiles of a column want is written to every row at once, before those
that want another one:

    column 2, register 0    holds 1 1 1 1, wanted 5 5 5 7       every row: 5, row 4: 7

Memories are no registers: they keep what they hold, and the contents that a program brings are written in any case.

Source: Amber JSSC IV-B (what is fast about its reconfiguration); a write to every row is a design of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from ...hw.arch.cgra import Arch
from ...hw.arch.config import EVERY_ROW
from ...hw.arch.primitive import ALU
from ...hw.arch.register_file import FIELDS as REGISTER_FILE_FIELDS
from ...hw.arch.tile import POWER, TileSpec
from ..ir.program import Config, Program
from .encode import address, contents

Registers = Mapping[int, int]


def registers(program: Program, arch: Arch) -> dict[int, int]:
    """What a program wants of every register of a machine, by address."""
    found: dict[int, int] = {}
    for (x, y), tile in arch.tiles.items():
        space = arch.config_map(tile.kind)
        words = space.encode(program.config[x, y]) if (x, y) in program.config else [0] * space.words
        found |= {address(x, y, register): word for register, word in enumerate(words)}
    return found


def deciding(program: Program, arch: Arch) -> frozenset[int]:
    """The registers of a machine that do something when a program is there, by address."""
    known: dict[tuple[str, str, bool], frozenset[int]] = {}
    found: set[int] = set()
    for (x, y), tile in arch.tiles.items():
        case = tile.kind, *_set_to(program.config.get((x, y), {}), tile, arch)
        if case not in known:
            known[case] = _read(*case[1:], tile, arch)
        found |= {address(x, y, register) for register in known[case]}
    return frozenset(found)


def _set_to(config: Config, tile: TileSpec, arch: Arch) -> tuple[str, bool]:
    """The primitive that a tile is set to, "" if it is off, and whether that may use a register file."""
    mode = arch.config_map(tile.kind).sets["core"].numbers(config.get("core", {}))["mode"]
    primitive = tile.primitives[mode - 1].name if mode else ""
    # Channels give and take words in static mode alone, which there is no other one than without FIFOs.
    static = arch.interconnect.fifo == "none" or bool(config.get(primitive, {}).get("static", 0))
    return primitive, static


def _read(primitive: str, static: bool, tile: TileSpec, arch: Arch) -> frozenset[int]:
    """The registers of a tile, set to a primitive, that something reads."""
    idle = {each.name for each in tile.primitives} - {primitive}
    kept = frozenset() if static else frozenset((ALU.name, each.name) for each in REGISTER_FILE_FIELDS)
    return frozenset(slot.word for field, slot in arch.config_map(tile.kind).slots.items()
                     if field[0] not in idle and field not in kept)


def image(program: Program, arch: Arch, held: Registers | None = None) -> list[tuple[int, int]]:
    """The writes, (address, word) in their order, after which a machine is configured for a program.

    held: what its registers hold, by address; of those that it has not, nobody knows. With power domains what switches tiles
    comes first, and no tile is switched on on the way that stays off.
    """
    decides = deciding(program, arch)
    wanted = {where: word for where, word in registers(program, arch).items() if where in decides}
    found = [write for x in range(arch.columns) for write in _column(x, arch, wanted, held or {})]
    if arch.power_domains:
        # A stable sort: supplies rise while the rest is written.
        switches = {(kind, arch.config_map(kind).slots[POWER.name, "on"].word) for kind in ("pe", "mem", "io")}
        found.sort(key=lambda write: (_kind(write[0], arch), write[0] & 0xFFFF) not in switches)
    return found + contents(program)


def reset_registers(arch: Arch) -> dict[int, int]:
    """What the registers of a machine hold after reset, by address."""
    return {address(x, y, register): 0 for (x, y), tile in arch.tiles.items()
            for register in range(arch.config_map(tile.kind).words)}


def applied(writes: list[tuple[int, int]], arch: Arch, held: Registers) -> dict[int, int]:
    """What registers hold after writes, by address, as far as that is known; what goes into memories is left out."""
    found = dict(held)
    for where, word in writes:
        x, y, register = where >> 24, where >> 16 & 0xFF, where & 0xFFFF
        for row in range(1, arch.rows + 1) if y == EVERY_ROW else (y,):
            if register < arch.config_map(arch.tiles[x, row].kind).words:
                found[address(x, row, register)] = word
    return found


def _kind(where: int, arch: Arch) -> str:
    """The kind of the tiles that an address means."""
    y = where >> 16 & 0xFF
    return arch.tiles[where >> 24, 1 if y == EVERY_ROW else y].kind


def _column(x: int, arch: Arch, wanted: Registers, held: Registers) -> Iterator[tuple[int, int]]:
    """The writes of a column: of its IO tile, and of the others register by register; wanted: of those that matter."""
    for rows in (range(1), range(1, arch.rows + 1)):
        kind = arch.tiles[x, rows[0]].kind
        space = arch.config_map(kind)
        switch = space.slots[POWER.name, "on"] if arch.power_domains else None
        for register in range(space.words):
            words = {where: wanted[where] for where in (address(x, y, register) for y in rows) if where in wanted}
            differs = {where: word for where, word in words.items() if held.get(where) != word}
            candidates = Counter(words.values() if kind != "io" else ())
            if switch is not None and switch.word == register:
                candidates = Counter({word: count for word, count in candidates.items() if not word >> switch.lsb & 1})
            if candidates:
                (most, count), = candidates.most_common(1)
                if 1 + len(words) - count < len(differs):
                    yield address(x, EVERY_ROW, register), most
                    differs = {where: word for where, word in words.items() if word != most}
            yield from differs.items()
