"""Commands of a core and of a bus reach the queue once, as they were given and in order, and each is answered once.

A command of those that were given is followed, by its number. What takes commands from the queue does as it likes.
"""

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data
from chains import keeps_contract
from prover import Harness, Verdict, always, assume, cover, free, prove, reachable

from sardonyx.hw.arch import command
from sardonyx.hw.arch.soc import offsets
from sardonyx.hw.emit import macro
from sardonyx.hw.spatial.command.coprocessor import Coprocessor
from sardonyx.hw.spatial.command.queue import CommandQueue
from sardonyx.hw.spatial.command.word import WORD, command_word

DEPTH, NUMBER = 2, 4        # of the queue; bits of numbers, more than a run of the bound has commands
AT = offsets(command.REGISTERS)


def few(m: Module, name: str) -> Signal:
    """A word of few bits: words are kept and compared, no more, but for the top bit, which says something."""
    word = Signal(32, name=name)
    low, top = free(m, 2, f"{name}_low"), free(m, 1, f"{name}_top")
    m.d.comb += [word[:2].eq(low), word[-1].eq(top)]
    return word


def inside() -> dict[str, tuple[str, int]]:
    """Of the queue: where its words are."""
    place = "part.waiting.queue.queue"
    return {"level": (f"{place}.level", DEPTH.bit_length()), "consume": (f"{place}.r_port__addr", 1),
            "produce": (f"{place}.w_port__addr", 1), **{f"row{n}": (f"{place}.storage[{n}]", WORD.size) for n in range(DEPTH)}}


def in_turn(m: Module, probes: Any) -> list[tuple[Value, Any]]:
    """The words of the queue, the oldest first: whether each is there, and what it is."""
    level, consume = probes.level, probes.consume
    always(m, "the queue has room for its words", level <= DEPTH)
    always(m, "words are behind each other", probes.produce == (consume + level)[:1])
    rows = [data.View(WORD, each) for each in (Mux(consume, probes.row1, probes.row0), Mux(consume, probes.row0, probes.row1))]
    return [(level > n, row) for n, row in enumerate(rows)]


class Instructions(Harness):
    """A core that holds each instruction until it is answered, and words that go before its own. `holds`: it does."""

    def __init__(self, holds: bool = True, watchdog: bool = False, stalls: tuple[str, ...] = ()) -> None:
        self.holds, self.watchdog, self.stalls = holds, watchdog, stalls
        super().__init__(inside())

    def build(self, m: Module) -> None:
        m.submodules.part = part = macro(Coprocessor(DEPTH, self.watchdog, self.stalls))
        level: Any = self.level         # type: ignore[attr-defined]
        valid, rs1, rs2 = free(m, 1, "valid"), few(m, "rs1"), few(m, "rs2")
        insn = Signal(32)
        m.d.comb += [insn[:7].eq(free(m, 7, "opcode")), insn[12:15].eq(free(m, 3, "kind")), insn[25:].eq(free(m, 7, "number"))]
        m.d.comb += [part.pcpi_valid.eq(valid), part.pcpi_insn.eq(insn), part.pcpi_rs1.eq(rs1), part.pcpi_rs2.eq(rs2),
                     part.first.valid.eq(free(m, 1, "first_valid")), part.o.ready.eq(free(m, 1, "ready")),
                     part.first.payload.rs1.eq(few(m, "first_rs1")), part.first.payload.number.eq(free(m, 7, "first_number"))]
        keeps_contract(m, "first", part.first, assume)
        waits = keeps_contract(m, "o", part.o)
        # A core takes an answer in the cycle in which it comes, and has its next instruction later.
        asked = Cat(valid, insn, rs1, rs2)
        held = Signal(len(asked))
        answered = Signal()
        m.d.sync += [held.eq(asked), answered.eq(part.pcpi_ready)]
        if self.holds:
            assume(m, "an instruction stays until it is answered", ~held[0] | answered | (asked == held))
            assume(m, "an instruction follows its answer later", ~answered | ~valid)
        # Words say whose they are.
        assume(m, "words of the core", ~rs1[-1])
        assume(m, "words before them", part.first.payload.rs1[-1])
        number, word = insn[25:], command_word(rs1, rs2, insn[25:])
        mine = valid & (insn[:7] == command.OPCODE) & (insn[12:15] == 0)
        # What goes past the queue, and what it is answered with.
        told: dict[int, Any] = {command.READ_STATUS: part.state, command.CLEAR: part.state}
        if self.watchdog:
            told[command.READ_GIVEN_UP] = part.given_up
        told |= {command.READ_STALL + n: getattr(part, name) for n, name in enumerate(self.stalls)}
        for name in (*(["given_up"] if self.watchdog else []), *self.stalls):
            m.d.comb += getattr(part, name).eq(free(m, 32, name))
        past = Cat(number == each for each in told).any()
        which = free(m, NUMBER, "which", constant=True)
        given = Signal(NUMBER)
        before = Signal(NUMBER)
        got = Signal(NUMBER)
        got_before = Signal(NUMBER)
        followed = Signal(WORD.size)
        answers, enters = part.pcpi_ready & ~past, part.first.valid & part.first.ready
        leaves, is_core = part.o.valid & part.o.ready, ~part.o.payload.rs1[-1]
        m.d.sync += [given.eq(given + answers), before.eq(before + enters), got.eq(got + (leaves & is_core)),
                     got_before.eq(got_before + (leaves & ~is_core))]
        with m.If(mine & ~past & (given == which)):
            m.d.sync += followed.eq(word)
        always(m, "a command leaves as it was given, in order",
               ~(part.o.valid & is_core & (got == which)) | (part.o.payload.as_value() == followed))
        always(m, "each is in the queue once", (got + got_before + level)[:NUMBER] == (given + answers + before)[:NUMBER])
        # What only induction asks: which word of the queue is which command.
        seen: Any = got
        for nth, (there, row) in enumerate(in_turn(m, self)):
            always(m, f"word {nth} is what was given", ~there | row.rs1[-1] | (seen[:NUMBER] != which)
                   | (row.as_value() == followed))
            seen = seen + (there & ~row.rs1[-1])
        always(m, "commands of the core are in the queue once", seen[:NUMBER] == (given + answers)[:NUMBER])
        always(m, "what is answered is followed", ~answers | (given != which) | (followed == word))
        asked_for = Signal()
        m.d.sync += asked_for.eq(mine)
        always(m, "an answer is to what was asked", ~part.pcpi_ready | (asked_for & held[0]))
        always(m, "none but commands are answered, and the core waits for these",
               (~part.pcpi_ready | mine) & (part.pcpi_wait == mine) & (part.pcpi_wr == part.pcpi_ready))
        state, goes, may = Signal(32), Signal(), Signal()
        m.d.sync += state.eq(part.state)
        for each, said in told.items():
            with m.If(number == each):
                m.d.sync += state.eq(said)
        m.d.sync += [goes.eq(mine & ~part.pcpi_ready),
                     may.eq(past | ((level < DEPTH) & ~part.first.valid))]
        always(m, "an answer is the status before it, as soon as there is room", (part.pcpi_ready == (goes & may))
               & (~part.pcpi_ready | (part.pcpi_rd == state)))
        always(m, "an error is cleared once for each command that says so",
               part.clear == (mine & (number == command.CLEAR) & ~part.pcpi_ready))
        reachable(m, "the third command leaves after it waited", waits & leaves & is_core & (got == 2))
        reachable(m, "a word goes before one of the core that waits", enters & mine & ~past & ~part.pcpi_ready)


class Writes(Harness):
    """A master that writes one register after the other, whole or not. `stays`: a write does until it is answered."""

    def __init__(self, stays: bool = True, watchdog: bool = False, stalls: tuple[str, ...] = ()) -> None:
        self.stays, self.watchdog, self.stalls, self.bits = stays, watchdog, stalls, command.register_bits(stalls)
        widths = {"aw": self.bits, "w": 36, "b": 2, "ar": 0}
        super().__init__(inside() | {f"{channel}_{name}": (f"part.bus.{channel}_slice.{wire}", bits)
                                     for channel, width in widths.items() for name, wire, bits in (
                                         ("head_valid", "o__valid", 1), ("tail_valid", "tail_valid", 1),
                                         ("head", "o__payload", width)) if bits}
                         | {name: (f"part.bus.{name}", bits) for name, bits in (
                             ("writing", 1), ("reading", 1), ("address", self.bits), ("data", 32), ("whole", 1))}
                         | {"bvalid": ("part.bus.b_slice.i__valid", 1), "bresp": ("part.bus.b_slice.i__payload", 2)}
                         | {f"own_{name}": (f"part.{name}", 32) for name in ("rs1", "rs2")})

    def build(self, m: Module) -> None:
        m.submodules.part = part = macro(CommandQueue(DEPTH, self.watchdog, self.stalls))
        level: Any = self.level         # type: ignore[attr-defined]
        address, word, strobes = free(m, self.bits, "address"), few(m, "word"), free(m, 4, "strobes")
        begins = free(m, 1, "begins")
        addressed, given, waits = Signal(), Signal(), Signal()      # address and word were taken; an answer is due
        m.d.comb += [part.s_axil_awvalid.eq(begins & ~addressed), part.s_axil_wvalid.eq(begins & ~given),
                     part.s_axil_awaddr.eq(address), part.s_axil_wdata.eq(word), part.s_axil_wstrb.eq(strobes),
                     part.s_axil_bready.eq(free(m, 1, "takes")), part.o.ready.eq(free(m, 1, "ready")),
                     part.s_axil_rready.eq(1)]
        keeps_contract(m, "o", part.o)
        asked = Cat(begins, address, word, strobes)
        held = Signal(len(asked))
        m.d.sync += held.eq(asked)
        over = part.s_axil_bvalid & part.s_axil_bready
        if self.stays:
            assume(m, "a write stays until it is answered", ~waits | (asked == held))
        m.d.sync += [waits.eq(begins & ~over), addressed.eq((addressed | (part.s_axil_awvalid & part.s_axil_awready)) & ~over),
                     given.eq((given | (part.s_axil_wvalid & part.s_axil_wready)) & ~over)]
        whole, done = strobes.all(), over & (part.s_axil_bresp == 0)
        known = (word >> command.NUMBER_BITS) == 0
        rs1, rs2 = Signal(32), Signal(32)
        which = free(m, NUMBER, "which", constant=True)
        count, got = Signal(NUMBER), Signal(NUMBER)
        followed, was_full = Signal(WORD.size), Signal()
        is_command = (address[2:] << 2) == AT["command"]
        for name, kept in (("rs1", rs1), ("rs2", rs2)):
            with m.If(done & ((address[2:] << 2) == AT[name])):
                m.d.sync += kept.eq(word)
        with m.If(begins & is_command & (count == which)):
            m.d.sync += followed.eq(command_word(rs1, rs2, word[:command.NUMBER_BITS]))
        leaves = part.o.valid & part.o.ready
        m.d.sync += [count.eq(count + (done & is_command)), got.eq(got + leaves),
                     was_full.eq(begins & ~over & (was_full | (level == DEPTH)))]
        always(m, "a command leaves as it was written, in order",
               ~(part.o.valid & (got == which)) | (part.o.payload.as_value() == followed))
        always(m, "what was answered well is in the queue once", begins | ((got + level)[:NUMBER] == count))
        self._under_way(m, waits, addressed, given, was_full, held, {"rs1": rs1, "rs2": rs2}, followed, count, got, which)
        always(m, "a command is refused while the queue is full, and no other that is whole and has a number",
               ~(over & is_command) | (part.s_axil_bresp == 0) | was_full | ~whole | ~known)
        always(m, "none is taken for well that is not", ~(done & is_command) | (whole & known))
        reachable(m, "a command leaves", leaves)
        reachable(m, "a command is refused", over & is_command & whole & known & (part.s_axil_bresp != 0))

    def _under_way(self, m: Module, waits: Signal, addressed: Signal, given: Signal, was_full: Signal, held: Signal,
                   told: dict[str, Signal], followed: Signal, count: Signal, got: Signal, which: Signal) -> None:
        """What only induction asks: where the one write is, and which word of the queue is which command."""
        of: Any = self
        is_asked, address, word = held[0], held[3:1 + self.bits], held[1 + self.bits:][:32]
        strobes = held[-4:]
        is_command, known = address == AT["command"] >> 2, word[command.NUMBER_BITS:] == 0
        places = [of.writing, of.bvalid, of.b_head_valid]
        for name, taken, first in (("address", addressed, of.aw_head_valid), ("word", given, of.w_head_valid)):
            always(m, f"the {name} of the write is in one place", sum((first, *places), start=Const(0)) == taken)
        always(m, "there is one write", ~Cat(of.aw_tail_valid, of.w_tail_valid, of.b_tail_valid, of.reading, of.ar_head_valid,
                                             of.ar_tail_valid).any())
        always(m, "it is under way", (waits | ~(addressed | given)) & (is_asked | ~waits))
        always(m, "its address is that of the master", ~of.aw_head_valid | (of.aw_head[:self.bits] == held[1:1 + self.bits]))
        always(m, "its word is that of the master", ~of.w_head_valid | (of.w_head == Cat(word, strobes)))
        always(m, "accesses are of words", of.address[:2] == 0)
        always(m, "it is done as it was written", ~of.writing | (
            (of.address[2:] == address) & (of.data == word) & (of.whole == strobes.all())))
        answer = Mux(of.b_head_valid, of.b_head, of.bresp)
        answered, well = of.bvalid | of.b_head_valid, (of.bvalid | of.b_head_valid) & (answer == 0)
        always(m, "a good answer is of a whole write", ~well | (strobes.all() & (known | ~is_command)))
        always(m, "a command is refused for a reason",
               ~(answered & ~well & is_command) | was_full | ~strobes.all() | ~known)
        for name, value in told.items():
            mine = address == AT[name] >> 2
            always(m, f"{name} is what was written last", getattr(of, f"own_{name}") == Mux(well & mine, word, value))
            always(m, f"a whole write of {name} is answered well", ~(answered & mine & strobes.all()) | well)
        always(m, "a command that is under way is followed", ~(waits & is_command & (count == which))
               | (followed == command_word(told["rs1"], told["rs2"], word[:command.NUMBER_BITS])))
        seen: Any = got
        for nth, (there, row) in enumerate(in_turn(m, self)):
            always(m, f"word {nth} is what was written", ~there | (seen[:NUMBER] != which) | (row.as_value() == followed))
            seen = seen + there
        always(m, "commands are in the queue once", seen[:NUMBER] == (count + (well & is_command))[:NUMBER])


@pytest.mark.parametrize("watchdog,stalls", [(False, ()), (True, (*command.LANE_STALLS,))], ids=["plain", "with all registers"])
def test_commands_of_a_core_reach_the_queue_once(watchdog: bool, stalls: "tuple[str, ...]", tmp_path: Path) -> None:
    assert prove(Instructions(True, watchdog, stalls), tmp_path) == Verdict(True)


def test_commands_of_a_core_follow_each_other_within_the_bound(tmp_path: Path) -> None:
    assert cover(Instructions(), tmp_path, 10)


@pytest.mark.parametrize("watchdog,stalls", [(False, ()), (True, (*command.LANE_STALLS,))], ids=["plain", "with all registers"])
def test_writes_of_commands_reach_the_queue_once_or_are_refused(watchdog: bool, stalls: "tuple[str, ...]",
                                                                tmp_path: Path) -> None:
    assert prove(Writes(True, watchdog, stalls), tmp_path) == Verdict(True)


def test_writes_are_done_and_refused_within_the_bound(tmp_path: Path) -> None:
    assert cover(Writes(), tmp_path, 16)


def test_an_instruction_that_changes_before_it_is_answered_is_found(tmp_path: Path) -> None:
    claim = "a command leaves as it was given, in order"
    assert prove(Instructions(holds=False), tmp_path, bound=6, only=claim).failed == (claim,)


def test_a_write_that_changes_before_it_is_answered_is_found(tmp_path: Path) -> None:
    claim = "a command leaves as it was written, in order"
    assert prove(Writes(stays=False), tmp_path, bound=8, only=claim).failed == (claim,)
