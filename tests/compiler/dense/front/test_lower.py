from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from halide_ast import BOOL, F32, I8, I16, I32, U8, U16, E, Exact, Program, c, call, cast, high, low, of, select, x, y
from lower_programs import agrees, cascade, gaussian, harris, of_two, operations, rx, ry, shown, unsharp

from sardonyx.compiler.dense.front.lower import lower
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
