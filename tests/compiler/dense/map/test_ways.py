"""Which way lanes part the columns of a tile: stripes, wherever they are read and stored as they lie."""

from dataclasses import replace

import pytest
from stencils import BLUR, plane, stencil

from sardonyx.compiler.dense.map.tiles import tiles
from sardonyx.compiler.dense.map.ways import walks
from sardonyx.compiler.ir.dataflow import Stream
from sardonyx.hw.arch import presets

SMALL = presets.get("small")
HALF = replace(BLUR, outputs={"out": replace(plane("out"), scale=(2, 2))})
TWICE = replace(stencil({(0, 0): 1}), inputs={"photo": Stream("photo", (1, 1), (0, 0), (2, 1), (None, None))})


@pytest.mark.parametrize("columns", [1, 2, 37, 64])
def test_stripes_are_taken_however_narrow_they_are(columns: int) -> None:
    """A row of four lanes has a column more each than of columns in turn."""
    first, other = walks(BLUR, (4 * columns, 30), 4)
    assert (first.striped, other.striped) == (True, False)
    assert first.grid.extents == (columns + 2, 32) and other.grid.extents == (columns + 1, 32)


def test_a_program_without_margins_takes_stripes_of_any_width() -> None:
    assert [each.striped for each in walks(stencil({(0, 0): 3}), (2, 1), 2)] == [True, False]


def test_what_is_asked_for_is_the_only_way() -> None:
    for stripes in (False, True):
        assert [each.striped for each in walks(BLUR, (64, 8), 2, stripes)] == [stripes]
    assert [each.striped for each in walks(BLUR, (64, 8), 1, True)] == [False], "a lane alone parts nothing"


def test_columns_in_turn_would_compute_what_a_smaller_result_does_not_have() -> None:
    assert [each.striped for each in walks(HALF, (16, 4), 2)] == [True]


def test_a_stripe_that_begins_within_an_element_is_not_the_better_way() -> None:
    assert [walks(TWICE, (columns, 4), 2)[0].striped for columns in (8, 10, 12)] == [True, False, True]


def test_the_best_tile_is_one_of_stripes() -> None:
    """Lines of a picture of 510 x 510 are full where four lanes take 256 columns."""
    queued = replace(SMALL, glb=replace(SMALL.glb, queue=True))
    found = {lanes: next(tiles(BLUR, (510, 510), lanes, {}, queued)) for lanes in (1, 2, 3, 4)}
    assert found == {1: ((102, 102), False), 2: ((102, 73), True), 3: ((171, 51), True), 4: ((256, 30), True)}


def test_a_tile_alone_is_wider_so_that_stripes_begin_with_elements() -> None:
    assert next(tiles(TWICE, (10, 4), 2, {}, SMALL)) == ((12, 4), True)


def test_columns_are_taken_in_turn_where_the_program_says_a_side_whose_stripes_would_not_lie() -> None:
    assert next(tiles(TWICE, (20, 4), 2, {"x": 10}, SMALL)) == ((10, 4), False)


def test_columns_in_turn_come_last_where_nobody_says_which_way() -> None:
    """For stripes whose wires cannot be evened out."""
    assert list(tiles(BLUR, (96, 10), 2, {}, SMALL)) == [((96, 10), True), ((96, 10), False)]
    assert list(tiles(BLUR, (96, 10), 2, {}, SMALL, stripes=True)) == [((96, 10), True)]
