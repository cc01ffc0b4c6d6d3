"""Logic over elements that meet, as values of hardware."""

from __future__ import annotations

from collections.abc import Mapping

from amaranth.hdl import Const, Value, signed

from ..arch.logic import Apply, Constant, Feed, Logic, width
from .array.pe import applied


def computed(logic: Logic, feeds: Mapping[str, Value]) -> Value:
    """The exact value of logic, with a sign; feeds: what has a sign, by the names in it."""
    if isinstance(logic, Constant):
        return Const(logic.value, signed(width(logic, lambda _: 0)))
    if isinstance(logic, Apply):
        return applied(logic.operation, [computed(each, feeds) for each in logic.operands])
    assert isinstance(logic, Feed), "it is over elements"
    return feeds[logic.tensor]
