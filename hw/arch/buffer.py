"""Buffer: sizes of a MEM tile, and the configuration of its dense controllers that follows from them.

Every port has a loop nest, innermost loop 0, that is walked one step per word, and two numbers that follow it: the cycle of
the word and its address. Both are recurrences: a loop that advances adds its own delta, which contains the return of the
loops inside it. `compiler/dense/map/affine.py` makes the fields from strides.

    extent{l}       iterations of loop l, less 1
    gap{l}          idle cycles between two words when loop l advances: the distance of their cycles, less 1
    delta{l}        distance of their addresses, modulo the words of the SRAM

Source: Amber JSSC V (iteration domain, address and schedule generator) and V-A (recurrences); sizes of Onyx JSSC V-B.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Annotated

from .check import Misfit, PowerOfTwo, Whole, check
from .config import MEMORY_WORDS, ConfigSet, Field

WRITES, READS, VALID = ("wr0", "wr1"), ("rd0", "rd1"), "valid"


@dataclass(frozen=True, kw_only=True)
class MemSizes:
    """Sizes of a MEM tile.

    Parameters
    ----------
    sram_lines, sram_lanes : int   Words of the SRAM, from 4, and 16-bit lanes in each, 2..64; powers of two, at most
                                   `MEMORY_WORDS` lanes in all.
    cycle_bits : int               Width of cycle counters, 2..32: words of a stream are 1..2**cycle_bits cycles apart.
    extent_bits : int              Width of loop counters, 1..32: a loop has 1..2**extent_bits iterations.
    read_loops : int               Loops of each read port and of the flag `valid`, 1..16.
    write_loops : int              Loops of each write port, 1..16.
    replay : bool                  A write port can walk the loops of the read port of its number instead of its own.
    sipo_lines : int               Lines in which the words of a write port are collected, 1 or 2.
    """

    sram_lines: Annotated[int, PowerOfTwo(4, MEMORY_WORDS // 2)] = 512
    sram_lanes: Annotated[int, PowerOfTwo(2, 64)] = 4
    cycle_bits: Annotated[int, Whole(2, 32)] = 16
    extent_bits: Annotated[int, Whole(1, 32)] = 11
    read_loops: Annotated[int, Whole(1, 16)] = 6
    write_loops: Annotated[int, Whole(1, 16)] = 2
    replay: bool = True
    sipo_lines: Annotated[int, Whole(1, 2)] = 1

    def __post_init__(self) -> None:
        check(self, "mem", self._misfits)

    def _misfits(self) -> Iterator[Misfit]:
        if self.buffer_words > MEMORY_WORDS:
            yield Misfit("sram_lines", f"is {self.sram_lines}, with {self.sram_lanes} lanes more than the {MEMORY_WORDS} words "
                                       "that configuration reaches", f"give {MEMORY_WORDS // self.sram_lanes} or less")

    @property
    def level_words(self) -> int:
        """16-bit words that the segments, and again the coordinates or values, of the levels in a MEM may take."""
        return self.sram_lines * self.sram_lanes // 2

    @property
    def buffer_words(self) -> int:
        """16-bit words of the SRAM; addresses count modulo this number."""
        return self.sram_lines * self.sram_lanes

    @property
    def address_bits(self) -> int:
        """Width of the address of a 16-bit word."""
        return (self.buffer_words - 1).bit_length()

    @property
    def read_latency(self) -> int:
        """Cycles from the cycle of a read, or from an address at the input of a ROM, to its word: 6 with four lanes."""
        return self.sram_lanes + 2

    @property
    def write_to_read(self) -> int:
        """Cycles by which the cycles of a write and of a read of the same word must differ at least: 5 with four lanes."""
        return self.sram_lanes + 1

    def loops(self, port: str) -> int:
        """Loops of a port's own."""
        return self.write_loops if port in WRITES else self.read_loops

    def can_replay(self, port: str) -> bool:
        """Whether a port can walk the loops of another."""
        return self.replay and port in WRITES


def accumulated(words: int, indices: int) -> tuple[int, ...]:
    """Coordinates of one index, or of each of two, the outer first, that an accumulator tells apart in a MEM with levels of
    so many words (`MemSizes.level_words`). Of 1024: 1024; 32 and 32."""
    assert 1 <= indices <= 2, f"an accumulator has one or two coordinates, not {indices}"
    bits = (words - 1).bit_length()
    return (1 << bits,) if indices == 1 else (1 << bits - bits // 2, 1 << bits // 2)


# In the order of a machine's description.
MEM_SIZES = tuple(field.name for field in fields(MemSizes))


# A machine has one or two sizes, and simulations ask for each port of each tile.
@functools.lru_cache(maxsize=64)
def buffer_config(sizes: MemSizes) -> ConfigSet:
    """The configuration of the primitive `buffer`: fields ``{port}_...`` as above, in an order that packs well."""
    found = [Field("rom", 1, "rd0 reads, in every cycle, the address that arrives on wr0")]
    for port in (*WRITES, *READS, VALID):
        what = "the flag" if port == VALID else port
        found.append(Field(f"{port}_on", 1, f"{what} has a schedule"))
        if sizes.can_replay(port):
            found.append(Field(f"{port}_replay", 1, f"{port} walks the loops of rd{port[-1]}, from its own start"))
        if port != VALID:
            found.append(Field(f"{port}_address", sizes.address_bits, f"address of the first word of {port}"))
        found.append(Field(f"{port}_cycle", sizes.cycle_bits, f"cycle of the first word of {port}"))
        for loop in range(sizes.loops(port)):
            found += [Field(f"{port}_extent{loop}", sizes.extent_bits, f"iterations of loop {loop}, less 1"),
                       Field(f"{port}_gap{loop}", sizes.cycle_bits, f"idle cycles when loop {loop} advances")]
        if port != VALID:
            found += [Field(f"{port}_delta{loop}", sizes.address_bits, f"added to the address when loop {loop} advances")
                       for loop in range(sizes.loops(port))]
    return ConfigSet("buffer", *found)
