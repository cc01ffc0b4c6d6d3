"""Which transactions are computed in one launch, and where in the banks of the global buffer its words are.

Needs:   transactions as `Work`, in order, the transfers of their program, the loops of the DMAs.
Gives:   `Batch`es, as transactions come, and which of them are in one run.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, repeat
from typing import TypeVar

from ..compiler.ir.program import STATIC, Program
from ..compiler.ir.transfer import PLACES
from ..hw.arch.glb import Glb
from ..hw.arch.soc import MOVED_WINDOW
from .data.load_loops import Reads
from .data.result import Part, beside, landed
from .data.stack import Stack, stacked
from .data.tile import Source
from .data.window import Window, boxed, in_step
from .place import Place, lone

One = TypeVar("One")

# Without any movement for so long a run is stuck: the longest wait of a correct program is that for a level to be
# filled by the load DMA of a busy GLB tile, far below it.
WATCHDOG_CYCLES = 20_000
# No launch is allowed more cycles, whatever was estimated: hours of simulation.
LAUNCH_LIMIT = 50_000 * MOVED_WINDOW
# Nor a run of several more than a register counts.
RUN_LIMIT = 1 << 32
# Launches in one run take `PLACES` in turn: one computes, one is queued, and words of a third one come or are asked for.
# The processor takes so many cycles to bring, queue, await and take one (docs/soc.md).
LEAST_CYCLES = 1000
# Of a sparse program launches have so many words of their longest stream: the first ones, and the others; and the last two
# such shares, of which the smaller one has no fewer than so many. The first two come while the machine is configured, and the
# processor takes as long to queue the third one as the first one computes: with 256, 512 and 1,024 words that of the demo
# waited for 356 cycles of 9,744. In launches of 1,536 words it took 1 % less, and `west2021`, of which some took less than the
# processor, 3 % more.
FIRST_WORDS, WORDS = (512, 1024), 2304
# The same of a machine whose processor has a clock of its own, of half the rate where nobody says another one: it takes as many
# of its cycles for a launch. With processor and machine at 500 and 970 MHz `west2021` takes 71,068 cycles of the machine in
# launches as above, 53,369 in those of twice as many words, and 52,397 in these. The first words come while the machine is
# configured: with 1,024 of them the second launch, of twice as many, waited for its words, and the product of the demo took
# 11,780 instead of 10,870.
OWN_CLOCK_FIRST_WORDS, OWN_CLOCK_WORDS = (1600, 2048, 3072, 5120), 8192
LAST_SHARES, LAST_WORDS = (3, 2), 256


@dataclass(frozen=True)
class Work:
    """A transaction: what its load streams read, the room that each stream takes, the most cycles it may take, and of which
    parts of images its store streams are."""

    reads: Mapping[str, Source]
    room: Mapping[str, int]
    most: int
    parts: Mapping[str, Part]


@dataclass(frozen=True)
class Batch:
    """What a launch computes, and where: the whole banks (None), or one of so many parts of them."""

    works: tuple[Work, ...]
    part: int | None
    parts: int = 2


def batches(program: Program, glb: Glb, works: Iterator[Work], stays: Mapping[str, int]) -> Iterator[Batch]:
    """As many transactions at once as have room: all in whole banks, or as many as fit in the halves of the banks in turn.

    stays: see `Place`.
    """
    whole, halves = ({each.name: Place(glb, part, lone=lone(program, glb), stays=stays).room(each)
                      for each in program.transfers} for part in (None, 0))
    ahead: deque[Work] = deque()
    taken = _taken(program, glb, ahead, works, whole)
    longest = _in_step(taken, whole, glb.store_loops) if taken else 0
    if not ahead and longest == len(taken):
        yield from [Batch(taken, None)] * bool(taken)
        return
    # Behind a launch that ended with its row not all that has room is looked at: rows may be short, and many.
    most = 2 * longest if longest < len(taken) else None
    ahead.extendleft(reversed(taken))
    half = 0
    while ahead:
        if taken := _taken(program, glb, ahead, works, halves, most):
            count = _in_step(taken, halves, glb.store_loops)
            longest = max(longest, count)
            most = 2 * longest if count < len(taken) else None
            ahead.extendleft(reversed(taken[count:]))
            yield Batch(taken[:count], half)
            half = 1 - half
        else:
            yield Batch(_taken(program, glb, ahead, works, whole), None)


def chains(program: Program, glb: Glb) -> bool:
    """Whether launches in one run are worth it: in smaller banks the host would take longer for one than the array. Tiles of a
    dense program take a loop more, and more cycles than that where they fit."""
    if not glb.queue:
        return False
    if program.mode == STATIC:
        return glb.load_loops > 1 and all(len(each.loops) < glb.store_loops for each in program.stores)
    return all(Place(glb, 0, PLACES, lone(program, glb)).room(each) >= WORDS for each in program.transfers)


def chained_batches(program: Program, glb: Glb, works: Iterator[Work], own_clock: bool = False,
                    stays: Mapping[str, int] | None = None) -> Iterator[Batch]:
    """What launches in one run compute, in parts of the banks in turn. A transaction that takes more has whole banks, and a
    run, for itself.

    own_clock: the processor has one. stays: see `Place`.
    """
    whole, parts = ({each.name: Place(glb, part, PLACES, lone(program, glb), stays or {}).room(each)
                     for each in program.transfers} for part in (None, 0))
    ahead: deque[Work] = deque()
    number = 0
    words = chain(OWN_CLOCK_FIRST_WORDS, repeat(OWN_CLOCK_WORDS)) if own_clock else chain(FIRST_WORDS, repeat(WORDS))
    found = (_tiles(program, glb, ahead, works, parts) if program.mode == STATIC
             else _blocks(program, glb, ahead, works, parts, words))
    for each in found:
        if each:
            yield Batch(each, number, PLACES)
            number = (number + 1) % PLACES
        else:
            yield Batch(_taken(program, glb, ahead, works, whole, 1), None)


def _tiles(program: Program, glb: Glb, ahead: deque[Work], works: Iterator[Work],
           room: Mapping[str, int]) -> Iterator[tuple[Work, ...]]:
    """The tiles of launches in one run: as many as take long enough, with those of a row that would not, but one in the first
    launch and in the last one, whose words move alone; none before one that has no room."""
    count = 1       # of the first launch
    while True:
        taken = _taken(program, glb, ahead, works, room, 2 * count)
        if not taken and not ahead:
            return
        if taken:
            together = _in_step(taken, room, glb.store_loops, chained=True)
            together = count if together == 2 * count else together
            ahead.extendleft(reversed(taken[together:]))
            taken = taken[:together]
            count = -(-LEAST_CYCLES // _cycles(program, taken[0]))
        # Before the last one nothing is split off that is alone.
        for each in (taken[:-1], taken[-1:]) if taken and not ahead else (taken,):
            if each or not taken:
                yield each


def _blocks(program: Program, glb: Glb, ahead: deque[Work], works: Iterator[Work],
            room: Mapping[str, int], words: Iterator[int]) -> Iterator[tuple[Work, ...]]:
    """The transactions of launches in one run: so many words of the longest stream, of the last ones fewer; none before one
    that has no room."""
    before: tuple[Work, ...] = ()
    for most in words:
        shares = {name: min(each, most) for name, each in room.items()}
        taken = _taken(program, glb, ahead, works, shares) or _taken(program, glb, ahead, works, room, 1)
        ends = not ahead or not taken
        yield from (each for each in (_tapered(before, taken, room) if ends else (before,)) if each)
        before = () if ends else taken
        if not taken and ahead:
            yield ()
        elif ends:
            return


def _tapered(one: tuple[Work, ...], other: tuple[Work, ...], room: Mapping[str, int]) -> list[tuple[Work, ...]]:
    """Two launches, the last one made smaller, as the last words that it gives move alone; but a short one behind a long one
    gives the host no time for that. Each has this room."""
    works, all_ = one + other, sum(LAST_SHARES)
    longest = max(sum(work.room[name] for work in works) for name in room)
    cut = len(works) * LAST_SHARES[0] // all_
    parts = [works[:cut], works[cut:]]
    fit = all(sum(work.room[name] for work in part) <= words for part in parts for name, words in room.items())
    return parts if fit and all(parts) and longest * LAST_SHARES[1] >= LAST_WORDS * all_ else [one, other]


def _taken(program: Program, glb: Glb, ahead: deque[Work], works: Iterator[Work],
           room: Mapping[str, int], most: int | None = None) -> tuple[Work, ...]:
    """The first transactions, as many as have room together, `most` of them; then the next one is `ahead`, unless there is
    none."""
    taken: list[Work] = []
    used = dict.fromkeys(room, 0)
    while True:
        if not ahead:
            ahead.extend(islice(works, 1))
        if not ahead:
            break
        used = {name: words + ahead[0].room[name] for name, words in used.items()}
        full = len(taken) == most or any(used[name] > room[name] for name in room)
        if full or (taken and not _follows(program, glb, taken, ahead[0])):
            break
        taken.append(ahead.popleft())
    return tuple(taken)


def _cycles(program: Program, work: Work) -> int:
    """Those of a transaction of a static program, but for filling and draining."""
    return max([each.count for each in work.reads.values()] + [each.count for each in program.stores])


def _in_step(taken: Sequence[Work], room: Mapping[str, int], loops: int, chained: bool = False) -> int:
    """How many of the first transactions are a launch, so that they come and go as boxes: at most those of a row of tiles, or
    of a column. As many as there are where none come so. loops: those of the store DMA, of which launches in one run, as
    those of several transactions, take one."""
    def read(name: str) -> int:
        streams = [each.reads[name] for each in taken]
        return _most(_longest(streams), lambda count: joint(streams[:count], room[name]))

    def stored(name: str) -> int:
        parts = [each.parts[name] for each in taken]
        return _most(beside(parts), lambda count: landed(parts[:count], loops - (chained or count > 1), room[name]))

    most = [*map(read, taken[0].reads), *map(stored, taken[0].parts)]
    # Streams that never come so, as patterns are, have no say.
    return min((count for count in most if count), default=len(taken))


def _most(longest: int, comes: Callable[[int], object]) -> int:
    """The most of so many first ones that come as a box: where some do, fewer do, but for words that fill lines."""
    return bisect_left(range(1, longest + 1), True, key=lambda count: not comes(count))


def _longest(streams: Sequence[Source]) -> int:
    """The most streams, from the first one on, that may come as a box."""
    windows, stacks = _alike(streams)
    return in_step(windows) if windows else len(stacks)


def joint(streams: Sequence[Source], room: int) -> tuple[Reads, int] | None:
    """What reads the first of some streams out of the box of all, and words to the next; None unless it comes as it lies."""
    windows, stacks = _alike(streams)
    return boxed(windows, room) if windows else stacked(stacks, room) if stacks else None


def _alike(streams: Sequence[Source]) -> tuple[list[Window], list[Stack]]:
    """Streams, where all are windows or all are stacks."""
    windows = [each for each in streams if isinstance(each, Window)]
    stacks = [each for each in streams if isinstance(each, Stack)]
    whole = len(streams)
    return windows if len(windows) == whole else [], stacks if len(stacks) == whole else []


def _follows(program: Program, glb: Glb, taken: Sequence[Work], work: Work) -> bool:
    """Whether a transaction may be in a launch with others: those of a static program are walked by one more loop, and end well
    before the limit of a launch, also where few words are read often."""
    if program.mode != STATIC:
        return True
    first = taken[0]
    if (len(taken) + 1) * (_cycles(program, first) + WATCHDOG_CYCLES) > LAUNCH_LIMIT:
        return False
    loads = all(one.size == other.size and one.loops == other.loops and len(one.loops) < glb.load_loops
                for one, other in zip(first.reads.values(), work.reads.values(), strict=True))
    return loads and all(len(each.loops) < glb.store_loops for each in program.stores)


class Runs:
    """Which launches are in one run: those in parts of banks, until the run may take too long.

    cycles: that the run may take, up to the launch at hand.
    """

    def __init__(self, chained: bool) -> None:
        self.cycles, self._chained, self._open = 0, chained, False

    def next(self, batch: Batch, after: Batch | None, cycles: int) -> tuple[bool, bool]:
        """Go on to a launch; whether it is in the run of the one before, and the one after it in its run."""
        joins = self._open
        self.cycles = limit(cycles) + self.cycles * joins
        self._open = (self._chained and after is not None and None not in (batch.part, after.part)
                      and self.cycles <= RUN_LIMIT - LAUNCH_LIMIT)
        return joins, self._open


def pairs(every: Iterable[One]) -> Iterator[tuple[One, One | None]]:
    """Every one with the next one."""
    before: One | None = None
    for one in every:
        if before is not None:
            yield before, one
        before = one
    if before is not None:
        yield before, None


def limit(most: int) -> int:
    """The limit of cycles of work that takes at most so many, beside filling and draining."""
    return min(LAUNCH_LIMIT, -(-(most + WATCHDOG_CYCLES) // MOVED_WINDOW) * MOVED_WINDOW)
