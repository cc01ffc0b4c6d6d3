"""A spatial accelerator behind its commands: array, buffers on all sides, DMA."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..arch import command
from ..arch.accelerator import RAM, Accelerator
from ..arch.dma import ELEMENT_BITS
from ..dma.dma import BUS
from ..emit import Macro, macro
from ..stream.lead import lead
from .buffered_array import BufferedArray
from .decoder import ERROR_BITS, WORD, Decoder
from .dispatch import Dispatch
from .feeder import Feeder
from .result_buffer import ResultBuffer
from .wide_result import WideResult

# What a front of commands sees of a core.
STATUS = {"clear": In(1), "error": Out(ERROR_BITS), "refused": Out(command.NUMBER_BITS), "busy": Out(1), "ended": Out(1)}


class Core(wiring.Component):
    """The array with all that its commands need.

    Behaviour: commands are done in order. What a request brings fills a private buffer; the array computes as soon as its
    buffers are full, and a request takes what it gives.

    Parameters
    ----------
    accelerator : Accelerator

    Members
    -------
    i : In(stream)      Commands, `WORD`.
    clear : In(1)       As of `Decoder`, and `error` and `refused`.
    busy : Out(1)       A command is there, or a request is under way.
    ended : Out(1)      A request ends.
    ram : Out(stream)   What fills the memory of a RISC-V core, if there is one.
    m_axi_* : the bus.

    Timing: that of its parts.
    Source: Stellar IV-A, Fig. 8. Departure: no register files.
    """

    def __init__(self, accelerator: Accelerator) -> None:
        self.accelerator, self.module_name = accelerator, f"{accelerator.name.lower()}_core"
        self._counted = accelerator.launches > 0 or accelerator.shared > 1
        ram = {"ram": Out(stream.Signature(ELEMENT_BITS))} if accelerator.ram_bytes else {}
        super().__init__({"i": In(stream.Signature(WORD)), **STATUS, **BUS, **ram})

    @property
    def emit_key(self) -> str:
        return repr(self.accelerator)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        streams = self.accelerator.streams
        m.submodules.decoder = decoder = macro(Decoder(self.accelerator))
        m.submodules.dispatch = dispatch = macro(Dispatch(self.accelerator))
        m.submodules.array = array = macro(BufferedArray(self.accelerator.array, self.accelerator.buffers))
        for name, member in BUS.items():
            own, inner = getattr(self, name), getattr(dispatch, name)
            m.d.comb += own.eq(inner) if member.flow is Out else inner.eq(own)
        lead(m, self.i, decoder.i)
        lead(m, decoder.o, dispatch.i)
        for name in ("shared", "launches"):
            if hasattr(array, name):
                m.d.comb += getattr(array, name).eq(getattr(decoder, name))
        torn = Signal(len(streams))
        self._fills(m, dispatch, array, torn)
        self._results(m, dispatch, array, decoder)
        misfit = Signal()
        ragged = dispatch.ragged.any() if self.accelerator.dma.wide else 0
        m.d.comb += [
            # The last element of a request is counted in the cycle in which it ends.
            misfit.eq((torn & self._after(m, dispatch.ended)).any() | ragged | array.fault),
            decoder.happened.eq(Mux(dispatch.failed, command.BUS, Mux(misfit, command.TENSORS, command.NONE))),
            decoder.streams.eq(dispatch.streams), decoder.clear.eq(self.clear), self.error.eq(decoder.error),
            self.refused.eq(decoder.refused), self.busy.eq(self.i.valid | dispatch.streams.any()),
            self.ended.eq(dispatch.ended.any())]
        return m

    def _after(self, m: Module, ended: Any) -> Signal:
        later = Signal(len(self.accelerator.streams))
        m.d.sync += later.eq(ended)
        return later

    def _fills(self, m: Module, dispatch: Macro, array: Macro, torn: Signal) -> None:
        for n, each in enumerate(self.accelerator.streams):
            if each.is_result:
                continue
            if each.name == RAM:
                lead(m, getattr(dispatch, f"s{n}"), self.ram)
                continue
            if each.wide:
                lead(m, getattr(dispatch, f"s{n}"), getattr(array, each.name))
                m.d.comb += torn[n].eq(getattr(array, each.name.removesuffix("values") + "torn"))
                continue
            m.submodules[f"feed_{each.name}"] = feeder = macro(Feeder(each.elements))
            lead(m, getattr(dispatch, f"s{n}"), feeder.i)
            lead(m, feeder.o, getattr(array, each.name))
            m.d.comb += [feeder.narrow.eq(dispatch.narrow[n]), torn[n].eq(feeder.torn)]

    def _results(self, m: Module, dispatch: Macro, array: Macro, decoder: Macro) -> None:
        numbers = [n for n, each in enumerate(self.accelerator.streams) if each.is_result]
        for n, result in zip(numbers, self.accelerator.results, strict=True):
            buffer = macro(WideResult(result, self._counted) if result.wide else ResultBuffer(result))
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
                lead(m, getattr(array, port), getattr(buffer, f"i{at}"))
            lead(m, buffer.o, getattr(dispatch, f"s{n}"))


def command_word(rs1: Any, rs2: Any, number: Any) -> Any:
    """The fields of a command in the order of `WORD`."""
    return Cat(rs2, rs1, number)
