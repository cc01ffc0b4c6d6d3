"""Hand sums on from point to point where several points add to an element: what `.add` means for an array of a transform.

    O(y - r + 2).add(p(y, r))    points (y, r) and (y + 1, r + 1) add to one element, and its sum goes from one to the other

Points that add to an element differ by distances under which its place stays. Sums go along one such distance until lines of
points have ended, then from end to end along the next one, until one point has all: as many variables, each a sum along a
distance. Those along which sums stay in a PE come first, so that the fewest words move.

Input:   what skips on indices leave, Transform, which says in which direction a sum grows.
Output:  the same, of whose elements each has one value; nothing else changes.
Errors:  UserError where points that add to an element are on no such lines, and for a point that adds to two.
Source:  Stellar II-A (recurrences for sums); as `derive` does it for an index that the result lacks.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import add, sub

from ...hw.arch.errors import UserError
from ..lang.recurrence import VARIABLE, Assignment, Declared, Read, Sum, own
from .points import Compute, Point, Term, Unrolled, Use, Value, shown_at
from .prune import Pruned
from .transform import Transform, dot

# By element its points, and what each adds.
Added = dict[Point, dict[Point, Term]]


def handed_on(pruned: Pruned, transform: Transform) -> Pruned:
    """A space in which no element has several values that points add; what is cut by skips leaves in parts as before."""
    names = {tensor for tensor, *_ in pruned.unrolled.partial} & pruned.unrolled.recurrences.added
    if not pruned.is_static or not names or len(transform.rows) != len(pruned.unrolled.bounds):
        return pruned
    unrolled = pruned.unrolled
    for name in sorted(names):
        unrolled = _summed(unrolled, name, transform)
    return replace(pruned, unrolled=unrolled)


def _summed(unrolled: Unrolled, tensor: str, transform: Transform) -> Unrolled:
    """The sums of a tensor."""
    added: Added = {}
    own_element: dict[Point, Point] = {}
    for name, element, (variable, point) in unrolled.leaving:
        if name != tensor:
            continue
        if (other := own_element.setdefault(point, element)) != element:
            both = " and ".join(shown_at(tensor, each) for each in (other, element))
            raise UserError(f"the point {shown_at('', point, tuple(unrolled.bounds))} adds to {both}, and hands one sum on",
                            "functionality", "add to an output each, or use the dataflow sp.Vectors(...)")
        here, use = added.setdefault(element, {}), Use(variable, (0,) * len(point))
        here[point] = Compute("add", (here[point], use)) if point in here else use
    found = unrolled.recurrences
    values: dict[Value, Term] = dict(unrolled.values)
    declared = dict(found.declared)
    lines = [one for one in found.assignments if one.target.name == tensor]
    for distance in _distances(unrolled, lines, transform):
        if all(len(points) == 1 for points in added.values()):
            break
        if not any(tuple(map(sub, point, distance)) in points for points in added.values() for point in points):
            continue
        variable = _name(tensor, declared)
        declared[variable] = Declared(variable, VARIABLE, found.declared[tensor].dtype)
        for points in added.values():
            for point, term in points.items():
                before = tuple(map(sub, point, distance))
                values[variable, point] = Compute("add", (Use(variable, distance), term)) if before in points else term
        last = Use(variable, (0,) * len(distance))
        added = {element: {point: last for point in points if tuple(map(add, point, distance)) not in points}
                 for element, points in added.items()}
    results = {key: value for key, value in unrolled.results.items() if key[0] != tensor}
    for element, points in added.items():
        if len(points) > 1:
            raise UserError(f"points that add to {shown_at(tensor, element)} are on no lines along which its sum is handed on",
                            "functionality", "assign a sum of your own, or use the dataflow sp.Vectors(...)")
        (point, term), = points.items()
        variable = term.variable if isinstance(term, Use) else _name(tensor, found.declared)
        if not isinstance(term, Use):       # several values of one point, and no other one
            declared[variable] = Declared(variable, VARIABLE, found.declared[tensor].dtype)
            values[variable, point] = term
        results[tensor, element] = variable, point
    partial = tuple(each for each in unrolled.partial if each[0] != tensor)
    return replace(unrolled, recurrences=replace(found, declared=declared), values=values, results=results, partial=partial)


def _name(tensor: str, declared: Mapping[str, Declared]) -> str:
    """A name for a sum that there is not yet."""
    return next(name for name in (f"{tensor}_sum{n or ''}" for n in itertools.count()) if name not in declared)


def _distances(unrolled: Unrolled, lines: Iterable[Assignment], transform: Transform) -> Iterator[Point]:
    """Distances between points that add to one element, each from the point that is computed first: simple ones before sums of
    two of these, and before others those along which a sum stays in its PE."""
    time = transform.time(tuple(unrolled.bounds.values()))

    def forwards(distance: Point) -> Point:
        later = dot(time, distance) or next(each for each in distance if each)
        return distance if later > 0 else tuple(-each for each in distance)

    def cost(distance: Point) -> tuple[bool, bool, int, Point]:
        return any(transform.position(distance)), not dot(time, distance), sum(map(abs, distance)), distance

    simple = dict.fromkeys(forwards(each) for one in lines for each in kernel(_places(unrolled, one), len(unrolled.bounds)))
    sums = {forwards(tuple(map(way, *two))) for two in itertools.combinations(simple, 2) for way in (add, sub)}
    yield from sorted(simple, key=cost)
    yield from sorted(sums - simple.keys(), key=cost)


def _places(unrolled: Unrolled, one: Assignment) -> list[Point]:
    """What stays between points that add to one element, as sums of their indices: its places, and indices at planes."""
    assert isinstance(one.value, Read), "outputs are assigned variables"
    indices = [*unrolled.bounds]
    rows = [tuple(dict(at.terms).get(index, 0) for index in indices) for at in one.target.at if isinstance(at, Sum)]
    return rows + [tuple(int(each == index) for each in indices)
                   for at, index in zip(one.value.at, indices, strict=True) if not own(at, index)]


def kernel(rows: Sequence[Point], count: int) -> list[Point]:
    """A basis of all vectors of so many whole numbers of which every row's sum is 0."""
    free = [tuple(int(at == n) for at in range(count)) for n in range(count)]
    for row in rows:
        while len(some := [each for each in free if dot(row, each)]) > 1:
            least = min(some, key=lambda each: abs(dot(row, each)))
            free = [each if each is least else tuple(a - dot(row, each) // dot(row, least) * b for a, b in zip(each, least))
                    for each in free]
        free = [each for each in free if not dot(row, each)]
    return free
