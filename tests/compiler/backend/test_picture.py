"""The picture: well-formed, the same every time, and everything that is placed or congested is in it."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest
from netlists import machine, random_graph

from sardonyx.compiler.backend.picture import RED, picture
from sardonyx.compiler.backend.place import place, slot_kinds, slots_of
from sardonyx.compiler.backend.pnr import place_and_route
from sardonyx.compiler.backend.route import Unroutable
from sardonyx.compiler.ir.mapped import LOAD, STORE, Block, MappedGraph, Net, Pin, Stream
from sardonyx.hw.arch import presets

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg, tag="text"):
    return ["".join(element.itertext()) for element in ElementTree.fromstring(svg).iter(SVG + tag)]


def small():
    arch = machine(5, 4)
    graph = random_graph(arch, {"pe": 8, "mem": 3, LOAD: 3, STORE: 2}, 16, 26)
    return arch, graph, *place_and_route(graph, arch)


def test_every_block_and_net_is_shown_and_explained():
    arch, graph, placement, routing = small()
    svg = picture(arch, graph, placement.tiles, routing, title="a < b", terms={"pe3": "B * C"})
    shown = {text.removeprefix("↓ ").removeprefix("↑ ") for text in texts(svg)}
    assert graph.blocks.keys() <= shown
    assert "a < b" in shown
    hover = texts(svg, "title")
    assert f"pe3: alu in pe {placement.tiles['pe3']}\nB * C" in hover
    for net in graph.nets:
        assert any(text.startswith(f"{net.name} → ") for text in hover)


@pytest.mark.parametrize("name,below", [("load C_vals", []), ("C_vals", [LOAD])])
def test_what_a_stream_does_is_said_once(name, below):
    graph = MappedGraph({name: Block(name, "io", "", {})}, (), (Stream(name, LOAD, "C_vals", 1),))
    shown = texts(picture(machine(2, 1), graph, {name: (0, 0)}))
    assert [text for text in shown if text in (LOAD, "C_vals")] == [*name.split(), *below]


def test_every_wire_in_use_is_drawn_inside_the_picture():
    arch, graph, placement, routing = small()
    root = ElementTree.fromstring(picture(arch, graph, placement.tiles, routing))
    width, height = float(root.get("width")), float(root.get("height"))
    lines = [path for path in root.iter(SVG + "path") if path.get("class") == "net"]
    paths = [path.get("d") for path in lines[:len(graph.nets)]]
    nodes = [arch.graph.nodes[node] for tree in routing.trees.values() for node in tree]
    assert sum(path.count("L") for path in paths) == sum(node.kind == "sb" for node in nodes)
    for path in paths:
        numbers = [float(n) for n in path.replace("M", " ").replace("L", " ").replace("C", " ").split()]
        assert all(0 <= x <= width for x in numbers[::2])
        assert all(0 <= y <= height for y in numbers[1::2])


def test_the_same_arguments_give_the_same_bytes():
    first, again = (picture(arch, graph, placement.tiles, routing)
                    for arch, graph, placement, routing in (small(), small()))
    assert first == again


def test_a_failure_is_drawn_in_red_with_the_nets_concerned():
    arch = machine(2, 1, tracks=1)
    graph = MappedGraph({name: Block(name, "pe", "alu", {}) for name in "ab"},
                        tuple(Net(Pin("a", f"res{n}"), (Pin("b", f"data{n}"),)) for n in range(3)), ())
    with pytest.raises(Unroutable) as error:
        place_and_route(graph, arch, attempts=1)
    svg = picture(arch, graph, error.value.tiles, error.value.routing)
    assert "not routed: 1 track is wanted by several nets" in texts(svg)
    assert any(text.startswith("track ") and text.endswith(": 3 nets: a.res0, a.res1, a.res2")
               for text in texts(svg, "title"))
    assert RED in svg
    assert RED not in picture(arch, graph, error.value.tiles).split("</style>")[1]


def test_unused_columns_and_rows_are_cropped_on_request():
    arch = presets.get("onyx")
    graph = random_graph(arch, {"pe": 4, "mem": 1, LOAD: 1, STORE: 1}, 6, 8)
    placement, routing = place_and_route(graph, arch)
    whole, part = (picture(arch, graph, placement.tiles, routing, crop=crop) for crop in (False, True))
    assert len(part) < len(whole) / 2
    assert "31" in texts(whole)
    assert any("the others are unused" in text for text in texts(part))
    assert not any("the others are unused" in text for text in texts(whole))


def test_a_placement_is_drawn_without_routes_and_on_both_layers():
    arch = machine(4, 4)
    graph = random_graph(arch, {"pe": 6, LOAD: 2, STORE: 2}, 8, 12)
    graph = replace(graph, nets=(*graph.nets, Net(Pin("pe0", "bit"), (Pin("pe1", "bit0"),), "bit")))
    tiles = place(slot_kinds(graph), graph.nets, slots_of(arch)).tiles
    assert not [text for text in texts(picture(arch, graph, tiles)) if text.endswith(" net")]
    placement, routing = place_and_route(graph, arch)
    assert {"data net", "bit net"} <= set(texts(picture(arch, graph, placement.tiles, routing)))


def test_long_names_are_cut_and_blocks_that_only_hold_tokens_are_dashed():
    arch = machine(4, 4)
    name = "a name that is far too long for any tile of the array to show"
    graph = MappedGraph({name: Block(name, "pe", "pass_through", {}, slack=True)}, (), ())
    svg = picture(arch, graph, {name: (1, 1)})
    assert "only holds tokens" in texts(svg)
    assert any(text.endswith("…") for text in texts(svg))
    assert any(text.startswith(name) for text in texts(svg, "title"))


def test_blocks_that_only_hold_tokens_say_for_which_input_and_are_told_apart():
    arch = machine(4, 4)
    sites = {f"slack repeat_B_j.data{port} {number}": (1, 1 + port + 2 * number) for port in (0, 1) for number in (0, 1)}
    graph = MappedGraph({name: Block(name, "pe", "pass_through", {}, slack=True) for name in sites}, (), ())
    shown = texts(picture(arch, graph, sites))
    for text in ("slack 0 of", "slack 1 of", "data0", "data1"):
        assert shown.count(text) == 2
    assert shown.count("repeat_B_j") == 4
    assert not any(text.endswith("…") for text in shown)
