"""The array: a page of tile instances and the wires between them.

`Array(arch)` is the reconfigurable machine: every tile with its configuration registers.
`Array(arch, program)` is the same machine under one configuration, for simulation: only the tiles of the
program, their configuration as constants. Both have the same ports and the same timing.

Cost:  32 x 16 (onyx) becomes Verilog in 17 s, 0.5 GB, 3.3 MB of text: each tile kind is converted once per parity,
       and the array itself is only wires.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .arch.cgra import Arch
from .arch.interconnect import STEP
from .arch.tile import LAYERS, OPPOSITE
from .configuration import CHANNEL, MemoryWindow
from .emit import Macro, macro
from .interconnect.boxes import Members
from .memory.sram import contents_members
from .tile.core import link_members
from .tile.tile import Tile, TileLogic

Site = tuple[int, int]


class Array(wiring.Component):
    """The tiles of a machine.

    Parameters
    ----------
    arch : Arch
    program : {(x, y): int}      For the specialised form: the configuration of every used tile as the number
                                 that its ``cfg`` port takes (`configuration.packed` makes it of configuration
                                 words). None: the reconfigurable machine.

    Members
    -------
    g2f{x}, g2f_bit{x} : In(stream)       From the global buffer to column x.
    f2g{x}, f2g_bit{x} : Out(stream)      From column x to the global buffer.
    config{x} : In(CHANNEL)               Configuration of column x; if specialised, only the contents of memories are
                                          written, and nothing is answered.
    flush : In(1)                         Resets all tiles but their configuration, one cycle later.
    active : Out(columns)                 A token moved in a tile of the column, in the cycle before.
    overflow : Out(columns)               A level of the column grew beyond its buffer.

    Timing: streams to the global buffer come from the FIFOs of the IO tiles; streams from it go to the first
    odd tile on their way before they meet a register.
    """

    module_name = "array"

    def __init__(self, arch: Arch, program: Mapping[Site, int | Value] | None = None) -> None:
        self.arch, self.program = arch, program
        assert program is None or arch.tiles.keys() >= program.keys(), "a program uses tiles of its machine"
        self.sites = {site: spec for site, spec in arch.tiles.items() if program is None or site in program}
        columns = arch.columns
        members: Members = {"flush": In(1), "active": Out(columns), "overflow": Out(columns)}
        for x in range(columns):
            members[f"config{x}"] = In(CHANNEL)
            members |= {f"{name}{x}": link for name, link in self._links().items()}
        super().__init__(members)

    @property
    def emit_key(self) -> object:
        return self.arch, None if self.program is None else tuple(self.program.items())

    def _links(self) -> Members:
        """The streams of a column."""
        return {name.removeprefix("link_"): link for name, link in link_members(self.arch.io).items()}

    def elaborate(self, platform: object) -> Module:
        m = Module()
        tiles = {site: self._tile(m, site) for site in self.sites}
        for site in tiles:
            self._wires(m, tiles, site)
        for x in range(self.arch.columns):
            self._column(m, x, [tile for (column, _), tile in tiles.items() if column == x])
            if (x, 0) in tiles:
                for name in self._links():
                    outer, inner = getattr(self, f"{name}{x}"), getattr(tiles[x, 0], f"link_{name}")
                    wiring.connect(m, wiring.flipped(outer), inner)
        return m

    def _tile(self, m: Module, site: Site) -> Macro:
        """The instance at a site."""
        (x, y), spec = site, self.sites[site]
        if self.program is None:
            tile = macro(Tile(self.arch, spec, x + y & 1))
            m.d.comb += [tile.tile_x.eq(x), tile.tile_y.eq(y)]
        else:
            tile = macro(TileLogic(self.arch, spec, x + y & 1))
            m.d.comb += tile.cfg.as_value().eq(self.program[site])
            if contents_members(spec):
                m.submodules[f"window_x{x}_y{y}"] = window = MemoryWindow(spec.sram_lines, spec.sram_lanes)
                wiring.connect(m, window.sram, tile.contents)
                m.d.comb += [getattr(window, name).eq(getattr(getattr(self, f"config{x}"), name))
                             for name in ("valid", "write", "addr", "wdata")]
                m.d.comb += [window.tile_x.eq(x), window.tile_y.eq(y)]
        m.submodules[f"x{x}_y{y}"] = tile
        return tile

    def _wires(self, m: Module, tiles: Mapping[Site, Macro], site: Site) -> None:
        """Every track that enters a tile, and readiness where a track that leaves it goes nowhere."""
        (x, y), tile, interconnect = site, tiles[site], self.arch.interconnect
        for side, layer in product(self.sites[site].sides, LAYERS):
            (dx, dy), here, there = STEP[side], f"{side}_{layer}", f"{OPPOSITE[side]}_{layer}"
            other = tiles.get((x + dx, y + dy))
            if other is None or OPPOSITE[side] not in self.sites[x + dx, y + dy].sides:
                if interconnect.fifo != "none":
                    m.d.comb += getattr(tile, f"{here}_o_ready").eq(Const(-1, interconnect.tracks))
                continue
            m.d.comb += getattr(tile, f"{here}_i_payload").eq(getattr(other, f"{there}_o_payload"))
            if interconnect.fifo != "none":
                m.d.comb += [getattr(tile, f"{here}_i_valid").eq(getattr(other, f"{there}_o_valid")),
                             getattr(tile, f"{here}_o_ready").eq(getattr(other, f"{there}_i_ready"))]

    def _column(self, m: Module, x: int, column: list[Macro]) -> None:
        """Flush, status and configuration of a column, its tiles from north to south."""
        flush = Signal(name=f"flush{x}")
        m.d.sync += flush.eq(self.flush)
        m.d.comb += [tile.flush.eq(flush) for tile in column]
        m.d.comb += [self.active[x].eq(Cat(tile.active for tile in column).any()),
                     self.overflow[x].eq(Cat(tile.overflow for tile in column).any())]
        if self.program is None:
            above = wiring.flipped(getattr(self, f"config{x}"))
            for tile in column:
                wiring.connect(m, above, tile.north)
                above = tile.south
