"""The SRAM of a tile that may stand still, read and written by configuration meanwhile.

What an SRAM shows is part of what a tile holds: a controller may look at it cycles after it has read. So the word that is shown
when configuration comes between is kept in a register, and is what the controller sees until it accesses the SRAM again.
"""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from ..emit import macro
from .sram import Sram, SramPort


class ReadableSram(wiring.Component):
    """An SRAM with two users, of which the one that stands still notices nothing of the other.

    Behaviour: `user` reads line 3 and stands still; `contents` reads and writes lines; `user` goes on and still sees line 3 as
    it read it.

    Parameters
    ----------
    lines, lanes : int       As of `Sram`.

    Members
    -------
    user : In(SramPort)      Of the controllers, whose accesses count while `stall` is 0.
    contents : In(SramPort)  Of configuration, which comes first: at any time while `stall` is 1, else while nothing runs.
    stall : In(1)            The user stands still.

    Timing: as of `Sram`, for both; a multiplexer behind its word.
    Source: ours; that memories are saved is Amber JSSC IV-B.
    """

    def __init__(self, lines: int, lanes: int) -> None:
        self.lines, self.lanes = lines, lanes
        self.emit_key = lines, lanes
        super().__init__({"user": In(SramPort(lines, lanes)), "contents": In(SramPort(lines, lanes)), "stall": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.sram = sram = macro(Sram(self.lines, self.lanes))
        uses = Signal()
        kept = Signal.like(self.user.word, reset_less=True)
        keeps = Signal()
        m.d.comb += [uses.eq(self.user.enable & ~self.stall), sram.enable.eq(uses | self.contents.enable),
                     *(getattr(sram, name).eq(Mux(self.contents.enable, getattr(self.contents, name), getattr(self.user, name)))
                       for name in ("address", "write", "data")),
                     self.user.word.eq(Mux(keeps, kept, sram.word)), self.contents.word.eq(sram.word)]
        with m.If(uses):
            m.d.sync += keeps.eq(0)
        with m.Elif(self.contents.enable & self.stall & ~keeps):
            m.d.sync += [kept.eq(sram.word), keeps.eq(1)]
        return m
