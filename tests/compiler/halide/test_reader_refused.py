"""Bytes that are no pipeline, or one that is not read: the exact text."""

import struct
from collections.abc import Callable

import halide as hl
import pytest
from halide_bytes import blur, message, written
from halide_programs import X, Y, image, load
from halide_text import show_pipeline
from hypothesis import given, settings
from hypothesis import strategies as st
from mutations import damaged, overwritten, try_to_read

from sardonyx.compiler.lang.halide.flat import File, Record
from sardonyx.compiler.lang.halide.intrinsics import _OPERANDS, expand, fits
from sardonyx.compiler.lang.halide.pipeline import INT32, Intrinsic, Number, Type
from sardonyx.compiler.lang.halide.reader import read
from sardonyx.compiler.lang.halide.schema import UNIONS


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
