"""Parts of levels behind each other keep the contract of streams, and an expander gives as many fibers as it should."""

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Module, Signal
from prover import Side, Verdict, always, cover, prove
from test_buffers import VALUES, Between, Held

from sardonyx.hw.arch.chain import ChainedBank, Link
from sardonyx.hw.arch.private_buffer import BITVECTOR, COMPRESSED, DENSE, FIBER, LINKED, Level, Loop
from sardonyx.hw.arch.spatial import Shaped
from sardonyx.hw.arch.token import MAYBE, TOKEN_BITS
from sardonyx.hw.arch.written_chain import ChainedWritten
from sardonyx.hw.memory.array_store import READ
from sardonyx.hw.memory.list_level import FINISHED, SomeLists
from sardonyx.hw.sparse.interface import is_done, is_stop
from sardonyx.hw.spatial.buffer.bit_rows import SomeBitRows
from sardonyx.hw.spatial.buffer.chain_bank import ChainBank
from sardonyx.hw.spatial.buffer.chosen_bank import ChosenBank
from sardonyx.hw.spatial.buffer.closing import Closing
from sardonyx.hw.spatial.buffer.compressed_writer import CompressedWriter
from sardonyx.hw.spatial.buffer.counted import SegmentsDrain
from sardonyx.hw.spatial.buffer.counted_level import CountedLevel
from sardonyx.hw.spatial.buffer.expander import Expander
from sardonyx.hw.spatial.buffer.fiber_dropper import FiberDropper
from sardonyx.hw.spatial.buffer.link_feeder import LinkFeeder
from sardonyx.hw.spatial.buffer.picker import Picker
from sardonyx.hw.spatial.buffer.private_buffer import AHEAD

EXTENT = 3


class Counted(Between):
    """An expander, whose fibers are counted where they leave, and started anew where one above is over."""

    def __init__(self, zeros: int) -> None:
        probes = {"expected": ("part.expected", 2)} | ({"at": ("part.at", 2)} if zeros else {})
        super().__init__(Expander(EXTENT, False, zeros), probes)
        self.zeros = zeros

    def build(self, m: Module) -> None:
        super().build(m)
        part: Any = self.made
        probe: Any = self
        fibers = Signal(range(EXTENT + 2))
        crd, above = part.crd, part.above
        ends = crd.valid & crd.ready & is_stop(crd.payload)
        closes = above.valid & above.ready & is_stop(above.payload) & (fibers == EXTENT)
        m.d.sync += fibers.eq(fibers + ends)
        with m.If(closes):
            m.d.sync += fibers.eq(0)
        always(m, "each fiber above has a fiber for each coordinate", fibers == probe.expected)
        always(m, "fibers are no more than coordinates", fibers <= EXTENT)
        if self.zeros:
            always(m, "zeros are no more than there should be", probe.at <= self.zeros)
        always(m, "a fiber above is over with its last coordinate",
               ~(above.valid & above.ready & is_stop(above.payload)) | closes | ends)
        always(m, "a tensor is over between fibers above", ~(crd.valid & is_done(crd.payload)) | (fibers == 0))


def link(kind: str, inner: bool, block: int, is_last: bool) -> Between:
    return Between(LinkFeeder(Link(1, kind, 3, 2 if kind == LINKED else 1, 2, 4, is_last), inner, block, is_last))


def parts() -> Side:
    return Side({
        "expander": Counted(0), "zeros": Counted(2), "refs": Between(Expander(EXTENT, True, 2)),
        "counted": Between(CountedLevel(EXTENT)), "some": Between(CountedLevel(EXTENT, False)),
        "none": Between(CountedLevel(EXTENT, True)), "picker": Picked(), "closing": Between(Closing()),
        "bits": Between(SomeBitRows(2, 3)),
        "lists": Held(SomeLists(1, 2, 1), {"finished": FINISHED}, True), "drain": Between(SegmentsDrain()),
        "dropper": Dropper(1), "groups": Dropper(2), "without values": Between(FiberDropper(2, 2, 0)),
        "nodes": Dropper(2, 2), "larger nodes": Dropper(1, 4)})


class Picked(Between):
    """A picker, which answers each coordinate that is asked for once."""

    def __init__(self) -> None:
        super().__init__(Picker(EXTENT), {"least": ("part.least", 2), "found": ("part.found", TOKEN_BITS)})

    def build(self, m: Module) -> None:
        super().build(m)
        part: Any = self.made
        probe: Any = self
        answers = part.o.valid & part.o.ready & ~is_done(part.o.payload)
        always(m, "what is asked for leaves with its answer", (part.want.valid & part.want.ready) == answers)
        always(m, "coordinates and positions leave together", (part.crd_i.valid & part.crd_i.ready)
               == (part.ref_i.valid & part.ref_i.ready))
        always(m, "a position is found, or none", ~probe.found[-1] | (probe.found == MAYBE))
        always(m, "coordinates that may come are of the extent", probe.least <= EXTENT)


class Dropper(Between):
    """A dropper of groups of fibers, of which the coordinate is told before anything of them leaves."""

    def __init__(self, group: int, node: int = 1) -> None:
        self.group, self.node = group, node
        wires = {"told": 1} | ({"pending": 2, "fiber": 1} if group > 1 else {"pending": 1})
        wires |= {"pads": 1, "place": (node - 1).bit_length(), "coordinate": 2, "gone": 2, "passes": 1,
                  "fills": 1} if node > 1 else {}
        super().__init__(FiberDropper(EXTENT, group, 1, node), {name: (f"part.{name}", bits) for name, bits in wires.items()})

    def build(self, m: Module) -> None:
        super().build(m)
        part: Any = self.made
        probe: Any = self
        o = part.o
        fiber = probe.fiber if self.group > 1 else 0
        always(m, "fibers that are held back are of this group", probe.pending <= fiber)
        pads = probe.pads if self.node > 1 else 0
        always(m, "what leaves is of a group that was told, or fills a node",
               ~o.valid | probe.told | pads | is_done(o.payload.crd))
        if self.node > 1:
            self.fills_nodes(m, fiber)
        always(m, "an element leaves behind all fibers in front of it", ~o.valid | o.payload.crd.control | (probe.pending == 0))

    def fills_nodes(self, m: Module, fiber: Any) -> None:
        """Fibers that leave are counted: where no fiber of the level is under way they are those of whole nodes."""
        part: Any = self.made
        probe: Any = self
        o = part.o
        stops = is_stop(o.payload.crd)
        fibers = Signal(range(self.group * self.node))      # a power of two, so that it counts around
        m.d.sync += fibers.eq(fibers + (o.valid & o.ready & stops))
        groups = (probe.place - probe.told).shift_left(self.group.bit_length() - 1)
        # And what left of a step that goes on, as its coordinate has not left.
        counted = groups + fiber - probe.pending + (probe.gone[0] & stops)
        always(m, "fibers of no coordinate yet are held back", probe.told | probe.pads | (probe.pending == fiber))
        always(m, "they leave in front of the element that is there",
               ~probe.told | (probe.pending == 0) | (part.i.valid & probe.fills))
        always(m, "fibers that left are those of coordinates and places", fibers == counted[:len(fibers)])
        always(m, "what left of a step has been there",
               ~probe.gone[0] | (part.i.valid & (probe.passes | probe.fills | probe.pads)))
        always(m, "a node is filled where it is not whole, and by empty fibers",
               ~probe.pads | ((probe.place != 0) & ~probe.told & (probe.pending == 0) & (~o.valid | stops)))
        always(m, "a node is filled behind the last coordinate alone", ~probe.pads | (probe.coordinate == 0))
        always(m, "what comes waits while a node is filled", ~probe.pads | ~part.i.ready)
        always(m, "coordinates are of the extent", probe.coordinate < EXTENT)
        always(m, "a fiber of the level begins with a node",
               (probe.coordinate != 0) | probe.told | probe.pads | (probe.place == 0))


RESULT = ChainedWritten(Shaped("C", 2, (2, 3)), (0, 1), ("C_0", "C_1"), COMPRESSED, 16, above=(COMPRESSED,))


def writers() -> Side:
    levels = {"inner": RESULT.last, "outer": RESULT.splits[0].level}
    return Side({name: Held(CompressedWriter(level), {f"{array}.ahead": READ for array in level.arrays})
                 for name, level in levels.items()})


def feeders() -> Side:
    return Side({"outer segments": link(COMPRESSED, False, 2, False), "segments": link(COMPRESSED, True, 1, True),
                 "bits": link(BITVECTOR, True, 2, True), "lists": link(LINKED, True, 1, False)})


@pytest.mark.parametrize("side", [parts, feeders, writers])
def test_parts_of_chains_keep_the_contract(side: Any, tmp_path: Path) -> None:
    assert prove(side(), tmp_path, 2) == Verdict(True)


def test_parts_of_chains_can_wait_and_move(tmp_path: Path) -> None:
    assert cover(parts(), tmp_path, 12)


def chain_bank(last: str) -> Held:
    levels = Level(COMPRESSED, 2), Level(last, 3)
    bank = ChainedBank(2, levels, 16, 0, 0, (Loop(2, 1, 1),), 2, FIBER, True, sifted=last == DENSE)
    stages = 2 if last == COMPRESSED else 1
    fifos = {f"stage{n}.level.scanner.finished": 4 for n in range(stages)} | {"ahead": AHEAD, "ahead0": AHEAD}
    return Held(ChainBank(bank, f"chain_{last}"), VALUES | fifos)


@pytest.mark.slow
@pytest.mark.parametrize("last", [COMPRESSED, DENSE])
def test_a_bank_of_a_chain_keeps_the_contract(last: str, tmp_path: Path) -> None:
    assert prove(chain_bank(last), tmp_path) == Verdict(True)


def chosen_bank(last: str) -> Held:
    bank = ChainedBank(2, (Level(COMPRESSED, 2), Level(last, 3)), 16, 0, 0, (Loop(2, 1, 0),), 2, FIBER, True, bases=(0, 0),
                       whole=True, complete=last == DENSE)
    stages = 2 if last == COMPRESSED else 1
    fifos = {f"stage{n}.level.scanner.finished": 4 for n in range(stages)} | {"ahead": AHEAD, "wants0": AHEAD}
    return Held(ChosenBank(bank, f"chosen_{last}"), VALUES | fifos)


@pytest.mark.slow
@pytest.mark.parametrize("last", [COMPRESSED, DENSE])
def test_a_bank_of_a_chain_whose_fibers_are_chosen_keeps_the_contract(last: str, tmp_path: Path) -> None:
    assert prove(chosen_bank(last), tmp_path) == Verdict(True)
