"""Ports of a DMA ask for no more than has room, and keep the contract of streams, whatever they are given and whenever anything
is taken."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib.wiring import Component, In
from chains import keeps_contract
from prover import Harness, Side, Verdict, always, assume, cover, free, prove, reachable

from sardonyx.hw.arch.dma import Dma
from sardonyx.hw.dma import port
from sardonyx.hw.dma.lanes import Pack, Unpack
from sardonyx.hw.dma.list_walk import ListWalk
from sardonyx.hw.dma.port import Port, ShortPieces
from sardonyx.hw.dma.realign import Gather, Scatter
from sardonyx.hw.dma.walk import Walk
from sardonyx.hw.emit import macro
from sardonyx.hw.spatial.buffer.feeder import Feeder

DMA = Dma(ports=1, loops=1, beats=2, room=4)
WITH_LISTS = Dma(ports=1, loops=2, beats=2, room=4, lists=True)
WIDER = Dma(ports=1, loops=1, beats=2, room=4, wide=True, bus_bytes=16)
LEVEL = 3


class Asking(Harness):
    """A port with any requests, before a bus that gives words only where some were asked for, and takes those of bursts."""

    def __init__(self, dma: Dma = DMA) -> None:
        self.dma = dma
        super().__init__({"level": ("port.words.queue.level", LEVEL), "room": ("port.room", LEVEL),
                          "loose": ("port.loose", LEVEL), "stores": ("port.stores", 1)})

    def build(self, m: Module) -> None:
        probe: Any = self
        m.submodules.port = part = macro(Port(self.dma))
        for path, member, value in part.signature.flatten(part):
            if member.flow is In and path[0] not in ("came", "answered"):
                m.d.comb += Value.cast(value).eq(free(m, len(Value.cast(value)), "_".join(map(str, path))))
        asked = Signal(4)       # words that have not come
        given = Signal(4)       # words of bursts that were announced, not sent
        m.d.comb += part.came.eq(free(m, 1, "came") & (asked != 0))
        reads, writes = part.read, part.write
        m.d.sync += [
            asked.eq(asked - part.came + Mux(reads.valid & reads.ready, reads.payload.beats + 1, 0)),
            given.eq(given - (part.word.valid & part.word.ready)
                     + Mux(writes.valid & writes.ready, writes.payload.beats + 1, 0))]
        assume(m, "words are taken of bursts that were announced", ~part.word.ready | (given != 0))
        always(m, "no more words are held than have room", probe.level <= DMA.room)
        always(m, "what was asked for has room",
               Mux(probe.stores, (probe.room == DMA.room) & (asked == 0), probe.room + probe.level + asked == DMA.room))
        always(m, "the words of a burst are there when it is offered",
               Mux(probe.stores, probe.level == probe.loose + given, (probe.loose == 0) & (given == 0)))
        for name, offer in (("read", reads), ("write", writes)):
            waits = keeps_contract(m, name, SimpleNamespace(valid=offer.valid, ready=offer.ready, payload=offer.payload))
            always(m, f"a burst of {name} crosses no multiple of its bytes",
                   ~offer.valid | (offer.payload.line[0] + offer.payload.beats < DMA.beats))
            reachable(m, f"a burst of {name} is taken after it waited", waits & offer.ready & (offer.payload.beats != 0))


class Promising(Harness):
    """A port with any requests, before a bus that answers as it likes what it was asked for."""

    def __init__(self) -> None:
        super().__init__({"going": ("port.going", 1), "stores": ("port.stores", 1)})

    def build(self, m: Module) -> None:
        probe: Any = self
        m.submodules.port = part = macro(Port(DMA))
        for path, member, value in part.signature.flatten(part):
            if member.flow is In and path[0] not in ("came", "answered"):
                m.d.comb += Value.cast(value).eq(free(m, len(Value.cast(value)), "_".join(map(str, path))))
        asked = Signal(4)       # words that have not come
        given = Signal(4)       # bursts that are not answered
        m.d.comb += [part.came.eq(free(m, 1, "came") & (asked != 0)), part.answered.eq(free(m, 1, "answered") & (given != 0))]
        m.d.sync += [asked.eq(asked - part.came + Mux(part.read.valid & part.read.ready, part.read.payload.beats + 1, 0)),
                     given.eq(given - part.answered + (part.write.valid & part.write.ready))]
        always(m, "no request is taken while one is under way", ~(part.request.valid & part.request.ready) | ~probe.going)
        always(m, "elements come of a request that loads", ~part.load.valid | (probe.going & ~probe.stores))
        always(m, "elements are taken of a request that stores", ~part.store.ready | (probe.going & probe.stores))
        always(m, "a request that is under way ends", ~part.ended | probe.going)
        always(m, "it ends when its last element was taken", ~part.ended | ~(part.load.valid & ~part.load.ready))
        keeps_contract(m, "load", part.load)
        reachable(m, "a request that loads ends", part.ended & ~probe.stores & part.load.valid & part.load.ready)


class Between(Harness):
    """What elements pass through, between streams that keep the contract themselves.

    settings: inputs that stay.
    """

    def __init__(self, part: Component, gives: "tuple[str, ...]", takes: str, settings: "tuple[str, ...]") -> None:
        self.part, self.gives, self.takes, self.settings = part, gives, takes, settings
        super().__init__()

    def build(self, m: Module) -> None:
        m.submodules.part = part = macro(self.part)
        for name in self.settings:
            m.d.comb += getattr(part, name).eq(free(m, len(getattr(part, name)), name, constant=True))
        for name in self.gives:
            offer = getattr(part, name)
            m.d.comb += [offer.valid.eq(free(m, 1, f"{name}_valid")),
                         Value.cast(offer.payload).eq(free(m, len(Value.cast(offer.payload)), f"{name}_payload"))]
            keeps_contract(m, name, offer, assume)
        out = getattr(part, self.takes)
        m.d.comb += out.ready.eq(free(m, 1, "ready"))
        keeps_contract(m, self.takes, out)


@pytest.mark.parametrize("dma", [DMA, WITH_LISTS, WIDER])
def test_ports_ask_for_what_has_room_and_offer_what_is_there(dma: Dma, tmp_path: Path) -> None:
    assert prove(Asking(dma), tmp_path) == Verdict(True)


def test_bursts_of_ports_can_wait_and_move(tmp_path: Path) -> None:
    assert cover(Asking(), tmp_path, 14)


def elements(bus_bytes: int) -> Side:
    return Side({"unpack": Between(Unpack(bus_bytes), ("run", "word"), "o", ("size",)),
                 "pack": Between(Pack(bus_bytes), ("run", "i"), "word", ("size",)),
                 "gather": Between(Gather(bus_bytes), ("run", "word"), "o", ("size",)),
                 "scatter": Between(Scatter(bus_bytes), ("run", "i"), "word", ("size",)),
                 "feeder": Between(Feeder(3), ("i",), "o", ("narrow",))})


@pytest.mark.parametrize("bus_bytes", [8, 16])
def test_elements_and_words_of_them_keep_the_contract(bus_bytes: int, tmp_path: Path) -> None:
    assert prove(elements(bus_bytes), tmp_path) == Verdict(True)


def walks() -> Side:
    return Side({"loops": Between(Walk(2), ("i",), "o", ()), "list": Between(ListWalk(3), ("i", "head"), "o", ())})


def test_runs_of_requests_keep_the_contract(tmp_path: Path) -> None:
    assert prove(walks(), tmp_path, 2) == Verdict(True)


@pytest.mark.slow
@pytest.mark.parametrize("part,given", [(Unpack, "word"), (Pack, "i"), (Gather, "word"), (Scatter, "i")])
def test_so_do_those_of_a_bus_of_32_bytes(part: Any, given: str, tmp_path: Path) -> None:
    """Each alone: what brings bytes to their places is large."""
    out = "o" if given == "word" else "word"
    assert prove(Between(part(32), ("run", given), out, ("size",)), tmp_path) == Verdict(True)


def test_a_port_does_one_request_at_a_time_and_ends_it_behind_its_last_element(tmp_path: Path) -> None:
    assert prove(Promising(), tmp_path, bound=12) == Verdict(True)
    assert cover(Promising(), tmp_path, 12)


class Longer(ShortPieces):
    """Bursts that are longer than a port has room for."""

    def __init__(self, most: int) -> None:
        super().__init__(2 * most)


def test_bursts_without_room_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(port, "ShortPieces", Longer)
    claim = "a burst of read crosses no multiple of its bytes"
    assert prove(Asking(), tmp_path, bound=8, only=claim).failed == (claim,)
