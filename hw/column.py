"""What the tiles of a column share: registered flush and reset, what they report as one, and the configuration channel."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .channel import ConfigChannel, tile_channels
from .configuration import CHANNEL
from .tile.tile import pass_on


class Column(wiring.Component):
    """Beside the tiles of a column, so that the array itself is only wires; the module is called ``column_{tiles}``.

    Parameters
    ----------
    tiles : int                          Tiles in the column, 1 or more.
    config_rows : int                    Rows of a segment of the configuration channel.
    reports : tuple of str               What each tile reports, see `connectivity.reports`.
    stalls : bool                        Whether the column can be frozen.

    Members
    -------
    flush, reset : In(1)                 For all columns.
    tiles_flush : Out(1)                 For the tiles of this one.
    stall : In(1)                        With `stalls`: for this column.
    tiles_stall : Out(1)                 With `stalls`: for its tiles and the columns beside it.
    tiles_{report} : In(tiles)           What each tile reports.
    {report} : Out(1)                    Whether any does.
    config, segment{n}, tile{n}          The configuration channel, see `ConfigChannel`.
    reset{n} : Out(1)                    For the tiles of segment n.

    Timing: `tiles_flush` is `flush` of the cycle before, which keeps its fan-out within a column, and `tiles_stall` is `stall`
    of the cycle before; `reset` goes with the
    requests of the channel, a segment a cycle; reports follow in the same cycle.
    Source: Onyx JSSC IV-F (one configuration word per column and cycle); Amber JSSC VII (registers every eight rows).
    """

    def __init__(self, tiles: int, config_rows: int, reports: tuple[str, ...], stalls: bool = False) -> None:
        assert tiles > 0, "a column without tiles needs nothing beside them"
        self.tiles, self.config_rows, self.reports, self.stalls = tiles, config_rows, reports, stalls
        super().__init__({"flush": In(1), "reset": In(1), "tiles_flush": Out(1),
                          **({"stall": In(1), "tiles_stall": Out(1)} if stalls else {}),
                          **{f"tiles_{report}": In(tiles) for report in reports},
                          **{report: Out(1) for report in reports}, "config": In(CHANNEL),
                          **tile_channels(tiles, config_rows)})

    @property
    def module_name(self) -> str:
        return f"column_{self.tiles}"

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.channel = channel = ConfigChannel(self.tiles, self.config_rows)
        through = {"config": In(CHANNEL), "reset": In(1), **tile_channels(self.tiles, self.config_rows)}
        pass_on(m, self, channel, {name: name for name in through}, through)
        # Without a reset: the controller holds flush and stall at 0 while it is reset.
        flush = Signal(reset_less=True)
        m.d.sync += flush.eq(self.flush)
        m.d.comb += [self.tiles_flush.eq(flush),
                     *(getattr(self, report).eq(getattr(self, f"tiles_{report}").any()) for report in self.reports)]
        if self.stalls:
            stall = Signal(reset_less=True)
            m.d.sync += stall.eq(self.stall)
            m.d.comb += self.tiles_stall.eq(stall)
        return m
