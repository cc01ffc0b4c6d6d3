"""Let the steps of an array pass over it as a wave: a PE does a step some cycles after the PE before it.

A PE at position p does each step ``wave . p`` cycles later than the launch of it, so what says that a step is done goes from
PE to PE by registers, with the values. A value that reaches a PE `late` cycles behind its source has so many registers without
an enable, and as many steps less to wait: of a delay of d steps ``d - late`` remain. So for every wire ``0 <= late <= d``.

Input:   wires, as offset and delay, and how many bits there are of each; ports that take a word in more than one step.
Output:  `Wave`; all zero where only that is possible: then all PEs do a step in the same cycle.
Source:  facts on ordered borders (Stellar VI-B and Table III: what a stall of the whole array costs); Leiserson and Saxe,
         Retiming Synchronous Circuitry, 1991.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...hw.arch.spatial import Position

# With more axes waves of fewer cycles a PE are tried, so that they are at most some thousand.
MOST_TRIED = 1 << 12
FARTHEST = 3


@dataclass(frozen=True)
class Wave:
    """How many cycles later a PE does a step, for each axis of space; and why it does them with all others, if so."""

    ways: Position
    reason: str = ""


def wave(wires: Mapping[tuple[Position, int], int], axes: int, waiting: Sequence[tuple[Position, int]] = ()) -> Wave:
    """The wave that leaves the fewest values waiting, and of these the slowest one.

    wires: how many bits go over each offset with each delay. waiting: for each port with a word in more than one step its PE
    and bits, because there a word waits in registers until the wave has come to it.
    """
    moving = {wire: bits for wire, bits in wires.items() if any(wire[0])}
    if not moving:
        return Wave((0,) * axes, "no value moves from PE to PE")
    far = next(far for far in range(FARTHEST, 0, -1) if (2 * far + 1) ** axes <= MOST_TRIED or far == 1)

    def late(ways: Position, offset: Position) -> int:
        return sum(a * b for a, b in zip(ways, offset))

    fitting = [ways for ways in itertools.product(range(-far, far + 1), repeat=axes)
               if all(0 <= late(ways, offset) <= delay for offset, delay in moving)]

    def flowing(ways: Position) -> int:
        return sum(bits for (offset, delay), bits in moving.items() if late(ways, offset) == delay > 0)

    best = max(fitting, key=lambda ways: (flowing(ways), -sum(map(abs, ways)), ways))
    if not any(best):
        passing = any(not delay for _, delay in moving)
        return Wave(best, "values pass on within a step" if passing else "values move in a circle of directions")
    ranks = [late(best, position) for position, _ in waiting]
    if sum((rank - min(ranks)) * bits for rank, (_, bits) in zip(ranks, waiting)) > sum(moving.values()):
        return Wave((0,) * axes, "words at ports would wait in more registers than there are between PEs")
    return Wave(best)
