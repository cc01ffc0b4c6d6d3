"""Masks: what programs may use of a machine, and descriptions that have one."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.hw.arch import cgra, presets
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.interconnect import pieces
from sardonyx.hw.arch.mask import Mask

TINY, SMALL, ONYX = map(presets.get, ("tiny", "small", "onyx"))
sites = st.tuples(st.integers(0, 7), st.integers(0, 8))
masks = st.builds(Mask, st.lists(sites, max_size=30).map(tuple), st.lists(st.integers(0, 7), max_size=4).map(tuple))


def test_a_mask_is_sorted_and_has_each_tile_once() -> None:
    assert Mask(((3, 5), (1, 2), (3, 5)), (2, 0, 2)) == Mask(((1, 2), (3, 5)), (0, 2))
    assert Mask.block(np.arange(2), range(1, 3)) == Mask(((0, 1), (0, 2), (1, 1), (1, 2)))
    assert Mask(((1, 1),)) | Mask(glb=(1,)) == Mask(((1, 1),), (1,))
    assert not Mask() and Mask(((0, 0),)) and Mask(glb=(0,))


def test_a_mask_names_its_first_tiles() -> None:
    assert Mask(((3, 5),), (1,)).text() == "tile (3, 5), GLB tile 1"
    assert Mask.block(range(2), range(5)).text(2) == "tile (0, 0), tile (0, 1) and 8 more"


@given(masks)
def test_a_masked_description_reads_back_and_is_the_same_machine(mask: Mask) -> None:
    arch = replace(SMALL, avoid=mask)
    again = cgra.from_json(json.loads(json.dumps(arch.to_json())))
    assert again == arch and again.fingerprint == SMALL.fingerprint
    assert ("avoid" in arch.to_json()) == bool(mask)


@given(masks)
def test_what_is_usable_is_one_piece_of_what_is_not_avoided(mask: Mask) -> None:
    arch = replace(SMALL, avoid=mask)
    assert arch.usable.keys() <= SMALL.tiles.keys() - set(mask.tiles)
    assert len(pieces(arch.usable)) <= 1
    assert set(arch.stream_tiles) == {x for x, y in arch.usable if y == 0} - set(mask.glb)
    assert {(node.x, node.y) for node in arch.graph.nodes} == arch.usable.keys()
    # No wire leads to a tile that may not be used, so none is in two trees that end apart.
    sinks = {source for each in arch.graph.sources for source in each}
    assert all(number in sinks for number, node in enumerate(arch.graph.nodes) if node.kind == "sb")


def test_without_a_mask_all_tiles_are_usable() -> None:
    for arch in presets.PRESETS.values():
        assert arch.usable is arch.tiles and arch.stream_tiles == tuple(range(arch.glb_tiles))
        assert "avoid" not in arch.to_json()


def test_of_several_pieces_that_of_the_most_tiles_is_usable_if_it_has_a_stream() -> None:
    row = replace(SMALL, avoid=Mask.block(range(8), [3]))
    assert {y for _, y in row.usable} == {0, 1, 2}, "the rows below are more, but have no streams"
    column = replace(SMALL, avoid=Mask.block([3], range(9)))
    assert {x for x, _ in column.usable} == {4, 5, 6, 7}
    assert replace(TINY, avoid=Mask.block(range(4), range(5))).usable == {}
    assert replace(TINY, avoid=Mask.block(range(4), range(5))).stream_tiles == ()


def test_a_tile_of_the_global_buffer_has_streams_while_one_of_its_columns_has_a_link() -> None:
    assert replace(ONYX, avoid=Mask(((0, 0), (2, 0), (3, 0)))).stream_tiles == (0, *range(2, 16))
    assert replace(ONYX, avoid=Mask(((1, 1),), (5,))).stream_tiles == (*range(5), *range(6, 16))


@pytest.mark.parametrize("avoid,message", [
    ({"tiles": [[8, 1]]}, "m.json: avoid.tiles have (8, 1), which the machine has not\n"
                          "  try: give columns 0..7 and rows 0..8, row 0 being the IO tiles"),
    ({"glb": [8]}, "m.json: avoid.glb has 8, which the machine has not\n  try: give GLB tiles 0..7"),
    ({"tiles": 5}, "m.json: avoid.tiles is 5\n"
                   "  try: give a tuple, each a tuple of a whole number 0..255, a whole number 0..254"),
    ({"tiles": [[1]]}, "m.json: avoid.tiles is of type tuple\n"
                       "  try: give a tuple, each a tuple of a whole number 0..255, a whole number 0..254"),
    ({"glb": [-1]}, "m.json: avoid.glb is of type tuple\n  try: give a tuple, each a whole number 0..255"),
    ({"rows": [1]}, "m.json: unknown field 'rows' in avoid\n  try: fields are glb, tiles"),
    (3, "m.json: avoid is not a table of fields\n  try: fields are glb, tiles")])
def test_masks_that_a_machine_cannot_have_are_refused(avoid: object, message: str) -> None:
    with pytest.raises(UserError) as error:
        cgra.from_json(SMALL.to_json() | {"avoid": avoid}, "m.json")
    assert str(error.value) == message


def test_a_part_of_a_machine_has_its_part_of_the_mask() -> None:
    mask = Mask(((4, 1), (7, 2), (8, 3)), (2, 3, 4))
    assert mask.part(2, 2, 2) == Mask(((0, 1), (3, 2)), (0, 1))
    assert mask.part(0, 2, 2) == Mask()
