"""What private buffers give to the ports of an array, from what they are filled with: words in order, without time."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from ...hw.arch.chain import ChainedBank
from ...hw.arch.dma import WORD_BITS
from ...hw.arch.logic import wrapped
from ...hw.arch.private_buffer import BITVECTOR, COMPRESSED, FIBER, LINKED, NO_NODE, STREAMS, Bank, PrivateBuffer
from ...hw.arch.requested import requested
from ...hw.arch.token import DATA_BITS, MAYBE, is_control, stop
from .level_chain import read_chain

# A coordinate, a token, and a value.
Pair = tuple[int, int]
END: Pair = stop(0), 0
# The arrays of a level.
STORED = {COMPRESSED: ("segments", "coordinates"), BITVECTOR: ("bits",), LINKED: ("heads", "links", "coordinates")}
NOTHING: Pair = MAYBE, 0


def given(buffer: PrivateBuffer, fills: Mapping[str, Sequence[int]], operations: int,
          known: Mapping[str, Sequence[Pair]] | None = None, whole: bool = False) -> dict[str, list[Pair]]:
    """The pairs of every port that a buffer feeds; of a port that takes plain words, their coordinates do not count.

    known: of a buffer that gathers, the pairs of the ports by whose coordinates it does.  whole: those of operations, too, that
    the last tensor serves beyond so many, as far as is known what they ask for.
    """
    found: dict[str, list[Pair]] = {}
    for nth, (bank, names) in enumerate(zip(buffer.banks, buffer.sinks, strict=True)):
        streams = {name: _Rows(fills[buffer.name(nth, name)], bank) if bank.wide else _Blocks(fills[buffer.name(nth, name)])
                   for name in bank.streams}
        sinks: list[list[Pair]] = [[] for _ in names]
        asked = [iter((known or {})[port]) for port in buffer.asks[nth]] if bank.bases else []
        if buffer.others:
            others = (iter((known or {})[port]) for port in buffer.others[nth])
            asked = [_met(x, y, buffer.either) for x, y in zip(asked, others, strict=True)]
        rows = [iter((known or {})[port]) for port in buffer.chosen[nth]] if buffer.chosen else []
        more = -operations % bank.operations if whole else 0
        for operation in range(operations + more):
            if operation % bank.operations == 0:
                arrays = _arrays(bank, streams)
                fibers = _fibers(bank, arrays)
            if bank.whole:
                for at, (base, coordinates) in enumerate(zip(bank.bases, asked, strict=True)):
                    sinks[at] += (pair for crd, _ in itertools.islice(coordinates, 1)
                                  for pair in _fiber(bank, arrays, base, crd))
                continue
            if bank.bases:
                elements = _elements(bank, arrays)
                for at, (base, coordinates) in enumerate(zip(bank.bases, asked, strict=True)):
                    row = next(rows[at], NOTHING)[0] if rows else 0
                    sinks[at] += _gathered(bank, elements, base, row, coordinates)
                continue
            for place, sink in requested(bank):
                pairs = fibers(place)
                if not bank.dealt:
                    sinks[sink] += counted(bank, pairs)
                    continue
                words = [*pairs[:-1], *[NOTHING] * (bank.dealt + 1 - len(pairs))]
                for nth, word in enumerate(words):
                    sinks[sink + nth].append(word)
        assert all(each.is_over for each in streams.values()), f"{buffer.tensor} is filled with more than it gives"
        found |= dict(zip(names, sinks))
    return found


def counted(bank: Bank, pairs: Iterable[Pair]) -> Iterator[Pair]:
    """Pairs whose coordinates a bank counts from the first one of its fibers on."""
    return ((crd if is_control(crd) else crd + bank.begin, value) for crd, value in pairs)


def walked(bank: Bank, fills: Mapping[str, Sequence[int]]) -> Iterator[Pair]:
    """The pairs of all fibers of all tensors of a bank, as they are stored."""
    streams: dict[str, _Blocks | _Rows] = {name: _Blocks(fills[name]) for name in bank.streams}
    while not streams["values"].is_over:
        read = _fibers(bank.walked, _arrays(bank, streams))
        for place, _ in requested(bank.walked):
            yield from read(place)


def _arrays(bank: Bank, streams: Mapping[str, _Blocks | _Rows]) -> dict[str, Sequence[int]]:
    """The arrays of the next tensor; of a level above another one with its number behind their names."""
    found: dict[str, Sequence[int]] = {}
    for nth, level in enumerate(bank.levels):
        suffix = "" if nth == len(bank.levels) - 1 else str(nth)
        for name in STORED.get(level.kind, ()):
            found[name + suffix] = streams[STREAMS[level.kind] + suffix].next()
    return found | {"values": streams["values"].next()}


def _elements(bank: Bank, arrays: Mapping[str, Sequence[int]]) -> dict[int, int]:
    """The elements of a tensor that are stored, by their addresses in a dense one."""
    if not bank.matched:
        return dict(enumerate(arrays["values"]))
    walked, extent = bank.walked, bank.levels[-1].extent
    read = _fibers(walked, arrays)
    return {number * extent + crd: value for number, (place, _) in enumerate(requested(walked))
            for crd, value in read(place)[:-1]}


def _fibers(bank: Bank, arrays: Mapping[str, Sequence[int]]) -> Callable[[int], list[Pair]]:
    """What reads the fibers or words of a tensor."""
    if isinstance(bank, ChainedBank):
        return partial(read_chain, bank, arrays)
    return partial(_read, bank, arrays)


def _gathered(bank: Bank, elements: Mapping[int, int], base: int, row: int, pairs: Iterator[Pair]) -> Iterator[Pair]:
    """The elements of a fiber of coordinates, in the row that was found, and its end; nothing if there is none."""
    for along in bank.chosen:
        assert is_control(row) or row < along.extent, "a row is beyond the last"
        base, elements = (base, {}) if is_control(row) else (base + row * along.stride, elements)
    for crd, _ in pairs:
        if is_control(crd):
            yield END
            return
        assert crd < bank.asked.extent, "a coordinate is beyond the last"
        yield crd, wrapped(elements.get(base + crd * bank.asked.stride, 0), bank.bits)


def _met(x: Iterator[Pair], y: Iterator[Pair], either: bool) -> Iterator[Pair]:
    """Fibers of the coordinates that both of two have, or either."""
    for one, other in zip(_coordinates(x), _coordinates(y)):
        yield from ((crd, 0) for crd in sorted(one | other if either else one & other))
        yield END


def _coordinates(pairs: Iterator[Pair]) -> Iterator[set[int]]:
    """Those of each fiber."""
    found = set[int]()
    for crd, _ in pairs:
        if is_control(crd):
            yield found
            found = set()
        else:
            found.add(crd)


def _fiber(bank: Bank, arrays: Mapping[str, Sequence[int]], base: int, crd: int) -> list[Pair]:
    """The fiber at a coordinate; for none an empty one, of a dense level zeros."""
    if is_control(crd):
        is_whole = bank.complete if isinstance(bank, ChainedBank) else bank.is_along
        return [*((n, 0) for n in range(bank.levels[-1].extent if is_whole else 0)), END]
    assert crd < bank.asked.extent, "a coordinate is beyond the last"
    if isinstance(bank, ChainedBank):
        return read_chain(bank, arrays, base + crd * bank.asked.stride)
    return _read(bank, arrays, base + crd * bank.asked.stride)


def _read(bank: Bank, arrays: Mapping[str, Sequence[int]], place: int) -> list[Pair]:
    values = arrays["values"]
    if bank.kind == BITVECTOR:
        bits = [word >> bit & 1 for word in arrays["bits"] for bit in range(DATA_BITS)]
        size = -(-bank.levels[-1].extent // DATA_BITS) * DATA_BITS
        first = place * (size if bank.whole else DATA_BITS)     # the number of a fiber, or of a word
        there = [crd for crd in range(size) if bits[first + crd]]
        return [*((crd, wrapped(values[sum(bits[:first + crd])], bank.bits)) for crd in there), END]
    if bank.kind == LINKED:
        node, pairs = arrays["heads"][place], list[Pair]()
        while node != NO_NODE:
            following, count = arrays["links"][2 * node:2 * node + 2]
            places = range(node * bank.node, node * bank.node + count)
            pairs += [(arrays["coordinates"][at], wrapped(values[at], bank.bits)) for at in places]
            node = following
        return [*pairs, END]
    if bank.kind == COMPRESSED:
        places = range(arrays["segments"][place], arrays["segments"][place + 1])
        return [*((arrays["coordinates"][at], wrapped(values[at], bank.bits)) for at in places), END]
    if bank.form == FIBER:
        loop = bank.loops[0]
        return [*((n, wrapped(values[place + n * loop.stride], bank.bits)) for n in range(loop.extent)), END]
    return [(0, wrapped(values[place], bank.bits))]


class _Blocks:
    """Arrays, each behind its length."""

    def __init__(self, words: Sequence[int]) -> None:
        self._words, self._at = words, 0

    def next(self) -> Sequence[int]:
        first = self._at + 1
        self._at = first + self._words[self._at]
        assert self._at <= len(self._words), "a block is cut short"
        return self._words[first:self._at]

    @property
    def is_over(self) -> bool:
        return self._at == len(self._words)


class _Rows:
    """Tensors, whose values lie one behind the other in words of 64 bits."""

    def __init__(self, words: Sequence[int], bank: Bank) -> None:
        each, self._tensor = WORD_BITS // bank.bits, bank.values
        self._values = [word >> bank.bits * at & (1 << bank.bits) - 1 for word in words for at in range(each)]

    def next(self) -> Sequence[int]:
        assert len(self._values) >= self._tensor, "a tensor is cut short"
        found, self._values = self._values[:self._tensor], self._values[self._tensor:]
        return found

    @property
    def is_over(self) -> bool:
        return not self._values
