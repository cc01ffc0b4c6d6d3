"""GLB tiles in a row that are as one to who drives them: the ports of a tile, of which the first has those of the array."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Array, Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from glb_script import GLB, Script, random_words

from sardonyx.hw.arch.glb import CELL, HYBRID, Glb
from sardonyx.hw.arch.soc import glb_registers, named
from sardonyx.hw.emit import macro
from sardonyx.hw.glb.tile import COLUMN_STREAMS, GlbTile, control_members

TILES = 8
# Tiles of 64 words.
RING = replace(GLB, bank_bytes=64, ring=8)
RINGS = (RING, replace(RING, read_latency=2, bank_macros=2, queue=False, clock_gating=HYBRID),
         replace(RING, read_latency=3, bank_macros=2, clock_gating=HYBRID, clock_gates=CELL),
         replace(RING, ring=3, queue=False))
# The latency between the least and the most is for the whole of the tests.
EACH = pytest.mark.parametrize("glb", (RINGS[0], pytest.param(RINGS[1], marks=pytest.mark.slow), *RINGS[2:]),
                               ids=lambda glb: f"ring {glb.ring} latency {glb.read_latency}")
FINE = {"busy": 0, "beyond": 0, "lost": 0, "strays": 0}


class Chain(wiring.Component):
    """Tiles of one region, or of two with a wall to the west of one; indices of registers and lines count on through them.

    lost, beyond, busy: of any; strays: a tile but the first one gave a word to the array once.
    """

    def __init__(self, glb: Glb, tiles: int = TILES, wall: int | None = None) -> None:
        self.glb, self.tiles, self.wall = glb, tiles, wall
        more = (tiles - 1).bit_length()
        members = {name: member for name, member in control_members(glb).items() if not name.startswith("config")}
        for name in ("register_index", "host_write_line", "host_read_line"):
            members[name] = In(members[name].shape + more)
        for column in range(glb.columns_per_tile):
            members |= {f"{name}{column}": member for name, member in COLUMN_STREAMS.items()}
        super().__init__({**members, "strays": Out(1)})

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        tiles = [macro(GlbTile(self.glb)) for _ in range(self.tiles)]
        for number, each in enumerate(tiles):
            m.submodules[f"tile{number}"] = each
            m.d.comb += each.west_open.eq(number != self.wall)
            m.d.comb += [getattr(each, name).eq(getattr(self, name)) for name in (
                "register_data", "start", "again", "stop", "host_write_data", "host_write_strobe")]
            for access in ("write", "read"):
                line, own = getattr(self, f"host_{access}_line"), getattr(each, f"host_{access}_line")
                m.d.comb += [own.eq(line),
                             getattr(each, f"host_{access}_valid").eq(getattr(self, f"host_{access}_valid")
                                                                     & (line[len(own):] == number))]
            m.d.comb += [each.register_index.eq(self.register_index),
                         each.register_write.eq(self.register_write & (self.register_index[6:] == number))]
        for west, east in pairwise(tiles):
            wiring.connect(m, west.ring_east, east.ring_west)
            m.d.comb += west.east_connected.eq(east.connected)

        def chosen(name: str, by: Any) -> Any:
            return Array(getattr(each, name) for each in tiles)[by]

        line_bits = len(tiles[0].host_read_line)
        # What was read was asked for so many cycles before.
        was: Any = self.host_read_line[line_bits:]
        for cycle in range(self.glb.read_latency):
            later = Signal.like(was, name=f"was_{cycle}")
            m.d.sync += later.eq(was)
            was = later
        m.d.comb += [self.register_value.eq(chosen("register_value", self.register_index[6:])),
                     self.host_write_ready.eq(chosen("host_write_ready", self.host_write_line[line_bits:])),
                     self.host_read_ready.eq(chosen("host_read_ready", self.host_read_line[line_bits:])),
                     self.host_read_word.eq(chosen("host_read_word", was)),
                     *(getattr(self, name).eq(Cat(getattr(each, name) for each in tiles).any())
                       for name in ("busy", "moved", "beyond", "lost")),
                     *(getattr(self, name).eq(getattr(tiles[0], name)) for name in ("load_ends", "store_ends"))]
        for column in range(self.glb.columns_per_tile):
            for name in COLUMN_STREAMS:
                wiring.connect(m, wiring.flipped(getattr(self, f"{name}{column}")), getattr(tiles[0], f"{name}{column}"))
            with m.If(Cat(getattr(each, f"g2f{column}").valid for each in tiles[1:]).any()):
                m.d.sync += self.strays.eq(1)
        return m


def hops(script: Script, count: int) -> int:
    """Of the first tile: how many follow it."""
    return named(glb_registers(script.glb))["ring_control"].word(hops=count)


def connect(script: Script, tile: int, connected: bool) -> None:
    """Join a tile to the one to the west of it, or part them."""
    control = named(glb_registers(script.glb))["ring_control"]
    script.registers(tile, ring_control=control.word(connected=int(connected)))


def chained(script: Script, length: int) -> None:
    """Make a chain of the first tiles."""
    script.registers(ring_control=hops(script, length - 1))
    for tile in range(1, TILES):
        connect(script, tile, tile < length)


class Linked(Script):
    """A script for a chain of so many of the tiles, and for words in all of it."""

    def __init__(self, contents: np.ndarray, glb: Glb) -> None:
        self.length = contents.nbytes // glb.tile_bytes
        super().__init__(contents, glb, self.length, Chain)
        chained(self, self.length)


def words_of(glb: Glb, length: int, seed: int) -> np.ndarray:
    """What a chain of so many tiles holds."""
    return random_words(seed, length * glb.tile_bytes // 2)
