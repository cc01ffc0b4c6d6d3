"""Run statically scheduled programs cycle by cycle: a decoded configuration as the routing graph connects it.

Every core output is an array of words, one a cycle, cycle 0 being the first after flush. A route delays it by its registers;
PEs and MEM tiles are their cycle-exact meanings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter

import numpy as np

from ....compiler.ir.program import Program, Site
from ....hw.arch.buffer import VALID, WRITES
from ....hw.arch.cgra import Arch
from ....hw.arch.primitive import ALU, BUFFER, PRIMITIVES
from ....hw.arch.soc import LOAD_START_CYCLE
from ..trace import TilePort, Traced, trace
from . import buffer, static_alu

Words = Mapping[str, np.ndarray]

# Cycles that a run takes at first beyond those of its loads; most programs need no more.
FIRST_CYCLES = 200


def run_program(program: Program, arch: Arch, tiles: Iterable[Words]) -> Iterator[dict[str, np.ndarray]]:
    """Words of every store stream, tile by tile, from those of the load streams."""
    return (run_tile(program, arch, tile) for tile in tiles)


def run_tile(program: Program, arch: Arch, loads: Words) -> dict[str, np.ndarray]:
    """Words of every store stream of a tile, given those of the load streams.

    AssertionError for a configuration without a static meaning: a ring of tiles, a read of what was never written, a flag that
    comes less often than words are stored.
    """
    traced = trace(program.config, arch)
    counts = {each.name: each.count for each in program.stores}
    longest = LOAD_START_CYCLE + max(len(each) for each in loads.values()) + _longest(traced, arch)
    cycles = min(longest, FIRST_CYCLES + max(len(each) for each in loads.values()))
    # What comes later does not change what came before, so a short run that gives all words is enough.
    while (found := _words(program, arch, traced, loads, counts, cycles)) is None:
        assert cycles < longest, f"a store is marked less often than its {max(counts.values())} words"
        cycles = min(longest, 2 * cycles)
    return found


def _words(program: Program, arch: Arch, traced: Traced, loads: Words, counts: Mapping[str, int],
           cycles: int) -> dict[str, np.ndarray] | None:
    """Words of every store stream; None if they have not all come yet."""
    fabric = _Fabric(arch, traced, program.contents, cycles)
    for each in program.loads:
        words = np.zeros(cycles, np.uint16)
        words[LOAD_START_CYCLE:LOAD_START_CYCLE + len(loads[each.name])] = loads[each.name]
        fabric.outputs[each.column, 0, "g2f"] = words
    marks = {each.name: np.flatnonzero(fabric.input((each.column, 0, "f2g_bit"))) for each in program.stores}
    if any(len(marks[name]) < count for name, count in counts.items()):
        return None
    return {each.name: fabric.input((each.column, 0, "f2g"))[marks[each.name][:counts[each.name]]]
            for each in program.stores}


def _longest(traced: Traced, arch: Arch) -> int:
    """Cycles that the last word of a load may be under way: through every route, every register file and every MEM tile."""
    mems = sum(name != ALU.name for name, _ in traced.primitives.values())
    return sum(traced.registers.values()) + len(traced.primitives) * arch.pe.register_words + mems * arch.mem.buffer_words


class _Fabric:
    """Words at core ports, computed when they are asked for."""

    def __init__(self, arch: Arch, traced: Traced, contents: Mapping[Site, tuple[int, ...]], cycles: int) -> None:
        self.arch, self.traced, self.contents, self.cycles = arch, traced, contents, cycles
        self.outputs: dict[TilePort, np.ndarray] = {}

    def input(self, sink: TilePort) -> np.ndarray:
        """What is behind the register of a core input; zeros if nothing is routed to it."""
        source = self.traced.edges.get(sink)
        if source is None:
            return np.zeros(self.cycles, np.uint16)
        late = self.traced.registers[sink]
        return np.concatenate([np.zeros(late, np.uint16), self._output(source)[:self.cycles - late]])

    def _output(self, source: TilePort) -> np.ndarray:
        """The words of a core output, after those of all tiles before it: a program may be a chain of all tiles."""
        if source not in self.outputs:
            for site in self._order(source[:2]):
                self._run(site)
        return self.outputs[source]

    def _order(self, last: Site) -> list[Site]:
        """A tile behind those that its words come from and that were not run yet."""
        sorter, todo, seen = TopologicalSorter[Site](), [last], {last}
        while todo:
            site = todo.pop()
            name, _ = self.traced.primitives[site]
            sinks = [(*site, port.tile_port) for port in PRIMITIVES[name].inputs]
            before = {source[:2] for sink in sinks if (source := self.traced.edges.get(sink)) and source not in self.outputs}
            sorter.add(site, *before)
            todo += sorted(before - seen)
            seen |= before
        try:
            return list(sorter.static_order())
        except CycleError as error:
            raise AssertionError(f"tile {error.args[1][0]} is in a ring") from None

    def _run(self, site: Site) -> None:
        """Find the words at the core outputs of a tile, those at its inputs being known."""
        name, config = self.traced.primitives[site]
        ports = {port.name: (*site, port.tile_port) for port in PRIMITIVES[name].ports}
        inputs = {port.name: self.input(ports[port.name]) for port in PRIMITIVES[name].inputs}
        if name == ALU.name:
            res, p = static_alu.run(config, inputs, self.cycles, self.arch.pe.register_words,
                                        self.arch.pe.register_schedules)
            found = {"res": res, "p": p}
        else:
            found = self._buffer(site, config, inputs)
        self.outputs |= {ports[port]: words for port, words in found.items()}

    def _buffer(self, site: Site, config: Mapping[str, int | str], inputs: Words) -> dict[str, np.ndarray]:
        """A MEM tile: every access of its schedules by definition, and that the SRAM port can keep up with them."""
        numbers = self.arch.mem.config(BUFFER).numbers(config)
        stored = dict(enumerate(self.contents.get(site, ())))
        try:
            result = buffer.run(self.arch.mem, numbers, {port: inputs[port] for port in WRITES}, self.cycles, stored)
        except buffer.ScheduleError as error:
            raise AssertionError(f"tile {site}: {error}") from None
        return {port: np.maximum(words, 0).astype(np.uint16) for port, words in result.words.items()} | {VALID: result.valid}
