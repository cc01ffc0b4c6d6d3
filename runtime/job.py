"""A job of firmware: the commands that configure the machine for it, and those of its launches; transfers overlap.

Words of its first launch come behind those of its configuration, where they have places of their own and there is one region,
and registers of GLB tiles are set while they come; then launches are in the order of `order`.

Input:   `Job`, the `Writer` of its chain.
Output:  its commands, there; its launches and where each leaves its words.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..compiler.ir.program import Program
from ..compiler.ir.transfer import PLACES, WORD_BYTES
from . import memories
from .commands import Command, Start, WriteMemory, WriteRegister
from .order import Phase, ordered
from .outside import Result
from .plan import Launch, Transaction, launches, prepare
from .report import Mark
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
    keeps : bool             At its end what its memories hold goes to memory outside.
    resumes : int or None    The number of an earlier job of its program, which keeps its memories: it begins with these.
    """

    name: str
    program: Program
    transactions: Iterable[Transaction]
    bounds: Mapping[str, int]
    region: int | None = None
    keeps: bool = False
    resumes: int | None = None


def written(writer: Writer, number: int, job: Job, chained: bool) -> tuple[tuple[Launch, tuple[Result, ...]], ...]:
    """Write a job, its launches in one run if they can be; these, and where each leaves its words."""
    writer.add(f"/* {number}: {_comment(job.name)} */", words=0)
    writer.mark(Mark(number, "configure"))
    program = job.program if job.resumes is None else replace(job.program, contents={})
    phases = ordered(launches(job.program, writer.arch, job.transactions, job.bounds, chained=chained))
    first = next(phases, None)
    prepares, configured = list(prepare(program, writer.arch)), Mark(number, "configured")
    # Another region's configuration, which is shorter, would wait for them.
    early = first is not None and job.resumes is None and writer.alone and _apart(prepares, first[1])
    if first is not None and early:
        *before, start, wait = _words_first(prepares)
        writer.write(before)
        needs = dict(writer.moves)
        writer.write(first[1].loads)
        writer.write(filter(_of_tile, first[1].starts))
        writer.write([start, wait], configured, needs)
    else:
        writer.write(_words_first(prepares), configured)
    if job.resumes is not None:
        writer.mark(Mark(number, "restore"))
        writer.write(memories.restores(program, writer.arch), Mark(number, "restored"))
    found = tuple(_launches(writer, number, job, itertools.chain([] if first is None else [first], phases), early))
    # What is being taken may lie where the next configurations come to.
    writer.settle()
    writer.mark(Mark(number, "left"))
    if job.keeps:
        writer.write(memories.saves(program, writer.arch))
        writer.settle()
        writer.mark(Mark(number, "saved"))
    writer.add("JOB_DONE")
    return found


def _words_first(prepares: Sequence[Command]) -> list[Command]:
    """The commands of a configuration, the words of its first round in front, so that registers are set while they come."""
    starts = next((at for at, each in enumerate(prepares) if isinstance(each, Start)), 0)
    return sorted(prepares[:starts], key=lambda each: not isinstance(each, WriteMemory)) + list(prepares[starts:])


def _apart(prepares: Sequence[Command], launch: Launch) -> bool:
    """Whether a configuration is of one round, and the words of a launch lie beside it."""
    if sum(isinstance(each, Start) for each in prepares) != 1:
        return False
    streamed = [_bytes(each) for each in prepares if isinstance(each, WriteMemory)]
    return all(one.stop <= other.start or other.stop <= one.start for one in streamed
               for other in map(_bytes, launch.loads) if other)


def _bytes(command: Command) -> range:
    """The bytes of the global buffer that a command writes."""
    assert isinstance(command, WriteMemory), "words are written"
    return range(command.address, command.address + WORD_BYTES * command.words.size)


def _of_tile(command: Command) -> bool:
    """Whether a GLB tile is told something."""
    return isinstance(command, WriteRegister) and command.glb_tile is not None


def _comment(name: str) -> str:
    """A name that ends no comment."""
    return "".join(each if each.isalnum() or each in " _-.(),=+" else "?" for each in name)[:100]


def _launches(writer: Writer, number: int, job: Job, phases: Iterable[tuple[Phase, Launch]],
              early: bool) -> Iterator[tuple[Launch, tuple[Result, ...]]]:
    """The launches of a job, and where each leaves its words; early: those of the first one were asked for."""
    counted: dict[Launch, tuple[Result, ...]] = {}
    numbers: dict[Launch, int] = {}
    loaded: dict[Launch, int] = {}      # transfers up to its words
    read: list[int] = []                # of each launch, those up to what it gave
    lines = writer.jobs[-1]
    taken: int | None = None        # where what is taken stands, if nothing stands behind it
    for phase, launch in phases:
        match phase:
            case Phase.LOADS:
                brought, first = len(lines), not loaded
                if not (first and early):
                    writer.write(launch.loads)
                loaded[launch] = writer.moves[BROUGHT]
                if first:
                    # Nothing runs yet, so registers are set while words come.
                    writer.write(each for each in launch.starts[:-1] if not (early and _of_tile(each)))
                if taken is not None:
                    writer.both_ways(taken, brought)
            case Phase.STARTS:
                # Launches of a run take places in turn: of this one the words of another one have gone.
                other = len(numbers) - PLACES
                gone = writer.moves[TAKEN] if not launch.joins else read[other] if other >= 0 else 0
                writer.write(launch.starts if numbers else launch.starts[-1:], needs={BROUGHT: loaded[launch], TAKEN: gone})
                numbers[launch] = len(numbers)
                if not launch.joins:
                    writer.mark(Mark(number, "start", numbers[launch]))
            case Phase.ENDS:
                counted[launch] = tuple(writer.ended(launch, job.program, Mark(number, "end", numbers[launch])))
            case Phase.READS:
                taken = len(lines)
                yield launch, (*counted[launch], *writer.read(launch))
                read.append(writer.moves[TAKEN])
                continue
        taken = None
