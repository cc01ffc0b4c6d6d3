"""A direction of the system DMA: reads rows of words from one bus and writes them to another."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.system import MORE_ROWS_BITS, WAITING
from ..emit import Macro, macro
from ..stream.fifo import Fifo, Fifo2
from .axi_data import axi_part
from .axi_lite import OKAY
from .burst import FULL_SIZE, INCREMENTING
from .rows import ADDRESS_BITS, EDGES, LINES, RUN, SIDE, Rows

# A burst has so many 64-bit beats at most and none crosses a multiple of its bytes, so none a border of 4 KB.
BEATS = 64
# Bursts that may be under way at once, in each of reads and writes.
UNDER_WAY = 16

PLACES = ("source", "destination")
MOVE = data.StructLayout({**{f"{place}{what}": LINES for place in PLACES for what in ("", "_pitch")},
                          "lines": LINES, "more": MORE_ROWS_BITS, **EDGES})
PIECE = data.StructLayout({"line": LINES, "beats": range(BEATS), "last": 1, "ends": 1, **EDGES})


class Pieces(wiring.Component):
    """Cuts a run of 64-bit words into bursts.

    Behaviour: line 62, 67 lines      62 of 2 beats, 64 of 64, 128 of 1, the last

    Members
    -------
    i : In(stream)      First line, and how many, 1 or more; edges; whether a transfer ends with it.
    o : Out(stream)     First line of a burst, its beats less one, whether it is the last of its run, and of its transfer; edges
                        that lie in it, else 0.

    Timing: a burst a cycle, the first one in the cycle after its run; all outputs come from registers.
    """

    most = BEATS        # beats of a burst

    def __init__(self) -> None:
        super().__init__({"i": In(stream.Signature(RUN)), "o": Out(stream.Signature(PIECE))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        line = Signal(LINES)
        left = Signal(LINES)
        room = Signal(range(self.most + 1))
        taken = Signal()
        skip = Signal(EDGES["skip"])
        rest = Signal(EDGES["rest"])
        ends = Signal()
        low = (self.most - 1).bit_length()
        m.d.comb += [
            room.eq(self.most - line[:low]), taken.eq(self.o.valid & self.o.ready),
            self.o.valid.eq(left != 0), self.o.payload.line.eq(line), self.o.payload.last.eq(left <= room),
            self.o.payload.beats.eq(Mux(self.o.payload.last, left, room) - 1),
            self.o.payload.skip.eq(skip), self.o.payload.rest.eq(Mux(self.o.payload.last, rest, 0)),
            self.o.payload.ends.eq(self.o.payload.last & ends),
            self.i.ready.eq((left == 0) | (taken & self.o.payload.last)),
        ]
        with m.If(self.i.ready):
            m.d.sync += [line.eq(self.i.payload.line), left.eq(Mux(self.i.valid, self.i.payload.lines, 0)),
                         skip.eq(self.i.payload.skip), rest.eq(self.i.payload.rest), ends.eq(self.i.payload.ends)]
        with m.Elif(taken):
            m.d.sync += [skip.eq(0), line.eq(Cat(Const(0, low), line[low:] + 1)), left.eq(left - room)]
        return m


class Mover(wiring.Component):
    """Moves rows of bytes in 64-bit words, in order, each word behind the one before.

    Behaviour: a transfer is `more` + 1 rows of as many bytes, each side with a pitch of its own. Reads go ahead of writes, also
    into the next transfer, as far as the buses take them; a transfer has ended when its last write is answered. A word that was
    read with an error is written all the same. Whole words are read; of the first and of the last one of a row only the row's
    bytes are written. Where rows overlap that are written, the later one stays; what is read beside a write of the same
    transfer may be old or new.

    Members
    -------
    i : In(stream)                   Transfers: `source` and `destination` in words of 64 bits, and from row to row; of a row
                                     how many `lines`, 1 or more, and which bytes of the first and of the last one.
    m_axi_ar*, m_axi_r* : Out        Master of the bus that is read.
    m_axi_aw*, m_axi_w*, m_axi_b*    Master of the bus that is written.
    ended : Out(1)                   A transfer has ended.
    fault : Out(1)                   An error response.

    Timing: a word a cycle from bus to bus, two cycles of latency, no cycle between bursts, rows and transfers while both buses
    go on. `WAITING` transfers have room beside the one whose rows are walked.
    Source: a design of its own; the papers' processor moves words itself.
    """

    def __init__(self) -> None:
        master = {name: member.flip() for name, member in
                  axi_part(("aw", "w", "b", "ar", "r"), ADDRESS_BITS, "m_axi_").items()}
        super().__init__({"i": In(stream.Signature(MOVE)), **master, "ended": Out(1), "fault": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        waits, cuts = zip(*(self._side(m, *side) for side in zip(("reads", "writes"), PLACES, strict=True)), strict=True)
        (first, second), (reads, writes) = waits, cuts
        m.d.comb += [self.i.ready.eq(first.i.ready & second.i.ready), first.i.valid.eq(self.i.valid & second.i.ready),
                     second.i.valid.eq(self.i.valid & first.i.ready)]
        for channel in ("ar", "aw"):
            m.d.comb += [getattr(self, f"m_axi_{channel}size").eq(FULL_SIZE),
                         getattr(self, f"m_axi_{channel}burst").eq(INCREMENTING)]

        m.d.comb += [self.m_axi_arvalid.eq(reads.o.valid), reads.o.ready.eq(self.m_axi_arready),
                     self.m_axi_araddr.eq(reads.o.payload.line << 3), self.m_axi_arlen.eq(reads.o.payload.beats)]
        m.submodules.words = words = macro(Fifo2(64))
        m.d.comb += [words.i.payload.eq(self.m_axi_rdata), words.i.valid.eq(self.m_axi_rvalid),
                     self.m_axi_rready.eq(words.i.ready)]
        self._write(m, writes, words)
        m.d.comb += self.fault.eq((self.m_axi_rvalid & self.m_axi_rready & (self.m_axi_rresp != OKAY))
                                  | (self.m_axi_bvalid & self.m_axi_bready & (self.m_axi_bresp != OKAY)))
        return m

    def _side(self, m: Module, name: str, place: str) -> tuple[Macro, Macro]:
        """Where the transfers of a side wait, and what cuts their rows into bursts."""
        m.submodules[f"{name}_wait"] = queue = macro(Fifo(SIDE.size, WAITING))
        m.submodules[f"{name}_rows"] = rows = macro(Rows())
        m.submodules[name] = cut = macro(Pieces())
        given = {"line": place, "pitch": f"{place}_pitch"}
        m.d.comb += [
            queue.i.payload.eq(Cat(self.i.payload[given.get(field, field)] for field in SIDE.members)),
            rows.i.payload.as_value().eq(queue.o.payload), rows.i.valid.eq(queue.o.valid), queue.o.ready.eq(rows.i.ready),
            cut.i.payload.eq(rows.o.payload), cut.i.valid.eq(rows.o.valid), rows.o.ready.eq(cut.i.ready)]
        return queue, cut

    def _write(self, m: Module, writes: Macro, words: Macro) -> None:
        """Addresses go ahead of their beats by a burst or two."""
        piece = writes.o.payload
        m.submodules.under_way = under_way = macro(Fifo(1, UNDER_WAY))     # whether a burst is the last of its transfer
        m.submodules.lengths = lengths = macro(Fifo2(len(Cat(piece.beats, piece.skip, piece.rest))))
        beats = Signal(range(BEATS))
        skip = Signal(EDGES["skip"])        # of the beat that comes
        rest = Signal(EDGES["rest"])        # of the last beat
        going = Signal()
        beat = Signal()
        offered = Signal()
        strobe = Signal(8)
        last_strobe = Signal(8)
        m.d.comb += [
            offered.eq(writes.o.valid & under_way.i.ready & lengths.i.ready),
            self.m_axi_awvalid.eq(offered), self.m_axi_awaddr.eq(piece.line << 3), self.m_axi_awlen.eq(piece.beats),
            writes.o.ready.eq(offered & self.m_axi_awready),
            under_way.i.valid.eq(writes.o.ready), under_way.i.payload.eq(piece.ends),
            lengths.i.valid.eq(writes.o.ready), lengths.i.payload.eq(Cat(piece.beats, piece.skip, piece.rest)),
            strobe.eq(0xFF << skip), last_strobe.eq(Mux(rest == 0, 0xFF, (1 << rest) - 1)),
            self.m_axi_wdata.eq(words.o.payload), self.m_axi_wlast.eq(beats == 0),
            self.m_axi_wstrb.eq(Mux(self.m_axi_wlast, strobe & last_strobe, strobe)),
            self.m_axi_wvalid.eq(words.o.valid & going), words.o.ready.eq(self.m_axi_wready & going),
            beat.eq(self.m_axi_wvalid & self.m_axi_wready), lengths.o.ready.eq(~going | (beat & self.m_axi_wlast)),
            self.m_axi_bready.eq(1), under_way.o.ready.eq(self.m_axi_bvalid),
            self.ended.eq(self.m_axi_bvalid & under_way.o.payload),
        ]
        with m.If(lengths.o.ready):
            m.d.sync += [Cat(beats, skip, rest).eq(lengths.o.payload), going.eq(lengths.o.valid)]
        with m.Elif(beat):
            m.d.sync += [beats.eq(beats - 1), skip.eq(0)]
