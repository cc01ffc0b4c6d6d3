"""The configuration channel of a column: from its top to all tiles, with a register every so many rows.

Requests go from segment to segment, a register for each, and to all tiles of a segment at once; answers come back the same
way, ORed. The registers are beside the tiles, so that all tiles of a kind are one module. The reset of the tiles takes the same
registers, so that no request is at a tile before its reset has ended.

Source: Onyx JSSC IV-F (one configuration word per column and cycle); Amber JSSC VII (registers every eight rows).
"""

from __future__ import annotations

from functools import reduce
from itertools import groupby
from operator import or_

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .arch.config import config_segment
from .configuration import ANSWER, CHANNEL, REQUEST
from .emit import macro


def segments(tiles: int, rows: int) -> list[list[int]]:
    """The tiles of each segment."""
    return [[*part] for _, part in groupby(range(tiles), lambda row: config_segment(row, rows))]


def tile_channels(tiles: int, rows: int) -> dict[str, wiring.Member]:
    """The side of the tiles, see `ConfigChannel`."""
    parts = range(len(segments(tiles, rows)))
    return {**{f"segment{n}": Out(wiring.Signature(REQUEST)) for n in parts}, **{f"reset{n}": Out(1) for n in parts},
            **{f"tile{n}": Out(wiring.Signature(ANSWER)) for n in range(tiles)}}


class ChannelRegister(wiring.Component):
    """The register at the begin of a segment, for requests on their way down, answers on their way up, and reset.

    Members
    -------
    above : In(CHANNEL)            Towards the top of the column.
    below : Out(CHANNEL)           The tiles of this segment, and those below it.
    reset : In(1)                  Of the tiles, with what is `above`; a cycle is enough.
    reset_below : Out(1)           The same for what is `below`.

    Timing: a cycle each way. What comes with a reset is dropped, and an answer that a reset meets on its way, too: `below`
    shows no request while `reset_below` is 1, and `above` no answer in the two cycles after `reset`.
    Source: Amber JSSC VII (registers every eight rows).
    """

    def __init__(self) -> None:
        super().__init__({"above": In(CHANNEL), "below": Out(CHANNEL), "reset": In(1), "reset_below": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        above, below = self.above, self.below

        def register(name: str, member: wiring.Member) -> Signal:
            return Signal(member.shape, name=f"{name}_held", reset_less=True)

        # The reset is a word like the others here, and nothing else resets them.
        asked = {name: register(name, member) for name, member in REQUEST.items()}
        answered = {name: register(name, member) for name, member in ANSWER.items()}
        reset = register("reset", Out(1))
        m.d.sync += [reset.eq(self.reset), asked["valid"].eq(above.valid & ~self.reset)]
        # A request of another column, or none, does not toggle 65 registers in every segment below.
        with m.If(above.valid):
            m.d.sync += [held.eq(getattr(above, name)) for name, held in asked.items() if name != "valid"]
        for name, held in answered.items():
            m.d.sync += held.eq(Mux(self.reset | reset, 0, getattr(below, name)))
        m.d.comb += [self.reset_below.eq(reset), *(getattr(below, name).eq(held) for name, held in asked.items()),
                     *(getattr(above, name).eq(held) for name, held in answered.items())]
        return m


class ConfigChannel(wiring.Component):
    """Takes requests to the tiles of a column and brings answers back, and takes reset with the requests.

    Parameters
    ----------
    tiles : int                    Tiles in the column, 1 or more.
    rows : int                     Rows of a segment: the first one has the IO tile besides, the last one may have fewer.

    Members
    -------
    config : In(CHANNEL)           The top of the column.
    reset : In(1)                  Of the channel and of the tiles; a cycle is enough.
    segment{n} : Out(REQUEST)      To all tiles of a segment, the northern one first.
    reset{n} : Out(1)              To all tiles of a segment.
    tile{n} : In(ANSWER)           From a tile, in the cycle of the request or, of an SRAM, in the next one.

    Timing: one request per cycle; it is at the tiles of segment n after n + 1 cycles, and so is reset: a request that comes
    behind it never overtakes it. The answer is at the top 2 (n + 1) cycles after the request.
    Source: Onyx JSSC IV-F; Amber JSSC VII.
    """

    def __init__(self, tiles: int, rows: int) -> None:
        assert tiles > 0 and rows > 0, "a channel goes somewhere"
        self.tiles, self.rows = tiles, rows
        super().__init__({"config": In(CHANNEL), "reset": In(1), **tile_channels(tiles, rows)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        parts = segments(self.tiles, self.rows)
        registers = [macro(ChannelRegister()) for _ in parts]
        above, reset = self.config, self.reset
        for n, (part, register) in enumerate(zip(parts, registers, strict=True)):
            m.submodules[f"register{n}"] = register
            asked, here = register.below, getattr(self, f"segment{n}")
            if n == 0:
                wiring.connect(m, wiring.flipped(above), register.above)
            else:
                m.d.comb += [getattr(register.above, name).eq(getattr(above, name)) for name in REQUEST]
            m.d.comb += [register.reset.eq(reset), getattr(self, f"reset{n}").eq(register.reset_below),
                         *(getattr(here, name).eq(getattr(asked, name)) for name in REQUEST)]
            above, reset = asked, register.reset_below
            answers = [getattr(self, f"tile{tile}") for tile in part] + [each.above for each in registers[n + 1:n + 2]]
            m.d.comb += [asked.rvalid.eq(Cat(each.rvalid for each in answers).any()),
                         asked.rdata.eq(reduce(or_, (each.rdata for each in answers)))]
        return m
