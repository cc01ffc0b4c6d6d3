"""How large a result images allow, when nobody says."""

from __future__ import annotations

from collections.abc import Mapping

from sardonyx.hw.arch.errors import UserError

from .bounds import Interval, box, required
from .pipeline import Pipeline

# Longer sides are asked for by name.
LONGEST = 1 << 20


def largest(pipeline: Pipeline, extents: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """The largest result (x first, from 0 on) for which images of these extents suffice.

    A dimension that the program bounds has that extent. UserError if the images are too small for one element, or if some
    side is not limited by them.
    """
    name = pipeline.outputs[0]
    func = pipeline.funcs[name]

    def fits(shape: tuple[int, ...]) -> bool:
        needs = required(pipeline, {name: box(shape)})
        return all(needed in Interval(0, size - 1) for image, sizes in extents.items()
                   for needed, size in zip(needs.get(image, ()), sizes, strict=False))

    shape = [func.bounds[arg][1] if arg in func.bounds else 1 for arg in func.args]
    if not fits(tuple(shape)):
        sizes = "; ".join(f"{image} {' x '.join(map(str, each))}" for image, each in extents.items())
        raise UserError(f"the images are too small for one element of the result ({sizes})", f"Func {name}",
                        "give larger images")
    found = list(shape)
    for dim, arg in enumerate(func.args):
        if arg in func.bounds:
            continue
        low, high = 1, 2
        while fits((*shape[:dim], high, *shape[dim + 1:])):
            low, high = high, 2 * high
            if high > LONGEST:
                raise UserError(f"the images do not limit {arg}", f"Func {name}", "give the shape of the result")
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if fits((*shape[:dim], middle, *shape[dim + 1:])) else (low, middle)
        found[dim] = low
    return tuple(found)
