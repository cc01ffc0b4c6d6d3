"""Configuration words in the global buffer, and the commands that have DMAs stream them.

Needs:   words by GLB tile (`data/images.py`).
Gives:   commands; packed words where the machine reads such (`Glb.packed`) and they are fewer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

import numpy as np

from ..hw.arch.cgra import Arch
from ..hw.arch.glb import LINE_BYTES, Glb
from ..hw.arch.soc import glb_registers, named
from .commands import Command, Start, Wait, WriteMemory, WriteRegister
from .data.packed import packed
from .registers import interrupts

# Cycles that a configuration may take besides those of its words and of a column's channel.
CONFIG_CYCLES = 100
# A packed line may take as many: a byte a cycle, and the next line.
PACKED_CYCLES = 16
# One of so many parts of a GLB tile, the last one, has the words of its configuration DMA, where they have room there: the
# first words of a program, which begin in front, come meanwhile (`job`).
CONFIG_PARTS = 8


@dataclass(frozen=True)
class Streamed:
    """What a configuration DMA streams: the first byte in its GLB tile, how many lines of 64 bits, whether they are packed, and
    the commands that bring them there."""

    start: int
    lines: int
    packed: bool = False
    brings: tuple[Command, ...] = ()


def streamed(given: Mapping[int, np.ndarray], arch: Arch) -> Iterator[Command]:
    """A round of configuration words (`images`) into memory, from where the configuration DMAs stream them."""
    found: dict[int, Streamed] = {}
    for tile, words in given.items():
        shorter = packed(words) if arch.glb.packed else words
        # Words far from each other, all of whose bytes are set, take more lines packed, and have room for no more.
        packs = len(shorter) < len(words)
        lines = shorter if packs else words
        start = config_start(len(lines), arch.glb)
        found[tile] = Streamed(start, len(lines), packs,
                               (WriteMemory(tile * arch.glb.tile_bytes + start, lines.view("<u2")),))
    return streaming(found, arch)


def config_start(words: int, glb: Glb) -> int:
    """The byte of a GLB tile from which on its configuration DMA has so many words of 64 bits."""
    room = glb.tile_bytes // CONFIG_PARTS // LINE_BYTES * LINE_BYTES
    return glb.program_bytes - room if LINE_BYTES * words <= room else 0


def streaming(given: Mapping[int, Streamed], arch: Arch) -> Iterator[Command]:
    """A round of configuration words, by GLB tile."""
    control = named(glb_registers(arch.glb))["config_control"]
    # Registers one behind the other: a host that goes on before they are answered waits for all of them at once.
    yield from chain.from_iterable(each.brings for each in given.values())
    for tile in range(arch.glb_tiles):
        way = {"packed": 1} if tile in given and given[tile].packed else {}
        yield WriteRegister("config_control", control.word(enable=int(tile in given), **way), tile)
    for tile, each in given.items():
        yield WriteRegister("config_start", each.start, tile)
        yield WriteRegister("config_words", each.lines, tile)
    yield from interrupts()
    yield Start(configure=True)
    yield Wait(max(each.lines * (PACKED_CYCLES if each.packed else 1) for each in given.values()) + arch.rows + CONFIG_CYCLES,
               configure=True)
