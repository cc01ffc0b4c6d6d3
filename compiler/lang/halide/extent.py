"""How large a result images allow, when nobody says.

Where boundary conditions let a program read beyond its images, the result has as many elements as they have: as many as there
are loops until an index that is computed from the loop variable, if nothing limited it, would leave the image.

    edge(x - 1) + edge(x + 1)  ->  as wide as the image        edge(x / 2)  ->  twice as wide
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from sardonyx.hw.arch.errors import UserError

from .bounds import Analysis, box
from .intervals import Interval
from .pipeline import Access, Binary, Expr, Intrinsic, Number, Pipeline, Select, Variable
from .walk import accesses, children, postorder

# Longer sides are asked for by name.
LONGEST = 1 << 20


def largest(pipeline: Pipeline, extents: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """The largest result (x first, from 0 on) for which images of these extents suffice.

    A dimension that the program bounds has that extent. UserError if the images are too small for one element, or if some
    side is not limited by them and it has no natural size.
    """
    name = pipeline.outputs[0]
    func = pipeline.funcs[name]
    analysis = Analysis(pipeline)

    def outside(shape: tuple[int, ...]) -> Iterator[str]:
        needs = analysis.required({name: box(shape)})
        for image, sizes in extents.items():
            for dim, (needed, size) in enumerate(zip(needs.get(image, ()), sizes, strict=False)):
                if needed not in Interval(0, size - 1):
                    yield f"{image} is read at {needed} in dimension {dim}, which has 0..{size - 1}"

    def fits(shape: tuple[int, ...]) -> bool:
        return next(outside(shape), None) is None

    shape = [func.bounds[arg][1] if arg in func.bounds else 1 for arg in func.args]
    if short := list(outside(tuple(shape))):
        raise UserError(f"the images do not suffice for a result of {' x '.join(map(str, shape))}, the smallest: "
                        f"{'; '.join(short)}", f"Func {name}", "read them from 0 on, through a boundary condition, or give "
                        "larger ones")
    found = list(shape)
    for dim, arg in enumerate(func.args):
        if arg in func.bounds:
            continue
        low, high = 1, 2
        while fits((*shape[:dim], high, *shape[dim + 1:])):
            low, high = high, 2 * high
            if high > LONGEST:
                low = _natural(pipeline, extents, arg)
                high = low + 1
                break
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if fits((*shape[:dim], middle, *shape[dim + 1:])) else (low, middle)
        found[dim] = low
    return tuple(found)


def _natural(pipeline: Pipeline, extents: Mapping[str, tuple[int, ...]], arg: str) -> int:
    """The size of a result along `arg` that images suggest which do not limit it; UserError unless they agree."""
    name = pipeline.outputs[0]
    read = _paces(pipeline, arg)
    sizes = {-(-extents[image][dim] // pace) for image, dim, pace in read if image in extents}
    if len(sizes) != 1 or any(image not in extents for image, _, _ in read):
        suggest = f" and suggest {' or '.join(map(str, sorted(sizes)))}" if sizes else ""
        raise UserError(f"the images do not limit {arg}{suggest}", f"Func {name}", "give the shape of the result")
    return sizes.pop()


def _paces(pipeline: Pipeline, arg: str) -> set[tuple[str, int, Fraction]]:
    """The dimensions of images whose index is computed from a variable of the output, and how fast each advances with it."""
    output = pipeline.outputs[0]
    # Of every Func: for each of its variables.
    known: dict[str, list[set[Fraction]]] = {name: [set() for _ in func.args] for name, func in pipeline.funcs.items()}
    known[output] = [{Fraction(1)} if each == arg else set() for each in pipeline.funcs[output].args]
    found = set()
    for func in reversed(tuple(pipeline.funcs.values())):
        variables = dict(zip(func.args, known[func.name], strict=True))
        for access in accesses(func):
            for dim, index in enumerate(access.args):
                paces = _pace(index, variables)
                if access.name in known:
                    known[access.name][dim] |= paces
                else:
                    found |= {(access.name, dim, pace) for pace in paces}
    return found


def _pace(index: Expr, variables: Mapping[str, set[Fraction]]) -> set[Fraction]:
    """How fast an index advances with what it is computed from, limits and turns aside."""
    done: dict[int, set[Fraction]] = {}
    for part in postorder(index):
        operands = [done[id(child)] for child in children(part)]
        match part:
            case Variable():
                done[id(part)] = variables.get(part.name, set())
            case Access():
                done[id(part)] = set()
            case Select():
                done[id(part)] = operands[1] | operands[2]
            case Binary(op="mul", right=Number(value=by)) | Binary(op="mul", left=Number(value=by)) if by:
                done[id(part)] = {abs(pace * int(by)) for pace in operands[0] | operands[1]}
            case Binary(op="div", right=Number(value=by)) if by:
                done[id(part)] = {abs(pace / int(by)) for pace in operands[0]}
            case Intrinsic(name="shift_left" | "shift_right" as name, args=(_, Number(value=by))):
                places = int(by) if name == "shift_left" else -int(by)
                done[id(part)] = {pace * Fraction(2) ** places for pace in operands[0]}
            case _:
                done[id(part)] = set().union(*operands)
    return done[id(index)]
