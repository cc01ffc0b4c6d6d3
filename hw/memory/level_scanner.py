"""Level scanner: reads levels, as a scan of fibers, as a look-up of values or as a block, or locates coordinates."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.primitive import LOCATE
from ..arch.token import DATA_BITS, DONE, TOKEN
from ..booth import low_product
from ..sparse.interface import fork, is_done, is_stop, is_value
from ..stream.fifo import Fifo, LateFifo
from .coordinate_stage import SCANNED, CoordinateStage
from .level_buffer import ReadPort, level_layout
from .level_writer import COORDINATES, SEGMENTS
from .segment_stage import SegmentStage, entries_layout

AHEAD = 4       # Fibers that the segment stage may be ahead of the coordinate stage.
FINISHED = 4    # Tokens that may wait for the outputs.


class LevelScanner(wiring.Component):
    """Read the levels that the buffer offers, one after the other.

    Behaviour: with segments 0 2 2 3 and coordinates 4 7 9,

        scan   of ``0 1 S0 2 N S1 D``    crd ``4 7 S0 S1 9 S0 S2 D``, ref_o ``0 1 S0 S1 2 S0 S2 D``
        dense  of ``0 2 S0 D``, extent 2 crd ``0 1 S0 0 1 S1 D``, ref_o ``0 1 S0 4 5 S1 D``
        lookup of ``2 N S0 0 D``         crd ``9 0 S0 4 D`` (a value array)
        block                            block_o ``4 0 2 2 3 3 4 7 9``
        locate of ``0 2 N S0 D`` at ``1 0 1 S0 D``, extent 2     ref_o ``1 4 N S0 D``

    A fiber is closed by the next token: a stop Sk closes it as S(k+1), anything else as S0. A reference to a fiber or a
    value that the level does not have, and a stop that cannot rise, are `wrong`. So is a coordinate beyond the extent that is
    located; references and coordinates that are out of step wait for ever.

    Parameters
    ----------
    lines, lanes : int     Size of a half.
    multiplier_tree : bool      Products of references and extents are sums of rows, else by the operator of Verilog.
    locates : bool              It can locate; else the members `locate` and `at` are not there.

    Members
    -------
    root, dense, lookup, block, locate, values : In(1)     Configuration; none of lookup, block and locate: scan. Only a dense
                                                   level is located in.
    ref : In(stream of TOKEN)                      Not read if `root` or `block`.
    at : In(stream of TOKEN)                       Coordinates that are located, one for each token of ref.
    crd, ref_o : Out(stream of TOKEN)              The same tokens in a scan; a look-up leaves ref_o alone, and locating crd.
    block_o : Out(stream of TOKEN)                 Data only.
    level, extent, free : from and to the buffer.
    segments, entries : Out(ReadPort)
    wrong : Out(1)                                 The reference is none of this level, in the cycles in which it shows.

    Timing: see `Level`.
    Source: Onyx JSSC III-B, Fig. 4 (level scanner). There each fiber takes two segment reads; here segments
    are read by line, ahead of the coordinates.
    """

    def __init__(self, lines: int, lanes: int, multiplier_tree: bool, locates: bool = False) -> None:
        self.lines, self.lanes, self.multiplier_tree, self.locates = lines, lanes, multiplier_tree, locates
        tokens = stream.Signature(TOKEN)
        locating = {LOCATE: In(1), "at": In(tokens)} if locates else {}
        super().__init__({"root": In(1), "dense": In(1), "lookup": In(1), "block": In(1), "values": In(1),
                          "ref": In(tokens), "crd": Out(tokens), "ref_o": Out(tokens), "block_o": Out(tokens),
                          "level": In(stream.Signature(level_layout(lines * lanes))), "extent": In(DATA_BITS),
                          "free": Out(1), "segments": Out(ReadPort(lines, lanes)), "entries": Out(ReadPort(lines, lanes)),
                          "wrong": Out(1)} | locating)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.segments = segments = SegmentStage(self.lines, self.lanes, AHEAD, self.locates)
        m.submodules.ahead = ahead = LateFifo(entries_layout(self.lines * self.lanes), AHEAD)
        m.submodules.coordinates = coordinates = CoordinateStage(self.lines, self.lanes, FINISHED)
        m.submodules.finished = finished = Fifo(SCANNED, FINISHED)
        wiring.connect(m, segments.segments, wiring.flipped(self.segments))
        wiring.connect(m, coordinates.entries, wiring.flipped(self.entries))
        single = self.lookup | self.locate if self.locates else self.lookup
        # Both stages count the room in their FIFO, so that nothing in flight ever waits.
        m.d.comb += [
            ahead.i.payload.eq(segments.o.payload), ahead.i.valid.eq(segments.o.valid), ahead.drops.eq(segments.drops),
            coordinates.i.payload.eq(ahead.o.payload), coordinates.i.valid.eq(ahead.o.valid),
            ahead.o.ready.eq(coordinates.i.ready), segments.taken.eq(ahead.o.valid & ahead.o.ready),
            finished.i.payload.eq(coordinates.o.payload), finished.i.valid.eq(coordinates.o.valid),
            coordinates.taken.eq(finished.o.valid & finished.o.ready),
            segments.block.eq(self.block), coordinates.single.eq(single), coordinates.extent.eq(self.extent),
            coordinates.counted.eq(self.dense & ~self.lookup & ~self.block), self.free.eq(coordinates.free),
        ]
        with m.If(self.block):
            self._whole(m, segments.i)
        with m.Else():
            self._follow(m, segments.i)
        self._outputs(m, finished.o)
        return m

    def _follow(self, m: Module, o: stream.Interface) -> None:
        """One request for each reference token."""
        info, request = self.level.payload, o.payload
        token = Signal(TOKEN)
        valid = Signal()
        injected = Signal()           # Of the root's `0 D`, the 0 has been sent.
        with m.If(self.root):
            m.d.comb += [token.as_value().eq(Mux(injected, DONE, 0)), valid.eq(1)]
        with m.Else():
            m.d.comb += [token.eq(self.ref.payload), valid.eq(self.ref.valid)]
        stop = Signal()
        done = Signal()
        moves = Signal()
        open_fiber = Signal()         # The token before was a fiber, which its stop must follow.
        # Of other levels it is not written: 0, so that nothing switches in the product, and nothing unknown is in it.
        extent = Mux(self.dense, info.extent, 0)
        there = self.level.valid & self._at(m, token, valid & self.level.valid & o.ready) if self.locates else self.level.valid
        m.d.comb += [
            stop.eq(is_stop(token)), done.eq(is_done(token)),
            o.valid.eq(valid & there), moves.eq(o.valid & o.ready),
            self.ref.ready.eq(o.ready & there & ~self.root),
            self.level.ready.eq(moves & done),
            request.last.eq(done),
            request.control.eq(stop | done), request.start.eq(token.data),
        ]
        with m.If(token.control & ~stop & ~done):
            m.d.comb += request.start.eq(0)
        with m.If(self.lookup):
            m.d.comb += request.literal.eq(token.control)
        with m.Else():
            m.d.comb += [request.literal.eq(stop | done), request.stop.eq(open_fiber & ~stop),
                         request.fiber.eq(~token.control & ~self.dense),
                         request.none.eq(token.control | (self.dense & (info.extent == 0)))]
            with m.If(stop):
                m.d.comb += request.start[:8].eq(token.data[:8] + 1)
            with m.Elif(~token.control & self.dense):
                m.d.comb += request.start.eq(low_product(token.data, extent) if self.multiplier_tree else token.data * extent)
            if self.locates:
                # A single entry, as in a look-up, of which nothing is read. A maybe stays one.
                with m.If(self.locate):
                    m.d.comb += [request.literal.eq(token.control), request.control.eq(token.control), request.stop.eq(0),
                                 request.none.eq(0), request.plus.eq(Mux(token.control, 0, self.at.payload.data))]
                    with m.If(token.control):
                        m.d.comb += request.start.eq(token.data)
        # A level of n segments has n - 1 fibers, a dense one its extent in the second.
        beyond = Mux(self.lookup, token.data >= info.count[COORDINATES],
                     Mux(self.dense, 0, token.data) + 1 >= info.count[SEGMENTS])
        too_high = stop & ~self.lookup & token.data[:8].all()
        if self.locates:
            too_high = too_high & ~self.locate
            beyond = beyond | (self.locate & (self.at.payload.data >= info.extent))
        m.d.comb += self.wrong.eq(o.valid & Mux(token.control, too_high, beyond))
        with m.If(moves):
            m.d.sync += [open_fiber.eq(~stop & ~done), injected.eq(~done)]

    def _at(self, m: Module, token: data.View, moves: Value) -> Value:
        """Whether there is a coordinate for a token, if coordinates are located; it goes with the token when that `moves`."""
        at = self.at.payload
        fits = Signal()
        # Of stops the level counts, and what tells them from done.
        m.d.comb += [fits.eq(Mux(at.control, token.control & (at.data[:10] == token.data[:10]), is_value(token))),
                     self.at.ready.eq(self.locate & fits & moves)]
        return ~self.locate | (self.at.valid & fits)

    def _whole(self, m: Module, o: stream.Interface) -> None:
        """Every array of the level: its length, then its words."""
        info, request = self.level.payload, o.payload
        second = Signal()
        words = Signal()
        size = Signal(DATA_BITS)
        final = Signal()
        m.d.comb += [
            final.eq(self.values | second), size.eq(info.count[Mux(final, COORDINATES, SEGMENTS)]),
            o.valid.eq(self.level.valid), request.start.eq(size),
            request.literal.eq(~words), request.control.eq(words & ~final),
            request.last.eq(final & (words | (size == 0))),
            self.level.ready.eq(o.ready & request.last),
        ]
        with m.If(o.valid & o.ready):
            m.d.sync += words.eq(~words & (size != 0))
            with m.If(words | (size == 0)):
                m.d.sync += second.eq(~final)

    def _outputs(self, m: Module, scanned: stream.Interface) -> None:
        """The next token to where it belongs."""
        token = scanned.payload
        for output in (self.crd, self.ref_o, self.block_o):
            m.d.comb += [output.payload.control.eq(token.control), output.payload.data.eq(token.data)]
        with m.If(~token.control):
            m.d.comb += self.ref_o.payload.data.eq(token.ref)
        coordinates = ~self.block & ~self.locate if self.locates else ~self.block
        m.d.comb += scanned.ready.eq(fork(m, scanned.valid, (self.crd, coordinates),
                                          (self.ref_o, ~self.block & ~self.lookup), (self.block_o, self.block)))
