"""Check: what the fields of a description may be, declared in their types and checked where a description is made.

    @dataclass(frozen=True)
    class Glb:
        banks: Annotated[int, PowerOfTwo(1, 256)] = 2

        def __post_init__(self) -> None:
            check(self, "glb")

A number needs a range in its type; texts, flags, parts and tuples of parts are checked by their type alone. Numbers and
flags of NumPy become those of Python, so that equal descriptions have equal JSON; a flag is no number and 4.0 is no whole
number.

Errors: `Misfits`, every field that does not fit, and if all do, every rule between fields that is broken.
"""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from .errors import UserError


class Range(Protocol):
    """Values that a field may have: `legal` says which, as in "give {legal}"."""

    @property
    def legal(self) -> str: ...

    def fits(self, value: object) -> bool: ...


@dataclass(frozen=True)
class Whole:
    """A whole number."""

    low: int
    high: int

    @property
    def legal(self) -> str:
        return f"a whole number {self.low}..{self.high}"

    def fits(self, value: object) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and self.low <= value <= self.high


@dataclass(frozen=True)
class PowerOfTwo(Whole):
    """A power of two, or also 0."""

    zero: bool = False

    @property
    def legal(self) -> str:
        return f"a power of two {self.low}..{self.high}{', or 0' * self.zero}"

    def fits(self, value: object) -> bool:
        if isinstance(value, int) and not isinstance(value, bool) and self.zero and value == 0:
            return True
        return super().fits(value) and isinstance(value, int) and not value & value - 1


@dataclass(frozen=True)
class Real:
    """A finite number."""

    low: float
    high: float

    @property
    def legal(self) -> str:
        return f"a number {self.low:g}..{self.high:g}"

    def fits(self, value: object) -> bool:
        return isinstance(value, int | float) and not isinstance(value, bool) and self.low <= value <= self.high


@dataclass(frozen=True)
class OneOf:
    """One of several names."""

    names: tuple[str, ...]

    @property
    def legal(self) -> str:
        return f"one of {', '.join(self.names)}"

    def fits(self, value: object) -> bool:
        return isinstance(value, str) and value in self.names


@dataclass(frozen=True)
class Text:
    """A text of so many printable characters."""

    least: int = 0
    most: int = 10_000

    @property
    def legal(self) -> str:
        return f"a text of {self.least}..{self.most} printable characters"

    def fits(self, value: object) -> bool:
        return isinstance(value, str) and self.least <= len(value) <= self.most and value.isprintable()


@dataclass(frozen=True)
class Identifier:
    """A name that hardware can bear."""

    legal = "a name of letters, digits and underscores"

    def fits(self, value: object) -> bool:
        return isinstance(value, str) and value.isascii() and value.isidentifier()


@dataclass(frozen=True)
class Instance:
    """A value of a class, as another description."""

    of: type

    @property
    def legal(self) -> str:
        return f"{'an' if self.of.__name__[0] in 'AEIO' else 'a'} {self.of.__name__}"

    def fits(self, value: object) -> bool:
        return isinstance(value, self.of)


@dataclass(frozen=True)
class Flag:
    """True or false."""

    legal = "true or false"

    def fits(self, value: object) -> bool:
        return isinstance(value, bool)


@dataclass(frozen=True)
class Function:
    """Something to call."""

    legal = "a function"

    def fits(self, value: object) -> bool:
        return callable(value)


@dataclass(frozen=True)
class Tuple:
    """A tuple of any length of values that fit one range, or of one range each."""

    ranges: tuple[Range, ...]
    any_length: bool

    @property
    def legal(self) -> str:
        inside = ", ".join(each.legal for each in self.ranges)
        return f"a tuple, each {inside}" if self.any_length else f"a tuple of {inside}"

    def fits(self, value: object) -> bool:
        if not isinstance(value, tuple):
            return False
        if self.any_length:
            return all(self.ranges[0].fits(each) for each in value)
        return len(value) == len(self.ranges) and all(r.fits(each) for r, each in zip(self.ranges, value, strict=True))


@dataclass(frozen=True)
class Either:
    """A value that fits one of several ranges."""

    ranges: tuple[Range, ...]

    @property
    def legal(self) -> str:
        return " or ".join(each.legal for each in self.ranges)

    def fits(self, value: object) -> bool:
        return any(each.fits(value) for each in self.ranges)


@dataclass(frozen=True)
class Misfit:
    """What is wrong: the path of a field, what about it, and what to try."""

    path: str
    problem: str
    fix: str


class Misfits(UserError):
    """All that does not fit in a description."""

    def __init__(self, misfits: Iterable[Misfit], where: str) -> None:
        self.misfits = tuple(misfits)
        several = len(self.misfits) > 1
        super().__init__("; ".join(f"{each.path} {each.problem}" for each in self.misfits), where,
                         "; ".join(f"{each.path}: {each.fix}" if several else each.fix for each in self.misfits))


def check(description: Any, where: str, rules: Callable[[], Iterable[Misfit]] = tuple) -> None:
    """Every field of a description in its range, or `Misfits`; then the rules between its fields, which may read them.

    The error says `where`, and the name of the description if it has one.
    """
    cls: type = type(description)
    for name in ranges(cls):
        if isinstance(value := getattr(description, name), np.generic):
            object.__setattr__(description, name, value.item())
    if found := misfits(cls, vars(description)) or list(rules()):
        raise Misfits(found, f"{where} {shown(vars(description)['name'])}" if "name" in vars(description) else where)


def misfits(description: type, values: Mapping[str, object]) -> list[Misfit]:
    """The values, by the names of fields of a class, that it would refuse."""
    return [Misfit(name, f"is {shown(values[name])}", f"give {each.legal}")
            for name, each in ranges(description).items() if name in values and not each.fits(values[name])]


@functools.cache
def ranges(description: type) -> dict[str, Range]:
    """The range of every field of a class."""
    hints = typing.get_type_hints(description, include_extras=True)
    return {field.name: _range(hints[field.name], f"{description.__name__}.{field.name}")
            for field in dataclasses.fields(description)}


def _range(hint: Any, name: str) -> Range:
    """What a type says about a value."""
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return typing.cast(Range, inside[1])
    if origin is tuple:
        any_length = inside[-1] is Ellipsis
        return Tuple(tuple(_range(each, name) for each in inside[:1 if any_length else None]), any_length)
    if origin is types.UnionType:
        return Either(tuple(_range(each, name) for each in inside))
    if origin is Callable:
        return Function()
    assert isinstance(hint, type) and hint not in (int, float), f"{name} needs a range: Annotated[{hint}, ...]"
    return Flag() if hint is bool else Text() if hint is str else Instance(hint)


def shown(value: object) -> str:
    """A value as an error names it, of bounded length."""
    if isinstance(value, int) and value.bit_length() > 64:
        return f"an integer of {value.bit_length()} bits"
    if value is not None and not isinstance(value, int | float | str):
        return f"of type {type(value).__name__}"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
