"""What skips promise of operands: elements that are 0, and groups of which few are not.

Input:   recurrences, bounds, skips.
Output:  ``zeros``: by tensor and element the skip that promises a 0. ``groups``: of an optimistic skip, the elements beside
         each other of which at most `keep` are not 0.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from ..lang.recurrence import INPUT, Plane, Read, Recurrences, reads
from ..lang.sparsity import Skip, promised
from ..lang.sparsity import zeros as asked
from .points import Point

Element = tuple[str, Point]


def zeros(recurrences: Recurrences, bounds: Mapping[str, int], skips: Sequence[Skip]) -> dict[Element, Skip]:
    """Elements that skips on indices alone take for 0."""
    found: dict[Element, Skip] = {}
    for skip in skips:
        if not skip.is_static:
            continue
        tensors = promised(skip, recurrences)
        places = dict.fromkeys(read for one in recurrences.assignments for read in reads(one.value)
                               if recurrences.declared[read.name].role == INPUT and read.name in tensors)
        for point in itertools.product(*map(range, bounds.values())):
            at = dict(zip(bounds, point))
            if skip.holds(at):
                found |= {(read.name, _element(read, at)): skip for read in places}
    return found


def groups(bounds: Mapping[str, int], skip: Skip) -> Iterator[list[Element]]:
    """The elements of every group of an optimistic skip."""
    (read,), (index,) = asked(skip.where), skip.indices
    others = [name for name in bounds if name != index and any(at.terms == ((name, 1),) for at in read.at
                                                              if not isinstance(at, Plane))]
    for point in itertools.product(*(range(bounds[name]) for name in others)):
        for first in range(0, bounds[index], skip.of):
            yield [(read.name, _element(read, {**dict(zip(others, point)), index: first + nth})) for nth in range(skip.of)]


def _element(read: Read, at: Mapping[str, int]) -> Point:
    return tuple(place.at(at) for place in read.at if not isinstance(place, Plane))
