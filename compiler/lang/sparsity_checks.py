"""Whether recurrences may skip what skips say: that indices are there and are found, and that no result changes.

Input:   skips, and the recurrences that they are of.
Output:  the skips, one whose condition is either of two as two.
Errors:  UserError for unknown indices, for conditions that cannot be decided, for skips that contradict each other, and for
         those that would change what is computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ...hw.arch.errors import UserError, shown
from ...hw.arch.logic import OPERATIONS
from ...hw.arch.reduction import NAMES, NEUTRAL, REDUCTIONS, TIMES
from .recurrence import INPUT, UPPER, VARIABLE, Assignment, Call, Expr, Number, Plane, Read, Recurrences, Sum, reads
from .sparsity import MOST_SKIPS, Compare, Either, Skip, conjuncts, dependencies, fibers, indices_of, promised, zeros

# Behind the name of a tensor: at a place that a skip does not ask for.
ELSEWHERE = "'"


def checked(skips: Sequence[Skip], recurrences: Recurrences, reduces: bool = False) -> tuple[Skip, ...]:
    """Skips of some recurrences; one whose condition is either of two becomes two. reduces: where a wire goes that values cut,
    parts of what was the largest along it, say, are compared, not added up."""
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
            _check_same(skip, recurrences, reduces)
    return found


def _parts(skip: Skip) -> Iterator[Skip]:
    if isinstance(skip.where, Either):
        for side in (skip.where.first, skip.where.second):
            yield from _parts(Skip(skip.indices, side, skip.keep, skip.of))
    else:
        yield skip


def _check(skip: Skip, recurrences: Recurrences) -> None:
    where, named = _where(skip), indices_of(skip.where)
    if unknown := [index for index in (*skip.indices, *named) if index not in recurrences.indices]:
        raise UserError(f"no variable has the index {unknown[0]}", where, f"use {', '.join(recurrences.indices)}")
    if missing := [index for index in skip.indices if index not in named]:
        raise UserError(f"its condition does not depend on {missing[0]}", where,
                        f"give a condition with {missing[0]}, or skip another index")
    if not skip.is_static and (any(isinstance(part, Compare | Either) for part in conjuncts(skip.where))):
        raise UserError("its condition mixes values with indices, or nests | in &", where,
                        "give a condition on values alone, or on indices alone, with | outside of &")
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


def _met(one: Assignment, value: Expr, nothing: set[str]) -> tuple[str, int] | None:
    """Where a variable is the largest so far, say, and a number: by which reduction, and the number."""
    if not isinstance(value, Call) or value.operation not in REDUCTIONS or value.operation in NEUTRAL:
        return None
    own = [each for each in value.operands if isinstance(each, Read) and each.name == one.target.name]
    numbers = [each.value for each in (folded(each, nothing) for each in value.operands) if isinstance(each, Number)]
    return (value.operation, numbers[0]) if len(own) == len(numbers) == 1 else None


def _stays(one: Assignment, operation: str, number: int, recurrences: Recurrences) -> bool:
    """Whether that changes nothing: the variable begins with the number, or beyond it."""
    begins = [each.value.value if isinstance(each.value, Number) else None for each in recurrences.assignments
              if each.target.name == one.target.name and each != one]
    meaning = OPERATIONS[operation].meaning
    return bool(begins) and all(first is not None and meaning(first, number) == first for first in begins)


def _check_same(skip: Skip, recurrences: Recurrences, reduces: bool) -> None:
    """UserError for a skip that would change what is computed."""
    recurrences = _apart(skip, recurrences)
    nothing = _copies(promised(skip, recurrences), recurrences)
    computed = [one for one in recurrences.assignments
                if isinstance(one.value, Call) and recurrences.declared[one.target.name].role == VARIABLE]
    todo = True
    while todo:
        # What a point hands on to itself elsewhere is that of the point before where it is left out, not 0.
        own = {one.target.name for one in computed if any(read.name == one.target.name for read in reads(one.value))}
        zero = {name for name in {one.target.name for one in computed} - nothing - own
                if all(folded(one.value, nothing) == Number(0) for one in computed if one.target.name == name)}
        nothing, todo = nothing | zero, bool(zero)
    for one in computed:
        value = folded(one.value, nothing)
        if one.target.name in nothing or (isinstance(value, Read) and value.name == one.target.name):
            continue
        # "Both" of anything and 0 is no more than 0, but what it begins with counts.
        met = _met(one, one.value, nothing) or _met(one, value, nothing)
        if met and _stays(one, *met, recurrences):
            if reduces:
                continue
            raise UserError(f"{one.target.name} is {NAMES[met[0]]}, and what it is of would be added up in parts", _where(skip),
                            "leave it out, or use sp.Transform or sp.Lanes")
        inner = [(read.name, at) for read in reads(value) for at in read.at
                 if read.name != one.target.name and isinstance(at, Plane) and at.side == UPPER]
        if inner:
            # It may stay the same, but what a point hands on to the last one is no part of it that could be left out.
            raise UserError(f"{one.target.name} adds up {inner[0][0]} at {inner[0][1]}: skips are of sums along one index",
                            _where(skip), "make one index of both, as A(i, k) of A(i, j, l) with k = 8 * j + l")
        texts = (shown(str(each).replace(ELSEWHERE, ""), most) for each, most in ((one, 120), (value, 60)))
        raise UserError(f"it would change {one.target.name}: {' is '.join(texts)} there", _where(skip),
                        _instead(one, skip, met, one.target.name in own))
    for one in recurrences.assignments:
        if one.adds and isinstance(one.value, Read) and one.value.name not in nothing:
            raise UserError(f"it would change {one.target.name}, to which {one.value} is added that may not be 0 there",
                            _where(skip), "skip only where all that is added is 0")


def _instead(one: Assignment, skip: Skip, met: tuple[str, int] | None, goes_on: bool) -> str:
    """What to try where a skip would change a variable: `met` is a number that it meets, as the largest so far; `goes_on` says
    whether another assignment, or this one, reads it elsewhere."""
    if met:
        # Elastic arrays begin the largest and the like with 0.
        begins = f"let {one.target.name} begin with {met[1]}, or " if skip.is_static or not met[1] else ""
        return f"{begins}leave this skip out"
    if goes_on and all(read.name != one.target.name for read in reads(one.value)):
        return f"let {one.target.name} begin with a number at a lower plane, as k.lower, or leave this skip out"
    reduction = one.value.operation if isinstance(one.value, Call) and goes_on else ""
    if reduction == TIMES:
        return "skip only where all factors are 1"
    is_one_of = reduction in REDUCTIONS and reduction not in NEUTRAL
    return f"skip only where {'each new value' if is_one_of else 'all that is added'} is 0"


def _apart(skip: Skip, recurrences: Recurrences) -> Recurrences:
    """Recurrences in which elements of tensors that a skip by values does not ask for have a name of their own: that the one
    at (i, j) is 0 says nothing of the one at (i, k)."""
    asked = zeros(skip.where)
    names = {read.name for read in asked}

    def other(expr: Expr) -> Expr:
        if isinstance(expr, Call):
            return replace(expr, operands=tuple(map(other, expr.operands)))
        is_other = isinstance(expr, Read) and expr.name in names and expr not in asked
        return replace(expr, name=expr.name + ELSEWHERE) if is_other and isinstance(expr, Read) else expr

    return replace(recurrences, assignments=tuple(replace(one, value=other(one.value)) for one in recurrences.assignments))


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
    if expr.operation == "mul" and Number(1) in parts:
        return parts[1] if parts[0] == Number(1) else parts[0]
    if expr.operation == "sub" and zero[1]:
        return parts[0]
    if expr.operation == "select" and isinstance(parts[0], Number):
        return parts[1] if parts[0].value else parts[2]
    return Call(expr.operation, tuple(parts), expr.depth, expr.size)


def _where(skip: Skip) -> str:
    return shown(str(skip), 120)
