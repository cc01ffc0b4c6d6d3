"""Which Halide programs are matrix products, and how many tiles these take."""

from dataclasses import replace

import halide as hl
import numpy as np
import pytest
from halide_programs import image, load, noise
from hypothesis import given, settings
from hypothesis import strategies as st

import sardonyx.halide
from sardonyx.apps.dense import matrix_product
from sardonyx.compiler.dense.map.product import Product, find, steps, weights_of
from sardonyx.compiler.halide import compile_product
from sardonyx.compiler.ir.dataflow import Ref, Stream
from sardonyx.compiler.ir.pe_graph import Held, PeGraph, PeNode, PeOperand, Running, pe_faults
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.tile import PE, TileSpec

W, Y = hl.Var("w"), hl.Var("y")


def product(terms: int = 5, start: int = 0, turned: bool = False, wide: bool = False) -> hl.Func:
    """left(w, r) * right(r, y), both the other way round if turned; wide: added up in 32 bits."""
    left, right, r = image("left", "int8" if wide else "int16"), image("right", "int16"), hl.RDom([(start, terms)], "r")
    a, b = (left[r, W], right[Y, r]) if turned else (left[W, r], right[r, Y])
    out = hl.Func("out")
    if wide:
        out[W, Y] = hl.i16(hl.sum(hl.i32(b) * hl.i32(a)))
    else:
        out[W, Y] = hl.i16(0)
        out[W, Y] += a * b
    return out


def found(func: hl.Func) -> Product:
    result = find(load(func))
    assert result is not None
    return result


def test_forms_of_a_product() -> None:
    plain = found(product())
    assert (plain.name, plain.left.image, plain.right.image, plain.start, plain.terms) == ("out", "left", "right", 0, 5)
    assert (plain.left.turned, plain.right.turned) == (True, False)
    assert plain.products == 1
    turned = found(product(start=2, turned=True))
    assert (turned.left.turned, turned.right.turned, turned.start) == (False, True, 2)
    assert found(product(wide=True)).left.image == "left"
    assert found(matrix_product.build(12, 4)).products == 4


@pytest.mark.parametrize("pe", [replace(PE, register_words=0), replace(PE, register_schedules=False)])
def test_pes_that_keep_no_words_are_refused(pe: TileSpec) -> None:
    with pytest.raises(UserError) as error:
        steps(found(product()), 1, replace(presets.get("small"), pe=pe))
    assert str(error.value) == ("Func out: a matrix product keeps weights and sums in register files with schedules, which the "
                                "PEs of 'small' do not have\n  try: choose another machine (arch='small')")


def test_what_is_no_product_is_left_to_others() -> None:
    left, right, r = image("left", "int16"), image("right", "int16"), hl.RDom([(0, 5)], "r")
    shifted, started, narrow, thrice = (hl.Func(name) for name in ("shifted", "started", "narrow", "thrice"))
    shifted[W, Y] = hl.i16(0)
    shifted[W, Y] += left[W + 1, r] * right[r, Y]
    started[W, Y] = hl.i16(1)
    started[W, Y] += left[W, r] * right[r, Y]
    narrow[W, Y] = hl.i16(hl.i8(hl.sum(left[W, r] * right[r, Y])))
    thrice[W, Y] = hl.i16(0)
    thrice[W, Y] += left[W, r] * right[r, Y] * right[r, Y]
    assert [find(load(func)) for func in (shifted, started, narrow, thrice)] == [None] * 4


@pytest.mark.parametrize(("terms", "pes", "streams"), [(4, 16, 8), (64, 16 + 8 + 3, 5), (65, 16 + 8 + 4, 6)])
def test_four_by_four_takes_a_pe_a_product_a_sum_a_row_that_waits_and_two_that_are_joined(terms: int, pes: int,
                                                                                          streams: int) -> None:
    """And one for sums of the run before, all of which come on a stream. Rows of one step are stored lane by lane."""
    arch = presets.get("onyx")
    each = found(matrix_product.build(terms))
    compiled = compile_product(each, arch, weights_of(each, 4, 16, 16, arch), 16)
    assert (compiled.graph.count("pe"), compiled.graph.count("io")) == (pes, streams)
    assert steps(each, 4, arch) == min(16, -(-terms // 4))


@pytest.mark.parametrize(("terms", "lanes", "wanted"), [(60, 4, 16), (60, 2, 15), (40, 4, 10), (64, 4, 16), (124, 4, 16)])
def test_a_step_more_closes_the_gaps_of_lines(terms: int, lanes: int, wanted: int) -> None:
    """Of fifteen, where four lanes are computed at once; not of ten."""
    assert steps(found(matrix_product.build(terms)), lanes, presets.get("onyx")) == wanted


@pytest.mark.parametrize("engine", ["tokens", "fabric"])
@pytest.mark.parametrize(("turned", "wide"), [(False, False), (True, False), (False, True)])
def test_products_are_those_of_numpy(engine: str, turned: bool, wide: bool) -> None:
    left, right = noise("int8" if wide else "int16", (40, 7)), noise("int16", (19, 40), 1)
    images = {"left": left.T if turned else left, "right": right.T if turned else right}
    result = sardonyx.halide.run(product(37, 3, turned, wide), inputs=images, engine=engine, arch="small", unroll=2)
    assert np.array_equal(result.value, right[:, 3:] @ left[3:].astype(np.int16))


def test_weights_may_be_a_constant_buffer() -> None:
    weights, images = noise("int16", (9, 3)), noise("int16", (4, 9), 1)
    buffer, right, r, out = hl.Buffer(weights), image("right", "int16"), hl.RDom([(0, 9)], "r"), hl.Func("out")
    out[W, Y] = hl.i16(0)
    out[W, Y] += buffer[W, r] * right[r, Y]
    result = sardonyx.halide.run(out, inputs={"right": images}, engine="fabric", arch="small", unroll=3)
    assert np.array_equal(result.value, images @ weights)


@settings(max_examples=25)
@given(terms=st.integers(1, 90), columns=st.integers(1, 9), rows=st.integers(1, 20), unrolled=st.integers(1, 3),
       seed=st.integers(0, 9))
def test_any_size_on_the_decoded_bitstream(terms: int, columns: int, rows: int, unrolled: int, seed: int) -> None:
    weights, images = noise("int16", (terms, columns), seed), noise("int16", (rows, terms), seed + 1)
    result = sardonyx.halide.run(matrix_product.build(terms, unrolled), inputs={"weights": weights, "rows": images},
                                 engine="fabric", arch="small", tile=(unrolled, 7))
    assert np.array_equal(result.value, images @ weights)


def test_a_tile_that_is_not_as_wide_as_the_columns_computed_at_once() -> None:
    with pytest.raises(UserError, match="tile of 8 x 8 for a matrix product with 4 columns at once"):
        sardonyx.halide.run(matrix_product.build(4), inputs={"weights": noise("int16", (4, 4)), "rows": noise("int16", (4, 4))},
                            engine="tokens", tile=(8, 8))


@pytest.mark.parametrize(("operands", "fault"), [
    ({"a": Ref(0, (0, 0)), "b": Held("b", (0,)), "d": 0}, "it was operand b, which is no stream of words"),
    ({"a": Ref(0, (0, 0)), "b": Held("a", (0, 0)), "d": 0}, "it was at (0, 0), on a grid of 2 dimensions"),
    ({"a": Ref(0, (0, 0)), "b": 0, "d": Running()}, "the register file holds words, not flags")])
def test_faults_of_words_that_are_kept(operands: dict[str, PeOperand], fault: str) -> None:
    whole = Stream("photo", (1, 1), (0, 0), (1, 1), (None, None))
    nodes = (PeNode("input", name="photo"), PeNode("adc", operands))
    graph = PeGraph(("x", "y"), nodes, {"photo": whole}, {"out": Ref(1, (0, 0))}, {"out": whole})
    assert any(each.endswith(fault) for each in pe_faults(graph))


def test_more_columns_than_the_machine_has_streams() -> None:
    with pytest.raises(UserError, match="needs 9 store streams, has 8"):
        sardonyx.halide.run(matrix_product.build(4, 1), engine="tokens", arch="small", unroll=9,
                            inputs={"weights": noise("int16", (4, 9)), "rows": noise("int16", (4, 4))})


@pytest.mark.parametrize(("terms", "unrolled", "arch", "text"), [
    (64, 4, "onyx", "4 of at most 16: GLB tiles (17 lanes need 17 store streams, 'onyx' has 16 with one of each)"),
    (64, 2, "small", "2 of at most 12: PE tiles (13 lanes need 52 or more, 'small' has 48)"),
    (8, 2, "small", "2 of at most 8: GLB tiles (9 lanes need 9 store streams, 'small' has 8 with one of each)"),
    (12, 6, "small", "6 of at most 6: PE tiles (7 lanes need 49 or more, 'small' has 48)")])
def test_the_report_names_what_ends_the_columns(terms: int, unrolled: int, arch: str, text: str) -> None:
    result = sardonyx.halide.run(matrix_product.build(terms, unrolled), engine="tokens", arch=arch,
                                 inputs={"weights": noise("int16", (terms, 9)), "rows": noise("int16", (3, terms))})
    assert result.report["lanes"] == text
    assert result.report["schedule"] == (f"{unrolled} terms at once; tile {unrolled} x 3 by default, "
                                         f"{unrolled} lanes from the program")


def test_rows_of_a_tile_come_from_the_schedule_and_what_is_no_walk_is_refused() -> None:
    images = {"left": noise("int16", (4, 9)), "right": noise("int16", (20, 4))}
    rows, outer, inner = product(4), hl.Var("outer"), hl.Var("inner")
    rows.update().split(Y, outer, inner, 8).parallel(outer)
    report = sardonyx.halide.run(rows, inputs=images, engine="tokens").report
    assert report["tile"] == "1 x 8"
    assert report["schedule"] == ("1 terms at once; tile 1 x 8 from the program along y, 1 lane by default; "
                                  "not used: parallel y.outer")

    wide = product(4)
    wide.update().split(W, outer, inner, 3)
    with pytest.raises(UserError, match="tile of 3 x any for a matrix product with 1 columns at once"):
        sardonyx.halide.run(wide, inputs=images, engine="tokens")

    apart, far, near = product(4), hl.RVar("far"), hl.RVar("near")
    apart.update().split(hl.RVar("r$x"), far, near, 2).unroll(far)
    with pytest.raises(UserError, match="far is unrolled"):
        sardonyx.halide.run(apart, inputs=images, engine="tokens")


def test_no_columns_at_once() -> None:
    with pytest.raises(UserError, match="unroll: it is 0, but has to be 1 or more"):
        sardonyx.halide.run(product(4), inputs={"left": noise("int16", (4, 9)), "right": noise("int16", (20, 4))},
                            engine="tokens", unroll=0)
