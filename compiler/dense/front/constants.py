"""Operations of Halide on constants: what the compiler computes itself, so that nothing of it reaches the array.

Integers wrap at the width of their type; a remainder is never negative (Euclid) and division by 0 gives 0. Floating point
numbers are rounded to their type after every operation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...lang.halide.pipeline import Type
from .ranges import FAR, wrap_value

Constant = int | float

FLOATS: dict[int, Any] = {16: np.float16, 32: np.float32, 64: np.float64}

def _shifted(a: int, left: int) -> int:
    return a << min(left, FAR) if left >= 0 else a >> -left


_WORDS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: (a - a % abs(b)) // b if b else 0,
    "mod": lambda a, b: a % abs(b) if b else 0,
    "min": min,
    "max": max,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "shl": lambda a, b: _shifted(a, b),
    "shr": lambda a, b: _shifted(a, -b),
    "absd": lambda a, b: abs(a - b),
}
_FLAGS: dict[str, Callable[[Constant, Constant], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
}
_FLOATING: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "mod": lambda a, b: a - b * np.floor(a / b),
    "min": lambda a, b: min(a, b),
    "max": lambda a, b: max(a, b),
    "absd": lambda a, b: abs(a - b),
    "pow": np.power,
    "atan2": np.arctan2,
}
_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "abs": np.abs, "sqrt": np.sqrt, "exp": np.exp, "log": np.log, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc,
    "round": np.rint, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
}


def is_float(type: Type) -> bool:
    return type.kind in ("float", "bfloat")


def can_compute(type: Type) -> bool:
    """Whether constants of a type can be computed here."""
    return not is_float(type) or (type.kind == "float" and type.bits in FLOATS)


def convert(value: Constant, type: Type) -> Constant:
    """A constant as another type; to an integer, floating point numbers lose their fraction."""
    if is_float(type):
        with np.errstate(all="ignore"):
            return float(FLOATS[type.bits](value))
    return wrap_value(int(value), type)


def compute(op: str, type: Type, a: Constant, b: Constant) -> Constant:
    """A binary operation on constants; `type` is that of the result."""
    if op in _FLAGS:
        return int(_FLAGS[op](a, b))
    if is_float(type):
        number = FLOATS[type.bits]
        with np.errstate(all="ignore"):
            return float(number(_FLOATING[op](number(a), number(b))))
    assert isinstance(a, int) and isinstance(b, int), "operands of an integer operation are integers"
    return wrap_value(_WORDS[op](a, b), type)


def has_function(name: str) -> bool:
    """Whether a function of one or two floating point numbers is known (pow and atan2 take two)."""
    return name in _FUNCTIONS or name in ("pow", "atan2")


def apply(name: str, type: Type, *args: Constant) -> Constant:
    """A function of floating point constants."""
    if len(args) == 2:
        return compute(name, type, *args)
    number = FLOATS[type.bits]
    with np.errstate(all="ignore"):
        return float(number(_FUNCTIONS[name](number(args[0]))))
