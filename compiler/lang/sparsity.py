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

Errors:  UserError for unknown indices, for conditions that cannot be decided, for skips that contradict each other, and for
         those that would change what is computed.
Source:  Stellar III-C, Listing 2; IV-B (dependencies). Departure: skips are proved to leave results as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ...hw.arch.errors import UserError, shown
from ...hw.arch.spatial import OPERATIONS
from .recurrence import INPUT, VARIABLE, Call, Expr, Index, Number, Plane, Read, Recurrences, Sum, own, reads

RELATIONS = {"==": lambda a: a == 0, "!=": lambda a: a != 0, "<": lambda a: a < 0, "<=": lambda a: a <= 0}
# Of a group of an optimistic skip.
LARGEST_GROUP = 16
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
        return _holds(self.where, point)

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


def checked(skips: Sequence[Skip], recurrences: Recurrences) -> tuple[Skip, ...]:
    """Skips of some recurrences; one whose condition is either of two becomes two."""
    if len(skips) > MOST_SKIPS:
        raise UserError(f"there are {len(skips)} skips", "sparsity", f"use {MOST_SKIPS} or fewer")
    found = tuple(part for skip in skips for part in _parts(skip))
    for skip in found:
        _check(skip, recurrences)
    for at, skip in enumerate(found):
        for other in found[:at]:
            _check_pair(other, skip)
    _check_circle(found)
    for skip in found:
        if not skip.of or len(zeros(skip.where)) == 1:
            _check_same(skip, recurrences)
    return found


def dependencies(skips: Sequence[Skip]) -> dict[str, dict[str, Skip]]:
    """By skipped index, the indices that it is found by, each with the skip that says so.

    Those of an index by which another one is found are its dependencies, too; an index is none of its own, nor are others that
    one element finds along with it, which are digits of one index.
    """
    direct: dict[str, dict[str, Skip]] = {}
    for skip in skips:
        for index in skip.indices:
            own = (index,) if skip.is_static else skip.indices
            direct.setdefault(index, {}).update({each: skip for each in _named(skip.where) if each not in own})
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
    here = set(_named(skip.where))
    places: dict[str, list[set[str]]] = {}
    for one in recurrences.assignments:
        for read in reads(one.value):
            if recurrences.declared[read.name].role == INPUT:
                places.setdefault(read.name, []).append({index for at in read.at if isinstance(at, Sum)
                                                         for index, _ in at.terms})
    return frozenset(name for name, each in places.items() if all(indices == here for indices in each))


def _parts(skip: Skip) -> Iterator[Skip]:
    if isinstance(skip.where, Either):
        for side in (skip.where.first, skip.where.second):
            yield from _parts(Skip(skip.indices, side, skip.keep, skip.of))
    else:
        yield skip


def _check(skip: Skip, recurrences: Recurrences) -> None:
    where, named = _where(skip), _named(skip.where)
    if unknown := [index for index in (*skip.indices, *named) if index not in recurrences.indices]:
        raise UserError(f"no variable has the index {unknown[0]}", where, f"use {', '.join(recurrences.indices)}")
    if missing := [index for index in skip.indices if index not in named]:
        raise UserError(f"its condition does not depend on {missing[0]}", where,
                        f"give a condition with {missing[0]}, or skip another index")
    if not skip.is_static and (any(isinstance(part, Compare | Either) for part in _split(skip.where))):
        raise UserError("its condition mixes values with indices, or nests | in &", where,
                        "give two skips, one for each condition")
    read = {each for one in recurrences.assignments for each in reads(one.value)}
    for each in zeros(skip.where):
        declared = recurrences.declared.get(each.name)
        if declared is None or declared.role != INPUT:
            raise UserError(f"whether {each} is 0 is not known before it is computed", where, "give a condition on inputs")
        if each not in read:
            near = ", ".join(sorted(str(other) for other in read if other.name == each.name))
            raise UserError(f"the functionality does not read {each}", where, f"name it as it is read: {near}")
        if not all(isinstance(at, Sum) and len(at.terms) == 1 and not at.constant and at.terms[0][1] == 1 for at in each.at):
            raise UserError(f"{each} is at a sum of indices", where, "give a condition on an input at plain indices")
    for each in zeros(skip.where):
        if constant := [index for index in skip.indices if not any(isinstance(at, Sum) and at.terms == ((index, 1),)
                                                                  for at in each.at)]:
            raise UserError(f"{each} is the same element for every {constant[0]}", where,
                            f"ask for elements that have the index {constant[0]}")
    if not skip.is_static and len(skip.indices) > 1 and len(zeros(skip.where)) > 1:
        raise UserError("it skips two indices together, by several elements", where, "give a condition on one element")
    if skip.of and (skip.is_static or len(zeros(skip.where)) != 1 or fibers(skip.where)):
        raise UserError("an optimistic skip asks for one element", where, "give a condition as A(i, k) == 0")


def _check_pair(first: Skip, second: Skip) -> None:
    """UserError for two skips of one index that contradict each other."""
    common = set(first.indices) & set(second.indices)
    if not common or first.is_static or second.is_static:
        return
    where, index = _where(second), min(common)
    if bool(first.of) != bool(second.of):
        raise UserError(f"{index} is skipped, and skipped optimistically: its wires cannot both go and stay", where,
                        "leave one of the two out")
    if first.of:
        raise UserError(f"{index} is skipped optimistically twice", where, "leave one of the two out")
    if len(zeros(first.where)) > 1 or len(zeros(second.where)) > 1:
        raise UserError(f"{index} is skipped where one is 0, and only where all are: these contradict each other", where,
                        "leave one of the two out")


def _check_circle(skips: Sequence[Skip]) -> None:
    """UserError for indices each of which is found by the other one."""
    found = dependencies([skip for skip in skips if not skip.is_static])
    for index, by in found.items():
        for other, skip in by.items():
            if index in found.get(other, {}):
                raise UserError(f"{index} is found by {other}, and {other} by {index}: these contradict each other",
                                _where(skip), "leave one of the two out, or give a condition on indices alone")


def _check_same(skip: Skip, recurrences: Recurrences) -> None:
    """UserError for a skip that would change what is computed."""
    nothing = _copies(promised(skip, recurrences), recurrences)
    computed = [one for one in recurrences.assignments
                if isinstance(one.value, Call) and recurrences.declared[one.target.name].role == VARIABLE]
    todo = True
    while todo:
        zero = {name for name in {one.target.name for one in computed} - nothing
                if all(folded(one.value, nothing) == Number(0) for one in computed if one.target.name == name)}
        nothing, todo = nothing | zero, bool(zero)
    for one in computed:
        value = folded(one.value, nothing)
        if one.target.name in nothing or (isinstance(value, Read) and value.name == one.target.name):
            continue
        raise UserError(f"it would change {one.target.name}: {shown(str(one), 120)} is {shown(str(value), 60)} there",
                        _where(skip), "skip only where all that is added is 0")
    for one in recurrences.assignments:
        if one.adds and isinstance(one.value, Read) and one.value.name not in nothing:
            raise UserError(f"it would change {one.target.name}, to which {one.value} is added that may not be 0 there",
                            _where(skip), "skip only where all that is added is 0")


def _copies(tensors: frozenset[str], recurrences: Recurrences) -> set[str]:
    """Inputs, and the variables that are nothing but copies of them."""
    found, grew = set(tensors), True
    sources: dict[str, set[str]] = {}
    for one in recurrences.assignments:
        values = {one.value.name} if isinstance(one.value, Read) else {""}
        sources.setdefault(one.target.name, set()).update(values)
    while grew:
        more = {name for name, of in sources.items() if name not in found and of <= found | {name}}
        found, grew = found | more, bool(more)
    return found


def folded(expr: Expr, nothing: set[str]) -> Expr:
    """An expression in which some variables are 0 at this point."""
    if isinstance(expr, Read):
        return Number(0) if expr.name in nothing and all(isinstance(at, Plane) or not at.constant for at in expr.at) else expr
    if not isinstance(expr, Call):
        return expr
    parts = [folded(operand, nothing) for operand in expr.operands]
    if all(isinstance(part, Number) for part in parts):
        return Number(OPERATIONS[expr.operation].meaning(*(part.value for part in parts if isinstance(part, Number))))
    zero = [part == Number(0) for part in parts]
    if expr.operation in ("mul", "both") and any(zero):
        return Number(0)
    if expr.operation == "add" and any(zero):
        return parts[1] if zero[0] else parts[0]
    if expr.operation == "sub" and zero[1]:
        return parts[0]
    if expr.operation == "select" and isinstance(parts[0], Number):
        return parts[1] if parts[0].value else parts[2]
    return Call(expr.operation, tuple(parts), expr.depth, expr.size)


def _named(condition: Condition) -> tuple[str, ...]:
    """The indices of a condition."""
    if isinstance(condition, Both | Either):
        return tuple(dict.fromkeys((*_named(condition.first), *_named(condition.second))))
    sums = (condition.sum,) if isinstance(condition, Compare) else [at for at in condition.read.at if isinstance(at, Sum)]
    return tuple(dict.fromkeys(index for each in sums for index, _ in each.terms))


def _split(condition: Condition) -> Iterator[Condition]:
    """The parts of all that hold together."""
    if isinstance(condition, Both):
        yield from _split(condition.first)
        yield from _split(condition.second)
    else:
        yield condition


def _holds(condition: Condition, point: Mapping[str, int]) -> bool:
    if isinstance(condition, Compare):
        return RELATIONS[condition.relation](condition.sum.at(point))
    assert isinstance(condition, Both | Either), "it is static"
    sides = (_holds(side, point) for side in (condition.first, condition.second))
    return all(sides) if isinstance(condition, Both) else any(sides)


def _where(skip: Skip) -> str:
    return shown(str(skip), 120)
