"""What cannot be lowered is refused, with the Func, the expression and the reason."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from halide_ast import (
    F32,
    I16,
    I32,
    U8,
    U16,
    U32,
    E,
    Program,
    Type,
    call,
    cast,
    high,
    low,
    of,
    x,
    y,
)
from lower_programs import gaussian, of_two, rx, ry

from sardonyx.compiler.dense.front.lower import lower
from sardonyx.compiler.lang.halide.pipeline import Access, Binary, Number, Range, Update, Variable
from sardonyx.hw.arch.errors import UserError


def refusal(program: Program) -> UserError:
    with pytest.raises(UserError) as caught:
        lower(program.pipeline())
    assert caught.value.fix
    return caught.value


@pytest.mark.parametrize(("build", "types", "what"), [
    (lambda a, b: cast(U8, cast(F32, a) * of(0.5, F32)), (U8, U8),
     "it computes with numbers of type float32, but the array computes with integers"),
    (lambda a, b: a // b, (U8, U8), "it divides by a value that is not constant"),
    (lambda a, b: a // of(-32768, I16), (I16, I16), "it divides by -32768"),
    (lambda a, b: (cast(I32, a) + cast(I32, b)) // of(3, I32), (U16, U16),
     "it reads a value of 0..131070, which does not fit a word of 16 bits"),
    (lambda a, b: cast(U16, low(cast(U32, a) * cast(U32, b), 1000)), (U16, U16),
     "it reads a value of 0..4294836225, which does not fit a word of 16 bits"),
    (lambda a, b: cast(U16, low(cast(I32, a) - cast(I32, b), 0)), (U16, U16),
     "it reads a value of -65535..65535, which does not fit a word of 16 bits"),
    (lambda a, b: cast(U16, high(cast(I32, a), cast(I32, b))), (U16, I16),
     "it reads values of 0..65535 and -32768..32767 together, which are neither all signed words nor all unsigned ones"),
    (lambda a, b: cast(U16, cast(I32, a).equals(cast(I32, b))), (U16, I16),
     "it reads values of 0..65535 and -32768..32767 together, which are neither all signed words nor all unsigned ones"),
    (lambda a, b: cast(U16, cast(U32, a) + cast(U32, b) >> 1), (U16, U16),
     "it reads a value of 0..131070, which does not fit a word of 16 bits"),
    (lambda a, b: cast(U32, a) * cast(U32, b), (U16, U16),
     "values of type uint32 in 0..4294836225 are stored, but a word has 16 bits"),
    (lambda a, b: a << b, (I16, I16), "it shifts by -32768..32767, where a negative count would shift the other way"),
    (lambda a, b: call("popcount", U8, a), (U8, U8), "function popcount is not computed on the array"),
    (lambda a, b: cast(U16, cast(U32, a) * 65536), (U8, U8),
     "it does not depend on an image, so there is nothing to compute on the array"),
    (lambda a, b: a * 0 + 5, (U8, U8), "it does not depend on an image, so there is nothing to compute on the array"),
    (lambda a, b: a + cast(U8, x), (U8, U8), "a loop variable is a value here, but only images and tables give values"),
])
def test_what_words_cannot_hold_is_refused(build: Callable[[E, E], E], types: tuple[Type, Type], what: str) -> None:
    error = refusal(of_two(build, *types))
    assert error.what == what
    assert error.where.startswith("Func out")


def test_a_refusal_shows_the_func_and_the_expression() -> None:
    program = Program()
    photo = program.image("photo", U16)
    ratio = program.func("ratio", [x, y], photo(x, y) // photo(x + 1, y))
    program.func("out", [x, y], ratio(x, y) + 1)
    assert str(refusal(program)) == (
        "Func ratio, photo(x, y) / photo(x + 1, y): it divides by a value that is not constant\n"
        "  try: multiply by a reciprocal from a table: a Func of constants read at the divisor")


def test_a_place_that_depends_on_data_is_refused() -> None:
    program = Program()
    photo = program.image("photo")
    program.func("out", [x, y], photo(cast(I32, photo(x, y)), y) + photo(x, y))
    assert refusal(program).what == "photo is read at a place that depends on data: cast(photo(x, y))"


def test_a_matrix_product_with_more_terms_than_streams_is_refused_with_what_would_be_taken() -> None:
    program = Program()
    a, b = program.image("a", U16), program.image("b", U16)
    program.sum("product", [x, y], {"r$x": (0, 9)}, a(rx, y) * b(x, rx) + of(1, U16))
    with pytest.raises(UserError) as error:
        lower(program.pipeline(), streams=16)
    assert str(error.value) == (
        "Func product, a(r.x, y): it reads a in one more way that is no shift of the 16 others, and each takes a stream of its "
        "own, of which the machine has no more\n"
        "  try: a matrix product is taken as out(x, y) = 0, out(x, y) += a(x, r) * b(r, y) of 16 bits and nothing else: let "
        "that be a program of its own, and what follows it another one, or the host's")


def test_a_long_reduction_is_refused() -> None:
    program = Program()
    photo = program.image("photo", U16)
    program.sum("total", [x, y], {"r$x": (0, 64), "r$y": (0, 64)}, photo(x + rx, y + ry))
    error = refusal(program)
    assert error.what == "it reduces over 4096 points, but at most 1024 are unrolled into a stencil"
    assert error.where == "Func total, RDom r$x, r$y"


def test_a_symbolic_reduction_is_refused() -> None:
    program = Program()
    photo = program.image("photo", U16)
    own = Access(U16, "sum", (x.expr, y.expr))
    update = Update(own.args, (Binary("add", U16, own, photo(x + rx, y).expr),),
                    (Range("r$x", Number(I32, 0), Variable("photo.extent.0")),))
    program.func("sum", [x, y], of(0, U16), [update])
    assert str(refusal(program)) == (
        "Func sum, photo.extent.0: photo.extent.0 is known only with the image\n"
        "  try: bind the program to the sizes of its images (compiler.lang.halide.walk.bind) before it is lowered")


def test_a_histogram_is_refused() -> None:
    program = Program()
    photo = program.image("photo")
    own = E(Access(U16, "histogram", (photo(rx, ry).expr,)))
    update = Update((cast(I32, photo(rx, ry)).expr,), ((own + 1).expr,),
                    (Range("r$x", Number(I32, 0), Number(I32, 4)), Range("r$y", Number(I32, 0), Number(I32, 4))))
    program.func("histogram", [x], of(0, U16), [update])
    assert refusal(program).what == "histogram is updated at some of the points only that are read"


def test_a_table_with_too_many_entries_is_refused() -> None:
    program = Program()
    photo = program.image("photo", U16)
    curve = program.func("curve", [x], cast(U16, x * 3))
    program.func("out", [x, y], curve(cast(I32, photo(x, y))))
    assert refusal(program).what == "table curve is read at 0..65535, but a table has entries 0..2047"


def test_a_table_of_two_variables_is_refused() -> None:
    program = Program()
    photo = program.image("photo")
    both = program.func("both", [x, y], cast(U16, x * y))
    program.func("out", [x, y], both(cast(I32, photo(x, y)), cast(I32, photo(x + 1, y))))
    assert refusal(program).what == "table both is read at more than one value that is not constant"


def test_a_buffer_is_not_read_outside_itself() -> None:
    program = Program()
    photo = program.image("photo")
    weights = program.buffer("weights", U8, [1, 2, 3], (3,))
    program.func("out", [x, y], photo(x, y) * weights(3))
    assert refusal(program).what == "weights has elements 0..2, but 3 is read"


@pytest.mark.parametrize("type_", [U32, F32])
def test_images_of_32_bits_are_refused(type_: Type) -> None:
    program = Program()
    photo = program.image("photo", type_)
    program.func("out", [x, y], cast(U16, photo(x, y)))
    assert refusal(program).what == f"image photo has elements of type {type_}, but words hold integers of up to 16 bits"


def test_an_output_that_is_not_there_is_refused() -> None:
    with pytest.raises(UserError) as caught:
        lower(gaussian().pipeline(), "blur")
    assert caught.value.what == "the pipeline has no output blur"


def test_outputs_of_different_rank_are_refused_together() -> None:
    program = Program()
    photo = program.image("photo")
    program.func("line", [x], photo(x, 0))
    program.func("plane", [x, y], photo(x, y))
    with pytest.raises(UserError) as caught:
        lower(program.pipeline("plane", "line"))
    assert caught.value.what == "it has 1 dimensions to run over, and plane has 2"


def test_a_result_without_dimensions_is_refused() -> None:
    program = Program()
    photo = program.image("photo")
    program.func("out", [], photo(0, 0))
    assert refusal(program).what == "it has no dimension to run over"
