"""An outer product, or a phase of one, from its job in memory to the end, cycle by cycle.

Values play no part: where elements are decides how long what takes, and which lane is first.

Input:   `OuterProduct` without commands; memory with the job.
Output:  cycles from the first one behind reset to the one in which it has ended, as a simulation counts them.
Cost:    6 us a word on the bus.
Source:  `hw.spatial.outer.product` and `frame`.
"""

from __future__ import annotations

from collections.abc import Mapping

from ....hw.arch.outer_product import BOTH, MERGE, MULTIPLY, OuterProduct
from .bus import Bus
from .lane import Around
from .memory import Memory
from .merge import Merge
from .multiply import Multiply
from .port import Run, always
from .shared import Ledger, Share
from .turns import Clock, Process, start


def cycles(kind: OuterProduct, content: bytes, job: Mapping[str, int], latency: int, bursts: int) -> int:
    """How many a run takes. latency, bursts: of the memory (`Bus`)."""
    assert not kind.queue, "commands take time of their own"
    clock = Clock()
    bus = Bus(clock, kind.dma, latency, bursts)
    shares = [Share(clock, bus, port) for port in range(kind.ports)]
    ledger, memory = Ledger(clock, kind, job["free"]), Memory(content)
    lanes = [Around(kind, lane, lane // kind.ports, shares[lane % kind.ports], ledger, memory, job)
             for lane in range(kind.lanes)]
    cycle = _ran(clock, [_begin(lanes[0])])
    if kind.phases in (BOTH, MULTIPLY):
        cycle = _ran(clock, [Multiply(each).process(cycle, kind.takes_columns, job["terms"]) for each in lanes]) + 1
        ledger.again()
    if kind.phases in (BOTH, MERGE):
        cycle = _ran(clock, [Merge(each).process(cycle, kind.takes_rows, job["height"]) for each in lanes]) + 1
    return _ran(clock, [_table(lanes[0], cycle)])


def _ran(clock: Clock, processes: list[Process]) -> int:
    """The cycle in which the last one ends."""
    ended = list[int]()
    for process in processes:
        start(process, ended.append)
    clock.run()
    assert len(ended) == len(processes), "no lane stands"
    return max(ended)


def _begin(around: Around) -> Process:
    """The job is read, and first nodes that stand in memory; returns the first cycle of a phase."""
    kind, job = around.kind, around.job
    ended = yield from around.share.load(0, around.user, [Run(0, len(kind.job))], always)
    known = ended + 1
    if kind.phases == MERGE:
        table = Run(job["lists"], job["height"])
        nodes = iter(enumerate(around.memory.words(table)))
        behind = 0

        def take(cycle: int) -> int:
            nonlocal behind
            cycle = max(cycle, behind)
            row, node = next(nodes)
            behind = around.ledger.begin(cycle + 1, row, node)
            return cycle
        yield from around.share.load(known, around.user, [table], take)
        known = behind
    return max(known, kind.rows) + 1


def _table(around: Around, cycle: int) -> Process:
    """First nodes are written; returns the cycle in which all has ended."""
    height = around.job["height"]
    taken, store = yield from around.share.store(cycle, around.user, [Run(around.job["table"], height)])
    cycle = taken + 1
    for row in range(height):
        cycle, _ = yield from around.ledger.read(cycle, around.number, row)
        cycle = (yield from store.give(cycle, 1)) + 1
    return (yield from store.over()) + 2
