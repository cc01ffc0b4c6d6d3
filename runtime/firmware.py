"""The commands of plans as firmware: C for the processor in front of a machine, and what memory outside holds for it.

A program after the other is configured and run, as `host.run` does it, but by the processor: it writes registers, lets the
system DMA bring and take words, and waits. What registers hold already is not written again.

    memory outside    0                   the processor's memory: firmware and commands
                      from its end on     configurations, operands, results, the report (`c/firmware.h`)

Input:   `Job`s, Arch with a processor, bytes of memory outside.
Output:  `Firmware`: a C text, which `toolchain` compiles with those in ``c/``, what memory outside holds, where results are.
Errors:  UserError where memory outside is too small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from ..compiler.ir.program import Program
from ..compiler.ir.transfer import WORD_BYTES
from ..hw.arch.cgra import Arch
from ..hw.arch.errors import UserError
from ..hw.arch.glb import Glb
from ..hw.arch.soc import CONFIGURED, CONTROLLER, FINISHED, RW, glb_registers, named
from .commands import Command, Configure, Count, Read, Start, Wait, WriteMemory, WriteRegister
from .data.blocks import Blocks
from .device import register_address, whole_lines
from .host import by_transaction
from .order import Phase, ordered
from .plan import Launch, Transaction, launches, prepare

# Where pieces of memory outside begin: at bursts of the system DMA.
PIECE_BYTES = 512
# Far above what the processor takes for a command, and the system DMA for a byte.
CYCLES_PER_COMMAND, CYCLES_PER_BYTE = 10_000, 16
# Words of a report before the times of its marks.
REPORT_HEAD = 4
# The command that sets a register.
SET = "SET"


@dataclass(frozen=True)
class Job:
    """A program, and the transactions that it computes; bounds: as of `launches`."""

    name: str
    program: Program
    transactions: Iterable[Transaction]
    bounds: Mapping[str, int]


@dataclass(frozen=True)
class Mark:
    """An event whose time the processor notes.

    Parameters
    ----------
    job : int        Which job.
    what : str       ``configure``, ``configured``, ``start`` or ``end`` of a launch, ``left``: all words are outside.
    launch : int     Which of its launches.
    """

    job: int
    what: str
    launch: int = 0


@dataclass(frozen=True)
class _Result:
    """Where a stream of a launch is: byte address, how many words, or the number of its count."""

    stream: str
    address: int
    words: int | None
    count: int


@dataclass(frozen=True)
class Firmware:
    """What a system runs.

    Parameters
    ----------
    commands : str              The C text.
    content : tuple             Byte addresses of memory outside, and the bytes from there on.
    report : int                Byte address of the report.
    marks : tuple of Mark       In the order of time.
    counts : int                Counts in the report.
    launches : tuple            Of every job, its launches and where each leaves its words.
    limit : int                 Cycles that it takes at most, if nothing hangs.
    """

    commands: str
    content: tuple[tuple[int, bytes], ...]
    report: int
    marks: tuple[Mark, ...]
    counts: int
    launches: tuple[tuple[tuple[Launch, tuple[_Result, ...]], ...], ...]
    limit: int

    @property
    def report_words(self) -> int:
        """32-bit words of the report."""
        return REPORT_HEAD + 2 * _even(len(self.marks)) + _even(self.counts)


def _even(count: int) -> int:
    return count + count % 2


@dataclass(frozen=True)
class Report:
    """What the processor has noted.

    Parameters
    ----------
    ended : bool        Every command was done.
    status : int        Of the machine, where one was not.
    faults : int        Of the host.
    times : tuple       Of every mark, cycles since reset.
    cycles : tuple      Of the marks at the ends of launches, those that the machine counted for them.
    counts : tuple      Words that streams have stored.
    """

    ended: bool
    status: int
    faults: int
    times: tuple[int, ...]
    cycles: tuple[int, ...]
    counts: tuple[int, ...]


class _Memory:
    """Memory outside, given away piece by piece."""

    def __init__(self, first: int, size: int) -> None:
        self.used, self._size = first, size
        self.content: list[tuple[int, bytes]] = []

    def room(self, size: int) -> int:
        """The address of so many bytes."""
        at = -(-self.used // PIECE_BYTES) * PIECE_BYTES
        self.used = at + size
        if self.used > self._size:
            raise UserError(f"these programs need more than its {self._size} bytes", "memory outside", "give smaller operands")
        return at

    def hold(self, content: bytes) -> int:
        """The address of these bytes."""
        at = self.room(len(content))
        self.content.append((at, content))
        return at


class _Writer:
    """Writes commands as C."""

    def __init__(self, arch: Arch, memory: _Memory) -> None:
        self.arch, self.memory = arch, memory
        self.lines: list[str] = []
        self.marks: list[Mark] = []
        self.counts = 0
        self.limit = 0      # of cycles
        self._held: dict[tuple[str, int | None], int] = {}
        self._moving: dict[str, None] = {}      # what waits for transfers that may go on
        self._kept = {(each.name, tiled) for tiled, registers in ((False, CONTROLLER), (True, glb_registers(arch.glb)))
                      for each in registers if each.access == RW and not _falls(each.name, tiled, arch.glb)}

    def mark(self, mark: Mark) -> None:
        """The next event, after what is written so far."""
        self.lines.append(f"    MARK,  /* {mark.what} {mark.launch} */")
        self.marks.append(mark)

    def settle(self) -> None:
        """Wait for the transfers that go on."""
        for line in self._moving:
            self.add(line)
        self._moving.clear()

    def move(self, line: str, end: str) -> None:
        """A transfer, and what waits for its end."""
        self.add(line)
        self._moving[end] = None

    def add(self, line: str) -> None:
        self.lines.append(f"    {line},")

    def register(self, name: str, value: int, glb_tile: int | None) -> None:
        """A write, unless the register holds the value."""
        value &= 0xFFFFFFFF
        if (name, glb_tile is not None) in self._kept:
            if self._held.get((name, glb_tile)) == value:
                return
            self._held[name, glb_tile] = value
        register_address(self.arch, name, glb_tile)     # there is one
        place = (f"SARDONYX_{name.upper()}" if glb_tile is None
                 else f"SARDONYX_GLB({glb_tile}) + SARDONYX_GLB_{name.upper()}")
        self.add(f"{SET}({place}, {value:#x}u)")

    def write(self, commands: Iterable[Command], ends: Mark | None = None) -> None:
        """Commands that read no words; ends: the event that is waited for."""
        for command in commands:
            match command:
                case WriteRegister(name, value, glb_tile):
                    self.register(name, value, glb_tile)
                case WriteMemory(address, words):
                    if len(words):
                        lines = whole_lines(words)
                        self.move(f"BRING({self.memory.hold(lines):#x}u, {address:#x}u, {len(lines):#x}u)", "BROUGHT")
                case Start(configure):
                    self.settle()
                    what = {"configure": 1} if configure else {"start": 1}
                    self.register("control", named(CONTROLLER)["control"].word(**what), None)
                case Wait(limit, configure):
                    # Not behind it, where the machine would wait, too.
                    self.settle()
                    self.limit += limit
                    assert ends is not None, "what is waited for is an event"
                    self.lines.append(f"    WAIT({CONFIGURED if configure else FINISHED}u),  /* {ends.what} {ends.launch} */")
                    self.marks.append(ends)
                case Count(_, glb_tile):
                    self.add(f"COUNT({self.counts}u, {glb_tile}u)")
                    self.counts += 1
                case Read():
                    raise AssertionError("what is read needs a place")
                case Configure():
                    raise UserError("firmware configures by DMAs, and this machine has none", f"machine '{self.arch.name}'",
                                    "give it glb.configuration_dma")

    def count(self, commands: Iterable[Command], ends: Mark) -> dict[str, int]:
        """Commands that end a launch; by stream, the number of its count."""
        first, commands = self.counts, list(commands)
        self.write(commands, ends)
        streams = [each.stream for each in commands if isinstance(each, Count)]
        return {stream: first + number for number, stream in enumerate(streams)}

    def read(self, launch: Launch, program: Program, counts: Mapping[str, int]) -> Iterator[_Result]:
        """Take what a launch gave; where it will be."""
        room = {each.name: each.room for each in program.stores}
        for each in launch.reads:
            assert isinstance(each, Read), "words are read"
            most = room[each.stream] if each.words is None else each.words
            size = -(-most * WORD_BYTES // 8) * 8
            place = self.memory.room(size)
            if each.words is None:
                self.move(f"TAKE_COUNTED({counts[each.stream]}u, {each.address:#x}u, {place:#x}u)", "TAKEN")
            elif size:
                self.move(f"TAKE({each.address:#x}u, {place:#x}u, {size:#x}u)", "TAKEN")
            yield _Result(each.stream, place, each.words, counts.get(each.stream, 0))


def _falls(name: str, tiled: bool, glb: Glb) -> bool:
    """Whether the machine clears bits of a register by itself."""
    return tiled and glb.queue and name in ("load_control", "store_control")


def firmware(jobs: Sequence[Job], arch: Arch, memory_bytes: int) -> Firmware:
    """The firmware that runs jobs one after the other."""
    memory = _Memory(arch.system.ram_bytes, memory_bytes)
    writer = _Writer(arch, memory)
    found = []
    for number, job in enumerate(jobs):
        writer.lines.append(f"    /* {number}: {_comment(job.name)} */")
        writer.mark(Mark(number, "configure"))
        writer.write(prepare(job.program, arch), Mark(number, "configured"))
        found.append(tuple(_launches(writer, number, job, arch)))
        # What is being taken may lie where the next configurations come to.
        writer.settle()
        writer.mark(Mark(number, "left"))
    lines = "\n".join(_grouped(writer.lines))
    text = f'#include "firmware.h"\n\nconst uint32_t commands[] = {{\n{lines}\n    END\n}};\n'
    counts, marks = max(1, writer.counts), tuple(writer.marks)
    limit = writer.limit + CYCLES_PER_COMMAND * len(writer.lines) + CYCLES_PER_BYTE * memory.used
    made = Firmware(text, (), 0, marks, counts, tuple(found), limit)
    report = memory.room(4 * made.report_words)
    return replace(made, content=tuple(memory.content), report=report)


def _grouped(lines: Iterable[str]) -> Iterator[str]:
    """Lines with the count of registers before those that set them."""
    for sets, group in groupby(lines, lambda line: line.lstrip().startswith(SET)):
        some = list(group)
        if sets:
            yield f"    REGISTERS({len(some)}u),"
        yield from some


def _comment(name: str) -> str:
    """A name that ends no comment."""
    return "".join(each if each.isalnum() or each in " _-.(),=+" else "?" for each in name)[:100]


def _launches(writer: _Writer, number: int, job: Job, arch: Arch) -> Iterator[tuple[Launch, tuple[_Result, ...]]]:
    """The launches of a job, and where each leaves its words."""
    counts: dict[Launch, dict[str, int]] = {}
    numbers: dict[Launch, int] = {}
    for phase, launch in ordered(launches(job.program, arch, job.transactions, job.bounds)):
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


def read_report(made: Firmware, words: np.ndarray) -> Report:
    """What the 32-bit words of a report say."""
    marks = len(made.marks)
    assert len(words) == made.report_words, "a report has the size that its firmware gives it"
    head, rest = words[:REPORT_HEAD], words[REPORT_HEAD:]
    times, cycles, counts = np.split(rest, [_even(marks), 2 * _even(marks)])
    return Report(bool(head[0]), int(head[1]), int(head[2]), tuple(map(int, times[:marks])), tuple(map(int, cycles[:marks])),
                  tuple(map(int, counts)))


def stored(made: Firmware, job: int, program: Program, counts: Sequence[int],
           read: Callable[[int, int], np.ndarray]) -> Iterator[tuple[Blocks, ...]]:
    """What every launch of a job stored, transaction by transaction; read: gives 16-bit words of memory
    outside, from a byte address on."""
    for launch, results in made.launches[job]:
        words = {each.stream: read(each.address, counts[each.count] if each.words is None else each.words) for each in results}
        yield by_transaction(program, launch, words)
