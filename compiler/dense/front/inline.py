"""Funcs away: the values of an output as expressions over taps of images.

Every Func is evaluated where it is read, once for the same arguments; reductions are unrolled, their updates applied in
order. A Func or Buffer of constants read at constants is a constant; read at data it is a table.

    blur(x) = (in(x) + in(x + 1)) / 2,  out(x) = blur(x) + blur(x + 1)
    ->  add(div(add(tap in(x), tap in(x+1)), 2), div(add(tap in(x+1), tap in(x+2)), 2))
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

from sardonyx.hw.arch.errors import UserError

from ...lang.halide.pipeline import (
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
from ...lang.halide.walk import accesses, children, postorder
from .constants import is_float
from .intrinsics import call
from .value import Origin, Value, behind
from .values import Values

# Longest table: the words of a MEM tile.
TABLE = 2048
# Most updates that a Func may have at one point: what is larger is no stencil.
UPDATES = 1024


class NotAffine(Exception):
    """An image is read at a multiple of a divided coordinate, which telling remainders apart may make a coordinate."""


@dataclass(frozen=True)
class Instance:
    """An update at one point of its reduction domain, given by the values of its variables."""

    update: Update
    point: Mapping[str, Value]


@dataclass(frozen=True)
class Scope:
    """Where an expression is evaluated: in `func`, with these variables, before its update instance `time` if that is
    part of an update."""

    func: str
    variables: Mapping[str, Value]
    time: int | None = None


def image_of(pipeline: Pipeline, name: str) -> Input | None:
    """The image that a name stands for: its own, or that of the Func by which Halide reads an ImageParam."""
    if name in pipeline.inputs or name not in pipeline.funcs:
        return pipeline.inputs.get(name)
    func = pipeline.funcs[name]
    read = func.values[0]
    plain = len(func.values) == 1 and not func.updates and isinstance(read, Access) and \
        read.args == tuple(map(Variable, func.args))
    return pipeline.inputs.get(read.name) if plain and isinstance(read, Access) else None


class Inliner:
    """Evaluates Funcs of a pipeline at arguments."""

    def __init__(self, pipeline: Pipeline, values: Values) -> None:
        self.pipeline, self.values = pipeline, values
        # What the program calls the Funcs by which Halide reads its images.
        self.names = {name: image.name for name in pipeline.funcs if (image := image_of(pipeline, name))}
        # By Func and arguments: its values before update instance 0, 1, ..
        self._states: dict[tuple[str, tuple[Value, ...]], list[tuple[Value, ...]]] = {}
        self._instances: dict[str, list[Instance]] = {}
        self._parted: dict[tuple[str, tuple[Value, ...]], tuple[Value, ...]] = {}
        # Funcs within each other that are tried at divided coordinates, the outermost first.
        self._tried = 0
        self._constant: dict[str, bool] = {}
        self._tables: dict[tuple[str, int, tuple[Value | None, ...], int, int], tuple[int, ...]] = {}

    def func(self, name: str, args: tuple[Value, ...]) -> tuple[Value, ...]:
        """The values of a Func at arguments, all its updates done."""
        return self._before(name, args, len(self._updates(name)))

    # Funcs.

    def _before(self, name: str, args: tuple[Value, ...], time: int) -> tuple[Value, ...]:
        """The values before update instance `time`."""
        func = self.pipeline.funcs[name]
        if (name, args) not in self._states:
            scope = Scope(name, dict(zip(func.args, args, strict=True)))
            self._states[name, args] = [tuple(self.value(each, scope) for each in func.values)]
        states = self._states[name, args]
        while len(states) <= time:
            now = len(states) - 1
            after = self._step(func, args, now, states[now])
            if len(states) == now + 1:
                states.append(after)
        return states[time]

    def _step(self, func: Func, args: tuple[Value, ...], time: int, old: tuple[Value, ...]) -> tuple[Value, ...]:
        """The values after update instance `time`."""
        instance = self._updates(func.name)[time]
        update = instance.update
        free = {place: each.name for place, each in enumerate(update.args)
                if isinstance(each, Variable) and each.name in func.args and each.name not in instance.point}
        scope = Scope(func.name, {**instance.point, **{name: args[place] for place, name in free.items()}}, time)
        for place, each in enumerate(update.args):
            if place not in free and not self._same(self.value(each, scope), args[place], each, func):
                return old
        condition = self.values.flag(True) if update.predicate is None else self.value(update.predicate, scope)
        if condition.constant is not None and not condition.constant:
            return old
        new = [self.value(each, scope) for each in update.values]
        self.values.origin = Origin(func.name, update.values[0], self.names)
        return tuple(self.values.select(condition, *pair) for pair in zip(new, old, strict=True))

    def _same(self, updated: Value, wanted: Value, expr: Expr, func: Func) -> bool:
        """Whether an update at `updated` reaches the point `wanted`; raises UserError where that differs from point to
        point."""
        if updated is wanted:
            return True
        if updated.constant is None or wanted.constant is None:
            self.values.origin = Origin(func.name, expr, self.names)
            raise self.values.refuse(f"{func.name} is updated at some of the points only that are read",
                                     "update every point, or use select in the pure definition")
        return False

    def _updates(self, name: str) -> list[Instance]:
        """All updates of a Func at all points of their domains, in order."""
        if name not in self._instances:
            updates = self.pipeline.funcs[name].updates
            self._instances[name] = [each for update in updates for each in self._unrolled(name, update)]
        return self._instances[name]

    def _unrolled(self, name: str, update: Update) -> list[Instance]:
        ranges = [self._range(name, each) for each in update.domain]
        points = 1
        for each in ranges:
            points *= len(each)
        if points > UPDATES:
            raise UserError(f"it reduces over {points} points, but at most {UPDATES} are unrolled into a stencil",
                            f"Func {name}, RDom {', '.join(each.name for each in update.domain)}",
                            "long sums are computed as matrix products: out(x, y) = 0, out(x, y) += a(x, r) * b(r, y)")
        order = itertools.product(*reversed(ranges))
        names = [each.name for each in reversed(update.domain)]
        return [Instance(update, {n: self.values.index(v) for n, v in zip(names, point)}) for point in order]

    def _range(self, name: str, each: Range) -> range:
        limits = []
        for what, expr in (("start", each.start), ("extent", each.extent)):
            limit = self.value(expr, Scope(name, {}))
            if limit.constant is None:
                self.values.origin = Origin(name, expr, self.names)
                raise self.values.refuse(f"the {what} of reduction variable {each.name} is not a constant",
                                         "give the RDom constant bounds")
            limits.append(limit.integer)
        return range(limits[0], limits[0] + limits[1])

    # Expressions.

    def value(self, expr: Expr, scope: Scope) -> Value:
        """An expression in a scope; parts that are one object are evaluated once."""
        done: dict[int, Value] = {}
        for part in postorder(expr):
            done[id(part)] = self._operation(part, [done[id(child)] for child in children(part)], scope)
        return done[id(expr)]

    def _operation(self, expr: Expr, operands: list[Value], scope: Scope) -> Value:
        values = self.values
        values.origin = Origin(scope.func, expr, self.names)
        if isinstance(expr, Number):
            return values.constant(expr.type, expr.value)
        if isinstance(expr, Variable):
            return self._variable(expr, scope)
        if isinstance(expr, Cast):
            return values.cast(expr.type, operands[0])
        if isinstance(expr, Not):
            return values.invert(operands[0])
        if isinstance(expr, Select):
            return values.select(*operands)
        if isinstance(expr, Binary):
            return values.binary(expr.op, expr.type, *operands)
        if isinstance(expr, Intrinsic):
            return call(values, expr.name, expr.type, tuple(operands))
        return self._access(expr, tuple(operands), scope)

    def _variable(self, expr: Variable, scope: Scope) -> Value:
        if expr.name in scope.variables:
            return scope.variables[expr.name]
        if expr.name in self.pipeline.parameters:
            given = self.pipeline.parameters[expr.name]
            return self.values.constant(given.type, given.value)
        if expr.name.partition(".")[0] in self.pipeline.inputs:
            raise self.values.refuse(f"{expr.name} is known only with the image", "bind the program to the sizes of its images "
                                     "(compiler.lang.halide.walk.bind) before it is lowered")
        raise self.values.refuse(f"{expr.name} has no value when the program is compiled", "give the parameter a value")

    def _access(self, expr: Access, args: tuple[Value, ...], scope: Scope) -> Value:
        image = image_of(self.pipeline, expr.name)
        if image is not None:
            return self._image(image, args)
        assert expr.name in self.pipeline.funcs, f"{expr.name} is neither a Func nor an input"
        if expr.name == scope.func and scope.time is not None:
            return self._before(expr.name, args, scope.time)[expr.value]
        if any(arg.data for arg in args) and self._is_constant(expr.name):
            return self._table(expr.name, expr.type, expr.value, args)
        origin = self.values.origin
        found = self._repeated(expr.name, args)[expr.value]
        self.values.origin = origin
        return found

    def _repeated(self, name: str, args: tuple[Value, ...]) -> tuple[Value, ...]:
        """The values of a Func that may be read at divided coordinates.

        Where it reads an image at multiples of them, as what is first reduced and then enlarged does, the remainders are
        told apart: ``f(x / 2)`` is ``select(x % 2 == 0, f((x - 0) / 2), f((x - 1) / 2))``, without anything left over. That is
        done for the outermost Func, so that all that is computed between is computed once at every point of the finer image.
        """
        parted = next((place for place, arg in enumerate(args)
                       if arg.coordinate and arg.coordinate.divide > 1 and not arg.coordinate.exact), None)
        if parted is None:
            return self.func(name, args)
        if (name, args) not in self._parted:
            self._tried += 1
            try:
                return self.func(name, args)
            except NotAffine:
                if self._tried > 1:
                    raise
            finally:
                self._tried -= 1
            self._parted[name, args] = self._remainders(name, args, parted)
        return self._parted[name, args]

    def _remainders(self, name: str, args: tuple[Value, ...], parted: int) -> tuple[Value, ...]:
        """The values of a Func with a divided coordinate at `parted`, selected by its remainder."""
        place = args[parted].coordinate
        assert place is not None, "the argument is a coordinate"
        whole = self.values.coordinate(place.dim, place.scale, place.shift)
        rest = self.values.binary("mod", INT32, whole, self.values.index(place.divide))
        found: tuple[Value, ...] = ()
        for left in reversed(range(place.divide)):
            exact = self.values.coordinate(place.dim, place.scale, place.shift - left, place.divide, exact=True)
            values = self._repeated(name, (*args[:parted], exact, *args[parted + 1:]))
            here = self.values.binary("eq", BOOL, rest, self.values.index(left))
            found = tuple(self.values.select(here, *pair) for pair in zip(values, found, strict=True)) if found else values
        return found

    def _image(self, image: Input, args: tuple[Value, ...]) -> Value:
        if image.data is not None and all(arg.constant is not None for arg in args):
            return self.values.constant(image.type, self._element(image, [arg.integer for arg in args]))
        if image.data is not None and _is_index(args):
            return self._table(image.name, image.type, 0, args)
        for arg in args:
            if arg.data:
                raise self.values.refuse(f"{image.name} is read at a place that depends on data: {self.values.place(arg)}",
                                         "use a Func of constants as a table; an image is read at places that the loops give")
        if self._tried and any(map(_is_multiple, behind(args))):
            raise NotAffine
        return self.values.tap(image.name, image.type, args)

    def _element(self, image: Input, place: list[int]) -> int | float:
        """An element of a constant Buffer."""
        assert image.data is not None, f"{image.name} is not constant"
        index, pitch = 0, 1
        for at, low, extent in zip(place, image.minimum, image.extents, strict=True):
            if not low <= at < low + extent:
                raise self.values.refuse(f"{image.name} has elements {low}..{low + extent - 1}, but {at} is read",
                                         "stay inside the Buffer")
            index, pitch = index + (at - low) * pitch, pitch * extent
        return image.data[index]

    # Tables.

    def _is_constant(self, name: str) -> bool:
        """Whether no image is behind a Func."""
        if name not in self._constant:
            self._constant[name] = True    # itself, in an update
            read = {access.name for access in accesses(self.pipeline.funcs[name])}
            images = [self.pipeline.inputs[each] for each in read if each in self.pipeline.inputs]
            self._constant[name] = all(image.data is not None for image in images) and \
                all(self._is_constant(each) for each in read if each in self.pipeline.funcs)
        return self._constant[name]

    def _table(self, name: str, type: Type, which: int, args: tuple[Value, ...]) -> Value:
        """A Func or Buffer of constants read at data."""
        origin = self.values.origin
        places = [place for place, arg in enumerate(args) if arg.constant is None]
        index = args[places[0]]
        if len(places) > 1 or not index.varies:
            raise self.values.refuse(f"table {name} is read at more than one value that is not constant",
                                     "compute one index from them and read a Func of one variable")
        reach = index.interval
        if reach.low < 0 or reach.high >= TABLE:
            raise self.values.refuse(f"table {name} is read at {reach}, but a table has entries 0..{TABLE - 1}",
                                     "clamp the index, and add to it what makes it begin at 0")
        if is_float(type):
            raise self.values.refuse(f"table {name} has entries of type {type}", "cast them to an integer type")
        fixed = tuple(None if arg is index else arg for arg in args)
        key = (name, which, fixed, reach.low, reach.high)
        if key not in self._tables:
            self._tables[key] = (0,) * reach.low + tuple(
                self._entry(name, which, fixed, at, origin) for at in range(reach.low, reach.high + 1))
        self.values.origin = origin
        return self.values.lookup(type, self._tables[key], index)

    def _entry(self, name: str, which: int, fixed: tuple[Value | None, ...], at: int, origin: Origin | None) -> int:
        args = tuple(each or self.values.index(at) for each in fixed)
        if name in self.pipeline.inputs:
            self.values.origin = origin
            return int(self._element(self.pipeline.inputs[name], [arg.integer for arg in args]))
        found = self.func(name, args)[which]
        assert found.constant is not None, f"{name} has no image behind it and constant arguments"
        return found.integer


def _is_index(args: tuple[Value, ...]) -> bool:
    """Whether a Buffer read at these is a table: at data, or at nothing but a remainder."""
    varying = [arg for arg in args if arg.constant is None]
    if any(arg.data for arg in args):
        return True
    return len(varying) == 1 and varying[0].varies and not varying[0].places


def _is_multiple(value: Value) -> bool:
    """Whether it is a divided coordinate times something."""
    return value.op in ("mul", "shl") and any(
        arg.coordinate is not None and arg.coordinate.divide > 1 and not arg.coordinate.exact for arg in value.args)
