"""What assignments over declared names have to be, to be recurrences of an iteration space.

Input:   assignments, and what the names in them are.
Output:  Recurrences: the indices in the order of variables, a type for every name that is used.
Errors:  UserError for what no recurrence can mean, with the assignment.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...hw.arch.errors import UserError, shown
from .recurrence import (
    INPUT,
    MOST_INDICES,
    OUTPUT,
    UPPER,
    VARIABLE,
    Assignment,
    Declared,
    Place,
    Plane,
    Read,
    Recurrences,
    Sum,
    own,
    reads,
)


def recurrences(assignments: tuple[Assignment, ...], names: Mapping[str, Declared]) -> Recurrences:
    """Check assignments over declared names."""
    if not assignments:
        raise UserError("there are no assignments", "functionality", "give one at least, as c(i, k).eq(...)")
    indices = _order(assignments, names)
    if len(indices) > MOST_INDICES:
        raise UserError(f"there are {len(indices)} indices", "functionality", f"use {MOST_INDICES} or fewer")
    for one in assignments:
        _check_target(one, names, indices)
        for read in dict.fromkeys(reads(one.value)):
            _check_read(one, read, names, indices, assignments)
    added = {one.target.name for one in assignments if one.adds}
    if mixed := [one for one in assignments if not one.adds and one.target.name in added]:
        raise UserError(f"{mixed[0].target.name} is assigned, and added to", shown(str(mixed[0]), 120), "add to it only")
    return Recurrences(indices, _typed(assignments, names), assignments)


def _order(assignments: tuple[Assignment, ...], names: Mapping[str, Declared]) -> tuple[str, ...]:
    """The indices in the order in which variables have them."""
    found: dict[int, dict[str, None]] = {}
    for one in assignments:
        for read in (one.target, *reads(one.value)):
            if names[read.name].role == VARIABLE:
                for at, each in enumerate(read.at):
                    found.setdefault(at, {}).update(dict.fromkeys(_indices(each)))
    order: list[str] = []
    for at, here in sorted(found.items()):
        if len(here) != 1 or next(iter(here)) in order:
            what = f"place {at + 1} of variables has " + (f"the indices {', '.join(here)}" if here else "no index anywhere")
            raise UserError(what if len(here) != 1 else f"index {next(iter(here))} has two places", "functionality",
                            "give every variable the same indices in the same order")
        order += here
    if not order:
        raise UserError("no variable has an index", "functionality", "declare variables and assign them at points")
    return tuple(order)


def _indices(place: Place) -> tuple[str, ...]:
    return (place.index,) if isinstance(place, Plane) else tuple(index for index, _ in place.terms)


def _check_target(one: Assignment, names: Mapping[str, Declared], indices: tuple[str, ...]) -> None:
    declared, at = names[one.target.name], one.target.at
    where = shown(str(one), 120)
    if declared.role == INPUT:
        raise UserError(f"{declared.name} is an input and cannot be assigned", where, "assign a variable, or an output")
    if declared.role == VARIABLE and one.adds:
        raise UserError(f"{declared.name} is a variable and cannot be added to", where, "add to an output")
    if declared.role == OUTPUT:
        if unknown := [index for each in at for index in _indices(each) if index not in indices]:
            raise UserError(f"no variable has the index {unknown[0]}", where, f"use {', '.join(indices)}")
        if any(isinstance(each, Plane) for each in at):
            raise UserError(f"{declared.name} is assigned at a plane", where, "give sums of indices and numbers")
        if not isinstance(one.value, Read) or names[one.value.name].role != VARIABLE:
            raise (UserError(f"what is added to {declared.name} is not one variable", where, "as in C(i + j).add(p(i, j))")
                   if one.adds else
                   UserError(f"{declared.name} is not assigned one variable", where, "as in C(i, j).eq(c(i, j, k.upper))"))
        if moved := [each for each in one.value.at if isinstance(each, Sum) and each.terms and each.constant]:
            raise UserError(f"{one.value.name} is read at {moved[0]}", where, "read it at the index itself, .upper or a number")
        if before := [each for each in one.value.at if isinstance(each, Sum) and not each.terms and each.constant < 0]:
            raise UserError(f"{one.value.name} is read at {before[0]}, where nothing is computed", where,
                            "read it at the index itself, .upper or a number from 0 on")
        return
    if len(at) != len(indices):
        raise UserError(f"{declared.name} has {len(at)} places, but there are {len(indices)} indices", where,
                        f"give one for each of {', '.join(indices)}")
    for each, index in zip(at, indices, strict=True):
        fits = own(each, index) and isinstance(each, Sum) and not each.constant
        fits |= isinstance(each, Plane) and each.index == index
        fits |= isinstance(each, Sum) and not each.terms
        if not fits:
            raise UserError(f"{declared.name} is assigned at {each} where {index} is expected", where,
                            f"give {index}, {index}.lower, {index}.upper or a number")


def _check_read(one: Assignment, read: Read, names: Mapping[str, Declared], indices: tuple[str, ...],
                assignments: tuple[Assignment, ...]) -> None:
    declared, where = names[read.name], shown(str(one), 120)
    if declared.role == OUTPUT:
        raise UserError(f"{declared.name} is an output and cannot be read", where, "read the variable that it is assigned")
    if declared.role == INPUT:
        if unknown := [index for each in read.at for index in _indices(each) if index not in indices]:
            raise UserError(f"no variable has the index {unknown[0]}", where, f"use {', '.join(indices)}")
        if any(isinstance(each, Plane) for each in read.at):
            raise UserError(f"{declared.name} is read at a plane", where, "give sums of indices and numbers")
        return
    if len(read.at) != len(indices):
        raise UserError(f"{declared.name} has {len(read.at)} places, but there are {len(indices)} indices", where,
                        f"give one for each of {', '.join(indices)}")
    for each, index in zip(read.at, indices, strict=True):
        if not (own(each, index) or (isinstance(each, Plane) and each == Plane(index, UPPER))
                or (isinstance(each, Sum) and not each.terms)):
            raise UserError(f"{declared.name} is read at {each} where {index} is expected", where,
                            f"give {index} plus or minus a number, {index}.upper or a number")
    if not any(other.target.name == read.name for other in assignments):
        raise UserError(f"{declared.name} is read but never assigned", where, "assign it, or declare it as an input")


def _typed(assignments: tuple[Assignment, ...], names: Mapping[str, Declared]) -> dict[str, Declared]:
    """All names that are used, with types: a variable that only copies has the type of what it copies, others have int32."""
    used = dict.fromkeys(read.name for one in assignments for read in (one.target, *reads(one.value)))
    types = {name: names[name].dtype for name in used}
    for name in used:
        if not types[name]:
            types[name] = _copied(name, assignments, types)
    return {name: Declared(name, names[name].role, types[name]) for name in used}


def _copied(name: str, assignments: tuple[Assignment, ...], types: Mapping[str, str]) -> str:
    """The type of what a variable or output copies, if that is one thing; else int32."""
    seen, todo, found = {name}, [name], set[str]()
    while todo:
        target = todo.pop()
        for one in assignments:
            if one.target.name != target:
                continue
            if one.adds or not isinstance(one.value, Read):
                return "int32"
            source = one.value.name
            if types[source]:
                found.add(types[source])
            elif source not in seen:
                seen.add(source)
                todo.append(source)
    return found.pop() if len(found) == 1 else "int32"
