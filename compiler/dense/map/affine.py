"""Affine patterns of memory ports: what a loop nest means, and the fields of the controller that walks it.

`events` is the definition, by nested loops; `nest` finds the loops that go to some places; `recurrence` turns the distances
that a person thinks in into the deltas that hardware adds; `fields` gives the configuration of a port of a MEM tile
(`hw/arch/buffer.py`) or of a register file (`hw/arch/register_file.py`). `controllers` proves that it does what the nested
loops say.

    Pattern((3, 2), (1, 5), (1, 64), 10, 0)     loops of 3 (inner) and 2 iterations

    cycles      10 11 12  15 16 17              recurrence 1, 3
    addresses    0  1  2  64 65 66              recurrence 1, 62

Errors:  UserError naming the port and the number that does not fit it.
Source:  Amber JSSC V and V-A.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....hw.arch.buffer import VALID, MemSizes
from ....hw.arch.errors import UserError
from ....hw.arch.register_file import ScheduleSizes

# Iterations, and a stride.
Loop = tuple[int, int]


@dataclass(frozen=True)
class Pattern:
    """The words of a port: one for every iteration of a loop nest.

    Parameters
    ----------
    extents : tuple of int             Iterations of each loop, innermost first; none: one word.
    cycle_strides : tuple of int       Cycles between two iterations of a loop, the loops inside at their first.
    address_strides : tuple of int     Likewise words of address.
    cycle : int                        Cycle of the first word.
    address : int                      Its address; addresses of any size count modulo the words of the memory.
    """

    extents: tuple[int, ...]
    cycle_strides: tuple[int, ...]
    address_strides: tuple[int, ...]
    cycle: int
    address: int

    def __post_init__(self) -> None:
        assert len(self.extents) == len(self.cycle_strides) == len(self.address_strides), "a stride a loop"
        assert all(extent >= 1 for extent in self.extents), f"a loop has one iteration or more: {self.extents}"


def events(pattern: Pattern) -> tuple[np.ndarray, np.ndarray]:
    """Cycle and address of every word in the order of the loops, int64[words]: start + the sum of stride * iteration."""
    index = np.indices(pattern.extents[::-1]).reshape(len(pattern.extents), int(np.prod(pattern.extents, dtype=int)))[::-1]
    return (pattern.cycle + np.array(pattern.cycle_strides, int) @ index,
            pattern.address + np.array(pattern.address_strides, int) @ index)


def nest(places: np.ndarray) -> list[Loop] | None:
    """Loops that go to these places, from 0 on; None if the first steps are no part of a loop nest."""
    loops = []
    while len(places) > 1:
        steps = np.diff(places)
        count = int(np.argmax(np.append(steps != steps[0], True))) + 1
        if len(places) % count:
            return None
        turns = places.reshape(-1, count)
        if np.any(turns - turns[:, :1] != turns[0] - turns[0, 0]):
            return None
        loops.append((count, int(steps[0])))
        places = turns[:, 0]
    return loops


def recurrence(extents: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...]:
    """What is added when a loop advances: its stride less the way that the loops inside it have gone."""
    deltas, gone = [], 0
    for extent, stride in zip(extents, strides, strict=True):
        deltas.append(stride - gone)
        gone += (extent - 1) * stride
    return tuple(deltas)


def fields(sizes: MemSizes | ScheduleSizes, port: str, pattern: Pattern) -> dict[str, int]:
    """The configuration fields of a port, of a MEM tile or of a register file, that make it follow a pattern; of the flag
    `valid` the addresses do not matter.

    UserError if the port has too few loops, if an extent, a start or a gap does not fit its bits, or if a word does not come
    after the one before it.
    """
    kept = [level for level, extent in enumerate(pattern.extents) if extent > 1]
    extents, cycles, addresses = (tuple(each[level] for level in kept)
                                  for each in (pattern.extents, pattern.cycle_strides, pattern.address_strides))
    if len(kept) > sizes.loops(port):
        raise UserError(f"a pattern of {len(kept)} loops, but {port} has {sizes.loops(port)}", port,
                        "merge loops whose strides continue each other, or choose larger sizes of the MEM tiles")
    found = _start(sizes, port, pattern.cycle, pattern.address)
    for level, (extent, gap, delta) in enumerate(zip(extents, recurrence(extents, cycles), recurrence(extents, addresses))):
        if gap < 1:
            raise UserError(f"loop {kept[level]} of {port} goes {-gap} cycles back", port,
                            "order the loops by their cycles, innermost first, without overlap")
        found[f"{port}_extent{level}"] = _checked(extent - 1, sizes.extent_bits, f"iterations of loop {kept[level]}", port, 1)
        found[f"{port}_gap{level}"] = _checked(gap - 1, sizes.cycle_bits, f"cycles when loop {kept[level]} advances", port, 1)
        if port != VALID:
            found[f"{port}_delta{level}"] = delta % sizes.buffer_words
    return found


def replay(sizes: MemSizes, port: str, cycle: int, address: int) -> dict[str, int]:
    """The fields of a write port that walks the loops of the read port of its number from a start of its own.

    For a word that is read, changed and written back: `address` is that of the read port, `cycle` as many cycles after its
    as the word needs to come round, `read_latency` included.
    """
    if not sizes.can_replay(port):
        raise UserError(f"{port} cannot walk the loops of a read port", port,
                        "give it a pattern of its own, or choose MEM tiles with replay")
    return _start(sizes, port, cycle, address) | {f"{port}_replay": 1}


def _start(sizes: MemSizes | ScheduleSizes, port: str, cycle: int, address: int) -> dict[str, int]:
    found = {f"{port}_on": 1, f"{port}_cycle": _checked(cycle, sizes.cycle_bits, "the cycle of the first word", port)}
    return found if port == VALID else found | {f"{port}_address": address % sizes.buffer_words}


def _checked(value: int, bits: int, what: str, port: str, least: int = 0) -> int:
    """The value of a field; UserError if it does not fit. What is stored is less by `least` than what is meant."""
    if not 0 <= value < 1 << bits:
        raise UserError(f"{what}: {value + least} does not fit {port}", port, f"give {least}..{(1 << bits) - 1 + least}")
    return value
