"""Place and route with a mask: nothing of what is avoided is used, and what does not fit is told with what is avoided."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from netlists import check_placed, check_routed, machine, random_graph
from stencils import BLUR

from sardonyx.compiler.backend.encode import decode, encode
from sardonyx.compiler.backend.picture import picture
from sardonyx.compiler.backend.place import Chains, slot_kinds, slots_of
from sardonyx.compiler.backend.pnr import place_and_route
from sardonyx.compiler.backend.route import Unroutable, route
from sardonyx.compiler.einsum import compile_einsum
from sardonyx.compiler.halide import compile_pes
from sardonyx.compiler.ir.mapped import LOAD, STORE, MappedGraph, Net, Pin
from sardonyx.compiler.ir.transfer import placed
from sardonyx.compiler.lang.kernel import load_kernel
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.mask import Mask

SMALL = presets.get("small")


def avoided(arch, tiles, nodes):
    """What of the mask a placement or a routing uses: tiles, links, and switch boxes with the tracks that leave them."""
    used = set(tiles.values()) | {arch.graph.nodes[node][:2] for node in nodes}
    streams = {x // arch.glb.columns_per_tile for x, y in tiles.values() if y == 0}
    return used & set(arch.avoid.tiles) | streams & set(arch.avoid.glb)


@settings(max_examples=30)
@given(st.data())
def test_nothing_that_is_avoided_is_used_and_all_is_legal(data):
    per_glb = data.draw(st.integers(1, 2))
    whole = machine(per_glb * data.draw(st.integers(3, 5)), data.draw(st.integers(4, 6)), per_glb=per_glb)
    tiles = data.draw(st.lists(st.sampled_from(sorted(whole.tiles)), max_size=12))
    arch = replace(whole, avoid=Mask(tuple(tiles), tuple(data.draw(st.lists(st.integers(0, whole.glb_tiles - 1), max_size=1)))))
    have = Counter(tile.kind for tile in arch.usable.values())
    counts = {kind: data.draw(st.integers(0, have[kind])) for kind in ("pe", "mem")}
    counts |= {kind: data.draw(st.integers(0, len(arch.stream_tiles))) for kind in (LOAD, STORE)}
    graph = random_graph(arch, counts, 10, 14, data.draw(st.integers(0, 99)))
    # From a tile that has one neighbour no wire leads back to it.
    graph = replace(graph, nets=tuple(net for net in graph.nets if net.source.block not in {pin.block for pin in net.sinks}))
    try:
        placement, routing = place_and_route(graph, arch)
        check_placed(slot_kinds(graph), slots_of(arch), placement.tiles)
        check_routed(arch.graph, graph.nets, placement.tiles, routing)
        tiles = placement.tiles
    except Unroutable as error:
        assert error.routing.shared, "corridors of a tile's width do not take everything, but lead everywhere"
        tiles, routing = error.tiles, error.routing
    assert not avoided(arch, tiles, {node for tree in routing.trees.values() for node in tree})


def test_most_programs_are_routed_around_holes():
    """Holes of a tenth of all tiles: of what a fifth of the array is asked for, all is routed."""
    holes = tuple((x, y) for x in range(32) for y in range(17) if (x * 7 + y * 3) % 11 == 0)
    arch = replace(presets.get("onyx"), avoid=Mask(holes))
    for seed in range(8):
        graph = random_graph(arch, {"pe": 70, "mem": 25, LOAD: 8, STORE: 6}, 70, 120, seed)
        placement, routing = place_and_route(graph, arch, seed=seed)
        check_routed(arch.graph, graph.nets, placement.tiles, routing)
        assert not avoided(arch, placement.tiles, {node for tree in routing.trees.values() for node in tree})


@settings(max_examples=10)
@given(st.sets(st.tuples(st.integers(0, 7), st.integers(1, 8)), max_size=14), st.sets(st.integers(0, 7), max_size=1))
def test_no_register_of_an_avoided_tile_is_written_by_a_program(tiles, glb):
    arch = replace(SMALL, avoid=Mask(tuple(tiles), tuple(glb)))
    try:
        compiled = [compile_einsum(load_kernel("vec_elemmul").einsum(), arch)]
    except UserError as refusal:
        assert "too large for 'small' without" in refusal.what or "still share" in refusal.what
        compiled = []
    for each in compiled:
        assert not each.program.config.keys() & tiles
        assert not {transfer.column for transfer in each.program.transfers} & glb


def test_dense_programs_avoid_tiles_too():
    arch = replace(SMALL, avoid=Mask.block(range(2, 6), range(2, 5)) | Mask(((0, 1), (7, 3)), (1,)))
    compiled = compile_pes(BLUR, arch, (6, 4), lanes=2)
    assert not compiled.program.config.keys() & set(arch.avoid.tiles)
    assert not {each.column for each in compiled.program.transfers} & set(arch.avoid.glb)


def test_a_program_with_a_mask_is_one_of_the_machine_without_it():
    arch = replace(SMALL, avoid=Mask.block(range(2, 6), range(2, 5)))
    program = compile_einsum(load_kernel("vec_elemmul").einsum(), arch).program
    assert decode(encode(program, SMALL), SMALL) == program


def test_an_empty_mask_changes_no_bit():
    for name in ("spmspm", "vec_elemmul"):
        one, two = (encode(compile_einsum(load_kernel(name).einsum(), arch).program, SMALL)
                    for arch in (SMALL, replace(SMALL, avoid=Mask())))
        assert one == two


def test_chains_end_before_a_tile_of_the_global_buffer_that_is_avoided():
    ringed = replace(SMALL, glb=replace(SMALL.glb, ring=8))
    arch = replace(ringed, avoid=Mask(glb=(2, 5)))
    program = compile_einsum(load_kernel("vec_elemmul").einsum(), arch).program
    taken = {each.column + tile for each in program.transfers for tile in range(each.tiles)}
    assert not taken & {2, 5}
    assert decode(encode(program, ringed), ringed) == program, "shorter chains are no damage"
    longer = [replace(each, tiles=each.tiles + 1) for each in program.transfers]
    assert not placed(longer, ringed)
    assert {slot.group for slot in slots_of(arch, Chains(2)) if slot.group >= 0} == {0, 6}
    assert {slot.group for slot in slots_of(ringed, Chains(2)) if slot.group >= 0} == {0, 2, 4, 6}


@pytest.mark.parametrize("avoid,message", [
    (Mask.block(range(8), [3]),
     "the program is too large for 'small' without tile (0, 3), tile (1, 3), tile (2, 3), tile (3, 3), tile (4, 3), "
     "tile (5, 3) and 2 more and 40 tiles that these cut off: it needs 9 MEM tiles, has 4\n"
     "  try: avoid fewer tiles: whole, the machine has enough, or compute the expression in parts"),
    (Mask(((4, 4),), (0, 1, 2)),
     "the program is too large for 'small' without tile (4, 4), GLB tile 0, GLB tile 1, GLB tile 2: it needs "
     "6 load streams, has 5\n"
     "  try: avoid fewer tiles: whole, the machine has enough, or compute the expression in parts")])
def test_what_does_not_fit_is_told_with_what_is_avoided(avoid, message):
    with pytest.raises(UserError) as error:
        compile_einsum(load_kernel("spmspm").einsum(), replace(SMALL, avoid=avoid))
    assert str(error.value) == message


def test_what_does_not_fit_on_the_whole_machine_either_is_told_a_larger_one():
    tiny = replace(presets.get("tiny"), avoid=Mask(((0, 1),)))
    with pytest.raises(UserError, match=r"without tile \(0, 1\)") as error:
        compile_einsum(load_kernel("spmspm").einsum(), tiny)
    assert error.value.fix == "use a larger machine (arch='small'), or compute the expression in parts"


def test_what_cannot_be_routed_is_told_with_what_is_avoided():
    arch = replace(machine(8, 5, tracks=1), avoid=Mask(((1, 1), (1, 3))))
    program = load_kernel("spmspm").einsum()
    with pytest.raises(Unroutable, match="nets still share tracks") as error:
        compile_einsum(program, arch)
    assert error.value.fix.endswith(", or avoid fewer tiles than tile (1, 1), tile (1, 3)")
    assert "avoided, or cut off" in error.value.picture


def test_the_picture_shows_what_is_avoided_and_why():
    arch = replace(machine(5, 4), avoid=Mask(((1, 2), (4, 1)), (3,)))
    graph = random_graph(arch, {"pe": 5, "mem": 2, LOAD: 2, STORE: 1}, 8, 12)
    placement, routing = place_and_route(graph, arch)
    text = picture(arch, graph, placement.tiles, routing, crop=False)
    for title in ("pe (1, 2): avoided", "pe (4, 1): avoided", "io (4, 0): cut off by avoided tiles",
                  "io (3, 0): GLB tile 3 is avoided"):
        assert f"<title>{title}</title>" in text
    assert "avoided, or cut off" in text
    whole = replace(arch, avoid=Mask())
    assert "avoided" not in picture(whole, MappedGraph({}, (), ()), {}, crop=False)


def test_a_net_goes_around_a_hole():
    arch = replace(machine(9, 6), avoid=Mask.block([4], range(1, 6)))
    nets = (Net(Pin("a", "res1"), (Pin("b", "data2"),)),)
    routing = route(arch.graph, nets, {"a": (2, 3), "b": (6, 3)})
    assert routing.hops == {"a.res1": (4 + 2 * 3,)}
