"""Find out whether values of an unrolled space depend on themselves."""

from __future__ import annotations

from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter

from ...hw.arch.errors import UserError
from .points import Term, Value, shown_at, source, uses


def is_forwards(values: Mapping[Value, Term]) -> bool:
    """Whether no value can depend on itself: all that is read at other points is at earlier ones, as points are sorted, and at
    one point variables do not read each other in a circle."""
    here: dict[str, set[str]] = {}
    for name, term in {(name, id(term)): (name, term) for (name, _), term in values.items()}.values():
        for use in uses(term):
            if not any(use.distance):
                here.setdefault(name, set()).add(use.variable)
            elif use.distance < (0,) * len(use.distance):
                return False
    try:
        TopologicalSorter(here).prepare()
    except CycleError:
        return False
    return True


def check_order(values: Mapping[Value, Term]) -> None:
    """UserError for a value that depends on itself."""
    try:
        TopologicalSorter({value: {source(value, use) for use in uses(term)} for value, term in values.items()}).prepare()
    except CycleError as error:
        raise UserError(f"{shown_at(*error.args[1][0])} depends on itself", "functionality",
                        "read what was computed at other points") from None
