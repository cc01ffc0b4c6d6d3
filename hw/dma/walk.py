"""Walk the loops of a request: runs of elements, one behind the other in memory."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.dma import ADDRESS_BITS, SPAN_BITS
from ..memory.affine import advancing, loop_counters
from .request import RUN, request_layout


class Walk(wiring.Component):
    """Gives the runs of requests.

    Behaviour: where the innermost stride is the size of an element its loop is one run, else every element is.

        base 0x100, bytes, loops 3 x 1 (2 there), 2 x 16 (1 there)     0x100: 2 and 1 that is not, then 3 that are not

    Addresses wrap at 2^32.

    Parameters
    ----------
    loops : int

    Members
    -------
    i : In(stream)      `request_layout`, with spans from 1.
    o : Out(stream)     `RUN`; the last one of a request is marked. Of a run without an element in memory the address says
                        nothing.

    Timing: the first run comes two cycles after its request, then one a cycle; one request at a time. `o` follows registers.
    Source: Stellar III-E; Amber JSSC IV for the iteration domain. Strides are plain and not those of a recurrence, as programs
    set them one by one: each loop keeps the address at which its iteration began.
    """

    def __init__(self, loops: int) -> None:
        self.loops = loops
        super().__init__({"i": In(stream.Signature(request_layout(loops))), "o": Out(stream.Signature(RUN))})

    @property
    def module_name(self) -> str:
        return f"dma_walk_{self.loops}"

    def elaborate(self, platform: object) -> Module:
        m = Module()
        request = Signal(request_layout(self.loops), reset_less=True)
        begins = Signal()
        goes = Signal()
        whole = Signal()        # the innermost loop is a run
        step = Signal()
        loops = [request.loops[level] for level in range(self.loops)]
        m.d.comb += [self.i.ready.eq(~begins & ~goes), whole.eq(loops[0].stride == (1 << request.size)),
                     step.eq(self.o.valid & self.o.ready)]
        with m.If(self.i.ready):
            m.d.sync += [request.eq(self.i.payload), begins.eq(self.i.valid)]
        with m.If(begins):
            m.d.sync += [begins.eq(0), goes.eq(1)]

        extents = [Signal(SPAN_BITS, name=f"extent{level}") for level in range(self.loops)]
        m.d.comb += [extent.eq(loop.span - 1) for extent, loop in zip(extents, loops)]
        at_end, left = loop_counters(m, [Mux(whole, 0, extents[0]), *extents[1:]], step, begins)
        # What is left of a loop tells whether an iteration is one of the last, which are not there.
        inside = [Signal(name=f"inside{level}") for level in range(self.loops)]
        m.d.comb += [flag.eq(count >= loop.span - loop.there) for flag, count, loop in zip(inside, left, loops)]
        delta = advancing(m, at_end, [loop.stride for loop in loops], signed(ADDRESS_BITS))
        began = [Signal(ADDRESS_BITS, name=f"began{level}", reset_less=True) for level in range(self.loops)]
        moved = Signal(ADDRESS_BITS)
        for level in reversed(range(self.loops)):
            with m.If(~at_end[level]):
                m.d.comb += moved.eq(began[level] + delta)
        for level, address in enumerate(began):
            with m.If(begins):
                m.d.sync += address.eq(request.base)
            # The iteration of a loop begins anew where it or one around it goes on.
            with m.Elif(step & at_end[:level].all() if level else step):
                m.d.sync += address.eq(moved)
        run = self.o.payload
        outer = Signal()
        many = Signal(SPAN_BITS)
        m.d.comb += [
            self.o.valid.eq(goes), run.address.eq(began[0]), run.last.eq(at_end.all()),
            outer.eq(Cat(inside[1:]).all() if inside[1:] else 1),
            many.eq(Mux(whole, loops[0].there, inside[0])),
            run.there.eq(Mux(outer, many, 0)), run.pad.eq(Mux(whole, loops[0].span, 1) - run.there),
        ]
        with m.If(step & run.last):
            m.d.sync += goes.eq(0)
        return m
