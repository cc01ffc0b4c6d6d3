from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from halide_ast import (
    BOOL,
    F32,
    I8,
    I16,
    I32,
    U8,
    U16,
    U32,
    E,
    Exact,
    Program,
    Type,
    absd,
    c,
    call,
    cast,
    high,
    low,
    of,
    select,
    x,
    y,
)
from hypothesis import given
from hypothesis import strategies as st
from lower_programs import agrees, cascade, gaussian, harris, of_two, operations, rx, ry, shown, unsharp

from sardonyx.compiler.dense.front.lower import lower
from sardonyx.compiler.dense.front.words import reciprocal
from sardonyx.compiler.ir.dataflow import Ref
from sardonyx.compiler.lang.halide.pipeline import Access, Binary, Number, Range, Update, Variable
from sardonyx.hw.arch.errors import UserError
from sardonyx.sim.model.pe_graph import evaluate_words, stored


def test_gaussian_shares_the_products_of_equal_weights() -> None:
    graph = agrees(gaussian())
    assert operations(graph) == {"mul": 3, "add": 8, "shr": 1}


def test_a_sum_that_cannot_leave_eight_bits_is_not_cut_to_them() -> None:
    assert "and" not in operations(agrees(gaussian()))


def test_cascade_computes_its_first_stage_once() -> None:
    assert operations(agrees(cascade())) == {"mul": 4, "add": 16, "shr": 2}


def test_unsharp_has_a_table_of_reciprocals_and_a_result_for_every_plane() -> None:
    graph = agrees(unsharp(), (12, 11), (4, 3))
    assert list(graph.results) == ["unsharp_0", "unsharp_1", "unsharp_2"]
    assert [graph.outputs[name].plane for name in graph.results] == [(None, None, at) for at in range(3)]
    assert graph.inputs["rgb_1"].plane == (None, None, 1)
    table = next(node.table for node in graph.nodes if node.op == "lookup")
    assert table == tuple(256 // max(each, 1) for each in range(256))
    assert operations(graph)["mul_middle"] == 3 and operations(graph)["and"] == 3


def test_harris_is_right_and_sums_products_of_gradients_once() -> None:
    graph = agrees(harris(), (14, 13), (8, 7))
    assert operations(graph)["max"] == 2 and operations(graph)["lt"] == 8
    assert sum(operations(graph).values()) < 80


def test_harris_finds_corners() -> None:
    pipeline = harris().pipeline()
    photo = np.full((20, 20), 10)
    photo[8:16, 7:16] = 200
    graph = lower(pipeline)
    found = stored(graph.outputs["harris"], evaluate_words(graph, {"photo": photo})["harris"], (14, 14))
    exact = Exact(pipeline, {"photo": photo})
    assert found.tolist() == [[exact.func("harris", (column, row)) for column in range(14)] for row in range(14)]
    assert found.any() and not found.all()


# Sharing.


def test_equal_up_to_translation_is_one_node() -> None:
    program = Program()
    photo = program.image("photo", U16)
    blur = program.func("blur", [x, y], photo(x, y) + photo(x + 1, y))
    program.func("out", [x, y], blur(x, y) + blur(x + 1, y) + blur(x + 5, y))
    assert shown(agrees(program)) == ["0 input photo", "1 add @0, @0+(1, 0)", "2 add @1, @1+(1, 0)", "3 add @1, @2+(-5, 0)"]


def test_operands_of_a_commutative_operation_have_one_order() -> None:
    program = Program()
    photo = program.image("photo", U16)
    program.func("out", [x, y], (photo(x + 2, y) + photo(x, y)) * (photo(x + 1, y) + photo(x + 3, y)))
    assert operations(agrees(program)) == {"add": 1, "mul": 1}


def test_sums_stay_in_the_order_in_which_they_are_written() -> None:
    program = Program()
    photo = program.image("photo", U16)
    program.func("out", [x, y], photo(x, y) + (photo(x + 1, y) + (photo(x + 2, y) + photo(x + 4, y))))
    nodes = shown(agrees(program))
    assert nodes[1:] == ["1 add @0, @0+(2, 0)", "2 add @0, @1+(1, 0)", "3 add @0, @2+(1, 0)"]


def test_a_result_may_stand_away_from_its_node() -> None:
    program = Program()
    photo = program.image("photo", U16)
    program.func("out", [x, y], photo(x + 2, y + 1) + 1)
    assert lower(program.pipeline()).results == {"out": Ref(1, (2, 1))}


def test_a_copy_has_no_operation() -> None:
    program = Program()
    photo = program.image("photo", I8)
    program.func("out", [x, y], cast(I16, photo(x + 2, y + 1)))
    assert shown(agrees(program)) == ["0 input photo"]


# Words of 8, 16 and 32 bits.




@pytest.mark.parametrize(("build", "types", "expected"), [
    (lambda a, b: a + b, (U8, U8), {"add": 1, "and": 1}),
    (lambda a, b: a + b, (I8, I8), {"add": 1, "shl": 1, "shr": 1}),
    (lambda a, b: a + b + a + b, (U8, U8), {"add": 3, "and": 1}),
    (lambda a, b: cast(U16, a + b) * 3, (U8, U8), {"add": 1, "and": 1, "mul": 1}),
    (lambda a, b: cast(I16, a - b) + 1, (I8, I8), {"sub": 1, "shl": 1, "shr": 1, "add": 1}),
    (lambda a, b: cast(U16, a.equals(b)), (U16, U16), {"eq": 1, "word": 1}),
    (lambda a, b: (a & 15) + (b & 15), (U8, U8), {"and": 2, "add": 1}),
    (lambda a, b: (a + b) & 63, (U8, U8), {"add": 1, "and": 1}),
    (lambda a, b: (a + b) % 32, (U8, U8), {"add": 1, "and": 1}),
    (lambda a, b: (a * b) >> 1, (U8, U8), {"mul": 1, "and": 1, "shr": 1}),
    (lambda a, b: cast(U8, cast(U16, a) + cast(U16, b)), (U8, U8), {"add": 1, "and": 1}),
    (lambda a, b: a - b, (U16, U16), {"sub": 1}),
    (lambda a, b: cast(U16, (cast(I32, a) * cast(I32, b) + cast(I32, a)) * 5), (U16, U16), {"mul": 2, "add": 1}),
    (lambda a, b: cast(I8, a), (U8, U8), {"shl": 1, "shr": 1}),
    (lambda a, b: absd(a, b), (U8, U8), {"sub": 1, "abs": 1}),
    (lambda a, b: absd(a, b), (U16, U16), {"max": 1, "min": 1, "sub": 1}),
    (lambda a, b: call("abs", U8, a), (I8, I8), {"abs": 1}),
    (lambda a, b: low(a, b), (I16, I16), {"min": 1}),
])
def test_values_are_cut_to_their_type_only_where_they_leave_it(build: Callable[[E, E], E], types: tuple[Type, Type],
                                                               expected: dict[str, int]) -> None:
    assert operations(agrees(of_two(build, *types))) == expected


@pytest.mark.parametrize(("shift", "expected"), [
    (8, {"mul_middle": 1}), (16, {"mul_high": 1}), (20, {"mul_high": 1, "shr": 1}),
    (12, {"mul_high": 1, "shl": 1, "mul": 1, "shr": 1, "or": 1}), (3, {"mul_high": 1, "shl": 1, "mul": 1, "shr": 1, "or": 1}),
])
@pytest.mark.parametrize(("narrow", "wide"), [(U16, U32), (I16, I32)])
def test_a_shifted_product_of_words_takes_its_bits(shift: int, expected: dict[str, int], narrow: Type, wide: Type) -> None:
    program = of_two(lambda a, b: cast(narrow, cast(wide, a) * cast(wide, b) >> shift), narrow, narrow)
    assert operations(agrees(program)) == expected


def test_dividing_a_product_by_256_takes_its_middle_bits() -> None:
    program = of_two(lambda a, b: cast(I16, cast(I32, a) * cast(I32, b) // 256), I16, I16)
    assert shown(agrees(program))[-1] == "2 mul_middle.s @0, @1"


@pytest.mark.parametrize("by", [1, 8, 9, 16, 17])
@pytest.mark.parametrize(("narrow", "wide"), [(U16, U32), (I16, I32)])
def test_a_product_is_rounded_when_it_is_shifted(by: int, narrow: Type, wide: Type) -> None:
    half = 1 << by - 1
    program = of_two(lambda a, b: cast(narrow, cast(wide, low(a, 30000)) * cast(wide, b) + half >> by), narrow, narrow)
    assert operations(agrees(program, (31, 20), (30, 19)))["mul_high"] <= 1


def test_a_product_that_fits_the_middle_bits_is_shifted_further() -> None:
    program = of_two(lambda a, b: cast(U16, cast(U32, a) * cast(U32, b) >> 11), U8, U16)
    assert operations(agrees(program)) == {"mul_middle": 1, "shr": 1}


@pytest.mark.parametrize("by", [3, 5, 9, 10, 12, 49, 100, 255, 641])
@pytest.mark.parametrize("type_", [U8, I8, U16, I16])
def test_division_by_constants_is_exact(by: int, type_: Type) -> None:
    """A multiplication and a shift where a factor of 16 bits is exact; with 16 bits that fill a word at most four more."""
    by = min(by, 2 ** (type_.bits - (type_.kind == "int")) - 1)
    quotient, remainder = (of_two(lambda a, b, op=op: E(Binary(op, type_, a.expr, of(by, type_).expr)) + (b - b), type_, type_)
                           for op in ("div", "mod"))
    count = operations(agrees(quotient, (31, 20), (30, 19)))
    assert count["mul_high"] + count["mul_middle"] == 1
    assert count["shr"] <= (1 if type_.bits == 8 else 2)
    assert sum(count.values()) - count["mul_high"] - count["mul_middle"] - count["shr"] <= 2
    agrees(remainder, (31, 20), (30, 19))


@given(st.integers(2, 65535), st.integers(0, 65535))
def test_reciprocals_are_exact_up_to_the_highest_numerator(by: int, highest: int) -> None:
    found = reciprocal(by, highest)
    if found is not None:
        multiplier, shift = found
        numerators = np.arange(highest + 1, dtype=np.int64)
        assert multiplier < 1 << 16
        assert (numerators * multiplier >> shift == numerators // by).all()


def test_a_full_word_has_no_exact_reciprocal_of_7_but_15_bits_have() -> None:
    assert reciprocal(7, 65535) is None
    assert reciprocal(7, 32767) is not None


# Reductions, tables, constants.


def test_an_update_at_constants_makes_a_table_of_constants() -> None:
    program = Program()
    photo = program.image("photo", U16)
    updates = [Update((Number(I32, at),), (Number(U16, weight),)) for at, weight in enumerate((5, 7, 9))]
    kernel = program.func("kernel", [x], of(0, U16), updates)
    program.func("out", [x, y], kernel(0) * photo(x, y) + kernel(1) * photo(x + 1, y) + kernel(3) * photo(x + 2, y))
    assert shown(agrees(program))[1:] == ["1 mul @0, 5", "2 mul @0, 7", "3 add @1, @2+(1, 0)"]


def test_a_reduction_with_a_predicate_leaves_out_points() -> None:
    program = Program()
    photo = program.image("photo", U16)
    own = Access(U16, "sum", (x.expr, y.expr))
    domain = (Range("r$x", Number(I32, 0), Number(I32, 3)), Range("r$y", Number(I32, 0), Number(I32, 3)))
    update = Update(own.args, (Binary("add", U16, own, photo(x + rx, y + ry).expr),), domain, (rx < ry).expr)
    program.func("sum", [x, y], of(0, U16), [update])
    assert operations(agrees(program)) == {"add": 2}


def test_a_predicate_on_data_is_a_select() -> None:
    program = Program()
    photo = program.image("photo", U16)
    own = Access(U16, "count", (x.expr, y.expr))
    domain = (Range("r$x", Number(I32, 0), Number(I32, 2)),)
    update = Update(own.args, ((E(own) + 1).expr,), domain, (photo(x + rx, y) > 7).expr)
    program.func("count", [x, y], of(0, U16), [update])
    assert operations(agrees(program)) == {"lt": 1, "select": 2, "add": 1}


def test_updates_are_applied_in_order_and_see_each_other() -> None:
    program = Program()
    photo = program.image("photo", U16)
    own = E(Access(U16, "f", (x.expr, y.expr)))
    program.func("f", [x, y], photo(x, y), [Update((x.expr, y.expr), ((own * 3).expr,)),
                                            Update((x.expr, y.expr), ((own + photo(x + 1, y)).expr,))])
    assert shown(agrees(program))[1:] == ["1 mul @0, 3", "2 add @0, @1+(-1, 0)"]


def test_a_reduction_goes_through_its_first_variable_first() -> None:
    program = Program()
    photo = program.image("photo", U16)
    own = E(Access(U16, "f", (x.expr, y.expr)))
    domain = tuple(Range(name, Number(I32, 0), Number(I32, extent)) for name, extent in (("r$x", 2), ("r$y", 3)))
    program.func("f", [x, y], of(0, U16), [Update((x.expr, y.expr), ((own * 5 + photo(x + rx, y + ry)).expr,), domain)])
    assert shown(agrees(program))[1:3] == ["1 mul @0, 5", "2 add @0, @1+(-1, 0)"]


def test_a_scan_over_constants_reads_what_it_wrote_before() -> None:
    program = Program()
    photo = program.image("photo", U16)
    ramp = program.func("ramp", [c], of(1, U16), [Update((rx.expr,), (
        (E(Access(U16, "ramp", ((rx - 1).expr,))) * 3).expr,), (Range("r$x", Number(I32, 1), Number(I32, 5)),))])
    program.func("out", [x, y], photo(x, y) * ramp(4) + ramp(9))
    assert shown(lower(program.pipeline()) and lower(program.pipeline()))[1:] == ["1 mul @0, 81", "2 add @1, 1"]


def test_a_buffer_read_at_data_is_a_table() -> None:
    program = Program()
    photo = program.image("photo")
    curve = program.buffer("curve", U8, [(at * at) // 256 for at in range(256)], (256,))
    program.func("out", [x, y], curve(cast(I32, photo(x, y))))
    assert operations(agrees(program)) == {"lookup": 1}


def test_a_table_holds_no_more_than_can_be_read() -> None:
    program = Program()
    photo = program.image("photo")
    square = program.func("square", [x], cast(U16, x * x))
    program.func("out", [x, y], square(cast(I32, photo(x, y) & 15)))
    assert next(node.table for node in lower(program.pipeline()).nodes if node.table) == tuple(at * at for at in range(16))


def test_parameters_and_floating_point_constants_are_folded() -> None:
    program = Program()
    photo = program.image("photo", U16)
    gain = E(Variable("gain", U16))
    half = E(Binary("mul", F32, Number(F32, 0.5), Number(F32, 9.0)))
    program.func("out", [x, y], photo(x, y) * gain + cast(U16, half))
    graph = lower(program.pipeline("out", gain=Number(U16, 3)))
    assert shown(graph)[1:] == ["1 mul @0, 3", "2 add @1, 4"]


@pytest.mark.parametrize("build", [
    lambda a: a * 1, lambda a: a + 0, lambda a: a - 0, lambda a: a | 0, lambda a: a & 255, lambda a: low(a, 255),
    lambda a: high(a, 0),
    lambda a: a // 1, lambda a: a >> 0, lambda a: a + a * 0, lambda a: select(a >= 0, a, 7), lambda a: cast(U8, cast(I16, a)),
    lambda a: low(a, a), lambda a: select(a.equals(a), a, 3), lambda a: a + (a - a), lambda a: call("abs", U8, a),
])
def test_what_changes_nothing_is_left_out(build: Callable[[E], E]) -> None:
    program = Program()
    photo = program.image("photo")
    program.func("out", [x, y], build(photo(x, y)))
    assert shown(agrees(program)) == ["0 input photo"]


def test_booleans_are_flags_and_become_words_where_they_are_stored() -> None:
    program = of_two(lambda a, b: (a > b) | ~(a.equals(3)))
    assert operations(agrees(program)) == {"lt": 1, "eq": 1, "bit_not": 1, "bit_or": 1, "word": 1}


def test_an_image_of_booleans_gives_words_that_are_compared() -> None:
    program = of_two(lambda a, b: select(a, b, 5), BOOL, U8)
    assert operations(agrees(program)) == {"ne": 1, "select": 1}


# Grids.


def test_down_sampling_computes_on_the_finer_grid() -> None:
    program = Program()
    photo = program.image("photo", U16)
    program.func("out", [x, y], high(high(photo(x * 2, y * 2), photo(x * 2 + 1, y * 2)),
                                     high(photo(x * 2, y * 2 + 1), photo(x * 2 + 1, y * 2 + 1))))
    graph = agrees(program, (10, 8), (5, 4))
    assert graph.outputs["out"].scale == (2, 2) and graph.inputs["photo"].scale == (1, 1)
    assert operations(graph) == {"max": 2}


def test_a_coarser_image_beside_a_finer_one_is_repeated() -> None:
    program = Program()
    fine, coarse = program.image("fine", U16), program.image("coarse", U16)
    program.func("out", [x, y], fine(x * 2 + 1, y) - coarse(x + 1, y))
    graph = agrees(program, (12, 4), (5, 4))
    assert graph.inputs["coarse_by_2_1"].divide == (2, 1)


def test_up_sampling_repeats_elements_and_selects_by_a_pattern() -> None:
    program = Program()
    photo = program.image("photo", U16)
    near, far = photo(x // 2, y), photo(x // 2 + 1, y)
    program.func("out", [x, y], select((x % 2).equals(0), near // 4 + far // 4 * 3, near // 4 * 3 + far // 4))
    graph = agrees(program, (12, 4), (9, 3))
    assert graph.inputs["photo_by_2_1"].divide == (2, 1)
    assert graph.inputs["x_mod_2"].pattern == (0, 1) and graph.inputs["x_mod_2"].image == ""


def test_a_pattern_at_other_places_is_one_stream() -> None:
    program = Program()
    photo = program.image("photo", U16)
    program.func("out", [x, y], photo(x, y) + cast(U16, (x % 3)) * cast(U16, ((y // 2 + 1) % 2)) + cast(U16, ((x + 2) % 3)))
    graph = agrees(program)
    assert sorted(graph.inputs) == ["photo", "x_mod_3", "y_mod_2"]
    assert graph.inputs["y_mod_2"].pattern == (0, 0, 1, 1)


def test_a_pattern_of_a_down_sampled_result_counts_results() -> None:
    program = Program()
    photo = program.image("photo", U16)
    program.func("out", [x, y], photo(x * 2, y) + cast(U16, (x + 1) % 2))
    assert agrees(program, (12, 4), (5, 4)).inputs["x_mod_2"].divide == (2, 1)


def test_what_is_reduced_and_enlarged_again_is_selected_by_the_remainder() -> None:
    program = Program()
    photo = program.image("photo", U16)
    blur = program.func("blur", [x, y], photo(x, y) + photo(x + 1, y))
    down = program.func("down", [x, y], blur(x * 2, y))
    up = program.func("up", [x, y], down(x // 2, y))
    program.func("out", [x, y], blur(x, y) - up(x, y))
    graph = agrees(program, (12, 4), (9, 3), margin=1)
    assert operations(graph) == {"add": 1, "eq": 1, "select": 1, "sub": 1}


def test_remainders_are_told_apart_outside_of_all_that_is_computed_between() -> None:
    """The sum is computed at every point of the finer image once, and then selected."""
    program = Program()
    photo = program.image("photo", U16)
    left, right = (program.func(name, [x, y], photo(x * 2 + at, y)) for at, name in enumerate(("left", "right")))
    both = program.func("both", [x, y], left(x, y) * 3 + right(x + 1, y))
    program.func("out", [x, y], both(x // 2, y) - photo(x, y))
    graph = agrees(program, (14, 4), (9, 3), margin=1)
    assert operations(graph) == {"mul": 1, "add": 1, "eq": 1, "select": 1, "sub": 1}


def test_planes_that_are_interleaved_again_are_selected_once() -> None:
    """Where the remainder is known, only the part for it is left."""
    program = Program()
    photo = program.image("photo", U16)
    left, right = (program.func(name, [x, y], photo(x * 2 + at, y)) for at, name in enumerate(("left", "right")))
    doubled = program.func("doubled", [x, y], left(x, y) * 2)
    summed = program.func("summed", [x, y], left(x, y) + right(x, y))
    program.func("out", [x, y], select((x % 2).equals(0), doubled(x // 2, y), summed(x // 2, y)))
    graph = agrees(program, (14, 4), (9, 3), margin=1)
    assert operations(graph) == {"mul": 1, "add": 1, "eq": 1, "select": 1}


def test_a_remainder_decides_what_is_selected_by_it_inside() -> None:
    program = Program()
    photo = program.image("photo", U16)
    a, b, d = photo(x, y), photo(x + 1, y), photo(x + 2, y)
    inside = select((x % 3).equals(2), a, select((x % 3).equals(0), b, d))
    program.func("out", [x, y], select((x % 3).equals(0), inside, select(x % 3 < 2, inside, b)))
    graph = agrees(program, (14, 4), (9, 3))
    assert operations(graph) == {"eq": 1, "lt": 1, "select": 2}


def test_two_levels_of_a_pyramid_are_right() -> None:
    program = Program()
    read = program.image("photo", U16)
    for name in ("fine", "coarse"):
        blur = program.func(f"{name}_blur", [x, y], read(x, y) * 3 + read(x + 1, y) + read(x, y + 1))
        read = program.func(name, [x, y], blur(x * 2, y * 2))
    for name in ("up", "out"):
        up = program.func(f"{name}_up", [x, y], read(x // 2, y // 2))
        read = program.func(name, [x, y], up(x, y) + up(x + 1, y))
    agrees(program, (24, 22), (9, 8), margin=4)


def test_unrolled_dimensions_are_planes() -> None:
    program = Program()
    photo = program.image("photo", U16, 3)
    program.func("out", [c, x, y], photo(x, y, c % 2) + cast(U16, c), bounds={"c": (1, 3)})
    graph = agrees(program)
    assert list(graph.results) == ["out_1", "out_2", "out_3"] and graph.dims == ("x", "y")
    assert graph.outputs["out_2"].plane == (2, None, None)


def test_images_of_three_dimensions_have_grids_of_three() -> None:
    program = Program()
    photo = program.image("photo", U16, 3)
    program.func("out", [x, y, c], photo(x, y, c) + photo(x + 1, y, c))
    assert lower(program.pipeline()).dims == ("x", "y", "c")


def test_outputs_are_lowered_together_or_one_by_one() -> None:
    program = Program()
    photo = program.image("photo", U16)
    blur = program.func("blur", [x, y], photo(x, y) + photo(x + 1, y))
    program.func("twice", [x, y], blur(x, y) * 2)
    pipeline = program.pipeline("blur", "twice")
    assert list(lower(pipeline).results) == ["blur", "twice"]
    assert list(lower(pipeline, "blur").results) == ["blur"]


def test_a_long_sum_in_one_expression_is_lowered() -> None:
    program = Program()
    photo = program.image("photo")
    total = photo(x, y)
    for column in range(1, 3000):
        total = total + photo(x + column, y)
    program.func("out", [x, y], total)
    assert operations(lower(program.pipeline())) == {"add": 2999, "and": 1}


def test_results_of_one_name_are_refused() -> None:
    program = Program()
    photo = program.image("photo", U8, 3)
    program.func("out", [x, y, c], photo(x, y, c), bounds={"c": (0, 2)})
    program.func("out_1", [x, y], photo(x, y, 0))
    with pytest.raises(UserError) as caught:
        lower(program.pipeline("out", "out_1"))
    assert caught.value.what == "two results are called out_1"


def test_a_chain_of_a_hundred_funcs_is_lowered() -> None:
    program = Program()
    read = program.image("photo", U16)
    for stage in range(100):
        read = program.func(f"stage{stage}", [x, y], read(x, y) + read(x + 1, y))
    assert operations(lower(program.pipeline())) == {"add": 100}
