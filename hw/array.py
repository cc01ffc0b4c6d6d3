"""The array: a page of instances, tiles and what stands beside a column of them, and the wires between them; or, with
`Arch.feed_through`, tiles that abut and nothing else.

`Array(arch)` is the reconfigurable machine: every tile with its configuration registers.
`Array(arch, program)` is the same machine under one configuration, for tests: only the tiles of the program, their
configuration as constants or as signals of a parent. Both have the same ports and the same timing.

Cost:  32 x 16 (onyx) becomes 3.4 MB of Verilog: each tile kind is converted once per parity, and the array itself is only
       wires, written in half a second without Amaranth (`netlist`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .arch.cgra import Arch
from .column import Column
from .component import ports
from .configuration import CHANNEL, MemoryWindow
from .connectivity import (
    BORDER,
    CLOCK,
    RESET,
    Constant,
    End,
    Site,
    Wire,
    column_name,
    connections,
    flush_name,
    open_name,
    reports,
    stall_name,
    tile_name,
    window_name,
)
from .emit import macro
from .interconnect.boxes import Members
from .tile.abutted import AbuttedTile
from .tile.core import link_members
from .tile.tile import Tile, TileLogic


def shell_members(arch: Arch) -> Members:
    """The ports of an array to the shell, see `Array`."""
    flushes = dict.fromkeys((flush_name(arch, x) for x in range(arch.columns)), In(1))
    stalls = {stall_name(x): In(1) for x in range(arch.columns) if arch.column_stall}
    walls = {open_name(tile): In(1) for tile in range(1, arch.glb_tiles) if arch.regions > 1}
    return {**flushes, **walls, **stalls, "reset": In(1), **{report: Out(arch.columns) for report in reports(arch)},
            **{f"config{x}": In(CHANNEL) for x in range(arch.columns)}}


def border(arch: Arch) -> Members:
    """The ports of an array, see `Array`."""
    links = {name.removeprefix("link_"): link for name, link in link_members(arch.io).items()}
    return shell_members(arch) | {f"{name}{x}": link for x in range(arch.columns) for name, link in links.items()}


class Array(wiring.Component):
    """The tiles of a machine.

    Parameters
    ----------
    arch : Arch
    program : {(x, y): int}      The configuration of every used tile as the number that its ``cfg`` port takes
                                 (`configuration.packed` makes it of configuration words). None: the
                                 reconfigurable machine.

    Members
    -------
    g2f{x}, g2f_bit{x} : In(stream)       From the global buffer to column x; it gives no bits.
    f2g{x}, f2g_bit{x} : Out(stream)      From column x to the global buffer.
    config{x} : In(CHANNEL)               Configuration of column x; with a program, only the contents of memories are
                                          written, and nothing is answered.
    flush : In(1)                         Resets all tiles but their configuration, one cycle later. With `Arch.regions` one for
                                          the columns of each GLB tile, ``flush{t}``.
    open{t} : In(1)                       With `Arch.regions`: no wall is between the columns of GLB tile t - 1 and those of t.
    stall{x} : In(1)                      With `Arch.column_stall`: freezes the tiles of a column but their configuration, one
                                          cycle later; not while it is flushed.
    reset : In(1)                         Resets all tiles of segment n of their column, and their configuration, n + 1 cycles
                                          later, as requests of `config{x}` go (`ConfigChannel`); a cycle is enough.
    active : Out(columns)                 A token moved in a tile of the column, in the cycle before.
    overflow : Out(columns)               A level of the column grew beyond its buffer.
    walled : Out(columns)                 With `Arch.regions`: a tile of the column led a word at a wall, in the cycle before.

    Timing: streams to the global buffer come from the FIFOs of the IO tiles; streams from it go to the first
    odd tile on their way before they meet a register.
    Source: Onyx JSSC II.
    """

    module_name = "array"

    def __init__(self, arch: Arch, program: Mapping[Site, int | Value] | None = None) -> None:
        self.arch, self.program = arch, program
        assert program is None or arch.tiles.keys() >= program.keys(), "a program uses tiles of its machine"
        self.sites = {site: spec for site, spec in arch.tiles.items() if program is None or site in program}
        super().__init__(border(arch))

    @property
    def emit_key(self) -> object:
        return self.arch, None if self.program is None else tuple(self.program.items())

    def elaborate(self, platform: object) -> Module:
        m = Module()
        parts = self._parts(shared=False)
        wires = [wire for wire in self._wires() if wire.sink.port != CLOCK]     # of one domain all
        resets = {wire.sink.instance: Signal(name=f"{wire.sink.instance}_reset") for wire in wires if wire.sink.port == RESET}
        for name, part in parts.items():
            m.submodules[name] = macro(part, reset=resets.get(name))
        of = {BORDER: ports(self), **{name: ports(part) for name, part in parts.items()}}

        def at(end: End) -> Value:
            if end.port == RESET:
                return resets[end.instance]
            value, _ = of[end.instance][end.port]
            return value if end.bit is None else value[end.bit]

        for wire in wires:
            m.d.comb += at(wire.sink).eq(at(wire.source) if isinstance(wire, Wire) else wire.value)
        for site, setting in (self.program or {}).items():
            m.d.comb += at(End(tile_name(site), "cfg")).eq(setting)
        return m

    def netlist(self) -> tuple[dict[str, wiring.Component], list[Wire | Constant]]:
        """Instances and wires, as `elaborate` makes them, for the array as a module of its own (see `emit.macro`)."""
        wires = [*self._wires()]
        for site, setting in (self.program or {}).items():
            assert isinstance(setting, int), "a signal of a parent enters a module through a port"
            wires.append(Constant(End(tile_name(site), "cfg"), setting))
        return self._parts(shared=True), wires

    @property
    def _abutted(self) -> bool:
        return self.arch.feed_through and self.program is None

    def _wires(self) -> Iterator[Wire | Constant]:
        return connections(self.arch, self.sites, self.program is None, self._abutted)

    def _parts(self, shared: bool) -> dict[str, wiring.Component]:
        """The instances by name; shared: equal ones are one object."""
        whole = AbuttedTile if self._abutted else Tile
        kinds: tuple[Callable[..., wiring.Component], ...] = (
            whole if self.program is None else TileLogic, MemoryWindow, Column)
        tile, window, column = map(functools.cache, kinds) if shared else kinds
        parts: dict[str, wiring.Component] = {}
        for (x, y), spec in self.sites.items():
            parts[tile_name((x, y))] = tile(self.arch, spec, x + y & 1)
            if self.program is not None and spec.has_memory:
                parts[window_name((x, y))] = window(spec.sram_lines, spec.sram_lanes)
        for x in sorted({x for x, _ in self.sites} if not self._abutted else ()):
            arch = self.arch
            parts[column_name(x)] = column(arch.rows + 1, arch.config_rows, reports(arch), arch.column_stall)
        return parts
