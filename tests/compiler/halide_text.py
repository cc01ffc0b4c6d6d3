"""Funcs and pipelines as text.

    sum(x, y) += inp(x + r$x, y + r$y)   for r$x in 0..2, r$y in 0..2
"""

from sardonyx.compiler.lang.halide.pipeline import Expr, Func, Input, Number, Pipeline, Range, Update
from sardonyx.compiler.lang.halide.text import show


def show_pipeline(pipeline: Pipeline) -> str:
    """Inputs, then Funcs, producers first."""
    lines = [_input(each) for each in pipeline.inputs.values()]
    lines += [f"param {name} = {number.value}   {number.type}" for name, number in pipeline.parameters.items()]
    lines += [show_func(func) for func in pipeline.funcs.values()]
    return "\n".join([*lines, f"output {', '.join(pipeline.outputs)}"])


def _input(image: Input) -> str:
    if image.data is None:
        return f"input {image.name}   {image.type}, {image.dimensions} dimensions"
    return f"buffer {image.name}   {image.type}, {' x '.join(map(str, image.extents)) or 'one value'}"


def show_func(func: Func) -> str:
    """The definitions of a Func, one a line, and where it is computed."""
    head = f"{func.name}({', '.join(func.args)})"
    lines = [f"{head} = {_tuple(func.values)}   {', '.join(map(str, func.types))}, {func.schedule.get('compute', 'inline')}"]
    lines += [_update(func, update) for update in func.updates]
    lines += [f"  {name} is {start}..{start + extent - 1}" for name, (start, extent) in func.bounds.items()]
    return "\n".join(lines)


def _update(func: Func, update: Update) -> str:
    text = f"{func.name}({', '.join(map(show, update.args))}) = {_tuple(update.values)}"
    if update.domain:
        text += f"   for {', '.join(map(_range, update.domain))}"
    return text + (f" where {show(update.predicate)}" if update.predicate is not None else "")


def _range(each: Range) -> str:
    if isinstance(each.start, Number) and isinstance(each.extent, Number):
        return f"{each.name} in {each.start.value}..{int(each.start.value) + int(each.extent.value) - 1}"
    return f"{each.name} in {show(each.start)}.. ({show(each.extent)} values)"


def _tuple(values: "tuple[Expr, ...]") -> str:
    return show(values[0]) if len(values) == 1 else f"({', '.join(map(show, values))})"
