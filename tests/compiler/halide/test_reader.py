"""Bytes to pipelines: what is in them."""

from collections.abc import Callable

import halide as hl
import numpy as np
import pytest
from halide_bytes import blur, written
from halide_programs import X, Y, load, name_of

from sardonyx.compiler.lang.halide.pipeline import BOOL, INT32, Binary, Cast, Number, Split, Type, Variable
from sardonyx.compiler.lang.halide.reader import read
from sardonyx.compiler.lang.halide.text import show
from sardonyx.compiler.lang.halide.walk import accesses, postorder


def test_funcs_stand_in_order_of_realization_and_inputs_by_name() -> None:
    pipeline = load(blur("order"))
    assert list(pipeline.funcs) == ["order_source_im", "order_total", "order"]
    assert pipeline.outputs == ("order",)
    source = pipeline.inputs["order_source"]
    assert (source.type, source.dimensions, source.data) == (Type("uint", 16), 2, None)


def test_updates_have_their_domain_and_predicate() -> None:
    func = load(blur("domain")).funcs["domain_total"]
    update, = func.updates
    assert (func.args, func.types) == (("x", "y"), (Type("uint", 16),))
    assert [(each.name, show(each.start), show(each.extent)) for each in update.domain] == [
        ("domain_k$x", "-1", "3"), ("domain_k$y", "0", "2")]
    assert update.predicate is not None
    assert show(update.predicate) == "domain_k$x + domain_k$y < 3"
    assert update.args == (Variable("x"), Variable("y"))


def test_schedules_are_facts_of_the_func() -> None:
    output = blur("plan")
    xi, yi = hl.Var("xi"), hl.Var("yi")
    output.tile(X, Y, xi, yi, 8, 4).unroll(xi).bound(X, 0, 64).set_estimate(Y, 0, 32)
    pipeline = load(output)
    func = pipeline.funcs["plan"]
    assert func.bounds == {"x": (0, 64)}
    assert func.schedule["estimates"] == {"x": (0, 64), "y": (0, 32)}
    assert func.schedule["compute"] == func.schedule["store"] == "inline"
    assert func.schedule["splits"] == (Split("split", "x", "x.x", "x.xi", 8), Split("split", "y", "y.y", "y.yi", 4))
    assert func.schedule["loops"] == ("x.xi", "y.yi", "x.x", "y.y")
    assert func.schedule["unrolled"] == ("x.xi",)


def test_compute_and_store_levels() -> None:
    first, second, third = hl.Func("level_a"), hl.Func("level_b"), hl.Func("level_c")
    first[X, Y] = X + Y
    second[X, Y] = first[X, Y] + first[X + 1, Y]
    third[X, Y] = second[X, Y] * second[X, Y + 1]
    first.compute_at(second, Y).store_root().store_in(hl.MemoryType.Register)
    second.compute_root()
    found = {name: (func.schedule["compute"], func.schedule["store"], func.schedule["memory"])
             for name, func in load(third).funcs.items()}
    assert found == {"level_a": ("level_b.y", "root", "register"), "level_b": ("root", "root", "auto"),
                     "level_c": ("inline", "inline", "auto")}


def test_loops_that_are_not_serial_have_a_kind() -> None:
    output, inner = blur("kinds"), hl.Var("inner")
    output.split(X, X, inner, 8).vectorize(inner).parallel(Y)
    total, = (func for name, func in load(output).funcs.items() if name == "kinds_total")
    func = load(output).funcs["kinds"]
    assert func.schedule["kinds"] == {"x.inner": "vectorized", "y": "parallel"}
    assert func.schedule["unrolled"] == func.schedule["others"] == ()
    assert total.schedule["updates"] == ({"splits": (), "loops": ("kinds_k$x", "kinds_k$y", "x", "y"), "unrolled": (),
                                          "kinds": {}},)


@pytest.mark.parametrize(("schedule", "others"), [
    (lambda first, second: first.compute_root(), ()),
    (lambda first, second: first.compute_root().memoize().async_(), ("memoize", "async")),
    (lambda first, second: first.compute_at(second, Y).store_root().fold_storage(Y, 4), ("fold_storage",)),
    (lambda first, second: first.compute_root().align_storage(X, 16).bound_storage(Y, 64), ("align_storage", "bound_storage")),
    (lambda first, second: first.compute_root().reorder_storage(Y, X), ("reorder_storage",)),
    (lambda first, second: first.compute_at(second, X).hoist_storage(second, Y).async_().ring_buffer(2),
     ("hoist_storage", "async", "ring_buffer")),
    (lambda first, second: first.compute_root().align_bounds(X, 64).bound_extent(Y, 8), ("align_bounds", "bound_extent")),
    (lambda first, second: first.compute_root().partition(X, hl.Partition.Never), ("partition",)),
    (lambda first, second: first.compute_root().specialize(hl.Param(hl.Int(32), "n") > 9), ("specialize",)),
    (lambda first, second: second.prefetch(first.compute_root(), Y, Y, 2), ("prefetch",)),
    (lambda first, second: first.compute_root().hexagon(), ("hexagon",))])
def test_whatever_else_a_schedule_says_is_named(schedule: Callable[[hl.Func, hl.Func], object],
                                                others: tuple[str, ...]) -> None:
    first, second = hl.Func("first"), hl.Func("second")
    first[X, Y] = X + Y
    second[X, Y] = first[X, Y] + first[X + 1, Y]
    schedule(first, second)
    parameters = {"n": 3} if others == ("specialize",) else {}
    funcs = load(second, **parameters).funcs
    assert (*funcs[name_of(first)].schedule["others"], *funcs[name_of(second)].schedule["others"]) == others


def test_funcs_computed_together_are_named() -> None:
    a, b, both = hl.Func("a"), hl.Func("b"), hl.Func("both")
    a[X, Y], b[X, Y] = X + Y, X - Y
    both[X, Y] = a[X, Y] * b[X, Y]
    a.compute_root()
    b.compute_root().compute_with(a, Y)
    assert load(both).funcs[name_of(b)].schedule["others"] == ("compute_with",)


def test_lets_are_shared_objects() -> None:
    output = hl.Func("lets")
    product = hl.u16(X) * 3
    output[X] = product * product + product
    value = load(output).funcs["lets"].values[0]
    assert show(value) == "uint16(x) * 3 * (uint16(x) * 3) + uint16(x) * 3"
    assert len(list(postorder(value))) == 6


def test_equal_parts_of_different_definitions_are_one_object() -> None:
    output = hl.Func("equal")
    output[X] = hl.i32(hl.u8(X))
    output[3] = hl.i32(hl.u8(5)) + 1
    output[4] = hl.i32(hl.u8(5)) * 2
    first, second = (update.values[0] for update in load(output).funcs["equal"].updates)
    assert isinstance(first, Binary) and isinstance(second, Binary)
    assert first.left is second.left


def test_a_thousand_operations_in_a_row() -> None:
    output = hl.Func("deep")
    value = hl.i32(X)
    for number in range(1000):
        value = value * 3 + (X & number)
    output[X] = value
    assert len(list(postorder(*load(output).funcs["deep"].values))) > 3000


def test_a_buffer_is_an_input_with_contents() -> None:
    buffer, output = hl.Buffer(np.array([[1, 2, 3], [4, 5, 6]], "int16")), hl.Func("constant")
    buffer.set_min([7, 8])
    output[X, Y] = buffer[X, Y]
    (table,) = load(output).inputs.values()
    assert (table.data, table.minimum, table.extents) == ((1, 2, 3, 4, 5, 6), (7, 8), (3, 2))


def test_a_parameter_is_a_number() -> None:
    gain, output = hl.Param(hl.UInt(16), "gain"), hl.Func("scaled")
    output[X] = hl.u16(X) * gain
    pipeline = read(written(output), {"gain": 9})
    assert pipeline.parameters == {"gain": Number(Type("uint", 16), 9)}
    assert show(pipeline.funcs["scaled"].values[0]) == "uint16(x) * 9"


def test_floats_are_decoded() -> None:
    output = hl.Func("floats")
    output[X] = hl.sqrt(hl.f32(X)) * 0.5
    pipeline = load(output)
    assert show(pipeline.funcs["floats"].values[0]) == "sqrt_f32(float32(x)) * 0.5"
    assert pipeline.funcs["floats"].types == (Type("float", 32),)


def test_copies_that_only_the_schedule_makes_are_left_out() -> None:
    output = blur("copied")
    source = hl.Func("origin")
    source[X, Y] = X * Y
    output = hl.Func("reader")
    output[X, Y] = source[X, Y]
    source.in_(output).compute_root()
    assert list(load(output).funcs) == ["origin", "reader"]


def test_likely_and_promises_are_left_out() -> None:
    output = hl.Func("hints")
    output[X] = hl.likely(X) + hl.unsafe_promise_clamped(X, 0, 9)
    assert load(output).funcs["hints"].values == (Binary("add", INT32, Variable("x"), Variable("x")),)


def test_casts_of_conditions() -> None:
    output = hl.Func("flags")
    output[X] = hl.cast(hl.UInt(16), X > 3)
    assert load(output).funcs["flags"].values == (
        Cast(Type("uint", 16), Binary("gt", BOOL, Variable("x"), Number(INT32, 3))),)


def test_each_access_is_met_once() -> None:
    func = load(blur("once")).funcs["once_total"]
    assert sorted(show(access) for access in accesses(func)) == [
        "once_source_im(x + once_k$x, y + once_k$y)", "once_total(x, y)"]
