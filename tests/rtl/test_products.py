"""Matrix products in generated Verilog."""

import numpy as np
import pytest
from halide_programs import noise
from stencil_machine import CORNERS, STENCILS

import sardonyx.halide
from sardonyx.apps.dense import matrix_product
from sardonyx.compiler.ir.program import STATIC
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.cgra import Arch
from sardonyx.sim.rtl import simulator

MACHINES = {"stencils": STENCILS, "onyx": presets.get("onyx")}


def run(arch: Arch, engine: str, terms: int, unrolled: int, columns: int, rows: int, tile: int) -> sardonyx.halide.Result:
    """The product of random matrices on an engine, equal to NumPy."""
    weights, images = noise("int16", (terms, columns)), noise("int16", (rows, terms), 1)
    result = sardonyx.halide.run(matrix_product.build(terms, unrolled), inputs={"weights": weights, "rows": images},
                                 engine=engine, arch=arch, tile=(unrolled, tile))
    assert np.array_equal(result.value, images @ weights)
    return result


@pytest.mark.parametrize(("terms", "unrolled"), [(1, 1), (2, 2), (31, 1), (61, 1), (41, 2)])
def test_products_of_one_step_of_several_and_in_several_runs(terms: int, unrolled: int) -> None:
    run(STENCILS, "rtl-full", terms, unrolled if terms != 41 else 1, 3, 7, 5)


def test_factors_come_and_products_go_as_they_lie() -> None:
    """Five terms in rows of lines, weights and rows of every tile; a row of six tiles."""
    report = run(STENCILS, "rtl-full", 5, 1, 6, 7, 7).report
    assert report["words_in"] == f"{6 * (1 + 7) * 8} as they lie in images, 0 arranged"
    assert report["words_out"] == f"{7 * 8} as they lie in images, 0 tile by tile"


@pytest.mark.parametrize(("terms", "unrolled", "columns", "rows", "tile"), [
    (5, 2, 2, 7, 2), (11, 2, 4, 9, 3), (7, 1, 6, 13, 2), (9, 2, 2, 5, 5)], ids=str)
def test_products_of_few_columns_of_tiles_and_of_several_rows_come_and_go_as_they_lie(
        terms: int, unrolled: int, columns: int, rows: int, tile: int) -> None:
    report = run(STENCILS, "rtl-full", terms, unrolled, columns, rows, tile).report
    assert report["words_in"].endswith(" as they lie in images, 0 arranged")
    assert report["words_out"].endswith(" as they lie in images, 0 tile by tile")


def test_a_specialised_machine_takes_the_same_cycles() -> None:
    cycles = [run(STENCILS, engine, 23, 2, 5, 9, 6).cycles for engine in ("rtl", "rtl-full")]
    assert cycles[0] == cycles[1]


@pytest.mark.slow
def test_four_by_four_on_onyx_adds_up_sixteen_products_a_cycle() -> None:
    result = run(MACHINES["onyx"], "rtl", 64, 4, 64, 64, 64)
    # Sixteen launches, each with weights for 4 x 16 cycles in front of 64 rows of 16 steps.
    assert result.cycles is not None
    assert 16 * (64 + 4) * 16 <= result.cycles <= 16 * ((64 + 4) * 16 + 100)


@pytest.mark.slow
def test_four_by_four_takes_the_same_cycles_folded_and_reconfigurable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(simulator.LIBRARY_TILE_CYCLES, STATIC, 1)
    cycles = [run(CORNERS, engine, 32, 4, 8, 20, 20).cycles for engine in ("rtl", "rtl-full")]
    assert cycles[0] == cycles[1]
