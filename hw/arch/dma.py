"""The description of a DMA between memory outside and streams of elements, and what its requests say.

A request is a loop nest over elements of 1, 2 or 4 bytes, in memory at a base address and strides of its own. A loop has `span`
iterations, of which the first `there` are in memory: elements of the others are 0 when they are read, and are dropped when they
are written, so that the ragged edge of a matrix needs no room of its own.

Source: Stellar III-E (requests of spans and strides) and VI-C (one request at a time, or up to 16).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from .check import Misfit, PowerOfTwo, Whole, check

# An element is a word of a stream, of which a request names the bytes.
ELEMENT_BITS = 32
# A word of the bus, if nothing else is said.
WORD_BITS = 64
LEAST_BUS, MOST_BUS = WORD_BITS // 8, 32
MOST_SIZE = 2
SPAN_BITS, ADDRESS_BITS = 16, 32
MOST_SPAN = (1 << SPAN_BITS) - 1
# Ports have identities on the bus, which are of 4 bits.
MOST_PORTS, MOST_LOOPS = 16, 8
LEAST_BEATS, MOST_BEATS = 2, 64
# Of a list: bytes of the head of a node, and the loop of which the span is the number of nodes at most.
NODE_BYTES, NODES_AXIS = 8, 1
# Hosts begin arrays in memory at multiples of so many bytes.
LINE = 64


@dataclass(frozen=True)
class Dma:
    """A DMA.

    Parameters
    ----------
    ports : int       Requests that may be under way at once, each with a stream of elements each way.
    loops : int       Of a request.
    beats : int       Of a burst at most, words of the bus.
    room : int        Words of the bus of each port: those that were asked for, and those to be written.
    lists : bool      Requests may follow linked lists.
    wide : bool       Streams are as wide as the bus, and may be words of it, of which each has several elements.
    bus_bytes : int   Of a word of the bus.
    """

    ports: Annotated[int, Whole(1, MOST_PORTS)] = 4
    loops: Annotated[int, Whole(1, MOST_LOOPS)] = 4
    beats: Annotated[int, PowerOfTwo(LEAST_BEATS, MOST_BEATS)] = 8
    room: Annotated[int, PowerOfTwo(LEAST_BEATS, 4 * MOST_BEATS)] = 32
    lists: bool = False
    wide: bool = False
    bus_bytes: Annotated[int, PowerOfTwo(LEAST_BUS, MOST_BUS)] = LEAST_BUS

    def __post_init__(self) -> None:
        check(self, "dma", self._misfits)

    @property
    def word_bits(self) -> int:
        """Of a word of the bus."""
        return 8 * self.bus_bytes

    @property
    def stream_bits(self) -> int:
        """Of the streams of ports."""
        return self.word_bits if self.wide else ELEMENT_BITS

    def _misfits(self) -> Iterator[Misfit]:
        if self.room < self.beats:
            yield Misfit("room", f"is {self.room} words, but a burst has {self.beats}", f"give {self.beats} or more")
        if self.lists and self.loops <= NODES_AXIS:
            yield Misfit("loops", f"is {self.loops}, but the nodes of lists are counted by one of their own",
                         f"give {NODES_AXIS + 1} or more")
        if self.lists and self.bus_bytes != NODE_BYTES:
            yield Misfit("bus_bytes", f"is {self.bus_bytes}, but lists have heads of {NODE_BYTES} bytes, words of the bus",
                         f"give {NODE_BYTES}, or leave out lists")


@dataclass(frozen=True)
class Loop:
    """A loop of a request: iterations, how many of them are in memory, and bytes from one to the next."""

    span: Annotated[int, Whole(1, MOST_SPAN)]
    there: Annotated[int, Whole(0, MOST_SPAN)]
    stride: Annotated[int, Whole(-1 << ADDRESS_BITS - 1, (1 << ADDRESS_BITS - 1) - 1)]

    def __post_init__(self) -> None:
        check(self, "loop", self._misfits)

    def _misfits(self) -> Iterator[Misfit]:
        if self.there > self.span:
            yield Misfit("there", f"is {self.there} of {self.span} iterations", f"give {self.span} or less")


@dataclass(frozen=True)
class Request:
    """A transfer.

    Parameters
    ----------
    base : int       Byte address of the first element; a multiple of the bytes of an element, as all strides are.
    size : int       Bytes of an element are 2 to the power of this.
    stores : bool    From the stream to memory; else from memory to the stream.
    loops : tuple    Innermost first.
    linked : bool    The base is the first node of a linked list, whose elements are loaded (`hw.dma.list_walk`); loop
                     `NODES_AXIS` has as many iterations as there may be nodes, and the others say nothing.
    """

    base: Annotated[int, Whole(0, (1 << ADDRESS_BITS) - 1)]
    size: Annotated[int, Whole(0, MOST_SIZE)]
    stores: bool
    loops: tuple[Loop, ...]
    linked: bool = False

    def __post_init__(self) -> None:
        check(self, "request", self._misfits)

    def _misfits(self) -> Iterator[Misfit]:
        if not 1 <= len(self.loops) <= MOST_LOOPS:
            yield Misfit("loops", f"has {len(self.loops)}", f"give 1..{MOST_LOOPS}")
        low = (1 << self.size) - 1
        if self.base & low or any(loop.stride & low for loop in self.loops):
            yield Misfit("base", f"or a stride is no multiple of {low + 1} bytes", "align elements to their size")
        if self.linked and (self.stores or len(self.loops) <= NODES_AXIS or self.base % NODE_BYTES):
            yield Misfit("linked", "needs a load, a loop for nodes, and a first node at a multiple of 8 bytes",
                         "give all three")
