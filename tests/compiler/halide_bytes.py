"""Pipelines as bytes, and the error of one that is not read."""

import re

import halide as hl
import pytest
from halide_programs import X, Y, image

from sardonyx.compiler.lang.halide.reader import read
from sardonyx.hw.arch.errors import UserError


def written(func: hl.Func) -> bytes:
    return bytes(hl.serialize_pipeline(hl.Pipeline([func])))


def message(data: "bytes | hl.Func", origin: str = "", **parameters: int) -> str:
    """The text of the error; the numbers that Halide adds to names that it has met before are left out."""
    with pytest.raises(UserError) as error:
        read(data if isinstance(data, bytes) else written(data), parameters, origin)
    return re.sub(r"\$\d+", "", str(error.value))


def blur(name: str) -> hl.Func:
    source, total, output = image(f"{name}_source"), hl.Func(f"{name}_total"), hl.Func(name)
    k = hl.RDom([(-1, 3), (0, 2)], f"{name}_k")
    k.where(k.x + k.y < 3)
    total[X, Y] = hl.u16(0)
    total[X, Y] += source[X + k.x, Y + k.y]
    output[X, Y] = hl.u8(total[X, Y] >> 2)
    return output
