"""The interconnect: turns, fan-in, routing graph."""

import pytest

from sardonyx.hw.arch import presets
from sardonyx.hw.arch.interconnect import SWITCH_BOXES, Interconnect
from sardonyx.hw.arch.tile import LAYERS, PE, SIDES


@pytest.mark.parametrize("box", SWITCH_BOXES)
@pytest.mark.parametrize("tracks", [1, 2, 3, 5, 8])
def test_every_entering_track_leaves_on_one_track_of_each_other_side(box, tracks):
    interconnect = Interconnect(tracks, box)
    for side in SIDES:
        for to in SIDES:
            if side != to:
                assert {interconnect.turn(side, track, to) for track in range(tracks)} == set(range(tracks))


@pytest.mark.parametrize("box", SWITCH_BOXES)
def test_turning_back_returns_to_the_same_track(box):
    interconnect = Interconnect(5, box)
    for a, b in (("n", "e"), ("e", "s"), ("s", "w"), ("w", "n")):
        for track in range(5):
            assert interconnect.turn(b, interconnect.turn(a, track, b), a) == track


def test_wilton_reaches_every_track_where_disjoint_keeps_one():
    def reachable(box):
        interconnect = Interconnect(5, box)
        found = {("w", 0)}
        while True:
            more = {(to, interconnect.turn(side, track, to)) for side, track in found for to in SIDES if to != side} | found
            if more == found:
                return {track for _, track in found}
            found = more

    assert reachable("disjoint") == {0}
    assert reachable("wilton") == set(range(5))


def test_connection_boxes_take_every_entering_track():
    assert len(Interconnect(5).fanin(PE, "data")["data0"]) == 20


@pytest.mark.parametrize("name", ["tiny", "small"])
def test_select_codes_and_sources_agree(name):
    arch = presets.get(name)
    graph = arch.graph
    for sink, sources in enumerate(graph.sources):
        for source in sources:
            assert graph.source_of(sink, graph.select(sink, source)) == source


def test_every_hop_changes_parity():
    graph = presets.get("small").graph
    for sink, sources in enumerate(graph.sources):
        for source in sources:
            a, b = graph.nodes[source], graph.nodes[sink]
            distance = abs(a.x - b.x) + abs(a.y - b.y)
            assert distance == (1 if a.kind == "sb" else 0)


def test_fanout_is_the_transpose_of_the_sources():
    graph = presets.get("tiny").graph
    edges = {(s, t) for t, sources in enumerate(graph.sources) for s in sources}
    found = {(s, int(t)) for s in range(len(graph.nodes))
             for t in graph.fanout_idx[graph.fanout_ptr[s]:graph.fanout_ptr[s + 1]]}
    assert found == edges


def test_wires_that_leave_the_array_are_not_in_the_graph():
    arch = presets.get("tiny")
    names = {(n.x, n.y, n.name) for n in arch.graph.nodes if n.kind == "sb"}
    assert (0, 1, "w0") not in names and (3, 4, "s0") not in names and (0, 1, "n0") in names


def test_onyx_has_the_tiles_of_the_paper():
    kinds = [tile.kind for tile in presets.get("onyx").tiles.values()]
    assert (kinds.count("pe"), kinds.count("mem"), kinds.count("io")) == (384, 128, 32)


def test_layers_have_the_widths_of_the_paper():
    assert tuple(presets.get("onyx").interconnect.widths[layer] for layer in LAYERS) == (17, 1)
    assert tuple(presets.get("amber").interconnect.widths[layer] for layer in LAYERS) == (16, 1)
