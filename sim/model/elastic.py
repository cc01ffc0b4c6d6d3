"""Elastic arrays step by step: what every PE, merger and spread takes and gives in each step, with the FIFOs between them.

A step is a cycle. FIFOs take a word in a step if they had room at its beginning, and show it in the next one, as those of the
hardware do.

Cost: 3 us for each unit and step.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from ...hw.arch.elastic import FIBER, INTERSECT, UNION, WORD, Balance, Elastic, Kind, Link, Spread, Worker
from ...hw.arch.logic import OPERATIONS, Apply, Constant, Feed, Logic, wrapped
from ...hw.arch.reduction import begins
from ...hw.arch.token import is_control, stop
from .balance import Balanced
from .banks.around import Around
from .queue import Pair, Queue, turn


@dataclass(frozen=True)
class Simulated:
    """The pairs of every output port, and how many steps that took."""

    outputs: dict[str, list[tuple[int, int]]]
    steps: int


def simulate(elastic: Elastic, inputs: Mapping[str, Sequence[tuple[int, int]]],
             held: Callable[[Callable[[str], Queue], Mapping[str, Queue]], Around] | None = None,
             operations: int | None = None) -> Simulated:
    """Run all operations of some streams; AssertionError for pairs that are left, as by fibers that are not aligned.

    held: makes the buffers that feed all other ports, from what leads to the FIFO of each, and those of results.
    operations: so many give results that count, if buffers have tensors for more.
    """
    queues = {link: Queue(link.depth) for link in elastic.links}
    entries = {link.source[1]: queues[link] for link in elastic.links if not link.source[0]}
    leaving = {link.sink[1]: queues[link] for link in elastic.links if not link.sink[0]}
    around = held(entries.__getitem__, leaving) if held else None
    sources = {name: deque(Pair(*pair) for pair in pairs) for name, pairs in inputs.items()}
    fed = [(words, around.entries.get(name, entries[name]) if around else entries[name]) for name, words in sources.items()]
    if around is not None:
        for name, words in sources.items():
            if name in around.entries:
                around.entries[name].shows = partial(_first, words)
    sinks = [*leaving.items()]
    units = [_unit(unit.name, unit.kind, queues) for unit in elastic.units]
    balances = [unit for unit in units if isinstance(unit, Balanced)]
    outputs: dict[str, list[tuple[int, int]]] = {name: [] for name, _ in sinks}
    stored = around.stored if around else ()
    beyond = around is not None and not around.is_whole
    ends = _Ends(elastic, operations if beyond else None)
    step = last = stands = 0
    moves = True
    while moves and not (beyond and around is not None and around.is_over and ends.all(stored)):
        if around is not None:
            around.begin()
        for words, entry in fed:
            if words and entry.offer(words[0]):
                words.popleft()
        if around is not None:
            around.step()
            around.end()
        for unit in units:
            unit.step()
        for name, queue in sinks:
            if queue.head is not None and (queue.takes or name not in stored):
                queue.takes = True
                if ends.counts(name, queue.head):
                    outputs[name].append(queue.head[:2])
                    last = last if name in stored else step
        moves = turn(queues.values()) or any(each.chose for each in balances)
        if around is not None and (beyond or not around.is_over):
            stands = 0 if moves else stands + 1
            moves = stands < around.patience
        step += 1
    left = [link.sink for link, queue in queues.items() if queue.pairs]
    # No PE waits for one that waits for it: what it compares others have, or can have (`ElasticPe`).
    assert beyond or (not left and not any(sources.values())), f"pairs are left at {left}"
    assert around is None or (around.is_over and ends.all(stored)), "banks give all that they hold"
    return Simulated(outputs, 1 + (max(last, around.last) if around else last))


def _first(words: Sequence[Pair]) -> Pair | None:
    return words[0] if words else None


class _Ends:
    """The operations that each port has given the words of. wanted: those that count; None: all."""

    def __init__(self, elastic: Elastic, wanted: int | None) -> None:
        self._fibers = {port.name for port in elastic.outputs if port.form == FIBER}
        self._wanted, self._done = wanted, {port.name: 0 for port in elastic.outputs}

    def all(self, stored: Collection[str]) -> bool:
        """Whether all that count have left the ports, but for those of buffers."""
        return self._wanted is None or all(done >= self._wanted for name, done in self._done.items() if name not in stored)

    def counts(self, name: str, pair: Pair) -> bool:
        """Whether a pair that leaves is of an operation that counts."""
        found = self._wanted is None or self._done[name] < self._wanted
        self._done[name] += name not in self._fibers or is_control(pair.crd)
        return found


def _unit(name: str, kind: Kind, queues: Mapping[Link, Queue]) -> _Pe | _Spread | Balanced:
    ins = {link.sink[1]: queue for link, queue in queues.items() if link.sink[0] == name}
    outs = {link.source[1]: queue for link, queue in queues.items() if link.source[0] == name}
    if isinstance(kind, Worker):
        return _Pe(kind, ins, outs)
    if isinstance(kind, Balance):
        return Balanced(kind, ins, outs, Pair)
    assert isinstance(kind, Spread), "units are of one of three kinds"
    return _Spread(kind, ins, outs)


class _Pe:
    def __init__(self, worker: Worker, ins: Mapping[str, Queue], outs: Mapping[str, Queue]) -> None:
        self._worker, self._ins, self._out = worker, ins, outs["o"]
        self._words = [each.name for each in worker.operands if each.form == WORD]
        self._fibers = [each.name for each in worker.operands if each.form == FIBER]
        self._on = {each.name: [outs[f"{each.name}_o{nth}"] for nth in range(each.forwards)] for each in worker.operands}
        # Of fibers that are joined others have each pair as soon as it is there (`ElasticPe`).
        self._ahead = [(name, queue) for name in worker.carriers if worker.is_joined for queue in self._on[name]]
        self._sent: set[Queue] = set()
        self._gone: set[Queue] = set()
        self._first = self._total = begins(worker.reduction)
        self._told = False

    def step(self) -> None:
        heads = {name: self._ins[name].head for name in self._ins}
        unsent = [(name, queue) for name in self._words for queue in self._on[name] if queue not in self._sent]
        for name, queue in unsent:
            if heads[name] is not None and queue.room:
                queue.given = heads[name]
                self._sent.add(queue)
        self._give([(queue, head) for name, queue in self._ahead for head in (heads[name],) if head is not None])
        taken, matched, ends = self._join(heads)
        if taken is None or any(heads[name] is None for name in self._words) or (ends and unsent):
            return
        worker, known = self._worker, {name: head for name, head in heads.items() if head is not None}
        present = not (worker.quiet and any(is_control(known[name].crd) for name in self._words))
        offers = [(queue, known[name]) for name in taken for queue in self._on[name]]
        values = {name: known[name].value if name in taken or name in self._words else 0 for name in known}
        value = wrapped(_logic(worker.value, values), worker.bits) if matched else 0
        if ends if worker.sums else ends or matched if present else not self._told:
            row = known[worker.row].crd if worker.row else 0
            crd = min(known[name].crd for name in worker.carriers if name in taken) if present and not ends else stop(0)
            offers.append((self._out, Pair(0, self._total) if worker.sums else Pair(crd, value, row)))
        self._give(offers)
        if all(queue in self._gone for queue, _ in offers):
            self._gone.difference_update(queue for queue, _ in offers)
            self._total = self._first if ends else self._total if not matched else wrapped(
                OPERATIONS[worker.reduction].meaning(self._total, value), worker.bits)
            self._told = not ends and not present
            for name in taken:
                self._ins[name].takes = True
            if ends:
                self._sent.clear()
                for name in self._words:
                    self._ins[name].takes = True

    def _give(self, offers: Sequence[tuple[Queue, Pair]]) -> None:
        """Give to those that have room what they were not given yet."""
        for queue, pair in offers:
            if queue not in self._gone and queue.room:
                queue.given = pair
                self._gone.add(queue)

    def _join(self, heads: Mapping[str, Pair | None]) -> tuple[list[str] | None, bool, bool]:
        """The fibers that are taken, None if one is missing; whether there is a value; whether they end."""
        carriers = self._worker.carriers
        others = [name for name in self._fibers if name not in carriers]
        if any(heads[name] is None for name in carriers):
            return None, False, False
        crds = {name: head.crd for name in carriers if (head := heads[name]) is not None}
        least = min(crds.values())
        ends, alike = is_control(least), len(set(crds.values())) == 1
        first = [name for name in carriers if crds[name] == least or ends]
        matched = not ends and (alike or self._worker.join == UNION)
        if self._worker.join == INTERSECT and not matched and not ends:
            return first, False, False
        if any(heads[name] is None for name in others):
            return None, False, False
        beside = [head.crd for name in others for head in (heads[name],) if head is not None]
        assert all(is_control(crd) == ends for crd in beside), "fibers are aligned"
        return [*first, *others], matched, ends


class _Spread:
    def __init__(self, kind: Spread, ins: Mapping[str, Queue], outs: Mapping[str, Queue]) -> None:
        self._lanes = [ins[f"i{n}"] for n in range(kind.lanes)]
        self._rows = [outs[f"o{n}"] for n in range(kind.rows)]
        self._over: set[int] = set()
        # Rows that no lane has in this operation and that still get an end; None before its lanes are known.
        self._missing: set[int] | None = None

    def step(self) -> None:
        heads = [lane.head for lane in self._lanes]
        if self._missing is None:
            if None in heads:
                return
            self._missing = set(range(len(self._rows))) - {head.row for head in heads if head is not None}
        for row in sorted(self._missing):
            if self._rows[row].room:
                self._rows[row].given = Pair(stop(0), 0)
                self._missing.discard(row)
        for at, (lane, head) in enumerate(zip(self._lanes, heads)):
            if head is None or at in self._over:
                continue
            if not is_control(head.row):
                if not self._rows[head.row].room:
                    continue
                assert self._rows[head.row].given is None, "no two lanes have one row"
                self._rows[head.row].given = Pair(head.crd, head.value)
            lane.takes = True
            if is_control(head.crd):
                self._over.add(at)
        if len(self._over) == len(self._lanes) and not self._missing:
            self._over, self._missing = set(), None


def _logic(logic: Logic, values: Mapping[str, int]) -> int:
    if isinstance(logic, Constant):
        return logic.value
    if isinstance(logic, Feed):
        return values[logic.tensor]
    assert isinstance(logic, Apply), "a PE of an elastic array reads operands"
    return OPERATIONS[logic.operation].meaning(*(_logic(each, values) for each in logic.operands))
