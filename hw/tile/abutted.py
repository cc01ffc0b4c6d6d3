"""Tiles that abut: what the tiles of a column share goes through each of them, from its northern to its southern side.

With `Arch.feed_through` an array is these tiles and wires between neighbours, and nothing stands beside a column. What goes
through is what `hw/column.py` does otherwise, in the same cycles.
"""

from __future__ import annotations

from functools import reduce
from operator import or_

from amaranth.hdl import ClockSignal, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..arch.cgra import Arch
from ..arch.tile import TileSpec
from ..channel import ChannelRegister
from ..configuration import ANSWER, CHANNEL, ID_BITS, REQUEST
from ..connectivity import reports, stall_sides
from ..emit import macro
from ..interconnect.boxes import Members
from .core import decided_by
from .power import awake_members
from .tile import Tile, logic_name, pass_on, tile_members


def feed_members(first: bool, reports: tuple[str, ...], stalls: bool) -> Members:
    """What goes through a tile, see `Feed`."""
    return {**({"n_stall": In(1), "s_stall": Out(1)} if stalls else {}),
            "n_flush": In(1), "s_flush": Out(1), "n_reset": In(1), "s_reset": Out(1), "n_config": In(CHANNEL),
            "s_config": Out(CHANNEL), **{f"n_{name}": Out(1) for name in reports}, **{f"s_{name}": In(1) for name in reports},
            **({} if first else {"cut": In(1)})}


class Feed(wiring.Component):
    """What goes through a tile that abuts.

    The module is called ``feed_first`` in the northernmost tile of a column, else ``feed``.

    Parameters
    ----------
    first : bool                       Whether it is in the northernmost tile, which registers all that comes from the north.
    reports : tuple of str             What each tile reports, see `connectivity.reports`.
    stalls : bool                      Whether the column can be frozen.

    Members
    -------
    n_flush, n_reset : In(1)           From the north; `s_flush` and `s_reset` go to the tile and on to the south.
    n_stall : In(1), s_stall : Out(1)  With `stalls`: the same of what freezes the column.
    n_config : In(CHANNEL)             Requests from the north; ``s_config : Out(CHANNEL)`` goes on to the south.
    config : Out(CHANNEL)              To the tile.
    n_{report} : Out(1)                Whether this tile or one to the south of it reports; ``s_{report} : In(1)`` is theirs.
    {report} : In(1)                   Of the tile.
    cut : In(1)                        Not in the first: a register of the channel is in use here. Tied outside, as the
                                       coordinates are.

    Timing: flush, stall, reset, requests and answers pass in the same cycle, but where a register is: flush and stall have one
    in the first tile, the others have one there and where `cut` is 1. Reports pass in the same cycle.
    Source: Amber JSSC VII (tiles that abut, registers every eight rows).
    """

    def __init__(self, first: bool, reports: tuple[str, ...], stalls: bool = False) -> None:
        self.first, self.reports, self.stalls = first, reports, stalls
        super().__init__({**feed_members(first, reports, stalls), "config": Out(CHANNEL), **{name: In(1) for name in reports}})

    @property
    def module_name(self) -> str:
        return "feed_first" if self.first else "feed"

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.register = register = macro(ChannelRegister())
        cut = 1 if self.first else self.cut
        answers = {name: Signal(member.shape, name=f"answer_{name}") for name, member in ANSWER.items()}
        # Where no register is in use, nothing moves in it.
        m.d.comb += [register.above.valid.eq(self.n_config.valid & cut), register.reset.eq(self.n_reset & cut)]
        m.d.comb += [getattr(register.above, name).eq(getattr(self.n_config, name)) for name in REQUEST if name != "valid"]
        m.d.comb += self.s_reset.eq(Mux(cut, register.reset_below, self.n_reset))
        for name in REQUEST:
            passed = Signal(REQUEST[name].shape, name=f"passed_{name}")
            m.d.comb += [passed.eq(Mux(cut, getattr(register.below, name), getattr(self.n_config, name))),
                         getattr(self.config, name).eq(passed), getattr(self.s_config, name).eq(passed)]
        for name, answer in answers.items():
            m.d.comb += [answer.eq(reduce(or_, (getattr(each, name) for each in (self.config, self.s_config)))),
                         getattr(register.below, name).eq(Mux(cut, answer, 0)),
                         getattr(self.n_config, name).eq(Mux(cut, getattr(register.above, name), answer))]
        for name in ("flush", *["stall"] * self.stalls):
            asked, passed = getattr(self, f"n_{name}"), getattr(self, f"s_{name}")
            if self.first:
                register = Signal(name=name, reset_less=True)
                m.d.sync += register.eq(asked)
                m.d.comb += passed.eq(register)
            else:
                m.d.comb += passed.eq(asked)
        m.d.comb += [getattr(self, f"n_{name}").eq(getattr(self, name) | getattr(self, f"s_{name}")) for name in self.reports]
        return m


class AbuttedTile(wiring.Component):
    """A tile with what goes through it; the module is called ``abutted_{kind}_{parity}``.

    Parameters
    ----------
    arch : Arch
    spec : TileSpec
    parity : int        (x + y) & 1 of the tile.

    Members
    -------
    {side}_{layer}_{way}_{part}, link_{port} : tracks and links, as of `Tile`.
    n_.., s_.., cut : as of `Feed`.
    {side}_stall_o : Out(1)   With `Arch.column_stall`: for the neighbours to the east and to the west.
    s_clk : Out(1)            The clock, for the tile to the south.
    tile_y : In(8)            Row of the tile, tied outside: all tiles of a kind and parity are one module.

    Timing: as of `Tile` and `Feed`. Every port but the row, `cut` and, in IO tiles, the links, belongs to the side of
    a neighbour.
    Source: Amber JSSC VII (tiles that abut, with the clock through them and pins for their place).
    """

    def __init__(self, arch: Arch, spec: TileSpec, parity: int) -> None:
        self.arch, self.spec, self.parity = arch, spec, parity
        super().__init__({**self._tracks, **self._through, "s_clk": Out(1), "tile_y": In(ID_BITS),
                          **{f"{side}_stall_o": Out(1) for side in stall_sides(arch, spec)}})

    @property
    def first(self) -> bool:
        """IO tiles, and no others, are the northernmost."""
        return self.spec.kind == "io"

    @property
    def _tracks(self) -> Members:
        members = tile_members(self.arch, self.spec) | awake_members(self.arch, self.spec)
        return {name: member for name, member in members.items() if name not in ("flush", "stall", *reports(self.arch))}

    @property
    def _through(self) -> Members:
        return feed_members(self.first, reports(self.arch), self.arch.column_stall)

    @property
    def module_name(self) -> str:
        return f"abutted_{logic_name(self.spec, self.parity)}"

    @property
    def emit_key(self) -> object:
        return *decided_by(self.arch, self.spec), self.parity

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.feed = feed = macro(Feed(self.first, reports(self.arch), self.arch.column_stall))
        m.submodules.tile = tile = macro(Tile(self.arch, self.spec, self.parity), reset=feed.s_reset)
        pass_on(m, self, feed, {name: name for name in self._through}, self._through)
        pass_on(m, self, tile, {name: name for name in self._tracks}, self._tracks)
        wiring.connect(m, feed.config, tile.config)
        m.d.comb += [tile.flush.eq(feed.s_flush), *(getattr(feed, name).eq(getattr(tile, name)) for name in reports(self.arch)),
                     tile.tile_y.eq(self.tile_y), self.s_clk.eq(ClockSignal())]
        if self.arch.column_stall:
            m.d.comb += [tile.stall.eq(feed.s_stall),
                         *(getattr(self, f"{side}_stall_o").eq(feed.s_stall) for side in stall_sides(self.arch, self.spec))]
        return m
