"""The order of a statement's loops: as given, if its sums can be made so, or the indices of the result first.

Sums around more indices of the result than an accumulator keeps are for sub-tiles to settle (`compiler/sparse/settled.py`).

Errors:  UserError for an order that does not name each index once, or has loops of the result inside a sum that is in a term.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sardonyx.hw.arch.errors import UserError

from .expr import Access, Expr, Total, indices, start
from .parser import Parser
from .terms import arguments, factors, fold, peel, shared


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
    inside = _summed_inside(peel(expr, result)[0], frozenset(result.indices))
    for position, index in enumerate(names):
        inner = [other for other in names[position:] if other in result.indices]
        if index in result.indices or not inner:
            continue
        if index in inside:
            raise UserError(f"summed index {index} lies outside result {'index' if len(inner) == 1 else 'indices'} "
                            f"{' and '.join(inner)}, but its sum is inside a term or an argument", where,
                            f"use {' '.join(default)}")
    for outer, inner_index in nesting:
        if names.index(outer) > names.index(inner_index):
            raise UserError(f"index {inner_index} is summed inside the loop of {outer}, so {outer} must come "
                            "first", where, f"use {' '.join(default)}")
    return names


def _summed_inside(expr: Expr, bound: frozenset[str]) -> frozenset[str]:
    """The indices that are summed inside a term of a sum or a function, if loops around it fix `bound`."""
    parts = [part for part in factors(expr) if fold(part) is None]
    fixed = bound | shared(parts)
    found: set[str] = set()
    for part in parts:
        if isinstance(part, Total):
            found.add(part.index)
        if not isinstance(part, Access):
            found.update(indices(part).keys() - fixed)
            for within in arguments(part):
                found |= _summed_inside(within, fixed)
    return frozenset(found)


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
