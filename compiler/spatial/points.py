"""Unrolled recurrences: what every variable is at every point, over which other points and elements.

Source:  Stellar IV-A (points and connections).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..lang.recurrence import Number, Recurrences

Point = tuple[int, ...]
Value = tuple[str, Point]


@dataclass(frozen=True)
class Use:
    """A variable at the point of the reader minus `distance`."""

    variable: str
    distance: Point


@dataclass(frozen=True)
class Element:
    """An element of an input."""

    tensor: str
    at: Point


@dataclass(frozen=True)
class Compute:
    """An operation on terms."""

    operation: str
    operands: tuple[Term, ...]


Term = Number | Use | Element | Compute


@dataclass(frozen=True)
class Unrolled:
    """The values that results need.

    Parameters
    ----------
    recurrences : Recurrences
    bounds : mapping             The extent of every index, in their order.
    values : mapping             Of a variable at a point: what it is.
    results : mapping            Of an element of an output, by tensor and place: the variable and point that it is.
    shapes : mapping             Of every input and output.
    partial : tuple              Tensor, place and value of what is to be added to results, where points add, or skips cut a
                                 sum (`prune`).
    """

    recurrences: Recurrences
    bounds: Mapping[str, int]
    values: Mapping[Value, Term]
    results: Mapping[tuple[str, Point], Value]
    shapes: Mapping[str, tuple[int, ...]]
    partial: tuple[tuple[str, Point, Value], ...] = ()

    @property
    def leaving(self) -> tuple[tuple[str, Point, Value], ...]:
        """Tensor, place and value of all that leaves."""
        return (*((tensor, element, value) for (tensor, element), value in self.results.items()), *self.partial)

    @property
    def distances(self) -> dict[Use, None]:
        """Every variable that is read at another point, and how far that is."""
        terms = {id(term): term for term in self.values.values()}
        return {use: None for term in terms.values() for use in uses(term) if any(use.distance)}


def uses(term: Term) -> Iterator[Use]:
    """The variables that a term reads."""
    return (leaf for leaf in _leaves(term) if isinstance(leaf, Use))


def elements(term: Term) -> Iterator[Element]:
    """The elements of inputs that a term reads."""
    return (leaf for leaf in _leaves(term) if isinstance(leaf, Element))


def _leaves(term: Term) -> Iterator[Number | Use | Element]:
    if isinstance(term, Compute):
        for operand in term.operands:
            yield from _leaves(operand)
    else:
        yield term


def source(value: Value, use: Use) -> Value:
    """The value that another one uses."""
    return use.variable, tuple(a - b for a, b in zip(value[1], use.distance, strict=True))


def shown_at(name: str, at: Point, names: tuple[str, ...] = ()) -> str:
    """A variable or tensor at a place, as a message has it."""
    inside = [f"{index} = {each}" for index, each in zip(names, at)] if names else map(str, at)
    return f"{name}({', '.join(inside)})"
