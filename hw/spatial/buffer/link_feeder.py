"""Arrays of a level that others are in front of or behind, from memory to what fills a private buffer."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Member, Out

from ...arch.chain import Link
from ...arch.dma import ADDRESS_BITS
from ...arch.private_buffer import BITVECTOR, LINKED
from ...arch.token import DATA_BITS
from ...emit import macro
from ...stream.fifo import Fifo2
from ...stream.lead import lead
from .counted import RUN
from .level_feeder import LevelFeeder


class LinkFeeder(LevelFeeder):
    """Segments, bits or heads, as many as the level in front says, and what they say there is.

    Behaviour: of ``5 7 8`` as segments of the fibers at positions 3 and 4 of the level in front, coordinates are three from 5
    on, and so are the fibers of the level behind it.

    Parameters
    ----------
    link : Link
    inner : bool        A level is in front, which says how many fibers there are.
    block : int         Values, or fibers of the level behind it, for each position.
    is_last : bool      Values are behind it; else a level.

    Members
    -------
    counts, links, coordinates, level, ...      As of `LevelFeeder`; those of values if it is the last one.
    above : In(stream)          If it is `inner`, `RUN` of the positions in front.
    counts_run : Out(stream)    Likewise, `RUN` of its segments, words of bits, or heads.
    below : Out(stream)         If it is not the last one, `RUN` of the fibers of the level behind it.
    wrong : Out(1)              There are more fibers or positions than have room, too.

    Timing: as of `LevelFeeder`.
    Source: Stellar V, Listing 7.
    """

    def __init__(self, link: Link, inner: bool, block: int, is_last: bool) -> None:
        is_bits = link.kind == BITVECTOR
        self.across = (link.across if is_bits else 1) if inner else 0
        self.block, self.is_last = block, is_last
        super().__init__(link.kind, link.fibers * link.across if is_bits else link.fibers + 1, link.node)
        ways = f"{'_inner' if inner else ''}_{self.across}_{block}{'' if is_last else '_outer'}"
        self.module_name = self.module_name.replace("level_feeder", "link_feeder") + ways

    def _ports(self) -> dict[str, Member]:
        ports, runs = super()._ports(), stream.Signature(RUN)
        if not self.is_last:
            ports = {name: member for name, member in ports.items() if name not in ("values", "o", "values_run", "narrow")}
        return ports | ({"above": In(runs), "counts_run": Out(runs)} if self.across else {}) | (
            {} if self.is_last else {"below": Out(runs)})

    def _in_front(self, m: Module) -> Any:
        """The length of each block, as the level in front says, which says where its words are, too."""
        m.submodules.counts_runs = runs = macro(Fifo2(RUN))
        m.submodules.lengths = lengths = macro(Fifo2(DATA_BITS))
        lead(m, runs.o, self.counts_run)
        above, is_bits = self.above.payload, self.kind == BITVECTOR
        goes = Signal(name="above_goes")
        count = Signal(2 * DATA_BITS, name="above_count")
        m.d.comb += [
            goes.eq(self.above.valid & runs.i.ready & lengths.i.ready), self.above.ready.eq(goes),
            count.eq(above.count * self.across if is_bits else above.count + 1),
            runs.i.valid.eq(goes), runs.i.payload.count.eq(count), lengths.i.valid.eq(goes), lengths.i.payload.eq(count),
            runs.i.payload.first.eq(above.first * self.across if is_bits else above.first)]
        with m.If(goes & (count > self.words)):
            m.d.sync += self.wrong.eq(1)
        if self.kind == LINKED:
            # Heads of a tensor have the number of its nodes behind them.
            at = Signal(ADDRESS_BITS, name="heads_at")
            m.d.comb += runs.i.payload.first.eq(at)
            with m.If(goes):
                m.d.sync += at.eq(at + count)
            with m.If(self.restart):
                m.d.sync += at.eq(self.at)
        return lengths.o
