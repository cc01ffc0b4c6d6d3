"""Halide programs of the tests, and their comparison with Halide's own code."""

from collections.abc import Mapping

import halide as hl
import numpy as np

from sardonyx.compiler.lang.halide.pipeline import Pipeline
from sardonyx.compiler.lang.halide.reader import read
from sardonyx.sim.golden.halide import realize

X, Y, C = hl.Var("x"), hl.Var("y"), hl.Var("c")
TYPES = {"uint8": hl.UInt(8), "int8": hl.Int(8), "uint16": hl.UInt(16), "int16": hl.Int(16), "uint32": hl.UInt(32),
         "int32": hl.Int(32), "bool": hl.Bool()}


def load(func: hl.Func, **parameters: int) -> Pipeline:
    """The pipeline of an output Func as the reader gives it."""
    return read(hl.serialize_pipeline(hl.Pipeline([func])), parameters)


def image(name: str, dtype: str = "uint16", dimensions: int = 2) -> hl.ImageParam:
    return hl.ImageParam(TYPES[dtype], dimensions, name)


def noise(dtype: str, shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    """Values over the whole range of a type, its ends and small ones among them."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    info = np.iinfo(dtype)
    values = rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    flat = values.reshape(-1)
    special = np.array([info.min, info.max, 0, 1, info.max // 2, info.min + 1, *range(-3, 10)], "int64").astype(dtype)
    places = rng.permutation(flat.size)[:2 * special.size]
    flat[places] = np.resize(special, places.size)
    return values


def agree(func: hl.Func, shape: tuple[int, ...], images: Mapping[hl.ImageParam, np.ndarray] | None = None,
          **parameters: int) -> np.ndarray:
    """What Halide and the golden model both give for a shape (y first); fails if they differ."""
    images = images or {}
    for param, array in images.items():
        param.set(hl.Buffer(array))
    expected = np.array(func.realize(list(reversed(shape))))
    pipeline = load(func, **parameters)
    given = {param.name(): array for param, array in images.items() if param.name() in pipeline.inputs}
    found = realize(pipeline, given, shape)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    return found


def name_of(func: hl.Func) -> str:
    """A Func's name as the reader gives it: Halide numbers those of one name that a process makes."""
    return func.name().split("$")[0]
