"""The configuration channel of a column: from its top to all tiles, with a register every so many rows.

Requests go from segment to segment, a register for each, and to all tiles of a segment at once; answers come back the same
way, ORed. The registers are beside the tiles, so that all tiles of a kind are one module.

Source: Onyx JSSC IV-F (one configuration word per column and cycle); Amber JSSC VII (registers every eight rows).
"""

from __future__ import annotations

from functools import reduce
from itertools import groupby
from operator import or_

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .arch.config import config_segment
from .configuration import ANSWER, CHANNEL, REQUEST


def segments(tiles: int, rows: int) -> list[list[int]]:
    """The tiles of each segment."""
    return [[*part] for _, part in groupby(range(tiles), lambda row: config_segment(row, rows))]


def tile_channels(tiles: int, rows: int) -> dict[str, wiring.Member]:
    """The side of the tiles, see `ConfigChannel`."""
    return {**{f"segment{n}": Out(wiring.Signature(REQUEST)) for n in range(len(segments(tiles, rows)))},
            **{f"tile{n}": Out(wiring.Signature(ANSWER)) for n in range(tiles)}}


class ConfigChannel(wiring.Component):
    """Takes requests to the tiles of a column and brings answers back.

    Parameters
    ----------
    tiles : int                    Tiles in the column, 1 or more.
    rows : int                     Rows of a segment: the first one has the IO tile besides, the last one may have fewer.

    Members
    -------
    config : In(CHANNEL)           The top of the column.
    segment{n} : Out(REQUEST)      To all tiles of a segment, the northern one first.
    tile{n} : In(ANSWER)           From a tile, in the cycle of the request.

    Timing: one request per cycle; it is at the tiles of segment n after n + 1 cycles. The answer is at the top 2 (n + 1)
    cycles after the request.
    """

    def __init__(self, tiles: int, rows: int) -> None:
        assert tiles > 0 and rows > 0, "a channel goes somewhere"
        self.tiles, self.rows = tiles, rows
        super().__init__({"config": In(CHANNEL), **tile_channels(tiles, rows)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        above = self.config
        parts = segments(self.tiles, self.rows)
        # The answer of each segment, and of those below it.
        back = [(Signal(name=f"rvalid{n}"), Signal(len(above.rdata), name=f"rdata{n}")) for n in range(len(parts))]
        for n, part in enumerate(parts):
            here = getattr(self, f"segment{n}")
            m.d.sync += here.valid.eq(above.valid)
            # A request of another column, or none, does not toggle 65 registers in every segment below.
            with m.If(above.valid):
                m.d.sync += [getattr(here, name).eq(getattr(above, name)) for name in REQUEST if name != "valid"]
            above = here
            answers = [getattr(self, f"tile{tile}") for tile in part]
            valid = [each.rvalid for each in answers] + [valid for valid, _ in back[n + 1:n + 2]]
            data = [each.rdata for each in answers] + [data for _, data in back[n + 1:n + 2]]
            m.d.sync += [back[n][0].eq(Cat(valid).any()), back[n][1].eq(reduce(or_, data))]
        m.d.comb += [self.config.rvalid.eq(back[0][0]), self.config.rdata.eq(back[0][1])]
        return m
