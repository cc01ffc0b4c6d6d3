"""Lower what is computed of values that are there: sums, products, quotients and functions of them.

    b - c + d      a tree of little depth; signs are differences, a constant is added last
    -3 * b         one multiplication by the coefficient of a product
    b > c          (max(b, c) - c) != 0: one is above the other if the extreme of both differs from the other

Each function adds nodes by `add` and gives the values of the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sardonyx.compiler.ir.sam import Pin
from sardonyx.compiler.ir.sam_alu import Alu
from sardonyx.compiler.ir.sam_divide import Divider
from sardonyx.compiler.lang.functions import DIVIDE

from .normalize import FLIPPED

Add = Callable[..., str]
WORDS = 1 << 16


def scaled(add: Add, value: Pin, by: int) -> Pin:
    """Values times a coefficient."""
    if by == 1:
        return value
    if by == -1:
        return Pin(add("sub", Alu("sub", a=0), b=value), "res")
    return Pin(add("mul", Alu("mul", b=by % WORDS), a=value), "res")


def added(add: Add, terms: Sequence[tuple[int, Pin]], constant: int | None = None) -> Pin:
    """The sum of values with signs 1 or -1, and of a constant."""
    sign, value = _tree(add, terms, "add")
    value = scaled(add, value, sign)
    return _binary(add, "add", value, constant) if constant else value


def multiplied(add: Add, values: Sequence[Pin]) -> Pin:
    """The product of values."""
    return _tree(add, [(1, each) for each in values], "mul")[1]


def quotient(add: Add, left: Pin | int, right: Pin | int) -> Pin:
    """The quotient of two sides, one of which may be a constant."""
    sides = {"a": left, "b": right}
    constants = {side: each for side, each in sides.items() if isinstance(each, int)}
    streams = {side: each for side, each in sides.items() if isinstance(each, Pin)}
    return Pin(add("div", Divider(**constants), **streams), "res")


def applied(add: Add, function: str, values: Sequence[Pin], constant: int | None) -> Pin:
    """A function of values; two operands are two values, or one and the constant."""
    value = values[0]
    other = values[1] if len(values) == 2 else constant
    if function == "relu":
        return _binary(add, "max", value, 0)
    if function in ("abs", "sign", "nonzero"):
        return Pin(add(function, Alu(function), a=value), "res")
    assert other is not None, "these functions take two operands"
    if function in (DIVIDE, FLIPPED[DIVIDE]):
        return quotient(add, *(value, other) if function == DIVIDE else (other, value))
    if function in ("max", "min"):
        return _binary(add, function, value, other)
    extreme = _binary(add, "max" if function == ">" else "min", value, other)
    return applied(add, "nonzero", [_binary(add, "sub", extreme, other)], None)


def _binary(add: Add, op: str, left: Pin, right: Pin | int) -> Pin:
    if isinstance(right, Pin):
        return Pin(add(op, Alu(op), a=left, b=right), "res")
    return Pin(add(op, Alu(op, b=right % WORDS), a=left), "res")


def _tree(add: Add, signed: Sequence[tuple[int, Pin]], op: str) -> tuple[int, Pin]:
    """Combine signed values in a tree of little depth; a difference where signs differ."""
    while len(signed) > 1:
        paired = [_two(add, op, *signed[at:at + 2]) for at in range(0, len(signed) - 1, 2)]
        signed = [*paired, *signed[2 * len(paired):]]
    return signed[0]


def _two(add: Add, op: str, left: tuple[int, Pin], right: tuple[int, Pin]) -> tuple[int, Pin]:
    if left[0] == right[0]:
        return left[0], Pin(add(op, Alu(op), a=left[1], b=right[1]), "res")
    plus, minus = (left, right) if left[0] == 1 else (right, left)
    return 1, Pin(add("sub", Alu("sub"), a=plus[1], b=minus[1]), "res")
