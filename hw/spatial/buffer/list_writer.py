"""Write a level of linked lists: fibers of several operations one behind the other, in nodes that are taken as needed."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Elaboratable, Module, Mux, Signal

from ...arch.private_buffer import NO_NODE
from ...arch.token import DATA_BITS
from ...emit import macro
from ...memory.sram import Sram
from .format_writer import FormatWriter, whole_lanes

BOTH = 0b11     # lanes of a link: the next node, and the number of elements


class ListWriter(FormatWriter):
    """Appends each fiber to the list of its place, in new nodes.

    Behaviour: with nodes of 2 and two operations, (0, 7) (3, 8) S0, S0 and then (1, 9) S0, (2, 5) S0 become heads 0 2 and 3
    nodes; links to 1 with 2 elements, none with 1, none with 1; coordinates 0 3, 1 -, 2 -. A node has elements of one fiber
    only, so that lists are runs of rising coordinates, as mergers take them. Places without an element say nothing.

    Members: as of `FormatWriter`.

    Timing: an element a cycle; three more for a fiber and its end, and one for a tensor.
    Source: Stellar III-E and VI-C (partial sums that are scattered in lists). Departure: nodes know their number of elements,
    so that what is appended begins a node of its own.
    """

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        written = self.written
        size, shift = written.node, written.node.bit_length() - 1
        places = written.nodes * size
        stores, there = self.begin(m, {"heads": written.fibers + 1, "links": written.nodes,
                                       **{name: places for name, _ in self.elements}})
        heads, links = stores["heads"], stores["links"]
        # The last node of each list, in all operations of a tensor but the first.
        m.submodules.tails = tails = macro(Sram(max(2, 1 << (written.fibers - 1).bit_length()), 1))
        used = Signal(range(written.nodes + 1))
        tail = Signal(DATA_BITS)
        at = Signal(range(size + 1))                    # elements of the node that is open; 0: there is none
        fiber = Signal(range(written.fibers + 1))
        is_first = Signal(init=1)                       # of the operations of a tensor
        is_element = Signal()
        opens = Signal()
        full = Signal()
        m.d.comb += [
            is_element.eq(~self.i.payload.crd.control), opens.eq((at == 0) | (at == size)),
            full.eq(opens & (used == written.nodes)), heads.address.eq(fiber), links.address.eq(tail),
            tails.address.eq(fiber), tails.data.eq(tail),
            heads.count.eq(written.fibers + 1 if self.is_exact else fiber + 1), links.count.eq(used)]
        takes = Signal()
        for name, data in self.elements:
            store = stores[name]
            m.d.comb += [store.write.eq(whole_lanes(store, takes)), store.data.eq(data), store.count.eq(used << shift),
                         store.address.eq((Mux(opens, used, tail) << shift) + Mux(opens, 0, at))]
        with m.FSM():
            with m.State("BEGIN"):
                with m.If(there & self.is_over):
                    m.d.comb += [self.i.ready.eq(1), heads.write.eq(1), heads.data.eq(used),
                                 *(store.close.eq(1) for store in stores.values())]
                    m.d.sync += [used.eq(0), is_first.eq(1), *([] if self.is_exact else [fiber.eq(0)])]
                with m.Elif(there):
                    m.d.comb += tails.enable.eq(1)
                    m.next = "TAIL"
            with m.State("TAIL"):
                m.d.sync += [tail.eq(Mux(is_first, NO_NODE, tails.word)), at.eq(0)]
                m.next = "ELEMENTS"
            with m.State("ELEMENTS"):
                with m.If(there & is_element):
                    m.d.comb += [takes.eq(~full), self.i.ready.eq(takes)]
                    m.d.sync += self.overflow.eq(full)
                with m.If(takes):
                    m.d.sync += at.eq(Mux(opens, 1, at + 1))
                    with m.If(opens):
                        m.d.sync += [tail.eq(used), used.eq(used + 1)]
                        # The node before it: full of this fiber, or of an operation before, whose number stays.
                        m.d.comb += [links.data.eq(Cat((used | Const(0, DATA_BITS)), Const(size, DATA_BITS))),
                                     links.write.eq(Mux(at != 0, BOTH, tail != NO_NODE)),
                                     heads.data.eq(used), heads.write.eq(tail == NO_NODE)]
                with m.If(there & self.stops):
                    m.d.comb += [self.i.ready.eq(1), tails.enable.eq(1), tails.write.eq(1), heads.data.eq(NO_NODE),
                                 heads.write.eq((at == 0) & is_first),
                                 links.data.eq(Cat(Const(NO_NODE, DATA_BITS), at)), links.write.eq(Mux(at != 0, BOTH, 0))]
                    m.d.sync += fiber.eq(fiber + 1)
                    if self.is_exact:
                        with m.If(fiber == written.fibers - 1):
                            m.d.sync += [fiber.eq(0), is_first.eq(0)]
                    m.next = "BEGIN"
        # The number of nodes stands behind the heads.
        with m.If(self.is_over):
            m.d.comb += heads.address.eq(written.fibers if self.is_exact else fiber)
        return m
