"""Matrix products in Verilog whose factors have their terms in columns: they come as they lie, whatever sizes there are."""

from dataclasses import replace

import halide as hl
import numpy as np
import pytest
from halide_programs import image, load, noise
from hypothesis import given, settings
from hypothesis import strategies as st
from stencil_machine import STENCILS

import sardonyx.halide
from sardonyx.compiler.dense.map.product import find, weights_of
from sardonyx.compiler.halide import compile_product
from sardonyx.hw.arch.cgra import Arch
from sardonyx.runtime import host
from sardonyx.runtime.data.products import Products
from sardonyx.runtime.plan import loops_of_transactions
from sardonyx.sim.rtl import simulator

X, Y = hl.Var("x"), hl.Var("y")
# As many MEM tiles as store streams.
PLAIN = replace(STENCILS, name="products", rows=4)
QUEUED = replace(PLAIN, name="queued products", glb=replace(PLAIN.glb, queue=True))


def product(terms: int, unrolled: int = 1, lanes: int = 4, turns: str = "left") -> hl.Func:
    """left(x, r) * right(r, y), as NumPy's ``right @ left``; other factors with their terms in columns: right(y, r)."""
    left, right = image("left", "int16"), image("right", "int16")
    r, out = hl.RDom([(0, terms)], "r"), hl.Func("out")
    out[X, Y] = hl.i16(0)
    out[X, Y] += (left[X, r] if "left" in turns else left[r, X]) * (right[Y, r] if "right" in turns else right[r, Y])
    outer, inner = hl.RVar("outer"), hl.RVar("inner")
    out.update().unroll(X, lanes).split(r, outer, inner, unrolled).unroll(inner)
    return out


@pytest.mark.parametrize(("arch", "terms", "rows", "turns", "lanes"), [
    (PLAIN, 8, 5, "left", 4), (PLAIN, 10, 51, "left", 4), (QUEUED, 10, 51, "left", 4), (PLAIN, 7, 8, "left right", 4),
    (QUEUED, 7, 8, "left right", 4), (PLAIN, 16, 4, "right", 4), (PLAIN, 9, 96, "right", 3), (QUEUED, 9, 96, "right", 3),
    # As many steps as lanes, and three, which lanes have streams of their own for.
    (QUEUED, 4, 8, "", 4), (PLAIN, 3, 8, "", 2)],
    ids=lambda each: each.name if isinstance(each, Arch) else str(each))
def test_factors_are_walked_where_they_lie(arch: Arch, terms: int, rows: int, turns: str, lanes: int) -> None:
    found = find(load(product(terms, turns=turns)))
    assert found is not None
    weights = weights_of(found, lanes, rows, 1 << 16, arch)
    compiled = compile_product(found, arch, weights, rows)
    assert (weights.left, weights.right) == ("left" in turns, "right" in turns)
    assert [each.name for each in compiled.walk.stores] == (["out"] if terms > 3 else ["out.0", "out.1"])

    @settings(max_examples=8)
    @given(st.integers(1, 19), st.integers(1, 2 * rows + 3), st.integers(1, terms), st.integers(0, 9))
    def each(width: int, height: int, some: int, seed: int) -> None:
        left, right = noise("int16", (some, width), seed), noise("int16", (height, some), seed + 1)
        whole = Products(compiled.walk, left.T, right, "out", lanes, rows, terms, weights)
        transactions = list(whole.transactions(loops_of_transactions(arch.glb)))
        with simulator.whole_machine(arch).start(check=True) as machine:
            ran = list(host.run(machine, compiled.program, transactions, chained=arch is QUEUED))
        picture = whole.picture(stored for one in ran for stored in one.stored)
        assert np.array_equal(picture.astype(np.int16), right @ left)
        assert all((one.arranged, one.tiled) == (0, 0) and one.lying and one.placed for one in ran)

    each()


@pytest.mark.parametrize(("terms", "unrolled", "turns"), [(37, 4, "left"), (20, 2, "left"), (23, 3, "left right")])
def test_streams_that_begin_within_lines(terms: int, unrolled: int, turns: str) -> None:
    """Ten terms of each of four streams, of two, and eight of three, in three tiles of columns and two of rows."""
    left, right = noise("int16", (terms, 11)), noise("int16", (103, terms), 1)
    report = check(product(terms, unrolled, turns=turns), left, right, turns, "rtl", (4, 52))
    assert report["words_in"].endswith(" as they lie in images, 0 arranged") and "turned" not in report


@pytest.mark.parametrize(("terms", "unrolled", "turns"), [
    (16, 4, "left"), (40, 4, "left"), (10, 2, "left right"), (32, 4, "right"),
    # In two runs, and in three, with sums of those before.
    (70, 4, "left"), (67, 1, "left right")])
def test_firmware_brings_factors_as_they_lie(terms: int, unrolled: int, turns: str) -> None:
    left, right = noise("int16", (terms, 13)), noise("int16", (60, terms), 1)
    report = check(product(terms, unrolled, turns=turns), left, right, turns, "rtl-system", (4, 60))
    assert report["words_in"].endswith(" as they lie in images, 0 arranged") and "turned" not in report
    assert report["words_out"].endswith(" as they lie in images, 0 tile by tile") and "joined" not in report


def test_lanes_that_no_line_divides_take_sums_of_the_run_before() -> None:
    """Seven lanes in three runs, whose sums come and leave in order."""
    left, right = noise("int16", (150, 17)), noise("int16", (23, 150), 1)
    report = check(product(150, 2, 7, "right"), left, right, "right", "rtl", (7, 12))
    assert "joined" not in report


def test_the_report_says_why_the_host_joins_columns() -> None:
    left, right = noise("int16", (8, 9)), noise("int16", (5, 8), 1)
    for terms, lanes, why in ((3, 2, "2 columns at once take rows of 4 steps, and these have 3"),
                              (6, 7, "7 columns at once take rows of 7 steps, and these have 6")):
        report = check(product(terms, 1, lanes), left[:terms], right[:, :terms], "left", "fabric", None)
        assert report["joined"] == f"by the host: {why}"


def test_the_report_says_what_the_host_turns() -> None:
    left, right = noise("int16", (5, 6)), noise("int16", (9, 5), 1)
    for terms, lanes, turns, tile, why in (
            (5, 2, "left", None, "left by the host: 2 columns at once are no multiple of 4"),
            (5, 2, "left right", None, "left and right by the host: 2 columns at once are no multiple of 4"),
            (5, 4, "left right", (4, 6), "left and right by the host: tiles of such rows begin within lines of 4"),
            (3, 4, "left", None, "left by the host: lines of 3 terms would take longer, or begin within lines")):
        report = check(product(terms, 1, lanes, turns), left[:terms], right[:, :terms], turns, "fabric", tile)
        assert report["turned"] == why


def check(func: hl.Func, left: np.ndarray, right: np.ndarray, turns: str, engine: str, tile: "tuple[int, int] | None"
          ) -> "dict[str, str]":
    """The report of a product, equal to NumPy's."""
    inputs = {"left": left if "left" in turns else np.ascontiguousarray(left.T),
              "right": np.ascontiguousarray(right.T) if "right" in turns else right}
    result = sardonyx.halide.run(func, inputs=inputs, engine=engine, arch="small", tile=tile)
    assert np.array_equal(result.value, right @ left)
    return {name: str(each) for name, each in result.report.items()}
