"""Halide programs as frozen values: Funcs and Pipelines of the `halide` package, their bytes, and .hlpipe files."""

from __future__ import annotations

import difflib
import pkgutil
import re
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from .apps import dense
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


def names() -> dict[str, str]:
    """The programs that we ship, with what each computes."""
    found = {}
    for module in pkgutil.iter_modules(dense.__path__):
        text = import_module(f"{dense.__name__}.{module.name}").__doc__ or ""
        found[module.name] = text.partition("\n")[0].rstrip(".")
    return found


def shipped(name: str) -> object:
    """A program that we ship, or the file that is meant: what is named, where no such program is."""
    if not name:        # as a path it would be the folder here
        raise UserError("there is no program ''", fix="sardonyx run image --list names those that we ship")
    if name not in names():
        return Path(name)
    if Path(name).exists():
        raise UserError(f"'{name}' is a program that we ship, and a file here", name, f"write ./{name} for the file")
    return import_module(f"{dense.__name__}.{name}").build()


def _read(program: object, params: Mapping[str, int | float]) -> Pipeline:
    if isinstance(program, str | Path):
        near = difflib.get_close_matches(str(program), names(), n=1)
        also = f"; if a program that we ship is meant, {near[0] if near else 'sardonyx run image --list names them'}"
        content = read_content(Path(program), MOST_BYTES, f"write it with halide.serialize_pipeline{also}")
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
