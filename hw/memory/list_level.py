"""A level of linked lists: each fiber is a list of nodes of some coordinates."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Elaboratable, Module, Mux, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import Component, In, Out

from ..arch.private_buffer import NO_NODE
from ..arch.token import DATA_BITS, DONE, TOKEN, stop
from ..emit import Macro, macro
from ..sparse.interface import fork, is_done
from ..stream.fifo import Fifo
from .two_halves import TwoHalves

# The arrays of a level, in their order.
HEADS, LINKS, COORDINATES = range(3)
LINK = data.StructLayout({"next": DATA_BITS, "count": DATA_BITS})
# Tokens that are looked up or wait, one of which is in its memory.
FINISHED = 4


class ListLevel(Component):
    """Filled by blocks, and scanned, list by list, tensor by tensor.

    Behaviour: a block is three arrays, each behind its length: the first node of each fiber and then how many nodes there are;
    of each node the next one and how many coordinates it has; and the coordinates, of every node `size` of them. Where there is
    no node stands 65535. References are places of coordinates, holes of nodes counted in.

        2 fibers, size 2; fill ``3 1 0 2   4 65535 1 65535 2   4 5 0 2 4``, that is lists 2 4 and 5
        ref ``0 1 D``    crd ``2 4 S0 5 S0 D``, ref_o ``2 3 S0 0 S0 D``

    Parameters
    ----------
    fibers, nodes : int    Of a tensor; as many nodes at most.
    size : int             Coordinates of a node, a power of two.

    Members
    -------
    fill : In(stream)      16-bit words.
    ref : In(stream of TOKEN)              Numbers of fibers, and done behind the last one of a tensor.
    crd, ref_o : Out(stream of TOKEN)
    fault : Out(1)         A block has other lengths, names a node or a fiber that there is not, or a list goes round. Sticky
                           until reset; nothing goes on then.

    Timing: a coordinate a cycle, from node to node, too, and four cycles for a fiber and its end. A tensor is filled in while
    the one before is read, a word a cycle.
    Source: Stellar IV-C (linked-list axes, whose lookups go to memories of metadata). Departure: nodes know their number of
    coordinates, not only the last one of a list, so that lists are appended to one another without moving anything.
    """

    exact = True        # A tensor has as many fibers.

    def __init__(self, fibers: int, nodes: int, size: int) -> None:
        if size < 1 or size & (size - 1) or not 1 <= nodes * size <= NO_NODE or not 1 <= fibers < NO_NODE:
            raise ValueError(f"there is no level of {fibers} fibers and {nodes} nodes of {size} coordinates")
        self.fibers, self.nodes, self.size = fibers, nodes, size
        tokens = stream.Signature(TOKEN)
        super().__init__({"fill": In(stream.Signature(DATA_BITS)), "ref": In(tokens), "crd": Out(tokens), "ref_o": Out(tokens),
                          "fault": Out(1)})

    @property
    def module_name(self) -> str:
        return f"list_level_{self.fibers}_{self.nodes}x{self.size}"

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        m.submodules.heads = heads = macro(TwoHalves(self.fibers, 1))
        m.submodules.links = links = macro(TwoHalves(self.nodes, 2))
        m.submodules.coordinates = coordinates = macro(TwoHalves(self.nodes * self.size, 1))
        held = Signal(2)                # which halves have a tensor
        used = [Signal(range(self.nodes + 1), name=f"used{half}", reset_less=True) for half in range(2)]
        freed = Signal(2)
        filled = Signal(2)
        m.d.sync += held.eq(held & ~freed | filled)
        # Fibers of each tensor.
        lists = [Const(self.fibers)] * 2 if self.exact else [Signal(range(self.fibers + 1), name=f"lists{half}")
                                                             for half in range(2)]
        wrong = [self._fill(m, (heads, links, coordinates), held, used, filled, lists),
                 self._walk(m, (heads, links, coordinates), held, used, freed, lists)]
        with m.If(Cat(wrong).any()):
            m.d.sync += self.fault.eq(1)
        return m

    def _fill(self, m: Module, memories: tuple[Macro, Macro, Macro], held: Signal, used: list[Signal],
              filled: Signal, lists: list[Any]) -> Signal:
        """Write what comes; what is wrong with it."""
        half = Signal()
        array = Signal(range(3))
        left = Signal(DATA_BITS)        # words of the array still to come
        counts = Signal(init=1)         # they are none: their number is next
        place = Signal(DATA_BITS)
        word = self.fill.payload
        goes = Signal()
        ends = Signal()
        wrong = Signal(name="wrong_fill")
        nodes = Mux(half, used[1], used[0])
        m.d.comb += [self.fill.ready.eq(~held.bit_select(half, 1) & ~self.fault), goes.eq(self.fill.valid & self.fill.ready),
                     ends.eq(Mux(counts, word == 0, left == 1))]
        for each, memory in enumerate(memories):
            writes = goes & ~counts & (array == each)
            address = place >> 1 if each == LINKS else place
            lanes = Cat(writes & ~place[0], writes & place[0]) if each == LINKS else writes
            if each == HEADS:
                lanes = writes & (left != 1)        # the last word is the number of nodes
            m.d.comb += [memory.write_half.eq(half), memory.write_address.eq(address), memory.write.eq(lanes),
                         memory.data.eq(word.replicate(memory.data.shape().width // DATA_BITS))]
        wanted = Signal(DATA_BITS + 1)
        with m.Switch(array):
            with m.Case(HEADS):
                m.d.comb += wanted.eq(self.fibers + 1)
            with m.Case(LINKS):
                m.d.comb += wanted.eq(nodes << 1)
            with m.Case(COORDINATES):
                m.d.comb += wanted.eq(nodes << self.size.bit_length() - 1)
        is_number = ~counts & (array == HEADS) & (left == 1)
        misfit = word != wanted
        if not self.exact:
            misfit = Mux(array == HEADS, (word == 0) | (word > wanted), misfit)
            for at, number in enumerate(lists):
                with m.If(goes & counts & (array == HEADS) & (half == at)):
                    m.d.sync += number.eq(word - 1)
        m.d.comb += wrong.eq(goes & ((counts & misfit) | (is_number & (word > self.nodes))))
        with m.If(goes):
            m.d.sync += [left.eq(Mux(counts, word, left - 1)), counts.eq(ends), place.eq(Mux(counts, 0, place + 1))]
            for at, number in enumerate(used):
                with m.If(is_number & (half == at)):
                    m.d.sync += number.eq(word)
            with m.If(ends):
                m.d.sync += array.eq(Mux(array == COORDINATES, HEADS, array + 1))
                with m.If(array == COORDINATES):
                    m.d.comb += filled.bit_select(half, 1).eq(1)
                    m.d.sync += half.eq(~half)
        return wrong

    def _walk(self, m: Module, memories: tuple[Macro, Macro, Macro], held: Signal, used: list[Signal], freed: Signal,
              lists: list[Any]) -> Signal:
        """Read lists as references say; what is wrong with them."""
        heads, links, coordinates = memories
        m.submodules.finished = finished = Fifo(data.StructLayout({"crd": TOKEN, "ref": TOKEN}), FINISHED)
        half = Signal()
        room = Signal(range(FINISHED + 1), init=FINISHED)
        issues = Signal()
        token = Signal(DATA_BITS + 1)   # what is issued: a control token, or a place
        was = Signal.like(token)
        was_valid = Signal()
        m.d.sync += [was_valid.eq(issues), was.eq(token), room.eq(room - issues + (finished.o.valid & finished.o.ready))]
        m.d.comb += [finished.i.valid.eq(was_valid), finished.i.payload.ref.eq(was),
                     finished.i.payload.crd.eq(Mux(was[-1], was, Cat(coordinates.word, Const(0, 1)))),
                     *(memory.read_half.eq(half) for memory in memories)]
        for out, name in ((self.crd, "crd"), (self.ref_o, "ref")):
            m.d.comb += out.payload.eq(finished.o.payload[name])
        both = fork(m, finished.o.valid, (self.crd, Const(1)), (self.ref_o, Const(1)))
        m.d.comb += finished.o.ready.eq(finished.o.valid & both)

        ref = self.ref.payload
        wrong = Signal(name="wrong_list")
        node = Signal(DATA_BITS)        # of which the link is asked for, or NO_NODE
        place = Signal(DATA_BITS)
        left = Signal(DATA_BITS)        # coordinates of this node
        walked = Signal(range(self.nodes + 2))
        fetched = Signal()              # the link of `node` comes in this cycle
        kept = Signal()                 # it came, and is kept
        link = Signal(LINK)
        link_kept = Signal(LINK)
        m.d.comb += [link.eq(Mux(fetched, links.word, link_kept)), heads.read_address.eq(ref.data)]
        m.d.sync += [fetched.eq(links.read), link_kept.eq(link)]
        nodes = Mux(half, used[1], used[0])
        there: Any = self.fibers if self.exact else Mux(half, lists[1], lists[0])
        with m.FSM():
            with m.State("FIBER"):
                with m.If(self.ref.valid & held.bit_select(half, 1) & (room != 0) & ~self.fault):
                    m.d.comb += [self.ref.ready.eq(1), wrong.eq(Mux(ref.control, ~is_done(ref), ref.data >= there))]
                    with m.If(ref.control):
                        m.d.comb += [issues.eq(1), token.eq(DONE), freed.bit_select(half, 1).eq(1)]
                        m.d.sync += half.eq(~half)
                    with m.Else():
                        m.d.comb += heads.read.eq(1)
                        m.next = "HEAD"
            with m.State("HEAD"):
                m.d.comb += [links.read.eq(1), links.read_address.eq(heads.word),
                             wrong.eq((heads.word != NO_NODE) & (heads.word >= nodes))]
                m.d.sync += [node.eq(heads.word), left.eq(0), walked.eq(0), kept.eq(0)]
                m.next = "NODES"
            with m.State("NODES"):
                takes = Signal()
                enters = Signal()
                m.d.comb += [takes.eq((left != 0) & (room != 0)),
                             enters.eq(((left == 0) | (takes & (left == 1))) & (node != NO_NODE) & (fetched | kept))]
                with m.If(takes):
                    m.d.comb += [issues.eq(1), token.eq(place), coordinates.read.eq(1), coordinates.read_address.eq(place)]
                    m.d.sync += [place.eq(place + 1), left.eq(left - 1)]
                with m.Elif((left == 0) & (node == NO_NODE) & (room != 0)):
                    m.d.comb += [issues.eq(1), token.eq(stop(0))]
                    m.next = "FIBER"
                m.d.sync += kept.eq((fetched | kept) & ~enters)
                with m.If(enters):
                    m.d.comb += [links.read.eq(1), links.read_address.eq(link.next),
                                 wrong.eq((link.count > self.size) | (walked == nodes)
                                          | ((link.next != NO_NODE) & (link.next >= nodes)))]
                    m.d.sync += [place.eq(node << self.size.bit_length() - 1), left.eq(link.count), node.eq(link.next),
                                 walked.eq(walked + 1)]
                with m.If(wrong | self.fault):
                    m.next = "FIBER"
        return wrong


class SomeLists(ListLevel):
    """A `ListLevel` of tensors of which each has up to so many fibers, one less than the heads that its block has."""

    exact = False

    @property
    def module_name(self) -> str:
        return f"some_{super().module_name}"
