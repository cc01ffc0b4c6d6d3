"""An outer product behind its commands."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch import command, outer_product
from ...arch.outer_product import OuterProduct
from ...dma.dma import bus
from ...dma.quiet import WATCHED, Quiet
from ...emit import macro
from ...stream.lead import lead
from ..command.stalls import StallCounters
from ..command.word import WORD, ram_members, status_members
from .lane_waits import wait_members
from .product import OuterProductArray
from .requests import OuterRequests


class OuterCore(wiring.Component):
    """Does a product, or a phase of one, when all its tensors are asked for, one after the other.

    Behaviour: between two of them the array is reset, when the bus is quiet; so it is when one has met an error: no memory for
    nodes, a row that is too long or that there is not, which are told as more elements than have room, or an error of the bus,
    of what fills the memory of a core, too.

    Parameters
    ----------
    kind : OuterProduct    With a queue.

    Members
    -------
    i, clear, error, refused, busy, ended, operand_late, ..., ram, ram_over, ram_failed, m_axi_*
                           As of `Core`; a product is one request that ends.

    Timing: that of its parts.
    Source: Stellar V and VI-C.
    """

    def __init__(self, kind: OuterProduct) -> None:
        assert kind.queue, "there are commands"
        self.kind, self.module_name = kind, f"{kind.name.lower()}_core"
        super().__init__({"i": In(stream.Signature(WORD)), **status_members(False, kind.stalls), **bus(),
                          **ram_members(kind.ram_bytes)})

    @property
    def emit_key(self) -> OuterProduct:
        return self.kind

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        anew = Signal()
        count = len(self.kind.tensors)
        m.submodules.requests = requests = macro(OuterRequests(self.kind))
        m.submodules.array = array = macro(OuterProductArray(replace(self.kind, name=f"{self.kind.name}_array")), flush=anew)
        m.submodules.quiet = quiet = macro(Quiet())
        lead(m, self.i, requests.i)
        for name, member in bus().items():
            own, inner = getattr(self, name), getattr(array, name)
            m.d.comb += own.eq(inner) if member.flow is Out else inner.eq(own)
        m.d.comb += [getattr(quiet, f"m_axi_{name}").eq(getattr(self, f"m_axi_{name}")) for name in WATCHED]
        m.d.comb += [
            array.job.eq(requests.job), array.begins.eq(requests.given[:count].all()),
            # A request for a core's memory has ended when its error is known.
            anew.eq(array.trap & quiet.quiet), requests.ended.eq(anew.replicate(len(requests.ended))),
            requests.happened.eq(Mux(array.status == 0, command.NONE,
                                     Mux(array.status == outer_product.BUS, command.BUS, command.TENSORS))),
            requests.clear.eq(self.clear), self.error.eq(requests.error), self.refused.eq(requests.refused),
            self.busy.eq(self.i.valid | requests.given.any()), self.ended.eq(requests.ended.any())]
        if self.kind.counters:
            m.submodules.stalls = stalls = macro(StallCounters(tuple(self.kind.stalls), self.kind.lanes))
            m.d.comb += [
                *(getattr(self, name).eq(getattr(stalls, name)) for name in self.kind.stalls),
                *(getattr(stalls, name).eq(getattr(array, name)) for name in wait_members(self.kind, Out)),
                stalls.is_command_held.eq(self.i.valid & ~self.i.ready & (self.i.payload.number == command.ISSUE))]
        if self.kind.ram_bytes:
            lead(m, array.ram, self.ram)
            m.d.comb += [array.fills.eq(requests.given[count]), array.base.eq(requests.base), array.words.eq(requests.words)]
            m.d.comb += [self.ram_over.eq(array.filled | anew), self.ram_failed.eq(array.failed | anew)]
            with m.If(array.filled):
                m.d.comb += requests.ended[count].eq(1)
        return m
