"""Sparsity of recurrences: which points of an iteration space may be skipped, and when.

    skip(j, where=B(k, j) == 0)         # B is stored by rows of k, without zeros (CSR)
    skip(x, y, where=I(c, x, y) == 0)   # of each c, elements of all x and y that are not 0 are found together
    skip(i, k, where=i != k)            # A is diagonal
    skip(k, where=A(i, ...) == 0)       # rows of A are there whole, or not at all
    optimistic_skip(k, where=A(i, k) == 0, keep=2, of=4)

The skipped index is not counted any more, but found: by the other indices of its condition, its *dependencies*, and theirs in
turn. A condition is on elements of inputs, which are 0 or not, or on indices alone, which is decided at compile time and
promises that the inputs are 0 there. To skip never changes a result: what is assigned at a skipped point has to be what it
was a point before, or 0.

Errors:  UserError for ``...`` in a place where it means nothing; `sparsity_checks` has what else is refused.
Source:  Stellar III-C, Listing 2; IV-B (dependencies). Departure: skips are proved to leave results as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ...hw.arch.errors import UserError, shown
from .recurrence import INPUT, Index, Plane, Read, Recurrences, Sum, own, reads

RELATIONS = {"==": lambda a: a == 0, "!=": lambda a: a != 0, "<": lambda a: a < 0, "<=": lambda a: a <= 0}
# Of a group of an optimistic skip: a PE chooses from as many values, one after the other.
LARGEST_GROUP = 64
MOST_SKIPS = 32


@dataclass(frozen=True)
class Every(Plane):
    """Every place along the index that is skipped."""

    def __str__(self) -> str:
        return "..."


EVERY = Every("...", "every")


@dataclass(frozen=True)
class Zero:
    """An element of an input is 0; with `whole`, all elements along this index are."""

    read: Read
    whole: str = ""

    def __str__(self) -> str:
        at = ("..." if self.whole and own(each, self.whole) else str(each) for each in self.read.at)
        return f"{self.read.name}({', '.join(at)}) == 0"


@dataclass(frozen=True)
class Compare:
    """A sum of indices and numbers against 0, by one of `RELATIONS`; `text` as it was written."""

    relation: str
    sum: Sum
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Both:
    """Two conditions hold."""

    first: Condition
    second: Condition

    def __str__(self) -> str:
        return f"({self.first}) & ({self.second})"


@dataclass(frozen=True)
class Either:
    """One of two conditions holds, or both."""

    first: Condition
    second: Condition

    def __str__(self) -> str:
        return f"({self.first}) | ({self.second})"


Condition = Zero | Compare | Both | Either


@dataclass(frozen=True)
class Skip:
    """Indices that are skipped where a condition holds.

    Parameters
    ----------
    indices : tuple      Their names.
    where : Condition
    keep, of : int       Optimistic, if not 0: of every `of` points along the index in a row at most `keep` are not skipped.
    """

    indices: tuple[str, ...]
    where: Condition
    keep: int = 0
    of: int = 0

    @property
    def is_static(self) -> bool:
        """Whether it is decided at compile time."""
        return not zeros(self.where)

    def holds(self, point: Mapping[str, int]) -> bool:
        """Whether a static condition holds at a point."""
        return holds(self.where, point)

    def __str__(self) -> str:
        kept = f", {self.keep} of {self.of} stay" if self.of else ""
        return f"skip {' and '.join(self.indices)} where {self.where}{kept}"


def zeros(condition: Condition) -> tuple[Read, ...]:
    """The elements that a condition asks for."""
    if isinstance(condition, Both | Either):
        return (*zeros(condition.first), *zeros(condition.second))
    return (condition.read,) if isinstance(condition, Zero) else ()


def fibers(condition: Condition) -> tuple[Read, ...]:
    """Those of the elements that a condition asks for of which it asks for whole fibers."""
    if isinstance(condition, Both | Either):
        return (*fibers(condition.first), *fibers(condition.second))
    return (condition.read,) if isinstance(condition, Zero) and condition.whole else ()


def along(condition: Condition, indices: Sequence[str]) -> Condition:
    """A condition of a skip of some indices, in which ``...`` was written in place of the skipped one."""
    if isinstance(condition, Both | Either):
        return replace(condition, first=along(condition.first, indices), second=along(condition.second, indices))
    if not isinstance(condition, Zero) or EVERY not in condition.read.at:
        return condition
    at = condition.read.at
    if len(indices) != 1 or at.count(EVERY) > 1 or any(own(each, indices[0]) for each in at):
        raise UserError("... stands for the index that is skipped", shown(str(condition), 120),
                        "skip one index, and write ... once, in its place")
    whole = Index.named(indices[0])
    return Zero(Read(condition.read.name, tuple(whole if each == EVERY else each for each in at)), indices[0])


def dependencies(skips: Sequence[Skip]) -> dict[str, dict[str, Skip]]:
    """By skipped index, the indices that it is found by, each with the skip that says so.

    Those of an index by which another one is found are its dependencies, too; an index is none of its own, nor are others that
    one element finds along with it, which are digits of one index.
    """
    direct: dict[str, dict[str, Skip]] = {}
    for skip in skips:
        for index in skip.indices:
            own = (index,) if skip.is_static else skip.indices
            direct.setdefault(index, {}).update({each: skip for each in indices_of(skip.where) if each not in own})
    found = {}
    for index, first in direct.items():
        reached, todo = dict(first), list(first)
        while todo:
            for each, skip in direct.get(todo.pop(), {}).items():
                if each != index and each not in reached:
                    reached[each] = skip
                    todo.append(each)
        found[index] = reached
    return found


def promised(skip: Skip, recurrences: Recurrences) -> frozenset[str]:
    """The inputs that are 0 where a skip holds: those that it names, or those with the very indices of a static one."""
    if not skip.is_static:
        return frozenset(read.name for read in zeros(skip.where))
    here = set(indices_of(skip.where))
    places: dict[str, list[set[str]]] = {}
    for one in recurrences.assignments:
        for read in reads(one.value):
            if recurrences.declared[read.name].role == INPUT:
                places.setdefault(read.name, []).append({index for at in read.at if isinstance(at, Sum)
                                                         for index, _ in at.terms})
    return frozenset(name for name, each in places.items() if all(indices == here for indices in each))


def indices_of(condition: Condition) -> tuple[str, ...]:
    """The indices of a condition."""
    if isinstance(condition, Both | Either):
        return tuple(dict.fromkeys((*indices_of(condition.first), *indices_of(condition.second))))
    sums = (condition.sum,) if isinstance(condition, Compare) else [at for at in condition.read.at if isinstance(at, Sum)]
    return tuple(dict.fromkeys(index for each in sums for index, _ in each.terms))


def conjuncts(condition: Condition) -> Iterator[Condition]:
    """The conditions of which all have to hold, in the order in which they were written."""
    if isinstance(condition, Both):
        yield from conjuncts(condition.first)
        yield from conjuncts(condition.second)
    else:
        yield condition


def holds(condition: Condition, point: Mapping[str, int]) -> bool:
    """Whether a condition on indices alone holds at a point."""
    if isinstance(condition, Compare):
        return RELATIONS[condition.relation](condition.sum.at(point))
    assert isinstance(condition, Both | Either), "it is static"
    sides = (holds(side, point) for side in (condition.first, condition.second))
    return all(sides) if isinstance(condition, Both) else any(sides)
