"""How few bits hold what variables are: a sum of 16 products of bytes has 20, whatever the type of the result has.

What a variable may be is followed from the points where it does not read itself, as far as ways of points are long on which it
does. Variables that read each other in a circle have the bits of their types.

Input:   Unrolled.
Output:  bits of every variable, no more than those of its type.
Cost:    64 x 64 x 64 points of a matrix product take 0.25 s of processor time.
Source:  Gemmini has such bits as a parameter (`spatialArrayOutputType`). Departure: they follow from functionality and bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product

import networkx

from ...hw.arch.logic import OPERATIONS, Constant, width
from ..lang.recurrence import Number
from .points import Compute, Element, Term, Unrolled, Use, uses

# The least and the greatest of what a value may be.
Range = tuple[int, int]
_TRUTH = (0, 1)


def _corners(operation: str) -> Callable[..., Range]:
    """Of an operation that only rises or only falls with each operand, whatever the others are."""
    meaning = OPERATIONS[operation].meaning

    def found(*operands: Range) -> Range:
        results = [meaning(*each) for each in product(*operands)]
        return min(results), max(results)
    return found


RANGES: dict[str, Callable[..., Range]] = {
    **{operation: _corners(operation) for operation in ("add", "sub", "mul", "neg", "min", "max")},
    "abs": lambda a: (max(a[0], -a[1], 0), max(-a[0], a[1])),
    "select": lambda condition, a, b: (min(a[0], b[0]), max(a[1], b[1])),
    **{operation: lambda *operands: _TRUTH for operation in ("lt", "le", "eq", "ne", "both", "either", "not")}}


def fewest_bits(unrolled: Unrolled) -> dict[str, int]:
    """Bits that hold each variable at all points, for any elements of inputs."""
    declared = {name: unrolled.recurrences.bits(name) for name in unrolled.recurrences.declared}
    terms = _terms(unrolled)
    reads = networkx.DiGraph()
    reads.add_nodes_from(terms)
    reads.add_edges_from((use.variable, name) for name, found in terms.items() for term in found for use in uses(term))
    circles = networkx.condensation(reads)
    found: dict[str, Range] = {}
    for circle in networkx.topological_sort(circles):
        members = circles.nodes[circle]["members"]
        for name in members:
            longest = _longest(name, terms[name], tuple(unrolled.bounds.values())) if len(members) == 1 else None
            whole = _all(declared[name])
            found[name] = whole if longest is None else _grown(name, terms[name], longest, found, declared, whole)
    return {name: max(width(Constant(end), lambda _: 0) for end in ends) for name, ends in found.items()}


def _terms(unrolled: Unrolled) -> dict[str, tuple[Term, ...]]:
    """What each variable is at any points, whatever the places of elements are."""
    found: dict[str, dict[Term, None]] = {}
    for name, term in {(name, id(term)): (name, term) for (name, _), term in unrolled.values.items()}.values():
        found.setdefault(name, {})[_anywhere(term)] = None
    return {name: tuple(terms) for name, terms in found.items()}


def _anywhere(term: Term) -> Term:
    if isinstance(term, Element):
        return Element(term.tensor, ())
    return Compute(term.operation, tuple(map(_anywhere, term.operands))) if isinstance(term, Compute) else term


def _at_any_distance(term: Term) -> Term:
    if isinstance(term, Use):
        return Use(term.variable, ())
    return Compute(term.operation, tuple(map(_at_any_distance, term.operands))) if isinstance(term, Compute) else term


def _longest(name: str, terms: Iterable[Term], extents: Sequence[int]) -> int | None:
    """Of how many points the longest way is on which a variable reads itself; None if no index rises or falls all the way."""
    distances = [use.distance for term in terms for use in uses(term) if use.variable == name]
    if not distances:
        return 1
    return min((1 + (extent - 1) // min(map(abs, along)) for extent, along in zip(extents, zip(*distances), strict=True)
                if min(along) > 0 or max(along) < 0), default=None)


def _grown(name: str, terms: Iterable[Term], longest: int, found: Mapping[str, Range], bits: Mapping[str, int],
           whole: Range) -> Range:
    """What a variable may be on a way of so many points: on the first of them it does not read itself."""
    # Of points that read one plane each is another distance away from it, but is the same of the same range.
    terms, ends = {*map(_at_any_distance, terms)}, None
    for _ in range(longest):
        read = dict(found) if ends is None else {**found, name: ends}
        ranges = [_range(term, read, bits) for term in terms if all(use.variable in read for use in uses(term))]
        assert ranges, "no value depends on itself"
        before, ends = ends, (min(least for least, _ in ranges), max(most for _, most in ranges))
        if ends[0] < whole[0] or ends[1] > whole[1]:
            return whole        # it takes the low bits
        if ends == before:
            break
    assert ends is not None, "a way has a point"
    return ends


def _range(term: Term, read: Mapping[str, Range], bits: Mapping[str, int]) -> Range:
    """Of a term, exactly; `read`: of the variables that it reads."""
    if isinstance(term, Number):
        return term.value, term.value
    if isinstance(term, Use):
        return read[term.variable]
    if isinstance(term, Element):
        return _all(bits[term.tensor])
    assert isinstance(term, Compute), "terms are numbers, variables, elements and operations"
    return RANGES[term.operation](*(_range(operand, read, bits) for operand in term.operands))


def _all(bits: int) -> Range:
    return -1 << bits - 1, (1 << bits - 1) - 1
