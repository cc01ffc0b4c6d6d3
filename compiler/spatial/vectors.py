"""Vectors: the dataflow of spaces in which few points are computed, those of elements that are not 0.

    Vectors((y, x), (k, r, s), sizes=(4, 4))

Of the elements of one operand with the same y and x next to each other in a fiber, and of the other one with k, r, s, four each
meet in a step, each with each, on as many PEs. So space is the positions in vectors, and time goes over the other indices,
then the vectors of the first fiber, and for each of them all vectors of the second one, which are held. It is a transform of
positions, which no matrix over indices says: where the elements of a vector are, values decide.

Source:  SCNN III-B (Cartesian products of activations and weights).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...hw.arch.cartesian import MOST_ELEMENTS
from ...hw.arch.errors import UserError, shown
from ..lang.recurrence import Index, whole

PAIRS = "give the indices of two operands, as sp.Vectors((y, x), (k, r, s), sizes=(4, 4))"


@dataclass(frozen=True)
class Vectors:
    """How many elements of two fibers meet in a step.

    Parameters
    ----------
    first, second : sequence    The indices along which fibers go, the outermost first; those of the second one are held.
    sizes : tuple               Elements of each that meet, 1..8.
    """

    first: tuple[str, ...]
    second: tuple[str, ...]
    sizes: tuple[int, int]

    def __init__(self, first: Sequence[object], second: Sequence[object], sizes: Sequence[int] = (4, 4)) -> None:
        sides = [_names(each) for each in (first, second)]
        if twice := sorted(set(sides[0]) & set(sides[1])):
            raise UserError(f"{twice[0]} is an index of both fibers", "vectors",
                            "leave it out: fibers then follow each other along it")
        if not isinstance(sizes, Sequence) or len(sizes) != 2:
            raise UserError(f"sizes are {shown(repr(sizes))}", "vectors", "give two")
        found = [whole(each, "vectors") for each in sizes]
        if wrong := [each for each in found if not 1 <= each <= MOST_ELEMENTS]:
            raise UserError(f"a vector has {wrong[0]} elements", "vectors", f"give 1 to {MOST_ELEMENTS}")
        for name, value in zip(("first", "second", "sizes"), (*sides, tuple(found))):
            object.__setattr__(self, name, value)

    def __str__(self) -> str:
        first, second = (f"{size} positions of {', '.join(indices)}"
                         for indices, size in zip((self.first, self.second), self.sizes))
        return f"{first} with {second}"


def _names(indices: Sequence[object]) -> tuple[str, ...]:
    if not isinstance(indices, Sequence) or not indices or not all(isinstance(each, Index) for each in indices):
        raise UserError(f"{shown(repr(indices))} are no indices", "vectors", PAIRS)
    names = tuple(each.name for each in indices if isinstance(each, Index))
    if len(set(names)) < len(names):
        raise UserError(f"indices {', '.join(names)} name one twice", "vectors", PAIRS)
    return names
