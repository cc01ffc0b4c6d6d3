"""A Halide pipeline to operations on words, one value at every point of a grid.

    blur(x) = (in(x) + in(x + 1)) / 2          0 input in
    out(x) = blur(x) + blur(x + 1)       ->    1 add @0, @0+(1,)    2 shr @1, 1    3 add @2, @2+(1,)

The grid is that of the finest image: where a program reads ``in(2 * x)``, its result stands at every second point (the scale
of the output's stream); where it reads ``in(x / 2)``, the input's stream has every element twice.

A dimension of an output that is bounded to `PLANES` elements or fewer, or bounded and unrolled, is no dimension of the grid:
every element of it is a result of its own. Constant indices of an image are planes of it, with one stream each. An image read
at indices that are computed, as boundary conditions do, is read through another that the host gathers (`gather`).

Needs:   Pipeline, bound to its images (`walk.bind`) if it asks for their sizes; integers of any width, but the bits that are
         stored or compared lie in 16.
Gives:   WordGraph, verified.
Errors:  UserError for what is no stencil of such integers, with the Func, the expression and the reason.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from sardonyx.hw.arch.errors import UserError

from ...ir.dataflow import Ref, Stream, WordGraph, verify
from ...lang.halide.pipeline import Func, Pipeline
from .gather import Gatherer
from .inline import Inliner
from .nodes import Nodes, reachable
from .ranges import SIGNED_WORD, UNSIGNED_WORD
from .value import Coordinate, Value, behind
from .values import Values
from .words import Words, refused

# Extent up to which a bounded dimension is a set of planes: the channels of an image.
PLANES = 4
# The same if it is unrolled as well.
UNROLLED_PLANES = 64
# Calls within each other: each Func that reads another takes some.
DEPTH = 6000


@dataclass(frozen=True)
class Result:
    """One result: value `which` of an output at `plane`, the constants of its dimensions that are not of the grid."""

    func: str
    which: int
    of: int
    plane: tuple[int | None, ...]
    value: Value

    @property
    def image(self) -> str:
        return f"{self.func}.{self.which}" if self.of > 1 else self.func

    @property
    def name(self) -> str:
        return self.image + _suffix(self.plane)


def lower(pipeline: Pipeline, output: str | None = None, streams: int | None = None) -> WordGraph:
    """The word graph of one output, or of all together; streams: load streams that the machine has, else any number."""
    if output is not None and output not in pipeline.outputs:
        raise UserError(f"the pipeline has no output {output}", "", f"name one of {', '.join(pipeline.outputs)}")
    funcs = [pipeline.funcs[name] for name in ([output] if output is not None else pipeline.outputs)]
    dims = _grid(funcs)
    values = Values(dims)
    inliner = Inliner(pipeline, values)
    with _deep(funcs[0].name):
        results = [result for func in funcs for result in _results(func, values, inliner)]
    for result in results:
        if not result.value.data:
            raise _nothing(result)
    gatherer = Gatherer(values, pipeline.inputs, streams)
    moved = gatherer.replaced([result.value for result in results])
    results = [replace(result, value=value) for result, value in zip(results, moved, strict=True)]
    everything = behind(moved)
    _no_places(everything)
    made = Streams(dims, [value for value in everything if value.op == "tap"])
    words = Words(made.nodes, made.tap, made.pattern)
    for value in everything:
        words.make(value)
    refs: dict[str, Ref] = {}
    for result in results:
        if result.name in refs:
            raise UserError(f"two results are called {result.name}", f"Func {result.func}", "rename an output")
        refs[result.name] = _stored(result, words)
    nodes, refs = reachable(made.nodes.made, refs)
    inputs = {node.name: made.inputs[node.name] for node in nodes if node.op == "input"}
    outputs = {result.name: made.output(result) for result in results}
    read = {stream.image for stream in inputs.values()}
    return verify(WordGraph(dims, nodes, inputs, refs, outputs,
                            {name: func for name, func in gatherer.funcs.items() if name in read}))


@contextmanager
def _deep(func: str) -> Iterator[None]:
    """Room for expressions nested deeply."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, DEPTH))
    try:
        yield
    except RecursionError:
        raise UserError("it reads Funcs through too many others", f"Func {func}", "shorten the chain of Funcs") from None
    finally:
        sys.setrecursionlimit(limit)


# Outputs.


def _planes(func: Func) -> dict[str, range]:
    """Dimensions of an output that are sets of planes."""
    unrolled = func.schedule.get("unrolled", ())
    named = unrolled if isinstance(unrolled, tuple | list | set | frozenset) else ()
    small = {name: range(low, low + extent) for name, (low, extent) in func.bounds.items()
             if name in func.args and extent <= (UNROLLED_PLANES if name in named else PLANES)}
    return small if len(small) < len(func.args) else {}


def _grid(funcs: list[Func]) -> tuple[str, ...]:
    """The dimensions of the grid, the same number for all outputs."""
    dims = [tuple(name for name in func.args if name not in _planes(func)) for func in funcs]
    for func, own in zip(funcs, dims, strict=True):
        if not own:
            raise UserError("it has no dimension to run over", f"Func {func.name}", "give it one, as f[x] = ..., or compute "
                            "it in the host program")
        if len(own) != len(dims[0]):
            raise UserError(f"it has {len(own)} dimensions to run over, and {funcs[0].name} has {len(dims[0])}",
                            f"Func {func.name}", "compile outputs of different rank one by one")
    return dims[0]


def _results(func: Func, values: Values, inliner: Inliner) -> list[Result]:
    """The values of a Func in all its planes."""
    planes = _planes(func)
    loops = [name for name in func.args if name not in planes]
    found = []
    for plane in itertools.product(*(planes.get(name, (None,)) for name in func.args)):
        args = tuple(values.coordinate(loops.index(name)) if at is None else values.index(at)
                     for name, at in zip(func.args, plane, strict=True))
        for which, value in enumerate(inliner.func(func.name, args)):
            found.append(Result(func.name, which, len(func.types), plane, value))
    return found


def _stored(result: Result, words: Words) -> Ref:
    """The reference to a result, which fits a word and depends on an image."""
    value = result.value
    if not (value.interval.within(UNSIGNED_WORD) or value.interval.within(SIGNED_WORD)):
        raise UserError(f"values of type {value.type} in {value.interval} are stored, but a word has 16 bits",
                        f"Func {result.func}", "cast the output to 16 bits")
    found = words.word(value)
    if isinstance(found, int):
        raise _nothing(result)
    return found


def _nothing(result: Result) -> UserError:
    return UserError("it does not depend on an image, so there is nothing to compute on the array", f"Func {result.func}",
                     "compute it in the host program")


def _no_places(values: list[Value]) -> None:
    """Refuses loop variables as values: they are indices, and their remainders are patterns."""
    for value in values:
        pattern = value.op == "mod" and value.args[1].constant is not None
        if value.op != "tap" and not pattern and any(arg.op == "coordinate" for arg in value.args):
            raise refused(value, "a loop variable is a value here, but only images and tables give values",
                          "read it from an image that holds it, or bound its dimension if that is small (a channel)")


# Streams.


class Streams:
    """The streams of a graph on the grid of the finest image.

    A loop variable x of the program is point ``scale * x`` of the grid, where the scale of a dimension is the least common
    multiple of the factors of x in the indices of images.
    """

    def __init__(self, dims: tuple[str, ...], taps: list[Value]) -> None:
        self.dims = dims
        self.nodes = Nodes(len(dims))
        self.inputs: dict[str, Stream] = {}
        factors: list[list[int]] = [[1] for _ in dims]
        for tap in taps:
            for place in self._places(tap):
                factors[place.dim].append(place.scale)
        self.scale = tuple(math.lcm(*each) for each in factors)

    def _places(self, tap: Value) -> list[Coordinate]:
        """The coordinates of a tap, one for every dimension of the grid in order, which is what gathering leaves."""
        places = [arg.coordinate for arg in tap.args if arg.coordinate is not None]
        assert [place.dim for place in places] == list(range(len(self.dims))), f"{tap.image} is walked along all dimensions"
        assert all(place.scale > 0 for place in places), f"{tap.image} is walked forwards"
        return places

    def tap(self, tap: Value) -> Ref:
        """The reference to an element of an image: element ``floor((a * x + b) / d)`` is, at p = S * x with S = k * a,
        element ``(p + k * b) // (k * d)``."""
        places = self._places(tap)
        steps = [scale // place.scale for scale, place in zip(self.scale, places, strict=True)]
        divide = tuple(step * place.divide for step, place in zip(steps, places, strict=True))
        plane = tuple(None if arg.coordinate else arg.integer for arg in tap.args)
        rank = len(self.dims)
        stream = Stream(tap.image, (1,) * rank, (0,) * rank, divide, plane, tap.type.bits)
        offset = tuple(step * place.shift for step, place in zip(steps, places, strict=True))
        repeated = "_by_" + "_".join(map(str, divide)) if any(each > 1 for each in divide) else ""
        return self._input(tap.image + _suffix(plane) + repeated, stream, offset)

    def pattern(self, place: Coordinate, by: int) -> Ref:
        """The reference to the remainder of a coordinate by a number, a stream that repeats."""
        shift = place.shift if place.scale != 1 else 0
        table = tuple((place.scale * x + shift) // place.divide % by for x in range(place.divide * by))
        rank, scale = len(self.dims), self.scale[place.dim]
        stream = Stream("", _only(place.dim, 1, 0, rank), (0,) * rank, _only(place.dim, scale, 1, rank), (), pattern=table)
        offset = _only(place.dim, scale * place.shift if place.scale == 1 else 0, 0, rank)
        return self._input(f"{self.dims[place.dim]}_mod_{by}", stream, offset)

    def _input(self, name: str, stream: Stream, offset: tuple[int, ...]) -> Ref:
        while self.inputs.setdefault(name, stream) != stream:
            name += "_"
        return Ref(self.nodes.source(name).node, offset)

    def output(self, result: Result) -> Stream:
        rank = len(self.dims)
        return Stream(result.image, self.scale, (0,) * rank, (1,) * rank, result.plane, min(result.value.type.bits, 16),
                      signed=result.value.interval.low < 0)


def _only(dim: int, value: int, other: int, rank: int) -> tuple[int, ...]:
    """`value` at one dimension and `other` elsewhere."""
    return tuple(value if each == dim else other for each in range(rank))


def _suffix(plane: tuple[int | None, ...]) -> str:
    """The constants of a plane for a name."""
    return "".join(f"_{at}" if at >= 0 else f"_m{-at}" for at in plane if at is not None)
