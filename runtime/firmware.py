"""The commands of plans as firmware: C for the processor in front of a machine, and what memory outside holds for it.

A program after the other is configured and run, as `host.run` does it, but by the processor. On a machine with regions each has
programs of its own, and the processor does of all of them what can be done: it configures one region while others compute.

    memory outside    0                   the processor's memory: the program in ``c/``
                      from its end on     configurations, operands, results, pages of commands (`pages`), the report (`report`)

Input:   `Job`s, Arch with a processor, bytes of memory outside, columns of each region.
Output:  `Firmware`: a C text, which `toolchain` compiles, what memory outside holds, where results are.
Errors:  UserError where memory outside is too small, for regions that cannot be and programs of another machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..compiler.ir.program import Program
from ..hw.arch.cgra import Arch
from ..hw.arch.errors import UserError
from .commands import Count
from .data.blocks import Blocks
from .host import by_transaction
from .order import Phase, ordered
from .pages import Pages, note_bytes, page_bytes
from .plan import Launch, Transaction, launches, prepare
from .region import Place, side_by_side
from .report import REPORT_HEAD, Layout, Mark
from .writer import CYCLES_PER_BYTE, Memory, Note, Noted, Result, Writer, region

# Far above what the processor takes for a command.
CYCLES_PER_COMMAND = 10_000


@dataclass(frozen=True)
class Job:
    """A program, and the transactions that it computes; bounds: as of `launches`; region: in which it runs."""

    name: str
    program: Program
    transactions: Iterable[Transaction]
    bounds: Mapping[str, int]
    region: int = 0


@dataclass(frozen=True)
class Firmware:
    """What a system runs.

    Parameters
    ----------
    commands : str              The C text, a page behind the other.
    page_bytes : int            The size of a page.
    place : int                 Byte address of the first page in memory outside.
    content : tuple             Byte addresses of memory outside, and the bytes from there on: all but processor's memory and
                                pages.
    report : int                Byte address of the report.
    layout : Layout             What is where in it.
    launches : tuple            Of every job, its launches and where each leaves its words.
    limit : int                 Cycles that it takes at most, if nothing hangs.
    places : tuple of Place     The regions.
    """

    commands: str
    page_bytes: int
    place: int
    content: tuple[tuple[int, bytes], ...]
    report: int
    layout: Layout
    launches: tuple[tuple[tuple[Launch, tuple[Result, ...]], ...], ...]
    limit: int
    places: tuple[Place, ...]


def firmware(jobs: Sequence[Job], arch: Arch, memory_bytes: int, columns: Sequence[int] = ()) -> Firmware:
    """The firmware that runs jobs, those of a region one after the other.

    columns: of each region, from the west; none: the whole machine is region 0.
    """
    places = _places(arch, columns)
    for job in jobs:
        _check(job, arch, places)
    memory, noted = Memory(arch.system.ram_bytes, memory_bytes), Noted()
    writers = [Writer(place, memory, noted) for place in places]
    if columns:
        # First of all that each does. Region 0, which has all tiles after reset, begins and gives up those of others.
        for writer, place in zip(writers, places, strict=True):
            writer.set(f"{region(place.number)}SARDONYX_CLAIM", place.mask)
    found = tuple(_written(writers[job.region], number, job) for number, job in enumerate(jobs))
    size = page_bytes(arch.system, len(places))
    pages = Pages([writer.lines for writer in writers], size)
    first, layout = memory.room(size * pages.count), _layout(noted, pages, size)
    report = memory.room(4 * layout.words)
    limit = (sum(writer.limit + CYCLES_PER_COMMAND * len(writer.lines) for writer in writers)
             + CYCLES_PER_BYTE * memory.used)
    return Firmware(pages.text(), size, first, tuple(memory.content), report, layout, found, limit, tuple(places))


def _places(arch: Arch, columns: Sequence[int]) -> list[Place]:
    if not columns:
        return [Place(0, 0, arch)]
    if arch.regions == 1:
        raise UserError("the machine has one region", f"machine '{arch.name}'",
                        "describe one with `regions` of 2 or more, or give no columns")
    return side_by_side(arch, columns)


def _check(job: Job, arch: Arch, places: Sequence[Place]) -> None:
    """UserError for a job that has no place."""
    if job.region not in range(len(places)):
        raise UserError(f"program '{job.name}' is for region {job.region}", f"machine '{arch.name}'",
                        f"choose one of 0..{len(places) - 1}")
    there = places[job.region].arch
    if job.program.fingerprint != there.fingerprint:
        raise UserError(f"program '{job.name}' is for machine {job.program.fingerprint:016x}, region {job.region} is "
                        f"{there.fingerprint:016x}, '{there.name}'", f"machine '{arch.name}'",
                        "compile it for the columns of this region (runtime.region.part)")


def _layout(noted: Noted, pages: Pages, size: int) -> Layout:
    """Where the report has what was noted."""
    words = [pages.notes(queue) for queue in range(pages.queues)]

    def place(note: Note) -> int:
        queue, number = note
        return REPORT_HEAD + words[queue][number]

    return Layout(REPORT_HEAD + note_bytes(size) // 4 * pages.count, tuple(mark for mark, _, _ in noted.marks),
                  tuple(place(time) for _, time, _ in noted.marks),
                  tuple(None if cycles is None else place(cycles) for _, _, cycles in noted.marks),
                  tuple(map(place, noted.counts)))


def _written(writer: Writer, number: int, job: Job) -> tuple[tuple[Launch, tuple[Result, ...]], ...]:
    """Write a job; its launches, and where each leaves its words."""
    writer.add(f"/* {number}: {_comment(job.name)} */", words=0)
    writer.mark(Mark(number, "configure"))
    writer.write(prepare(job.program, writer.arch), Mark(number, "configured"))
    found = tuple(_launches(writer, number, job))
    # What is being taken may lie where the next configurations come to.
    writer.settle()
    writer.mark(Mark(number, "left"))
    return found


def _comment(name: str) -> str:
    """A name that ends no comment."""
    return "".join(each if each.isalnum() or each in " _-.(),=+" else "?" for each in name)[:100]


def _launches(writer: Writer, number: int, job: Job) -> Iterator[tuple[Launch, tuple[Result, ...]]]:
    """The launches of a job, and where each leaves its words."""
    counts: dict[Launch, dict[str, Count]] = {}
    numbers: dict[Launch, int] = {}
    for phase, launch in ordered(launches(job.program, writer.arch, job.transactions, job.bounds)):
        match phase:
            case Phase.LOADS:
                writer.write(launch.loads)
            case Phase.STARTS:
                numbers[launch] = len(numbers)
                writer.write(launch.starts)
                writer.mark(Mark(number, "start", numbers[launch]))
            case Phase.ENDS:
                counts[launch] = writer.count(launch.ends, Mark(number, "end", numbers[launch]))
            case Phase.READS:
                yield launch, tuple(writer.read(launch, job.program, counts[launch]))


def stored(made: Firmware, job: int, program: Program, counts: Sequence[int],
           read: Callable[[int, int], np.ndarray]) -> Iterator[tuple[Blocks, ...]]:
    """What every launch of a job stored, transaction by transaction; read: gives 16-bit words of memory
    outside, from a byte address on."""
    images: set[int] = set()      # by their addresses
    for launch, results in made.launches[job]:
        words = {}
        for each in results:
            if each.image is None:
                words[each.stream] = read(each.address, counts[each.count] if each.words is None else each.words)
            elif each.address not in images:
                images.add(each.address)
                each.image[...] = read(each.address, each.image.size).reshape(each.image.shape)
        yield by_transaction(program, launch, words)
