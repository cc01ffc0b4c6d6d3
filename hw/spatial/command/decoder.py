"""Commands become requests of a DMA."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch import command
from ...arch.accelerator import Accelerator
from ...arch.dma import ADDRESS_BITS, MOST_SIZE, NODE_BYTES, NODES_AXIS, SPAN_BITS
from ...dma.request import request_layout
from .arrays import Arrays
from .word import WORD, error_bits


def job_layout(accelerator: Accelerator) -> data.StructLayout:
    """A request, and the stream that it is for."""
    return data.StructLayout({"request": request_layout(accelerator.dma.loops), "stream": range(len(accelerator.streams))})


class Decoder(wiring.Component):
    """Makes requests as commands say (`arch.command`).

    Behaviour: a command that cannot be done sets `error`, and so does `happened`; while there is an error every command is
    taken and dropped, so that nothing follows from half a request. What happens meanwhile is told when that one is cleared. A
    request that was begun before an error is forgotten.

    Parameters
    ----------
    accelerator : Accelerator

    Members
    -------
    i : In(stream)         `WORD`.
    o : Out(stream)        `job_layout`; withdrawn where an error comes first.
    streams : In           Which streams have a request under way.
    orphans : In, stuck : In(1)        If tensors are counted: as of `Dispatch`; what waits for an orphan is refused.
    parts : Out(16)        Of how many operations a result is the sum.
    launches : Out         Where operations may end early: after how many launches.
    shared : Out           Where operations share a tensor of rows: how many, less one.
    restart : Out(1), at : Out(32)     If tensors are counted: they go on behind so many elements (`CountedDrain`).
    patience : Out(32)     If there is a watchdog: the cycles that it waits.
    happened : In          An error of this cycle that a request has met, or 0.
    clear : In(1)          Forget the error.
    error : Out, refused : Out(7)     What went wrong first, and with which command.
    later : Out            What has happened since, or 0: the next error.

    Timing: a command a cycle; `issue` until its request is taken, `wait` until what it names has ended.
    Source: Stellar V.
    """

    def __init__(self, accelerator: Accelerator) -> None:
        self.accelerator, self.module_name = accelerator, f"{accelerator.name.lower()}_decoder"
        launches, shared = accelerator.launches, accelerator.shared
        settings = {"launches": Out(range(launches + 1), init=launches)} if launches else {}
        settings |= {"shared": Out(range(shared), init=shared - 1)} if shared > 1 else {}
        settings |= {"patience": Out(command.PATIENCE_BITS)} if accelerator.watchdog else {}
        error = error_bits(accelerator.watchdog)
        super().__init__({"i": In(stream.Signature(WORD)), "o": Out(stream.Signature(job_layout(accelerator))),
                          "streams": In(len(accelerator.streams)), "parts": Out(SPAN_BITS, init=1), **settings,
                          "happened": In(error), "clear": In(1), "error": Out(error),
                          "refused": Out(command.NUMBER_BITS), "later": Out(error),
                          **({"restart": Out(1), "at": Out(ADDRESS_BITS), "stuck": In(1),
                              "orphans": In(len(accelerator.streams))} if accelerator.counts else {})})

    @property
    def emit_key(self) -> str:
        return repr(self.accelerator)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        word = self.i.payload
        wrong = Signal(len(self.error))
        done = Signal()
        # What is there, whether it may be done, and in which cycle it is.
        valid = Signal()
        m.d.comb += [valid.eq(self.i.valid & (self.error == 0)), done.eq(1), self.i.ready.eq(done | ~valid | (wrong != 0))]
        known = Signal()            # source and destination
        with m.If(self.clear):
            m.d.sync += [self.error.eq(self.later), self.later.eq(0)]
        with m.If(self.error == 0):
            with m.If(self.happened != 0):
                m.d.sync += self.error.eq(self.happened)
            with m.Elif(valid & (wrong != 0)):
                m.d.sync += [self.error.eq(wrong), self.refused.eq(word.number)]
        with m.Else():
            # Some of its arrays may have been asked for, and some commands of it were dropped.
            m.d.sync += known.eq(0)
            with m.If(self.happened != 0):
                with m.If(self.clear & (self.later == 0)):
                    m.d.sync += self.error.eq(self.happened)
                with m.Else():
                    m.d.sync += self.later.eq(self.happened)
        setting = Signal()
        m.d.comb += setting.eq(valid & (wrong == 0) & done)
        idle = self.streams == 0
        request: Any = Signal(request_layout(self.accelerator.dma.loops))
        number = Signal(range(len(self.accelerator.streams)))
        arrays = Arrays(self.accelerator) if self.accelerator.counts else None
        with m.Switch(word.number):
            with m.Case(command.ISSUE):
                self._issue(m, request, known, number, valid, wrong, done, arrays)
            with m.Case(command.SET_SRC_AND_DST):
                self._begin(m, request, known, number, setting, wrong)
                if arrays is not None:
                    arrays.forget(m, setting)
            with m.Case(command.SET_CONSTANT):
                self._constant(m, request, setting, wrong, done, idle)
            with m.Case(command.SET_ADDRESS):
                with m.If(setting & self._outside(request)):
                    m.d.sync += request.base.eq(word.rs2)
            with m.Case(command.SET_SPAN, command.SET_STRIDE, command.SET_AXIS_TYPE):
                self._loop(m, request, setting, wrong, number, arrays)
            if arrays is not None:
                for what, takes in ((command.SET_METADATA_ADDRESS, arrays.place), (command.SET_METADATA_STRIDE, arrays.pitch)):
                    with m.Case(what):
                        with m.If(~takes(m, word, setting & self._outside(request))):
                            m.d.comb += wrong.eq(command.VALUE)
            with m.Case(command.WAIT):
                m.d.comb += done.eq(~((word.rs1[0] & ~idle) | (word.rs1[1:] & self.streams).any()))
                with m.If((word.rs1 >> 1 + len(self.streams)) != 0):
                    m.d.comb += wrong.eq(command.VALUE)
                if arrays is not None:
                    with m.Elif((word.rs1[0] & self.orphans.any()) | (word.rs1[1:] & self.orphans).any()):
                        m.d.comb += wrong.eq(command.ORDER)
            with m.Default():
                m.d.comb += wrong.eq(command.UNKNOWN)
        return m

    def _outside(self, request: Any) -> Any:
        """Whether the command is of the side that is memory."""
        return Mux(request.stores, self.i.payload.rs1[31], self.i.payload.rs1[30])

    def _begin(self, m: Module, request: Any, known: Signal, number: Signal, setting: Signal, wrong: Signal) -> None:
        streams = self.accelerator.streams
        sides = {}
        for name in ("rs1", "rs2"):
            given = getattr(self.i.payload, name)
            kind, index = given[command.KIND_LSB:], given[:command.INDEX_BITS]
            sides[name] = kind == command.MEMORY, kind == command.BUFFER, index
        (from_memory, from_stream, source), (to_memory, to_stream, target) = sides.values()
        loads = Signal()
        stores = Signal()
        fills, results = ([n for n, each in enumerate(streams) if each.is_result is way] for way in (False, True))
        m.d.comb += [loads.eq(from_memory & to_stream & Cat(target == n for n in fills).any()),
                     stores.eq(from_stream & to_memory & Cat(source == n for n in results).any())]
        with m.If(~loads & ~stores):
            m.d.comb += wrong.eq(command.REGIONS)
        with m.If(setting):
            m.d.sync += [known.eq(1), number.eq(Mux(stores, source, target)), request.as_value().eq(0),
                         request.stores.eq(stores)]
            for level in range(self.accelerator.dma.loops):
                m.d.sync += [request.loops[level].span.eq(1), request.loops[level].there.eq(1)]

    def _constant(self, m: Module, request: Any, setting: Signal, wrong: Signal, done: Signal, idle: Any) -> None:
        word = self.i.payload
        if self.accelerator.counts:
            waits = word.rs1 != command.ELEMENT
            if self.accelerator.watchdog:
                waits = waits & (word.rs1 != command.PATIENCE)
            with m.If(waits & self.orphans.any()):
                m.d.comb += wrong.eq(command.ORDER)
        with m.Switch(word.rs1):
            with m.Case(command.ELEMENT):
                with m.If(word.rs2 > MOST_SIZE):
                    m.d.comb += wrong.eq(command.VALUE)
                with m.If(setting):
                    m.d.sync += request.size.eq(word.rs2)
            with m.Case(command.PARTS):
                m.d.comb += done.eq(idle)
                misfit = (word.rs2 == 0) | (word.rs2 >> SPAN_BITS != 0) if self.accelerator.sums else word.rs2 != 1
                with m.If(misfit):
                    m.d.comb += wrong.eq(command.VALUE)
                with m.If(setting):
                    m.d.sync += self.parts.eq(word.rs2)
            for name, number, least, most, less in (
                    ("launches", command.LAUNCHES, self.accelerator.least_launches, self.accelerator.launches, 0),
                    ("shared", command.SHARED, 1, self.accelerator.shared, 1)):
                if most > less:
                    with m.Case(number):
                        m.d.comb += done.eq(idle)
                        with m.If((word.rs2 < least) | (word.rs2 > most)):
                            m.d.comb += wrong.eq(command.VALUE)
                        with m.If(setting):
                            m.d.sync += getattr(self, name).eq(word.rs2 - less)
            if self.accelerator.watchdog:
                with m.Case(command.PATIENCE):
                    with m.If(setting):
                        m.d.sync += self.patience.eq(word.rs2)
            if self.accelerator.counts:
                with m.Case(command.RESTART):
                    m.d.comb += [done.eq(idle), self.restart.eq(setting), self.at.eq(word.rs2)]
            with m.Default():
                m.d.comb += wrong.eq(command.VALUE)

    def _loop(self, m: Module, request: Any, setting: Signal, wrong: Signal, number: Signal, arrays: Arrays | None) -> None:
        word = self.i.payload
        axis, outside = word.rs1[:command.AXIS_BITS], self._outside(request)
        inside = Mux(request.stores, word.rs1[30], word.rs1[31])
        is_span, is_stride = word.number == command.SET_SPAN, word.number == command.SET_STRIDE
        is_type = ~is_span & ~is_stride
        lists = self.accelerator.dma.lists
        listed = Signal()
        if lists:
            m.d.comb += listed.eq((axis == NODES_AXIS) & outside & ~request.stores & (word.rs2 == command.LINKED_LIST))
        typed: Any = listed
        if arrays is not None:
            typed = listed | ((axis == 0) & arrays.typed(m, word, number, setting & is_type & (axis == 0)))
        with m.If((axis >= self.accelerator.dma.loops) | (is_span & (word.rs2 >> SPAN_BITS != 0))
                  | (is_type & (word.rs2 != command.DENSE) & ~typed)):
            m.d.comb += wrong.eq(command.VALUE)
        if lists:
            with m.If(setting & is_type & (axis == NODES_AXIS) & outside):
                m.d.sync += request.linked.eq(listed)
        for level in range(self.accelerator.dma.loops):
            loop = request.loops[level]
            with m.If(setting & (axis == level)):
                with m.If(is_span & outside):
                    m.d.sync += loop.there.eq(word.rs2)
                with m.If(is_span & inside):
                    m.d.sync += loop.span.eq(word.rs2)
                with m.If(is_stride & outside):
                    m.d.sync += loop.stride.eq(word.rs2)

    def _ragged(self) -> Iterator[tuple[int, int]]:
        """Streams of rows, and sizes of elements of which a row is no whole number of words."""
        wide = {each.tensor.name: each.sizes(self.accelerator.dma.word_bits) for each in self.accelerator.rows}
        for n, each in enumerate(self.accelerator.streams):
            if each.name in wide:
                yield from ((n, size) for size in range(MOST_SIZE + 1) if size not in wide[each.name])

    def _issue(self, m: Module, request: Any, known: Signal, number: Signal, valid: Signal, wrong: Signal,
               done: Signal, arrays: Arrays | None) -> None:
        odd, done_with = [], self.o.ready
        if arrays is not None:
            odd.append(arrays.is_odd(request, number))
            request, number, last = arrays.next(m, request, number, valid & (wrong == 0) & self.o.ready)
            done_with = done_with & last
        loops = [request.loops[level] for level in range(self.accelerator.dma.loops)]
        shapes = Cat(Cat(loop.span == 0 for loop in loops).any(), Cat(loop.there > loop.span for loop in loops).any(),
                     (request.base & ((1 << request.size) - 1)) != 0,
                     request.linked & (request.base[:NODE_BYTES.bit_length() - 1] != 0), *odd)
        with m.If(~known):
            m.d.comb += wrong.eq(command.REGIONS)
        with m.Elif(Cat(number == n for n, each in enumerate(self.accelerator.streams)
                        if not each.is_result and each.bits < 8 << MOST_SIZE).any() & (request.size == MOST_SIZE)):
            m.d.comb += wrong.eq(command.VALUE)
        # Whole words have elements as the buffer has them, one behind the other.
        with m.Elif(Cat((number == n) & ((request.size != (each.bits // 8).bit_length() - 1) | request.linked)
                        for n, each in enumerate(self.accelerator.streams) if each.wide and not each.is_result).any()):
            m.d.comb += wrong.eq(command.VALUE)
        with m.Elif(Cat((number == n) & (request.size == size) for n, size in self._ragged()).any()):
            m.d.comb += wrong.eq(command.VALUE)
        if self.accelerator.pairs:
            with m.Elif(Cat((number == n) & (request.size != size) for n, size in self.accelerator.pairs.items()).any()):
                m.d.comb += wrong.eq(command.VALUE)
        with m.Elif(shapes.any()):
            m.d.comb += wrong.eq(command.SHAPE)
        if arrays is not None:
            with m.Elif(self.stuck | Cat(self.orphans[n] & (number == n) for n in range(len(self.accelerator.streams))).any()):
                m.d.comb += wrong.eq(command.ORDER)
        job = self.o.payload
        m.d.comb += [job.request.eq(request), job.stream.eq(number), self.o.valid.eq(valid & (wrong == 0)),
                     done.eq(done_with)]
        for level, loop in enumerate(loops):
            stride = Signal(signed(ADDRESS_BITS), name=f"stride{level}")
            m.d.comb += [stride.eq(loop.stride << request.size), job.request.loops[level].stride.eq(stride)]
