"""Slack that is added by the registers of routes: where, how much, and that no placement goes without."""

from dataclasses import replace

import pytest

from sardonyx.compiler.backend.latency import latencies
from sardonyx.compiler.einsum import compile_einsum
from sardonyx.compiler.ir.mapped import MappedGraph, Pin
from sardonyx.compiler.lang.einsum import parse
from sardonyx.compiler.sparse.balance import balance
from sardonyx.compiler.sparse.blocks import map_graph
from sardonyx.compiler.sparse.copies import Copies
from sardonyx.compiler.sparse.lower import lower
from sardonyx.compiler.sparse.rebalance import of_one_copy, rebalance, short
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.primitive import PASS_THROUGH

ONYX = presets.get("onyx")
SCALED = parse("x(i) = b * c(i)")
FACTOR, REPEATED, KEPT = Pin("mul", "data1"), Pin("mul", "data0"), Pin("drop_i", "data0")


def balanced() -> MappedGraph:
    return balance(map_graph(lower(SCALED)), ONYX)


def registers(graph: MappedGraph, more: dict[Pin, int]) -> dict[Pin, int]:
    """Each net takes a register of its route and that of the input, some of them more."""
    return {sink: 2 + more.get(sink, 0) for net in graph.nets for sink in net.sinks}


@pytest.mark.parametrize("more,wanted", [
    ({}, {}), ({REPEATED: 1}, {FACTOR: 1}), ({REPEATED: 2}, {FACTOR: 2}), ({REPEATED: 2, FACTOR: 2}, {}),
    ({FACTOR: 4}, {}), ({FACTOR: 5}, {REPEATED: 1}), ({KEPT: 9}, {})])
def test_the_path_that_takes_fewer_registers_is_the_one_that_lacks_tokens(more: dict[Pin, int], wanted: dict[Pin, int]) -> None:
    graph = balanced()
    assert short(graph, ONYX, registers(graph, more)) == wanted


def test_a_pass_through_holds_what_was_lacking() -> None:
    graph = balanced()
    more = rebalance(graph, ONYX, {FACTOR: 2}, 1)
    assert more.blocks.keys() - graph.blocks.keys() == {"slack mul.data1 0"}
    assert short(more, ONYX, registers(more, {REPEATED: 2})) == {}


def test_without_a_free_pe_a_graph_stays_as_it_is() -> None:
    graph = balanced()
    assert rebalance(graph, ONYX, {FACTOR: 2}, 0) is graph


def test_a_machine_without_pass_throughs_has_no_slack() -> None:
    primitives = tuple(each for each in ONYX.pe.primitives if each is not PASS_THROUGH)
    arch = replace(ONYX, pe=replace(ONYX.pe, primitives=primitives))
    graph = map_graph(lower(SCALED))
    assert rebalance(graph, arch, {FACTOR: 2}, 9) is graph
    assert not any(block.slack for block in compile_einsum(SCALED, arch).graph.blocks.values())


def test_slack_is_added_behind_what_is_there_and_to_as_many_as_there_may_be() -> None:
    graph = balanced()
    assert {name for name in graph.blocks if name.startswith("slack")} == {"slack drop_i.data0 0", "slack drop_i.data0 1"}
    more = rebalance(graph, ONYX, {KEPT: 90}, 9)
    assert more.blocks.keys() - graph.blocks.keys() == {"slack drop_i.data0 2", "slack drop_i.data0 3"}


def test_all_copies_have_what_one_of_them_needs() -> None:
    copies = Copies(((0,), (1,)))
    assert of_one_copy({Pin("mul.0", "data1"): 1, Pin("mul.1", "data1"): 2}, copies) == {FACTOR: 2}
    assert of_one_copy({FACTOR: 1}, Copies()) == {FACTOR: 1}


@pytest.mark.parametrize("seed,copies", [(0, 1), (1, 1), (2, 1), (3, 1), (0, 3)])
def test_no_net_holds_too_few_tokens_wherever_a_program_is_placed(seed: int, copies: int) -> None:
    found = compile_einsum(SCALED, ONYX, seed, copies=copies)
    cycles = latencies(found.graph.nets, found.routing.trees, found.placement.tiles, ONYX)
    assert short(found.graph, ONYX, cycles) == {}
