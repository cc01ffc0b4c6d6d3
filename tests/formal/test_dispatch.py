"""Requests and the ports that do them: none is lost or done twice, and elements of a stream pass by one port, in order.

The DMA is any that keeps what the ports of ours promise (`hw.dma.port`): one request at a time, elements only meanwhile, an end
when the last one was taken.
"""

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from chained_levels import design
from chains import keeps_contract
from prover import Harness, Verdict, always, assume, cover, free, prove, reachable
from without_zeros import accelerator

from sardonyx.hw.arch.accelerator import Accelerator
from sardonyx.hw.arch.dma import Dma
from sardonyx.hw.dma.dma import DmaEngine
from sardonyx.hw.dma.request import request_layout
from sardonyx.hw.emit import macro
from sardonyx.hw.spatial.command import dispatch
from sardonyx.hw.spatial.command.parked import parked_layout

KIND = accelerator(ports=2).kind


class AnyEngine(wiring.Component):
    """Ports that do anything with requests, but begin none while one is under way, and end each behind its last element."""

    module_name = "any_engine"
    # Whether a request ends only when its last element was taken.
    patient = True

    def __init__(self, dma: Dma) -> None:
        self.dma = dma
        super().__init__(DmaEngine(dma).signature)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for n in range(self.dma.ports):
            request, load, store, ended = (getattr(self, f"{name}{n}") for name in ("request", "load", "store", "ended"))
            going, stores = Signal(name=f"going{n}"), Signal(name=f"stores{n}")
            m.d.comb += [
                request.ready.eq(free(m, 1, f"request{n}_ready") & ~going),
                load.valid.eq(free(m, 1, f"load{n}_valid") & going & ~stores),
                load.payload.eq(free(m, len(load.payload), f"load{n}_payload")),
                store.ready.eq(free(m, 1, f"store{n}_ready") & going & stores),
                ended.eq(free(m, 1, f"ended{n}_any") & going & ~(load.valid & ~load.ready & self.patient)),
                getattr(self, f"failed{n}").eq(free(m, 1, f"failed{n}_any"))]
            if self.patient:
                keeps_contract(m, f"load{n}", load, assume)
            m.d.sync += going.eq((going & ~ended) | (request.valid & request.ready))
            with m.If(request.valid & request.ready):
                m.d.sync += stores.eq(request.payload.stores)
        return m


class Served(Harness):
    """Requests of all streams, in any order; one stream is followed."""

    def __init__(self, kind: Accelerator) -> None:
        self.kind = kind
        self.ports, self.count = range(kind.dma.ports), len(kind.streams)
        self.counted = [n for n, each in enumerate(kind.streams) if each.is_counted]
        self.request, self.entry = request_layout(kind.dma.loops), parked_layout(kind)
        bits = (self.count - 1).bit_length()
        probes = {"busy": ("dispatch.busy", len(self.ports)), "number": ("dispatch.number", bits),
                  "dropped": ("dispatch.dropped", 1), "parks": ("dispatch.parked.i__valid", 1),
                  "valid": ("dispatch.parked.valid", len(self.counted))}
        for n in self.ports:
            probes |= {f"serves{n}": (f"dispatch.serves{n}", bits), f"going{n}": (f"dispatch.dma.going{n}", 1),
                       f"asks{n}": (f"dispatch.dma.request{n}__valid", 1), f"takes{n}": (f"dispatch.dma.request{n}__ready", 1),
                       f"asked{n}": (f"dispatch.dma.request{n}__payload", self.request.size)}
        probes |= {f"entry{n}": (f"dispatch.parked.entry{n}", self.entry.size) for n in range(len(self.counted))}
        super().__init__(probes)

    def build(self, m: Module) -> None:
        probe: Any = self
        m.submodules.dispatch = part = macro(dispatch.Dispatch(self.kind))
        which = free(m, range(self.count), "which", constant=True)
        assume(m, "it is one of the streams", which < self.count)
        job = part.i.payload
        m.d.comb += [part.i.valid.eq(free(m, 1, "comes")), Value.cast(job).eq(free(m, len(Value.cast(job)), "job")),
                     part.forget.eq(free(m, 1, "forget"))]
        assume(m, "a request is of one of the streams", ~part.i.valid | (job.stream < self.count))
        for n, each in enumerate(self.kind.streams):
            self._stream(m, n, getattr(part, f"s{n}"), each.is_result)
        for n in self.counted:
            run = getattr(part, f"run{n}")
            m.d.comb += [run.valid.eq(free(m, 1, f"run{n}_valid")),
                         Value.cast(run.payload).eq(free(m, len(Value.cast(run.payload)), f"run{n}_payload"))]
            keeps_contract(m, f"run{n}", run, assume)
        self._ports(m, part, job)
        self._kept(m, part)
        there = Signal()
        comes = part.i.valid & part.i.ready & (job.stream == which)
        leaves = part.ended.bit_select(which, 1) | (probe.dropped & (probe.number == which))
        m.d.sync += there.eq((there & ~leaves) | comes)
        always(m, "a stream has a request from when it comes until it ends", part.streams.bit_select(which, 1) == there)
        always(m, "only a request that there is ends", ~leaves | there)
        always(m, "a stream has one request at a time", ~comes | ~there)
        reachable(m, "a parked request starts", self._asks().any() & ~(part.i.valid & part.i.ready))
        reachable(m, "a parked request is dropped", probe.dropped)
        reachable(m, "all ports are busy", probe.busy.all())

    def _stream(self, m: Module, n: int, words: Any, is_result: bool) -> None:
        if is_result:
            m.d.comb += [words.valid.eq(free(m, 1, f"s{n}_valid")), words.payload.eq(free(m, len(words.payload), f"s{n}_word"))]
            keeps_contract(m, f"s{n}", words, assume)
        else:
            m.d.comb += words.ready.eq(free(m, 1, f"s{n}_ready"))
            keeps_contract(m, f"s{n}", words)

    def _asks(self) -> Value:
        return Cat(getattr(self, f"asks{n}") for n in self.ports)

    def _ports(self, m: Module, part: Any, job: Any) -> None:
        """What ports are asked for."""
        probe: Any = self
        asks = self._asks()
        takes = Cat(getattr(self, f"takes{n}") for n in self.ports)
        asked: Any = data.View(self.request, Mux(asks[0], probe.asked0, probe.asked1))
        counts = Cat((job.stream == n) for n in self.counted).any()
        comes = part.i.valid & part.i.ready
        always(m, "only a port that takes it is asked", (asks & ~takes) == 0)
        always(m, "one port is asked at a time", (asks & (asks - 1)[:len(self.ports)]) == 0)
        always(m, "a request goes to a port, or is parked", ~comes | Mux(counts, probe.parks, asks.any() & ~probe.parks))
        always(m, "it goes as it came", ~comes | counts | (asked.as_value() == job.request.as_value()))
        for n in self.counted:
            run = getattr(part, f"run{n}")
            goes, some = run.valid & run.ready, run.payload.count != 0
            always(m, f"what run {n} counts is asked for",
                   ~goes | (asks.any() & (asked.loops[0].there == run.payload.count)
                            & (asked.loops[0].span == Mux(some, run.payload.count, 1))))

    def _kept(self, m: Module, part: Any) -> None:
        """What holds of its registers."""
        probe: Any = self
        serves = [getattr(self, f"serves{n}") for n in self.ports]
        entries: list[Any] = [data.View(self.entry, getattr(self, f"entry{n}")) for n in range(len(self.counted))]
        for n in self.ports:
            always(m, f"port {n} is busy while its request is under way", probe.busy[n] == getattr(self, f"going{n}"))
            always(m, f"port {n} serves a stream", ~probe.busy[n] | (serves[n] < self.count))
            for at in range(n):
                always(m, f"ports {at} and {n} serve two streams",
                       ~(probe.busy[n] & probe.busy[at]) | (serves[n] != serves[at]))
        always(m, "there are no gaps", (probe.valid & (probe.valid + 1)[:len(self.counted)]) == 0)
        for n, entry in enumerate(entries):
            there = probe.valid[n]
            always(m, f"entry {n} is of a counted stream", ~there | Cat(entry.stream == each for each in self.counted).any())
            always(m, f"entry {n} is of a stream that is not served",
                   ~there | ~Cat(probe.busy[port] & (serves[port] == entry.stream) for port in self.ports).any())
            for at, other in enumerate(entries[:n]):
                always(m, f"entries {at} and {n} are of two streams", ~there | (entry.stream != other.stream))


@pytest.fixture(autouse=True)
def any_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "DmaEngine", AnyEngine)


@pytest.mark.parametrize("kind", [KIND, design("cc", 2).kind], ids=["a level", "levels behind each other"])
def test_each_request_is_done_once_and_its_elements_pass_by_one_port(kind: Accelerator, tmp_path: Path) -> None:
    assert prove(Served(kind), tmp_path) == Verdict(True)


def test_all_ports_may_be_busy_and_requests_wait(tmp_path: Path) -> None:
    assert cover(Served(KIND), tmp_path, 8)


def test_a_request_that_ends_before_its_last_element_is_taken_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AnyEngine, "patient", False)
    claim = "s0 is not retracted"
    assert prove(Served(KIND), tmp_path, bound=5, only=claim).failed == (claim,)
