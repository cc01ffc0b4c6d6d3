"""The data port loses no word that the memory gives, and at a bank neither direction of the host keeps out the other."""

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module, Signal, Value
from amaranth.lib.wiring import In
from prover import Harness, Verdict, always, cover, free, prove, reachable

from sardonyx.hw.arch.glb import Glb
from sardonyx.hw.emit import macro
from sardonyx.hw.glb.tile import GlbTile
from sardonyx.hw.soc.axi_data import AxiData

GLB = Glb(columns_per_tile=1, banks=2, bank_bytes=16, load_loops=1, store_loops=1)


def drive(m: Module, component: Any) -> None:
    """Give plain inputs of a component any value in every cycle."""
    for path, member, value in component.signature.flatten(component):
        name = "_".join(map(str, path))
        if member.flow is In:
            m.d.comb += Value.cast(value).eq(free(m, len(Value.cast(value)), name))


class Room(Harness):
    """A port with any master and any memory: how many beats are under way is counted right, so each has a place."""

    def __init__(self, latency: int) -> None:
        self.latency = latency
        wires = {"under_way": latency.bit_length(), "queue__level": latency.bit_length(), "queue__i__valid": 1,
                 "queue__i__ready": 1, **{f"known_{cycle}": 7 for cycle in range(1, latency + 1)}}
        inside = {"queue__level": "port.queue.queue.level"}
        super().__init__({name: (inside.get(name, f"port.{name}"), bits) for name, bits in wires.items()})

    def build(self, m: Module) -> None:
        m.submodules.port = port = macro(AxiData(32, 13, self.latency))
        drive(m, port)
        probe: Any = self
        asked = sum((getattr(probe, f"known_{cycle}")[0] for cycle in range(1, self.latency + 1)), start=probe.queue__level)
        always(m, "every beat under way is counted", probe.under_way == asked)
        always(m, "no more than have a place", probe.under_way <= self.latency)
        always(m, "a word that comes is taken", ~probe.queue__i__valid | probe.queue__i__ready)
        reachable(m, "the queue is full", probe.queue__level == self.latency)


class Turns(Harness):
    """A GLB tile with any traffic: who waits at a bank while the other direction goes is the next to go there."""

    def __init__(self) -> None:
        super().__init__({"reads_next": ("tile.reads_next", 1)})

    def build(self, m: Module) -> None:
        m.submodules.tile = tile = macro(GlbTile(GLB))
        drive(m, tile)
        probe: Any = self
        goes = {"read": tile.host_read_valid & tile.host_read_ready, "write": tile.host_write_valid & tile.host_write_ready}
        valid = {"read": tile.host_read_valid, "write": tile.host_write_valid}
        same = tile.host_read_line[1:] == tile.host_write_line[1:]
        for one, other in (("read", "write"), ("write", "read")):
            # The other one went at the bank for which this one waits, and goes again.
            passed = Signal(name=f"{one}_was_passed")
            passes = valid[one] & ~goes[one] & goes[other] & same
            m.d.sync += passed.eq((passed | passes) & valid[one] & ~goes[one])
            always(m, f"a {one} is passed once at most", ~(passed & passes))
            always(m, f"a {one} that was passed is next", ~passed | (probe.reads_next == (one == "read")))
            reachable(m, f"a {one} that was passed goes", passed & goes[one])
        always(m, "one access a bank", ~(goes["read"] & goes["write"] & same))
        reachable(m, "both go", goes["read"] & goes["write"])


EACH_LATENCY = pytest.mark.parametrize("latency", [1, 2, 3])


@EACH_LATENCY
def test_every_word_that_comes_has_a_place(latency: int, tmp_path: Path) -> None:
    assert prove(Room(latency), tmp_path) == Verdict(True)


@EACH_LATENCY
def test_the_places_for_words_are_used_up_by_some_master(latency: int, tmp_path: Path) -> None:
    assert cover(Room(latency), tmp_path, 12)


def test_reads_and_writes_take_turns_at_a_bank(tmp_path: Path) -> None:
    assert prove(Turns(), tmp_path) == Verdict(True)


def test_reads_and_writes_can_wait_for_each_other_and_go_at_once(tmp_path: Path) -> None:
    assert cover(Turns(), tmp_path, 6)
