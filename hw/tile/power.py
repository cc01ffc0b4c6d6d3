"""The power domain of a tile: when what it says counts.

Switched off by a bit of configuration (``power.on``) are core and boxes, the module `TileLogic`. Always on are what this bit
needs and what others need of a tile that is off: its configuration registers, what they are asked over, what goes through tiles
that abut, `TilePower`, and the `Isolation` of reports and of the links of an IO tile.

Why the registers of configuration are not switched, a fifth of a tile: words may come in any order, nothing that is asked
over the channel meets a tile that is off, and a tile that comes back is what it was. Tracks need no isolation where they
leave: the multiplexers of the tiles around them select nothing of a tile that is off (`interconnect.one_hot`), and valid and
ready are masked where they enter, by the `awake` of the neighbour.

Source: Amber JSSC III-A (a power switch a tile, controlled by a configuration register).
"""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..arch.cgra import Arch
from ..arch.tile import TileSpec
from ..interconnect.boxes import Members


def awake_members(arch: Arch, spec: TileSpec, ways: str = "io") -> Members:
    """Whether the neighbour on a side is awake (``{side}_awake_i``), and this tile (``{side}_awake_o``); ways: which of both.

    Machines without power domains have none, and neither have those without valid and ready the former.
    """
    flows = {"i": In(1), "o": Out(1)}
    return {f"{side}_awake_{way}": flows[way] for side in spec.sides for way in ways
            if arch.power_domains and arch.interconnect.fifo != "none"}


class TilePower(wiring.Component):
    """Says when what a tile says counts: from the flush behind its switching on, until it is switched off.

    Every run begins with a flush. So a tile needs no reset of its own when it gets power, and has from the word that
    switches it on until the run for its supply to rise: until then it is held in reset, and isolated.

    Members
    -------
    on : In(1)           The switch, a register.
    flush : In(1)        Of the column.
    awake : Out(1)       The tile has power, and was flushed since; the isolation and the reset of its logic follow this.

    Timing: 1 from the cycle after a flush while `on` is 1; 0 in the cycle in which `on` is 0.
    Source: Amber JSSC III-A (power switches); the reset is ours.
    """

    def __init__(self) -> None:
        super().__init__({"on": In(1), "flush": In(1), "awake": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        flushed = Signal()
        m.d.sync += flushed.eq(self.on & (self.flush | flushed))
        m.d.comb += self.awake.eq(self.on & flushed)
        return m
