"""Writes the commands of a plan as C, as the processor in front of a machine does them.

Registers are written, words are brought and taken by the system DMA, and interrupts are waited for. What registers hold already
is not written again. What commands of a plan say of GLB tiles and bytes of the global buffer counts from the first ones of a
region. Where it is known which one that is they are written as they are in the machine; else the firmware adds where it lies,
which takes it a little longer.

Input:   commands of a plan, where a region lies.
Output:  `Line`s, what is noted, where results are.
Errors:  UserError where memory outside is too small, and for a machine whose host configures it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest

from ..compiler.ir.program import Program
from ..compiler.ir.transfer import WORD_BYTES
from ..hw.arch.errors import UserError
from ..hw.arch.glb import LINE_BYTES
from ..hw.arch.soc import CONFIGURED, CONTROLLER, FINISHED, named
from .commands import (
    Box,
    Command,
    Configure,
    Count,
    Landing,
    Read,
    Start,
    Wait,
    WaitTaken,
    WriteMemory,
    WriteRegister,
)
from .device import register_address, whole_lines
from .held import Held
from .lines import Note, Noted, line, together
from .outside import Memory, Result
from .pages import Line, fits, page_bytes
from .pieces import PIECE_CYCLES, PIECES, pieces
from .plan import Launch
from .region import Place
from .registers import queues
from .report import Mark
from .row_lines import RowLines, waits
from .rows import Rows, rows

# Far above what the system DMA takes for a byte.
CYCLES_PER_BYTE = 16

# What waits for transfers of each way.
WAYS = BROUGHT, TAKEN = "BROUGHT", "TAKEN"
# From so many bytes on the processor's memory has room for what takes words while they are stored, and for what comes again.
MEANWHILE_BYTES = 8192
# Words behind the last launch of a job: wait for what is taken, note the time, all is done.
LEAD = 3
# Registers, or of any region those of its controller and of its GLB tiles.
REGISTERS, GLB_REGISTERS = "REGISTERS", "GLB_REGISTERS"


class Writer:
    """Writes the commands of a chain of jobs as C.

    Parameters
    ----------
    place : Place        Where they run.
    fixed : bool         They run nowhere else.
    regions : int        How many there are.
    memory : Memory      Where words outside are.
    noted : Noted        Takes what is noted.
    chain : int          Its number.
    """

    def __init__(self, place: Place, fixed: bool, regions: int, memory: Memory, noted: Noted, chain: int) -> None:
        self.arch, self.memory = place.arch, memory
        self.jobs: list[list[Line]] = []
        self.limit = 0      # of cycles
        # Streams of a launch whose words are taken while they are stored, and of one that are counted, at most.
        self.streams, self.counted = 0, 0
        self._left: dict[Launch, tuple[Read, ...]] = {}     # of what went piece by piece the rest
        self._counted: dict[Launch, list[str]] = {}     # from and to where what was counted is still to be taken
        self._chain, self._noted, self._fixed, self.alone = chain, noted, fixed, regions == 1
        self._page, self.roomy = page_bytes(self.arch.system, regions), self.arch.system.ram_bytes >= MEANWHILE_BYTES
        self._first, self._region = (place.first, place.number) if fixed else (0, 0)
        self._notes, self._rows = 0, RowLines()
        self._held = Held(self.arch)
        # Transfers that were asked for, by what waits for their end, and how many of them were waited for.
        self.moves = dict.fromkeys(WAYS, 0)
        self._awaited = dict.fromkeys(WAYS, 0)

    def begin(self, number: int, otherwise: int, resumes: int | None = None) -> None:
        """A job begins; otherwise: the page where it goes on if this one is stopped, 0 if nothing comes after it. resumes: the
        job whose memories it restores; if that was stopped it is, too."""
        self.jobs.append([])
        self.add(f"JOB({number}u, {otherwise}u)", 2)
        if resumes is not None:
            self.add(f"RESUMES({resumes}u)")

    def back(self) -> list[Line]:
        """What stands in for the commands before, where these were not all done: transfers have ended, and registers hold what
        they would hold."""
        found = [line(BROUGHT), line(TAKEN)]
        return found + [self._set(name, value, glb_tile) for (name, glb_tile), value in self._held.values.items()]

    def mark(self, *marks: Mark) -> None:
        """The next events, after what is written so far."""
        noted = self.add("MARK", notes=1, remark=", ".join(f"{mark.what} {mark.launch}" for mark in marks))
        self._noted.marks.extend((mark, noted, None) for mark in marks)

    def settle(self, needs: Mapping[str, int] | None = None) -> None:
        """Wait for the transfers that go on; needs: for so many of the first ones of each way."""
        # What was taken went long ago, mostly: what is brought is seen last, so that it is acted upon at once.
        for end in (TAKEN, BROUGHT):
            wanted = self.moves[end] if needs is None else needs[end]
            if wanted > self._awaited[end]:
                later = self.moves[end] - wanted
                self.add(f"{end}_BUT({later}u)" if later else end)
                self._awaited[end] = wanted

    def plain(self, source: str, destination: str, size: int, end: str) -> None:
        """A transfer of bytes that are one row, and what waits for its end."""
        brings = end == BROUGHT
        where = f"{source}, {destination}, {size:#x}u"
        if not self._fixed:
            self.move(f"{'BRING' if brings else 'TAKE'}({where})", 4, end)
            return
        text = f"SET_{'BRING' if brings else 'TAKE'}({where})"
        self.jobs[-1].append(line(text, 6, behind=REGISTERS, brings=int(brings), takes=int(not brings)))
        self.moves[end] += 1

    def move(self, line: str, words: int, end: str) -> None:
        """A transfer, and what waits for its end."""
        self.add(line, words)
        self.moves[end] += 1

    def both_ways(self, first: int, second: int) -> None:
        """Let commands of the job from these two on alternate, as each way has room for few transfers that wait; what stands
        behind something together stays so."""
        lines = self.jobs[-1]
        one, other = (together(some) for some in (lines[first:second], lines[second:]))
        nothing: list[Line] = []
        lines[first:] = [line for pair in zip_longest(one, other, fillvalue=nothing) for some in pair for line in some]

    def add(self, command: str, words: int = 1, notes: int = 0, remark: str = "", leads: int = 0) -> Note:
        """A command of so many words, which notes so many, with so many words behind it in its page; the first note."""
        self.jobs[-1].append(line(command, words, notes, remark, leads=leads))
        self._notes += notes
        return self._chain, self._notes - notes

    def register(self, name: str, value: int, glb_tile: int | None) -> None:
        """A write, unless the register holds the value."""
        value &= 0xFFFFFFFF
        if self._held.writes(name, value, glb_tile):
            self.jobs[-1].append(self._set(name, value, glb_tile))

    def _set(self, name: str, value: int, glb_tile: int | None) -> Line:
        """A write to a register, in words of the header."""
        register_address(self.arch, name, glb_tile)     # there is one
        if glb_tile is None:
            where, behind = f"SARDONYX_REGION({self._region}) + " if self._region else "", REGISTERS
        else:
            where, behind = f"SARDONYX_GLB({self._tile(glb_tile)}) + ", REGISTERS if self._fixed else GLB_REGISTERS
        return line(f"SET({where}SARDONYX_{'' if glb_tile is None else 'GLB_'}{name.upper()}, {value:#x}u)", 2, behind=behind)

    def bring(self, address: int, box: Box) -> None:
        """Rows of an image as they lie, to a byte address of the global buffer."""
        outside = self.memory.image(box.image)
        for each in rows(box):
            self._ask(each, outside + each.outside, self._byte(address + each.glb), (each.outside_pitch, each.glb_pitch),
                      BROUGHT)

    def take(self, address: int, landing: Landing, outside: int) -> None:
        """Rows from a byte address of the global buffer on, to their places in an image outside."""
        for each in rows(landing):
            self._ask(each, self._byte(address + each.glb), outside + each.outside, (each.glb_pitch, each.outside_pitch), TAKEN)

    def _ask(self, each: Rows, source: int, destination: int, pitches: tuple[int, int], end: str) -> None:
        """A transfer of rows."""
        if each.number == 1:
            self.plain(f"{source:#x}u", f"{destination:#x}u", each.size, end)
        else:
            self._rows.add(self.jobs[-1], end == BROUGHT, each, pitches, source, destination)
            self.moves[end] += 1
        self.limit += CYCLES_PER_BYTE * each.number * each.size

    def write(self, commands: Iterable[Command], ends: Mark | None = None, needs: Mapping[str, int] | None = None) -> None:
        """Commands that read no words; ends: the event that is waited for. needs: of what starts, as of `settle`."""
        for command in commands:
            match command:
                case WriteRegister(name, value, glb_tile):
                    if queues(command):
                        self.settle(needs)
                    self.register(name, value, glb_tile)
                case WriteMemory(address, words, box):
                    if box is not None:
                        self.bring(address, box)
                    elif len(words):
                        lines = whole_lines(words)
                        outside = self.memory.hold(lines)
                        self.plain(f"{outside:#x}u", f"{self._byte(address):#x}u", len(lines), BROUGHT)
                case Start():
                    self.settle(needs)
                    self.register("control", named(CONTROLLER)["control"].word(**command.commands), None)
                    if command.configure:
                        assert ends is not None, "what is waited for is an event"
                        self.mark(replace(ends, what="streams"), *[replace(ends, what="start")] * command.runs)
                case Wait(limit, configure):
                    if not configure:
                        # Not behind it, where the machine would wait, too.
                        self.settle(needs)
                    self.limit += limit
                    assert ends is not None, "what is waited for is an event"
                    whose, note = self.add(f"WAIT({CONFIGURED if configure else FINISHED}u)", notes=2,
                                           remark=f"{ends.what} {ends.launch}")
                    self._noted.marks.append((ends, (whose, note), (whose, note + 1)))
                case WaitTaken(_, loads, stores):
                    assert ends is not None, "what is waited for is an event"
                    noted = self.add(f"WAIT_TAKEN({self._mask(loads):#x}u, {self._mask(stores):#x}u)", 2, 1,
                                     f"{ends.what} {ends.launch}")
                    self._passes(command, noted, ends)
                case Count() | Read():
                    raise AssertionError("what is counted or read needs a place")
                case Configure():
                    raise UserError("firmware configures by DMAs, and this machine has none", f"machine '{self.arch.name}'",
                                    "give it glb.configuration_dma")

    def ended(self, launch: Launch, program: Program, ends: Mark, follows: bool) -> Iterator[Result]:
        """Wait for the end of a launch, and see to what it gave of streams that are counted; where these will be.

        follows: another launch starts at once, so that what counts begins anew. Then words are counted here, and `read` takes
        them; else they are taken while they are stored, where the processor's memory has room for what does that.
        """
        room = {each.name: each.room for each in program.stores}
        addresses = {each.stream: each.address for each in launch.reads if isinstance(each, Read)}
        counts = [each for each in launch.ends if isinstance(each, Count)]
        places = [self.memory.room(_whole(room[each.stream])) for each in counts]
        where = [f"{self._byte(addresses[each.stream]):#x}u, {place:#x}u" for each, place in zip(counts, places, strict=True)]
        if counts and not follows and self.roomy and fits(self._page, 2 + 3 * len(counts) + LEAD, 3 + len(counts)):
            notes = self._meanwhile(launch, [f"{self._tile(each.glb_tile)}u, {text}"
                                             for each, text in zip(counts, where, strict=True)], ends)
        else:
            needs = dict(self.moves)
            # Before a run begins what its stores count is of another one.
            if launch.joins and not launch.goes_on:
                self.early(launch, program, min(PIECES, max(1, launch.loaded // len(program.loads) // PIECE_CYCLES)))
            self.write((each for each in launch.ends if not isinstance(each, Count)), ends, needs)
            notes = [self.add(f"COUNT{'_BEFORE' * each.before}({self._tile(each.glb_tile)}u, {place}u)", notes=1)
                     for place, each in enumerate(counts)]
            self.counted = max(self.counted, len(counts))
            self._counted[launch] = where
        for each, place, noted in zip(counts, places, notes, strict=True):
            self._noted.counts.append(noted)
            yield Result(each.stream, place, None, len(self._noted.counts) - 1)

    def early(self, launch: Launch, program: Program, parts: int) -> None:
        """Take rows that a launch gives as they are stored, all but the last of so many parts; the first tile of a chain counts
        for all. None where the processor's memory has no room for what does that."""
        if not self.roomy:
            return
        counts = {each.name: self._tile(each.column // self.arch.glb.columns_per_tile) for each in program.stores}
        found = [pieces(each, parts) for each in launch.reads if isinstance(each, Read)]
        for pieced in zip_longest(*(early for early, _ in found)):
            some = [piece for piece in pieced if piece is not None]
            for wait in waits([(counts[piece.read.stream], piece.stored) for piece in some]):
                self.add(wait, 2)
            for piece in some:
                landing = piece.read.landing
                assert landing is not None, "rows belong somewhere"
                self.take(piece.read.address, landing, self.memory.result(landing.image))
        self._left[launch] = tuple(left for _, left in found)

    def _meanwhile(self, launch: Launch, where: Sequence[str], ends: Mark) -> list[Note]:
        """Take what streams of a launch of a run give while it computes, so that few words are left when it ends; notes of how
        many they are."""
        wait = launch.ends[0]
        assert isinstance(wait, Wait | WaitTaken), "an end is waited for before words are counted"
        masks = ", ".join(f"{self._mask(tiles):#x}u" for tiles in ((wait.loads, wait.stores) if isinstance(wait, WaitTaken)
                                                                   else ((), ())))
        chain, first = self.add(f"TAKE_MEANWHILE({len(where)}u, {masks}), {', '.join(f'STREAM({each})' for each in where)}",
                                2 + 3 * len(where), 2 + len(where), f"{ends.what} {ends.launch}",
                                0 if launch.goes_on else LEAD)
        self.streams = max(self.streams, len(where))
        self.moves[TAKEN] += len(where)
        if isinstance(wait, WaitTaken):
            self._passes(wait, (chain, first), ends)
        else:
            self.limit += wait.limit
            self._noted.marks.append((ends, (chain, first), (chain, first + 1)))
        return [(chain, first + 2 + number) for number in range(len(where))]

    def _passes(self, wait: WaitTaken, noted: Note, ends: Mark) -> None:
        """What ends there is what the next launch begins with."""
        self.limit += wait.limit
        self._noted.marks.extend([(ends, noted, None), (replace(ends, what="start", launch=ends.launch + 1), noted, None)])

    def _mask(self, tiles: Iterable[int]) -> int:
        """GLB tiles, a bit each."""
        return sum(1 << self._tile(tile) for tile in tiles)

    def read(self, launch: Launch) -> Iterator[Result]:
        """Take what a launch gave of streams that were counted, and of those that need not be; where these will be."""
        for place, where in enumerate(self._counted.pop(launch, ())):
            self.move(f"TAKE_COUNTED({place}u, {where})", 3, TAKEN)
        for each in self._left.pop(launch, launch.reads):
            assert isinstance(each, Read), "words are read"
            if each.landing is not None:
                image = each.landing.image
                place = self.memory.result(image)
                self.take(each.address, each.landing, place)
                yield Result(each.stream, place, image.size, 0, image)
            elif each.words is not None:
                size = _whole(each.words)
                place = self.out(each.address, size) if size else self.memory.room(size)
                yield Result(each.stream, place, each.words, 0)

    def out(self, address: int, size: int) -> int:
        """Take bytes from an address of the global buffer on; where they will be."""
        place = self.memory.room(size)
        self.plain(f"{self._byte(address):#x}u", f"{place:#x}u", size, TAKEN)
        return place

    def _tile(self, glb_tile: int) -> int:
        """The number of a GLB tile for the firmware."""
        return self._first + glb_tile

    def _byte(self, address: int) -> int:
        """An address in the global buffer for the firmware."""
        return self._first * self.arch.glb.tile_bytes + address


def _whole(words: int) -> int:
    """The bytes of so many words, up to a whole line."""
    return -(-words * WORD_BYTES // LINE_BYTES) * LINE_BYTES
