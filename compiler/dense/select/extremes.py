"""Trees of PEs for minima and maxima."""

from __future__ import annotations

from ...ir.dataflow import Operand, Ref
from .fold import CONDITION, extremes
from .reach import Reach
from .tree import Value, age, pe


def extreme(reach: Reach, root: Ref) -> Value:
    """A tree of min or of max, as a chain; max takes a min in the same PE (crop)."""
    node = reach.inside(root)
    low, high = extremes(node.signed)
    if "crop" not in reach.ops:
        a, b = node.operands
        flag = pe("sbc", a=a, b=b, d=1, cond=CONDITION["lt", node.signed])
        return pe("sel", a=a, b=b, d=flag) if node.op == "min" else pe("sel", a=b, b=a, d=flag)
    words = _flat(reach, root, node.op, node.signed)
    if node.op == "min":
        value, *rest = words
        for word in rest:
            value = pe("crop", signed=node.signed, a=value, b=word, c=low)
        return value
    pairs = [word for word in words if _is_min(reach, word, node.signed)]
    plain = [word for word in words if word not in pairs]
    value, *rest = plain or [low]
    for word in pairs:
        assert isinstance(word, Ref), "it is a min"
        first, second = reach.inside(word).operands
        value = pe("crop", signed=node.signed, a=first, b=second, c=value)
    for word in rest:
        value = pe("crop", signed=node.signed, a=word, b=high, c=value)
    return value


def _flat(reach: Reach, root: Ref, op: str, signed: bool) -> list[Value]:
    """The words of a tree of one operation, the oldest first, a constant at the front."""
    todo = [*reach.inside(root).operands]
    seen: dict[Operand, bool] = {}
    while todo:
        each = todo.pop()
        if each in seen:
            continue
        seen[each] = isinstance(each, Ref) and reach.is_open(each, op) and reach.nodes[each.node].signed == signed
        if isinstance(each, Ref) and seen[each]:
            todo += reach.inside(each).operands
    found: list[Value] = [each for each, inner in seen.items() if not inner]
    return sorted(found, key=lambda each: (isinstance(each, Ref), age(each), each.node if isinstance(each, Ref) else each))


def _is_min(reach: Reach, word: Value, signed: bool) -> bool:
    return isinstance(word, Ref) and reach.is_open(word, "min") and reach.nodes[word.node].signed == signed
