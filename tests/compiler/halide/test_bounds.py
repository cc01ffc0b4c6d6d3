"""Required regions: exact for the indices of images, sound for all others."""

import re

import halide as hl
import numpy as np
import pytest
from halide_programs import X, Y, image, load, name_of, noise
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx.compiler.lang.halide import meaning
from sardonyx.compiler.lang.halide.bounds import Region, box, interval, required
from sardonyx.compiler.lang.halide.intervals import Interval
from sardonyx.compiler.lang.halide.pipeline import (
    BOOL,
    INT32,
    Binary,
    Cast,
    Expr,
    Intrinsic,
    Not,
    Number,
    Pipeline,
    Select,
    Type,
    Variable,
)
from sardonyx.compiler.lang.halide.walk import bind, children, postorder
from sardonyx.hw.arch.errors import UserError


def needed(value: hl.Expr, extents: "tuple[int, ...]" = (8, 6), name: str = "source") -> "str | None":
    """The region of an input for a Func of this value."""
    output = hl.Func("output")
    output[X, Y] = value
    return shown(required(load(output), {name_of(output): box(extents)}).get(name))


def shown(region: "Region | None") -> "str | None":
    return region and " ".join(map(str, region))


@pytest.mark.parametrize("x, y, region", (
    (X - 1, Y + 3, "-1..6 3..8"), (2 * X + 1, Y / 2, "1..15 0..2"), (9 - X, Y % 4, "2..9 0..3"),
    (hl.clamp(X, 2, 4), hl.max(Y - 3, 0), "2..4 0..2"), (hl.select(Y > 3, X, X + 20), 5, "0..27 5..5"),
    (X / -2, (Y - 3) % 4, "-3..0 0..3"), (X - X % 2, 2 * (Y / 2), "0..6 0..4"), (X * X, hl.abs(Y - 3), "0..49 0..3"),
    (X & 3, Y | 1, "0..3 1..7"), (X >> 1, Y << 2, "0..3 0..20"), (hl.i32(hl.u8(X)), hl.i32(hl.i8(Y - 3)), "0..7 -3..2"),
    (hl.i32(hl.u8(X - 1)), 0, "0..255 0..0"), (hl.i32(X > 3), hl.likely(Y), "0..1 0..5"),
    (hl.i32(hl.absd(X, 3)), hl.min(X, Y), "0..4 0..5"), (100 / (X + 1), 7 / (Y - 2), "12..100 -7..7")))
def test_the_region_of_an_index(x: hl.Expr, y: hl.Expr, region: str) -> None:
    source = image("source")
    found = needed(source[hl.cast(hl.Int(32), x), hl.cast(hl.Int(32), y)])
    assert found == region


def test_regions_grow_through_funcs_and_domains() -> None:
    source, total, output = image("source"), hl.Func("through"), hl.Func("output")
    k = hl.RDom([(-1, 3), (2, 4)], "k")
    total[X, Y] += source[X + k.x, Y + k.y]
    output[X, Y] = total[X + 1, Y] + total[X, Y + 2]
    found = required(load(output), {name_of(output): box((8, 6))})
    assert {name: shown(region) for name, region in found.items() if name in ("source", "through")} == {
        "source": "-1..9 2..12", "through": "0..8 0..7"}


def test_updates_need_what_they_write_and_read_of_the_func_itself() -> None:
    func, output = hl.Func("func"), hl.Func("output")
    k = hl.RDom([(0, 20)], "k")
    func[X, Y] = X
    func[k, Y] = func[k + 5, Y] + 1
    output[X, Y] = func[X + 8, Y]
    found = required(load(output), {name_of(output): box((4, 3))})
    assert shown(next(region for name, region in found.items() if "func" in name)) == "0..24 0..2"


def test_a_predicate_narrows_what_is_read() -> None:
    source, output = image("source"), hl.Func("narrow")
    k = hl.RDom([(0, 50), (0, 9)], "k")
    k.where((k.x < 10) & (k.y >= 3) & (k.x + 1 > 0))
    output[X, Y] += source[k.x, k.y]
    assert shown(required(load(output), {name_of(output): box((2, 2))})["source"]) == "0..9 3..8"


def test_data_stand_for_all_that_they_can_be() -> None:
    source, table, output = image("index", "uint8"), image("table"), hl.Func("output")
    clamped = hl.Func("clamped")
    clamped[X, Y] = hl.clamp(hl.i32(source[X, Y]) - 10, 0, 99)
    steps = hl.Buffer(np.array([3, 9, 4, 1], "int16"))
    output[X, Y] = table[clamped[X + 1, Y], hl.i32(source[X, Y]) / 16] + table[steps[X], 0]
    found = required(load(output), {name_of(output): box((4, 3))})
    assert shown(found["table"]) == "0..99 0..15"
    assert shown(found["index"]) == "0..4 0..2"


def test_an_extent_of_an_input_is_a_number_once_it_is_bound() -> None:
    source, output = image("source"), hl.Func("output")
    output[X, Y] = hl.BoundaryConditions.repeat_edge(source)[X - 9, Y + 9]
    pipeline = bind(load(output), {"source": (5, 4)})
    assert shown(required(pipeline, {name_of(output): box((20, 10))})["source"]) == "0..4 3..3"


def test_an_index_that_nothing_limits() -> None:
    source, table, output = image("source", "int32"), hl.Func("squares"), hl.Func("output")
    table[X] = X * X
    output[X, Y] = table[source[X, Y]]
    with pytest.raises(UserError) as error:
        required(load(output), {name_of(output): box((4, 3))})
    assert re.sub(r"\$\d+", "", str(error.value)) == (
        "Func squares: it is needed at -2147483648..2147483647\n  try: limit the index that reads it with clamp")


def test_a_domain_that_is_no_number() -> None:
    source, output = image("source"), hl.Func("summed")
    k = hl.RDom([(0, source.width())], "k")
    output[X, Y] += source[k, Y]
    with pytest.raises(UserError) as error:
        required(load(output), {name_of(output): box((4, 3))})
    assert re.sub(r"\$\d+", "", str(error.value)) == (
        "Func summed: a reduction runs over source.extent.0, which is not a number\n"
        "  try: give the domain by numbers, parameters or extents of inputs")


def test_halide_reads_the_same_region() -> None:
    source, output = image("source"), hl.Func("output")
    blur = hl.Func("blur")
    blur[X, Y] = source[X / 2 - 1, Y] + source[hl.clamp(X, 3, 5), 2 * Y + 1]
    output[X, Y] = blur[X + 2, Y] + blur[X, Y - 1]
    pipeline = hl.Pipeline([output])
    pipeline.infer_input_bounds([8, 6])
    buffer = source.get()
    expected = tuple(Interval(buffer.dim(at).min(), buffer.dim(at).max()) for at in (0, 1))
    assert required(load(output), {name_of(output): box((8, 6))})["source"] == expected


EMPTY = Pipeline({}, {}, (), {})
TYPES = (Type("uint", 8), Type("int", 8), Type("int", 16), INT32)


@st.composite
def expressions(draw: st.DrawFn, type_: Type = INT32, depth: int = 3) -> Expr:
    """Expressions of x and y with every operation."""
    def operand(other: Type = type_) -> Expr:
        return draw(expressions(other, depth - 1))

    if depth == 0:
        if type_ == BOOL:
            return Number(BOOL, draw(st.integers(0, 1)))
        leaf: Expr = draw(st.sampled_from((Variable("x"), Variable("y"), Number(INT32, draw(st.integers(-9, 9))))))
        return leaf if type_ == INT32 else Cast(type_, leaf)
    if type_ == BOOL:
        other = draw(st.sampled_from(TYPES))
        return draw(st.sampled_from((
            Binary(draw(st.sampled_from(("eq", "ne", "lt", "le", "gt", "ge"))), BOOL, operand(other), operand(other)),
            Not(operand()), Binary(draw(st.sampled_from(("and", "or"))), BOOL, operand(), operand()))))
    op = draw(st.sampled_from(("add", "sub", "mul", "div", "mod", "min", "max")))
    name = draw(st.sampled_from(("bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right")))
    unsigned = Type("uint", type_.bits)
    kind = draw(st.integers(0, 6))
    match kind:
        case 0 | 1:
            return Binary(op, type_, operand(), operand())
        case 2:
            return Intrinsic(name, type_, (operand(), operand()))
        case 3:
            return Select(type_, operand(BOOL), operand(), operand())
        case 4:
            return Cast(type_, operand(draw(st.sampled_from((*TYPES, BOOL)))))
        case 5:
            return Cast(type_, Intrinsic("absd", unsigned, (operand(), operand())))
    return Intrinsic(draw(st.sampled_from(("bitwise_not", "popcount", "count_leading_zeros"))), type_, (operand(),))


@settings(max_examples=150)
@given(expressions(), st.integers(-9, 9), st.integers(0, 12), st.integers(-9, 9), st.integers(0, 12))
def test_every_value_lies_in_the_interval(expr: Expr, x: int, width: int, y: int, height: int) -> None:
    variables = {"x": Interval(x, x + width), "y": Interval(y, y + height)}
    found = interval(EMPTY, expr, variables)
    grid = {"x": np.arange(x, x + width + 1, dtype=np.int32)[None, :],
            "y": np.arange(y, y + height + 1, dtype=np.int32)[:, None]}
    done: dict[int, np.ndarray] = {}
    for part in postorder(expr):
        done[id(part)] = grid[part.name] if isinstance(part, Variable) else \
            meaning.apply(part, [done[id(child)] for child in children(part)])
    values = done[id(expr)]
    assert found is not None
    assert found.low <= int(values.min()) <= int(values.max()) <= found.high


def test_a_row_of_single_values_wraps_as_arrays_do() -> None:
    sixteen = Type("uint", 16)
    product = Binary("mul", sixteen, Number(sixteen, 65535), Number(sixteen, 65535))
    args = [meaning.apply(each, []) for each in children(product)]
    assert int(meaning.apply(product, args)) == 1
    assert noise("uint16", (3,)).dtype == meaning.dtype(sixteen)
