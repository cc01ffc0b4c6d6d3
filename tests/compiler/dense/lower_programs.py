"""Programs that several tests lower, and what they compare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
from grids import on_grid
from halide_ast import (
    I16,
    I32,
    U8,
    U16,
    U32,
    E,
    Exact,
    Program,
    Type,
    c,
    cast,
    clamp,
    high,
    of,
    select,
    x,
    y,
)

from sardonyx.compiler.dense.front.lower import lower
from sardonyx.compiler.ir.dataflow import WordGraph, to_text
from sardonyx.compiler.lang.halide.pipeline import Pipeline, Variable
from sardonyx.sim.model.pe_graph import evaluate_words, stored

rx, ry = E(Variable("r$x")), E(Variable("r$y"))


BOX = {"r$x": (0, 3), "r$y": (0, 3)}


def operations(graph: WordGraph) -> Counter[str]:
    """How often each operation is there."""
    return Counter(node.op for node in graph.nodes if node.op != "input")


def noise(pipeline: Pipeline, extents: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Images of random values, ends of the range among them; planes behind the given extents are 4."""
    rng = np.random.default_rng(7)
    found = {}
    for name, image in pipeline.inputs.items():
        if image.data is None:
            shape = tuple(reversed((*extents, 4)[:image.dimensions]))
            ends = [0, 2 ** image.type.bits - 1] if image.type.kind == "uint" else \
                [-2 ** (image.type.bits - 1), 2 ** (image.type.bits - 1) - 1]
            some = rng.integers(ends[0], ends[1] + 1, shape)
            found[name] = np.where(rng.random(shape) < 0.2, rng.choice(ends, shape), some)
    return found


def agrees(program: Program, image: tuple[int, ...] = (9, 8), result: tuple[int, ...] = (3, 2),
           grid: tuple[int, ...] | None = None, margin: int = 0) -> WordGraph:
    """The graph of a program, after it has been compared with exact integers at every point of a result.

    The grid begins `margin` points before 0; what is read there must not matter.
    """
    pipeline = program.pipeline()
    graph = lower(pipeline)
    images = noise(pipeline, image)
    origin, extents = (-margin,) * len(graph.dims), tuple(each + margin for each in grid or image)
    words = {name: on_grid(stream, images.get(stream.image), extents, origin) for name, stream in graph.inputs.items()}
    found = evaluate_words(graph, words, origin)
    exact = Exact(pipeline, images)
    for name, stream in graph.outputs.items():
        expected = np.zeros(result[::-1], int)
        for point in np.ndindex(*result):
            inner = iter(point)
            place = tuple(next(inner) if at is None else at for at in stream.plane)
            expected[point[::-1]] = exact.func(stream.image, place) % 65536
        np.testing.assert_array_equal(stored(stream, found[name], result), expected, name)
    return graph


def shown(graph: WordGraph) -> list[str]:
    """The nodes of a dump."""
    return [line.strip() for line in to_text(graph).splitlines() if line.strip()[0].isdigit()]


def weighted(weights: list[list[int]], type_: Type, read: Callable[..., E], program: Program, name: str) -> Callable[..., E]:
    """A Func that is a weighted sum of neighbours, by a reduction over a Buffer of weights."""
    columns, rows = len(weights[0]), len(weights)
    kernel = program.buffer(f"{name}_weights", type_, [each for row in weights for each in row], (columns, rows))
    domain = {"r$x": (0, columns), "r$y": (0, rows)}
    return program.sum(name, [x, y], domain, kernel(rx, ry) * cast(type_, read(x + rx, y + ry)))


# Programs.


def gaussian() -> Program:
    program = Program()
    photo = program.image("photo")
    total = weighted([[24, 30, 24], [30, 37, 30], [24, 30, 24]], U16, photo, program, "sum")
    program.func("gaussian", [x, y], cast(U8, total(x, y) >> 8))
    return program


def cascade() -> Program:
    program = Program()
    read = program.image("photo", U16)
    for stage in ("first", "second"):
        total = weighted([[1, 2, 1], [2, 4, 2], [1, 2, 1]], U16, read, program, f"{stage}_sum")
        read = program.func(stage, [x, y], total(x, y) // 16)
    return program


def unsharp() -> Program:
    program = Program()
    rgb = program.image("rgb", U8, 3)
    gray = program.func("gray", [x, y], cast(U16, rgb(x, y, 0)) * 77 + cast(U16, rgb(x, y, 1)) * 150
                        + cast(U16, rgb(x, y, 2)) * 29 >> 8)
    bell = np.exp(-np.arange(-3, 4) ** 2 / 4.5)
    weights = np.outer(bell, bell)
    blur = weighted((256 * weights / weights.sum()).astype(int).tolist(), U16, gray, program, "blur")
    here = gray(x + 3, y + 3)
    sharp = program.func("sharp", [x, y], clamp(cast(I16, here * 2) - cast(I16, blur(x, y) >> 8), 0, 255))
    inverse = program.func("inverse", [x], cast(U16, of(256, I32) // high(x, 1)))
    ratio = program.func("ratio", [x, y], cast(U16, sharp(x, y)) * inverse(clamp(cast(I32, here), 0, 255)))
    product = cast(U32, ratio(x, y)) * cast(U32, rgb(x + 3, y + 3, c))
    program.func("unsharp", [x, y, c], cast(U8, product >> 8), bounds={"c": (0, 3)})
    return program


def harris() -> Program:
    program = Program()
    photo = program.image("photo")
    gray = program.func("gray", [x, y], cast(I16, photo(x, y)))
    gx = weighted([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]], I16, gray, program, "gx")
    gy = weighted([[-1, -2, -1], [0, 0, 0], [1, 2, 1]], I16, gray, program, "gy")
    sums = {}
    for name, a, b in (("xx", gx, gx), ("yy", gy, gy), ("xy", gx, gy)):
        product = program.func(name, [x, y], clamp(a(x, y), -180, 180) * clamp(b(x, y), -180, 180) >> 6)
        total = program.sum(f"{name}_sum", [x, y], BOX, product(x + rx, y + ry))
        sums[name] = total(x, y) >> 6
    trace = sums["xx"] + sums["yy"]
    corner = program.func("corner", [x, y], sums["xx"] * sums["yy"] - sums["xy"] * sums["xy"] - (trace * trace >> 4))
    found = corner(x + 1, y + 1) >= 1
    for dy in range(3):
        for dx in range(3):
            if (dx, dy) != (1, 1):
                found = found & (corner(x + 1, y + 1) > corner(x + dx, y + dy))
    program.func("harris", [x, y], select(found, of(255, U8), 0))
    return program


def of_two(build: Callable[[E, E], E], left: Type = U8, right: Type = U8) -> Program:
    program = Program()
    a, b = program.image("a", left), program.image("b", right)
    program.func("out", [x, y], build(a(x, y), b(x, y)))
    return program
