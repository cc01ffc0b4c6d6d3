"""The arrays that a tensor is stored as, by the format of its last level: those of a buffer, of an operand or of a result.

    dense         values
    compressed    segments, coordinates, values
    bitvector     bits, values
    linked list   heads and the number of nodes, links (the next node, and above 16 bits how many elements), coordinates, values

Of levels behind each other (`chain`) those of the outermost one come first. What counts the elements of a level is counted
itself by the level in front; names of arrays have the number of their level behind them, but for those of the last one.

Source: Stellar III-E, and V, Listing 7 (one request for all arrays of a tensor).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .chain import Link
from .private_buffer import BITVECTOR, COMPRESSED, DENSE, LINKED, most_nodes
from .token import DATA_BITS

# Bits of an element of what counts others, as it lies in memory: segments go on from tensor to tensor there.
SEGMENT_BITS = 32


class LevelArray(NamedTuple):
    """An array: bits of a word of it on the chip, and of an element in memory; elements of a tensor, at most where an array
    before it says how many (`is_counted`); it says that itself of those behind it, though it is counted (`counts`)."""

    name: str
    word_bits: int
    bits: int
    elements: int
    is_counted: bool = False
    counts: bool = False


def across(extent: int) -> int:
    """Words of bits of a fiber."""
    return -(-extent // DATA_BITS)


def level_arrays(kind: str, fibers: int, extent: int, words: int, node: int, value_bits: int) -> tuple[LevelArray, ...]:
    """The arrays of a tensor, the values last.

    extent: of a fiber.  words: values that there is room for.  node: elements of a node.  value_bits: of the word of a value.
    """
    values = LevelArray("values", value_bits, value_bits, words, True)
    coordinates = LevelArray("coordinates", DATA_BITS, DATA_BITS, words, True)
    links = LevelArray("links", 2 * DATA_BITS, 2 * DATA_BITS, most_nodes(words, node), True)
    return {DENSE: (values._replace(elements=fibers * extent, is_counted=False),),
            COMPRESSED: (LevelArray("segments", DATA_BITS, SEGMENT_BITS, fibers + 1), coordinates, values),
            BITVECTOR: (LevelArray("bits", DATA_BITS, DATA_BITS, fibers * across(extent)), values),
            LINKED: (LevelArray("heads", DATA_BITS, DATA_BITS, fibers + 1), links, coordinates, values)}[kind]


def chain_arrays(links: Sequence[Link], words: int, value_bits: int) -> tuple[LevelArray, ...]:
    """The arrays of a tensor in a chain of levels, the values last; as of `level_arrays`."""
    found = list[LevelArray]()
    for link in links:
        if link.kind == DENSE:
            continue
        inner = bool(found)
        first, *behind = level_arrays(link.kind, link.fibers, link.extent, link.positions, link.node, DATA_BITS)[:-1]
        found += [first._replace(name=first.name + link.suffix, is_counted=inner, counts=inner),
                  *(each._replace(name=each.name + link.suffix) for each in behind)]
    return *found, LevelArray("values", value_bits, value_bits, words, True)
