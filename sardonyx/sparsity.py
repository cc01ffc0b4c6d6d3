"""Skips of spatial arrays as Python writes them: conditions on inputs and indices, and what they skip.

What skips mean, and which are refused, `sardonyx.compiler.lang.sparsity` says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from . import arguments
from .compiler.lang import recurrence, sparsity
from .compiler.lang.recurrence import INPUT, Index, Place, Read, Recurrences, Sum, summed
from .compiler.lang.sparsity import EVERY, LARGEST_GROUP, Skip
from .hw.arch.errors import UserError

MOST_PARTS = 32


@dataclass(frozen=True, eq=False)
class Condition:
    """When something is skipped: combine conditions by ``&`` and ``|``."""

    condition: sparsity.Condition
    # Of a comparison of indices with == and !=: whether they are written alike, which is what Python asks for.
    alike: bool | None = None
    parts: int = 1

    def __and__(self, other: object) -> Condition:
        return self._joined(sparsity.Both, other)

    def __or__(self, other: object) -> Condition:
        return self._joined(sparsity.Either, other)

    def _joined(self, kind: type[sparsity.Both | sparsity.Either], other: object) -> Condition:
        more = other.parts if isinstance(other, Condition) else 1
        if self.parts + more > MOST_PARTS:
            raise UserError(f"a condition has more than {MOST_PARTS} parts", "where", "give several skips")
        return Condition(kind(self.condition, _condition(other)), parts=self.parts + more)

    def __bool__(self) -> bool:
        if self.alike is None:
            raise UserError(f"{self.condition} is not known yet", "sparsity", "use & and | in place of and, or")
        return self.alike

    def __str__(self) -> str:
        return str(self.condition)


class Counted(Index):
    """An index that can be compared with sums of indices and numbers, for conditions."""

    def __eq__(self, other: object) -> Condition:     # type: ignore[override]
        return self._compared("==", self, other, Index.__eq__(self, other) is True)

    def __ne__(self, other: object) -> Condition:     # type: ignore[override]
        return self._compared("!=", self, other, Index.__eq__(self, other) is not True)

    def __lt__(self, other: object) -> Condition:
        return self._compared("<", self, other)

    def __le__(self, other: object) -> Condition:
        return self._compared("<=", self, other)

    def __gt__(self, other: object) -> Condition:
        return self._compared("<", other, self)

    def __ge__(self, other: object) -> Condition:
        return self._compared("<=", other, self)

    __hash__ = Index.__hash__

    @staticmethod
    def _compared(relation: str, a: object, b: object, alike: bool | None = None) -> Condition:
        if not (isinstance(a, Sum | int) and isinstance(b, Sum | int)):
            return NotImplemented
        left, right = summed(a), summed(b)
        return Condition(sparsity.Compare(relation, left - right, f"{left} {relation} {right}"), alike)


def plain(place: object) -> Place:
    """A place without comparisons of its own; ``...`` is every one."""
    if place is ...:
        return EVERY
    found = recurrence.place(place)
    return Index.named(found.name) if isinstance(found, Counted) else found


def is_zero(read: Read, other: object) -> Condition:
    """The condition that an element of an input is 0."""
    if isinstance(other, bool) or not isinstance(other, int | float | np.number) or other != 0:
        raise UserError(f"whether {read} is {arguments.said(other)} cannot be decided from what is stored", "sparsity",
                        "compare it with 0: compressed levels store what is not 0")
    return Condition(sparsity.Zero(read))


def skip(*indices: object, where: object = None) -> Skip:
    """Skip points along indices where a condition holds.

    indices: one, or several where the condition is on indices alone, or elements are found by all of them together. where:
    such as ``B(k, j) == 0`` or ``i != k``; ``A(i, ...) == 0`` where all elements along the skipped index are 0.
    """
    names = _names(indices)
    return Skip(names, sparsity.along(_condition(where), names))


def optimistic_skip(index: object, *, where: object = None, keep: int, of: int) -> Skip:
    """Skip points along an index where an element of an input is 0, of which at most `keep` of each `of` in a row are not.

    keep: 1 to of - 1. of: 2 to 64; it divides the bound of the index. Wires stay: they carry `of` values beside each other.
    """
    group = arguments.whole("of", of, 2)
    if group > LARGEST_GROUP:
        raise UserError(f"it is {group}", "of", f"give 2 to {LARGEST_GROUP}")
    kept = arguments.whole("keep", keep, 1)
    if kept >= group:
        raise UserError(f"it is {kept}", "keep", f"give 1 to {group - 1}: fewer than of = {group}")
    names = _names((index,))
    return Skip(names, sparsity.along(_condition(where), names), kept, group)


def _names(indices: tuple[object, ...]) -> tuple[str, ...]:
    if not indices:
        raise UserError("it names no index", "skip", "give one, as sp.skip(j, where=B(k, j) == 0)")
    for each in indices:
        if not isinstance(each, Index):
            raise UserError(f"{arguments.said(each)} is no index", "skip", "give indices that sp.indices(...) made")
    return tuple(dict.fromkeys(each.name for each in indices if isinstance(each, Index)))


def _condition(value: object) -> sparsity.Condition:
    if not isinstance(value, Condition):
        raise UserError("there is none" if value is None else f"{arguments.said(value)} is no condition", "where",
                        "compare an element of an input with 0, as B(k, j) == 0, or indices, as i != k")
    return value.condition


def stored(functionality: Recurrences, formats: Mapping[str, str]) -> list[Skip]:
    """The skips that formats of inputs allow: ``{"B": "ds"}`` has rows of B without zeros, ``{"B": "ds10"}`` columns.

    A format has a letter for each dimension, d or s, then perhaps the dimensions in the order in which they are stored. The
    last level may be s: its index is skipped.
    """
    found = []
    for name, text in formats.items():
        reads = {read for one in functionality.assignments for read in recurrence.reads(one.value)
                 if read.name == name and functionality.declared[name].role == INPUT}
        where = f"format {text} of {name}"
        if not reads:
            raise UserError("there is no such input", where,
                            f"name one of {', '.join(each.name for each in functionality.of(INPUT))}")
        for read in sorted(reads, key=str):
            rank = len(read.at)
            letters, modes = text[:rank], text[rank:] or "".join(map(str, range(rank)))
            if letters != "d" * (rank - 1) + "s" or sorted(modes) != sorted(map(str, range(rank))):
                raise UserError("it is not a letter d for each dimension but the last, s for that, then perhaps the dimensions "
                                "in stored order", where, f"write {'d' * (rank - 1)}s")
            index = read.at[int(modes[-1])]
            if not isinstance(index, Sum) or len(index.terms) != 1:
                raise UserError(f"{read} is at {index}", where, "leave this format out")
            found.append(Skip((index.terms[0][0],), sparsity.Zero(read)))
    return found
