"""Halide pipelines written by hand, and what they mean: an evaluator of one point at a time in exact integers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sardonyx.compiler.lang.halide.pipeline import (
    BOOL,
    INT32,
    Access,
    Binary,
    Cast,
    Expr,
    Func,
    Input,
    Intrinsic,
    Not,
    Number,
    Pipeline,
    Range,
    Select,
    Type,
    Update,
    Variable,
)

U8, I8, U16, I16 = Type("uint", 8), Type("int", 8), Type("uint", 16), Type("int", 16)
U32, I32, F32 = Type("uint", 32), INT32, Type("float", 32)


@dataclass(frozen=True)
class E:
    """An expression with operators; integers become constants of the other operand's type."""

    expr: Expr

    @property
    def type(self) -> Type:
        return self.expr.type

    def _binary(self, op: str, other: E | int, type: Type | None = None) -> E:
        return E(Binary(op, type or self.type, self.expr, of(other, self.type).expr))

    def __add__(self, other: E | int) -> E:
        return self._binary("add", other)

    def __sub__(self, other: E | int) -> E:
        return self._binary("sub", other)

    def __mul__(self, other: E | int) -> E:
        return self._binary("mul", other)

    def __floordiv__(self, other: E | int) -> E:
        return self._binary("div", other)

    def __mod__(self, other: E | int) -> E:
        return self._binary("mod", other)

    def __rshift__(self, other: E | int) -> E:
        return call("shift_right", self.type, self, of(other, self.type))

    def __lshift__(self, other: E | int) -> E:
        return call("shift_left", self.type, self, of(other, self.type))

    def __and__(self, other: E | int) -> E:
        return self._binary("and", other) if self.type == BOOL else call("bitwise_and", self.type, self, of(other, self.type))

    def __or__(self, other: E | int) -> E:
        return self._binary("or", other) if self.type == BOOL else call("bitwise_or", self.type, self, of(other, self.type))

    def __invert__(self) -> E:
        return E(Not(self.expr))

    def __lt__(self, other: E | int) -> E:
        return self._binary("lt", other, BOOL)

    def __le__(self, other: E | int) -> E:
        return self._binary("le", other, BOOL)

    def __gt__(self, other: E | int) -> E:
        return self._binary("gt", other, BOOL)

    def __ge__(self, other: E | int) -> E:
        return self._binary("ge", other, BOOL)

    def equals(self, other: E | int) -> E:
        return self._binary("eq", other, BOOL)


def of(value: E | int | float, type: Type) -> E:
    return value if isinstance(value, E) else E(Number(type, value))


def call(name: str, type: Type, *args: E) -> E:
    return E(Intrinsic(name, type, tuple(arg.expr for arg in args)))


def cast(type: Type, value: E) -> E:
    return E(Cast(type, value.expr))


def low(a: E, b: E | int) -> E:
    return a._binary("min", b)


def high(a: E, b: E | int) -> E:
    return a._binary("max", b)


def clamp(a: E, least: int, most: int) -> E:
    return high(low(a, most), least)


def select(condition: E, true: E, false: E | int) -> E:
    return E(Select(true.type, condition.expr, true.expr, of(false, true.type).expr))


def absd(a: E, b: E) -> E:
    return call("absd", Type("uint", a.type.bits), a, b)


x, y, c = (E(Variable(name)) for name in ("x", "y", "c"))


class Program:
    """A pipeline as it is written: images and Funcs are called with indices to read them."""

    def __init__(self) -> None:
        self.funcs: dict[str, Func] = {}
        self.inputs: dict[str, Input] = {}

    def image(self, name: str, type: Type = U8, dimensions: int = 2) -> Callable[..., E]:
        self.inputs[name] = Input(name, type, dimensions)
        return self._reader(name, type)

    def buffer(self, name: str, type: Type, values: Sequence[int], extents: tuple[int, ...]) -> Callable[..., E]:
        self.inputs[name] = Input(name, type, len(extents), tuple(values), (0,) * len(extents), extents)
        return self._reader(name, type)

    def func(self, name: str, args: Sequence[E], value: E, updates: Sequence[Update] = (),
             bounds: Mapping[str, tuple[int, int]] | None = None) -> Callable[..., E]:
        names = tuple(arg.expr.name for arg in args if isinstance(arg.expr, Variable))
        self.funcs[name] = Func(name, names, (value.type,), (value.expr,), tuple(updates), {}, bounds or {})
        return self._reader(name, value.type)

    def sum(self, name: str, args: Sequence[E], domain: Mapping[str, tuple[int, int]], term: E) -> Callable[..., E]:
        """A Func that adds a term over a domain to 0."""
        own = Access(term.type, name, tuple(arg.expr for arg in args))
        ranges = tuple(Range(n, Number(I32, start), Number(I32, extent)) for n, (start, extent) in domain.items())
        update = Update(own.args, (Binary("add", term.type, own, term.expr),), ranges)
        return self.func(name, args, of(0, term.type), [update])

    def pipeline(self, *outputs: str, **parameters: Number) -> Pipeline:
        return Pipeline(self.funcs, self.inputs, outputs or (list(self.funcs)[-1],), parameters)

    @staticmethod
    def _reader(name: str, type: Type) -> Callable[..., E]:
        return lambda *indices: E(Access(type, name, tuple(of(each, I32).expr for each in indices)))


# Meaning.


def wrap(value: int, type: Type) -> int:
    value %= 1 << type.bits
    return value - (1 << type.bits) if type.kind == "int" and value >> type.bits - 1 else value


OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "min": min, "max": max,
    "div": lambda a, b: (a - a % abs(b)) // b if b else 0, "mod": lambda a, b: a % abs(b) if b else 0,
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b, "and": lambda a, b: a & b, "or": lambda a, b: a | b,
    "bitwise_and": lambda a, b: a & b, "bitwise_or": lambda a, b: a | b, "bitwise_xor": lambda a, b: a ^ b,
    "shift_left": lambda a, b: a << b if b >= 0 else a >> -b, "shift_right": lambda a, b: a >> b if b >= 0 else a << -b,
    "absd": lambda a, b: abs(a - b),
}


class Exact:
    """The value of a Func at a point; images are y-first arrays of integers."""

    def __init__(self, pipeline: Pipeline, images: Mapping[str, np.ndarray]) -> None:
        self.pipeline, self.images = pipeline, images
        self.known: dict[tuple[str, tuple[int, ...]], int] = {}

    def func(self, name: str, point: tuple[int, ...]) -> int:
        if (name, point) not in self.known:
            self.known[name, point] = self._func(self.pipeline.funcs[name], point)
        return self.known[name, point]

    def _func(self, func: Func, point: tuple[int, ...]) -> int:
        variables = dict(zip(func.args, point, strict=True))
        current = self.value(func.values[0], variables)
        for update in func.updates:
            ranges = [range(self.value(each.start, {}), self.value(each.start, {}) + self.value(each.extent, {}))
                      for each in update.domain]
            for at in itertools.product(*reversed(ranges)):
                inner = {**variables, **dict(zip([each.name for each in reversed(update.domain)], at, strict=True))}
                if tuple(self.value(each, inner) for each in update.args) == point and \
                        (update.predicate is None or self.value(update.predicate, inner)):
                    current = self.value(update.values[0], inner, (func.name, point, current))
        return current

    def value(self, expr: Expr, variables: Mapping[str, int], own: tuple[str, tuple[int, ...], int] | None = None) -> int:
        def inner(each: Expr) -> int:
            return self.value(each, variables, own)

        if isinstance(expr, Number):
            return int(expr.value)
        if isinstance(expr, Variable):
            return variables[expr.name]
        if isinstance(expr, Cast):
            value = inner(expr.value)
            return wrap(value, expr.type)
        if isinstance(expr, Not):
            return 1 - inner(expr.value)
        if isinstance(expr, Select):
            return inner(expr.true) if inner(expr.condition) else inner(expr.false)
        if isinstance(expr, Binary):
            return wrap(int(OPERATIONS[expr.op](inner(expr.left), inner(expr.right))), expr.type)
        args = tuple(map(inner, expr.args))
        if isinstance(expr, Access):
            if own and own[:2] == (expr.name, args):
                return own[2]
            return self.func(expr.name, args) if expr.name in self.pipeline.funcs else self.element(expr.name, args)
        if expr.name == "abs":
            return wrap(abs(args[0]), expr.type)
        if expr.name == "bitwise_not":
            return wrap(~args[0], expr.type)
        return wrap(OPERATIONS[expr.name](args[0], args[1]), expr.type)

    def element(self, name: str, place: tuple[int, ...]) -> int:
        given = self.pipeline.inputs[name]
        image = self.images[name] if given.data is None else np.array(given.data).reshape(given.extents[::-1])
        assert all(each >= 0 for each in place), "no element below 0"
        return int(image[place[::-1]])
