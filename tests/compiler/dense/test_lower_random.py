"""Random expressions: the word graph gives what exact integers give."""

from __future__ import annotations

from typing import Any

import numpy as np
from grids import on_grid
from halide_ast import BOOL, I8, I16, I32, U8, U16, U32, E, Exact, Program, Type, absd, call, cast, of, select
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from sardonyx.compiler.dense.front.lower import lower
from sardonyx.compiler.lang.halide.pipeline import Access, Binary, Not, Variable
from sardonyx.hw.arch.errors import UserError
from sardonyx.sim.model.pe_graph import evaluate_words, stored

IMAGES = {"a": U8, "b": I8, "s": I16, "w": U16}
TYPES = [U8, I8, U16, I16, U32, I32]
GRID, RESULT = (6, 5), (4, 3)
x, y = E(Variable("x")), E(Variable("y"))
EXAMPLES = 120
Draw = Any


def limits(type_: Type) -> tuple[int, int]:
    return (0, 2 ** type_.bits - 1) if type_.kind == "uint" else (-2 ** (type_.bits - 1), 2 ** (type_.bits - 1) - 1)


def constants(type_: Type) -> st.SearchStrategy[E]:
    low, high = limits(type_)
    some = st.one_of(st.integers(max(low, -9), min(high, 9)), st.integers(low, high), st.sampled_from([low, high]))
    return some.map(lambda value: of(value, type_))


@st.composite
def taps(draw: Draw, type_: Type) -> E:
    name = draw(st.sampled_from(sorted(IMAGES)))
    read = Program().image(name, IMAGES[name])(x + draw(st.integers(0, 2)), y + draw(st.integers(0, 2)))
    return read if IMAGES[name] == type_ else cast(type_, read)


@st.composite
def expressions(draw: Draw, type_: Type, depth: int) -> E:
    """An expression of a type, most of it readable as words."""
    if depth == 0:
        return draw(constants(type_) if type_ == BOOL else st.one_of(taps(type_), taps(type_), constants(type_)))
    if type_ == BOOL:
        return draw(flags(depth))

    def part(other: Type = type_) -> E:
        return draw(expressions(other, depth - 1))

    op = draw(st.sampled_from(["add", "sub", "mul", "min", "max", "bits", "shift", "count", "div", "mod", "select", "cast",
                               "cast", "abs", "product"]))
    if op in ("add", "sub", "mul", "min", "max"):
        return E(Binary(op, type_, part().expr, part().expr))
    if op == "bits":
        name = draw(st.sampled_from(["bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not"]))
        return call(name, type_, part()) if name == "bitwise_not" else call(name, type_, part(), part())
    if op == "shift":
        name = draw(st.sampled_from(["shift_left", "shift_right"]))
        return call(name, type_, part(), of(draw(st.integers(-3, type_.bits + 1)), I32))
    if op == "count":
        return call(draw(st.sampled_from(["shift_left", "shift_right"])), type_, part(), part(U8) % 20)
    if op in ("div", "mod"):
        by = draw(st.one_of(st.sampled_from([1, 2, 4, 8, 64]), st.integers(1, min(limits(type_)[1], 300))))
        return E(Binary(op, type_, part().expr, of(by, type_).expr))
    if op == "select":
        return select(part(BOOL), part(), part())
    if op == "abs":
        signed = Type("int", type_.bits)
        return call("abs", type_, part(signed)) if type_.kind == "uint" and draw(st.booleans()) else \
            cast(type_, absd(part(signed), part(signed)))
    if op == "product":
        wide, narrow = (U32, U16) if draw(st.booleans()) else (I32, I16)
        factors = [cast(wide, part(narrow)) for _ in range(2)]
        return cast(type_, call("shift_right", wide, factors[0] * factors[1], of(draw(st.integers(1, 24)), wide)))
    return cast(type_, part(draw(st.sampled_from([*TYPES, BOOL]))))


@st.composite
def flags(draw: Draw, depth: int) -> E:
    op = draw(st.sampled_from(["eq", "ne", "lt", "le", "gt", "ge", "lt", "le", "and", "or", "not", "xor"]))
    if op in ("and", "or", "xor", "not"):
        a, b = draw(expressions(BOOL, depth - 1)), draw(expressions(BOOL, depth - 1))
        return E(Not(a.expr)) if op == "not" else E(Binary("ne" if op == "xor" else op, BOOL, a.expr, b.expr))
    type_ = draw(st.sampled_from([U8, I8, U16, I16, I32]))
    a, b = draw(expressions(type_, depth - 1)), draw(expressions(type_, depth - 1))
    return E(Binary(op, BOOL, a.expr, b.expr))


def images(seed: int) -> dict[str, np.ndarray]:
    """Values over the whole range, ends and small ones among them."""
    rng = np.random.default_rng(seed)
    found = {}
    for name, type_ in IMAGES.items():
        low, high = limits(type_)
        some = rng.integers(low, high + 1, GRID[::-1])
        found[name] = np.where(rng.random(GRID[::-1]) < 0.4, rng.choice([low, high, 0, 1, 2], GRID[::-1]), some)
    return found


def check(value: E, seed: int) -> None:
    """Lowers and compares every point; gives up silently on what is refused."""
    program = Program()
    for name, type_ in IMAGES.items():
        program.image(name, type_)
    # What depends on no image is refused, so something of one is mixed in.
    pixel = E(Access(U8, "a", (x.expr, y.expr)))
    mixed = E(Binary("ne", BOOL, value.expr, (pixel > 99).expr)) if value.type == BOOL else \
        call("bitwise_xor", value.type, value, cast(value.type, pixel))
    program.func("out", [x, y], mixed)
    pipeline = program.pipeline()
    try:
        graph = lower(pipeline)
    except UserError as error:
        event(f"refused: {error.what[:20]}")
        assume(False)
    given_images = images(seed)
    words = {name: on_grid(stream, given_images[stream.image], GRID) for name, stream in graph.inputs.items()}
    found = stored(graph.outputs["out"], evaluate_words(graph, words)["out"], RESULT)
    exact = Exact(pipeline, given_images)
    expected = [[exact.func("out", (column, row)) % 65536 for column in range(RESULT[0])] for row in range(RESULT[1])]
    assert found.tolist() == expected


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from([U8, I8, U16, I16, BOOL]).flatmap(lambda type_: expressions(type_, 2)), st.integers(0, 99))
def test_random_expressions_mean_what_exact_integers_give(value: E, seed: int) -> None:
    check(value, seed)


@settings(max_examples=EXAMPLES // 3, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from([U8, I8, U16, I16]).flatmap(lambda type_: expressions(type_, 4)), st.integers(0, 99))
def test_random_deep_expressions_mean_what_exact_integers_give(value: E, seed: int) -> None:
    check(value, seed)
