"""A product of sparse matrices by outer products, from memory to memory."""

from __future__ import annotations

import itertools
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...arch import outer_product
from ...arch.outer_product import OuterProduct
from ...dma.dma import DmaEngine, bus
from ...emit import Macro, macro
from ...memory.sram import Sram
from ...stream.lead import lead
from .frame import OuterFrame, fill_members
from .lane_waits import STREAMS, LaneWaits, wait_members
from .lane_work import PAIR_LANES, job_layout, node_members
from .ledger import Ledger
from .merge import OuterMerge
from .multiply import OuterMultiply
from .port_share import PortShare

# The phases of a run.
BEGIN, MULTIPLY, MERGE, TABLE, ENDED = range(5)


class OuterProductArray(wiring.Component):
    """Multiplies as a job says (`arch.outer_product`), once after reset: that at address 0 of memory, or one that commands say.

    Behaviour: of a kind that only multiplies the table has the first nodes of lists; one that only merges begins with such a
    table.

    Parameters
    ----------
    kind : OuterProduct

    Members
    -------
    m_axi_* : memory.
    status : Out(32)     0, or which of `ERRORS` a run ended with.
    trap : Out(1)        It has ended.
    job : In, begins : In(1)     With commands: the job, which stays from `begins` on, which stays, too.
    fills, base, words, filled, ram      As of `fill_members`; not while it `begins`.
    failed : Out(1)              With `filled`: an answer of the bus was an error.
    is_operand_late, ... : Out   As of `wait_members`.

    Timing: that of its parts; all lanes at once. Nothing is merged before all is multiplied.
    Source: OuterSPACE IV; Stellar VI-C, with 1 to 16 requests under way.
    """

    def __init__(self, kind: OuterProduct) -> None:
        self.kind, self.module_name = kind, kind.name.lower()
        own = {"job": In(job_layout(kind)), "begins": In(1), **fill_members(kind)} if kind.queue else {}
        own |= {"failed": Out(1)} if kind.ram_bytes else {}
        super().__init__({**bus(), "status": Out(32), "trap": Out(1), **own, **wait_members(kind, Out)})

    @property
    def emit_key(self) -> OuterProduct:
        return self.kind

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        kind = self.kind
        m.submodules.dma = dma = macro(DmaEngine(kind.dma))
        m.submodules.ledger = ledger = macro(Ledger(kind))
        m.submodules.frame = frame = macro(OuterFrame(kind))
        for name, member in bus().items():
            own, inner = getattr(self, name), getattr(dma, name)
            m.d.comb += inner.eq(own) if member.flow is In else own.eq(inner)
        job, known = (self.job, self.begins) if kind.queue else (frame.given, frame.known)
        if kind.queue:
            m.d.comb += frame.job.eq(job)
        if kind.queue and kind.phases == outer_product.MERGE:
            m.d.comb += frame.begins.eq(self.begins)
            known = frame.known
        if kind.ram_bytes:
            m.d.comb += [frame.fills.eq(self.fills), frame.base.eq(self.base), frame.words.eq(self.words),
                         self.filled.eq(frame.filled)]
            lead(m, frame.ram, self.ram)
        phase = Signal(range(ENDED + 1))
        phases = {MULTIPLY: OuterMultiply, MERGE: OuterMerge}
        if kind.phases != outer_product.BOTH:
            del phases[MULTIPLY if kind.phases == outer_product.MERGE else MERGE]
        works = {at: [macro(work(kind)) for _ in range(kind.lanes)] for at, work in phases.items()}
        users = kind.lanes // kind.ports
        shares = [macro(PortShare(users)) for _ in range(kind.ports)]
        failed = []
        for port, share in enumerate(shares):
            m.submodules[f"share{port}"] = share
            for name in ("request", "store"):
                lead(m, getattr(share, name), getattr(dma, f"{name}{port}"))
            lead(m, getattr(dma, f"load{port}"), share.load)
            ended = getattr(dma, f"ended{port}")
            m.d.comb += share.ended.eq(ended)
            failed.append(ended & getattr(dma, f"failed{port}"))
        for lane in range(kind.lanes):
            self._lane(m, lane, phase, ledger, frame, job, {at: works[at][lane] for at in works}, shares[lane % kind.ports],
                       lane // kind.ports)
        if kind.counters:
            self._count(m, phase, ledger, shares, works)
        if kind.ram_bytes:
            m.d.comb += self.failed.eq(Cat(failed).any())
        error = Signal(range(len(outer_product.ERRORS)))
        refused: Any = 0
        for each in itertools.chain(*works.values()):
            refused = refused | each.error
        found = Mux(Cat(failed).any(), outer_product.BUS, Mux(ledger.full, outer_product.MEMORY, refused))
        # Two lanes may meet an error in the same cycle, in one phase of one kind, which is then that.
        m.d.comb += [self.status.eq(error), self.trap.eq((phase == ENDED) | (error != 0)),
                     frame.goes.eq(phase == TABLE), ledger.free.eq(job.free), ledger.limit.eq(job.end)]
        with m.If(error == 0):
            m.d.sync += error.eq(found)
        with m.Switch(phase):
            with m.Case(BEGIN):
                m.d.comb += ledger.starts.eq(1)
                with m.If(known & ledger.ready):
                    m.d.sync += phase.eq(min(works))
                with m.If(known & (job.height > kind.rows)):
                    m.d.sync += error.eq(outer_product.ASTRAY)
            for at, lanes in works.items():
                with m.Case(at):
                    with m.If(Cat(each.idle for each in lanes).all()):
                        m.d.comb += ledger.again.eq(1)
                        m.d.sync += phase.eq(at + 1 if at + 1 in works else TABLE)
            with m.Case(TABLE):
                with m.If(frame.idle):
                    m.d.sync += phase.eq(ENDED)
        return m

    def _count(self, m: Module, phase: Signal, ledger: Macro, shares: list[Macro], works: dict[int, list[Macro]]) -> None:
        """What lanes wait for, which is seen at what they share."""
        m.submodules.waits = waits = macro(LaneWaits(self.kind))
        for lane in range(self.kind.lanes):
            share, user = shares[lane % self.kind.ports], lane // self.kind.ports
            ended, question = getattr(share, f"ended{user}"), getattr(ledger, f"i{lane}")
            streams = {name: getattr(share, f"{name}{user}") for name in STREAMS if name != "ask"} | {"ask": question}
            for name, each in streams.items():
                m.d.comb += [getattr(waits, f"{name}_valid")[lane].eq(each.valid),
                             getattr(waits, f"{name}_ready")[lane].eq(each.ready)]
            m.d.comb += [waits.stores[lane].eq(streams["request"].payload.stores), waits.ended[lane].eq(ended),
                         waits.answered[lane].eq(ledger.answered[lane])]
            m.d.comb += waits.done[lane].eq(Cat((phase == at) & lanes[lane].idle for at, lanes in works.items()).any())
            if MERGE in works:
                m.d.comb += waits.run_late[lane].eq(works[MERGE][lane].run_late)
        m.d.comb += [getattr(self, name).eq(getattr(waits, name)) for name in wait_members(self.kind, Out)]

    def _lane(self, m: Module, lane: int, phase: Signal, ledger: Macro, frame: Macro, job: Any, works: dict[int, Macro],
              share: Macro, user: int) -> None:
        """What a lane does with its memory, its share of a port and the ledger."""
        m.submodules[f"memory{lane}"] = sram = macro(Sram(self.kind.pairs, PAIR_LANES))
        question = getattr(ledger, f"i{lane}")
        request, load, store = (getattr(share, f"{name}{user}") for name in ("request", "load", "store"))
        for at, work in works.items():
            m.submodules[f"{'multiply' if at == MULTIPLY else 'merge'}{lane}"] = work
            m.d.comb += [work.job.eq(job), work.memory.word.eq(sram.word), work.goes.eq(phase == at)]
            if "lane" in work.signature.members:
                m.d.comb += work.lane.eq(lane)
        users = works if lane else {**works, BEGIN: frame, TABLE: frame}
        for at, work in users.items():
            with m.If(phase == at):
                lead(m, work.request, request)
                lead(m, work.store, store)
                lead(m, work.ask, question)
                m.d.comb += [work.load.valid.eq(load.valid), load.ready.eq(work.load.ready),
                             work.ended.eq(getattr(share, f"ended{user}")), work.answered.eq(ledger.answered[lane])]
                if at in works:
                    m.d.comb += [getattr(sram, name).eq(getattr(work.memory, name))
                                 for name in ("enable", "address", "write", "data")]
        for work in [*works.values(), *([] if lane else [frame])]:
            m.d.comb += [work.load.payload.eq(load.payload), work.answer.eq(ledger.answer)]
            m.d.comb += [getattr(work, name).eq(getattr(ledger, name)) for name in node_members(self.kind, In)
                         if name in work.signature.members]
