"""Follow a linked list in memory: the runs of elements of its nodes."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch.dma import ADDRESS_BITS, NODE_BYTES, NODES_AXIS, SPAN_BITS
from .request import NODE, RUN, request_layout


class ListWalk(wiring.Component):
    """Gives the runs of requests that are lists.

    Behaviour: a node has a head of 8 bytes, then its elements; the head has the address of the next node, 0 behind the last
    one, and the number of elements, which may be 0. The next head is asked for in front of a node's elements, so that a list of
    short nodes takes an access for each.

        0x40: next 0x80, 2 elements; 0x80: no next, 1 element
        heads at 0x40 and 0x80, 2 elements at 0x48, 1 at 0x88

    Parameters
    ----------
    loops : int         Of the layout of requests, 2 or more.

    Members
    -------
    i : In(stream)      `request_layout`: the first node, and in the span of loop `NODES_AXIS` how many there are at most.
    o : Out(stream)     `RUN`.
    head : In(stream)   `NODE`: the heads that were asked for.
    goes : Out(1)       A list is under way.
    lost : Out(1)       Since its request: a node does not lie on a multiple of 8, or there are more than there may be; the list
                        has ended before it.

    Timing: a head is asked for in the cycle after the one before came, and the elements of that one a cycle later.
    Source: Stellar III-E (linked lists of partial sums) and VI-C: what is slow is the access of the pointers.
    """

    def __init__(self, loops: int) -> None:
        assert loops > NODES_AXIS, "a loop counts nodes"
        self.loops = loops
        super().__init__({"i": In(stream.Signature(request_layout(loops))), "o": Out(stream.Signature(RUN)),
                          "head": In(stream.Signature(NODE)), "goes": Out(1), "lost": Out(1)})

    @property
    def module_name(self) -> str:
        return f"dma_list_walk_{self.loops}"

    def elaborate(self, platform: object) -> Module:
        m = Module()
        node = Signal(ADDRESS_BITS)         # of which the head comes next
        elements = Signal(ADDRESS_BITS)     # where those of the last head are
        count = Signal(SPAN_BITS)
        left = Signal(SPAN_BITS)            # nodes that there may be
        pending = Signal()                  # elements of a head wait to be asked for
        ends = Signal()
        astray = Signal()
        run, head = self.o.payload, self.head.payload
        m.d.comb += astray.eq((head.next[:3] != 0) | (left == 1))
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.i.ready.eq(1)
                m.d.sync += [node.eq(self.i.payload.base), left.eq(self.i.payload.loops[NODES_AXIS].span), pending.eq(0)]
                with m.If(self.i.valid):
                    m.d.sync += [self.lost.eq(0), self.goes.eq(1)]
                    m.next = "HEAD"
            with m.State("HEAD"):
                m.d.comb += [run.address.eq(node), run.there.eq(1), run.head.eq(1), self.o.valid.eq(1)]
                with m.If(self.o.ready & pending):
                    m.next = "ELEMENTS"
                with m.Elif(self.o.ready):
                    m.next = "WAIT"
            with m.State("WAIT"):
                m.d.comb += self.head.ready.eq(1)
                with m.If(self.head.valid):
                    m.d.sync += [node.eq(head.next), elements.eq(node + NODE_BYTES), count.eq(head.count), left.eq(left - 1),
                                 pending.eq(1), ends.eq((head.next == 0) | astray), self.lost.eq((head.next != 0) & astray)]
                    with m.If((head.next == 0) | astray):
                        m.next = "ELEMENTS"
                    with m.Else():
                        m.next = "HEAD"
            with m.State("ELEMENTS"):
                m.d.comb += [run.address.eq(elements), run.there.eq(count), self.o.valid.eq(count != 0)]
                with m.If(self.o.ready | (count == 0)):
                    m.d.sync += self.goes.eq(~ends)
                    with m.If(ends):
                        m.next = "IDLE"
                    with m.Else():
                        m.next = "WAIT"
        return m
