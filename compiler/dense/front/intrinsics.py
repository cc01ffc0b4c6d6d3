"""Pure functions of Halide as operations on values: those that the reader leaves."""

from __future__ import annotations

from ...lang.halide.pipeline import Type
from . import constants
from .value import Value
from .values import Values

BINARY = {"absd": "absd", "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor"}
ROUND_TO_ZERO = {"div_round_to_zero": "div", "mod_round_to_zero": "mod"}


def call(values: Values, name: str, type: Type, args: tuple[Value, ...]) -> Value:
    """The function `name` of values; raises UserError for one that is not known."""
    if name in BINARY:
        return values.binary(BINARY[name], type, *args)
    if name == "abs":
        return values.magnitude(type, *args)
    if name == "bitwise_not":
        return values.binary("xor", type, args[0], values.constant(type, -1))
    if name == "shift_left":
        return _shift(values, type, args[0], args[1], left=True)
    if name == "shift_right":
        return _shift(values, type, args[0], args[1], left=False)
    if name in ROUND_TO_ZERO and all(arg.interval.low >= 0 for arg in args):
        return values.binary(ROUND_TO_ZERO[name], type, *args)
    return _floating(values, name, type, args)


def _shift(values: Values, type: Type, a: Value, by: Value, left: bool) -> Value:
    """A shift; by a negative constant it goes the other way."""
    if by.constant is None:
        return values.binary("shl" if left else "shr", type, a, by)
    count = by.integer if left else -by.integer
    # By as many bits as the type has the sign is left, or nothing.
    if count >= type.bits or (count <= -type.bits and type.kind == "uint"):
        return values.constant(type, 0)
    return values.binary("shl" if count > 0 else "shr", type, a, values.index(min(abs(count), type.bits - 1)))


def _floating(values: Values, name: str, type: Type, args: tuple[Value, ...]) -> Value:
    """A function of floating point constants, such as exp_f32."""
    plain = name.rsplit("_f", 1)[0]
    given = [arg.constant for arg in args]
    if constants.is_float(type) and constants.can_compute(type) and constants.has_function(plain) and None not in given:
        return values.constant(type, constants.apply(plain, type, *(each for each in given if each is not None)))
    raise values.refuse(f"function {name} is not computed on the array", "put its values into a table: a Func of constants")
