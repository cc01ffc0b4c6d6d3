"""Schedules: how statements are computed, as a value and as text.

    reorder(k,i,j)      the loops of the statement with these index variables, the outermost first
    split(i,32)         sub-tiles have 32 coordinates of i
    parallelize(i,4)    4 copies of the program share the sub-tiles that i is cut into
    fuse(T)             T stays inside the array (`compiler/sparse/fuse.py`)

Whatever has no effect is refused: an index or a tensor that is not there, what is said twice, here where the text is known,
and where operands are cut, an index that is one tile.

Errors:  UserError with the place in the text.
Source:  Onyx JSSC IV-B; the names are those of the schedules of TACO, which compiles tensor algebra.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from sardonyx.hw.arch import check
from sardonyx.hw.arch.errors import UserError, shown

from .einsum import Einsum
from .parser import mistake
from .program import Program, parse_program

# As much of a directive as is there: its name, (, what it names, ).
_DIRECTIVE = re.compile(r"\s*(?:([A-Za-z_]\w*)\s*(?:(\()([^()]*)(\))?\s*)?)?", re.ASCII)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_EXAMPLE = "write it as 'reorder(k,i,j) split(i,32) parallelize(i,4) fuse(T)'"
NAMES = ("reorder", "split", "parallelize", "fuse")
MOST = 1 << 16      # Coordinates of a sub-tile, and copies.


@dataclass(frozen=True)
class Schedule:
    """What is said of a program; each method gives a schedule with one thing more.

        >>> str(Schedule().reorder("k", "i", "j").split("i", 32))
        'reorder(k,i,j) split(i,32)'

    Parameters
    ----------
    orders : tuple      Loop orders, each of the statement with these index variables; no two of the same ones.
    edges : mapping     Coordinates of a sub-tile, 1 to `MOST`, by index variable.
    copies : tuple      An index variable, and the number of copies, 1 to `MOST`; or nothing.
    fused : tuple       Intermediates that stay inside the array, each once.

    Lists do for tuples, and whole numbers of NumPy for those of Python. Raises UserError for what is neither, or said twice.
    """

    orders: tuple[tuple[str, ...], ...] = ()
    # A mapping has no hash; schedules that are equal have equal hashes of the rest.
    edges: Mapping[str, int] = field(default_factory=dict, hash=False)
    copies: tuple[str, int] | None = None
    fused: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        orders = tuple(_names("reorder", each) for each in _words("orders", self.orders))
        for at, order in enumerate(orders):
            if any(set(order) == set(other) for other in orders[:at]):
                raise UserError(f"the loops of {' and '.join(sorted(order))} are ordered twice", "schedule",
                                "leave out one reorder")
        if not isinstance(self.edges, Mapping):
            raise UserError(f"edges: {_said(self.edges)} is no mapping", "schedule", "give edges={'i': 32}")
        copies = None if self.copies is None else _words("copies", self.copies)
        if copies is not None and len(copies) != 2:
            raise UserError(f"copies has {len(copies)} parts", "schedule", "give an index and a number, copies=('i', 4)")
        fused = _words("fused", self.fused)
        for name, value in (("orders", orders), ("fused", _names("fuse", fused) if fused else ()),
                            ("edges", dict(_counted("split", *each) for each in self.edges.items())),
                            ("copies", copies and _counted("parallelize", *copies))):
            object.__setattr__(self, name, value)

    def __bool__(self) -> bool:
        return self != Schedule()

    def reorder(self, *indices: str) -> Schedule:
        """The loops of the statement with these index variables, the outermost first."""
        return replace(self, orders=(*self.orders, indices))

    def split(self, index: str, edge: int) -> Schedule:
        """Sub-tiles of so many coordinates of an index."""
        index, edge = _counted("split", index, edge)
        if index in self.edges:
            raise UserError(f"index {index} is split twice", "schedule", "leave out one split")
        return replace(self, edges={**self.edges, index: edge})

    def parallelize(self, index: str, copies: int) -> Schedule:
        """So many copies of the program, which share the sub-tiles that an index is cut into."""
        if self.copies is not None:
            raise UserError("the program is parallelized twice", "schedule", "leave out one parallelize: copies are of the "
                            "whole program, and share all its sub-tiles")
        return replace(self, copies=(index, copies))

    def fuse(self, *tensors: str) -> Schedule:
        """Let intermediates stay inside the array."""
        for tensor in _names("fuse", tensors):
            if tensor in self.fused:
                raise UserError(f"{tensor} is fused twice", "schedule", "name it once")
        return replace(self, fused=(*self.fused, *tensors))

    def __str__(self) -> str:
        said = [f"reorder({','.join(order)})" for order in self.orders]
        said += [f"split({index},{edge})" for index, edge in self.edges.items()]
        said += [f"parallelize({self.copies[0]},{self.copies[1]})"] if self.copies else []
        return " ".join([*said, *([f"fuse({','.join(self.fused)})"] if self.fused else [])])


def parse_schedule(text: str) -> Schedule:
    """The schedule of a text."""
    found, at = Schedule(), 0
    while text[at:].strip():
        match = _DIRECTIVE.match(text, at)
        assert match is not None, "it matches nothing, too"
        name, opened, inside, closed = match.groups()
        column = len(text) - len(text[at:].lstrip())
        if name is None:
            raise mistake(text, column, "a directive was expected here", _EXAMPLE, "schedule")
        if name not in NAMES:
            near = get_close_matches(name, NAMES, 1)
            raise mistake(text, column, f"there is no directive {name}", f"use {near[0] if near else ', '.join(NAMES)}",
                          "schedule")
        if not closed:
            raise mistake(text, match.end(), f"'{')' if opened else '('}' was expected here", _EXAMPLE, "schedule")
        try:
            found = _with(found, name, [word.strip() for word in inside.split(",")])
        except UserError as error:
            raise mistake(text, column, error.what, error.fix, "schedule") from None
        at = match.end()
    return found


def _with(found: Schedule, name: str, words: Sequence[str]) -> Schedule:
    if name in ("reorder", "fuse"):
        return found.reorder(*words) if name == "reorder" else found.fuse(*words)
    if len(words) != 2 or not re.fullmatch("[0-9]{1,9}", words[1], re.ASCII):
        raise UserError(f"{name} takes an index and a number", "schedule", f"write {name}(i,4)")
    return (found.split if name == "split" else found.parallelize)(words[0], int(words[1]))


def _said(value: object) -> str:
    """A value as an error shows it, of bounded length."""
    return shown(value) if isinstance(value, str) else check.shown(value)


def _words(name: str, value: object) -> tuple[object, ...]:
    """What a list or a tuple holds; a text holds letters, which nobody means."""
    if not isinstance(value, list | tuple):
        raise UserError(f"{name}: {_said(value)} is no tuple", "schedule", f"give {name}=(..,)")
    return tuple(value)


def _names(directive: str, words: object, *number: object) -> tuple[str, ...]:
    """The names of a directive, each once; number: what follows them."""
    names, found = _words(directive, words), list[str]()
    text = f"{directive}({','.join(map(_said, (*names, *number)))})"
    for name in names:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise UserError(f"{text} names '{_said(name)}', which is no name", "schedule", _EXAMPLE)
        found.append(name)
    if not found or len(set(found)) < len(found):
        raise UserError(f"{text} names {'something twice' if found else 'nothing'}", "schedule", _EXAMPLE)
    return tuple(found)


def _counted(directive: str, index: object, number: object) -> tuple[str, int]:
    """The index and the number of a directive, which may be one of NumPy."""
    try:
        count = None if isinstance(number, bool) else operator.index(number)  # type: ignore[arg-type]
    except TypeError:
        count = None
    name, = _names(directive, (index,), number if count is None else count)
    if count is None:
        raise UserError(f"{directive}({name},{_said(number)}): this is no whole number", "schedule", f"use 1 to {MOST}")
    if not 1 <= count <= MOST:
        raise UserError(f"{directive}({name},{_said(count)}): the number is not in 1 to {MOST}", "schedule", f"use 1 to {MOST}")
    return name, count


def scheduled(text: str, schedule: Schedule, order: str | Sequence[str] = "", formats: Mapping[str, str] | None = None,
              origin: str = "") -> Program:
    """A program whose loops are in the order of a schedule, or as `parse_program` takes it."""
    plain = parse_program(text, order, formats if not schedule.orders else None, origin)
    for tensor in schedule.fused:
        if tensor not in plain.intermediates:
            left = ", ".join(each for each in plain.intermediates if each not in schedule.fused)
            ways = [f"name one of {left}" if left else "", f"leave {tensor} out",
                    "" if plain.intermediates else "write statements with ';' between them"]
            raise UserError(f"{tensor} is not computed by one statement for another", f"fuse({','.join(schedule.fused)})",
                            ", or ".join(way for way in ways if way))
    if not schedule.orders:
        return plain
    if order:
        raise UserError("loops have an order and are reordered", f"order {order}, {schedule}", "give one of them")
    for wanted in schedule.orders:
        if not any(set(each.order) == set(wanted) for each in plain.statements):
            raise UserError(f"no statement has the index variables {', '.join(wanted)} and no others",
                            f"reorder({','.join(wanted)})",
                            "name those of one: "
                            f"{' or '.join(dict.fromkeys(', '.join(each.order) for each in plain.statements))}")
    orders = [_order(each, schedule) for each in plain.statements]
    return parse_program(text, orders if len(orders) > 1 else orders[0], formats, origin)


def _order(statement: Einsum, schedule: Schedule) -> tuple[str, ...]:
    return next((order for order in schedule.orders if set(order) == set(statement.order)), ())
