"""Pictures and Halide programs that several tests run, and how they compare the results."""

from pathlib import Path
from typing import Any

import halide as hl
import numpy as np
import pytest
from halide_programs import X, Y

import sardonyx.halide
from sardonyx.hw.arch.errors import UserError

RANDOM = np.random.default_rng(0)
PHOTO = RANDOM.integers(0, 256, (13, 18), dtype=np.uint8)
COLOUR = RANDOM.integers(0, 256, (3, 9, 14), dtype=np.uint8)
ENGINES = ("golden", "tokens", "fabric")


def func(value: hl.Expr, *args: hl.Var) -> hl.Func:
    found = hl.Func("f")
    found[args or (X, Y)] = value
    return found


def exactly(program: Any, expected: np.ndarray, **options: Any) -> None:
    """Every engine gives an array and no other, in its type."""
    for engine in ENGINES:
        found = sardonyx.halide.run(program, engine=engine, **options).value
        assert found.dtype == expected.dtype, engine
        assert found.tolist() == expected.tolist(), engine


def save(program: hl.Func, path: Path) -> Path:
    path.write_bytes(hl.serialize_pipeline(hl.Pipeline([program])))
    return path


def refused(program: Any, *, inputs: Any, **options: Any) -> str:
    """What is said of a program that is refused."""
    with pytest.raises(UserError) as error:
        sardonyx.halide.run(program, inputs=inputs, engine="fabric", **options)
    return str(error.value)
