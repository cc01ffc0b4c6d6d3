"""Programs with boundary conditions, and a run of them on every engine beside Halide."""

from __future__ import annotations

from typing import Any

import halide as hl
import numpy as np
from halide_programs import X, Y, load

import sardonyx.halide
from sardonyx.compiler.dense.front.lower import lower
from sardonyx.compiler.ir.dataflow import WordGraph
from sardonyx.compiler.lang.halide.walk import bind

EDGES = hl.BoundaryConditions
# What NumPy calls them.
MODES = {"repeat_edge": "edge", "constant_exterior": "constant", "repeat_image": "wrap", "mirror_image": "symmetric",
         "mirror_interior": "reflect"}
OUTSIDE = 201


def edged(kind: str, source: Any, *limits: Any) -> hl.Func:
    condition = getattr(EDGES, kind)
    return condition(source, OUTSIDE, *limits) if kind == "constant_exterior" else condition(source, *limits)


def padded(kind: str, picture: np.ndarray, margin: int) -> np.ndarray:
    more = {"constant_values": OUTSIDE} if kind == "constant_exterior" else {}
    return np.pad(picture, margin, mode=MODES[kind], **more)  # type: ignore[call-overload]


def func(value: Any, *args: hl.Var) -> hl.Func:
    found = hl.Func("f")
    found[args or (X, Y)] = value
    return found


def graph_of(program: hl.Func, **extents: tuple[int, ...]) -> WordGraph:
    return lower(bind(load(program), extents), streams=16)


def exactly(program: hl.Func, param: hl.ImageParam, picture: np.ndarray, shape: tuple[int, ...] | None = None,
            engines: tuple[str, ...] = ("tokens", "fabric"), **options: Any) -> dict[str, Any]:
    """Every engine gives what Halide itself gives, in the default size or in `shape` (x first); the last report."""
    param.set(hl.Buffer(picture))
    report: dict[str, Any] = {}
    for engine in engines:
        result = sardonyx.halide.run(program, inputs={param.name(): picture}, engine=engine, shape=shape, **options)
        expected = np.asarray(program.realize(list(result.value.shape[::-1])))
        assert result.value.dtype == expected.dtype
        np.testing.assert_array_equal(result.value, expected, engine)
        report = result.report
    return report


def cross(edge: Any) -> Any:
    """Neighbours on all sides, each with a weight of its own."""
    return hl.u16(edge[X - 1, Y]) + hl.u16(edge[X + 1, Y]) * 2 + hl.u16(edge[X, Y - 1]) * 3 + hl.u16(edge[X, Y + 2]) * 5
