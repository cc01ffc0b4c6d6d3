"""What a Halide pipeline means: every Func evaluated with NumPy on the region that its readers need.

Arrays are y-first: their axes are those of the program in reverse order, as Halide's own Python interface has them. A
program on ``f(x, y)`` of 6 x 4 points gives an array of shape (4, 6).

Errors:  UserError for inputs that are missing, of another type or too small, for float values, and for outputs that
         are not one array.
Cost:    60 ms for a 3 x 3 stencil on 512 x 512 points; updates take a step of Python for each point of their domain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

from sardonyx.compiler.lang.halide import meaning
from sardonyx.compiler.lang.halide.bounds import Region, box, required
from sardonyx.compiler.lang.halide.intrinsics import is_integer
from sardonyx.compiler.lang.halide.pipeline import Access, Expr, Func, Input, Pipeline, Update, Variable
from sardonyx.compiler.lang.halide.text import show
from sardonyx.compiler.lang.halide.walk import bind, children, expressions, postorder
from sardonyx.hw.arch.errors import UserError

_AXES = "xyzw"


@dataclass(frozen=True)
class _Plane:
    """The values of a Func or an input: arrays (y-first) of one shape, and where they begin (x first)."""

    values: tuple[np.ndarray, ...]
    start: tuple[int, ...]

    def at(self, points: Iterable[np.ndarray], chosen: np.ndarray | None = None) -> tuple[np.ndarray, ...]:
        """The index of points (x first) in the arrays; of those that are not chosen any index."""
        places = tuple(np.asarray(point, np.int64) - start for point, start in zip(points, self.start))[::-1]
        if chosen is not None:
            places = tuple(np.where(chosen, place, 0) for place in places)
        for place, extent in zip(places, self.values[0].shape):
            assert not place.size or 0 <= place.min() <= place.max() < extent, "bounds inference covers every point"
        return places


def realize(pipeline: Pipeline, inputs: Mapping[str, np.ndarray], shape: tuple[int, ...] | None = None) -> np.ndarray:
    """The first output of a pipeline, from 0 on in every dimension.

    Parameters
    ----------
    inputs : mapping     Arrays by the name of the input, axes reversed; the first element is at 0 in every dimension.
    shape : tuple        Of the output, axes reversed; None: the bounds or else the estimates that the program gives.
    """
    for name, array in inputs.items():
        _check_input(pipeline, name, array)
    extents = {name: tuple(reversed(array.shape)) for name, array in inputs.items()}
    missing = [name for name, image in pipeline.inputs.items() if image.data is None and name not in inputs]
    if missing:
        raise UserError(f"no image for input {', '.join(missing)}", fix="give an array for each by its name")
    pipeline = bind(pipeline, extents)
    output = pipeline.funcs[pipeline.outputs[0]]
    if len(output.types) != 1:
        raise UserError(f"it gives {len(output.types)} values at every point", f"Func {output.name}",
                        "make an output Func for one of them")
    asked = _asked(output, shape)
    regions = required(pipeline, {output.name: asked})
    if regions[output.name] != asked:
        raise UserError(f"its updates reach {_where(regions[output.name])} but the output is {_where(asked)}",
                        f"Func {output.name}", "ask for a larger output")
    for name in regions:
        if name in pipeline.funcs:
            _check_integers(pipeline.funcs[name])
    planes = {name: _plane(image, inputs, regions[name]) for name, image in pipeline.inputs.items() if name in regions}
    for func in pipeline.funcs.values():
        if func.name in regions:
            planes[func.name] = _evaluate(func, planes, regions[func.name])
    return planes[output.name].values[0]


def _asked(output: Func, shape: tuple[int, ...] | None) -> Region:
    if shape is not None:
        if len(shape) != len(output.args):
            raise UserError(f"it has {len(output.args)} dimensions but the shape {shape} has {len(shape)}",
                            f"Func {output.name}", "give a number for each, the first dimension of the program last")
        return box(tuple(reversed(shape)))
    estimates = output.schedule.get("estimates", {})
    assert isinstance(estimates, Mapping), "the reader writes a mapping"
    sizes = [output.bounds.get(arg, estimates.get(arg)) for arg in output.args]
    if None in sizes:
        raise UserError("the program does not say how large the output is", f"Func {output.name}",
                        "give a shape, or bound every dimension in the program")
    starts, extents = zip(*sizes) if sizes else ((), ())
    if any(starts):
        raise UserError(f"its bounds begin at {', '.join(map(str, starts))}", f"Func {output.name}",
                        "give a shape; the output begins at 0")
    return box(extents)


def _check_input(pipeline: Pipeline, name: str, array: np.ndarray) -> None:
    image = pipeline.inputs.get(name)
    if image is None or image.data is not None:
        names = [name for name, image in pipeline.inputs.items() if image.data is None]
        raise UserError(f"input {name} is not in the pipeline", fix=f"give {', '.join(names)}" if names else "give no inputs")
    if array.dtype != meaning.dtype(image.type) or array.ndim != image.dimensions:
        raise UserError(f"the image for input {name} is of {array.dtype} with {array.ndim} dimensions but the program reads "
                        f"{image.type} with {image.dimensions}", fix="convert the image")


def _check_integers(func: Func) -> None:
    for part in postorder(*expressions(func)):
        if not is_integer(part.type):
            raise UserError(f"{show(part)} is a {part.type}, which is not evaluated", f"Func {func.name}",
                            "compute with integers")


def _plane(image: Input, inputs: Mapping[str, np.ndarray], region: Region) -> _Plane:
    if image.data is None:
        array, start = np.asarray(inputs[image.name]), (0,) * image.dimensions
    else:
        array = np.array(image.data, meaning.dtype(image.type)).reshape(tuple(reversed(image.extents)))
        start = image.minimum
    extents = tuple(reversed(array.shape))
    short = [f"dimension {dim}{f' ({_AXES[dim]})' if dim < len(_AXES) else ''} is read at {need} but has "
             f"{first}..{first + extent - 1}"
             for dim, (need, first, extent) in enumerate(zip(region, start, extents))
             if need.low < first or need.high >= first + extent]
    if short:
        raise UserError(f"the image does not cover what the program reads: {'; '.join(short)}", f"input {image.name}",
                        "give a larger image, ask for a smaller output, or read it through a boundary condition")
    return _Plane((array,), start)


def _where(region: Region) -> str:
    return " x ".join(map(str, region)) or "one point"


def _evaluate(func: Func, planes: Mapping[str, _Plane], region: Region) -> _Plane:
    shape = tuple(each.extent for each in reversed(region))
    axes = np.ogrid[tuple(slice(each.low, each.high + 1) for each in reversed(region))]
    loops = {name: axis.astype(np.int32) for name, axis in zip(func.args, reversed(axes))}
    values = _values(func.values, planes, loops)
    # Broadcast values are read-only views; updates write.
    plane = _Plane(tuple(np.broadcast_to(value, shape).copy() for value in values), tuple(each.low for each in region))
    for update in func.updates:
        _update(update, {**planes, func.name: plane}, plane, loops)
    return plane


def _update(update: Update, planes: Mapping[str, _Plane], plane: _Plane, loops: Mapping[str, np.ndarray]) -> None:
    """One definition after the other, point by point of the domain; the pure variables all at once."""
    condition = (update.predicate,) if update.predicate is not None else ()
    count = len(update.args)
    for point in _points(update, planes):
        variables = {**loops, **point}
        chosen = _values(condition, planes, variables)[0] if condition else None
        if chosen is not None and not chosen.any():
            continue
        found = _values((*update.args, *update.values), planes, variables, chosen)
        places, values = plane.at(found[:count], chosen), tuple(found[count:])
        if chosen is not None and not chosen.all():
            whole = np.broadcast_shapes(chosen.shape, *(each.shape for each in (*places, *values)))
            mask = np.broadcast_to(chosen, whole)
            places = tuple(np.broadcast_to(place, whole)[mask] for place in places)
            values = tuple(np.broadcast_to(value, whole)[mask] for value in values)
        for array, value in zip(plane.values, values):
            array[places] = value


def _points(update: Update, planes: Mapping[str, _Plane]) -> Iterator[dict[str, np.ndarray]]:
    """The points of a domain; its first variable runs innermost."""
    limits = [(int(start), int(extent)) for start, extent in
              (_values((each.start, each.extent), planes, {}) for each in update.domain)]
    names = [each.name for each in update.domain][::-1]
    for point in product(*(range(start, start + extent) for start, extent in reversed(limits))):
        yield {name: np.array(value, np.int32) for name, value in zip(names, point)}


def _values(exprs: tuple[Expr, ...], planes: Mapping[str, _Plane], loops: Mapping[str, np.ndarray],
            chosen: np.ndarray | None = None) -> list[np.ndarray]:
    """Expressions for values of the variables; where points are not chosen the values mean nothing."""
    parts = tuple(postorder(*exprs))
    readers = Counter(id(each) for each in (*exprs, *(child for part in parts for child in children(part))))
    done: dict[int, np.ndarray] = {}
    for part in parts:
        operands = children(part)
        args = [done[id(each)] for each in operands]
        match part:
            case Variable():
                done[id(part)] = loops[part.name]
            case Access():
                plane = planes[part.name]
                done[id(part)] = plane.values[part.value][plane.at(args, chosen)]
            case _:
                done[id(part)] = meaning.apply(part, args)
        # An image for every operation would fill the memory.
        for each in operands:
            readers[id(each)] -= 1
            if not readers[id(each)]:
                del done[id(each)]
    return [done[id(expr)] for expr in exprs]
