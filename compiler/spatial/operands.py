"""What recurrences are made of, where they have the usual form: operands that are handed on, and a sum or a value of them.

    a(i, j.lower, k) = A(i, k); a(i, j, k) = a(i, j - 1, k)        an operand: A, handed on along j
    c(i, j, k.lower) = 0; c(i, j, k) = c(i, j, k - 1) + ...        the sum, along k, or the largest, by max(c(i, j, k - 1), ...)
    C(i, j) = c(i, j, k.upper)                                     the result

``derive`` makes this form, and ``tree`` one whose sum has several levels, each along a digit.

Errors:  UserError for any other one.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, replace

from ...hw.arch.errors import UserError, shown
from ...hw.arch.reduction import ADD, NAMES, REDUCTIONS, begins
from ..lang.recurrence import (
    INPUT,
    LOWER,
    OUTPUT,
    UPPER,
    Assignment,
    Call,
    Expr,
    Number,
    Plane,
    Read,
    Recurrences,
    Sum,
    own,
    reads,
)
from .tree import places


@dataclass(frozen=True)
class Operand:
    """An element of an input at every point.

    Parameters
    ----------
    name : str          The variable, or the tensor where each point reads an element of its own, with a number at the second
                        place where one is read.
    tensor : str
    indices : tuple     Of the element.
    ways : tuple        Variable and index of each way along which it is handed on, the first way first.
    """

    name: str
    tensor: str
    indices: tuple[str, ...]
    ways: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Usual:
    """Recurrences of the usual form.

    Parameters
    ----------
    operands : tuple
    total : str          The variable that is the result.
    levels : tuple       Variable and index of each sum, the innermost first, of which the last is the total; more than one
                         are along the digits of a tree. () where it is no sum.
    value : Expr         What it is at a point, or what is added there; over operands.
    result : str         The output.
    indices : tuple      Of an element of it.
    reduction : str      Of `REDUCTIONS`: by what it is a sum, from 0 on, or a product from 1 on.
    """

    operands: tuple[Operand, ...]
    total: str
    levels: tuple[tuple[str, str], ...]
    value: Expr
    result: str
    indices: tuple[str, ...]
    reduction: str = ADD

    @property
    def way(self) -> str:
        """The index of the last sum, or ""."""
        return self.levels[-1][1] if self.levels else ""


def usual(recurrences: Recurrences) -> Usual:
    """The parts of recurrences."""
    outputs = [one for one in recurrences.assignments if recurrences.declared[one.target.name].role == OUTPUT]
    if len(outputs) != 1:
        raise _mistake(f"there are {len(outputs)} assignments of outputs", "assign one output")
    out = outputs[0]
    if out.adds:
        raise _mistake(f"points add to {out.target.name}, and no tree of mergers does",
                       "write an expression, as C(i,j) = A(i,k) * B(k,j), or use sp.Vectors")
    assert isinstance(out.value, Read), "outputs are assigned variables"
    trees = places(recurrences)
    total, indices = out.value.name, _plain(out, out.target, trees)
    way, value, place, reduction = _total(total, [one for one in recurrences.assignments if one.target.name == total])
    levels = [(total, way)] if way else []
    while trees and isinstance(value, Read) and any(isinstance(at, Plane) for at in value.at):
        inner = value.name
        way, value, place, _ = _total(inner, [one for one in recurrences.assignments if one.target.name == inner])
        levels.insert(0, (inner, way))
    copies: dict[str, Operand] = {}
    sums = {total, *(name for name, _ in levels)}
    rest = [one for one in recurrences.assignments if one.target.name not in sums and one is not out]
    for name in dict.fromkeys(one.target.name for one in rest):
        copies[name] = _copy(name, [one for one in rest if one.target.name == name], copies, recurrences)
    ways = {way for _, way in levels}
    for at, index in zip(out.value.at, recurrences.indices, strict=True):
        if (at != Plane(index, UPPER) if index in ways else not own(at, index)):
            raise _mistake(f"{out.target} is not the last of {total}", f"read {total} at {index}.upper")
    used: dict[str, Operand] = {}
    names: dict[Read, Read] = {}
    for read in dict.fromkeys(reads(value)):
        if recurrences.declared[read.name].role == INPUT:
            # A tensor that is read at another place, too, is another operand there.
            count = 1 + sum(other.name == read.name for other in names)
            name = read.name if count == 1 else _fresh(f"{read.name}_at{count}", recurrences.declared)
            names[read] = replace(read, name=name)
            used[name] = Operand(name, read.name, _plain(place, read, trees), ())
        elif read.name in copies and all(own(at, index) and isinstance(at, Sum) and not at.constant
                                         for at, index in zip(read.at, recurrences.indices)):
            used[read.name] = copies[read.name]
        else:
            raise _mistake(f"{shown(str(place), 120)} reads {read}", "read operands at the point itself")
    return Usual(tuple(used.values()), total, tuple(levels), _renamed(value, names), out.target.name, indices, reduction)


def _fresh(name: str, taken: Container[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _renamed(expr: Expr, names: Mapping[Read, Read]) -> Expr:
    """An expression with other names of what is read."""
    if isinstance(expr, Call):
        return replace(expr, operands=tuple(_renamed(each, names) for each in expr.operands))
    return names.get(expr, expr) if isinstance(expr, Read) else expr


def _copy(name: str, found: list[Assignment], copies: Mapping[str, Operand], recurrences: Recurrences) -> Operand:
    """A variable that hands an operand on."""
    if len(found) == 2:
        border, inside = sorted(found, key=lambda one: not any(isinstance(at, Plane) for at in one.target.at))
        lower = [at.index for at in border.target.at if isinstance(at, Plane) and at.side == LOWER]
        if len(lower) == 1 and isinstance(border.value, Read) and inside.value == _before(inside.target, lower[0]):
            way = (name, lower[0])
            if recurrences.declared[border.value.name].role == INPUT:
                return Operand(name, border.value.name, _plain(border, border.value, places(recurrences)), (way,))
            if border.value.name in copies:
                before = copies[border.value.name]
                return Operand(name, before.tensor, before.indices, (*before.ways, way))
    raise _mistake(f"{name} does not hand on an element of an input", "assign it at a lower plane, and from the point before")


def _total(name: str, found: list[Assignment]) -> tuple[str, Expr, Assignment, str]:
    """Along which index a variable is a sum, of what, and by which reduction; or what it is."""
    if len(found) == 1 and all(isinstance(at, Sum) and at.terms for at in found[0].target.at):
        return "", found[0].value, found[0], ADD
    if len(found) == 2:
        border, inside = sorted(found, key=lambda one: not any(
            isinstance(at, Plane) and at.side == LOWER for at in one.target.at))
        lower = [at.index for at in border.target.at if isinstance(at, Plane) and at.side == LOWER]
        made = inside.value
        if len(lower) == 1 and isinstance(made, Call) and made.operation in REDUCTIONS and isinstance(border.value, Number):
            before, (first, second) = _before(inside.target, lower[0]), made.operands
            begun, neutral = border.value.value, begins(made.operation)
            if before in (first, second) and begun != neutral:
                # That it begin otherwise is no remedy by itself, as its results are then others.
                raise _mistake(f"{name} begins with {begun}, and its parts, {NAMES[made.operation]}, with {neutral}",
                               f"leave out skips by values, or let {name} begin with {neutral}, and take {begun} into the "
                               "result outside of the array")
            if before in (first, second):
                return lower[0], second if first == before else first, inside, made.operation
    raise _mistake(f"{name} is neither a value nor a sum, the largest or the like along one index that begins with 0, "
                   "nor a product that begins with 1", "assign it as c(i, j, k - 1) + ..., and 0 at k.lower")


def _before(target: Read, way: str) -> Read:
    return Read(target.name, tuple(at - 1 if own(at, way) and isinstance(at, Sum) else at for at in target.at))


def _plain(one: Assignment, read: Read, trees: Mapping[str, Sum]) -> tuple[str, ...]:
    """The indices at which a tensor is read or assigned, one with a tree as it was written."""
    found = []
    for at in read.at:
        if whole := [index for index, place in trees.items() if at == place]:
            found += whole
            continue
        if not (isinstance(at, Sum) and len(at.terms) == 1 and at.terms[0][1] == 1 and not at.constant):
            raise _mistake(f"{shown(str(one), 120)} has {read} at {at}", "use plain indices")
        found.append(at.terms[0][0])
    return tuple(found)


def _mistake(what: str, fix: str) -> UserError:
    return UserError(f"{what}: indices cannot be found by values in this functionality", "functionality", fix)
