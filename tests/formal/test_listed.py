"""A load gives the words of its loops and no others, of a list each block behind its length, whatever memory holds and whenever
it is granted, taken, stopped and started."""

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data
from chains import keeps_contract, run
from prover import Harness, Verdict, always, assume, cover, free, prove, reachable

from sardonyx.hw.arch.glb import LINE_BYTES, Glb
from sardonyx.hw.arch.soc import EXTENT_BITS
from sardonyx.hw.emit import macro
from sardonyx.hw.glb import load
from sardonyx.hw.glb.listed import ENTRY, LINE_BITS, BlockList
from sardonyx.hw.glb.load import LoadDma
from sardonyx.hw.memory.affine import loop_layout

LINES, LOOPS = 4, 2
ADDRESS_BITS = (LINE_BYTES * LINES - 1).bit_length()
NEXT = "a word is the next one of the descriptor"
ENDS = "it is busy until the last word was taken and no longer"


class Place:
    """Where a load is in a descriptor, by what that means alone: at a line of its list, or at a word of a block.

    lies: the memory, a line each.
    """

    def __init__(self, m: Module, name: str, load: Any, lies: Any) -> None:
        self.first, self.listed = load.first, load.listed
        self.going = Signal(name=f"{name}_going")
        self.now = Signal(data.StructLayout({"inside": 1, "line": ADDRESS_BITS - LINE_BITS, "address": ADDRESS_BITS,
                                             "turns": data.ArrayLayout(EXTENT_BITS, LOOPS)}), name=name)
        now, turns, stride = self.now, self.now.turns, load.loops.stride
        self.entry = Signal(ENTRY, name=f"{name}_entry")
        self.at = Mux(now.inside, now.address, now.line << LINE_BITS)
        m.d.comb += Value.cast(self.entry).eq(lies[now.line])
        self.word = lies[self.at[LINE_BITS:]].word_select(self.at[1:LINE_BITS], 16)
        inner, outer = (turns[loop] == load.loops.extent[loop] for loop in range(LOOPS))
        self.last_block = ~self.listed | self.entry.last
        block_ends = now.inside & inner & outer
        self.ends = block_ends & self.last_block
        # The word behind this one.
        self.then = Signal.like(now, name=f"{name}_then")
        m.d.comb += self.then.eq(now)
        with m.If(~now.inside):
            m.d.comb += [self.then.inside.eq(1), self.then.address.eq(self.entry.address)]
        with m.Elif(block_ends):
            m.d.comb += [self.then.inside.eq(0), self.then.line.eq(now.line + 1), Value.cast(self.then.turns).eq(0)]
        with m.Elif(inner):
            m.d.comb += [self.then.address.eq(now.address + stride[1]), self.then.turns[0].eq(0),
                         self.then.turns[1].eq(turns[1] + 1)]
        with m.Else():
            m.d.comb += [self.then.address.eq(now.address + stride[0]), self.then.turns[0].eq(turns[0] + 1)]

    def follow(self, m: Module, start: Value, stop: Value, goes: Value) -> None:
        """Begin, end, or be at the next word."""
        with m.If(goes):
            m.d.sync += [self.now.eq(self.then), self.going.eq(~self.ends)]
        with m.If(stop):
            m.d.sync += self.going.eq(0)
        with m.If(start):
            m.d.sync += [self.going.eq(1), self.now.inside.eq(~self.listed), self.now.line.eq(self.first[LINE_BITS:]),
                         self.now.address.eq(self.first), Value.cast(self.now.turns).eq(0)]

    def same(self, other: Value) -> Value:
        """Whether it is at another place's word; of the address of a block nothing is said before that."""
        now = self.now
        return ((now.inside == other.inside) & (now.line == other.line) & (Value.cast(now.turns) == Value.cast(other.turns))
                & (~now.inside | (now.address == other.address)))


class Loading(Harness):
    """A load before a memory that shows each word for one cycle, beside the place of the word that leaves next.

    A read takes a cycle, so that all that is under way is in two stages: the address, and the word that is offered.
    """

    def __init__(self) -> None:
        self.glb = Glb(banks=1, bank_bytes=LINE_BYTES * LINES, load_loops=LOOPS, listed=True)
        wires = {"pending": 1, "within_": 1, "fresh": 1, "holds": 1, "held_line": ADDRESS_BITS - LINE_BITS,
                 "lane": LINE_BITS - 1, "kept": 64, "brought": 1, "blocks.entry": 1, "blocks.waits": 1, "blocks.moves": 1,
                 "blocks.last": 1, "blocks.following": ADDRESS_BITS - LINE_BITS, "generator.address": ADDRESS_BITS,
                 **{f"generator.left{loop}": EXTENT_BITS + 1 for loop in range(LOOPS)}}
        super().__init__({name.rpartition(".")[2]: (f"load.{name}", width) for name, width in wires.items()})

    def build(self, m: Module) -> None:
        m.submodules.load = part = macro(LoadDma(self.glb))
        loops, first = (free(m, shape, name, constant=True)
                        for name, shape in (("loops", loop_layout(LOOPS)), ("first", ADDRESS_BITS)))
        lies = Array(free(m, 64, f"line{line}", constant=True) for line in range(LINES))
        start, stop = free(m, 1, "start"), free(m, 1, "stop")
        m.d.comb += [part.loops.eq(loops), part.first.eq(first), part.listed.eq(free(m, 1, "listed", constant=True)),
                     part.start.eq(start), part.stop.eq(stop), part.grant.eq(free(m, 1, "grant")),
                     part.o.ready.eq(free(m, 1, "ready"))]
        assume(m, "a list begins at a line", ~part.listed | (first[:LINE_BITS] == 0))
        comes, line = Signal(), Signal.like(part.line)
        m.d.sync += [comes.eq(part.read & part.grant), line.eq(part.line)]
        m.d.comb += part.word.eq(Mux(comes, lies[line], free(m, 64, "other")))

        leaves = part.o.valid & part.o.ready
        place = Place(m, "place", part, lies)
        place.follow(m, start, stop, leaves)
        always(m, "nothing is offered of what has ended", ~part.o.valid | place.going)
        always(m, NEXT, ~part.o.valid | (part.o.payload.data == place.word))
        always(m, ENDS, part.busy == place.going)
        begun = Signal()        # a start or a stop gives up what is offered
        m.d.sync += begun.eq(start | stop)
        keeps_contract(m, "o", part.o, lambda m, name, holds: always(m, name, begun | holds))
        # Reads that are granted and words that are taken leave no cycle without a word, but one for the address of a block.
        behind = part.listed & place.now.inside & ~Value.cast(place.now.turns).any()
        calm = run(m, "calm", part.grant & part.o.ready & ~start & ~stop, 1)
        waited = Signal()
        m.d.sync += waited.eq(place.going & ~part.o.valid & calm)
        always(m, "a word follows the one before, and the first of a block a cycle later",
               ~place.going | ~calm | part.o.valid | (behind & ~waited))
        words = Signal(3)
        m.d.sync += words.eq(Mux(start, 0, words + leaves))
        reachable(m, "a list of two blocks of two words ends", leaves & place.ends & part.listed & (words == 5))
        self._stages(m, place, part, lies, (start, stop), (comes, line))

    def _stages(self, m: Module, place: Place, part: Any, lies: Any, begins: "tuple[Value, Value]",
                shown: "tuple[Value, Value]") -> None:
        """What registers hold: one stage has the word that is offered, the other the address of the one behind it."""
        probe: Any = self
        comes, line = shown
        asks = Place(m, "asks", part, lies)
        asks.follow(m, *begins, probe.moves)
        always(m, "the address is asked for until the last one", (probe.pending == asks.going) & ~probe.within_)
        always(m, "behind what is offered is the next word",
               Mux(part.o.valid, place.going & Mux(place.ends, ~asks.going, asks.going & asks.same(place.then)),
                   (place.going == asks.going) & (~asks.going | asks.same(place.now))))
        always(m, "what is offered is held",
               ~part.o.valid | (probe.holds & (probe.held_line == place.at[LINE_BITS:]) & (probe.lane == place.at[1:LINE_BITS])
                              & (probe.brought == ~place.now.inside)))
        always(m, "what is held is as it was read",
               ~probe.holds | Mux(probe.fresh, comes & (line == probe.held_line), probe.kept == lies[probe.held_line]))
        always(m, "an address waits for the line of its block alone",
               ~probe.waits | (probe.pending & part.o.valid & probe.brought & asks.now.inside & part.listed
                               & ~Value.cast(asks.now.turns).any()))
        there = asks.going & ~probe.waits
        always(m, "the address is that of the next word", ~there | (probe.address == asks.at))
        always(m, "and it is known of what", ~asks.going | (probe.entry == ~asks.now.inside))
        always(m, "as many turns are left as there are",
               ~(there & asks.now.inside) | Cat(getattr(self, f"left{loop}") == (part.loops.extent[loop]
                                                - asks.now.turns[loop] - 1)[:EXTENT_BITS + 1] for loop in range(LOOPS)).all())
        always(m, "turns are no more than there are",
               ~asks.going | Cat(asks.now.turns[loop] <= part.loops.extent[loop] for loop in range(LOOPS)).all())
        always(m, "it is known whether another block follows",
               ~(there & asks.now.inside) | (probe.last == asks.last_block))
        always(m, "the next line of the list follows",
               ~(asks.going & part.listed) | (probe.following == (asks.now.line + 1)[:ADDRESS_BITS - LINE_BITS]))
        always(m, "turns begin behind a length", ~asks.going | asks.now.inside | ~Value.cast(asks.now.turns).any())
        always(m, "without a list it is in a block", part.listed | ~asks.going | asks.now.inside)


def test_a_load_gives_each_block_of_its_list_behind_its_length(tmp_path: Path) -> None:
    assert prove(Loading(), tmp_path, k=2) == Verdict(True)


def test_a_list_of_two_blocks_ends(tmp_path: Path) -> None:
    assert cover(Loading(), tmp_path, 12)


class Endless(BlockList):
    """A list that goes on behind its last line."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        m.d.comb += self.ends.eq(0)
        return m


class Stuck(BlockList):
    """A list whose next line is where the block of the one before begins."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        m.d.comb += self.address.eq(self.line.address)
        return m


@pytest.mark.parametrize("wrong, claim", [(Endless, ENDS), (Stuck, NEXT)])
def test_a_list_that_is_walked_otherwise_is_found(wrong: "type[BlockList]", claim: str, tmp_path: Path,
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "BlockList", wrong)
    assert prove(Loading(), tmp_path, bound=9, only=claim).failed == (claim,)
