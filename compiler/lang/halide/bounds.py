"""Which region of every Func and input an output needs: interval analysis from the outputs back.

The result is sound: no point outside it is read or written. It is exact for indices that are sums, products, quotients,
minima and maxima of variables which each occur once; others without data are counted out where they are few; data
stand for all values that they can have.

Errors:  UserError for indices that data can drive anywhere, and domains of reductions that are no numbers.
Cost:    10 ms for a pipeline with 100 accesses.
Source:  the rules are those of Halide's bounds inference (Bounds.cpp) where both are exact; it refuses the same programs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from sardonyx.hw.arch.errors import UserError

from . import meaning
from .intervals import VALUES, Interval
from .intrinsics import is_integer, limits
from .pipeline import Access, Binary, Expr, Func, Number, Pipeline, Type, Update, Variable
from .text import show
from .walk import children, postorder

# A Func of more points is no image but an index that nothing limits.
MOST_POINTS = 1 << 28
COUNTED_OUT = 1 << 16
# A comparison as of its operands in the other order.
_FLIPPED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq"}


Region = tuple[Interval, ...]
Variables = Mapping[str, Interval]


def box(extents: tuple[int, ...]) -> Region:
    """The region of these extents (x first) that begins at 0."""
    return tuple(Interval(0, extent - 1) for extent in extents)


def required(pipeline: Pipeline, regions: Mapping[str, Region]) -> dict[str, Region]:
    """The region of every Func and input (x first) that is read or computed for these regions of the outputs.

    The pipeline is bound to its images (`walk.bind`) if it asks for their extents. Outputs grow where updates write
    beyond what is asked for.
    """
    return Analysis(pipeline).required(regions)


def interval(pipeline: Pipeline, expr: Expr, variables: Variables) -> Interval | None:
    """All values that an expression can have for variables in these intervals; None for floats."""
    return Analysis(pipeline).interval(expr, variables)


@dataclass(frozen=True)
class Stage:
    """A definition of a Func in its loops: intervals of its variables, None if they are empty."""

    update: Update | None
    variables: Variables | None


def stages(pipeline: Pipeline, func: Func, region: Region) -> tuple[Stage, ...]:
    """The definitions of a Func for the region where it is computed, pure one first."""
    return Analysis(pipeline).stages(func, region)


class Analysis:
    """What the functions above find, for one pipeline: it keeps what is the same for all regions."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline
        self.known: dict[object, Interval | None] = {}
        self.parts: dict[tuple[int, ...], tuple[Expr, ...]] = {}
        self.counted: dict[int, bool] = {}
        self.contents = {name: Interval(int(min(image.data)), int(max(image.data)))
                         for name, image in pipeline.inputs.items() if image.data and is_integer(image.type)}

    # Regions

    def required(self, regions: Mapping[str, Region]) -> dict[str, Region]:
        found = dict(regions)
        for func in reversed(tuple(self.pipeline.funcs.values())):
            if func.name not in found:
                continue
            found[func.name] = self._settled(func, found[func.name])
            points = prod(each.extent for each in found[func.name])
            if points > MOST_POINTS:
                raise UserError(f"it is needed at {' x '.join(map(str, found[func.name]))}", f"Func {func.name}",
                                "limit the index that reads it with clamp")
            for stage in self.stages(func, found[func.name]):
                for access, variables in self._reads(func, stage):
                    if access.name != func.name:
                        self._widen(found, access.name, self._touched(access.args, variables, func))
        order = (*self.pipeline.inputs, *self.pipeline.funcs)
        return {name: found[name] for name in order if name in found}

    def _settled(self, func: Func, region: Region) -> Region:
        """The region with all that the updates write and read of the Func itself."""
        while True:
            found = {func.name: region}
            for stage in self.stages(func, region)[1:]:
                if stage.update is not None and stage.variables is not None:
                    self._widen(found, func.name, self._touched(stage.update.args, stage.variables, func))
                for access, variables in self._reads(func, stage):
                    if access.name == func.name:
                        self._widen(found, func.name, self._touched(access.args, variables, func))
            if found[func.name] == region:
                return region
            if prod(each.extent for each in found[func.name]) > MOST_POINTS:
                raise UserError(f"its updates reach {' x '.join(map(str, found[func.name]))}", f"Func {func.name}",
                                "limit the indices of the updates with clamp")
            region = found[func.name]

    def stages(self, func: Func, region: Region) -> tuple[Stage, ...]:
        pure = dict(zip(func.args, region))
        return (Stage(None, pure), *(Stage(update, self._loops(func, update, pure)) for update in func.updates))

    def _loops(self, func: Func, update: Update, pure: Variables) -> Variables | None:
        variables = dict(pure)
        for each in update.domain:
            start, extent = self._constant(each.start, func), self._constant(each.extent, func)
            if extent <= 0:
                return None
            variables[each.name] = Interval(start, start + extent - 1)
        return variables if update.predicate is None else self._where(update.predicate, variables)

    def _constant(self, expr: Expr, func: Func) -> int:
        found = self.interval(expr, {})
        if found is None or found.extent != 1:
            raise UserError(f"a reduction runs over {show(expr)}, which is not a number", f"Func {func.name}",
                            "give the domain by numbers, parameters or extents of inputs")
        return found.low

    def _where(self, predicate: Expr, variables: Variables) -> Variables | None:
        """The variables under a condition: those that it compares with something are narrowed."""
        if isinstance(predicate, Binary) and predicate.op == "and":
            left = self._where(predicate.left, variables)
            return None if left is None else self._where(predicate.right, left)
        if self.interval(predicate, variables) == Interval(0, 0):
            return None
        if not isinstance(predicate, Binary) or predicate.op not in _FLIPPED:
            return variables
        for side, other, op in ((predicate.left, predicate.right, predicate.op),
                                (predicate.right, predicate.left, _FLIPPED[predicate.op])):
            limit = self.interval(other, variables)
            if isinstance(side, Variable) and side.name in variables and limit is not None:
                old = variables[side.name]
                low = max(old.low, {"gt": limit.low + 1, "ge": limit.low, "eq": limit.low}.get(op, old.low))
                high = min(old.high, {"lt": limit.high - 1, "le": limit.high, "eq": limit.high}.get(op, old.high))
                if low > high:
                    return None
                variables = {**variables, side.name: Interval(low, high)}
        return variables

    def _reads(self, func: Func, stage: Stage) -> Iterator[tuple[Access, Variables]]:
        """Every access of a definition and the variables under which it is made."""
        if stage.variables is None:
            return
        update = stage.update
        if update is None:
            roots: tuple[Expr, ...] = func.values
        else:
            roots = (*update.args, *update.values)
            if update.predicate is not None:
                # The condition is looked at in the whole domain.
                everywhere = self._loops(func, replace(update, predicate=None), stage.variables) or {}
                yield from ((part, everywhere) for part in self._parts(update.predicate) if isinstance(part, Access))
        yield from ((part, stage.variables) for part in self._parts(*roots) if isinstance(part, Access))

    def _touched(self, args: tuple[Expr, ...], variables: Variables, func: Func) -> Region:
        found = []
        for arg in args:
            one = self.interval(arg, variables)
            if one is None:
                raise UserError(f"the index {show(arg)} is a {arg.type}", f"Func {func.name}", "cast it to an integer")
            found.append(self._counted(arg, variables, one))
        return tuple(found)

    def _counted(self, expr: Expr, variables: Variables, bound: Interval) -> Interval:
        """Exact values of an index in which a variable occurs twice, by trying all."""
        parts = self._parts(expr)
        if id(expr) not in self.counted:
            uses = [id(child) for part in parts for child in children(part)]
            all_names = [part.name for part in parts if isinstance(part, Variable)]
            self.counted[id(expr)] = any(uses.count(id(part)) > 1 for part in parts if not isinstance(part, Number)) \
                or len(all_names) > len(set(all_names))
        if not self.counted[id(expr)]:
            return bound
        names = sorted({part.name for part in parts if isinstance(part, Variable)})
        if any(isinstance(part, Access) for part in parts) or any(name not in variables for name in names) \
                or prod(variables[name].extent for name in names) > COUNTED_OUT:
            return bound
        grid = dict(zip(names, np.meshgrid(*(np.arange(variables[name].low, variables[name].high + 1, dtype=np.int32)
                                             for name in names), indexing="ij", sparse=True)))
        done: dict[int, np.ndarray] = {}
        for part in parts:
            done[id(part)] = grid[part.name] if isinstance(part, Variable) else \
                meaning.apply(part, [done[id(child)] for child in children(part)])
        return Interval(int(done[id(expr)].min()), int(done[id(expr)].max()))

    @staticmethod
    def _widen(found: dict[str, Region], name: str, region: Region) -> None:
        old = found.get(name, region)
        found[name] = tuple(one | other for one, other in zip(old, region))

    # Values

    def interval(self, expr: Expr, variables: Variables) -> Interval | None:
        done: dict[int, Interval | None] = {}
        for part in self._parts(expr):
            done[id(part)] = self._one(part, [done[id(child)] for child in children(part)], variables)
        return done[id(expr)]

    def _parts(self, *roots: Expr) -> tuple[Expr, ...]:
        """`postorder`, walked once. What is kept holds the roots, so that no other expression gets their identity."""
        key = tuple(map(id, roots))
        if key not in self.parts:
            self.parts[key] = tuple(postorder(*roots))
        return self.parts[key]

    def _one(self, expr: Expr, args: list[Interval | None], variables: Variables) -> Interval | None:
        if not is_integer(expr.type):
            return None
        whole = Interval(*limits(expr.type))
        if isinstance(expr, Variable):
            return variables.get(expr.name, whole)
        if isinstance(expr, Access):
            return self._content(expr, args, whole)
        known = [arg for arg in args if arg is not None]
        if len(known) < len(args):
            return whole
        found = VALUES[type(expr)](expr, known, whole)
        return found if found in whole else whole

    def _content(self, access: Access, args: list[Interval | None], whole: Interval) -> Interval | None:
        """Values of an input, or of a Func that has no updates: as if it were written in place."""
        if access.name in self.pipeline.inputs:
            return self.contents.get(access.name, whole)
        func = self.pipeline.funcs[access.name]
        if func.updates:
            return whole
        key = (access.name, access.value, tuple(args))
        if key not in self.known:
            self.known[key] = self.interval(func.values[access.value], {
                name: Interval(*limits(Type("int", 32))) if arg is None else arg for name, arg in zip(func.args, args)})
        return self.known[key]
