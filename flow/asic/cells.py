"""What the cells of a library compute, read from its Liberty text: enough to follow bits through a netlist.

Output:  `Cell` by name: the function of each output as a Python expression of bits, the capacitance of the clock of a flop.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from .library import Library

_GROUP = re.compile(r'^ *(cell|pin) *\( *"?([\w]+)"? *\) *\{', re.MULTILINE)
_FUNCTION = re.compile(r'^ *function *: *"([^"]*)"', re.MULTILINE)
_CAPACITANCE = re.compile(r"^ *capacitance *: *([0-9.eE+-]+)", re.MULTILINE)
_SEQUENTIAL = re.compile(r"^ *(ff|latch|statetable) *\(", re.MULTILINE)
_CLOCK = re.compile(r'^ *clock *: *"?true"?', re.MULTILINE)
_FARADS = {"ff": 1.0, "pf": 1000.0}


@dataclass(frozen=True)
class Cell:
    """A cell.

    Parameters
    ----------
    outputs : {str: str}    The function of each output: an expression of input pins with ``~ & ^ |``.
    sequential : bool       It has a state; its outputs are then functions of no input.
    clock_ff : float        Capacitance of its clock pin in femtofarads; 0 without one.
    clock_gate : bool       It passes a clock on, or not.
    """

    outputs: Mapping[str, str]
    sequential: bool
    clock_ff: float
    clock_gate: bool = False


def volts(library: Library) -> float:
    """The supply."""
    return float(_found(r"nom_voltage *: *([0-9.]+)", library.text)[1])


@cache
def cells(library: Library) -> dict[str, Cell]:
    """Every cell of a library."""
    unit = _found(r'capacitive_load_unit *\( *([0-9.]+) *, *"?(\w+)"? *\)', library.text)
    femtofarads = float(unit[1]) * _FARADS[unit[2].lower()]
    found = {}
    for name, text in _groups("cell", library.text):
        pins = dict(_groups("pin", text))
        clocks = [float(_found(_CAPACITANCE, pin)[1]) for pin in pins.values() if _CLOCK.search(pin)]
        functions = {pin: match[1] for pin, text in pins.items() if (match := _FUNCTION.search(text))}
        found[name] = Cell({pin: _expression(function) for pin, function in functions.items()},
                           _SEQUENTIAL.search(text) is not None, sum(clocks) * femtofarads,
                           "clock_gating_integrated_cell" in text)
    assert found, f"{library.path} has no cells"
    return found


def _found(pattern: str | re.Pattern[str], text: str) -> re.Match[str]:
    match = re.search(pattern, text)
    assert match is not None, f"the library does not say {pattern}, which Liberty demands"
    return match


def _groups(kind: str, text: str) -> Iterator[tuple[str, str]]:
    """The groups of a kind, by name, with what is between their braces."""
    for match in _GROUP.finditer(text):
        if match[1] != kind:
            continue
        depth, end = 1, match.end()
        while depth:
            at = re.compile(r"[{}]").search(text, end)
            assert at is not None, f"{kind} {match[2]} has no end"
            depth, end = depth + (1 if at[0] == "{" else -1), at.end()
        yield match[2], text[match.end():end - 1]


def _expression(function: str) -> str:
    """A function of Liberty in Python; of bits, so that it works on arrays of them too."""
    assert re.fullmatch(r"[\w\s()!*&+|^]*", function), f"{function} is written in a way that the known libraries do not use"
    return function.replace("!", "~").replace("*", "&").replace("+", "|")
