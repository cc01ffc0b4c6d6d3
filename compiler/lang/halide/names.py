"""Names as a program gives them: Halide numbers the Funcs of one name that a process has made.

    blur$3(x) = in_im$2(x) + in_im$2(x + 1)     ->  blur(x) = in_im(x) + in_im(x + 1)

A number stays where two Funcs of a pipeline have one name, or a Func and an input. So a program made twice is the same program.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from .pipeline import Access, Expr, Func, Pipeline
from .walk import map_func, rewrite

_NUMBERED = re.compile(r"(.+)\$\d+")


def plain_names(pipeline: Pipeline) -> Pipeline:
    """The pipeline with the numbers left out of its Funcs' names."""
    bare = {name: found[1] if (found := _NUMBERED.fullmatch(name)) else name for name in pipeline.funcs}
    taken = [*bare.values(), *pipeline.inputs]
    names = {name: plain for name, plain in bare.items() if plain != name and taken.count(plain) == 1}
    if not names:
        return pipeline
    funcs = {names.get(name, name): _renamed(func, names) for name, func in pipeline.funcs.items()}
    return replace(pipeline, funcs=funcs, outputs=tuple(names.get(name, name) for name in pipeline.outputs))


def _renamed(func: Func, names: Mapping[str, str]) -> Func:
    def plain(part: Expr) -> Expr:
        return replace(part, name=names[part.name]) if isinstance(part, Access) and part.name in names else part

    def level(what: object) -> object:
        name, _, loop = str(what).partition(".")
        return f"{names[name]}.{loop}" if name in names else what

    schedule = {key: level(what) if key in ("compute", "store") else what for key, what in func.schedule.items()}
    return replace(map_func(func, lambda expr: rewrite(expr, plain)), name=names.get(func.name, func.name), schedule=schedule)
