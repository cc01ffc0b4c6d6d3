"""How many outputs of cells change when the bits that drive a netlist change, found with random words.

Input:   a module in the JSON of Yosys, mapped to cells, in which other modules are black boxes.
Output:  mean changes of every cell, and of all that drives them: inputs, flops and outputs of black boxes. What is at rest
         while programs run (`REST`) has random values and keeps them; each other bit changes with a probability of `CHANGES`.
Cost:    a second for 10,000 cells: words are packed, so that a cell is evaluated for all at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter
from types import CodeType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .cells import Cell

REST = frozenset(("cfg", "sb", "cb", "mode", "is_static", "loops", "first", "affine", "sections", "limit", "tile_y",
                  "rst", "flush"))
"""Inputs of modules that do not move while a program runs: configuration, row, reset."""
CHANGES = 0.1
SAMPLES = 4096
_CLOCK = "clk"


@dataclass(frozen=True)
class Instance:
    """A cell of a netlist: its kind, and the number of the net at each pin."""

    kind: str
    pins: Mapping[str, int]


@dataclass(frozen=True)
class Netlist:
    """A module.

    Parameters
    ----------
    cells : {str: Instance}      Cells by name, without black boxes.
    rest, moving : tuple         Nets that nothing here drives and that are at rest or not; those of flops are moving.
    """

    cells: Mapping[str, Instance]
    rest: tuple[int, ...]
    moving: tuple[int, ...]


def netlist(module: Mapping[str, Any], kinds: Mapping[str, Cell]) -> Netlist:
    """A module as Yosys writes it."""
    inputs = {name: port["bits"] for name, port in module["ports"].items() if port["direction"] == "input" and name != _CLOCK}
    known = {name: Instance(each["type"], {pin: bits[0] for pin, bits in each["connections"].items()})
             for name, each in module["cells"].items() if each["type"] in kinds}
    flops = [each.pins[pin] for each in known.values() if kinds[each.kind].sequential
             for pin in kinds[each.kind].outputs if pin in each.pins]
    boxes = [bit for each in module["cells"].values() if each["type"] not in kinds
             for pin, bits in each["connections"].items() if each["port_directions"][pin] == "output" for bit in bits]
    return Netlist(known, tuple(bit for name, bits in inputs.items() if name in REST for bit in bits),
                   (*(bit for name, bits in inputs.items() if name not in REST for bit in bits), *flops, *boxes))


def changes(found: Netlist, kinds: Mapping[str, Cell]) -> tuple[dict[str, float], float]:
    """Mean changes of each cell's outputs, and of all bits that drive them, from one random word to the next."""
    generator = np.random.default_rng(0)
    width = SAMPLES // 8
    before = {bit: generator.integers(0, 256, width, np.uint8) for bit in (*found.rest, *found.moving)}
    after = {bit: before[bit] for bit in found.rest}
    after |= {bit: before[bit] ^ np.packbits(generator.random(SAMPLES) < CHANGES) for bit in found.moving}
    for values in (before, after):
        evaluate(found, kinds, values)

    def changed(bit: int) -> float:
        return int(np.unpackbits(before[bit] ^ after[bit]).sum()) / SAMPLES

    moved = {name: sum(changed(each.pins[pin]) for pin in kinds[each.kind].outputs if pin in each.pins)
             for name, each in found.cells.items()}
    return moved, sum(map(changed, found.moving))


def _order(cells: Mapping[str, Instance], kinds: Mapping[str, Cell]) -> list[tuple[int, CodeType, dict[str, int]]]:
    """What each net of combinational cells is, each after what it follows: its number, its function, the nets at its pins."""
    made: dict[int, tuple[int, CodeType, dict[str, int]]] = {}
    compiled: dict[str, CodeType] = {}
    for each in cells.values():
        kind = kinds[each.kind]
        for pin, function in kind.outputs.items() if not kind.sequential else ():
            if pin in each.pins:
                code = compiled.setdefault(function, compile(function, pin, "eval"))
                made[each.pins[pin]] = each.pins[pin], code, {name: each.pins[name] for name in code.co_names}
    sorter = TopologicalSorter({bit: [net for net in pins.values() if net in made] for bit, (_, _, pins) in made.items()})
    return [made[bit] for bit in sorter.static_order()]


def evaluate(found: Netlist, kinds: Mapping[str, Cell], values: dict[int, NDArray[np.uint8]]) -> None:
    """Add the values of every net that a combinational cell drives; values: those of all others, packed and of one length."""
    width = len(next(iter(values.values()), ()))
    constants = {0: np.zeros(width, np.uint8), 1: np.full(width, 255, np.uint8)}
    for bit, code, pins in _order(found.cells, kinds):
        # A function is of the library's text, checked to have nothing but pins and operators (`cells`).
        value = eval(code, {"__builtins__": {}}, {name: values[net] for name, net in pins.items()})
        values[bit] = value if pins else constants[value]
