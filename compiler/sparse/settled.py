"""Sums around more indices of the result than an accumulator keeps, settled by sub-tiles of one coordinate.

    X(i,j,l) = B(k,i,j) * C(k,l), order k i j l      of one i    =>  i k j l: sums over k are kept for j and l
                                                     of one k    =>  i j l k: each sub-tile gives products, nothing is kept

A loop that turns once is the same wherever it stands. In sub-tiles of one i, or of one k, the order that is asked for and one
that an accumulator can do compute the same products one after the other, so a sub-tile is compiled in the latter; what
sub-tiles of several k give is added as that of all sub-tiles is. Levels are stored in the order in which they are looped over.

Needs:   Einsum, edges of sub-tiles.
Gives:   Einsum with another order, and formats that agree with it; the same one where there are not too many sums, or where the
         edges leave too many.
Cost:    of ten loops that turn several times 1 second at most; where more orders and choices than are looked at could be had,
         one that is not may do.
Source:  ours. Onyx adds up vectors, SAM matrices, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from itertools import combinations, islice

from sardonyx.compiler.lang.einsum import Einsum
from sardonyx.compiler.lang.expr import Access, changed
from sardonyx.compiler.lang.formats import gap
from sardonyx.compiler.lang.loop_order import misplaced
from sardonyx.hw.arch.primitive import MOST_ACCUMULATED
from sardonyx.tensors.fibertree import DENSE, Format

MOST_ORDERS = 24        # In which a statement's loops stand that turn once: all of four.
MOST_TRIES = 128        # Choices of indices that have one coordinate: all of seven.


def too_many(einsum: Einsum) -> dict[str, tuple[str, ...]]:
    """Summed indices around more indices than an accumulator keeps, from the outermost in, and the latter: of the result, or of
    what is fixed around a sum that is a statement of its own (`lang/apart.py`)."""
    return {index: inner for each in einsum.every for index, inner in each.accumulated.items()
            if len(inner) > MOST_ACCUMULATED}


def unkept(einsum: Einsum) -> str:
    """Which sums are too many, in words; empty if none are."""
    for summed, inner in too_many(einsum).items():
        few = len(inner) - MOST_ACCUMULATED
        return (f"sums over {summed} are for each {' and '.join(inner)}, but an accumulator keeps those for {MOST_ACCUMULATED} "
                f"indices, so that {'one of these needs' if few == 1 else f'{few} of these need'} sub-tiles of one coordinate, "
                f"or {summed} does")
    return ""


def settled(einsum: Einsum, edges: Mapping[str, int]) -> Einsum:
    """A statement as sub-tiles of some edges are computed."""
    found = as_far(einsum, edges)
    if found is einsum:
        return einsum
    stored = in_order(einsum, found.order)
    if not too_many(stored):
        return stored
    # Dense levels of the result do not let all orders be stored.
    return next((each for order in islice(_alike(einsum, edges), MOST_ORDERS)
                 if not misplaced(einsum.expr, einsum.result, order) and not too_many(each := in_order(einsum, order))), einsum)


def as_far(einsum: Einsum, edges: Mapping[str, int]) -> Einsum:
    """A statement whose loops that turn once are where they need no sums, whether others have too many or not. Formats stay."""
    found = einsum
    for index, inner in reversed(too_many(einsum).items()):
        if edges[index] == 1:
            found = _inward(found, index, inner[-1])
    while left := too_many(found):
        for outer, inner in left.items():
            moved = [_outward(found, index, outer) for index in inner if edges[index] == 1]
            if fine := [each for each in moved if not misplaced(each.expr, each.result, each.order)]:
                found = fine[0]
                break
        else:
            break
    return found


def _outward(einsum: Einsum, index: str, outer: str) -> Einsum:
    """A statement with the loop of an index around another one."""
    order = _without(einsum.order, index)
    at = order.index(outer)
    return replace(einsum, order=(*order[:at], index, *order[at:]))


def _inward(einsum: Einsum, index: str, last: str) -> Einsum:
    """A statement with the loop of an index inside another one, and with it those that were inside of it and that no result has
    and no accumulator: they may have to stay there."""
    order, statements = einsum.order, einsum.every
    begin, end = order.index(index), order.index(last) + 1
    stay = {last}.union(*(each.result.indices for each in statements), *(each.accumulated for each in statements))
    between = order[begin + 1:end]
    return replace(einsum, order=(*order[:begin], *(each for each in between if each in stay), index,
                                  *(each for each in between if each not in stay), *order[end:]))


def with_lone(einsum: Einsum, edges: Mapping[str, int], said: Collection[str] = ()) -> dict[str, int]:
    """Edges with 1 in place of some that nobody has said, so that no sums are too many: of the outermost indices of the result,
    or else of what is summed, as few as do; beyond `MOST_TRIES` choices all but those that need not be. The edges as they are
    if none do."""
    free = [index for index in einsum.order if index not in said and edges[index] > 1]
    result, rest = ([index for index in free if (index in einsum.result.indices) == own] for own in (True, False))

    def lone(few: Collection[str]) -> dict[str, int]:
        return {**edges, **dict.fromkeys(few, 1)}

    def fine(few: Collection[str]) -> bool:
        return not _hopeless(einsum, lone(few)) and not too_many(settled(einsum, lone(few)))

    for some in range(len(rest) + 1):
        # Where all of the result have one coordinate and that does not do, fewer of them do not, either.
        if able := [few for few in combinations(rest, some) if fine((*result, *few))]:
            break
    else:
        return dict(edges)
    choices = (few for count in range(some, len(free) + 1) for few in combinations(free, count)
               if tuple(index for index in few if index in rest) in able and not _hopeless(einsum, lone(few)))
    for few in islice(choices, MOST_TRIES):
        if fine(few):
            return lone(few)
    kept = [index for index in free if index in result or index in able[0]]
    for index in reversed(kept):
        if fine(fewer := [each for each in kept if each != index]):
            kept = fewer
    return lone(kept)


def uncut(einsum: Einsum) -> Einsum:
    """A statement as it is computed where there are no operands to cut."""
    several = dict.fromkeys(einsum.order, 2)
    return settled(einsum, with_lone(einsum, several))


def _hopeless(einsum: Einsum, edges: Mapping[str, int]) -> bool:
    """Whether loops that turn several times make too many sums, wherever others stand."""
    return any(edges[index] > 1 and sum(edges[other] > 1 for other in inner) > MOST_ACCUMULATED
               for index, inner in einsum.accumulated.items())


def _alike(einsum: Einsum, edges: Mapping[str, int]) -> Iterator[tuple[str, ...]]:
    """Orders that differ in where loops stand that turn once, and in which a result can be stored and sums that are not in a
    term or an argument are not too many; those that are most like the order asked for first."""
    result, form = einsum.result.indices, einsum.result.format
    letter = {result[mode]: one for mode, one in zip(form.order, form.letters, strict=True)}
    turning = [index for index in einsum.order if edges[index] > 1]
    ends = set[tuple[frozenset[str], str]]()        # Loops, and levels that they store, inside of which no others can stand.

    def orders(begun: tuple[str, ...], levels: str) -> Iterator[tuple[str, ...]]:
        if len(begun) == len(einsum.order):
            yield begun
            return
        state, found = (frozenset(begun), levels), False
        after = next((index for index in turning if index not in begun), "")
        inside = sum(index not in begun for index in result)
        for index in einsum.order if state not in ends else ():
            once = edges[index] == 1 or index == after
            if index in begun or not once or (index in einsum.accumulated and inside > MOST_ACCUMULATED):
                continue
            own = letter.get(index, "")
            stored = levels if levels.endswith(own) else levels + own
            if DENSE in stored.strip(DENSE):
                continue
            for order in orders((*begun, index), stored):
                found = True
                yield order
        if not found:
            ends.add(state)

    return orders((), "")


def _without(order: tuple[str, ...], index: str) -> tuple[str, ...]:
    return tuple(each for each in order if each != index)


def in_order(einsum: Einsum, order: tuple[str, ...]) -> Einsum:
    """A statement in another order, its levels in that order; the same one if its result cannot be stored so."""
    def moved(access: Access) -> Access:
        own = access.format
        modes = tuple(sorted(own.order, key=lambda mode: order.index(access.indices[mode])))
        return replace(access, format=Format("".join(own.letters[own.order.index(mode)] for mode in modes), modes))

    result = moved(einsum.result)
    return einsum if gap(result.format) else replace(einsum, order=order, result=result, expr=changed(einsum.expr, moved))
