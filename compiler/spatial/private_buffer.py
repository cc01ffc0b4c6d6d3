"""Make a private buffer in front of an array: its banks, and the request that gives elements in the order of the array.

The order is proved, not assumed. Of an array in step, the words that a launch takes come before those of later ones, so that
the FIFO of a port is enough: what a launch waits for never stands behind words for which there is no room. The sequence of
addresses, and of the ports to which they go, is then found as one loop nest, which is the request. Of an elastic array each
port takes a word or a fiber in an operation. Where a bank gives fibers to several ports one after the other, a PE may wait
for the last one while the first is full: their ports have skew buffers, in which a whole fiber has room. Elements that another
operand finds are gathered (`gathered`), each port's as its coordinates come.

Input:   a `Buffer`, a `Spatial` or an `Elastic`, one of its operands.
Output:  PrivateBuffer.
Errors:  UserError for formats that do not give what the array takes, elements that only values say, an order that is no nest,
         banks that no dimension gives, and tensors that do not fit.
Source:  Stellar III-E, IV-C, IV-D and Fig. 13 (order of a buffer against that of an array).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Annotated

import numpy as np

from ...hw.arch import elastic
from ...hw.arch.check import OneOf, PowerOfTwo, Tuple, Whole, check
from ...hw.arch.dma import WORD_BITS
from ...hw.arch.elastic import ALONG, Elastic
from ...hw.arch.errors import UserError
from ...hw.arch.private_buffer import (
    BITVECTOR,
    COMPRESSED,
    DENSE,
    FIBER,
    KINDS,
    LEAST_WORDS,
    LINKED,
    MOST_BANKS,
    MOST_DEPTH,
    MOST_LOOPS,
    MOST_SHARED,
    MOST_WORDS,
    WORD,
    Bank,
    Level,
    Loop,
    NodeSize,
    PrivateBuffer,
)
from ...hw.arch.spatial import Chain, Port, Shaped, Spatial
from ...hw.arch.token import DATA_BITS
from .gathered import asked
from .loops import loops

# Elements that are gathered at once in a bank: as many as there are cycles from a coordinate to its pair.
GATHERED = 10


@dataclass(frozen=True, init=False)
class Buffer:
    """How a private buffer stores an operand.

    Parameters
    ----------
    levels : "dense" for each dimension, outermost first; or for the last "compressed", "bitvector" or "linked list".
    words : int        Values of a tensor in a bank, a power of two from 16 to 16,384. The buffer holds two tensors.
    banks : int        Each gives a word or pair a cycle.
    order : tuple      The dimension of each level; by default 0, 1, ... as in the operand.
    operations : int   So many operations in a row have the same tensor, which is filled in once for them.
    node : int         Elements of a node of a linked list, a power of two up to 256; `words` has a place for each.
    wide : bool        All ports at once take a row of the last level, which has as many elements; the buffer is filled through
                       words of 64 bits. There is one bank.
    """

    levels: Annotated[tuple[str, ...], Tuple((OneOf(KINDS),), True)]
    words: Annotated[int, PowerOfTwo(LEAST_WORDS, MOST_WORDS)]
    banks: Annotated[int, Whole(1, MOST_BANKS)]
    order: Annotated[tuple[int, ...], Tuple((Whole(0, 63),), True)]
    operations: Annotated[int, Whole(1, MOST_SHARED)]
    node: NodeSize
    wide: bool

    def __init__(self, *levels: str, words: int = 4096, banks: int = 1, order: Sequence[int] = (), operations: int = 1,
                 node: int = 4, wide: bool = False) -> None:
        order = (tuple(order) if isinstance(order, list | tuple) else order) or tuple(range(len(levels)))
        given = {"levels": levels, "words": words, "banks": banks, "order": order, "operations": operations,
                 "node": node, "wide": wide}
        for name, value in given.items():
            object.__setattr__(self, name, value)
        check(self, "buffer")


@dataclass(frozen=True)
class _Taken:
    """What an array takes of a tensor in an operation: for each read its sink, and the element or the outer part of a fiber.

    dealt: the elements of a fiber go to so many sinks from there on.  begins: of each sink the coordinate from which it takes
    its fibers, where these are parted.  asks: for each sink the port by whose coordinates its elements are gathered.
    """

    form: str
    paired: bool
    sinks: tuple[str, ...]
    reads: tuple[tuple[int, tuple[int, ...]], ...]
    dealt: int = 0
    begins: tuple[int, ...] = ()
    asks: tuple[str, ...] = ()


def private_buffer(name: str, buffer: Buffer, array: Spatial | Elastic) -> PrivateBuffer:
    """The private buffer of an operand."""
    return _Maker(name, buffer, array).made()


class _Maker:
    """A buffer that is being made."""

    def __init__(self, name: str, buffer: Buffer, array: Spatial | Elastic) -> None:
        known = {each.name: each for each in array.operands}
        self._buffer, self._array, self._where = buffer, array, f"buffers: {name}"
        if name not in known:
            raise self._mistake(f"there is no operand {name}", f"choose from {', '.join(known)}")
        self._tensor: Shaped = known[name]
        levels, order = len(buffer.levels), sorted(buffer.order)
        dimensions = len(self._tensor.shape)
        if levels != dimensions:
            raise self._mistake(f"it has {levels} levels, but {name} has {dimensions} dimensions", "give a level for each")
        if order != list(range(dimensions)):
            raise self._mistake(f"its order is {', '.join(map(str, buffer.order))}",
                                f"give each of 0 to {dimensions - 1} once")
        if any(kind != DENSE for kind in buffer.levels[:-1]):
            raise self._mistake("a level above another one is not dense, but PEs take every fiber",
                                "make it dense, or choose another order")
        if self._tensor.bits > DATA_BITS:
            raise self._mistake(f"{name} has values of {self._tensor.bits} bits", f"use {DATA_BITS} or fewer")
        self._shape = tuple(self._tensor.shape[dimension] for dimension in buffer.order)
        self._kind = buffer.levels[-1]

    def _mistake(self, what: str, fix: str) -> UserError:
        return UserError(what, self._where, fix)

    def made(self) -> PrivateBuffer:
        taken = self._of_steps(self._array) if isinstance(self._array, Spatial) else self._of_fibers(self._array)
        axis, places = self._banked(taken)
        banks, sinks, asks = [], [], []
        begins = sorted(set(taken.begins)) or [0]
        for begin, end in pairwise([*begins, self._shape[-1]]):
            for nth in range(self._buffer.banks):
                mine = [sink for sink in range(len(taken.sinks)) if places[sink] == nth
                        and taken.begins[sink:sink + 1] in ((), (begin,))]
                banks.append(self._bank(taken, axis, nth, mine, end - begin))
                sinks.append(tuple(taken.sinks[sink] for sink in mine))
                asks.append(tuple(taken.asks[sink] for sink in mine if taken.asks))
        return PrivateBuffer(self._tensor.name, self._buffer.order, axis, tuple(banks), tuple(sinks), tuple(begins),
                             tuple(asks) if taken.asks else ())

    def _stored(self, element: Sequence[int]) -> tuple[int, ...]:
        """An element as levels have it."""
        return tuple(element[dimension] for dimension in self._buffer.order)

    def _of_steps(self, spatial: Spatial) -> _Taken:
        """The words of an array in step, those of earlier launches first."""
        if spatial.short and not self._buffer.wide:
            raise self._mistake("an operation that ends early takes fewer words than the buffer gives",
                                "leave out short, or make the buffer wide")
        if self._kind != DENSE:
            raise self._mistake(f"its last level is {self._kind}, but the array takes zeros of {self._tensor.name}, too",
                                "make it dense, or skip them")
        sources = [each for each in spatial.sources if each.tensor == self._tensor.name]
        words = {(port.tensor, port.position): port for port in spatial.inputs}
        keyed = []
        for sink, source in enumerate(sources):
            if isinstance(source, Chain):
                ports = [words[source.tensor, position] for position in reversed(source.positions)]
                found: list[tuple[int, Port, int]] = [(nth, port, 0) for nth, port in enumerate(ports)]
            else:
                found = [(spatial.launch(source.position, word.step), source, nth) for nth, word in enumerate(source.words)]
            keyed += [(key, sink, self._stored(port.words[nth].element)) for key, port, nth in found]
        keyed.sort(key=lambda each: each[:2])
        return _Taken(WORD, False, tuple(each.name for each in sources), tuple((sink, at) for _, sink, at in keyed))

    def _of_fibers(self, array: Elastic) -> _Taken:
        """The words or fibers of an elastic array, port after port."""
        name, last = self._tensor.name, self._buffer.order[-1]
        ports = [port for port in array.inputs if port.tensor == name]
        dimensions = len(self._tensor.shape)
        read = {(port.form, tuple(index for index, _ in port.at[:dimensions])) for port in ports}
        if len(read) > 1:
            raise self._mistake(f"{name} is read at several places of a point", "give it as two inputs")
        (form, indices), = read
        found = {each.index: each for each in array.found}
        if any((name, indices) in each.whole for each in array.found):
            raise self._mistake(f"fibers of {name} are whole, with their zeros, or empty, which no format says",
                                f"leave the buffer out, or skip where an element of {name} is 0")
        by_values = [index for index, position in ports[0].at if position != ALONG and index in found]
        if form == elastic.WORD and [indices[last]] == by_values and found[by_values[0]].reads == ((name, indices),):
            return self._dealt(ports, last)
        if by_values:
            raise self._mistake(f"which elements of {name} a port takes is found by values: {by_values[0]} is skipped",
                                f"choose a dataflow with {by_values[0]} in time, or leave the buffer out")
        if form == elastic.WORD:
            if self._kind != DENSE:
                raise self._mistake(f"its last level is {self._kind}, but the array takes zeros of {name}, too",
                                    "make it dense, or skip them")
            elements = [self._stored([at for _, at in port.at[:dimensions]]) for port in ports]
            return _Taken(WORD, True, tuple(port.name for port in ports), tuple(enumerate(elements)))
        if indices[last] != array.time:
            raise self._mistake(f"fibers go along {array.time}, which is not the last level",
                                f"put dimension {indices.index(array.time)} last in its order")
        reads = tuple((sink, self._stored([at for _, at in port.at[:dimensions]])[:-1]) for sink, port in enumerate(ports))
        if array.time in found and (name, indices) not in array.carried:
            if self._kind != DENSE:
                raise self._mistake(f"its last level is {self._kind}, but elements of {name} are taken by their {array.time}",
                                    "make it dense")
            return _Taken(FIBER, True, tuple(port.name for port in ports), reads, asks=asked(array, ports))
        if self._kind != DENSE and array.time not in found:
            raise self._mistake(f"its last level is {self._kind}, but the array takes every {array.time}",
                                f"make it dense, or skip {array.time} where {name} is 0")
        if self._kind == DENSE and array.time in found:
            raise self._mistake(f"its last level is dense, but the array takes no zeros of {name}", "make it compressed")
        begins = tuple(port.begin for port in ports)
        if not any(begins):
            begins = ()
        elif self._kind in (DENSE, BITVECTOR):
            raise self._mistake(f"its last level is {self._kind}, of which banks count coordinates, but fibers of {name} are "
                                "parted where work moves", "make it compressed, or a linked list")
        return _Taken(FIBER, True, tuple(port.name for port in ports), reads, 0, begins)

    def _dealt(self, ports: Sequence[elastic.Border], last: int) -> _Taken:
        """Words that are the elements of fibers without zeros, one after the other."""
        if self._kind == DENSE:
            raise self._mistake(f"its last level is dense, but the array takes no zeros of {self._tensor.name}",
                                "make it compressed")
        ordered = sorted(ports, key=lambda port: self._stored([at for _, at in port.at[:len(self._tensor.shape)]]))
        count = self._tensor.shape[last]
        assert len(ordered) % count == 0, "each fiber has a port for each of its coordinates"
        assert all(port.crd == port.at[last][0] for port in ordered), "coordinates that are found go along"
        reads = tuple((sink, self._stored([at for _, at in port.at[:len(self._tensor.shape)]])[:-1])
                      for sink, port in enumerate(ordered) if sink % count == 0)
        return _Taken(WORD, True, tuple(port.name for port in ordered), reads, count)

    def _banked(self, taken: _Taken) -> tuple[int, list[int]]:
        """By which level banks are chosen, and the bank of each port: the outermost level that gives every port one bank."""
        count = self._buffer.banks
        if count == 1:
            return 0, [0] * len(taken.sinks)
        for axis in range(len(taken.reads[0][1])):
            places: dict[int, set[int]] = {}
            for sink, at in taken.reads:
                for nth in range(max(1, taken.dealt)):
                    places.setdefault(sink + nth, set()).add(at[axis] % count)
            if all(len(each) == 1 for each in places.values()) and set().union(*places.values()) == set(range(count)):
                return axis, [min(places[sink]) for sink in range(len(taken.sinks))]
        raise self._mistake(f"there is no dimension by which each port of {self._tensor.name} would have one of {count} banks",
                            f"use as many as divide its {len(taken.sinks)} ports, or 1")

    def _bank(self, taken: _Taken, axis: int, nth: int, mine: list[int], extent: int) -> Bank:
        """extent: the coordinates of a fiber in this bank."""
        count, words = self._buffer.banks, self._buffer.words
        shape = [-(-(size - nth) // count) if at == axis and count > 1 else size
                 for at, size in enumerate((*self._shape[:-1], extent))]
        outer = shape[:-1] if taken.form == FIBER or taken.dealt else shape
        values, fibers = prod(shape), prod(shape[:-1])
        if self._kind == DENSE and values > words:
            raise self._mistake(f"a tensor has {values:,} values in a bank, which has {words:,} words",
                                f"give {1 << (values - 1).bit_length():,} words or more, up to {MOST_WORDS:,}, or more banks")
        if self._kind == COMPRESSED and fibers >= words:
            raise self._mistake(f"a tensor has {fibers:,} fibers in a bank, whose level has room for {words - 1:,}",
                                f"give {1 << fibers.bit_length():,} words or more, up to {MOST_WORDS:,}, or more banks")
        if self._kind == LINKED and fibers > MOST_WORDS:
            raise self._mistake(f"a tensor has {fibers:,} fibers in a bank", f"use {MOST_WORDS:,} or fewer, or more banks")
        across = -(-shape[-1] // DATA_BITS)
        bits = fibers * across
        if self._kind == BITVECTOR and bits > words:
            raise self._mistake(f"the bits of a tensor are {bits:,} words in a bank, whose level has room for {words:,}",
                                f"give {1 << (bits - 1).bit_length():,} or more, up to {MOST_WORDS:,}, or more banks")
        number = {sink: at for at, sink in enumerate(mine)}
        local = [(number[sink], [each // count if level == axis and count > 1 else each for level, each in enumerate(at)])
                 for sink, at in taken.reads if sink in number]
        numbers = [int(np.ravel_multi_index(at, outer)) if outer else 0 for _, at in local]
        if self._kind == BITVECTOR and numbers != list(range(fibers)):
            raise self._mistake(f"ports take the fibers of {self._tensor.name} in another order than they are stored, and "
                                "the values of bitvectors are counted", "make the last level compressed")
        if taken.asks:
            return self._gathering(shape, [number * shape[-1] for number in numbers])
        along = {DENSE: shape[-1], BITVECTOR: across}.get(self._kind) if taken.form == FIBER or taken.dealt else None
        places = [number * (along or 1) for number in numbers]
        points = np.array([[place, sink] for place, (sink, _) in zip(places, local)], np.int64)
        nest = loops(points)
        if nest is None or len(nest) >= MOST_LOOPS:
            name = self._tensor.name
            raise self._mistake(f"the array takes {name} in an order that is no loop nest of {MOST_LOOPS - 1} loops",
                                "choose another transform, or leave the buffer out")
        made = tuple(Loop(extent, stride, hop) for extent, (stride, hop) in nest)
        if along:
            made = (Loop(along, 1, 0), *made)
        depth = 2
        if taken.form == FIBER and len(mine) > 1:
            depth = shape[-1] + 1
            if depth > MOST_DEPTH:
                raise self._mistake(f"fibers of {shape[-1]:,} pairs wait in front of {len(mine)} ports",
                                    f"give {len(taken.sinks)} banks, one for each port")
        if self._buffer.wide:
            self._check_rows(made, len(mine), shape[-1], places[0], taken)
        kinds = [Level(kind, extent) for kind, extent in zip(self._buffer.levels, shape, strict=True)]
        return Bank(self._tensor.bits, tuple(kinds), words, places[0], local[0][0], made, len(mine), taken.form, taken.paired,
                    depth, self._buffer.operations, self._buffer.node, taken.dealt, self._buffer.wide,
                    self._is_short(taken.sinks))

    def _gathering(self, shape: Sequence[int], bases: Sequence[int]) -> Bank:
        """A bank of elements that are asked for; bases: of each port the address of its first one."""
        if self._buffer.wide:
            raise self._mistake("it is wide, which buffers of one bank and of arrays in step can be", "leave out wide")
        levels = tuple(Level(kind, extent) for kind, extent in zip(self._buffer.levels, shape, strict=True))
        depth = max(2, -(-GATHERED // len(bases)))
        return Bank(self._tensor.bits, levels, self._buffer.words, 0, 0, (), len(bases), FIBER, True, depth,
                    self._buffer.operations, self._buffer.node, bases=tuple(bases))

    def _is_short(self, sinks: Sequence[str]) -> bool:
        """Whether a tensor has a row for each launch of an operation that may end early; UserError if it has otherwise as many
        as are launched."""
        if not isinstance(self._array, Spatial) or not self._array.short or not self._buffer.wide:
            return False
        ports = [port for port in self._array.alone if port.name in sinks]
        counts = {len(port.words) for port in ports}
        if counts and counts != {self._array.launches}:
            raise self._mistake(f"its ports take {max(counts)} words in an operation, which may end early", "leave out short")
        return bool(counts)

    def _check_rows(self, made: Sequence[Loop], ports: int, last: int, first: int, taken: _Taken) -> None:
        """Whether all ports take a row, one after the other; UserError if they do not."""
        name, bits = self._tensor.name, self._tensor.bits
        if self._buffer.banks > 1 or taken.form == FIBER or taken.paired:
            raise self._mistake("it is wide, which buffers of one bank and of arrays in step can be", "leave out wide")
        if last != ports or made[:1] != (Loop(ports, 1, 1),) or first % ports \
                or any(loop.hop or loop.stride % ports for loop in made[1:]):
            raise self._mistake(f"its {ports} ports do not take a row of {last} elements of {name} at once",
                                "choose another order of levels, or leave out wide")
        if ports * bits % WORD_BITS or bits % 8:
            raise self._mistake(f"a row of {name} has {ports * bits} bits",
                                f"make it whole words of {WORD_BITS}, or leave out wide")
