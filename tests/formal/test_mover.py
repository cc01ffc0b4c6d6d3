"""The system DMA asks of buses only what AXI4 allows, whatever transfers it is given and whenever the buses take anything."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from amaranth.hdl import Cat, Module, Value
from amaranth.lib.wiring import In
from chains import keeps_contract
from prover import Harness, Verdict, always, cover, free, prove, reachable

from sardonyx.hw.emit import macro
from sardonyx.hw.soc import mover
from sardonyx.hw.soc.mover import BEATS, UNDER_WAY, Mover, Pieces

LINES_OF_PAGE = 512


class Asking(Harness):
    """A mover with any transfers, between any buses."""

    def __init__(self) -> None:
        super().__init__({"under_way": ("mover.under_way.queue.level", UNDER_WAY.bit_length())})

    def build(self, m: Module) -> None:
        probe: Any = self
        always(m, "no more bursts are under way than have room", probe.under_way <= UNDER_WAY)
        m.submodules.mover = part = macro(Mover())
        for path, member, value in part.signature.flatten(part):
            if member.flow is In:
                m.d.comb += Value.cast(value).eq(free(m, len(Value.cast(value)), "_".join(map(str, path))))
        for channel in ("ar", "aw"):
            bus = {name: getattr(part, f"m_axi_{channel}{name}") for name in ("valid", "ready", "addr", "len")}
            offer = SimpleNamespace(valid=bus["valid"], ready=bus["ready"], payload=Cat(bus["addr"], bus["len"]))
            waits = keeps_contract(m, channel, offer)
            always(m, f"{channel} stays within 4 KB",
                   ~offer.valid | (bus["addr"][3:12] + bus["len"] < LINES_OF_PAGE))
            reachable(m, f"{channel} of several beats is taken after it waited", waits & bus["ready"] & (bus["len"] != 0))


def test_bursts_are_offered_until_they_are_taken_and_stay_within_4_kb(tmp_path: Path) -> None:
    assert prove(Asking(), tmp_path) == Verdict(True)


def test_bursts_can_wait_and_move(tmp_path: Path) -> None:
    assert cover(Asking(), tmp_path, 12)


class Unaligned(Pieces):
    """Cuts at a number of lines, wherever a burst begins."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.cut = cut = macro(Pieces())
        m.d.comb += [cut.i.valid.eq(self.i.valid), cut.i.payload.eq(self.i.payload), self.i.ready.eq(cut.i.ready),
                     self.o.valid.eq(cut.o.valid), self.o.payload.eq(cut.o.payload), cut.o.ready.eq(self.o.ready),
                     self.o.payload.beats.eq(BEATS - 1)]
        return m


def test_bursts_across_4_kb_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mover, "Pieces", Unaligned)
    found = prove(Asking(), tmp_path, bound=6, only="aw stays within 4 KB")
    assert found.failed == ("aw stays within 4 KB",)
