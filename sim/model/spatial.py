"""Spatial arrays step by step: what every PE computes in every step, and the words of every port, in their order.

Interprets the description, as the hardware does, but knows the step of everything: operation n begins in step n times the
interval. Reads a word of a stream when the step of it comes, so that an order of words that differs from that of the ports
shows.

Cost: 10 us for each value that a step computes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...hw.arch.logic import OPERATIONS, Apply, Constant, Feed, Logic, Tap, wrapped
from ...hw.arch.spatial import Cell, Position, Rule, Spatial


def simulate(spatial: Spatial, inputs: Mapping[str, Sequence[int]], operations: int,
             lengths: Sequence[int] | None = None) -> dict[str, list[int]]:
    """What the ports give of operations one after the other, as soon as the array allows.

    inputs: the words of every input stream, by its name. lengths: the launches of each operation, by default all.
    Raises AssertionError for words that are missing or left.
    """
    run = _Run(spatial, inputs)
    work: dict[int, list[tuple[int, Cell]]] = {}
    begin = 0
    for length in lengths or [spatial.launches] * operations:
        for cell in spatial.cells:
            for step in cell.steps:
                if spatial.launch(cell.position, step) < length:
                    work.setdefault(begin + step, []).append((step, cell))
        begin += length if lengths else spatial.interval
    for now in sorted(work):
        run.step(now, work[now])
    left = [name for name, words in run.words.items() if words]
    assert not left, f"words are left at ports {', '.join(left)}"
    return run.outputs


class _Run:
    """The values of the steps so far."""

    def __init__(self, spatial: Spatial, inputs: Mapping[str, Sequence[int]]) -> None:
        self._spatial = spatial
        self._values: dict[tuple[Position, str, int], int] = {}
        self._ports = {(port.position, port.tensor, port.slot): port.name for port in (*spatial.inputs, *spatial.outputs)}
        self.words = {port.name: list(reversed(inputs[port.name])) for port in spatial.alone}
        for chain in spatial.chains:
            # The words of an operation enter in the opposite order of the PEs.
            for at, position in enumerate(reversed(chain.positions)):
                name = self._ports[position, chain.tensor, 0]
                self.words[name] = list(reversed(inputs[chain.name][at::len(chain.positions)]))
        self.outputs: dict[str, list[int]] = {port.name: [] for port in spatial.outputs}
        self._taken: dict[str, int] = {}

    def step(self, now: int, work: Sequence[tuple[int, Cell]]) -> None:
        """All that is computed in one step; `work` says which PEs do something, and what step of their operation it is."""
        self._taken, todo = {}, {}
        for step, cell in work:
            for name, rules in cell.variables:
                if (rule := _followed(rules, step)) is not None:
                    assert (cell.position, name) not in todo, f"{name} at {cell.position} is computed twice in step {now}"
                    todo[cell.position, name] = rule.logic
        for key in list(todo):
            self._variable(key, now, todo)
        for step, cell in work:
            for tensor, slot, rules in cell.results:
                if (rule := _followed(rules, step)) is not None:
                    value = self._logic(rule.logic, cell.position, now, todo)
                    self.outputs[self._ports[cell.position, tensor, slot]].append(wrapped(value, self._spatial.bits[tensor]))

    def _variable(self, key: tuple[Position, str], now: int, todo: dict[tuple[Position, str], Logic]) -> int:
        """A variable in this step, and first what it reads in this step."""
        position, name = key
        if (position, name, now) not in self._values:
            value = self._logic(todo[key], position, now, todo)
            self._values[position, name, now] = wrapped(value, self._spatial.bits[name])
        return self._values[position, name, now]

    def _logic(self, logic: Logic, at: Position, now: int, todo: dict[tuple[Position, str], Logic]) -> int:
        if isinstance(logic, Constant):
            return logic.value
        if isinstance(logic, Feed):
            name = self._ports[at, logic.tensor, logic.slot]
            if name not in self._taken:
                assert self.words[name], f"a word is missing at port {name} in step {now}"
                self._taken[name] = self.words[name].pop()
            return self._taken[name]
        if isinstance(logic, Apply):
            return OPERATIONS[logic.operation].meaning(*(self._logic(each, at, now, todo) for each in logic.operands))
        assert isinstance(logic, Tap), "logic is of one of four classes"
        source = tuple(a - b for a, b in zip(at, logic.offset))
        if not logic.delay:
            return self._variable((source, logic.variable), now, todo)
        return self._values[source, logic.variable, now - logic.delay]


def _followed(rules: Sequence[Rule], step: int) -> Rule | None:
    return next((rule for rule in rules if step in rule.steps), None)
