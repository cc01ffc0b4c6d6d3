import halide as hl
import pytest
from halide_programs import X, Y, image, load, name_of
from halide_text import show_pipeline

from sardonyx.compiler.lang.halide.pipeline import INT32, Binary, Variable
from sardonyx.compiler.lang.halide.text import show


@pytest.mark.parametrize("expr, text", (
    (X - (Y - 1), "x - (y - 1)"), (X - Y - 1, "x - y - 1"), ((X + Y) * 2 + 3, "(x + y) * 2 + 3"),
    ((X << 2) + 1, "(x << 2) + 1"), (X + 1 << 2, "x + 1 << 2"), (hl.select((X > 1) & (Y > 2), X, ~Y),
                                                                 "select(x > 1 && y > 2, x, ~y)"),
    (hl.i32(hl.logical_not(X == Y)), "int32(!(x == y))"), (X / 2 % 3, "(x / 2) % 3"), (hl.min(X, Y + 1), "min(x, y + 1)"),
    (hl.i32(hl.absd(X, Y)), "int32(absd(x, y))")))
def test_expressions_have_the_parentheses_that_they_need(expr: hl.Expr, text: str) -> None:
    func = hl.Func("printed")
    func[X, Y] = expr
    assert show(load(func).funcs[name_of(func)].values[0]) == text


def test_the_middle_of_a_long_text_is_left_out() -> None:
    long = Variable("x")
    for _ in range(50):
        long = Binary("add", INT32, long, Variable("y"))
    assert show(long, 40) == "x + y + y + y + y +  ...  + y + y + y + y + y"


def test_a_pipeline_reads_like_its_program() -> None:
    source, output, gain = image("picture"), hl.Func("sums"), hl.Param(hl.UInt(16), "gain")
    k = hl.RDom([(0, 3)], "k")
    k.where(k.x != 1)
    output[X] = hl.u16(1)
    output[X] += source[X + k, 2] * gain
    output.bound(X, 0, 8)
    assert show_pipeline(load(output, gain=5)) == "\n".join((
        "input picture   uint16, 2 dimensions",
        "param gain = 5   uint16",
        "picture_im(_0, _1) = picture(_0, _1)   uint16, inline",
        "sums(x) = 1   uint16, inline",
        "sums(x) = sums(x) + picture_im(x + k$x, 2) * 5   for k$x in 0..2 where k$x != 1",
        "  x is 0..7",
        "output sums"))
