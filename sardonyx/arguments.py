"""Arguments of the Python interface as the values that they stand for, or a UserError that names the argument."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import islice
from numbers import Integral, Real
from pathlib import Path
from typing import Any, cast

import numpy as np

from .compiler.lang.program import Program, parse_program
from .compiler.lang.schedule import Schedule, parse_schedule, scheduled
from .hw.arch import presets
from .hw.arch.cgra import Arch
from .hw.arch.errors import UserError, shown
from .hw.arch.keywords import KEYWORDS
from .tensors.table import LONGEST

# Arguments of `einsum`: a tensor of such a name gets no operand.
OPTIONS = ("order", "formats", "arch", "engine", "tile", "values", "dump", "seed", "progress", "power", "avoid", "unroll",
           "dispatch", "locate", "without", "schedule", "counters", "jobs", "cluster", "state")
# Dimensions of an array of NumPy.
MOST_SIZES = 64
MOST_SEED = (1 << 63) - 1


def said(value: object) -> str:
    """A value as an error shows it. Python writes no number of more than 4,300 digits."""
    try:
        return shown(repr(value))
    except ValueError:
        return f"a very long {type(value).__name__}"


def whole(name: str, value: object, least: int = 0, most: int = LONGEST) -> int:
    """A whole number, of Python or of NumPy."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise UserError(f"it is {said(value)}, which is no whole number", name,
                        f"give a whole number, {least} or more") from None
    if number < least:
        raise UserError(f"it is {said(number)}, but has to be {least} or more", name, f"give a whole number, {least} or more")
    if number > most:
        raise UserError(f"it is {said(number)}, but has to be {most} or less", name,
                        f"give a whole number from {least} to {most}")
    return number


def seed(value: object) -> int:
    """A seed of random numbers."""
    return whole("seed", value, most=MOST_SEED)


def names(name: str, value: object, known: Collection[str]) -> frozenset[str]:
    """Some of the known names: a text with commas, or several texts."""
    if value is None:
        return frozenset()
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, Iterable):
        raise UserError(f"it is {said(value)}, which are no names", name, f"give some of {', '.join(known)}")
    parts = list(islice(parts, MOST_SIZES))
    return frozenset(choice(name, part.strip() if isinstance(part, str) else part, known) for part in parts)


def share(name: str, value: object) -> float:
    """A number from 0 to 1."""
    if not isinstance(value, Real) or not 0 <= cast(Any, value) <= 1:
        raise UserError(f"it is {said(value)}, which is no share", name, "give a number from 0 to 1")
    return float(value)


def text(name: str, value: object) -> str:
    """A text."""
    if not isinstance(value, str):
        raise UserError(f"it is of type {type(value).__name__}, which is no text", name, "give a text")
    return value


def module_name(value: object, parts: re.Pattern[str]) -> str:
    """The name of a module of Verilog; none that one of its parts has, in capitals or not, and no keyword."""
    name = text("name", value)
    if name in KEYWORDS:
        raise UserError(f"{name} is a keyword of Verilog", "name", f"choose another one, as my_{name}")
    if parts.fullmatch(name.lower()):
        raise UserError(f"{name} is the name of a part", "name", "choose another one")
    return name


def choice(name: str, value: object, choices: Iterable[str]) -> str:
    """One of several names."""
    if not isinstance(value, str) or value not in choices:
        raise UserError(f"there is no {name} {said(value)}", fix=f"choose one of {', '.join(choices)}")
    return value


def flag(name: str, value: object) -> bool:
    """True or false, of Python or of NumPy."""
    if not isinstance(value, bool | np.bool_):
        raise UserError(f"it is {said(value)}, which is neither true nor false", name, "give True or False")
    return bool(value)


def sizes(name: str, value: object) -> tuple[int, ...]:
    """Sizes, x first."""
    if (found := _listed(value)) is None:
        raise UserError(f"it is {said(value)}, which is no sequence of sizes", name,
                        f"give sizes, x first, as {name}=(64, 64)")
    return tuple(whole(name, each, 1) for each in found)


def _listed(value: object) -> tuple[object, ...] | None:
    """What a sequence holds; None for what is none, as a text, a scalar of NumPy or a sparse matrix."""
    if not isinstance(value, Iterable) or isinstance(value, str | bytes | Mapping):
        return None
    try:
        return tuple(islice(value, MOST_SIZES))
    except TypeError:
        return None


def statements(expression: object, loops: object, storage: object, operands: Collection[str], misplaced: Collection[object],
               said: Schedule) -> Program:
    """The statements of `einsum` with their loop orders and formats; UserError also for operands that cannot reach their
    tensor: given by place, or called like an option.

    operands: names of those that are given; misplaced: those without a name.
    """
    written = text("expression", expression)
    if misplaced:
        raise UserError(f"{len(misplaced)} operands have no name" if len(misplaced) > 1 else "an operand has no name", written,
                        "give each by the name of its tensor, as B=...")
    for tensor in parse_program(written).inputs:
        if tensor in OPTIONS and tensor not in operands:
            raise UserError(f"tensor {tensor} is called like an option, so that no operand reaches it", written,
                            "rename it in the expression")
    program = scheduled(written, said, order(loops), formats(storage))
    program.check_names(operands, OPTIONS)
    return program


def schedule(value: object) -> Schedule:
    """A schedule, or one from its text; nothing is an empty one."""
    if isinstance(value, Schedule):
        return value
    return parse_schedule("" if value is None else text("schedule", value))


def order(value: object) -> str | tuple[str, ...]:
    """A loop order: a text, or names of indices; nothing is no order."""
    if value is None or isinstance(value, str):
        return value or ""
    names = _listed(value)
    if names is None or not all(isinstance(each, str) for each in names):
        raise UserError(f"it is {said(value)}, which is no loop order", "order", "give a text, such as 'ijk'")
    return tuple(map(str, names))


def formats(value: object) -> dict[str, str]:
    """Formats by tensor; nothing is none."""
    found: dict[str, str] = {}
    for tensor, form in mapping("formats", {} if value is None else value).items():
        if not isinstance(tensor, str) or not isinstance(form, str):
            raise UserError(f"it holds {said(tensor)}: {said(form)}, which is no format of a tensor", "formats",
                            "give texts, as formats={'B': 'ss10'}")
        found[tensor] = form
    return found


def function(name: str, value: object) -> Callable[[str], None]:
    """A function of a text."""
    if not callable(value):
        raise UserError(f"it is {said(value)}, which is no function", name, "give a function of a text, or leave it out")
    return value


def mapping(name: str, value: object) -> Mapping[str, object]:
    """Values by name."""
    if not isinstance(value, Mapping):
        raise UserError(f"it is of type {type(value).__name__}, which says no names", name,
                        f"give a dictionary, {name}={{'name': ...}}")
    return value


def numbers(name: str, value: object) -> dict[str, int | float]:
    """Numbers by name."""
    found: dict[str, int | float] = {}
    for key, each in mapping(name, value).items():
        where = f"{name}['{shown(str(key))}']"
        if not isinstance(each, Real):
            raise UserError(f"it is {said(each)}, which is no number", where, "give a number")
        if isinstance(each, Integral) and abs(int(each)) >> 64:
            raise UserError(f"it is {said(each)}, and no parameter has more than 64 bits", where, "give a smaller number")
        found[key] = int(each) if isinstance(each, Integral) else float(each)
    return found


def machine(value: object) -> Arch:
    """A description, or a preset or a .json file by its name."""
    if isinstance(value, Arch):
        return value
    if isinstance(value, str | Path):
        return presets.get(str(value))
    raise UserError(f"it is of type {type(value).__name__}, which is no machine", "arch",
                    f"name one of {', '.join(presets.PRESETS)} or a .json file, or give an Arch")
