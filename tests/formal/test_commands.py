"""Commands of a core and of a bus reach the queue once, as they were given and in order, and each is answered once.

A command of those that were given is followed, by its number. What takes commands from the queue does as it likes.
"""

from pathlib import Path
from typing import Any

from amaranth.hdl import Cat, Module, Signal
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


class Instructions(Harness):
    """A core that holds each instruction until it is answered, and words that go before its own. `holds`: it does."""

    def __init__(self, holds: bool = True) -> None:
        self.holds = holds
        super().__init__({"level": ("part.waiting.queue.queue.level", DEPTH.bit_length())})

    def build(self, m: Module) -> None:
        m.submodules.part = part = macro(Coprocessor(DEPTH))
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
        past = (number == command.READ_STATUS) | (number == command.CLEAR)
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
        always(m, "none but commands are answered, and the core waits for these",
               (~part.pcpi_ready | mine) & (part.pcpi_wait == mine) & (part.pcpi_wr == part.pcpi_ready))
        state, goes, may = Signal(32), Signal(), Signal()
        m.d.sync += [state.eq(part.state), goes.eq(mine & ~part.pcpi_ready),
                     may.eq(past | ((level < DEPTH) & ~part.first.valid))]
        always(m, "an answer is the status before it, as soon as there is room", (part.pcpi_ready == (goes & may))
               & (~part.pcpi_ready | (part.pcpi_rd == state)))
        always(m, "an error is cleared once for each command that says so",
               part.clear == (mine & (number == command.CLEAR) & ~part.pcpi_ready))
        reachable(m, "the third command leaves after it waited", waits & leaves & is_core & (got == 2))
        reachable(m, "a word goes before one of the core that waits", enters & mine & ~past & ~part.pcpi_ready)


class Writes(Harness):
    """A master that writes one register after the other, whole or not. `stays`: a write does until it is answered."""

    def __init__(self, stays: bool = True) -> None:
        self.stays = stays
        super().__init__({"level": ("part.waiting.queue.queue.level", DEPTH.bit_length())})

    def build(self, m: Module) -> None:
        m.submodules.part = part = macro(CommandQueue(DEPTH))
        level: Any = self.level         # type: ignore[attr-defined]
        address, word, strobes = free(m, command.REGISTER_BITS, "address"), few(m, "word"), free(m, 4, "strobes")
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
        always(m, "a command is refused while the queue is full, and no other that is whole and has a number",
               ~(over & is_command) | (part.s_axil_bresp == 0) | was_full | ~whole | ~known)
        always(m, "none is taken for well that is not", ~(done & is_command) | (whole & known))
        reachable(m, "a command leaves", leaves)
        reachable(m, "a command is refused", over & is_command & whole & known & (part.s_axil_bresp != 0))


def test_commands_of_a_core_reach_the_queue_once(tmp_path: Path) -> None:
    assert prove(Instructions(), tmp_path, bound=10) == Verdict(True)


def test_commands_of_a_core_follow_each_other_within_the_bound(tmp_path: Path) -> None:
    assert cover(Instructions(), tmp_path, 10)


def test_writes_of_commands_reach_the_queue_once_or_are_refused(tmp_path: Path) -> None:
    assert prove(Writes(), tmp_path, bound=16) == Verdict(True)


def test_writes_are_done_and_refused_within_the_bound(tmp_path: Path) -> None:
    assert cover(Writes(), tmp_path, 16)


def test_an_instruction_that_changes_before_it_is_answered_is_found(tmp_path: Path) -> None:
    claim = "a command leaves as it was given, in order"
    assert prove(Instructions(holds=False), tmp_path, bound=6, only=claim).failed == (claim,)


def test_a_write_that_changes_before_it_is_answered_is_found(tmp_path: Path) -> None:
    claim = "a command leaves as it was written, in order"
    assert prove(Writes(stays=False), tmp_path, bound=8, only=claim).failed == (claim,)
