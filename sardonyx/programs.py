"""Halide programs as frozen values: Funcs and Pipelines of the `halide` package, their bytes, and .hlpipe files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from .compiler.lang.halide.pipeline import Pipeline
from .compiler.lang.halide.reader import read
from .hw.arch.errors import UserError, shown
from .tensors.content import read_content

# A program is some kilobytes; its constant Buffers may be more.
MOST_BYTES = 1 << 26


def read_program(program: object, params: Mapping[str, int | float]) -> Pipeline:
    """A program with one output; params: values of its scalar parameters, over those that are set in it."""
    pipeline = _read(program, params)
    if len(pipeline.outputs) > 1:
        raise UserError(f"the program has {len(pipeline.outputs)} outputs, {', '.join(pipeline.outputs)}",
                        fix="run the Funcs one by one")
    return pipeline


def _read(program: object, params: Mapping[str, int | float]) -> Pipeline:
    if isinstance(program, str | Path):
        content = read_content(Path(program), MOST_BYTES, "write it with halide.serialize_pipeline")
        return read(content, params, str(program))
    if isinstance(program, bytes):
        return read(program, params, "program")
    import halide
    whole = halide.Pipeline(program) if isinstance(program, halide.Func) else program
    if not isinstance(whole, halide.Pipeline):
        raise UserError(f"a value of type {type(program).__name__} is no Halide program",
                        fix="give a halide.Func, a halide.Pipeline or a .hlpipe file")
    if undefined := [func.name() for func in whole.outputs() if not func.defined()]:
        raise UserError("it has no definition", f"Func {undefined[0]}", "define it, as f[x, y] = ...")
    _check_names(whole)
    data, scalars = cast(Any, halide.serialize_pipeline(whole, get_params=True))
    values, promised = {}, {}
    for name, param in scalars.items():
        if param.is_buffer():
            promised[name] = tuple((_number(param.min_constraint(dim)), _number(param.extent_constraint(dim)))
                                   for dim in range(param.dimensions()))
        if param.is_buffer() or name in params:
            continue
        try:
            values[name] = halide.evaluate(param.scalar_expr())
        except halide.HalideError:
            # It has no value; the reader names all that are missing.
            continue
    pipeline = read(data, {**values, **params}, "program")
    return replace(pipeline, inputs={name: replace(each, promised=promised.get(name, ()))
                                     for name, each in pipeline.inputs.items()})


def _check_names(whole: Any) -> None:
    """UserError for two parameters of one name: the serialized pipeline holds one of them for both."""
    import halide
    try:
        whole.infer_arguments()
    except halide.HalideError as error:
        # Whatever else keeps Halide from calling the program does not keep the reader from reading it.
        if twice := re.search(r"the name '(.*)' was seen multiple times", str(error)):
            raise UserError(f"two parameters are called {shown(twice[1])}", "program",
                            "give each ImageParam and Param a name of its own") from None


def _number(expr: Any) -> int | None:
    """The value of a Halide expression that is defined and a number."""
    import halide
    try:
        return int(cast(Any, halide.evaluate(expr))) if expr.defined() else None
    except halide.HalideError:
        return None
