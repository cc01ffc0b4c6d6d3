"""The commands of plans as firmware: C for the processor in front of a machine, and what memory outside holds for it.

A program after the other is configured and run, as `host.run` does it, but by the processor: it writes registers, lets the
system DMA bring and take words, and waits. What registers hold already is not written again.

    memory outside    0                   the processor's memory: the program in ``c/``
                      from its end on     configurations, operands, results, pages of commands (`pages`), the report (`report`)

Input:   `Job`s, Arch with a processor, bytes of memory outside.
Output:  `Firmware`: a C text, which `toolchain` compiles, what memory outside holds, where results are.
Errors:  UserError where memory outside is too small.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..compiler.ir.program import Program
from ..compiler.ir.transfer import WORD_BYTES
from ..hw.arch.cgra import Arch
from ..hw.arch.errors import UserError
from ..hw.arch.glb import Glb
from ..hw.arch.soc import CONFIGURED, CONTROLLER, FINISHED, RW, glb_registers, named
from .commands import Box, Command, Configure, Count, Read, Start, Wait, WriteMemory, WriteRegister
from .data.blocks import Blocks
from .device import register_address, whole_lines
from .host import by_transaction
from .order import Phase, ordered
from .pages import Line, note_bytes, note_words, page_bytes, paged, text
from .plan import Launch, Transaction, launches, prepare
from .report import REPORT_HEAD, Layout, Mark

# Where pieces of memory outside begin: at bursts of the system DMA.
PIECE_BYTES = 512
# Far above what the processor takes for a command, and the system DMA for a byte.
CYCLES_PER_COMMAND, CYCLES_PER_BYTE = 10_000, 16


@dataclass(frozen=True)
class Job:
    """A program, and the transactions that it computes; bounds: as of `launches`."""

    name: str
    program: Program
    transactions: Iterable[Transaction]
    bounds: Mapping[str, int]


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
    commands : str              The C text, a page behind the other.
    page_bytes : int            The size of a page.
    place : int                 Byte address of the first page in memory outside.
    content : tuple             Byte addresses of memory outside, and the bytes from there on: all but processor's memory and
                                pages.
    report : int                Byte address of the report.
    layout : Layout             What is where in it.
    launches : tuple            Of every job, its launches and where each leaves its words.
    limit : int                 Cycles that it takes at most, if nothing hangs.
    """

    commands: str
    page_bytes: int
    place: int
    content: tuple[tuple[int, bytes], ...]
    report: int
    layout: Layout
    launches: tuple[tuple[tuple[Launch, tuple[_Result, ...]], ...], ...]
    limit: int


class _Memory:
    """Memory outside, given away piece by piece."""

    def __init__(self, first: int, size: int) -> None:
        self.used, self._size = first, size
        self.content: list[tuple[int, bytes]] = []
        self._images: dict[int, tuple[np.ndarray, int]] = {}    # which stay, so that no other one has their identity

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

    def image(self, image: np.ndarray) -> int:
        """The address of the words of an image, which are there once."""
        if id(image) not in self._images:
            self._images[id(image)] = image, self.hold(image.astype("<u2").tobytes())
        return self._images[id(image)][1]


def runs(box: Box) -> Iterator[tuple[int, int, int, int]]:
    """The bytes of a box as they lie in its image: where some begin, from one row to the next, rows, bytes a row.

    What the image has one behind the other is one row.
    """
    sizes, whole = box.shape[::-1], box.image.shape[::-1]
    inner = next((dim for dim in range(len(sizes)) if sizes[dim] != whole[dim]), len(sizes) - 1)
    pitches = [WORD_BYTES * math.prod(whole[:dim]) for dim in range(len(whole))]
    begin = sum(pitch * first for pitch, first in zip(pitches, box.corner[::-1], strict=True))
    size, rest = sizes[inner] * pitches[inner], [*zip(sizes, pitches, strict=True)][inner + 1:]
    (rows, pitch), outer = rest[0] if rest else (1, size), rest[1:]
    for place in itertools.product(*(range(count) for count, _ in outer[::-1])):
        yield begin + sum(at * step for at, (_, step) in zip(place[::-1], outer, strict=True)), pitch, rows, size


class _Writer:
    """Writes commands as C."""

    def __init__(self, arch: Arch, memory: _Memory) -> None:
        self.arch, self.memory = arch, memory
        self.lines: list[Line] = []
        self.marks: list[tuple[Mark, int, int | None]] = []     # the notes of time and cycles, by number
        self.counts: list[int] = []                             # a note each
        self._counted: dict[int, int] = {}                      # of GLB tiles, which of them is the last
        self.limit = 0      # of cycles
        self._notes = 0
        self._held: dict[tuple[str, int | None], int] = {}
        self._moving: dict[str, None] = {}      # what waits for transfers that may go on
        self._kept = {(each.name, tiled) for tiled, registers in ((False, CONTROLLER), (True, glb_registers(arch.glb)))
                      for each in registers if each.access == RW and not _falls(each.name, tiled, arch.glb)}

    def mark(self, mark: Mark) -> None:
        """The next event, after what is written so far."""
        self.marks.append((mark, self.add("MARK", notes=1, remark=f"{mark.what} {mark.launch}"), None))

    def settle(self) -> None:
        """Wait for the transfers that go on."""
        for line in self._moving:
            self.add(line)
        self._moving.clear()

    def move(self, line: str, words: int, end: str) -> None:
        """A transfer, and what waits for its end."""
        self.add(line, words)
        self._moving[end] = None

    def add(self, command: str, words: int = 1, notes: int = 0, sets: bool = False, remark: str = "") -> int:
        """A command of so many words, which notes so many; the number of the first of these."""
        self.lines.append(Line(f"    {command}{',' * bool(words)}{f'  /* {remark} */' * bool(remark)}", words, notes, sets))
        self._notes += notes
        return self._notes - notes

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
        self.add(f"SET({place}, {value:#x}u)", 2, sets=True)

    def bring(self, address: int, box: Box) -> None:
        """Rows of an image as they lie, to a byte address of the global buffer."""
        outside = self.memory.image(box.image)
        for first, pitch, rows, size in runs(box):
            where = f"{outside + first:#x}u, {address:#x}u, {size:#x}u"
            if rows == 1:
                self.move(f"BRING({where})", 4, "BROUGHT")
            else:
                self.move(f"BRING_ROWS({rows}u, {where}, {pitch:#x}u)", 5, "BROUGHT")
            address += rows * size
            self.limit += CYCLES_PER_BYTE * rows * size

    def write(self, commands: Iterable[Command], ends: Mark | None = None) -> None:
        """Commands that read no words; ends: the event that is waited for."""
        for command in commands:
            match command:
                case WriteRegister(name, value, glb_tile):
                    self.register(name, value, glb_tile)
                case WriteMemory(address, words, box):
                    if box is not None:
                        self.bring(address, box)
                    elif len(words):
                        lines = whole_lines(words)
                        self.move(f"BRING({self.memory.hold(lines):#x}u, {address:#x}u, {len(lines):#x}u)", 4, "BROUGHT")
                case Start(configure):
                    self.settle()
                    what = {"configure": 1} if configure else {"start": 1}
                    self.register("control", named(CONTROLLER)["control"].word(**what), None)
                case Wait(limit, configure):
                    # Not behind it, where the machine would wait, too.
                    self.settle()
                    self.limit += limit
                    assert ends is not None, "what is waited for is an event"
                    note = self.add(f"WAIT({CONFIGURED if configure else FINISHED}u)", notes=2,
                                    remark=f"{ends.what} {ends.launch}")
                    self.marks.append((ends, note, note + 1))
                case Count(_, glb_tile):
                    self._counted[glb_tile] = len(self.counts)
                    self.counts.append(self.add(f"COUNT({glb_tile}u)", notes=1))
                case Read():
                    raise AssertionError("what is read needs a place")
                case Configure():
                    raise UserError("firmware configures by DMAs, and this machine has none", f"machine '{self.arch.name}'",
                                    "give it glb.configuration_dma")

    def count(self, commands: Iterable[Command], ends: Mark) -> dict[str, Count]:
        """Commands that end a launch; the counts among them, by stream."""
        commands = list(commands)
        self.write(commands, ends)
        return {each.stream: each for each in commands if isinstance(each, Count)}

    def read(self, launch: Launch, program: Program, counts: Mapping[str, Count]) -> Iterator[_Result]:
        """Take what a launch gave, before any of the next one is counted; where it will be."""
        room = {each.name: each.room for each in program.stores}
        for each in launch.reads:
            assert isinstance(each, Read), "words are read"
            most = room[each.stream] if each.words is None else each.words
            size = -(-most * WORD_BYTES // 8) * 8
            place, number = self.memory.room(size), 0
            if each.words is None:
                tile = counts[each.stream].glb_tile
                number = self._counted[tile]
                self.move(f"TAKE_COUNTED({tile}u, {each.address:#x}u, {place:#x}u)", 3, "TAKEN")
            elif size:
                self.move(f"TAKE({each.address:#x}u, {place:#x}u, {size:#x}u)", 4, "TAKEN")
            yield _Result(each.stream, place, each.words, number)


def _falls(name: str, tiled: bool, glb: Glb) -> bool:
    """Whether the machine clears bits of a register by itself."""
    return tiled and glb.queue and name in ("load_control", "store_control")


def firmware(jobs: Sequence[Job], arch: Arch, memory_bytes: int) -> Firmware:
    """The firmware that runs jobs one after the other."""
    memory = _Memory(arch.system.ram_bytes, memory_bytes)
    writer = _Writer(arch, memory)
    found = []
    for number, job in enumerate(jobs):
        writer.add(f"/* {number}: {_comment(job.name)} */", words=0)
        writer.mark(Mark(number, "configure"))
        writer.write(prepare(job.program, arch), Mark(number, "configured"))
        found.append(tuple(_launches(writer, number, job, arch)))
        # What is being taken may lie where the next configurations come to.
        writer.settle()
        writer.mark(Mark(number, "left"))
    size = page_bytes(arch.system)
    pages = list(paged(writer.lines, size))
    place, layout = memory.room(size * len(pages)), _layout(writer, pages, size)
    report = memory.room(4 * layout.words)
    limit = writer.limit + CYCLES_PER_COMMAND * len(writer.lines) + CYCLES_PER_BYTE * memory.used
    return Firmware(text(pages), size, place, tuple(memory.content), report, layout, tuple(found), limit)


def _layout(writer: _Writer, pages: Sequence[Sequence[Line]], size: int) -> Layout:
    """Where the report has what was noted."""
    places = [REPORT_HEAD + word for word in note_words(pages, size)]
    marks = writer.marks
    return Layout(REPORT_HEAD + note_bytes(size) // 4 * len(pages), tuple(mark for mark, _, _ in marks),
                  tuple(places[time] for _, time, _ in marks),
                  tuple(None if cycles is None else places[cycles] for _, _, cycles in marks),
                  tuple(places[note] for note in writer.counts))


def _comment(name: str) -> str:
    """A name that ends no comment."""
    return "".join(each if each.isalnum() or each in " _-.(),=+" else "?" for each in name)[:100]


def _launches(writer: _Writer, number: int, job: Job, arch: Arch) -> Iterator[tuple[Launch, tuple[_Result, ...]]]:
    """The launches of a job, and where each leaves its words."""
    counts: dict[Launch, dict[str, Count]] = {}
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


def stored(made: Firmware, job: int, program: Program, counts: Sequence[int],
           read: Callable[[int, int], np.ndarray]) -> Iterator[tuple[Blocks, ...]]:
    """What every launch of a job stored, transaction by transaction; read: gives 16-bit words of memory
    outside, from a byte address on."""
    for launch, results in made.launches[job]:
        words = {each.stream: read(each.address, counts[each.count] if each.words is None else each.words) for each in results}
        yield by_transaction(program, launch, words)
