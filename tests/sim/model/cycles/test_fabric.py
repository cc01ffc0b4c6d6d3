"""What runs on the routing graph, from the decoded bitstream alone, is what the graph of PEs means."""

from dataclasses import replace

import numpy as np
import pytest
from collect import ran
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st
from routed import pe_graphs
from stencils import plane, stencil
from words import graphs

from sardonyx.compiler.backend.encode import decode, encode
from sardonyx.compiler.dense.select.select import select
from sardonyx.compiler.halide import CompiledDense, compile_pes
from sardonyx.compiler.ir.dataflow import Ref
from sardonyx.compiler.ir.pe_graph import PeGraph, PeNode
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.errors import UserError
from sardonyx.runtime.data.frames import Frames
from sardonyx.sim.model.cycles.fabric import run_tile

TINY, SMALL, AMBER = (presets.get(name) for name in ("tiny", "small", "amber"))


def same(graph: PeGraph, arch: Arch, tile: tuple[int, ...], lanes: int = 1, seed: int = 0) -> CompiledDense:
    """Compiles, runs two tiles of random words on both engines, and compares every word."""
    compiled = compile_pes(graph, arch, tile, lanes, seed)
    words = np.random.default_rng(seed)
    images = {stream.image: words.integers(0, 65536, [side + 9 for side in reversed(tile)]).astype(np.uint16)
              for stream in graph.inputs.values()}
    shape = (2 * tile[0], *tile[1:])
    frames = Frames(compiled.walk, images, shape, tile)
    expected, found = (ran(engine, compiled, frames)[0] for engine in ("tokens", "fabric"))
    assert len(found) == len(expected) == 2
    for one, other in zip(found, expected, strict=True):
        assert {name: each.tolist() for name, each in one.items()} == {name: each.tolist() for name, each in other.items()}
    return compiled


offsets = st.tuples(st.integers(-3, 3), st.integers(-2, 2))
sizes = st.tuples(st.integers(1, 12), st.integers(1, 5))


@settings(max_examples=15)
@given(st.dictionaries(offsets, st.integers(1, 999), min_size=1, max_size=9), sizes, st.integers(0, 99))
def test_stencils_on_tiny(weights: dict[tuple[int, int], int], tile: tuple[int, int], seed: int) -> None:
    same(stencil(weights), TINY, tile, seed=seed)


@settings(max_examples=15)
@given(st.dictionaries(offsets, st.integers(1, 999), min_size=1, max_size=4), sizes, st.integers(1, 4), st.integers(0, 99))
def test_stencils_in_lanes_on_small(weights: dict[tuple[int, int], int], tile: tuple[int, int], lanes: int, seed: int) -> None:
    same(stencil(weights), SMALL, (tile[0] * lanes, tile[1]), lanes, seed)


@settings(max_examples=25)
@given(pe_graphs(), sizes, st.integers(0, 99))
def test_random_graphs_of_pes_on_small(graph: PeGraph, tile: tuple[int, int], seed: int) -> None:
    try:
        same(graph, SMALL, tile, seed=seed)
    except UserError as error:
        event(error.what)
        assume(False)


@settings(max_examples=30)
@given(graphs(most=10), sizes, st.integers(0, 99))
def test_random_graphs_of_words_on_small(graph, tile: tuple[int, int], seed: int) -> None:
    pes = select(graph)
    assume(pes.inputs)
    try:
        same(pes, SMALL, tile, seed=seed)
    except UserError as error:
        event(error.what)
        assume("too large" not in error.what)
        raise


@pytest.mark.parametrize("seed", range(2))
def test_stencils_on_amber(seed: int) -> None:
    graph = PeGraph(("x", "y"), (PeNode("input", name="a"), PeNode("mult0", {"a": Ref(0, (1, 0)), "b": 3}),
                                 PeNode("sbc", {"a": Ref(1, (0, 0)), "b": Ref(0, (0, 2)), "d": 1}, cond="ult"),
                                 PeNode("sel", {"a": Ref(1, (0, 0)), "b": Ref(0, (0, 1)), "d": Ref(2, (0, 0), "p")})),
                    {"a": plane("a")}, {"out": Ref(3, (0, 0))}, {"out": plane("out")})
    same(graph, AMBER, (40, 3), seed=seed)


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (13, 1), (2100, 1)])
def test_tiles_of_one_element_one_row_one_column_and_rows_longer_than_a_mem_tile(shape: tuple[int, int]) -> None:
    same(stencil({(0, 0): 3, (1, 0): 5, (0, 1): 7}), SMALL, shape)


def test_grids_of_one_and_three_dimensions() -> None:
    same(stencil({(0,): 3, (2,): 5}), TINY, (11,))
    same(stencil({(0, 0, 0): 3, (1, 0, 1): 5, (0, 2, 1): 7}), TINY, (4, 3, 2))


def test_a_node_ahead_of_the_grid_goes_through_a_line() -> None:
    nodes = (PeNode("input", name="a"), PeNode("mult0", {"a": Ref(0, (5, 3)), "b": 2}),
             PeNode("adc", {"a": Ref(1, (0, 0)), "b": Ref(1, (0, 1)), "d": 0}))
    graph = PeGraph(("x", "y"), nodes, {"a": plane("a")}, {"out": Ref(2, (0, 0))}, {"out": plane("out")})
    assert same(graph, TINY, (40, 3)).static.lines
    behind = replace(graph, nodes=(nodes[0], replace(nodes[1], operands={"a": Ref(0, (-5, -3)), "b": 2}), nodes[2]))
    assert same(behind, TINY, (40, 3)).static.lines


def test_one_node_feeds_pes_and_stores() -> None:
    nodes = (PeNode("input", name="a"), PeNode("adc", {"a": Ref(0, (0, 0)), "b": 1, "d": 0}),
             PeNode("adc", {"a": Ref(1, (0, 0)), "b": Ref(1, (1, 0)), "d": 0}))
    results = {"once": Ref(1, (0, 0)), "again": Ref(1, (1, 1)), "image": Ref(0, (2, 0)), "sum": Ref(2, (0, 0))}
    graph = PeGraph(("x", "y"), nodes, {"a": plane("a")}, results, {name: plane(name) for name in results})
    same(graph, SMALL, (6, 4))


def test_a_damaged_configuration_is_noticed() -> None:
    compiled = compile_pes(stencil({(0, 0): 3, (0, 1): 5}), TINY, (60, 3))
    program = decode(encode(compiled.program, TINY), TINY)
    loads = {"photo": np.arange(240, dtype=np.uint16)}
    line = next(site for site, sets in program.config.items() if sets.get("core", {}).get("mode") == "buffer")

    def changed(**fields: int) -> dict:
        return {**program.config, line: {**program.config[line], "buffer": {**program.config[line]["buffer"], **fields}}}

    with pytest.raises(AssertionError, match="a store is marked less often than its 180 words"):
        run_tile(replace(program, config=changed(valid_extent0=5)), TINY, loads)
    with pytest.raises(AssertionError, match=r"which was never written|less than"):
        run_tile(replace(program, config=changed(rd0_cycle=1)), TINY, loads)


def test_a_chain_of_all_pes_of_a_machine_runs() -> None:
    """340 PEs, one behind the other: no pass goes from PE to PE by calls within each other."""
    nodes = [PeNode("input", name="in")]
    for step in range(340):
        nodes.append(PeNode("adc", {"a": Ref(step, (0,)), "b": step + 1, "d": 0}))
    same(PeGraph(("x",), tuple(nodes), {"in": plane("in", 1)}, {"out": Ref(340, (0,))}, {"out": plane("out", 1)}),
         presets.get("onyx"), (8,))
