"""Arguments of the Python interface as the values that they stand for, or a UserError that names the argument."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from pathlib import Path

from .hw.arch import presets
from .hw.arch.cgra import Arch
from .hw.arch.errors import UserError
from .sim.engines import GOLDEN


def whole(name: str, value: object, least: int = 0) -> int:
    """A whole number, of Python or of NumPy."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise UserError(f"it is {value!r}, which is no whole number", name, f"give a whole number, {least} or more") from None
    if number < least:
        raise UserError(f"it is {number}, but has to be {least} or more", name, f"give a whole number, {least} or more")
    return number


def share(name: str, value: object) -> float:
    """A number from 0 to 1."""
    number = float(value) if isinstance(value, Real) else -1
    if not 0 <= number <= 1:
        raise UserError(f"it is {value!r}, which is no share", name, "give a number from 0 to 1")
    return number


def text(name: str, value: object) -> str:
    """A text."""
    if not isinstance(value, str):
        raise UserError(f"it is of type {type(value).__name__}, which is no text", name, "give a text")
    return value


def choice(name: str, value: object, choices: Iterable[str]) -> str:
    """One of several names."""
    if not isinstance(value, str) or value not in choices:
        raise UserError(f"there is no {name} {value!r}", fix=f"choose one of {', '.join(choices)}")
    return value


def sizes(name: str, value: object) -> tuple[int, ...]:
    """Sizes, x first."""
    if not isinstance(value, Iterable) or isinstance(value, str | bytes | Mapping):
        raise UserError(f"it is {value!r}, which is no sequence of sizes", name, f"give sizes, x first, as {name}=(64, 64)")
    return tuple(whole(name, each, 1) for each in value)


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
        if not isinstance(each, Real):
            raise UserError(f"it is {each!r}, which is no number", f"{name}['{key}']", "give a number")
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


def stages(value: str | Path | None, engine: str) -> Path | None:
    """The folder `dump` to write the stages of a compilation into, which need not be there; golden compiles nothing."""
    if value is None:
        return None
    if engine == GOLDEN:
        raise UserError(f"engine {engine} compiles nothing that could be written", "dump", "choose another engine")
    path = Path(value)
    at = next(each for each in (path, *path.parents) if each.exists())
    if not at.is_dir():
        raise UserError(f"{at} is a file", "dump", "name a folder, which need not be there")
    return path
