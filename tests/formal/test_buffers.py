"""What stands between memory, buffers and arrays keeps the contract of streams, whatever it holds and whenever it is taken.

Banks are proved whole, memories and all: of each FIFO inside it is part of the proof that it has as many words as its pointers
are apart.
"""

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib.wiring import Component, In
from chains import keeps_contract
from prover import Harness, Side, Verdict, always, assume, cover, free, prove, reachable

from sardonyx.hw.arch import vectored
from sardonyx.hw.arch.accelerator import Collected
from sardonyx.hw.arch.cartesian import Cartesian
from sardonyx.hw.arch.private_buffer import BITVECTOR, COMPRESSED, DENSE, FIBER, LINKED, WORD, Bank, Level, Loop, Run
from sardonyx.hw.arch.spatial import Shaped
from sardonyx.hw.arch.token import TOKEN_BITS
from sardonyx.hw.arch.written import Written
from sardonyx.hw.emit import macro
from sardonyx.hw.joined.dealer import UNDER_WAY, Dealer
from sardonyx.hw.memory.array_store import READ, ArrayStore
from sardonyx.hw.memory.list_level import FINISHED, ListLevel
from sardonyx.hw.spatial.buffer.absent import UNDER_WAY as ABSENT
from sardonyx.hw.spatial.buffer.answered import Answered
from sardonyx.hw.spatial.buffer.associative_bank import AssociativeBank
from sardonyx.hw.spatial.buffer.bit_writer import BitWriter
from sardonyx.hw.spatial.buffer.compressed_writer import CompressedWriter
from sardonyx.hw.spatial.buffer.counted import CountedDrain, CountedFeeder, FixedDrain
from sardonyx.hw.spatial.buffer.dense_writer import DenseWriter
from sardonyx.hw.spatial.buffer.fiber_bank import FiberBank
from sardonyx.hw.spatial.buffer.fiber_collector import FiberCollector
from sardonyx.hw.spatial.buffer.gather_bank import LOOKED_UP, GatherBank
from sardonyx.hw.spatial.buffer.level_feeder import LevelFeeder
from sardonyx.hw.spatial.buffer.list_writer import ListWriter
from sardonyx.hw.spatial.buffer.matcher import Matcher
from sardonyx.hw.spatial.buffer.meeting import Meeting
from sardonyx.hw.spatial.buffer.private_buffer import AHEAD, PrivateBank
from sardonyx.hw.spatial.buffer.result_buffer import ResultBuffer
from sardonyx.hw.spatial.buffer.row_bank import RowBank
from sardonyx.hw.spatial.buffer.wide_bank import WideBank
from sardonyx.hw.spatial.buffer.wide_result import WideResult
from sardonyx.hw.spatial.convolve.former import Former
from sardonyx.hw.spatial.convolve.replay import Replay
from sardonyx.hw.spatial.convolve.sum_bank import SumBank
from sardonyx.hw.spatial.outer.port_share import PortShare


class Between(Harness):
    """A part between sources that keep the contract and sinks that do as they like; other inputs have any value that stays, but
    `restart`, which comes while nothing waits."""

    def __init__(self, part: Component, probes: "dict[str, tuple[str, int]] | None" = None, settled: bool = True) -> None:
        self.part, self.settled = part, settled
        super().__init__(probes)

    def build(self, m: Module) -> None:
        m.submodules.part = self.made = part = macro(self.part)
        offers = []
        for name, member in self.part.signature.members.items():
            port: Any = getattr(part, name)
            if not member.is_signature:
                if member.flow is In:
                    any_value = free(m, len(Value.cast(port)), name, constant=self.settled and name != "restart")
                    m.d.comb += Value.cast(port).eq(any_value)
            elif member.flow is In:
                m.d.comb += [port.valid.eq(free(m, 1, f"{name}_valid")),
                             Value.cast(port.payload).eq(free(m, len(Value.cast(port.payload)), f"{name}_payload"))]
                keeps_contract(m, name, port, assume)
            else:
                m.d.comb += port.ready.eq(free(m, 1, f"{name}_ready"))
                offers.append(port.valid)
                waits = keeps_contract(m, name, port)
                reachable(m, f"{name} is taken after it waited", waits & port.valid & port.ready)
        if "restart" in self.part.signature.members:
            assume(m, "nothing waits where it restarts", ~part.restart | ~Cat(offers).any())


class Held(Between):
    """A part with FIFOs, by their path, each with its depth. `counted`: what is read for the only one has room."""

    def __init__(self, part: Component, fifos: "dict[str, int]", counted: bool = False,
                 more: "dict[str, tuple[str, int]] | None" = None) -> None:
        self.fifos, self.counted = fifos, counted
        probes: dict[str, tuple[str, int]] = {**(more or {})}
        for path, depth in fifos.items():
            bits = max(1, (depth - 1).bit_length())
            name = path.replace(".", "_")
            probes |= {f"{name}_{wire}": (f"part.{path}.queue.{wire}", bits) for wire in ("r_port__addr", "w_port__addr")}
            probes[f"{name}_level"] = (f"part.{path}.queue.level", depth.bit_length())
        if counted:
            probes |= {"room": ("part.room", 3), "was_valid": (f"part.{next(iter(fifos))}.queue.w_en", 1)}
        super().__init__(part, probes)

    def build(self, m: Module) -> None:
        super().build(m)
        probe: Any = self
        for path, depth in self.fifos.items():
            name = path.replace(".", "_")
            level, reads, writes = (getattr(self, f"{name}_{wire}") for wire in ("level", "r_port__addr", "w_port__addr"))
            always(m, f"{name} has room for its words", (level <= depth) & (reads < depth) & (writes < depth))
            behind = reads + level
            always(m, f"{name} has its words in turn", Mux(behind >= depth, behind - depth, behind) == writes)
        if self.counted:
            (path, depth), = self.fifos.items()
            level = getattr(self, f"{path}_level")
            always(m, "what is read has room", probe.room + level + probe.was_valid == depth)


RESULT = Written(Shaped("C", 2, (2, 3)), (0, 1), ("C_0", "C_1"), COMPRESSED, 16)
PARTS = dataclasses.replace(RESULT, tensor=Shaped("P", 2, (2, 3)), ports=("P_0", "P_0_moves", "P_1", "P_1_moves"),
                            begins=(0, 1))
SUMS = dataclasses.replace(RESULT, tensor=Shaped("S", 2, (2, 3)), sums=True)
LISTS = dataclasses.replace(RESULT, tensor=Shaped("L", 2, (2, 3)), kind=LINKED, node=2)
ZEROS = dataclasses.replace(RESULT, tensor=Shaped("D", 2, (2, 3)), kind=DENSE)
BITS = dataclasses.replace(RESULT, tensor=Shaped("B", 2, (2, 3)), kind=BITVECTOR)
LEVELS = {kind: (Level(DENSE, 2), Level(kind, 3)) for kind in (DENSE, COMPRESSED, BITVECTOR, LINKED)}
VALUES, LEVEL = {"values.level.scanner.finished": 4}, {"level.level.scanner.finished": 4, "ahead": AHEAD}
GIVEN = {"under_way": LOOKED_UP, "o0_fifo": 2, "o1_fifo": 2}
BANKS = {
    "compressed": (Bank(2, LEVELS[COMPRESSED], 16, 0, 0, (Loop(2, 1, 1),), 2, FIBER, True), LEVEL),
    "dealt": (Bank(2, LEVELS[COMPRESSED], 16, 0, 0, (Loop(2, 1, 2),), 4, WORD, True, dealt=2), LEVEL),
    "words": (Bank(2, LEVELS[DENSE], 16, 0, 0, (Loop(2, 1, 1), Loop(3, 2, 0)), 2, WORD, False), {}),
    "dense fibers": (Bank(2, LEVELS[DENSE], 16, 0, 0, (Loop(3, 1, 0), Loop(2, 3, 1)), 2, FIBER, True, 4),
                     {"skew0": 4, "skew1": 4}),
    "bits": (Bank(2, LEVELS[BITVECTOR], 16, 0, 0, (Loop(1, 1, 0), Loop(2, 1, 1)), 2, FIBER, True), LEVEL),
    "lists": (Bank(2, LEVELS[LINKED], 16, 0, 0, (Loop(2, 1, 1),), 2, FIBER, True),
              {"level.finished": FINISHED, "ahead": AHEAD}),
    "table": (Bank(2, LEVELS[DENSE], 16, 0, 0, (), 2, WORD, False, table=(Run(0, 0, 2, 4, 1), Run(1, 0))), {}),
    "chosen": (Bank(2, LEVELS[COMPRESSED], 16, 0, 0, (Loop(2, 1, 0),), 2, FIBER, True, bases=(0, 0), whole=True), LEVEL),
    "chosen bits": (Bank(2, LEVELS[BITVECTOR], 16, 0, 0, (Loop(2, 1, 0),), 2, FIBER, True, bases=(0, 0), whole=True),
                    {"ahead": AHEAD}),
    "chosen lists": (Bank(2, LEVELS[LINKED], 16, 0, 0, (Loop(2, 1, 0),), 2, FIBER, True, bases=(0, 0), whole=True),
                     {"level.finished": FINISHED, "absent.under_way": ABSENT, "ahead": AHEAD}),
    "gathered": (Bank(2, LEVELS[DENSE], 16, 0, 0, (), 2, FIBER, True, bases=(0, 3)), VALUES | GIVEN),
    "gathered in rows": (Bank(2, LEVELS[DENSE], 16, 0, 0, (), 2, FIBER, True, bases=(0, 0), chosen=(Loop(2, 3, 0),)),
                         VALUES | GIVEN),
    "searched": (Bank(2, LEVELS[COMPRESSED], 16, 0, 0, (), 2, FIBER, True, bases=(0, 3)),
                 GIVEN | {f"walk.{path}": depth for path, depth in (VALUES | LEVEL).items()}),
}


def bank(name: str) -> Held:
    kind, fifos = BANKS[name]
    of: type[Component] = (RowBank if kind.whole else AssociativeBank if kind.matched else GatherBank if kind.bases
                           else PrivateBank)
    made = of(kind, name.replace(" ", "_"))
    return Gathered(made, kind, fifos) if kind.bases and not kind.whole else Held(made, VALUES | fifos)


class Gathered(Held):
    """A bank that is asked for elements: of what a port asks for no more is looked up than it has room for."""

    def __init__(self, part: Component, kind: Bank, fifos: "dict[str, int]",
                 others: "dict[str, tuple[str, int]] | None" = None) -> None:
        self.kind = kind
        bits = TOKEN_BITS + (kind.sinks - 1).bit_length() + len(kind.chosen)
        more = (others or {}) | {f"row{n}": (f"part.under_way.queue.storage[{n}]", bits) for n in range(LOOKED_UP)}
        more |= {f"room{n}": (f"part.room{n}", kind.depth.bit_length()) for n in range(kind.sinks)}
        more |= {f"comes{n}": (f"part.o{n}_fifo.queue.w_en", 1) for n in range(kind.sinks)}
        super().__init__(part, fifos, more=more)

    def whose(self, n: int) -> Value:
        """The port of what is looked up; behind it is whether its row is none."""
        bits: Value = getattr(self, f"row{n}")[TOKEN_BITS:]
        return bits[:len(bits) - len(self.kind.chosen)]

    def build(self, m: Module) -> None:
        super().build(m)
        probe: Any = self
        reads, level = probe.under_way_r_port__addr, probe.under_way_level
        for port in range(self.kind.sinks):
            asked = [((n - reads)[:len(reads)] < level) & (self.whose(n) == port) for n in range(LOOKED_UP)]
            held, room = getattr(self, f"o{port}_fifo_level"), getattr(self, f"room{port}")
            always(m, f"what port {port} asked for has room", room + held + sum(asked, start=Const(0, 1)) == self.kind.depth)
            always(m, f"what port {port} gets has room", ~getattr(self, f"comes{port}") | (held < self.kind.depth))


class Replayed(Between):
    """What holds groups of words, whatever lets them go."""

    def __init__(self, groups: int) -> None:
        self.groups = groups
        bits = {"giving": (groups - 1).bit_length(), "filling": (groups - 1).bit_length(), "full": groups}
        probes = {"there": ("part.o__valid", 1), **{name: (f"part.{name}", count) for name, count in bits.items()}}
        super().__init__(Replay(4, 3, groups), probes, settled=False)

    def build(self, m: Module) -> None:
        super().build(m)
        probe: Any = self
        always(m, "what is given is held", ~probe.there | probe.full.bit_select(probe.giving, 1))
        always(m, "there are such groups", (probe.giving < self.groups) & (probe.filling < self.groups))


def vectors() -> Side:
    """What makes vectors of fibers, and what holds them: fibers of 2 and 1 elements, of 2 bits."""
    x = vectored.Side(Shaped("A", 2, (2, 2)), ("c", "x"), ("x",), True, (("x", 1),), 0)
    k = vectored.Side(Shaped("B", 2, (2, 2)), ("c", "k"), ("k",), True, (("k", 2),), 0)
    kind = Cartesian("products", 2, 1, 2, 2, 2, 2, 4, stored=2)
    made = vectored.Vectored(kind, (("c", 2), ("x", 2), ("k", 2)), x, k, Shaped("X", 4, (2, 2)), "k")
    return Side({"left": Held(Former(made, made.left), {"lengths": 4}), "right": Held(Former(made, made.right), {"lengths": 4}),
                 "held": Replayed(2), "more held": Replayed(3)})


class Rows(Between):
    """A bank of rows: of two halves the one that is shown is held until its last row has left."""

    def __init__(self, bank: Bank) -> None:
        wires = dict.fromkeys(("there", "shown", "reading", "closing"), 1) | {"full": 2}
        super().__init__(WideBank(bank, "short_rows" if bank.short else "rows"),
                         {name: (f"part.{name}", bits) for name, bits in wires.items()})

    def build(self, m: Module) -> None:
        super().build(m)
        probe: Any = self
        always(m, "what is shown is held", ~probe.there | probe.full.bit_select(probe.shown, 1))
        always(m, "halves are read in turn", ~probe.there | (probe.closing == (probe.reading != probe.shown)))


class Summed(Between):
    """A bank of sums, which leave when nothing is added any more."""

    def __init__(self) -> None:
        wires = {"there": "o__valid", "leaves": "leaves", "clears": "clears"}
        super().__init__(SumBank(2, 2), {name: (f"part.{wire}", 1) for name, wire in wires.items()}, settled=False)

    def build(self, m: Module) -> None:
        super().build(m)
        added = Signal()
        part: Any = m.submodules.part
        probe: Any = self
        m.d.sync += added.eq(part.valid)
        assume(m, "sums leave one time after the other", ~part.flip | ~(part.busy | added))
        always(m, "what is there leaves, and is not set to 0", ~probe.there | (probe.leaves & ~probe.clears))
        always(m, "nothing leaves before all is 0", ~probe.leaves | ~probe.clears)


class Shared(Between):
    """A port of a DMA with two users, whose request ends when it was taken and nothing of it waits."""

    def __init__(self) -> None:
        super().__init__(PortShare(2), settled=False)

    def build(self, m: Module) -> None:
        super().build(m)
        part: Any = m.submodules.part
        waits = Cat(each.valid & ~each.ready for each in (part.load, part.store)).any() | part.request.valid
        assume(m, "a request ends behind its last element", ~part.ended | ~waits)


class Together(Held):
    """Pairs with two answers each. `has`: the outputs that have theirs of the pair whose turn it is."""

    def build(self, m: Module) -> None:
        super().build(m)
        part: Any = self.made
        has, over = Signal(3), Signal()
        out = [part.o, part.o0, part.o1]
        valid, takes = Cat(each.valid for each in out), Cat(each.valid & each.ready for each in out)
        m.d.comb += over.eq((has | takes).all())
        m.d.sync += has.eq(Mux(over, 0, has | takes))
        always(m, "a pair is offered with all its answers", has == Mux(valid.any(), ~valid, 0))
        always(m, "what is offered is there", ~valid.any() | (part.a0.valid & part.a1.valid))
        for name, answer in (("first", part.a0), ("second", part.a1)):
            always(m, f"the {name} answer is taken with its pair", (answer.valid & answer.ready) == over)
        reachable(m, "an answer goes before its pair", has == 2)


class Matched(Between):
    """Elements that are searched: those of the half that is filled in stand in front, and of one that is full nothing more."""

    def __init__(self) -> None:
        wires = {"full": 2, "reading": 1, "writing": 1, "there0": 3, "there1": 3}
        super().__init__(Matcher(2, 2, 3, 1), {name: (f"part.{name}", bits) for name, bits in wires.items()})

    def build(self, m: Module) -> None:
        super().build(m)
        probe: Any = self
        for half, there in enumerate((probe.there0, probe.there1)):
            always(m, f"elements of half {half} stand in front", (there & (there + 1)) == 0)
            idle = ~probe.full.bit_select(half, 1) & (probe.writing != half)
            always(m, f"half {half} is empty until it is written", ~idle | (there == 0))
        full, alike = probe.full, probe.writing == probe.reading
        always(m, "the same half is next where both are full, or none", (full.all() | ~full.any()) == alike)
        always(m, "one that is full is read", alike | full.bit_select(probe.reading, 1))


def rows() -> Side:
    """What takes and gives rows, results of arrays in step, and a port of a DMA that lanes share."""
    bank = Bank(16, (Level(DENSE, 2), Level(DENSE, 4)), 16, 0, 0, (Loop(4, 1, 1), Loop(2, 4, 0)), 4, WORD, False, wide=True)
    result = Collected(Shaped("C", 2, (2, 2)), (0, 1), ("C_0", "C_1"), 2, 0, (Loop(2, 0, 1), Loop(2, 0, 0)))
    wide = dataclasses.replace(result, tensor=Shaped("W", 32, (2, 2)), wide=True)
    fifos = {f"bank{n}.{fifo}": 3 for n in range(2) for fifo in ("sums", "done")}
    return Side({"rows": Rows(bank), "short": Rows(dataclasses.replace(bank, operations=2, short=True)),
                 "result": Held(ResultBuffer(result), fifos), "wide": Held(WideResult(wide, False), fifos), "sums": Summed(),
                 "shared": Shared()})


def feeders() -> Side:
    return Side({"coordinates": Between(CountedFeeder(False)), "drain": Between(CountedDrain(16)),
                 "segments": Between(FixedDrain(16, True)), "level": Between(LevelFeeder(COMPRESSED, 3)),
                 "bits": Between(LevelFeeder(BITVECTOR, 2)), "links": Between(CountedFeeder(False, True)),
                 "lists": Between(LevelFeeder(LINKED, 3, 2)), "matched": Matched(),
                 "meeting": Between(Meeting(False)), "either": Between(Meeting(True)),
                 "answered": Together(Answered(1, (1, 2), 3), {"waits": 3})})


def writers() -> Side:
    summed = FiberCollector(SUMS)
    return Side({
        "store": Held(ArrayStore(4, 1), {"ahead": READ}, True), "list": Held(ListLevel(1, 2, 1), {"finished": FINISHED}, True),
        "fiber bank": Held(FiberBank(2, 2), {"sums": 4, "done": 3}),
        "collector": Held(FiberCollector(RESULT), {"fiber0": 4, "fiber1": 4}),
        "collector of parts": Held(FiberCollector(PARTS), {f"fiber{nth}": (2, 3)[nth % 2] for nth in range(4)}),
        "summed": Held(summed, {f"fiber{n}.{fifo}": depth for n in range(2) for fifo, depth in (("sums", 5), ("done", 4))}),
        "compressed": Held(CompressedWriter(RESULT), {f"{name}.ahead": READ for name in RESULT.arrays}),
        "lists": Held(ListWriter(LISTS), {f"{name}.ahead": READ for name in LISTS.arrays}),
        "dense": Held(DenseWriter(ZEROS), {f"{name}.ahead": READ for name in ZEROS.arrays}),
        "bits": Held(BitWriter(BITS), {f"{name}.ahead": READ for name in BITS.arrays}),
        "dealer": Held(Dealer(2, 2, 3), {"told": UNDER_WAY})})


@pytest.mark.parametrize("side", [feeders, writers, vectors, rows])
def test_what_fills_buffers_and_what_writes_results_keeps_the_contract(side: Any, tmp_path: Path) -> None:
    assert prove(side(), tmp_path, 2) == Verdict(True)


def test_what_fills_buffers_can_wait_and_move(tmp_path: Path) -> None:
    assert cover(feeders(), tmp_path, 12)


@pytest.mark.parametrize("name", ["compressed", "dealt", *(pytest.param(name, marks=pytest.mark.slow)
                                                           for name in BANKS if name not in ("compressed", "dealt"))])
def test_a_buffer_bank_keeps_the_contract(name: str, tmp_path: Path) -> None:
    assert prove(bank(name), tmp_path) == Verdict(True)


def test_a_setting_that_changes_under_way_is_found(tmp_path: Path) -> None:
    claim = "o does not change"
    assert prove(Between(CountedFeeder(False), settled=False), tmp_path, bound=6, only=claim).failed == (claim,)
