"""Bytes to pipelines: what is in them, and the exact text for what is not read."""

import re
import struct
from collections.abc import Callable

import halide as hl
import numpy as np
import pytest
from halide_programs import X, Y, image, load, name_of
from halide_text import show_pipeline
from hypothesis import given, settings
from hypothesis import strategies as st
from mutations import damaged, overwritten, try_to_read

from sardonyx.compiler.lang.halide.flat import File, Record
from sardonyx.compiler.lang.halide.intrinsics import _OPERANDS, expand, fits
from sardonyx.compiler.lang.halide.pipeline import BOOL, INT32, Binary, Cast, Intrinsic, Number, Split, Type, Variable
from sardonyx.compiler.lang.halide.reader import read
from sardonyx.compiler.lang.halide.schema import UNIONS
from sardonyx.compiler.lang.halide.text import show
from sardonyx.compiler.lang.halide.walk import accesses, postorder
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


# What is not read


def test_another_serialization_version() -> None:
    data = written(blur("versioned")).replace(b"18.0.1", b"18.0.2")
    assert message(data, "blur.hlpipe") == (
        "blur.hlpipe: the pipeline has serialization version 18.0.2 but 18.0.1 is read\n"
        "  try: write it with halide.serialize_pipeline of halide 21.0.0")


@pytest.mark.parametrize("data", (b"", b"abc", b"\x7fELF" * 40, bytes(200), struct.pack("<I", 4) * 50))
def test_bytes_that_are_no_pipeline(data: bytes) -> None:
    assert message(data, "blur.hlpipe") == ("blur.hlpipe: this is not a serialized Halide pipeline\n"
                                            "  try: give the bytes of halide.serialize_pipeline of halide 21.0.0")


def test_a_file_that_is_cut_off() -> None:
    data = written(blur("cut"))
    for length in range(0, len(data) - 8, 101):
        assert "this is not a serialized Halide pipeline" in message(data[:length]) \
            or "the serialized Halide pipeline is damaged: bytes " in message(data[:length])


@settings(max_examples=300)
@given(st.integers(0, 1 << 32), st.sampled_from([overwritten, overwritten, overwritten, damaged]))
def test_changed_bytes_are_refused_or_read(seed: int, damage: Callable[[bytes, int], bytes]) -> None:
    try_to_read(lambda content: show_pipeline(read(content)), CHANGED, seed, damage)


CHANGED = written(blur("changed"))


def root(data: "bytes | bytearray") -> Record:
    return Record("Pipeline", File(bytes(data)), struct.unpack_from("<I", data)[0])


def place(record: "Record | None", field: str, code: bool = False) -> int:
    """Where a field is stored."""
    assert record is not None
    found, _ = record._find(field, code)
    assert found is not None
    return found


@pytest.mark.parametrize("dimensions", [-1, 17, 1 << 30])
def test_a_count_of_dimensions_is_bounded(dimensions: int) -> None:
    data = bytearray(CHANGED)
    struct.pack_into("<i", data, place(root(data).records("external_parameters")[0], "dimensions"), dimensions)
    assert message(bytes(data), "a.hlpipe") == (
        f"a.hlpipe: the serialized Halide pipeline is damaged: input changed_source has {dimensions} dimensions\n"
        "  try: write it again with halide.serialize_pipeline of halide 21.0.0")


def test_parts_that_hold_each_other_are_not_followed_for_ever() -> None:
    """A sum of forty terms, made into ((a + a) + (a + a)) + ..., of 2**40."""
    output, value = hl.Func("twins"), hl.i32(X)
    for number in range(40):
        value = value + (X & number)
    output[X] = value
    data = bytearray(written(output))
    found = root(data).records("funcs")[0].record("init_def")
    part = found.members("values")[0] if found is not None else None
    while part is not None and part.table == "Add":
        left, right = place(part, "a"), place(part, "b")
        struct.pack_into("<I", data, right, left + struct.unpack_from("<I", data, left)[0] - right)
        data[place(part, "b", True)] = data[place(part, "a", True)]
        part = part.member("a")
    assert "its parts hold each other many times over" in message(bytes(data))


def test_a_text_among_the_operands() -> None:
    output = hl.Func("text")
    output[X] = X + 1
    data = bytearray(written(output))
    found = root(data).records("funcs")[0].record("init_def")
    data[place(found.members("values")[0] if found is not None else None, "b", True)] = UNIONS["Expr"].index("StringImm")
    assert message(bytes(data)) == "Func text, pure definition: Add is called with a text\n  try: leave it out"


def test_a_number_fits_its_type() -> None:
    output = hl.Func("wide")
    output[X] = X + 1
    data = bytearray(written(output))
    found = root(data).records("funcs")[0].record("init_def")
    value = found.members("values")[0] if found is not None else None
    struct.pack_into("<q", data, place(value.member("b") if value is not None else None, "value"), 1 << 40)
    assert "the serialized Halide pipeline is damaged: 1099511627776 is no int32" in message(bytes(data))


def test_a_known_function_has_the_operands_that_it_takes() -> None:
    byte, word = Number(Type("uint", 8), 1), Number(Type("uint", 16), 1)
    for name, type_, args, expected in (
            ("absd", byte.type, (byte, byte), True), ("absd", byte.type, (byte, word), False),
            ("absd", byte.type, (byte,), False), ("abs", byte.type, (), False),
            ("mux", byte.type, (word, byte, byte, byte), True), ("mux", byte.type, (word,), False),
            ("likely", byte.type, (byte,), True), ("likely", word.type, (byte,), False), ("mine", byte.type, (), True),
            ("unsafe_promise_clamped", byte.type, (byte, byte, byte), True), ("concat_bits", word.type, (), False)):
        assert fits(Intrinsic(name, type_, args)) == expected, (name, args)


@settings(max_examples=25)
@given(st.sampled_from(sorted(_OPERANDS)), st.integers(0, 4))
def test_functions_with_any_operands_are_expanded_where_they_fit(name: str, count: int) -> None:
    call = Intrinsic(name, INT32, tuple(Number(INT32, 3) for _ in range(count)))
    if fits(call):
        assert expand(call) is not None


def test_parameters_without_value_or_out_of_range() -> None:
    gain, shift, output = hl.Param(hl.UInt(8), "gain"), hl.Param(hl.Int(32), "shift"), hl.Func("scaled")
    output[X] = hl.u16(X) * gain >> shift
    assert message(output) == ("no value for the parameters gain (uint8), shift (int32)\n"
                               "  try: give a value for each by its name")
    assert message(output, gain=300, shift=1) == (
        "parameter gain is 300 but its type uint8 holds whole numbers from 0 to 255\n  try: give such a value")
    assert message(output, gian=3) == "parameter gian is not in the pipeline\n  try: give values for gain, shift"


def test_a_stage_in_c() -> None:
    output = hl.Func("extern")
    output.define_extern("sharpen", [], hl.Int(32), 1)
    assert message(output) == ("Func extern: it is an extern stage, the C function sharpen\n"
                               "  try: write it as a Halide expression")


def test_an_atomic_update() -> None:
    output, k = hl.Func("atom"), hl.RDom([(0, 4)], "k")
    output[X] = 0
    output[k.x] += 1
    output.update().atomic()
    assert message(output) == "Func atom, update 0: it is an atomic update\n  try: leave out atomic()"


def test_requirements() -> None:
    output = hl.Func("checked")
    output[X] = X
    pipeline = hl.Pipeline([output])
    pipeline.add_requirement(hl.Expr(1) > 0)
    assert message(bytes(hl.serialize_pipeline(pipeline))) == (
        "the pipeline has requirements, which are checked at run time\n  try: leave out add_requirement")


def test_a_value_that_is_never_set() -> None:
    output = hl.Func("undefined")
    output[X] = hl.undef(hl.UInt(16))
    assert message(output, "a.hlpipe") == (
        "a.hlpipe: Func undefined, pure definition: undef() is a value that is never set\n"
        "  try: write it with operators, select, min, max, clamp, abs, shifts and casts")


def test_bits_of_a_float() -> None:
    output = hl.Func("bits")
    output[X] = hl.reinterpret(hl.Int(32), hl.f32(X))
    assert message(output) == ("Func bits, pure definition: the bits of float32 are taken as int32 in float32(x)\n"
                               "  try: reinterpret integers of one width only")


def test_a_function_that_is_not_known() -> None:
    output = hl.Func("printing")
    output[X] = hl.print(X)
    assert message(output) == (
        "Func printing, pure definition: function stringify is called with a text\n  try: leave it out")
    output = hl.Func("random")
    output[X] = hl.i32(hl.undef(hl.Int(16))) + 1
    assert "undef() is a value that is never set" in message(output)


def test_a_specialization_that_fails() -> None:
    output = hl.Func("special")
    output[X] = X
    output.specialize_fail("no")
    assert message(output) == ("Func special, pure definition: it has a specialization that fails\n"
                               "  try: leave out specialize_fail")


def test_an_input_and_a_func_of_one_name() -> None:
    # Halide gives every Func a name of its own; images keep theirs.
    output = hl.Func("same")
    source = hl.ImageParam(hl.Int(32), 1, output.name())
    output[X] = source[X]
    assert message(output) == "an input and a Func are both called same\n  try: rename one of them"


def test_funcs_have_the_names_that_the_program_gives_them() -> None:
    """Halide numbers the second Func of a name that a process makes."""
    for _ in range(2):
        blur = hl.Func("blur")
        blur[X, Y] = image("photo", "uint8")[X, Y]
        found = load(blur)
        assert found.outputs == ("blur",) and "blur" in found.funcs
    one, other = hl.Func("twins"), hl.Func("twins")
    one[X, Y] = image("photo", "uint8")[X, Y]
    other[X, Y] = one[X, Y] + 1
    both = load(other)
    assert len(both.funcs) == 3 and sum(name.startswith("twins") for name in both.funcs) == 2
