"""A Halide pipeline as frozen values: Funcs, their definitions, expressions, inputs.

Dimensions are in Halide's order, x first. Expressions are typed as in Halide; integer arithmetic wraps at the width of
its type. Division is Euclidean: the remainder is never negative, so a quotient rounds towards minus infinity by a positive
divisor and towards plus infinity by a negative one; quotient and remainder by 0 are 0.

Equal parts of an expression are one object when the reader made it: what walks over them (see `walk`) meets each once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Type:
    """`kind` is ``int``, ``uint`` (a Boolean is uint1), ``float`` or ``bfloat``."""

    kind: str
    bits: int

    def __str__(self) -> str:
        return "bool" if self == BOOL else f"{self.kind}{self.bits}"


BOOL = Type("uint", 1)
INT32 = Type("int", 32)


@dataclass(frozen=True)
class Number:
    """A constant."""

    type: Type
    value: int | float


@dataclass(frozen=True)
class Variable:
    """A loop variable (of a Func or of a reduction domain) by its name; or where an input lies, ``inp.min.0`` and
    ``inp.extent.0`` (0 is x), which `walk.bind` replaces by numbers."""

    name: str
    type: Type = INT32


@dataclass(frozen=True)
class Cast:
    """The operand as another type; integers wrap."""

    type: Type
    value: Expr


@dataclass(frozen=True)
class Binary:
    """`op` is one of add, sub, mul, div, mod, min, max, eq, ne, lt, le, gt, ge, and, or; operands have one type."""

    op: str
    type: Type
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Not:
    """The negation of a Boolean."""

    value: Expr
    type: Type = BOOL


@dataclass(frozen=True)
class Select:
    """One of two values of the same type."""

    type: Type
    condition: Expr
    true: Expr
    false: Expr


@dataclass(frozen=True)
class Access:
    """The value of a Func or of an input (an image) at a point. `value` picks one of a Func's tuple."""

    type: Type
    name: str
    args: tuple[Expr, ...]
    value: int = 0


@dataclass(frozen=True)
class Intrinsic:
    """A pure function of Halide.

    On integers abs, absd, bitwise_and, bitwise_or, bitwise_xor, bitwise_not, shift_left, shift_right, popcount,
    count_leading_zeros, count_trailing_zeros, div_round_to_zero, mod_round_to_zero; the reader writes all others with
    these. Shifts by a negative count go the other way, those by all bits or more leave 0 or the sign; the count has a
    type of its own. On floats the names of Halide (sqrt_f32, strict_mul, ...).
    """

    name: str
    type: Type
    args: tuple[Expr, ...]


Expr = Number | Variable | Cast | Binary | Not | Select | Access | Intrinsic


@dataclass(frozen=True)
class Range:
    """A reduction variable and its range."""

    name: str
    start: Expr
    extent: Expr


@dataclass(frozen=True)
class Update:
    """``f(args) = values`` over a reduction domain; outermost range last, as in an RDom."""

    args: tuple[Expr, ...]
    values: tuple[Expr, ...]
    domain: tuple[Range, ...] = ()
    predicate: Expr | None = None


@dataclass(frozen=True)
class Split:
    """A loop made of others: `kind` is ``split`` (old into outer and inner by `factor`), ``rename`` (old into outer) or
    ``fuse`` (inner and outer into old). `factor` is None if it is no constant."""

    kind: str
    old: str
    outer: str
    inner: str
    factor: int | None


@dataclass(frozen=True)
class Func:
    """A function: ``f(args) = values``, then the updates in order.

    Parameters
    ----------
    args : tuple of str        Pure variables, x first.
    types : tuple of Type      Of the values.
    schedule : mapping         What the program says of its loops: ``compute`` and ``store`` (``root``, ``inline`` or
                               ``func.var``), ``memory`` (of store_in: auto, heap, stack, register, ...), ``splits``
                               (tuple of Split), ``loops`` and ``unrolled`` (names of variables, innermost first),
                               ``kinds`` (loop -> unrolled, parallel, vectorized, ..., if it is not serial), ``updates``
                               (for every update a mapping with splits, loops, unrolled, kinds), ``estimates`` (as
                               bounds), ``others`` (names of whatever else it says: prefetch, memoize, ...).
    bounds : mapping           Variable -> (minimum, extent), where the program gives them (``bound``).
    """

    name: str
    args: tuple[str, ...]
    types: tuple[Type, ...]
    values: tuple[Expr, ...]
    updates: tuple[Update, ...]
    schedule: Mapping[str, object]
    bounds: Mapping[str, tuple[int, int]]


@dataclass(frozen=True)
class Input:
    """An image that the program reads (ImageParam or a constant Buffer).

    data : tuple of int | None      The contents of a constant Buffer, x fastest, with `extents`; None for an ImageParam.
    minimum, extents : tuples       Of a constant Buffer.
    promised : tuple of (int, int)  Of an ImageParam whose dimensions the program bounds: start and extent of each; None where
                                    it says nothing. Files do not hold it.
    """

    name: str
    type: Type
    dimensions: int
    data: tuple[int | float, ...] | None = None
    minimum: tuple[int, ...] = ()
    extents: tuple[int, ...] = ()
    promised: tuple[tuple[int | None, int | None], ...] = ()


@dataclass(frozen=True)
class Pipeline:
    """Funcs by name in order of realization (producers first), inputs by name, and the names of the outputs.

    Funcs that no output needs are left out; so are copies that only a schedule makes (``f.in_(g)``).
    """

    funcs: Mapping[str, Func]
    inputs: Mapping[str, Input]
    outputs: tuple[str, ...]
    parameters: Mapping[str, Number]
    """Scalar parameters and the values they have; in expressions they are numbers."""
