"""A spatial accelerator behind its commands: array, buffers on all sides, DMA."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch import command
from ..arch.accelerator import RAM, Accelerator
from ..arch.chain import ChainedBank
from ..arch.elastic import Elastic
from ..arch.private_buffer import BITVECTOR, COMPRESSED, DENSE, LINKED, Bank
from ..arch.vectored import Vectored
from ..arch.written import Written
from ..dma.dma import bus
from ..dma.quiet import WATCHED, Quiet
from ..emit import Macro, macro
from ..stream.lead import lead
from .buffer.buffered_array import BufferedArray
from .buffer.chain_feeder import ChainFeeder
from .buffer.counted import CountedDrain, FixedDrain, SegmentsDrain
from .buffer.feeder import Feeder
from .buffer.level_feeder import LevelFeeder
from .buffer.result_buffer import ResultBuffer
from .buffer.wide_result import WideResult
from .command.decoder import Decoder
from .command.dispatch import Dispatch
from .command.stalls import StallCounters
from .command.watchdog import Watchdog
from .command.word import WORD, ram_members, status_members
from .convolve.buffered import BufferedVectors


class Core(wiring.Component):
    """The array with all that its commands need.

    Behaviour: commands are done in order. What a request brings fills a private buffer; the array computes as soon as its
    buffers are full, and a request takes what it gives. Behind an error of the bus or of a tensor all that is under way is
    given up when the bus is quiet, and the parts are as after a reset, but for constants; so it is when a watchdog bites.

    Parameters
    ----------
    accelerator : Accelerator

    Members
    -------
    i : In(stream)      Commands, `WORD`.
    clear : In(1)       As of `Decoder`, and `error` and `refused`.
    busy : Out(1)       A command is there, or a request is under way.
    ended : Out(1)      A request ends.
    given_up : Out(32)  If there is a watchdog: the register of this name.
    operand_late, ... : Out(32)     If there are counters: the registers `STALLS`.
    ram : Out(stream), ram_over : Out(1), ram_failed : Out(1)     As of `ram_members`.
    m_axi_* : the bus.

    Timing: that of its parts.
    Source: Stellar IV-A, Fig. 8. Departure: no register files.
    """

    def __init__(self, accelerator: Accelerator) -> None:
        self.accelerator, self.module_name = accelerator, f"{accelerator.name.lower()}_core"
        self._counted = accelerator.launches > 0 or accelerator.shared > 1
        self._anew = Signal(name="anew")
        super().__init__({"i": In(stream.Signature(WORD)), **status_members(accelerator.watchdog, accelerator.stalls),
                          **bus(accelerator.dma.bus_bytes), **ram_members(accelerator.ram_bytes)})

    @property
    def emit_key(self) -> str:
        return repr(self.accelerator)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        streams = self.accelerator.streams
        m.submodules.decoder = decoder = macro(Decoder(self.accelerator))
        m.submodules.dispatch = dispatch = self._part(Dispatch(self.accelerator))
        written = tuple(each for each in self.accelerator.results if isinstance(each, Written))
        m.submodules.array = array = self._part(self._array(written))
        for name, member in bus(self.accelerator.dma.bus_bytes).items():
            own, inner = getattr(self, name), getattr(dispatch, name)
            m.d.comb += own.eq(inner) if member.flow is Out else inner.eq(own)
        spoilt = Signal()           # there was an error of the bus or of a tensor, and the parts are as that has left them
        lead(m, self.i, decoder.i)
        lead(m, decoder.o, dispatch.i)
        with m.If(spoilt & (decoder.error == 0)):
            # It was cleared already.
            m.d.comb += [decoder.i.valid.eq(0), self.i.ready.eq(0)]
        for name in ("shared", "launches"):
            if hasattr(array, name):
                m.d.comb += getattr(array, name).eq(getattr(decoder, name))
        if self.accelerator.counts:
            m.d.comb += [decoder.orphans.eq(dispatch.orphans), decoder.stuck.eq(dispatch.stuck),
                         dispatch.forget.eq(decoder.error != 0)]
        torn = Signal(len(streams))
        wrong = self._fills(m, dispatch, array, decoder, torn)
        if any(each.sums for each in written):
            m.d.comb += array.parts.eq(decoder.parts)
        self._results(m, dispatch, array, decoder)
        misfit = Signal()
        m.submodules.quiet = quiet = macro(Quiet())
        m.d.comb += [getattr(quiet, f"m_axi_{name}").eq(getattr(self, f"m_axi_{name}")) for name in WATCHED]
        watched = self.accelerator.watchdog
        bites = self._watch(m, dispatch, decoder, quiet, spoilt) if watched else Const(0)
        hang = Mux(bites, command.HANG, command.NONE) if watched else command.NONE
        ragged = dispatch.ragged.any() if self.accelerator.dma.wide else 0
        fault = Cat(array.fault, *wrong).any() if wrong else array.fault
        m.d.comb += [
            # The last element of a request is counted in the cycle in which it ends.
            misfit.eq((torn & self._after(m, dispatch.ended)).any() | ragged | fault),
            decoder.happened.eq(Mux(spoilt, command.NONE, Mux(dispatch.failed, command.BUS, Mux(
                misfit, command.TENSORS, hang)))),
            self._anew.eq((spoilt & quiet.quiet) | bites),
            decoder.streams.eq(dispatch.streams), decoder.clear.eq(self.clear), self.error.eq(decoder.error),
            self.refused.eq(decoder.refused), self.busy.eq(self.i.valid | dispatch.streams.any()),
            self.ended.eq(dispatch.ended.any())]
        m.d.sync += spoilt.eq((spoilt | dispatch.failed | misfit) & ~self._anew)
        if self.accelerator.counters:
            self._count(m, dispatch, decoder)
        if self.accelerator.ram_bytes:
            m.d.comb += [self.ram_over.eq(dispatch.ended[-1] | self._anew), self.ram_failed.eq(dispatch.failed | self._anew)]
        return m

    def _array(self, written: tuple[Written, ...]) -> BufferedArray | BufferedVectors:
        array = self.accelerator.array
        if isinstance(array, Vectored):
            result, = self.accelerator.rows
            return BufferedVectors(array, result, self.accelerator.dma.word_bits)
        return BufferedArray(array, self.accelerator.buffers, written, self.accelerator.dma.word_bits)

    def _part(self, component: wiring.Component) -> Macro:
        """A part that begins anew when all is given up."""
        return macro(component, flush=self._anew)

    def _watch(self, m: Module, dispatch: Macro, decoder: Macro, quiet: Macro, spoilt: Signal) -> Value:
        """What tells that nothing moves any more; and which requests are given up, then and behind errors."""
        m.submodules.watchdog = watchdog = macro(Watchdog())
        streams = [getattr(dispatch, f"s{n}") for n in range(len(self.accelerator.streams))]
        m.d.comb += [
            watchdog.patience.eq(decoder.patience), watchdog.busy.eq(self.busy), watchdog.quiet.eq(quiet.quiet),
            watchdog.moves.eq((self.i.valid & self.i.ready) | Cat(each.valid & each.ready for each in streams).any())]
        forgotten = Signal()        # there is no error from now on, unless one comes
        m.d.comb += forgotten.eq((decoder.error == 0) | (self.clear & (decoder.later == 0)))
        with m.If(self._anew & ~(spoilt & forgotten)):
            m.d.sync += self.given_up.eq(dispatch.streams << 1)
        with m.Elif(forgotten):
            m.d.sync += self.given_up.eq(0)
        found: Value = watchdog.bites
        return found

    def _count(self, m: Module, dispatch: Macro, decoder: Macro) -> None:
        """Why streams wait that have a request under way."""
        m.submodules.stalls = stalls = macro(StallCounters(tuple(self.accelerator.stalls)))
        found: dict[str, list[Value]] = {name: [] for name in command.STALLS}
        for n, each in enumerate(self.accelerator.streams):
            elements, side = getattr(dispatch, f"s{n}"), "result" if each.is_result else "operand"
            found[f"{side}_late"].append(dispatch.streams[n] & ~elements.valid)
            found[f"{side}_held"].append(dispatch.streams[n] & elements.valid & ~elements.ready)
        found["command_held"].append(decoder.o.valid & ~decoder.o.ready)
        for name, causes in found.items():
            m.d.comb += [getattr(stalls, f"is_{name}").eq(Cat(causes).any()), getattr(self, name).eq(getattr(stalls, name))]

    def _after(self, m: Module, ended: Any) -> Signal:
        later = Signal(len(self.accelerator.streams))
        m.d.sync += later.eq(ended)
        return later

    def _fills(self, m: Module, dispatch: Macro, array: Macro, decoder: Macro, torn: Signal) -> list[Value]:
        """What fills buffers; what is wrong with it."""
        wrong: list[Value] = []
        for n, each in enumerate(self.accelerator.streams):
            if each.is_result:
                continue
            if each.name != RAM and isinstance(self.accelerator.array, Vectored):
                lead(m, getattr(dispatch, f"s{n}"), getattr(array, each.name))
                if each.is_counted:
                    lead(m, getattr(array, f"{each.name}_run"), getattr(dispatch, f"run{n}"))
                else:
                    m.d.comb += torn[n].eq(getattr(array, each.name.removesuffix("segments") + "torn"))
                continue
            if each.before:
                wrong.append(self._level(m, dispatch, array, decoder, torn, n))
            if each.kind != DENSE:
                continue
            if each.name == RAM:
                lead(m, getattr(dispatch, f"s{n}"), self.ram)
                continue
            if each.wide:
                lead(m, getattr(dispatch, f"s{n}"), getattr(array, each.name))
                m.d.comb += torn[n].eq(getattr(array, each.name.removesuffix("values") + "torn"))
                continue
            m.submodules[f"feed_{each.name}"] = feeder = self._part(Feeder(each.elements))
            lead(m, getattr(dispatch, f"s{n}"), feeder.i)
            lead(m, feeder.o, getattr(array, each.name))
            m.d.comb += [feeder.narrow.eq(dispatch.narrow[n]), torn[n].eq(feeder.torn)]
        return wrong

    def _level(self, m: Module, dispatch: Macro, array: Macro, decoder: Macro, torn: Signal, n: int) -> Value:
        """Arrays up to the nth stream, the values of a tensor without zeros; whether they are none."""
        streams = self.accelerator.streams
        values, first = streams[n], n - streams[n].before
        bank = self._bank(values.name)
        if isinstance(bank, ChainedBank):
            return self._chain(m, dispatch, array, decoder, torn, n, bank)
        feeder = self._part(LevelFeeder(values.kind, streams[first].elements, bank.node))
        m.submodules[f"feed_{values.name}"] = feeder
        name = values.name.removesuffix("values") + {COMPRESSED: "level", BITVECTOR: "bits", LINKED: "lists"}[values.kind]
        arrays = {first: "counts", n: "values"} | dict(enumerate(feeder.component.behind, first + 1))
        for at, member in arrays.items():
            lead(m, getattr(dispatch, f"s{at}"), getattr(feeder, member))
            if streams[at].is_counted:
                lead(m, getattr(feeder, f"{member}_run"), getattr(dispatch, f"run{at}"))
        lead(m, feeder.level, getattr(array, name))
        lead(m, feeder.o, getattr(array, values.name))
        m.d.comb += [feeder.narrow.eq(dispatch.narrow[n]), torn[first].eq(feeder.torn), feeder.restart.eq(decoder.restart),
                     feeder.at.eq(decoder.at)]
        wrong: Value = feeder.wrong
        return wrong

    def _chain(self, m: Module, dispatch: Macro, array: Macro, decoder: Macro, torn: Signal, n: int,
               bank: ChainedBank) -> Value:
        """As `_level`, of a tensor with levels behind each other."""
        streams = self.accelerator.streams
        values, first = streams[n], n - streams[n].before
        name = values.name.removesuffix("values")
        feeder = self._part(ChainFeeder(bank, f"{self.accelerator.name.lower()}_feeder_{name.lower()}chain"))
        m.submodules[f"feed_{values.name}"] = feeder
        for at in range(first, n + 1):
            member = streams[at].name.removeprefix(name)
            lead(m, getattr(dispatch, f"s{at}"), getattr(feeder, member))
            if streams[at].is_counted:
                lead(m, getattr(feeder, f"{member}_run"), getattr(dispatch, f"run{at}"))
        for filled in bank.streams:
            lead(m, getattr(feeder, f"{filled}_fill"), getattr(array, name + filled))
        m.d.comb += [feeder.narrow.eq(dispatch.narrow[n]), torn[first].eq(feeder.torn), feeder.restart.eq(decoder.restart),
                     feeder.at.eq(decoder.at)]
        wrong: Value = feeder.wrong
        return wrong

    def _bank(self, name: str) -> Bank:
        """The bank that a stream of values fills."""
        return next(bank for buffer in self.accelerator.buffers for nth, bank in enumerate(buffer.banks)
                    if buffer.name(nth, "values") == name)

    def _results(self, m: Module, dispatch: Macro, array: Macro, decoder: Macro) -> None:
        numbers = {each.name: n for n, each in enumerate(self.accelerator.streams)}
        for result in self.accelerator.results:
            if isinstance(result, Written):
                for name in result.arrays:
                    self._drain(m, dispatch, array, decoder, numbers[result.name(name)])
                continue
            n = numbers[result.tensor.name]
            if isinstance(self.accelerator.array, Vectored):
                lead(m, getattr(array, result.tensor.name), getattr(dispatch, f"s{n}"))
                m.d.comb += array.size.eq(getattr(dispatch, f"size{n}"))
                continue
            wide = WideResult(result, self._counted, self.accelerator.dma.word_bits) if result.wide else None
            buffer = self._part(wide or ResultBuffer(result))
            m.submodules[f"result_{result.tensor.name}"] = buffer
            m.d.comb += buffer.parts.eq(decoder.parts)
            if result.wide:
                m.d.comb += buffer.size.eq(getattr(dispatch, f"size{n}"))
            if result.wide and self._counted:
                # Constants stay while anything is under way.
                count = Signal(range(result.held + 1), name=f"count_{result.tensor.name}")
                operations = decoder.shared + 1 if result.operations > 1 else 1
                m.d.sync += count.eq(operations * (decoder.launches if self.accelerator.launches else result.words))
                m.d.comb += buffer.count.eq(count)
            for at, port in enumerate(result.ports):
                gives, takes = getattr(array, port), getattr(buffer, f"i{at}")
                word = gives.payload.value if isinstance(self.accelerator.array, Elastic) else gives.payload
                m.d.comb += [takes.payload.eq(word), takes.valid.eq(gives.valid), gives.ready.eq(takes.ready)]
            lead(m, buffer.o, getattr(dispatch, f"s{n}"))

    def _drain(self, m: Module, dispatch: Macro, array: Macro, decoder: Macro, n: int) -> None:
        """An array of a result to memory."""
        each = self.accelerator.streams[n]
        gives = getattr(array, each.name)
        bits, is_segments = len(gives.payload), "_segments" in each.name
        drain = self._part(SegmentsDrain() if each.counts and is_segments else
                           CountedDrain(bits) if each.is_counted else FixedDrain(bits, is_segments))
        m.submodules[f"drain_{each.name}"] = drain
        lead(m, gives, drain.i)
        lead(m, drain.o, getattr(dispatch, f"s{n}"))
        if each.is_counted:
            lead(m, drain.run, getattr(dispatch, f"run{n}"))
        if self.accelerator.counts:
            m.d.comb += [drain.restart.eq(decoder.restart), drain.at.eq(decoder.at)]
