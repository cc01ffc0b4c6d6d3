"""What the outputs of a module follow in the same cycle: registers, constants, or which inputs; from its netlist.

Each module is walked once, from its outputs back to registers and inputs, and stands in its parents as what was found of it.

Input:   an `EmitPlatform` with collected modules.
Output:  for each module, each output by its name.
Cost:    tiny 10 s, onyx 20 s, after its RTLIL is there.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .clock_gate import ClockGate
from .emit_platform import EmitPlatform
from .yosys import run_yosys

CONSTANT, REGISTER, WIRE, LOGIC = ORDER = "constant", "register", "wire", "logic"
_INVERSE = "inverse"    # of what the cell reads
_REGISTERS = ("$dff", "$dffe", "$sdff", "$sdffe", "$sdffce")
_SILENT = ("$check", "$print", "$scopeinfo")


@dataclass(frozen=True)
class Output:
    """An output of a module.

    Parameters
    ----------
    source : str               What drives its bits, the last that applies: CONSTANT; REGISTER, the output of one or its
                               inverse, which flops have as well; WIRE, an input; LOGIC.
    follows : tuple of str     The inputs that it follows in the same cycle, in their order; none: registers and constants only.
    """

    source: str
    follows: tuple[str, ...]


@dataclass(frozen=True)
class _Bit:
    """What drives a bit of an output: its source, and the input bits that it follows (port, number)."""

    source: str
    follows: frozenset[tuple[str, int]]


def outputs(platform: EmitPlatform) -> dict[str, dict[str, Output]]:
    """The outputs of every module."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "all.il").write_text(platform.rtlil)
        script = "read_rtlil all.il; hierarchy -check; proc -norom; opt_clean; write_json found.json"
        run_yosys(["-q", "-p", script], Path(folder))
        modules = json.loads(Path(folder, "found.json").read_text())["modules"]
    walked = _Walk(modules)
    return {name: walked.outputs(name) for name in platform.modules}


class _Walk:
    """Modules as Yosys describes them, and what was found of those that were walked."""

    def __init__(self, modules: Mapping[str, Any]) -> None:
        self._modules = modules
        self._found: dict[str, dict[tuple[str, int], _Bit]] = {}

    def outputs(self, name: str) -> dict[str, Output]:
        bits, ports = self._bits(name), self._modules[name]["ports"]
        found: dict[str, Output] = {}
        for port, each in ports.items():
            if each["direction"] == "output":
                mine = [bits[port, number] for number in range(len(each["bits"]))]
                sources = {bit.source for bit in mine}
                source = max(sources, key=ORDER.index)
                inputs = {name for bit in mine for name, _ in bit.follows}
                found[port] = Output(source, tuple(name for name in ports if name in inputs))
        return found

    def _bits(self, name: str) -> dict[tuple[str, int], _Bit]:
        """Every bit of every output of a module."""
        if name not in self._found:
            self._found[name] = self._walk(self._modules[name], name == ClockGate.module_name)
        return self._found[name]

    def _walk(self, module: Mapping[str, Any], gate: bool) -> dict[tuple[str, int], _Bit]:
        ports = module["ports"]
        inputs = [(name, number, bit) for name, port in ports.items() if port["direction"] == "input"
                  for number, bit in enumerate(port["bits"])]
        cells = _Cells({bit: 1 << place for place, (_, _, bit) in enumerate(inputs)})
        for cell in module["cells"].values():
            self._add(cells, cell, gate)
        found = {}
        for name, port in ports.items():
            for number, bit in enumerate(port["bits"] if port["direction"] == "output" else ()):
                digits = reversed(f"{cells.follows(bit):b}")
                follows = frozenset(inputs[place][:2] for place, digit in enumerate(digits) if digit == "1")
                found[name, number] = _Bit(cells.source(bit), follows)
        return found

    def _add(self, cells: _Cells, cell: Mapping[str, Any], gate: bool) -> None:
        """A cell, and what its outputs follow; gate: it is one of a clock gate."""
        kind, pins = cell["type"], cell["connections"]
        if kind in self._modules:
            for (port, number), bit in self._bits(kind).items():
                if port in pins:
                    cells.add([pins[port][number]], bit.source, [pins[name][at] for name, at in bit.follows if name in pins])
            return
        if kind in _SILENT or kind.startswith(("$memwr", "$meminit")):
            return
        # The one latch is that of a clock gate, whose output drives clocks and nothing else.
        assert kind.startswith("$") and ("latch" not in kind or gate), f"{kind} is no cell of a synchronous design"
        flows = cell["port_directions"]
        reads = [bit for port, bits in pins.items() if flows[port] == "input" for bit in bits]
        held = kind in _REGISTERS
        if kind.startswith("$memrd"):
            held, reads = int(cell["parameters"]["CLK_ENABLE"], 2) == 1, pins["ADDR"]
        if kind == "$not" and len(pins["A"]) == len(pins["Y"]):
            for bit, read in zip(pins["Y"], pins["A"], strict=True):
                cells.add([bit], _INVERSE, [read])
            return
        driven = [bit for port, bits in pins.items() if flows[port] == "output" for bit in bits]
        cells.add(driven, REGISTER if held else LOGIC, [] if held else reads)


class _Cells:
    """The cells of a module as a graph from outputs to inputs; a set of inputs is a number with a bit for each."""

    def __init__(self, inputs: Mapping[object, int]) -> None:
        self._inputs = inputs
        self._driver: dict[object, int] = {}
        self._cells: list[tuple[str, list[object]]] = []
        self._masks: dict[int, int] | None = None

    def add(self, driven: list[object], source: str, reads: list[object]) -> None:
        self._driver.update(dict.fromkeys(driven, len(self._cells)))
        self._cells.append((source, [bit for bit in set(reads) if bit in self._inputs or isinstance(bit, int)]))

    def source(self, bit: object) -> str:
        if bit in self._inputs:
            return WIRE
        source, reads = self._cells[self._driver[bit]] if bit in self._driver else (CONSTANT, [])
        if source == _INVERSE:
            return REGISTER if reads and self._held(reads[0]) else LOGIC
        # What a module in this one passes on has the source that it has here.
        return self.source(reads[0]) if source == WIRE and reads else CONSTANT if source == WIRE else source

    def _held(self, bit: object) -> bool:
        """Whether a bit is the output of a register; an inverse of an inverse is logic."""
        return bit in self._driver and self._cells[self._driver[bit]][0] == REGISTER

    def follows(self, bit: object) -> int:
        """The inputs that a bit follows."""
        if self._masks is None:
            self._masks = self._solved()
        return self._inputs.get(bit, 0) | (self._masks[self._driver[bit]] if bit in self._driver else 0)

    def _solved(self) -> dict[int, int]:
        """The inputs that each cell follows. Whole words of cells may seem to follow each other, so until nothing changes."""
        own, after = {}, {}
        for number, (_, reads) in enumerate(self._cells):
            own[number] = 0
            for bit in reads:
                own[number] |= self._inputs.get(bit, 0)
            after[number] = {self._driver[bit] for bit in reads if bit in self._driver}
        order = _post_order(after)
        masks, changed = dict(own), True
        while changed:
            changed = False
            for number in order:
                mask = own[number]
                for each in after[number]:
                    mask |= masks[each]
                if mask != masks[number]:
                    masks[number], changed = mask, True
        return masks


def _post_order(after: Mapping[int, set[int]]) -> list[int]:
    """What is read before what reads it, where there is no circle."""
    order: list[int] = []
    seen: set[int] = set()
    for root in after:
        waiting = [(root, iter(after[root]))] if root not in seen else []
        seen.add(root)
        while waiting:
            number, rest = waiting[-1]
            for each in rest:
                if each not in seen:
                    seen.add(each)
                    waiting.append((each, iter(after[each])))
                    break
            else:
                order.append(number)
                waiting.pop()
    return order
