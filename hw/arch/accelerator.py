"""The description of a spatial accelerator: an array with buffers on all sides, a DMA, and commands.

Streams that fill private buffers come first, then those of results, and the one of a core's memory; a command names them by
their index.

Source: Stellar IV-A, Fig. 8, and V.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import prod
from typing import Annotated, Any

from .chain import ChainedBank
from .check import Identifier, Misfit, OneOf, PowerOfTwo, Tuple, Whole, check
from .command import STALLS
from .dma import ELEMENT_BITS, MOST_SIZE, MOST_SPAN, WORD_BITS, Dma
from .elastic import Elastic
from .level_arrays import LevelArray, chain_arrays, level_arrays
from .private_buffer import BITVECTOR, COMPRESSED, DENSE, KINDS, LINKED, MOST_SHARED, Loop, PrivateBuffer
from .reduction import ADD
from .spatial import Shaped, Spatial
from .token import DATA_BITS
from .vectored import Side, Vectored
from .written import Written
from .written_chain import ChainedWritten

# A mask of streams has a bit for all of them besides.
MOST_STREAMS = 31
# Arrays in front of the values of linked lists: heads, links, coordinates; of up to four such levels.
MOST_BEFORE = 12
MOST_WORDS = 1 << 14
MOST_RESULT_PORTS = 256
# Fibers of a tensor of vectors.
MOST_FIBERS = 1 << 12
# Requests that vectors need at once: coordinates and values of both operands, and sums.
VECTOR_PORTS = 5
# The stream that fills the memory of a core.
RAM = "ram"


@dataclass(frozen=True)
class Collected:
    """How the elements of a result leave: a port of the array after the other, as a loop nest says.

    Parameters
    ----------
    tensor : Shaped
    order : tuple       The dimensions of the tensor, outermost first, in which elements leave.
    ports : tuple       Of the array.
    words : int         Of each port in an operation.
    first : int         The port of the first element.
    loops : tuple       Innermost first; where to go on is their `hop`.
    operations : int    Operations in a row that are one result; sums are of several of these.
    wide : bool         A row, a word of each port, leaves at once; the first loop is along it.
    """

    tensor: Shaped
    order: Annotated[tuple[int, ...], Tuple((Whole(0, 63),), True)]
    ports: Annotated[tuple[str, ...], Tuple((Identifier(),), True)]
    words: Annotated[int, Whole(1, MOST_WORDS)]
    first: Annotated[int, Whole(0, MOST_RESULT_PORTS - 1)]
    loops: tuple[Loop, ...]
    operations: Annotated[int, Whole(1, MOST_SHARED)] = 1
    wide: bool = False

    def __post_init__(self) -> None:
        check(self, "result", self._misfits)

    def _misfits(self) -> Iterator[Misfit]:
        if not 1 <= len(self.ports) <= MOST_RESULT_PORTS:
            yield Misfit("ports", f"has {len(self.ports)}", f"give 1..{MOST_RESULT_PORTS}")
        if self.tensor.bits > ELEMENT_BITS:
            yield Misfit("tensor", f"has {self.tensor.bits} bits", f"give {ELEMENT_BITS} or fewer")
        if prod(self.tensor.shape) != self.words * len(self.ports):
            yield Misfit("words", f"are {self.words} of {len(self.ports)} ports, but {self.tensor.name} has "
                         f"{prod(self.tensor.shape)} elements", "give those of each port")
        if self.held > MOST_WORDS:
            yield Misfit("operations", f"are {self.operations} of {self.words:,} words of a port",
                         f"give {MOST_WORDS:,} words or fewer in all")
        row = Loop(len(self.ports), 0, 1)
        if self.wide and (self.loops[:1] != (row,) or self.first or any(loop.hop for loop in self.loops[1:])
                          or len(self.ports) * (8 << MOST_SIZE) % WORD_BITS):
            yield Misfit("wide", f"has no rows of {len(self.ports)} ports that are whole words of {WORD_BITS} bits",
                         "leave it out")

    def sizes(self, word_bits: int) -> tuple[int, ...]:
        """Of rows: logarithms of the bytes of elements of which a row is whole words of the bus."""
        return tuple(size for size in range(MOST_SIZE + 1) if len(self.ports) * (8 << size) % word_bits == 0)

    @property
    def held(self) -> int:
        """Words of a port in a result."""
        return self.words * self.operations

    @property
    def elements(self) -> int:
        """Of an operation."""
        return prod(self.tensor.shape)


@dataclass(frozen=True)
class Stream:
    """A stream between the DMA and a buffer.

    Parameters
    ----------
    name : str
    bits : int           Of an element.
    elements : int       Of a tensor; if they are counted, at most.
    is_result : bool     It goes to memory.
    wide : bool          It has whole words of the bus.
    is_counted : bool    A tensor has as many elements as an array before it says: segments, bits or heads.
    before : int         Of the values of a tensor that is several arrays: how many stand in front, all moved by one request.
    kind : str           Of the last level of its tensor that is not dense, if there is one.
    counts : bool        It says how many elements those behind it have, though it is counted itself by a level in front.
    """

    name: Annotated[str, Identifier()]
    bits: Annotated[int, Whole(1, ELEMENT_BITS)]
    elements: Annotated[int, Whole(1, 1 << 20)]
    is_result: bool
    wide: bool = False
    is_counted: bool = False
    before: Annotated[int, Whole(0, MOST_BEFORE)] = 0
    kind: Annotated[str, OneOf(KINDS)] = DENSE
    counts: bool = False

    def __post_init__(self) -> None:
        check(self, "stream")


@dataclass(frozen=True)
class Accelerator:
    """A spatial accelerator.

    Parameters
    ----------
    name : str           Of the module.
    array : Spatial | Elastic | Vectored
    buffers : tuple      One for each operand; of vectors none, whose fibers are compressed tensors in memory.
    results : tuple      One for each result, `Collected` or, for fibers, `Written`.
    dma : Dma
    queue : int          Commands that wait at most.
    ram_bytes : int      Memory of a RISC-V core that gives the commands; 0: there is none, and they come over a bus.
    watchdog : bool      Commands may say how long nothing may move, until what waits is given up.
    counters : bool      Registers say in how many cycles streams wait, and for what.
    """

    name: Annotated[str, Identifier()]
    array: Spatial | Elastic | Vectored
    buffers: tuple[PrivateBuffer, ...]
    results: tuple[Collected | Written, ...]
    dma: Dma
    queue: Annotated[int, PowerOfTwo(2, 128)] = 16
    ram_bytes: Annotated[int, PowerOfTwo(1 << 10, 1 << 17, zero=True)] = 0
    watchdog: bool = False
    counters: bool = False

    def __post_init__(self) -> None:
        check(self, "accelerator", self._misfits)

    def _misfits(self) -> Iterator[Misfit]:
        if isinstance(self.array, Vectored):
            yield from self._of_vectors(self.array)
        elif missing := {each.name for each in self.array.operands} - {each.tensor for each in self.buffers}:
            yield Misfit("buffers", f"has none for {', '.join(sorted(missing))}", "give each operand a private buffer")
        if {each.name for each in self.array.results} != {each.tensor.name for each in self.results}:
            yield Misfit("results", "are not those of the array", "collect each result once")
        if isinstance(self.array, Spatial) and self.array.short and not (
                self.launches and len(self.rows) == len(self.results)):
            yield Misfit("array", "has operations that end early, which rows can alone",
                         "make buffers and results wide, or leave out short")
        if self.launches and any(len(shape) != 2 for shape in (
                *(each.tensor.shape for each in self.results),
                *(bank.levels for buffer in self.buffers for bank in buffer.banks if bank.short))):
            yield Misfit("array", "has operations that end early, of tensors that are no matrices", "leave out short")
        if len(self.streams) > MOST_STREAMS:
            yield Misfit("buffers", f"and results have {len(self.streams)} streams", f"use fewer banks, {MOST_STREAMS} in all")
        if any(each.wide for each in self.streams) and not self.dma.wide:
            yield Misfit("dma", "moves elements, but streams are wide", "make it wide, too")
        yield from self._of_bus()

    def _of_bus(self) -> Iterator[Misfit]:
        """Rows of which the bus brings or takes several in a word."""
        words = self.dma.word_bits
        rows = {buffer.tensor: bank.row_bits for buffer in self.buffers for bank in buffer.banks if bank.wide}
        rows |= {each.tensor.name: len(each.ports) * (8 << MOST_SIZE) for each in self.rows}
        narrow = {name: bits // 8 for name, bits in rows.items() if bits % words}
        if narrow:
            name = min(narrow, key=lambda each: (narrow[each], each))
            yield Misfit("dma", f"has a bus of {self.dma.bus_bytes} bytes, but a row of {name} has at most {narrow[name]}, no "
                         "whole number of its words", f"give bus_bytes {narrow[name] & -narrow[name]} or fewer")

    def _of_vectors(self, array: Vectored) -> Iterator[Misfit]:
        if self.buffers:
            yield Misfit("buffers", "are of an array whose fibers come as vectors", "leave them out")
        if self.dma.ports < VECTOR_PORTS:
            yield Misfit("dma", f"has {self.dma.ports} ports, and vectors need coordinates and values of both operands at "
                         "once, and sums", f"give {VECTOR_PORTS} or more")
        if array.kind.places > MOST_SPAN:
            yield Misfit("array", f"has {array.kind.places:,} sums, and a request moves {MOST_SPAN:,} elements",
                         "give it fewer banks or words")
        if array.fibers > MOST_FIBERS:
            yield Misfit("array", f"has {array.fibers:,} fibers of an operand",
                         f"give smaller bounds: {MOST_FIBERS:,} or fewer")
        for each in array.operands:
            if each.bits > DATA_BITS:
                yield Misfit("array", f"has {each.bits} bits in a value of {each.name}", f"give {DATA_BITS} or fewer")

    @property
    def streams(self) -> tuple[Stream, ...]:
        """In the order of their indices."""
        if isinstance(self.array, Vectored):
            fills = [stream for side in (self.array.left, self.array.right) for stream in _of_fibers(self.array, side)]
        else:
            fills = [stream for buffer in self.buffers for n in range(len(buffer.banks)) for stream in _fills(buffer, n)]
        results = [stream for each in self.results for stream in (
            _arrays(each) if isinstance(each, Written) else
            [Stream(each.tensor.name, each.tensor.bits, each.elements, True, each.wide)])]
        ram = [Stream(RAM, ELEMENT_BITS, self.ram_bytes // 4, False)] if self.ram_bytes else []
        return *fills, *results, *ram

    @property
    def rows(self) -> tuple[Collected, ...]:
        """The results of rows."""
        return tuple(each for each in self.results if isinstance(each, Collected) and each.wide)

    @property
    def launches(self) -> int:
        """Of an operation at most, where they may be fewer; else 0."""
        return max((bank.rows for buffer in self.buffers for bank in buffer.banks if bank.short), default=0)

    @property
    def least_launches(self) -> int:
        """Of an operation that ends early."""
        return self.array.cut if isinstance(self.array, Spatial) else 0

    @property
    def shared(self) -> int:
        """Operations at most that share a tensor of a wide buffer, or are one result of rows; else 1."""
        banks = [bank.operations for buffer in self.buffers for bank in buffer.banks if bank.wide]
        return max(banks + [each.operations for each in self.rows], default=1)

    @property
    def sums(self) -> bool:
        """Whether results may be sums of several operations: those of other reductions are not added."""
        return not isinstance(self.array, Vectored) and (not isinstance(self.array, Elastic) or self.array.reduction == ADD)

    @property
    def pairs(self) -> dict[int, int]:
        """Of streams of values that come in pairs: the logarithm of the bytes of a pair, by their index."""
        return {n: (each.bits // 8).bit_length() - 1 for n, each in enumerate(self.streams)
                if isinstance(self.array, Vectored) and each.before}

    @property
    def counts(self) -> bool:
        """Whether the elements of some tensor are counted."""
        return any(stream.is_counted for stream in self.streams)

    @property
    def chained(self) -> tuple[str, ...]:
        """Operands and results with levels behind each other that all go on behind as many elements as a restart says: not
        operands whose segments say it."""
        counted = (buffer.tensor for buffer in self.buffers for bank in buffer.banks if isinstance(bank, ChainedBank)
                   and any(link.kind in (BITVECTOR, LINKED) for link in bank.links))
        return *dict.fromkeys(counted), *(each.tensor.name for each in self.results if isinstance(each, ChainedWritten))

    def counter(self, n: int) -> int:
        """The stream that says how many elements the nth one has, which is counted."""
        streams = self.streams
        n -= 1
        while streams[n].is_counted and not streams[n].counts:
            n -= 1
        return n

    def counted_by(self, n: int) -> tuple[int, ...]:
        """What counts the elements of the nth stream, what counts these, and so on to what has a fixed number."""
        found = [self.counter(n)]
        while self.streams[found[-1]].is_counted:
            found.append(self.counter(found[-1]))
        return tuple(found)

    @property
    def stalls(self) -> Mapping[str, str]:
        """What is counted, and what each says."""
        return STALLS if self.counters else {}

    @property
    def fingerprint(self) -> int:
        """32 bits that identify it."""
        return int.from_bytes(hashlib.sha256(repr(self).encode()).digest()[:4], "big")

    def to_json(self) -> dict[str, Any]:
        """Everything, as plain values."""
        return asdict(self) | {"streams": [asdict(each) for each in self.streams]}


def _fills(buffer: PrivateBuffer, nth: int) -> list[Stream]:
    """The streams of a bank: what counts its elements first, then these."""
    bank = buffer.banks[nth]
    if isinstance(bank, ChainedBank):
        kind = [link.kind for link in bank.links if link.kind != DENSE][-1]
        chained = chain_arrays(bank.links, bank.words, DATA_BITS)
        return [_stream(buffer.name(nth, each.name), each, chained, False, kind) for each in chained]
    if bank.kind == DENSE:
        return [Stream(buffer.name(nth, "values"), bank.bits if bank.wide else DATA_BITS, bank.values, False, bank.wide)]
    arrays = level_arrays(bank.kind, bank.fibers, bank.levels[-1].extent, bank.words, bank.node, DATA_BITS)
    return [_stream(buffer.name(nth, each.name), each, arrays, False, bank.kind) for each in arrays]


def _of_fibers(array: Vectored, side: Side) -> list[Stream]:
    """The streams of an operand of vectors: coordinates are places, of two elements each, as values are."""
    segments, coordinates, values = level_arrays(COMPRESSED, array.fibers, array.kind.places, MOST_SPAN, 1, DATA_BITS)
    # Elements come in pairs.
    arrays = segments, coordinates._replace(bits=2 * DATA_BITS), values._replace(bits=2 * array.value_bits(side))
    return [_stream(f"{side.tensor.name}_{each.name}", each, arrays, False, COMPRESSED) for each in arrays]


def _arrays(result: Written) -> list[Stream]:
    """The streams of a result in a format."""
    arrays = result.stored_as
    kind = result.kind
    if isinstance(result, ChainedWritten):
        kind = [link.kind for link in result.links if link.kind != DENSE][-1]
    return [_stream(result.name(each.name), each, arrays, True, kind) for each in arrays]


def _stream(name: str, array: LevelArray, arrays: Sequence[LevelArray], is_result: bool, kind: str) -> Stream:
    """The stream of one of the arrays of a tensor; a request for the last one moves all."""
    before = len(arrays) - 1 if array is arrays[-1] else 0
    return Stream(name, array.bits, array.elements, is_result, is_counted=array.is_counted, before=before, kind=kind,
                  counts=array.counts)
