"""Which way lanes part the columns of a tile: stripes, unless they cost cycles."""

from dataclasses import replace

import pytest
from stencils import BLUR, plane, stencil

from sardonyx.compiler.dense.map.tiles import tiles
from sardonyx.compiler.dense.map.ways import MOST, walks
from sardonyx.compiler.ir.dataflow import Stream
from sardonyx.hw.arch import presets

SMALL = presets.get("small")
HALF = replace(BLUR, outputs={"out": replace(plane("out"), scale=(2, 2))})
TWICE = replace(stencil({(0, 0): 1}), inputs={"photo": Stream("photo", (1, 1), (0, 0), (2, 1), (None, None))})


@pytest.mark.parametrize("columns, striped", [(37, False), (48, False), (49, True), (64, True)])
def test_stripes_are_taken_where_they_have_hardly_more_points(columns: int, striped: bool) -> None:
    """A row of four lanes has a column more each: 51 in place of 50 are 2 %."""
    first, other = walks(BLUR, (4 * columns, 30), 4)
    assert (first.striped, other.striped) == (striped, not striped)
    assert first.grid.points <= MOST * other.grid.points


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


def test_of_the_best_tiles_of_both_ways_that_of_stripes_is_taken_if_it_costs_hardly_more() -> None:
    """Lines of a picture of 510 x 510 are full where four lanes take 256 columns; three would take stripes of 34."""
    queued = replace(SMALL, glb=replace(SMALL.glb, queue=True))
    found = {lanes: next(tiles(BLUR, (510, 510), lanes, {}, queued)) for lanes in (1, 2, 3, 4)}
    assert found == {1: ((102, 102), False), 2: ((102, 73), True), 3: ((102, 73), False), 4: ((256, 30), True)}
