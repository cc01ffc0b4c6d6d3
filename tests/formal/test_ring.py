"""A chain of tiles is one memory: no write is lost or overtaken, and every word that is read is the one that was written last,
after the same number of cycles from whichever tile."""

from pathlib import Path

import pytest
from amaranth.hdl import Array, Cat, Module, Mux, ResetSignal, Signal, Value
from amaranth.lib import wiring
from prover import Harness, Verdict, always, assume, cover, free, prove, reachable

from sardonyx.hw.arch.glb import Glb
from sardonyx.hw.emit import macro
from sardonyx.hw.glb.bank import Bank
from sardonyx.hw.glb.ring import RingSwitch

LINES = 2       # of a tile, which has one bank


class OneMemory(Harness):
    """Switches and banks of a chain under any accesses, beside the line of one address as it was written.

    cycles: after which words come, instead of what is promised.
    """

    def __init__(self, tiles: int, read_latency: int, cycles: "int | None" = None) -> None:
        self.tiles = tiles
        self.glb = Glb(banks=1, bank_bytes=8 * LINES, read_latency=read_latency, ring=tiles)
        self.cycles = read_latency + 2 * (tiles - 1) if cycles is None else cycles
        super().__init__({f"row{tile}_{line}": (f"bank{tile}.sram0.memory[{line}]", 64)
                          for tile in range(tiles) for line in range(LINES)})

    def build(self, m: Module) -> None:
        switches = [macro(RingSwitch(self.glb)) for _ in range(self.tiles)]
        for tile, each in enumerate(switches):
            m.submodules[f"switch{tile}"] = each
            m.submodules[f"bank{tile}"] = bank = macro(Bank.of(self.glb))
            here = each.here
            m.d.comb += [each.connected.eq(tile > 0), each.east_connected.eq(tile + 1 < self.tiles),
                         bank.enable.eq(here.read | here.write), bank.data.eq(here.data), each.word.eq(bank.word),
                         bank.address.eq(Mux(here.read, here.read_line, here.write_line))]
            with m.If(~here.read):
                m.d.comb += bank.write.eq(Cat(lane.replicate(2) for lane in here.lanes))
            always(m, f"a bank is asked once at {tile}", ~(here.read & here.write))
            always(m, f"what is on its way is for different banks at {tile}",
                   ~(each.east.read & each.east.write) | (each.east.read_line[1:] != each.east.write_line[1:]))
            always(m, f"nothing is astray at {tile}", ~each.astray)
            for name in ("read", "write"):
                line = getattr(each.east, f"{name}_line")
                always(m, f"a {name} on its way from {tile} is for a tile of the chain",
                       ~getattr(each.east, name) | (line < LINES * (self.tiles - 1 - tile)))
            if tile:
                wiring.connect(m, switches[tile - 1].east, each.west)
        first = switches[0]
        bits = len(first.load.read_line)
        at = free(m, bits, "at", constant=True)
        assume(m, "at is in the chain", at < LINES * self.tiles)
        for unit, name in ((first.load, "read"), (first.store, "write")):
            line = free(m, bits, f"{name}_line")
            assume(m, f"a {name} is in the chain", line < LINES * self.tiles)
            m.d.comb += [getattr(unit, name).eq(free(m, 1, name)), getattr(unit, f"{name}_line").eq(line)]
        m.d.comb += [first.store.lanes.eq(free(m, 4, "lanes")), first.store.data.eq(free(m, 64, "data"))]
        always(m, "a load never waits", first.load_grant)
        meets = first.load.read & (first.load.read_line[1:] == first.store.write_line[1:])
        always(m, "a store waits for a load of its bank and for nothing else", first.store_grant == ~meets)

        # A reset forgets what is on its way, as it ends the run; without one nothing is.
        assume(m, "there is no reset", ~ResetSignal())
        begun = Signal()
        m.d.sync += begun.eq(1)
        written = Signal(64, reset_less=True)
        with m.If(first.store.write & first.store_grant & (first.store.write_line == at)):
            m.d.sync += written.eq(merged(written, first.store.lanes, first.store.data))
        there: Value = Array(getattr(self, f"row{tile}_{line}") for tile in range(self.tiles) for line in range(LINES))[at]
        assume(m, "it begins as it is", begun | (written == there))
        for tile in reversed(range(self.tiles - 1)):
            going = switches[tile].east
            meant = going.write & (going.write_line + LINES * (tile + 1) == at)
            there = Mux(meant, merged(there, going.lanes, going.data), there)
        always(m, "memory and what is on its way are what was written", written == there)

        asked: Value = first.load.read & (first.load.read_line == at)
        expected: Value = written
        for cycle in range(1, self.cycles + 1):
            asked_then, expected_then = Signal(name=f"asked_{cycle}"), Signal(64, name=f"expected_{cycle}")
            m.d.sync += [asked_then.eq(asked), expected_then.eq(expected)]
            asked, expected = asked_then, expected_then
        always(m, "a word is the one that was written last", ~asked | (first.load_word == expected))
        reachable(m, "a word that was written comes from the last tile",
                  asked & (at == LINES * self.tiles - 1) & (expected == 0x1234_5678_9ABC_DEF0) & (written != expected))


def merged(line: Value, lanes: Value, data: Value) -> Value:
    """A line with some of its words replaced."""
    return Cat(Mux(lanes[lane], data.word_select(lane, 16), line.word_select(lane, 16)) for lane in range(4))


def every() -> "dict[str, OneMemory]":
    return {f"tiles {tiles} latency {latency}": OneMemory(tiles, latency) for tiles, latency in ((2, 1), (2, 2), (3, 1))}


@pytest.mark.parametrize("name", every())
def test_a_chain_is_one_memory_with_one_latency(name: str, tmp_path: Path) -> None:
    harness = every()[name]
    assert prove(harness, tmp_path, k=harness.cycles + 1) == Verdict(True)


@pytest.mark.parametrize("name", every())
def test_words_that_were_written_come_from_the_last_tile(name: str, tmp_path: Path) -> None:
    assert cover(every()[name], tmp_path, 12)


@pytest.mark.parametrize("wrong", [-1, 1])
def test_another_latency_is_found(wrong: int, tmp_path: Path) -> None:
    claim = "a word is the one that was written last"
    assert prove(OneMemory(2, 1, cycles=3 + wrong), tmp_path, bound=8, only=claim).failed == (claim,)
