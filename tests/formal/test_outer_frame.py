"""What an outer product reads before its phases and writes behind them is its job, its lists and its table, each word once.

Around it are a port that does as `Port` promises, and a ledger that answers a question in the cycle behind the one in which it
is taken (`Ledger`), with any words. What they do is counted beside it.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from chains import keeps_contract
from prover import Harness, Side, Verdict, always, assume, cover, free, prove, reachable

from sardonyx.hw.arch.dma import ADDRESS_BITS, ELEMENT_BITS
from sardonyx.hw.arch.outer_product import MERGE, WORD_BYTES, OuterProduct
from sardonyx.hw.emit import macro
from sardonyx.hw.spatial.outer.frame import OuterFrame
from sardonyx.hw.spatial.outer.lane_work import EXCHANGE, READ

JOB = OuterProduct("job", lanes=2, ports=1, rows=16, pairs=16)
KINDS = {"job": JOB, "lists": replace(JOB, name="lists", phases=MERGE),
         "commands": replace(JOB, name="commands", queue=16, ram_bytes=4096),
         "commands and lists": replace(JOB, name="both", queue=16, ram_bytes=4096, phases=MERGE)}
# The states in the order in which they are spoken of.
READS, WRITES = ("ASK", "JOB"), ("READ", "WRITE", "STORED", "DONE")
STATES = {"job": (*READS, "KNOWN", *WRITES), "lists": (*READS, "ASK LISTS", "KNOWN", "LIST", "FIRST", *WRITES),
          "commands": ("KNOWN", "READ", "FILL", "WRITE", "STORED", "DONE"),
          "commands and lists": ("ASK LISTS", "KNOWN", "LIST", "FIRST", "READ", "FILL", "WRITE", "STORED", "DONE")}


class Framed(Harness):
    """A frame of a job with rows, between its port, the ledger and what says whose turn it is."""

    def __init__(self, name: str, made: "type[OuterFrame]" = OuterFrame) -> None:
        self.kind, self.states, self.made = KINDS[name], STATES[name], made
        super().__init__({"state": ("frame.fsm_state", (len(self.states) - 1).bit_length()), "asked": ("frame.asked", 1),
                          "row": ("frame.row", ADDRESS_BITS), "node": ("frame.node", ELEMENT_BITS)})

    def build(self, m: Module) -> None:
        kind = self.kind
        m.submodules.frame = self.frame = part = macro(self.made(kind))
        self.merges, self.fills = kind.phases == MERGE, bool(kind.ram_bytes)
        # Of the request that is under way, and of all before it.
        self.busy, self.stores, self.left = Signal(), Signal(), Signal(ADDRESS_BITS)
        self.loaded, self.listed, self.written = Signal(range(len(kind.job) + 1)), Signal(ADDRESS_BITS), Signal(ADDRESS_BITS)
        self.tabled, self.filling = Signal(), Signal()
        self.job = job = self._job(m, part)
        self.is_job = self.loaded == len(kind.job) if not kind.queue else part.begins if self.merges else Const(1)
        self.known = part.known if hasattr(part, "known") else Const(1)
        assume(m, "there are rows", ~self.is_job | (job.height != 0))
        self._turns(m, part)
        taken = part.load.valid & part.load.ready
        gave = part.store.valid & part.store.ready
        last = taken & (self.left == 1)
        m.d.comb += [part.load.valid.eq(free(m, 1, "comes") & self.busy & ~self.stores),
                     part.load.payload.eq(free(m, ELEMENT_BITS, "loaded")),
                     part.store.ready.eq(free(m, 1, "store_ready") & self.busy & self.stores),
                     part.request.ready.eq(free(m, 1, "request_ready") & ~self.busy),
                     part.ended.eq(Mux(self.stores, free(m, 1, "ends") & self.busy & (self.left == 0), last))]
        keeps_contract(m, "load", part.load, assume)
        self.pending, self.read, self.word = Signal(), Signal(ADDRESS_BITS), Signal(ELEMENT_BITS)
        m.d.comb += [part.ask.ready.eq(free(m, 1, "ask_ready")), part.answered.eq(self.pending),
                     part.answer.eq(free(m, ADDRESS_BITS, "answer"))]
        m.d.sync += self.pending.eq(part.ask.valid & part.ask.ready)
        with m.If(part.request.valid & part.request.ready):
            m.d.sync += [self.busy.eq(1), self.stores.eq(part.request.payload.stores),
                         self.left.eq(part.request.payload.loops[0].span)]
            m.d.sync += [self.tabled.eq(part.request.payload.stores), self.filling.eq(self._fills(part))]
        with m.If(taken | gave):
            m.d.sync += self.left.eq(self.left - 1)
        with m.If(part.ended):
            m.d.sync += [self.busy.eq(0), self.filling.eq(0)]
        with m.If(taken):
            m.d.sync += self.word.eq(part.load.payload)
            if not kind.queue:
                with m.If(self.loaded != len(kind.job)):
                    m.d.sync += self.loaded.eq(self.loaded + 1)
        with m.If(part.answered):
            m.d.sync += [self.read.eq(part.answer), self.listed.eq(self.listed + ~self.known)]
        with m.If(gave):
            m.d.sync += self.written.eq(self.written + 1)
        self._promises(m, part, taken)
        self._inside(m, part)

    def _job(self, m: Module, part: Any) -> Any:
        """The job: any that stays, or what was loaded first."""
        if self.kind.queue:
            m.d.comb += part.job.as_value().eq(free(m, len(part.job.as_value()), "job", constant=True))
            return part.job
        which = free(m, range(len(self.kind.job)), "which", constant=True)
        kept = Signal(ELEMENT_BITS)
        with m.If(part.load.valid & part.load.ready & (self.loaded == which)):
            m.d.sync += kept.eq(part.load.payload)
        # Words come from the last place on.
        place = (which + len(self.kind.job) - self.loaded)[:len(which)]
        words = Array(getattr(part.given, name) for name in self.kind.job)
        always(m, "the job is what was loaded, in order", (which >= self.loaded) | (words[place] == kept))
        return part.given

    def _turns(self, m: Module, part: Any) -> None:
        """Whose turn it is, as of an array and its requests."""
        goes, before = free(m, 1, "goes"), Signal()
        m.d.comb += part.goes.eq(goes)
        m.d.sync += before.eq(goes & ~part.idle)
        assume(m, "its turn lasts until all is done", ~before | goes)
        assume(m, "its turn comes behind those of what is known", ~goes | (self.known & self.is_job))
        assume(m, "there is a first node for each row", ~goes | (self.job.height <= self.kind.rows))
        if self.kind.queue and self.merges:
            begun = Signal()
            m.d.comb += part.begins.eq(free(m, 1, "begins"))
            m.d.sync += begun.eq(part.begins)
            assume(m, "the job stays", ~begun | part.begins)
        if self.fills:
            m.d.comb += [getattr(part, name).eq(free(m, len(getattr(part, name)), name)) for name in ("fills", "base", "words")]
            said, waits = Cat(part.base, part.words), Signal()
            stays = Signal.like(said)
            m.d.sync += [waits.eq(part.fills & ~part.filled), stays.eq(said)]
            assume(m, "a request for a core's memory stays until it ends", ~waits | (part.fills & (said == stays)))
            assume(m, "it is for words, while there is nothing else to do",
                   ~part.fills | ((part.words != 0) & ~goes & ~(part.begins & ~part.known if self.merges else 0)))

    def _fills(self, part: Any) -> Value:
        """Whether words are asked for that go to the memory of a core."""
        fills: Value = part.fills if self.fills else Const(0)
        return fills

    def _promises(self, m: Module, part: Any, taken: Value) -> None:
        job, request, kind = self.job, part.request.payload, self.kind
        loops = request.loops
        base, count, stores = Signal(ADDRESS_BITS), Signal(ADDRESS_BITS), Signal()
        if self.fills:
            with m.If(part.fills):
                m.d.comb += [base.eq(part.base), count.eq(part.words)]
        with m.If(part.goes):
            m.d.comb += [base.eq(job.table), count.eq(job.height), stores.eq(1)]
        if self.merges:
            with m.Elif(self.is_job & ~self.known):
                m.d.comb += [base.eq(job.lists), count.eq(job.height)]
        if not kind.queue:
            with m.If(self.loaded == 0):
                m.d.comb += [base.eq(0), count.eq(len(kind.job))]
        always(m, "the job, lists, the table and a core's memory are asked for, and nothing else", ~part.request.valid | (
            (request.base == base) & (count != 0) & (request.stores == stores) & ~request.linked))
        always(m, "words lie one behind the other", ~part.request.valid | (
            (loops[0].span == count[:len(loops[0].span)]) & (loops[0].there == loops[0].span) & (loops[1].span == 1)
            & (loops[1].there == 1) & (loops[0].stride == WORD_BYTES) & (request.size == 2)))
        always(m, "one thing is asked for at a time", ~part.request.valid | (~self.busy & ~part.store.valid))
        always(m, "each is asked for once", ~part.request.valid | ~self.tabled)
        for name in ("request", "store", "ask"):
            port = getattr(part, name)
            waits = keeps_contract(m, name, port)
            if name != "ask" or self.merges:
                reachable(m, f"{name} is taken after it waited", waits & port.valid & port.ready)
        question = part.ask.payload
        always(m, "there is no question before the last one was answered", ~(part.ask.valid & self.pending))
        always(m, "the table has what the ledger says of its row", ~part.store.valid | (
            (self.left == job.height - self.written) & (part.store.payload == self.read)))
        row = Mux(self.known, self.written, self.listed)
        asks = part.ask.valid
        always(m, "the ledger is asked of one row after the other", ~asks | (question.row == row[:len(question.row)]))
        always(m, "it is given first nodes while lists come, and asked for them then",
               ~asks | (question.kind == Mux(self.known, READ, EXCHANGE)))
        always(m, "a first node is the word that came for its row",
               ~asks | self.known | ((question.value == self.word) & (self.left == job.height - self.listed - 1)))
        if not kind.queue and not self.merges:
            always(m, "it is known when all has come", self.known == (self.loaded == len(kind.job)))
        if self.merges:
            always(m, "it is known when every row has its node, or is refused",
                   ~self.known | (self.listed == job.height) | ((job.height > kind.rows) & (self.listed == 0)))
        always(m, "all is written when it is done", ~part.idle | ((self.written == job.height) & ~self.busy & self.tabled))
        always(m, "it goes on until it is done", ~part.goes | part.idle | part.request.valid | part.store.valid | asks
               | self.pending | (self.busy & self.stores & (self.left == 0)))
        if self.fills:
            m.d.comb += part.ram.ready.eq(free(m, 1, "ram_ready"))
            keeps_contract(m, "ram", part.ram)
            always(m, "the words of a core's memory go there, and no others",
                   (part.ram.valid == (part.load.valid & self.filling))
                   & (~part.ram.valid | ((part.ram.payload == part.load.payload) & (part.load.ready == part.ram.ready))))
            always(m, "it is filled when its last word was taken", part.filled == (self.filling & taken & (self.left == 1)))
            reachable(m, "a core's memory is filled", part.filled & (part.words == 2))
        reachable(m, "all is done", part.idle & (job.height == 2))

    def _inside(self, m: Module, part: Any) -> None:
        """What induction asks: which state it is in."""
        probe: Any = self
        job, loads = self.job, self.busy & ~self.stores
        at = {name: probe.state == n for n, name in enumerate(self.states)}
        behind = job.height - probe.row
        # With commands it is there before there is a job.
        idles: Value = self.listed == 0 if self.kind.queue else Const(0)
        known = self.is_job & self.known
        early = ~self.known if self.merges else Const(1)
        holds = {
            "ASK": ~self.busy & (self.loaded == 0) & early,
            "JOB": loads & early & (self.loaded < len(self.kind.job)) & (self.left == len(self.kind.job) - self.loaded),
            "ASK LISTS": self.is_job & ~self.busy & ~self.known & (self.listed == 0) & (probe.row == 0),
            "LIST": self.is_job & loads & ~self.known & (self.left == behind) & (self.listed == probe.row),
            "FIRST": self.is_job & ~self.stores & ~self.known & (self.busy == (self.left != 0)) & (self.left == behind - 1)
            & (self.listed == probe.row) & (probe.node == self.word),
            "KNOWN": ~self.busy & (probe.row == 0) & (self.known | idles),
            "FILL": loads & self.filling & self._fills(part) & (self.left != 0) & (probe.row == 0)
            & (self.known | idles),
            "READ": known & self.busy & self.stores & (self.left == behind), "WRITE": known & self.busy & self.stores
            & (self.left == behind) & (probe.node == self.read),
            "STORED": known & self.busy & self.stores & (self.left == 0), "DONE": known & ~self.busy & (self.left == 0)}
        always(m, "it is in a state that there is", Cat(at.values()).any())
        for name in self.states:
            always(m, f"it is so in {name}", ~at[name] | holds[name])
        writes = Cat(at[name] for name in WRITES).any()
        always(m, "it writes its table behind all else", (self.tabled == writes) & (writes | (self.written == 0)))
        over = at["STORED"] | at["DONE"]
        always(m, "rows are counted", ~writes | ((self.written == probe.row) & (over == (behind == 0))))
        always(m, "it is its turn until all is written", ~writes | at["DONE"] | part.goes)
        always(m, "rows that come are those of lists", self.known | (behind != 0) | ~self.is_job)
        always(m, "what was asked is not answered yet", probe.asked == self.pending)
        asking = at["READ"] | (at["FIRST"] if self.merges else 0)
        always(m, "questions are asked in their states", asking | ~self.pending)
        if not self.kind.queue:
            always(m, "there is no job before it has come", (at["ASK"] | at["JOB"]) == ~self.is_job)
            always(m, "no row was before the job", self.is_job | ((self.listed == 0) & (probe.row == 0)))
        if self.fills:
            always(m, "a core's memory is filled in its state", self.filling == at["FILL"])


@pytest.mark.parametrize("name", [name if name == "commands and lists" else pytest.param(name, marks=pytest.mark.slow)
                                  for name in KINDS])
def test_a_frame_reads_its_job_and_writes_its_table(name: str, tmp_path: Path) -> None:
    assert prove(Framed(name), tmp_path) == Verdict(True)


@pytest.mark.slow
def test_frames_can_wait_and_end(tmp_path: Path) -> None:
    assert cover(Side({name: Framed(name) for name in KINDS}), tmp_path, 34)


class Late(OuterFrame):
    """The table has what the ledger says while a word waits."""

    def elaborate(self, platform: Any) -> Module:
        m = super().elaborate(platform)
        m.d.comb += self.store.payload.eq(self.answer)
        return m


class Open(OuterFrame):
    """The memory of a core gets every word that comes."""

    def elaborate(self, platform: Any) -> Module:
        m = super().elaborate(platform)
        m.d.comb += self.ram.valid.eq(self.load.valid)
        return m


class Early(OuterFrame):
    """All is done when the last word of the table was taken."""

    def elaborate(self, platform: Any) -> Module:
        m = super().elaborate(platform)
        with m.If(self.goes & ~self.request.valid & ~self.store.valid & ~self.ask.valid & ~self.answered):
            m.d.comb += self.idle.eq(1)
        return m


class Known(OuterFrame):
    """Lists are known before the last row has its node."""

    def elaborate(self, platform: Any) -> Module:
        m = super().elaborate(platform)
        with m.If(self.answered):
            m.d.sync += self.known.eq(1)
        return m


@pytest.mark.slow
@pytest.mark.parametrize("broken,claim", [
    (Late, "the table has what the ledger says of its row"), (Early, "all is written when it is done"),
    (Open, "the words of a core's memory go there, and no others"),
    (Known, "it is known when every row has its node, or is refused")])
def test_frames_that_do_otherwise_are_found(broken: "type[OuterFrame]", claim: str, tmp_path: Path) -> None:
    assert prove(Framed("commands and lists", broken), tmp_path, bound=20, only=claim).failed == (claim,)
