"""The fibers of a private buffer in which levels without zeros are above others, from their arrays: by number, without time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...hw.arch.chain import ChainedBank
from ...hw.arch.logic import wrapped
from ...hw.arch.private_buffer import BITVECTOR, COMPRESSED, DENSE, NO_NODE
from ...hw.arch.token import DATA_BITS, stop

# A coordinate, a token, and a value.
Pair = tuple[int, int]
Arrays = Mapping[str, Sequence[int]]


def read_chain(bank: ChainedBank, arrays: Arrays, number: int) -> list[Pair]:
    """The pairs of a fiber of the last level, by its number in a dense tensor, and its end; one that is not stored is empty, or
    zeros."""
    last = len(bank.levels) - 1
    outer = list[int]()
    for level in reversed(bank.levels[:-1]):
        number, crd = divmod(number, level.extent)
        outer.insert(0, crd)
    at = 0
    for nth, crd in enumerate(outer):
        stored = dict(_positions(bank, arrays, nth, at))
        if crd not in stored:
            return [*((zero, 0) for zero in range(bank.levels[-1].extent if bank.complete else 0)), (stop(0), 0)]
        at = stored[crd]
    pairs = [(crd, wrapped(arrays["values"][place], bank.bits)) for crd, place in _positions(bank, arrays, last, at)]
    return [*(pair for pair in pairs if pair[1] or not bank.sifted), (stop(0), 0)]


def _positions(bank: ChainedBank, arrays: Arrays, nth: int, at: int) -> list[tuple[int, int]]:
    """The coordinates of a fiber of a level, each with its position."""
    level, suffix = bank.levels[nth], "" if nth == len(bank.levels) - 1 else str(nth)
    if level.kind == DENSE:
        return [(crd, at * level.extent + crd) for crd in range(level.extent)]
    if level.kind == COMPRESSED:
        segments = arrays["segments" + suffix]
        return [(arrays["coordinates" + suffix][place], place) for place in range(segments[at], segments[at + 1])]
    if level.kind == BITVECTOR:
        words, across = arrays["bits" + suffix], -(-level.extent // DATA_BITS)
        bits = [word >> bit & 1 for word in words[:(at + 1) * across] for bit in range(DATA_BITS)]
        first = at * across * DATA_BITS
        before = sum(bits[:first])
        return [(crd - first, before + nth) for nth, crd in enumerate(crd for crd in range(first, len(bits)) if bits[crd])]
    found, node = list[tuple[int, int]](), arrays["heads" + suffix][at]
    while node != NO_NODE:
        following, count = arrays["links" + suffix][2 * node:2 * node + 2]
        places = range(node * bank.node, node * bank.node + count)
        found += [(arrays["coordinates" + suffix][place], place) for place in places]
        node = following
    return found
