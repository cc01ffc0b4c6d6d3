"""Nodes that compute with values, as operations of the ALU, or of the divider.

The dialect does not say which operand is the first. It is the one whose edge has comment ``a``, else the one whose node has the
smaller number: the public compiler numbers a node, then its first operand and all in front of it, then the second.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...hw.arch.errors import UserError, shown
from .dialect import PublicNode, Wire
from .sam import Pin
from .sam_alu import ALU_OPS, Alu
from .sam_build import Builder
from .sam_divide import DIV, Divider
from .sam_ops import VAL

FIRST, SECOND = "a", "b"
# Other names of operations, where the ALU has them.
NAMES = {"smax": "max"}
# What is computed, and what of it does not join more than two operands.
COMPUTED = (*ALU_OPS, DIV)
OF_TWO = ("sub", DIV)
_CONSTANT = re.compile(r"const[0-9]*")
_WHOLE = re.compile(r"[-+]?[0-9]{1,6}")


def add_arithmetic(build: Builder, node: PublicNode, wires: Sequence[tuple[Wire, Pin]], known: Sequence[str]) -> Pin:
    """Add a node; its result. known: types that are no arithmetic, for errors."""
    op = _operation(node, known)
    constants = {name: text for name, text in node.attributes.items() if _CONSTANT.fullmatch(name)}
    given = ", ".join([*(wire.kind for wire, _ in wires), *constants]) or "none"
    typed = all(wire.kind == VAL for wire, _ in wires)
    if op in ALU_OPS and ALU_OPS[op].operands == (FIRST,):
        if not typed or len(wires) != 1 or constants:
            raise UserError(f"its operands are {given}", node.where, "give it one operand of type val")
        return Pin(build.add(node.label, Alu(op), a=wires[0][1]), "res")
    if not typed or len(constants) > 1 or len(wires) + len(constants) < 2 or not wires:
        raise UserError(f"its operands are {given}", node.where,
                        "give it two operands of type val, or one and an attribute const")
    operands = [pin for _, pin in sorted(wires, key=lambda each: _place(each[0]))]
    if constants:
        attribute, text = next(iter(constants.items()))
        if not _WHOLE.fullmatch(text) or not -(1 << 15) <= int(text) < 1 << 16:
            raise UserError(f"attribute {attribute} is '{shown(text)}'", node.where, "write a whole number of 16 bits")
        operands = [_folded(build, op, node.label, operands)]
        port = SECOND if wires[0][0].enters == SECOND else FIRST
        value = {SECOND if port == FIRST else FIRST: int(text)}
        return Pin(build.add(node.label, _made(op, **value), **{port: operands[0]}), "res")
    if op in OF_TWO and len(operands) != 2:
        raise UserError(f"it has {len(operands)} operands", node.where, "give it two")
    return _folded(build, op, node.label, operands)


def _operation(node: PublicNode, known: Sequence[str]) -> str:
    """The operation of a node."""
    op = NAMES.get(node.type, node.type)
    if op == "add" and node.choice("sub", {"0": False, "1": True}, "0"):
        op = "sub"
    if op not in COMPUTED:
        raise UserError(f"the array does not compute type '{shown(node.type)}'", node.where,
                        f"compute it outside, or write it with the types that there are: {', '.join((*known, *COMPUTED))}")
    return op


def _place(wire: Wire) -> tuple[int, int, str]:
    """What operands are ordered by."""
    named = (FIRST, SECOND).index(wire.enters) if wire.enters in (FIRST, SECOND) else 0
    return (named, int(wire.source), "") if re.fullmatch("[0-9]{1,9}", wire.source) else (named, 1 << 30, wire.source)


def _folded(build: Builder, op: str, name: str, operands: Sequence[Pin]) -> Pin:
    """Operands combined one after the other."""
    total = operands[0]
    for each in operands[1:]:
        total = Pin(build.add(name, _made(op), a=total, b=each), "res")
    return total


def _made(op: str, **constants: int) -> Alu | Divider:
    """An operation of two operands, some of them constants."""
    return Divider(**constants) if op == DIV else Alu(op, **constants)
