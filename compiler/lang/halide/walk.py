"""Walks over expressions: each shared part is met once, and none is too deep.

    >>> from sardonyx.compiler.lang.halide.pipeline import INT32, Binary, Number, Variable
    >>> x = Variable("x")
    >>> [type(part).__name__ for part in postorder(Binary("add", INT32, x, Number(INT32, 1)))]
    ['Variable', 'Number', 'Binary']
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from .pipeline import INT32, Access, Binary, Cast, Expr, Func, Intrinsic, Not, Number, Pipeline, Range, Select, Update, Variable


def children(expr: Expr) -> tuple[Expr, ...]:
    """The operands, in order."""
    match expr:
        case Number() | Variable():
            return ()
        case Cast() | Not():
            return (expr.value,)
        case Binary():
            return expr.left, expr.right
        case Select():
            return expr.condition, expr.true, expr.false
        case Access() | Intrinsic():
            return expr.args


def with_children(expr: Expr, operands: tuple[Expr, ...]) -> Expr:
    """The same operation on other operands; the same object if they are the same."""
    if all(new is old for new, old in zip(operands, children(expr))):
        return expr
    match expr:
        case Number() | Variable():
            return expr
        case Cast() | Not():
            return replace(expr, value=operands[0])
        case Binary():
            return replace(expr, left=operands[0], right=operands[1])
        case Select():
            return replace(expr, condition=operands[0], true=operands[1], false=operands[2])
        case Access() | Intrinsic():
            return replace(expr, args=operands)


def postorder(*roots: Expr) -> Iterator[Expr]:
    """Every part of the expressions once, operands before what uses them."""
    seen: set[int] = set()
    stack = [(root, False) for root in reversed(roots)]
    while stack:
        expr, ready = stack.pop()
        if id(expr) in seen:
            continue
        if ready:
            seen.add(id(expr))
            yield expr
        else:
            stack.append((expr, True))
            stack += [(child, False) for child in reversed(children(expr)) if id(child) not in seen]


def rewrite(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """`change` applied to every part, from the operands up."""
    done: dict[int, Expr] = {}
    for part in postorder(expr):
        done[id(part)] = change(with_children(part, tuple(done[id(child)] for child in children(part))))
    return done[id(expr)]


def share(expr: Expr, known: dict[object, Expr]) -> Expr:
    """The expression with equal parts as one object; `known` holds the parts met before and grows."""
    def one(part: Expr) -> Expr:
        # Identity stands for equality of the operands, which are shared already.
        bare = with_children(part, tuple(Number(INT32, at) for at in range(len(children(part)))))
        return known.setdefault((bare, *map(id, children(part))), part)
    return rewrite(expr, one)


def expressions(func: Func) -> Iterator[Expr]:
    """Every expression of a Func: the pure values, then of each update its arguments, values, domain and predicate."""
    yield from func.values
    for update in func.updates:
        yield from definition(update)


def definition(update: Update) -> Iterator[Expr]:
    """The expressions of an update."""
    yield from (*update.args, *update.values)
    for each in update.domain:
        yield from (each.start, each.extent)
    if update.predicate is not None:
        yield update.predicate


def accesses(func: Func) -> Iterator[Access]:
    """Every reading of a Func or an input, each once."""
    return (part for part in postorder(*expressions(func)) if isinstance(part, Access))


def map_func(func: Func, change: Callable[[Expr], Expr]) -> Func:
    """The Func with every expression changed."""
    return replace(func, values=tuple(map(change, func.values)), updates=tuple(
        replace(update, args=tuple(map(change, update.args)), values=tuple(map(change, update.values)),
                domain=tuple(Range(each.name, change(each.start), change(each.extent)) for each in update.domain),
                predicate=None if update.predicate is None else change(update.predicate))
        for update in func.updates))


def bind(pipeline: Pipeline, extents: Mapping[str, tuple[int, ...]]) -> Pipeline:
    """The pipeline for images of given extents (x first, beginning at 0): their places as numbers."""
    places = {f"{name}.{what}.{dim}": value for name, shape in extents.items()
              for dim, extent in enumerate(shape) for what, value in (("min", 0), ("extent", extent))}

    def number(part: Expr) -> Expr:
        return Number(part.type, places[part.name]) if isinstance(part, Variable) and part.name in places else part

    return replace(pipeline, funcs={name: map_func(func, lambda expr: rewrite(expr, number))
                                    for name, func in pipeline.funcs.items()})
