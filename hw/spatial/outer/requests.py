"""Commands become the job of an outer product."""

from __future__ import annotations

from itertools import permutations
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch import command
from ...arch.dma import ADDRESS_BITS, NODE_BYTES, SPAN_BITS
from ...arch.outer_product import WORD_BYTES, OuterProduct
from ...arch.private_buffer import LINKED
from ..command.word import WORD, error_bits
from .lane_work import job_layout

ERROR_BITS = error_bits(False)
SIZE = WORD_BYTES.bit_length() - 1


class OuterRequests(wiring.Component):
    """Takes requests for A, B and C, or for those of a phase, each a tensor with all its arrays, and for the memory of a core.

    Behaviour: when all are there they are under way, until the result is in memory. An error drops those that wait for
    others, that which is being made, and commands until it is cleared; then comes what the array has met meanwhile.

    Parameters
    ----------
    kind : OuterProduct

    Members
    -------
    i : In(stream)         `WORD`.
    job : Out              What requests say.
    given : Out            Of each stream: there is a request.
    ended : In             Of each stream: it has ended.
    base : Out(32), words : Out(16)     Of the request for a core's memory.
    happened : In          The error of the array, or 0; one that lasts is told once.
    clear : In(1), error : Out, refused : Out(7)      As of `Decoder`.

    Timing: a command a cycle; `issue` until the stream has no request, `wait` until what it names has ended. Neither waits for
    a stream that itself waits for requests of others, as that would be for ever.
    Source: Stellar V, Table II and Listing 7; VI-C.
    """

    def __init__(self, kind: OuterProduct) -> None:
        self.kind, self.module_name = kind, f"{kind.name.lower()}_requests"
        # Tensors come first, the result behind operands, then a core's memory.
        self.tensors = len(kind.tensors)
        self.result = self.tensors - 1
        count = len(kind.streams)
        super().__init__({"i": In(stream.Signature(WORD)), "job": Out(job_layout(kind)), "given": Out(count),
                          "ended": In(count), "base": Out(ADDRESS_BITS), "words": Out(SPAN_BITS), "happened": In(ERROR_BITS),
                          "clear": In(1), "error": Out(ERROR_BITS), "refused": Out(command.NUMBER_BITS)})
        # Of the request that is being made.
        self._fields = {"known": Signal(name="known"), "sized": Signal(name="sized"), "typed": Signal(name="typed"),
                        "address": Signal(ADDRESS_BITS, name="address"), "first": Signal(ADDRESS_BITS, name="first"),
                        "last": Signal(ADDRESS_BITS, name="last"), "span": Signal(SPAN_BITS, name="span")}

    @property
    def emit_key(self) -> OuterProduct:
        return self.kind

    def elaborate(self, platform: object) -> Module:
        m = Module()
        word, count = self.i.payload, len(self.kind.streams)
        wrong = Signal(ERROR_BITS)
        done = Signal()
        valid = Signal()
        setting = Signal()
        stands = Signal(count)      # what cannot end before there is another request
        issued = Signal(count)
        m.d.comb += [
            valid.eq(self.i.valid & (self.error == 0)), done.eq(1), self.i.ready.eq(done | ~valid | (wrong != 0)),
            setting.eq(valid & (wrong == 0) & done),
            stands.eq(Mux(self.given[:self.tensors].all(), 0, self.given[:self.tensors]))]
        # The array has an error until it is reset, which waits for the bus; a `clear` meanwhile is for that one.
        told = Signal()
        later = Signal(ERROR_BITS)      # what it has met behind the error of a command
        m.d.sync += told.eq(self.happened != 0)
        with m.If(self.clear):
            m.d.sync += [self.error.eq(later), later.eq(0)]
        with m.If((self.happened != 0) & ~told):
            with m.If((self.error == 0) | (self.clear & (later == 0))):
                m.d.sync += self.error.eq(self.happened)
            with m.Else():
                m.d.sync += later.eq(self.happened)
        with m.Elif((self.error == 0) & valid & (wrong != 0)):
            m.d.sync += [self.error.eq(wrong), self.refused.eq(word.number)]
        with m.If(self.error != 0):
            m.d.sync += self._fields["known"].eq(0)
        m.d.sync += self.given.eq((self.given | issued) & ~self.ended & ~Mux(self.error != 0, stands, 0))
        which = Signal(range(4))
        outside = Mux(which == self.result, word.rs1[31], word.rs1[30])
        with m.Switch(word.number):
            with m.Case(command.ISSUE):
                self._issue(m, which, stands, valid, wrong, done, issued)
            with m.Case(command.SET_SRC_AND_DST):
                self._begin(m, which, setting, wrong)
            with m.Case(command.SET_CONSTANT):
                with m.If((word.rs1 != command.ELEMENT) | (word.rs2 != SIZE)):
                    m.d.comb += wrong.eq(command.VALUE)
                with m.If(setting):
                    m.d.sync += self._fields["sized"].eq(1)
            with m.Case(command.SET_ADDRESS):
                with m.If(setting & outside):
                    m.d.sync += self._fields["address"].eq(word.rs2)
            with m.Case(command.SET_METADATA_ADDRESS, command.SET_SPAN, command.SET_STRIDE, command.SET_AXIS_TYPE):
                self._axis(m, which, setting, outside, wrong)
            with m.Case(command.WAIT):
                named = Signal(count)
                m.d.comb += [named.eq(word.rs1[1:] | word.rs1[0].replicate(count)), done.eq((named & self.given) == 0)]
                with m.If((word.rs1 >> 1 + count) != 0):
                    m.d.comb += wrong.eq(command.VALUE)
                with m.Elif((named & stands).any()):
                    m.d.comb += wrong.eq(command.ORDER)
            with m.Default():
                m.d.comb += wrong.eq(command.UNKNOWN)
        return m

    def _begin(self, m: Module, which: Signal, setting: Value, wrong: Signal) -> None:
        sides = self.i.payload.rs1, self.i.payload.rs2
        loads, stores = ((memory == command.region(command.MEMORY)) & (other >> command.KIND_LSB == command.BUFFER)
                         for memory, other in (sides, sides[::-1]))
        index = Mux(stores, *(side[:command.INDEX_BITS] for side in sides))
        fits = Mux(stores, index == self.result, (index < len(self.kind.streams)) & (index != self.result))
        with m.If(~(loads | stores) | ~fits):
            m.d.comb += wrong.eq(command.REGIONS)
        with m.If(setting):
            m.d.sync += [*(each.eq(name == "known") for name, each in self._fields.items()), which.eq(index)]

    def _axis(self, m: Module, which: Signal, setting: Value, outside: Value, wrong: Signal) -> None:
        """What is said of an axis: of a tensor axis 0 are elements, and axis 1 fibers; of a core's memory axis 0 are words."""
        word, fields = self.i.payload, self._fields
        axis = word.rs1[:command.AXIS_BITS]
        array = word.rs1[command.METADATA_LSB:command.METADATA_LSB + 8]
        is_ram = which == self.tensors
        tensors = self.kind.tensors
        alone = [which == n for n, each in enumerate(tensors) if len(each.arrays) == 1]     # no array stands in front
        linked = Cat(which == n for n, each in enumerate(tensors) if each.kind == LINKED).any()
        with m.Switch(word.number):
            with m.Case(command.SET_METADATA_ADDRESS):
                with m.If((axis != 0) | (array > (which == self.result)) | Cat(is_ram, *alone).any()):
                    m.d.comb += wrong.eq(command.VALUE)
                for nth, name in enumerate(("first", "last")):
                    with m.If(setting & outside & (array == nth)):
                        m.d.sync += fields[name].eq(word.rs2)
            with m.Case(command.SET_SPAN):
                with m.If((axis != ~is_ram) | (word.rs2 >> SPAN_BITS != 0)):
                    m.d.comb += wrong.eq(command.VALUE)
                with m.If(setting & outside):
                    m.d.sync += fields["span"].eq(word.rs2)
            with m.Case(command.SET_STRIDE):
                with m.If(~is_ram | (axis != 0) | (word.rs2 != 1)):
                    m.d.comb += wrong.eq(command.VALUE)
            with m.Case(command.SET_AXIS_TYPE):
                kind = Mux(linked, command.LINKED_LIST, command.COMPRESSED)
                with m.If((axis != 0) | (word.rs2 != kind) | is_ram):
                    m.d.comb += wrong.eq(command.VALUE)
                with m.If(setting):
                    m.d.sync += fields["typed"].eq(1)

    def _issue(self, m: Module, which: Signal, stands: Value, valid: Value, wrong: Signal, done: Signal,
               issued: Signal) -> None:
        job: Any = self.job
        address, first, last, span = (self._fields[name] for name in ("address", "first", "last", "span"))
        tensors = self.kind.tensors
        # Those with the same fibers have as many.
        pairs = ((one, other) for one, other in permutations(range(len(tensors)), 2)
                 if tensors[one].fibers == tensors[other].fibers)
        unlike = Cat((which == one) & self.given[other] & (span != getattr(job, tensors[one].fibers))
                     for one, other in pairs).any()
        odd = ((address | first) % WORD_BYTES != 0) | ((which == self.result) & (first % NODE_BYTES != 0))
        is_ram = which == self.tensors
        mine = Cat(which == n for n in range(len(self.kind.streams)))
        with m.If(~self._fields["known"]):
            m.d.comb += wrong.eq(command.REGIONS)
        with m.Elif(~self._fields["sized"] | (~is_ram & ~self._fields["typed"])):
            m.d.comb += wrong.eq(command.VALUE)
        with m.Elif((span == 0) | unlike | odd):
            m.d.comb += wrong.eq(command.SHAPE)
        with m.Elif((mine & stands).any()):
            m.d.comb += wrong.eq(command.ORDER)
        goes = Signal(name="issues")
        # The memory of a core is filled before or behind what lanes do.
        apart: Value = (Mux(is_ram, ~self.given[:self.tensors].all(), ~self.given[self.tensors]) if self.kind.ram_bytes
                        else Const(1))
        m.d.comb += [done.eq(((self.given & mine) == 0) & apart), goes.eq(valid & (wrong == 0) & done),
                     issued.eq(Mux(goes, mine, 0))]
        for n, tensor in enumerate(tensors):
            *before, values = tensor.arrays
            with m.If(goes & (which == n)):
                m.d.sync += [*(getattr(job, name).eq(place) for name, place in zip(before, (first, last))),
                             getattr(job, values).eq(address), getattr(job, tensor.fibers).eq(span)]
        with m.If(goes & is_ram):
            m.d.sync += [self.base.eq(address), self.words.eq(span)]
