"""The order of a statement's loops: as given, if its sums can be made so, or the indices of the result first.

Sums around more indices of the result than an accumulator keeps are for sub-tiles to settle (`compiler/sparse/settled.py`).
Those around loops that are outside of them are statements of their own (`apart.py`).

Errors:  UserError for an order that does not name each index once, or has a maximum around loops that it is taken in: what is
         accumulated are sums.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sardonyx.hw.arch.errors import UserError

from .expr import Access, Expr, Total, indices, start
from .functions import MAX
from .parser import Parser
from .terms import arguments, factors, fold, shared


def loop_order(parser: Parser, result: Access, expr: Expr, given: str | Sequence[str],
               nesting: Mapping[tuple[str, str], None]) -> tuple[str, ...]:
    """The loop order: as given if that works, else the default."""
    default = _default_order(parser, result, expr, nesting)
    if not given:
        return default
    names = tuple(given) if not isinstance(given, str) else \
        tuple(given.replace(",", " ").split()) if set(given) & set(", ") or given in default else tuple(given)
    where = f"loop order {' '.join(names)} of {parser.text}"
    if sorted(names) != sorted(default):
        raise UserError(f"it must name each of {', '.join(default)} once", where, f"use {' '.join(default)}")
    if around := misplaced(expr, result, names):
        index, inner = around
        raise UserError(f"the largest values over {index} would be kept for each {' and '.join(inner)}, but only sums are "
                        "accumulated", where, f"use {' '.join(default)}, or any order with {index} inside of "
                        f"{' and '.join(inner)}")
    return names


def misplaced(expr: Expr, result: Access, order: Sequence[str]) -> tuple[str, list[str]] | None:
    """An index over which a maximum is taken, if its loop is around some that have to be outside of it, and these."""
    for index, fixed in _maxima(expr, frozenset(result.indices)).items():
        if inner := [other for other in order[order.index(index):] if other in fixed]:
            return index, inner
    return None


def _maxima(expr: Expr, bound: frozenset[str]) -> dict[str, frozenset[str]]:
    """The indices over which maxima are taken, each with those that loops around it fix, if `bound` are those around the
    expression."""
    parts = [part for part in factors(expr) if fold(part) is None]
    fixed, found = bound | shared(parts), dict[str, frozenset[str]]()
    for part in parts:
        own = frozenset({part.index}) if isinstance(part, Total) else frozenset()
        if isinstance(part, Total) and part.function == MAX:
            found[part.index] = found.get(part.index, frozenset()) | (fixed & indices(part).keys())
        for within in arguments(part) if not isinstance(part, Access) else ():
            for index, around in _maxima(within, fixed | own).items():
                found[index] = found.get(index, frozenset()) | around
    return found


def _default_order(parser: Parser, result: Access, expr: Expr,
                   nesting: Mapping[tuple[str, str], None]) -> tuple[str, ...]:
    """Result indices as written, then the others by appearance as far as `nesting` allows."""
    order = list(result.indices)
    rest = [index for index in indices(expr) if index not in order]
    while rest:
        ready = [index for index in rest if not any((outer, index) in nesting for outer in rest)]
        if not ready:
            raise parser.error(start(expr),
                               f"indices {' and '.join(rest)} are summed each inside the loop of the "
                               "other", "give the summed indices of one term other names")
        order.append(ready[0])
        rest.remove(ready[0])
    return tuple(order)
