"""A job of firmware: the commands that configure the machine for it, and those of its launches; transfers overlap.

Words of its first launch, and of the one that is queued behind it, come behind those of its configuration, where they have
places of their own; among several regions if they are few, so that others do not wait. Its registers are set while they come,
and it is started while the machine is configured, so that it begins in the next cycle. Then launches are in the order of
`order`.

Input:   `Job`, the `Writer` of its chain.
Output:  its commands, there; `Written`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..compiler.ir.program import Program, Site
from ..compiler.ir.transfer import PLACES
from ..hw.arch.glb import LINE_BYTES
from . import memories
from .batches import pairs
from .commands import Command, Start, WriteMemory
from .order import Phase, beside, holds_the_way, ordered, takes_long
from .outside import Result
from .pieces import HALVES, PIECES
from .plan import Launch, launches, prepare
from .registers import configured_seen, queues
from .report import Mark
from .works import Transaction
from .writer import BROUGHT, TAKEN, Writer


@dataclass(frozen=True)
class Job:
    """A program, and the transactions that it computes.

    Parameters
    ----------
    name : str
    program : Program
    transactions : iterable
    bounds : mapping         As of `launches`.
    region : int or None     In which it runs; None: in the first one of its width that is free.
    keeps : bool             At its end what the memories hold that it uses is kept in the global buffer, or in memory
                             outside if no job resumes it.
    resumes : int or None    The number of an earlier job of its program, which keeps its memories: it begins with these.
    """

    name: str
    program: Program
    transactions: Iterable[Transaction]
    bounds: Mapping[str, int]
    region: int | None = None
    keeps: bool = False
    resumes: int | None = None


@dataclass(frozen=True)
class Kept:
    """Where what memories hold is kept, see `memories.places`.

    begins, ends : int or None   What a job begins with, and what it ends with.
    leaves : bool                The latter goes to memory outside.
    """

    begins: int | None = None
    ends: int | None = None
    leaves: bool = False


@dataclass(frozen=True)
class Written:
    """What a job leaves in memory outside: of each launch where its words will be, and of each memory that it keeps there."""

    launches: tuple[tuple[Launch, tuple[Result, ...]], ...]
    saved: Mapping[Site, int]


def written(writer: Writer, number: int, job: Job, kept: Kept, chained: bool) -> Written:
    """Write a job, its launches in one run if they can be."""
    writer.add(f"/* {number}: {_comment(job.name)} */", words=0)
    writer.mark(Mark(number, "configure"))
    # What is restored need not be filled before; where that is kept, all that the program fills counts.
    program = job.program if job.resumes is None else replace(job.program, contents={})
    found = launches(job.program, writer.arch, job.transactions, job.bounds, chained=chained)
    coming = list(itertools.islice(found, 1))
    prepares, configured = list(prepare(program, writer.arch)), Mark(number, "configured")
    # Where they are many another region's configuration, which is shorter, would wait for them.
    early = coming and job.resumes is None and (writer.alone or not takes_long(coming[0]))
    if early and beside(prepares, coming[0]):
        if coming[0].goes_on:
            coming += itertools.islice(found, 1)
        begun = _early(writer, prepares, coming, configured)
    else:
        writer.write(_words_first(prepares), configured)
        begun = _Begun({})
    if kept.begins is not None:
        writer.mark(Mark(number, "restore"))
        writer.write(memories.restores(job.program, writer.arch, kept.begins), Mark(number, "restored"))
    phases = ordered(itertools.chain(coming, found), ahead=len(begun.loaded) > 1)
    gave = tuple(_launches(writer, number, job, phases, begun))
    # What is being taken may lie where the next configurations come to.
    writer.settle()
    writer.mark(Mark(number, "left"))
    saved: dict[Site, int] = {}
    if kept.ends is not None:
        writer.write(memories.saves(job.program, writer.arch, kept.ends), Mark(number, "saved"))
        if kept.leaves:
            saved = {each.site: writer.out(each.glb_tile * writer.arch.glb.tile_bytes + each.first, LINE_BYTES * each.pairs)
                     for each in memories.places(job.program, writer.arch, kept.ends)}
            writer.settle()
    writer.add("JOB_DONE")
    return Written(gave, saved)


@dataclass(frozen=True)
class _Begun:
    """What of the first launches was done while the machine was configured.

    Parameters
    ----------
    loaded : dict        Of launches whose words were asked for, transfers up to these; later ones are put here, too.
    waits : Command      Registers of the first one are set, and this is still to wait for the end of the configuration.
    starts : bool        The first one starts by itself then.
    """

    loaded: dict[Launch, int]
    waits: Command | None = None
    starts: bool = False


def _early(writer: Writer, prepares: Sequence[Command], coming: Sequence[Launch], configured: Mark) -> _Begun:
    """Configure, and bring words of the first launch meanwhile, and of the second one where they are few."""
    *before, _, waits = _words_first(prepares)
    writer.write(before)
    needs = dict(writer.moves)
    loaded: dict[Launch, int] = {}
    for each in coming:
        if not loaded or (beside(prepares, each) and not takes_long(each)):
            writer.write(each.loads)
            loaded[each] = writer.moves[BROUGHT]
    first = coming[0]
    writer.write(first.starts[:-1])
    # Few words are there by the time that all registers are set.
    starts = not takes_long(first)
    writer.write([Start(configure=True, runs=starts)], configured, needs | {BROUGHT: loaded[first]} if starts else needs)
    return _Begun(loaded, waits, starts)


def _words_first(prepares: Sequence[Command]) -> list[Command]:
    """The commands of a configuration, the words of its first round in front, so that registers are set while they come."""
    starts = next((at for at, each in enumerate(prepares) if isinstance(each, Start)), 0)
    return sorted(prepares[:starts], key=lambda each: not isinstance(each, WriteMemory)) + list(prepares[starts:])


def _comment(name: str) -> str:
    """A name that ends no comment."""
    return "".join(each if each.isalnum() or each in " _-.(),=+" else "?" for each in name)[:100]


def _gone(launch: Launch, number: int, read: Sequence[int], asked: int) -> int:
    """Transfers that have ended before a launch of a job starts: those from where it stores.

    read: of the launches before, those up to what each gave; the one that has ended last may be left out. asked: all.
    """
    if launch.joins:
        # Launches of a run take places in turn.
        return read[number - PLACES] if number >= PLACES else 0
    # Those of the launch before go while this one computes.
    return (read[-1] if read else 0) if launch.apart else asked


def _launches(writer: Writer, number: int, job: Job, phases: Iterable[tuple[Phase, Launch]],
              begun: _Begun) -> Iterator[tuple[Launch, tuple[Result, ...]]]:
    """The launches of a job, and where each leaves its words."""
    counted: dict[Launch, tuple[Result, ...]] = {}
    numbers: dict[Launch, int] = {}
    loaded = begun.loaded
    read: list[int] = []                # of each launch, those up to what it gave
    lines = writer.jobs[-1]
    taken: int | None = None        # where what is taken stands, if nothing stands behind it
    started: Launch | None = None   # the last one
    computes: Launch | None = None  # the same, if it has begun and rows of it are to go meanwhile

    def early_rows(launch: Launch) -> Launch | None:
        return launch if launch.goes_on and holds_the_way(launch, len(job.program.loads)) else None

    for (phase, launch), after in pairs(phases):
        match phase:
            case Phase.LOADS:
                brought, first = len(lines), not loaded
                # There is room for the last of many transfers when the words before have nearly come: rows go before that.
                late = launch.loads[-1:] if computes is not None and launch not in loaded else ()
                if launch not in loaded:
                    writer.write(launch.loads[:len(launch.loads) - len(late)])
                if first:
                    # Nothing runs yet, so registers are set while words come.
                    writer.write(launch.starts[:-1])
                if taken is not None:
                    writer.both_ways(taken, brought)
                if late and computes is not None:
                    writer.early(computes, job.program, HALVES)
                    writer.write(late)
                    computes = None
                loaded.setdefault(launch, writer.moves[BROUGHT])
            case Phase.STARTS:
                gone = _gone(launch, len(numbers), read, writer.moves[TAKEN])
                starts = launch.starts if numbers else () if begun.starts else launch.starts[-1:]
                if computes is not None:
                    ready = next(at for at, each in enumerate(starts) if queues(each))
                    writer.write(starts[:ready])
                    # Nothing else is to be asked for meanwhile.
                    writer.early(computes, job.program, PIECES - 1)
                    starts = starts[ready:]
                writer.write(starts, needs={BROUGHT: loaded[launch], TAKEN: gone})
                computes, started = None, launch
                numbers[launch] = len(numbers)
                if not (launch.joins or (begun.starts and len(numbers) == 1)):
                    writer.mark(Mark(number, "start", numbers[launch]))
                if begun.waits and len(numbers) == 1:
                    writer.write([begun.waits], Mark(number, "configured"))
                    writer.write([configured_seen()])
                    # It begins some cycles later: before a register of it is read.
                    computes = early_rows(launch)
            case Phase.ENDS:
                counted[launch] = tuple(writer.ended(launch, job.program, Mark(number, "end", numbers[launch]),
                                                      after is not None and after[0] is Phase.STARTS))
                computes = early_rows(started) if started is not None and started.joins else None
            case Phase.READS:
                taken = len(lines)
                yield launch, (*counted[launch], *writer.read(launch))
                read.append(writer.moves[TAKEN])
                continue
        taken = None
