"""The placer: legal, the same every time, better than where it began, and plain about what does not fit."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from netlists import check_placed, machine, random_graph

from sardonyx.compiler.backend.place import Chains, Slot, place, slot_kinds, slots_of
from sardonyx.compiler.ir.mapped import LOAD, STORE, Net, Pin
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.errors import UserError


def half_perimeter(nets, tiles):
    total = 0
    for net in nets:
        xs, ys = zip(*(tiles[pin.block] for pin in (net.source, *net.sinks)), strict=True)
        total += max(xs) - min(xs) + max(ys) - min(ys)
    return total


def chain(count):
    return [Net(Pin(f"b{i}", "res0"), (Pin(f"b{i + 1}", "data0"),)) for i in range(count - 1)]


@settings(max_examples=25)
@given(st.data())
def test_random_netlists_are_placed_legally(data):
    per_glb = data.draw(st.integers(1, 3))
    arch = machine(per_glb * data.draw(st.integers(1, 4)), data.draw(st.integers(1, 6)), per_glb=per_glb)
    have = Counter(tile.kind for tile in arch.tiles.values())
    counts = {kind: data.draw(st.integers(0, have[kind])) for kind in ("pe", "mem")}
    counts |= {kind: data.draw(st.integers(0, arch.glb_tiles)) for kind in (LOAD, STORE)}
    graph = random_graph(arch, counts, 20, 30, data.draw(st.integers(0, 99)))
    kinds, slots = slot_kinds(graph), slots_of(arch)
    result = place(kinds, graph.nets, slots, seed=data.draw(st.integers(0, 2**64 - 1)), effort=1)
    check_placed(kinds, slots, result.tiles)
    assert result.cost == half_perimeter(graph.nets, result.tiles)


def test_the_same_seed_gives_the_same_placement_and_another_seed_another():
    arch = machine(8, 8)
    graph = random_graph(arch, {"pe": 30, "mem": 10, LOAD: 4, STORE: 2}, 40, 60)
    kinds, slots = slot_kinds(graph), slots_of(arch)
    first, again, other = (place(kinds, graph.nets, slots, seed=seed) for seed in (3, 3, 4))
    assert first == again
    assert first.tiles != other.tiles


def test_a_chain_is_placed_without_a_gap():
    kinds = {f"b{i}": "pe" for i in range(12)}
    slots = [Slot(x, y, "pe") for y in range(5) for x in range(5)]
    assert place(kinds, chain(12), slots).cost == 11


def test_a_larger_exponent_shortens_the_longest_net():
    arch = machine(16, 16)
    graph = random_graph(arch, {"pe": 154, "mem": 51}, 188, 325)
    kinds, slots = slot_kinds(graph), slots_of(arch)

    def longest(exponent):
        tiles = place(kinds, graph.nets, slots, exponent=exponent, effort=3).tiles
        return max(half_perimeter([net], tiles) for net in graph.nets)

    assert longest(4) < longest(1)


def test_the_columns_of_a_glb_tile_share_one_stream_each_way():
    arch = presets.get("onyx")
    kinds = {f"l{i}": LOAD for i in range(16)} | {f"s{i}": STORE for i in range(16)}
    tiles = place(kinds, [], slots_of(arch)).tiles
    for letter in "ls":
        assert sorted(tiles[f"{letter}{i}"][0] // 2 for i in range(16)) == list(range(16))


def test_a_load_and_a_store_share_an_io_tile():
    arch = machine(1, 1)
    assert place({"l": LOAD, "s": STORE}, [], slots_of(arch)).tiles == {"l": (0, 0), "s": (0, 0)}


def test_restricted_blocks_stay_on_their_tiles():
    arch = machine(6, 4, per_glb=2)
    graph = random_graph(arch, {"pe": 10, "mem": 3, LOAD: 3, STORE: 2}, 12, 20)
    # load0 has to leave the first GLB tile to load1, which nothing else can hold.
    allowed = {"load0": [(0, 0), (3, 0)], "load1": [(0, 0), (1, 0)], "load2": [(4, 0)], "pe0": [(0, 4)]}
    kinds, slots = slot_kinds(graph), slots_of(arch)
    for seed in range(5):
        result = place(kinds, graph.nets, slots, allowed=allowed, seed=seed)
        check_placed(kinds, slots, result.tiles, allowed)


@pytest.mark.parametrize("kinds", [{}, {"a": "pe"}])
def test_nothing_to_move_is_placed(kinds):
    assert place(kinds, [], [Slot(0, 1, "pe")]).tiles == dict.fromkeys(kinds, (0, 1))


def test_too_many_blocks_are_counted_against_the_slots():
    kinds = dict.fromkeys("abcde", "mem") | {f"p{i}": "pe" for i in range(13)}
    with pytest.raises(UserError) as error:
        place(kinds, [], slots_of(machine(4, 4)))
    assert str(error.value) == (
        "the program does not fit on the array: 5 mem blocks but 4 slots, 13 pe blocks but 12 slots\n"
        "  try: use a larger machine, a smaller unrolling factor, or split the expression")


def test_restrictions_that_exclude_each_other_are_named():
    slots = slots_of(machine(4, 4, per_glb=2))
    with pytest.raises(UserError) as error:
        place({"a": LOAD, "b": LOAD}, [], slots, allowed={"a": [(0, 0)], "b": [(0, 0), (1, 0)]})
    assert str(error.value) == (
        "block 'b' may only sit on (0, 0), (1, 0), which other restricted blocks need\n"
        "  try: allow it more tiles")


def test_a_restriction_to_the_wrong_kind_of_tile_is_named():
    with pytest.raises(UserError) as error:
        place({"a": "mem"}, [], slots_of(machine(4, 4)), allowed={"a": [(0, 1)]})
    assert str(error.value) == (
        "block 'a' is restricted to tiles without a mem slot: (0, 1)\n"
        "  try: allow it a tile that takes a mem block")


def test_only_the_first_tile_of_a_chain_has_slots_for_streams():
    slots = slots_of(machine(10, 2, per_glb=2), Chains(2))
    assert {slot.x for slot in slots if slot.kind == LOAD} == {0, 1, 4, 5}
    assert {slot.group for slot in slots if slot.kind == STORE} == {0, 2}
    assert len(slots_of(machine(10, 2, per_glb=2))) == len(slots) + 2 * 6


def test_tiles_beside_as_many_chains_as_are_wanted_have_streams() -> None:
    slots = slots_of(machine(10, 2, per_glb=2), Chains(2, 1))
    assert {slot.group for slot in slots if slot.kind == STORE} == {0, 2, 3, 4}
