"""Estimates of the area and the longest path of a spatial array, for comparing arrays before any is made.

Area in gates, of which a flip-flop with its enable is six: multipliers by the product of the widths of their operands, other
operations and choices between rules by their width, registers, and the FIFO of two words at every port. The path is that of the
logic between two registers, in delays of a gate, through all PEs that a value passes within a step. Wires have no area.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from graphlib import TopologicalSorter
from math import log2

from ...hw.arch.logic import Apply, Logic, Tap, taps, width
from ...hw.arch.spatial import Position, Spatial

FLOP, CHOICE, SUM, PRODUCT = 6, 2, 5, 5
# From one PE to the next within a step, in delays of a gate.
HOP = 3.0


def gates(spatial: Spatial) -> int:
    """The estimate for a whole array."""
    bits = spatial.bits
    total = sum(2 * FLOP * bits[port.tensor] for port in (*spatial.inputs, *spatial.outputs)) + FLOP * spatial.steps
    # What is read later by any PE stands in one chain of registers, as long as the longest delay.
    longest: dict[tuple[object, str], int] = {}
    for source, _, variable, delay in spatial.wires:
        longest[source, variable] = max(delay, longest.get((source, variable), 0))
    total += sum(FLOP * bits[variable] * delay for (_, variable), delay in longest.items())
    known: dict[tuple[Logic, ...], int] = {}
    for cell in spatial.cells:
        for found in (*(found for _, found in cell.variables), *(found for *_, found in cell.results)):
            logics = tuple(rule.logic for rule in found)
            if logics not in known:
                known[logics] = _choice(logics, bits)
            total += known[logics]
    return total


def path(spatial: Spatial) -> float:
    """The estimate of the longest path."""
    bits = spatial.bits
    logics = {(cell.position, name): found for cell in spatial.cells for name, found in cell.variables}
    reads = {key: {_source(key[0], tap) for rule in found for tap in taps(rule.logic) if not tap.delay}
             for key, found in logics.items()}
    ends: dict[tuple[Position, str], float] = {}
    for key in TopologicalSorter(reads).static_order():
        found = logics[key]
        ends[key] = (len(found) > 1) + max(delay(
            rule.logic, bits, lambda tap, at=key[0]: ends[_source(at, tap)]) for rule in found)     # type: ignore[misc]
    return max(ends.values())


def _source(position: Position, tap: Tap) -> tuple[Position, str]:
    return tuple(a - b for a, b in zip(position, tap.offset)), tap.variable


def delay(logic: Logic, bits: Mapping[str, int], arrives: Callable[[Tap], float]) -> float:
    """When logic is there, in delays of a gate."""
    if isinstance(logic, Apply):
        wide = max(width(operand, bits.__getitem__) for operand in logic.operands)
        own = 2 * log2(wide) + 2 if logic.operation != "mul" else 5 * log2(wide) + 6
        return own + max(delay(operand, bits, arrives) for operand in logic.operands)
    return arrives(logic) + HOP * any(logic.offset) if isinstance(logic, Tap) and not logic.delay else 0.0


def _choice(logics: tuple[Logic, ...], bits: Mapping[str, int]) -> int:
    """Gates of rules of which one is followed; what they have in common is there once, as in a PE."""
    if len(set(logics)) == 1:
        return logic_gates(logics[0], bits)
    applied = [logic for logic in logics if isinstance(logic, Apply)]
    if len(applied) == len(logics) and len({logic.operation for logic in applied}) == 1:
        columns = list(zip(*(logic.operands for logic in applied)))
        wide = [max(width(logic, bits.__getitem__) for logic in column) for column in columns]
        return _operation(applied[0].operation, wide) + sum(_choice(column, bits) for column in columns)
    wide_choice = CHOICE * max(width(logic, bits.__getitem__) for logic in logics) * (len(logics) - 1)
    return wide_choice + sum(logic_gates(logic, bits) for logic in logics)


def logic_gates(logic: Logic, bits: Mapping[str, int]) -> int:
    """The estimate for logic alone."""
    if not isinstance(logic, Apply):
        return 0
    widths = [width(operand, bits.__getitem__) for operand in logic.operands]
    return _operation(logic.operation, widths) + sum(logic_gates(operand, bits) for operand in logic.operands)


def _operation(operation: str, widths: list[int]) -> int:
    return PRODUCT * widths[0] * widths[1] if operation == "mul" else SUM * max(widths)
