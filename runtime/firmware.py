"""The commands of plans as firmware: C for the processor in front of a machine, and what memory outside holds for it.

A program after the other is configured and run, as `host.run` does it, but by the processor. On a machine with regions it does
of all of them what can be done: it configures one region while others compute. A job is for a region, or for the first one of
its width that is free.

A job may keep what memories hold at its end, and a later one of the same region may resume with it: so one program interrupts
another one, of which the rest is a job of its own.

What stops a job ends nothing else: its region goes on with the next one, and the report says what became of each.

    memory outside    0                   the processor's memory: the program in ``c/``
                      from its end on     configurations, operands, results, pages of commands (`pages`), the report (`report`)

Input:   `Job`s, Arch with a processor, bytes of memory outside, columns of each region.
Output:  `Firmware`: a C text, which `toolchain` compiles, what memory outside holds, where results are.
Errors:  UserError where memory outside is too small, for regions that cannot be and programs of another machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..compiler.ir.program import Program, Site
from ..hw.arch.cgra import Arch
from ..hw.arch.errors import UserError
from ..hw.arch.soc import QUEUED_BITS
from . import memories
from .again import kept
from .data.blocks import Blocks
from .host import by_transaction
from .job import Job, Kept, Written, written
from .lines import Note, Noted
from .outside import Memory, Result
from .pages import Chain, Pages, note_bytes, page_bytes
from .plan import Launch, avoided, check_avoided
from .region import Place, side_by_side
from .report import Layout, head
from .writer import CYCLES_PER_BYTE, Writer

# Far above what the processor takes for a command.
CYCLES_PER_COMMAND = 10_000


@dataclass(frozen=True)
class Firmware:
    """What a system runs.

    Parameters
    ----------
    commands : str              The C text, a page behind the other.
    tables : str                The C text of what the processor knows of regions and chains of jobs.
    page_bytes : int            The size of a page.
    place : int                 Byte address of the first page in memory outside.
    content : tuple             Byte addresses of memory outside, and the bytes from there on: all but processor's memory and
                                pages.
    report : int                Byte address of the report.
    layout : Layout             What is where in it.
    launches : tuple            Of every job, its launches and where each leaves its words.
    limit : int                 Cycles that it takes at most, if nothing hangs.
    places : tuple of Place     The regions.
    saved : tuple               Of every job, byte addresses of memories that it leaves in memory outside, by their tiles: 64
                                bits for two words, as configuration DMAs read them.
    resumes : bool              Some job resumes another one.
    streams, counted : int      Streams of a launch whose words are taken while it computes, and that are counted when it has
                                ended, at most.
    kept : bool                 Some lists of commands come more than once.
    """

    commands: str
    tables: str
    page_bytes: int
    place: int
    content: tuple[tuple[int, bytes], ...]
    report: int
    layout: Layout
    launches: tuple[tuple[tuple[Launch, tuple[Result, ...]], ...], ...]
    limit: int
    places: tuple[Place, ...]
    saved: tuple[Mapping[Site, int], ...]
    resumes: bool
    streams: int
    counted: int
    kept: bool


def firmware(jobs: Sequence[Job], arch: Arch, memory_bytes: int, columns: Sequence[int] = ()) -> Firmware:
    """The firmware that runs jobs: those for one region one after the other, others in order as regions are free.

    columns: of each region, from the west; none: the whole machine is region 0.
    """
    places = _places(arch, columns)
    chains = _chains([_regions(job, arch, places) for job in jobs])
    for number in range(len(jobs)):
        _check_memories(number, jobs, places, next(chain for chain in chains if number in chain.jobs))
    keeps = {job: each for chain in chains for job, each in _kept(chain.jobs, jobs, places[chain.regions[0]].arch).items()}
    memory, noted = Memory(arch.system.ram_bytes, memory_bytes), Noted()
    writers = [Writer(places[chain.regions[0]], len(chain.regions) == 1, len(places), memory, noted, number)
               for number, chain in enumerate(chains)]
    found: dict[int, Written] = {}
    backs: list[Chain] = []     # each leads to a job, which goes on there if the one before it was stopped
    for number, (chain, writer) in enumerate(zip(chains, writers, strict=True)):
        for place, job in enumerate(chain.jobs):
            if place:
                backs.append(Chain([writer.back()], (number, place)))
            writer.begin(job, len(chains) + len(backs) if place + 1 < len(chain.jobs) else 0, jobs[job].resumes)
            found[job] = written(writer, job, jobs[job], keeps[job], arch.glb_tiles <= QUEUED_BITS)
    size = page_bytes(arch.system, len(places))
    # Of several regions the firmware adds where each lies, and lists of jobs for one are of its own.
    again = [kept(writer.jobs, size if writer.alone and writer.roomy else 0) for writer in writers]
    pages = Pages([*(Chain(lines) for lines, _ in again), *backs], size)
    lists = [each for _, some in again for each in some]
    first, layout = memory.room(size * pages.count), _layout(noted, pages, size, len(jobs))
    report = memory.hold(bytes(4 * layout.words))   # of what is not noted nothing is there
    limit = (sum(writer.limit + CYCLES_PER_COMMAND * sum(map(len, writer.jobs)) for writer in writers)
             + CYCLES_PER_BYTE * memory.used)
    return Firmware(pages.text(), _tables(places, chains, lists, claimed=bool(columns)), size, first, tuple(memory.content),
                    report, layout, tuple(found[job].launches for job in range(len(jobs))), limit, tuple(places),
                    tuple(found[job].saved for job in range(len(jobs))), any(job.resumes is not None for job in jobs),
                    max(writer.streams for writer in writers), max(writer.counted for writer in writers), bool(lists))


@dataclass
class _Chain:
    """Jobs that run one after the other, in a region of these."""

    regions: tuple[int, ...]
    jobs: list[int]


def _chains(regions: Sequence[tuple[int, ...]]) -> list[_Chain]:
    """The chains of jobs, given the regions in which each may run: a chain for each region with jobs that have no choice, and
    one for each other job."""
    found: list[_Chain] = []
    fixed: dict[tuple[int, ...], _Chain] = {}
    for job, each in enumerate(regions):
        chain = fixed.get(each)
        if chain is None:
            found.append(chain := _Chain(each, []))
            if len(each) == 1:
                fixed[each] = chain
        chain.jobs.append(job)
    return found or [_Chain((0,), [])]


def _tables(places: Sequence[Place], chains: Sequence[_Chain], lists: Sequence[str], claimed: bool) -> str:
    """What the processor knows of regions and chains, and lists that come again, as C."""
    lies = [f"{{ {place.mask if claimed else 0:#x}u, {place.first}u, {place.first * place.arch.glb.tile_bytes:#x}u }}"
            for place in places]
    masks = [f"{sum(1 << region for region in chain.regions):#x}u" for chain in chains]
    return (f"static const struct place places[REGIONS] = {{ {', '.join(lies)} }};\n"
            f"static const uint32_t chains[] = {{ {', '.join(masks)} }};\n"
            + "static const uint32_t lists[] = {" + ("\n" + "\n".join(lists) + "\n" if lists else " 0u ") + "};\n")


def _places(arch: Arch, columns: Sequence[int]) -> list[Place]:
    if not columns:
        return [Place(0, 0, arch)]
    if arch.regions == 1:
        raise UserError("the machine has one region", f"machine '{arch.name}'",
                        "describe one with `regions` of 2 or more, or give no columns")
    return side_by_side(arch, columns)


def _regions(job: Job, arch: Arch, places: Sequence[Place]) -> tuple[int, ...]:
    """The regions in which a job may run; UserError if there is none."""
    if job.region is not None and job.region not in range(len(places)):
        raise UserError(f"program '{job.name}' is for region {job.region}", f"machine '{arch.name}'",
                        f"choose one of 0..{len(places) - 1}")
    given = range(len(places)) if job.region is None else [job.region]
    alike = [region for region in given if places[region].arch.fingerprint == job.program.fingerprint]
    if not alike:
        there = ", ".join(dict.fromkeys(f"{places[region].arch.fingerprint:016x}, '{places[region].arch.name}'"
                                        for region in given))
        which = f"region {job.region} is" if job.region is not None else "regions are"
        raise UserError(f"program '{job.name}' is for machine {job.program.fingerprint:016x}, {which} {there}",
                        f"machine '{arch.name}'", "compile it for the columns of this region (runtime.region.part)")
    found = [region for region in alike if not avoided(job.program, places[region].arch)]
    if not found:
        check_avoided(job.program, places[alike[0]].arch)
    return tuple(found)


def _check_memories(number: int, jobs: Sequence[Job], places: Sequence[Place], chain: _Chain) -> None:
    """UserError for a job that cannot keep its memories, or resume with those of another one."""
    job = jobs[number]
    if job.keeps:
        memories.check(job.program, places[chain.regions[0]].arch)
        if not places[chain.regions[0]].arch.glb.kept_bytes:
            raise UserError(f"job '{job.name}' keeps what memories hold, and the global buffer has no room for it",
                            f"machine '{places[chain.regions[0]].arch.name}'", "describe it with `glb.kept_bytes`")
    if job.keeps and len(chain.regions) > 1:
        raise UserError(f"job '{job.name}' keeps what memories hold, wherever it runs", "firmware",
                        "give it a region, in which it is resumed")
    if job.resumes is None:
        return
    if job.resumes not in chain.jobs[:chain.jobs.index(number)] or not jobs[job.resumes].keeps:
        raise UserError(f"job '{job.name}' resumes with what job {job.resumes} keeps", "firmware",
                        "name an earlier job of the same region, with `keeps`")
    if jobs[job.resumes].program != job.program:
        raise UserError(f"job '{job.name}' resumes with memories of another program, that of job {job.resumes}", "firmware",
                        "give both the same program")


def _kept(chain: Sequence[int], jobs: Sequence[Job], arch: Arch) -> dict[int, Kept]:
    """Where each job of a chain keeps its memories, behind those that others still resume with; UserError without room."""
    last = {jobs[job].resumes: at for at, job in enumerate(chain)}      # who resumes with a job's
    there: dict[int, tuple[int, int]] = {}      # what is kept: first byte, and the one behind the last
    found: dict[int, Kept] = {}
    for at, job in enumerate(chain):
        resumes, keeps = jobs[job].resumes, jobs[job].keeps
        begins = None if resumes is None else there[resumes][0]
        there = {each: place for each, place in there.items() if last[each] > at}
        ends = max((end for _, end in there.values()), default=0) if keeps else None
        if ends is not None:
            memories.places(jobs[job].program, arch, ends)
            if job in last:
                there[job] = ends, ends + memories.size(jobs[job].program, arch)
        found[job] = Kept(begins, ends, ends is not None and job not in last)
    return found


def _layout(noted: Noted, pages: Pages, size: int, jobs: int) -> Layout:
    """Where the report has what was noted."""
    words: dict[int, list[int]] = {}

    def place(note: Note) -> int:
        chain, number = note
        if chain not in words:
            words[chain] = pages.notes(chain)
        return head(jobs) + words[chain][number]

    return Layout(head(jobs) + note_bytes(size) // 4 * pages.count, jobs, tuple(mark for mark, _, _ in noted.marks),
                  tuple(place(time) for _, time, _ in noted.marks),
                  tuple(None if cycles is None else place(cycles) for _, _, cycles in noted.marks),
                  tuple(map(place, noted.counts)))


def stored(made: Firmware, job: int, program: Program, counts: Sequence[int],
           read: Callable[[int, int], np.ndarray]) -> Iterator[tuple[Blocks, ...]]:
    """What every launch of a job stored, transaction by transaction; read: gives 16-bit words of memory
    outside, from a byte address on."""
    images = {each.address: each.image for _, results in made.launches[job] for each in results if each.image is not None}
    for address, image in images.items():
        image[...] = read(address, image.size).reshape(image.shape)
    for launch, results in made.launches[job]:
        words = {each.stream: read(each.address, counts[each.count] if each.words is None else each.words)
                 for each in results if each.image is None}
        yield by_transaction(program, launch, words)
