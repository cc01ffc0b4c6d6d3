"""FIFOs between stream components: two entries that cut every path, and a deeper one for slack."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Elaboratable, Module, Shape, ShapeLike, Signal
from amaranth.lib import fifo, stream
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Component, In, Out


class Fifo2(Component):
    """Two-entry FIFO that cuts every combinational path; in static mode a pipeline register.

    Behaviour: tokens leave in order. With `is_static` high, `o.valid` and `o.payload` are `i.valid` and
    `i.payload` of the cycle before and readiness plays no part: `i.ready` is 1, `o.ready` is taken as 1.

    Parameters
    ----------
    shape : ShapeLike      Payload.

    Members
    -------
    i : In(stream)
    o : Out(stream)
    is_static : In(1)      Set by configuration. A change lets entries held drop out, so flush with it.

    Timing: latency 1, one token per cycle. `o.valid`, `o.payload` and `i.ready` come from registers.
    Source: Onyx JSSC III-D (two-entry FIFOs where streams enter a core).
    """

    latency = 1
    any_payload = True

    def __init__(self, shape: ShapeLike) -> None:
        self.width = Shape.cast(shape).width
        self.module_name = f"fifo2_w{self.width}"
        tokens = stream.Signature(shape)
        super().__init__({"i": In(tokens), "o": Out(tokens), "is_static": In(1)})

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        # `head` faces the output, `tail` takes the token that arrives in the cycle in which the output
        # stalls. No reset: payloads are read when valid, or in static mode after a cycle. But a bit is reset: in static mode
        # it may say which words count, and nothing that was on its way before a flush may.
        head = Signal(self.width, reset_less=self.width > 1)
        tail = Signal(self.width, reset_less=True)
        head_valid = Signal()
        tail_valid = Signal()
        m.d.comb += [
            self.i.ready.eq(~tail_valid),
            self.o.valid.eq(head_valid),
            self.o.payload.eq(head),
        ]
        with m.If(self.o.ready | ~head_valid | self.is_static):
            # While `tail` is taken, `i.ready` is low and nothing arrives: one source at a time.
            m.d.sync += [head_valid.eq(self.i.valid | tail_valid), tail_valid.eq(0)]
            with m.If(tail_valid):
                m.d.sync += head.eq(tail)
            with m.Else():
                m.d.sync += head.eq(self.i.payload)
        with m.Elif(~tail_valid):
            m.d.sync += [tail.eq(self.i.payload), tail_valid.eq(self.i.valid)]
        return m


class Fifo(Component):
    """First-in first-out buffer of any depth.

    Parameters
    ----------
    shape : ShapeLike      Payload.
    depth : int            Entries, 1 or more.

    Members
    -------
    i : In(stream)
    o : Out(stream)

    Timing: latency 1, one token per cycle at every fill level, with one entry one in two cycles; a full buffer takes the
    next token in the cycle after one has left. `o.valid` and `i.ready` depend on registers only, `o.payload` on a register
    array.
    Source: the queue of Amaranth (`SyncFIFO`).
    """

    latency = 1
    any_payload = True

    def __init__(self, shape: ShapeLike, depth: int) -> None:
        if depth < 1:
            raise ValueError(f"a FIFO needs at least one entry, not {depth}")
        self.width, self.depth = Shape.cast(shape).width, depth
        self.module_name = f"fifo_w{self.width}_d{depth}"
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        m.submodules.queue = queue = fifo.SyncFIFO(width=self.width, depth=self.depth)
        m.d.comb += [
            queue.w_data.eq(self.i.payload),
            queue.w_en.eq(self.i.valid),
            self.i.ready.eq(queue.w_rdy),
            self.o.payload.eq(queue.r_data),
            self.o.valid.eq(queue.r_rdy),
            queue.r_en.eq(self.o.ready),
        ]
        return m


class LateFifo(Component):
    """First-in first-out buffer of which the writer says a cycle later whether what it offered counts.

    The word is written in any case, and one that does not count is written over: SyncFIFO of Amaranth must know at once.
    `i` is always ready: who writes counts the room, and keeps one entry free for a word that does not count.

    Parameters
    ----------
    shape : ShapeLike      Payload.
    depth : int            Entries, a power of two from 2.

    Members
    -------
    i : In(stream)
    drops : In(1)          The word at `i` in the cycle before does not count; 0 if there was none.
    o : Out(stream)

    Timing: latency 1, one token per cycle at every fill level; `o.valid` follows `drops`, all else registers.
    """

    latency = 1
    any_payload = True

    def __init__(self, shape: ShapeLike, depth: int) -> None:
        if depth < 2 or depth & (depth - 1):
            raise ValueError(f"a late FIFO needs a power of two of entries, from 2, not {depth}")
        self.width, self.depth = Shape.cast(shape).width, depth
        self.module_name = f"late_fifo_w{self.width}_d{depth}"
        words, tokens = stream.Signature(shape, always_ready=True), stream.Signature(shape)
        super().__init__({"i": In(words), "drops": In(1), "o": Out(tokens)})

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        m.submodules.storage = storage = Memory(shape=self.width, depth=self.depth, init=[])
        write, read = storage.write_port(), storage.read_port(domain="comb")
        level = Signal(range(self.depth + 1))
        offered = Signal()      # a word came in the cycle before, and is not in the level yet
        came = Signal()         # and counts
        place = Signal.like(write.addr)
        m.d.comb += [
            came.eq(offered & ~self.drops), write.addr.eq(place + came), write.data.eq(self.i.payload),
            write.en.eq(self.i.valid), self.o.payload.eq(read.data), self.o.valid.eq(came | (level != 0)),
        ]
        taken = self.o.valid & self.o.ready
        m.d.sync += [offered.eq(self.i.valid), place.eq(write.addr), read.addr.eq(read.addr + taken),
                     level.eq(level + came - taken)]
        return m
