"""Configuration DMA of packed words, or of words as they are."""

from __future__ import annotations

from typing import ClassVar

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib.wiring import In

from ..arch.glb import Glb
from .config import ConfigDma
from .unpacker import HELD, Unpacker


class PackedDma(ConfigDma):
    """Gives configuration words, one per cycle, as they are in memory or packed there (`Unpacker`).

    Behaviour: as that of a `ConfigDma`. With `unpacks`, which stays as it is meanwhile, the 64-bit words from `first` on are
    lines of packed ones, `count` of them.

    Members
    -------
    those of `ConfigDma`
    unpacks : In(1)

    Timing: as that of a `ConfigDma`. What is packed begins two cycles later and goes on with an item a cycle; a line of fewer
    items than `Glb.read_latency` + 1 takes that.
    """

    # Of its own, so that a library of energies by module tells both apart.
    module_name = "packed_config_dma"
    more: ClassVar = {"unpacks": In(1)}

    def give(self, m: Module, left: Signal, under_way: Signal, asks: Signal) -> None:
        """Words pass the unpacker or go by it; what is packed is read where that has room."""
        m.submodules.unpacker = unpacker = Unpacker()
        fills = sum((bit for bit in under_way), start=unpacker.held)
        comes, reads = under_way[-1], (left != 0) | under_way.any()
        m.d.comb += [
            unpacker.start.eq(self.start), unpacker.stop.eq(self.stop), unpacker.line.eq(self.word),
            unpacker.line_valid.eq(comes & self.unpacks), unpacker.last.eq(~reads),
            self.read.eq((left != 0) & (~self.unpacks | (fills < HELD))), asks.eq(self.read & self.grant),
            self.busy.eq(reads | unpacker.busy), self.o_valid.eq((comes & ~self.unpacks) | unpacker.o_valid),
            self.o.eq(Mux(self.o_valid, Mux(self.unpacks, unpacker.o, self.word), 0))]


def config_dma(glb: Glb) -> ConfigDma:
    """The configuration DMA of a GLB tile."""
    return PackedDma(glb) if glb.packed else ConfigDma(glb)
