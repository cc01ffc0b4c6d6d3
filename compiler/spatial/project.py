"""Project an unrolled iteration space by a space-time transform: the PEs, wires, registers, ports and steps of an array.

Points that fall on one position are one PE, which computes them one a step. What is read at a distance d comes from the PE
that is ``space d`` away, through ``time d`` registers; at distance 0 in space it stays, at distance 0 in time the wire has no
register. Variables have the bits that hold what they may be (`narrow`).

Input:   Unrolled, Transform.
Output:  Spatial.
Errors:  UserError for a transform that reads what is computed later, or would make a combinational loop, or a large array.
Source:  Stellar IV-A and IV-B, Fig. 4.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter

import numpy as np

from ...hw.arch.errors import UserError, many
from ...hw.arch.logic import MOST_BITS, Apply, Constant, Feed, Logic, Tap, taps, width
from ...hw.arch.spatial import Cell, Port, Position, Rule, Shaped, Spatial, Word
from ..lang.recurrence import INPUT, OUTPUT, VARIABLE, Number
from .border import chains
from .narrow import fewest_bits
from .points import Compute, Element, Point, Term, Unrolled, Use, elements
from .size import check
from .transform import Transform, dot
from .wavefront import Wave, wave


def project(unrolled: Unrolled, transform: Transform, name: str = "array") -> Spatial:
    """The array that computes a space."""
    recurrences, bounds = unrolled.recurrences, unrolled.bounds
    if len(transform.rows) != len(bounds):
        raise UserError(f"it has {many(len(transform.rows), 'row')}, but the indices are {', '.join(bounds)}",
                        "transform", "give a row and a column for each index")
    time = transform.time(tuple(bounds.values()))
    _check_causal(unrolled, time)
    points = [*dict.fromkeys(point for _, point in unrolled.values)]
    at = np.array(points, np.int64)
    # Digits of many axes of time may need more than a word has.
    found = at @ np.array(time, np.int64 if max(map(abs, time)) < 1 << 40 else object)
    steps = dict(zip(points, (found - found.min()).tolist()))
    length = 1 + max(steps.values())
    places = dict(zip(points, map(tuple, (at @ np.array(transform.space, np.int64).T).tolist())))
    makings: dict[Position, _Making] = {place: _Making() for place in dict.fromkeys(places.values())}
    check(len(makings), length)
    # Of the terms without elements, which points inside share.
    shared: dict[int, Logic | None] = {}
    for (variable, point), term in unrolled.values.items():
        place = places[point]
        logic = shared.get(id(term))
        if logic is None:
            logic = makings[place].logic(term, steps[point], time, transform)
            if id(term) not in shared:
                shared[id(term)] = None if any(elements(term)) else logic
        makings[place].variables.setdefault(variable, {}).setdefault(logic, []).append(steps[point])
    for tensor, element, (variable, point) in unrolled.leaving:
        makings[places[point]].result(tensor, element, steps[point], variable, len(transform.space))
    if not any(role == INPUT for making in makings.values() for role, *_ in making.words):
        raise UserError("the results depend on no input", "functionality", "read one, as A(i, k)")
    variables = tuple((each.name, recurrences.bits(each.name)) for each in recurrences.of(VARIABLE))
    cells = _in_order({place: makings[place].cell(place) for place in sorted(makings)})
    inputs, outputs = ([port for place in sorted(makings) for port in makings[place].ports(place, role)]
                       for role in (INPUT, OUTPUT))
    tensors = {role: tuple(Shaped(each.name, recurrences.bits(each.name), unrolled.shapes[each.name])
                           for each in recurrences.of(role) if each.name in unrolled.shapes) for role in (INPUT, OUTPUT)}
    rank = {each.name: at for at, each in enumerate((*tensors[INPUT], *tensors[OUTPUT]))}
    for ports in (inputs, outputs):
        ports.sort(key=lambda port: rank[port.tensor])
    _check_widths(cells, {each.name: recurrences.bits(each.name) for each in recurrences.declared.values()})
    made = Spatial(name, variables, tensors[INPUT], tensors[OUTPUT], tuple(cells), tuple(inputs), tuple(outputs), length,
                   interval=length)
    made = replace(made, wave=passing(made).ways)
    made = replace(made, interval=_interval(made))
    # Last: how steps pass, and which ports are chained, is not decided by how large values are.
    bits = fewest_bits(unrolled)
    return replace(made, chains=chains(made)[0], variables=tuple((name, bits.get(name, most)) for name, most in variables))


def passing(spatial: Spatial) -> Wave:
    """How steps pass over an array."""
    bits: Counter[tuple[Position, int]] = Counter()
    for source, sink, variable, delay in spatial.wires:
        bits[tuple(b - a for a, b in zip(source, sink)), delay] += spatial.bits[variable]
    waiting = [(port.position, spatial.bits[port.tensor]) for port in spatial.inputs if len(port.words) > 1]
    return wave(bits, len(spatial.cells[0].position), waiting)


@dataclass
class _Making:
    """A PE that is being made: by variable and logic the steps, and by tensor and slot the words of ports."""

    variables: dict[str, dict[Logic, list[int]]] = field(default_factory=dict)
    results: dict[tuple[str, int], dict[Logic, list[int]]] = field(default_factory=dict)
    words: dict[tuple[str, str, int], list[Word]] = field(default_factory=dict)
    # In a step, which elements of a tensor are taken, in the order of their slots.
    taken: dict[tuple[str, int], dict[Point, int]] = field(default_factory=dict)

    def logic(self, term: Term, step: int, time: Point, transform: Transform) -> Logic:
        """A term as the PE sees it."""
        if isinstance(term, Number):
            return Constant(term.value)
        if isinstance(term, Use):
            return Tap(term.variable, transform.position(term.distance), dot(time, term.distance))
        if isinstance(term, Element):
            return Feed(term.tensor, self._slot(INPUT, term.tensor, term.at, step))
        assert isinstance(term, Compute), "terms are numbers, variables, elements and operations"
        return Apply(term.operation, tuple(self.logic(operand, step, time, transform) for operand in term.operands))

    def result(self, tensor: str, element: Point, step: int, variable: str, axes: int) -> None:
        """An element of an output that is a variable in some step."""
        slot = self._slot(OUTPUT, tensor, element, step)
        self.results.setdefault((tensor, slot), {}).setdefault(Tap(variable, (0,) * axes, 0), []).append(step)

    def _slot(self, role: str, tensor: str, element: Point, step: int) -> int:
        """Which of the ports of a tensor has an element: the next one for each further element in one step."""
        slots = self.taken.setdefault((tensor, step), {})
        if element not in slots:
            slots[element] = len(slots)
            self.words.setdefault((role, tensor, slots[element]), []).append(Word(step, element))
        return slots[element]

    def cell(self, place: Position) -> Cell:
        variables = tuple((name, _rules(found)) for name, found in sorted(self.variables.items()))
        results = tuple((tensor, slot, _rules(found)) for (tensor, slot), found in sorted(self.results.items()))
        return Cell(place, variables, results)

    def ports(self, place: Position, role: str) -> list[Port]:
        return [Port(tensor, slot, place, tuple(sorted(words, key=lambda word: word.step)))
                for (of, tensor, slot), words in sorted(self.words.items()) if of == role]


def _rules(found: Mapping[Logic, Iterable[int]]) -> tuple[Rule, ...]:
    """Rules, the one of the most steps last: it is what is followed when no other one is."""
    return tuple(sorted((Rule(logic, tuple(sorted(steps))) for logic, steps in found.items()),
                        key=lambda rule: (len(rule.steps), rule.steps)))


def _check_causal(unrolled: Unrolled, time: Point) -> None:
    """UserError for a value that is read in a step before the one in which it is computed."""
    for use in unrolled.distances:
        if (delay := dot(time, use.distance)) < 0:
            distance = ", ".join(map(str, use.distance))
            late = f"{-delay} step{'s' if delay < -1 else ''}"
            raise UserError(f"{use.variable} of the point ({distance}) before is computed {late} after it is read",
                            "transform", "make the last row grow along the way that variables take")


def _in_order(cells: Mapping[Position, Cell]) -> list[Cell]:
    """Cells with their variables in an order in which a step computes them; UserError for a loop without a register."""
    reads = {(place, name): {(tuple(a - b for a, b in zip(place, tap.offset)), tap.variable)
                             for rule in found for tap in taps(rule.logic) if not tap.delay}
             for place, cell in cells.items() for name, found in cell.variables}
    try:
        order = {value: at for at, value in enumerate(TopologicalSorter(reads).static_order())}
    except CycleError as error:
        names = ", ".join(dict.fromkeys(name for _, name in error.args[1]))
        raise UserError(f"{names} would be a combinational loop between PEs", "transform",
                        "give the last row a nonzero step along one of the ways that they take") from None
    return [Cell(place, tuple(sorted(cell.variables, key=lambda each: order[place, each[0]])), cell.results)
            for place, cell in cells.items()]


def _check_widths(cells: Iterable[Cell], bits: Mapping[str, int]) -> None:
    """UserError for an expression whose exact value is wider than any hardware should be."""
    for name, logic in dict.fromkeys((name, rule.logic) for cell in cells for name, found in cell.variables for rule in found):
        if (wide := width(logic, bits.__getitem__)) > MOST_BITS:
            raise UserError(f"what is assigned to {name} has {wide} bits", "functionality",
                            f"assign parts of it to variables: at most {MOST_BITS} bits are computed at once")


def _interval(spatial: Spatial) -> int:
    """The fewest steps between operations of which no two ever use one PE in one step, and no two mix their words at a port.

    An operation begins if its first words are there, so those before must have taken all of theirs at the same ports by then.
    """
    busy = {frozenset(step - min(cell.steps) for step in cell.steps) for cell in spatial.cells}
    launches = {port: [spatial.launch(port.position, word.step) for word in port.words]
                for port in (*spatial.inputs, *spatial.outputs)}
    first = min(launches[port][0] for port in spatial.inputs)
    interval = max(1 + max(*(each[-1] - each[0] for each in launches.values()),
                           *(launches[port][-1] for port in spatial.inputs if launches[port][0] == first)), *map(len, busy))
    while any(len({step % interval for step in steps}) < len(steps) for steps in busy):
        interval += 1
    return interval
