"""Which words of an operation enter together, and are handed on from PE to PE to where they stay.

A tensor that stays in its PEs has a port at each of them, with a word in an operation. In a line of PEs one stream is enough:
while an operation is under way the words of the next one go down the line, each PE keeping what is in front of it, and all are
taken with the first step. It costs no time if the line is no longer than the interval.

A tensor is chained along the axis of space with the longest lines if in every line

* each PE takes one word, in the same launch as all others;
* the wave reaches the next PE in the same cycle, or in the next one: the registers in which words are handed on are those in
  which they wait;
* there are as many PEs as in the others, two at least, and not more than steps between operations.

Input:   a `Spatial` without chains.
Output:  its chains; and for each input tensor that has none, why.
Source:  Gemmini (weights are handed down the columns, two registers in a PE); facts on ordered borders.
"""

from __future__ import annotations

from itertools import pairwise

from ...hw.arch.spatial import Chain, Port, Position, Spatial


def chains(spatial: Spatial) -> tuple[tuple[Chain, ...], dict[str, str]]:
    """The chains of every tensor that has some, and the reasons of the others."""
    found: list[Chain] = []
    reasons: dict[str, str] = {}
    for tensor in spatial.operands:
        ports = [port for port in spatial.inputs if port.tensor == tensor.name]
        if reason := _unfit(spatial, ports):
            reasons[tensor.name] = reason
            continue
        lines = [_lines(spatial, ports, axis) for axis in range(len(ports[0].position))]
        fitting = [each for each in lines if not _broken(spatial, each)]
        if fitting:
            found += [Chain(tensor.name, line) for line in max(fitting, key=lambda each: len(each[0]))]
        else:
            reasons[tensor.name] = _broken(spatial, max(lines, key=lambda each: len(each[0])))
    return tuple(found), reasons


def _unfit(spatial: Spatial, ports: list[Port]) -> str:
    """Why no line of these ports can be a chain, whatever the axis."""
    if any(len(port.words) > 1 for port in ports):
        return "a port takes more than one word in an operation"
    if len({port.position for port in ports}) < len(ports):
        return "a PE takes several words in a step"
    if len({spatial.launch(port.position, port.words[0].step) for port in ports}) > 1:
        return "PEs take their words in different steps"
    return ""


def _lines(spatial: Spatial, ports: list[Port], axis: int) -> list[tuple[Position, ...]]:
    """The PEs that differ in one coordinate alone, those that the wave reaches first in front."""
    lines: dict[Position, list[Position]] = {}
    for port in ports:
        lines.setdefault(port.position[:axis] + port.position[axis + 1:], []).append(port.position)
    return [tuple(sorted(line, key=lambda position: (spatial.ranks[position], position))) for line in lines.values()]


def _broken(spatial: Spatial, lines: list[tuple[Position, ...]]) -> str:
    """Why these lines are no chains."""
    if len({len(line) for line in lines}) > 1:
        return "lines of PEs are of different lengths"
    if len(lines[0]) == 1:
        return "no two PEs are in a line"
    if len(lines[0]) > spatial.interval:
        return f"lines of {len(lines[0])} PEs take more steps than the {spatial.interval} between operations"
    hops = {spatial.ranks[b] - spatial.ranks[a] for line in lines for a, b in pairwise(line)}
    return "" if hops in ({0}, {1}) else "the wave takes more than a cycle from a PE to the next one"
