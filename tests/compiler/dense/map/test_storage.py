"""Values that are needed late wait in register files, MEM tiles, or chains of them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stencils import BLUR, plane, stencil
from words import graphs

from sardonyx.compiler.dense.map.delay_lines import StaticGraph, longest_line, operation
from sardonyx.compiler.dense.map.grid import walk
from sardonyx.compiler.dense.map.storage import store, with_passes
from sardonyx.compiler.dense.select.flags import in_step
from sardonyx.compiler.dense.select.select import select
from sardonyx.compiler.ir.dataflow import Ref, WordGraph
from sardonyx.compiler.ir.mapped import Pin, verify
from sardonyx.compiler.ir.pe_graph import PeGraph, PeNode
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.primitive import BUFFER, LEVEL
from sardonyx.sim.model.pe_graph import evaluate_pes

SMALL = presets.get("small")


def stored(graph: PeGraph, *shape: int, lanes: int = 1) -> StaticGraph:
    static = store(walk(graph, shape, lanes), SMALL)
    verify(static.graph, SMALL)
    return static


def ports(static: StaticGraph) -> int:
    return sum(map(len, static.lines.values()))


def test_neighbours_in_a_row_need_no_memory() -> None:
    static = stored(stencil({(x, 0): 1 + x for x in range(3)}), 40, 2)
    assert not static.lines
    assert static.graph.count("mem") == 1  # for the flag of the store


def test_the_two_rows_before_come_from_two_ports_of_one_line() -> None:
    static = stored(stencil({(0, y): 1 + y for y in range(3)}), 40, 4)
    assert static.lines == {"photo line 0": ("out0", "out1")}
    assert static.valid == {"out": "photo line 0"}
    assert static.spans == {"photo line 0": (0, 40 * 6 - 1)}


def test_leads_are_the_steps_of_the_offsets() -> None:
    static = stored(BLUR, 40, 4)
    found = sorted(lead for pin, lead in static.leads.items() if pin.port == "data0")
    assert found == sorted(42 * y + x for x in range(3) for y in range(3))


@pytest.mark.parametrize(("width", "lines"), [(2000, 1), (2100, 2), (4200, 3), (6300, 4)])
def test_a_row_longer_than_a_mem_tile_goes_through_several(width: int, lines: int) -> None:
    static = stored(stencil({(0, 0): 1, (0, 1): 2}), width, 1)
    assert len(static.lines) == lines
    fed = {net.source.block for net in static.graph.nets if any(sink.block in static.lines for sink in net.sinks)}
    assert fed == {"photo", *list(static.lines)[:-1]}
    assert width > (lines - 1) * longest_line(SMALL)


def test_a_copy_goes_through_a_pe_that_can_wait_for_the_flag() -> None:
    graph = PeGraph(("x",), (PeNode("input", name="photo"),), {"photo": plane("photo", 1)}, {"out": Ref(0, (2,))},
                    {"out": plane("out", 1)})
    static = stored(graph, 9)
    assert [(block.kind, block.config.get("op")) for block in static.graph.blocks.values() if block.kind == "pe"] \
        == [("pe", operation(PeNode("or"))["op"])]
    assert static.walk.stores[0].first == (2,)


def test_an_image_may_be_called_as_the_result() -> None:
    static = stored(stencil({(0, 0): 3}, image="out"), 4, 4)
    assert sorted(name for name, block in static.graph.blocks.items() if block.kind == "io") == ["out", "out in"]
    assert [(stream.name, stream.direction) for stream in static.graph.streams] == [("out", "load"), ("out", "store")]


def test_every_store_has_a_flag_of_its_own_and_lines_give_theirs_first() -> None:
    static = stored(BLUR, 40, 4, lanes=4)
    assert sorted(static.valid) == [f"out.{lane}" for lane in range(4)]
    assert len(set(static.valid.values())) == 4
    assert static.graph.count("mem") == len(static.lines) >= 4


def test_a_node_ahead_of_the_grid_is_kept_from_its_first_step_on() -> None:
    """photo is read at (5, 3) and later only, so the grid begins there; `twice` is needed from (0, 0) on."""
    nodes = (PeNode("input", name="photo"), PeNode("mult0", {"a": Ref(0, (5, 3)), "b": 2}),
             PeNode("adc", {"a": Ref(1, (0, 0)), "b": Ref(1, (0, 1)), "d": 0}))
    graph = PeGraph(("x", "y"), nodes, {"photo": plane("photo")}, {"out": Ref(2, (0, 0))}, {"out": plane("out")})
    static = stored(graph, 60, 4)
    assert static.walk.grid.origin == (5, 3)
    assert static.spans == {"mult0 1 line 0": (-(5 + 3 * 60), 60 * 5 - (5 + 3 * 60) - 1)}


def test_constants_and_streams_are_told_apart() -> None:
    assert operation(PeNode("muladd", {"a": Ref(0, (0,)), "b": 7, "c": Ref(1, (0,))}, signed=True)) == {
        "static": 1, "op": operation(PeNode("muladd"))["op"], "signed": 1, "lut": 0, "cond": 0, "stream_a": 1, "const_b": 7,
        "stream_c": 1}
    assert operation(PeNode("sbc", {"a": 1, "b": 2, "d": 1}, cond="slt"))["cond"] != 0


def test_pes_without_a_register_file_cannot_let_operands_wait() -> None:
    arch = replace(SMALL, pe=replace(SMALL.pe, register_words=0))
    with pytest.raises(UserError) as error:
        store(walk(stencil({(0, 0): 1, (3, 0): 2}), (8, 2)), arch)
    assert str(error.value) == ("operands wait longer than register files of 0 words allow\n"
                                "  try: use wider tiles, or give the PEs larger register files")


@pytest.mark.parametrize(("lines", "lanes", "width"), [(4, 4, 40), (8, 4, 40), (4, 8, 40), (8, 8, 200)])
def test_mem_tiles_too_small_for_a_line_are_refused(lines: int, lanes: int, width: int) -> None:
    arch = replace(SMALL, mem=replace(SMALL.mem, primitives=(LEVEL, BUFFER), sram_lines=lines, sram_lanes=lanes))
    with pytest.raises(UserError) as error:
        store(walk(stencil({(0, 0): 1, (0, 1): 2}), (width, 2)), arch)
    assert str(error.value) == (f"a value has to wait {width} cycles, and MEM tiles of {lines * lanes} words are too small to "
                                "keep it\n  try: give the MEM tiles more sram_lines")


def test_a_line_of_two_lanes_has_time_for_one_read_port() -> None:
    arch = replace(SMALL, mem=replace(SMALL.mem, sram_lanes=2))
    static = store(walk(stencil({(0, y): 1 + y for y in range(3)}), (40, 4)), arch)
    assert static.lines == {"photo line 0": ("out0",), "photo line 1": ("out0",)}


def test_flags_that_must_come_at_two_times_are_refused() -> None:
    """The flag of 1 is read by 2, and by 3 together with what 2 gives."""
    nodes = (PeNode("input", name="photo"), PeNode("sbc", {"a": Ref(0, (0,)), "b": 5, "d": 1}, cond="ult"),
             PeNode("sel", {"a": Ref(0, (0,)), "b": 1, "d": Ref(1, (0,), "p")}),
             PeNode("sel", {"a": Ref(2, (0,)), "b": 1, "d": Ref(1, (0,), "p")}))
    graph = PeGraph(("x",), nodes, {"photo": plane("photo", 1)}, {"out": Ref(3, (0,))}, {"out": plane("out", 1)})
    with pytest.raises(UserError) as error:
        store(walk(graph, (8,)), SMALL)
    assert str(error.value) == ("the flags of the program cannot be brought in step with its words\n"
                                "  try: rewrite conditions that use each other's results")


@settings(max_examples=150)
@given(graphs(("add", "sub", "lt", "eq", "word", "select", "bit_and", "bit_not", "min"), 16))
def test_flags_that_are_in_step_can_be_brought_in_step(graph: WordGraph) -> None:
    """Also where one is read at several points."""
    pes = select(graph)
    assert in_step(pes)
    if pes.inputs:
        store(walk(pes, (9, 5)), presets.get("onyx"))


@given(st.integers(1, 4), st.lists(st.integers(0, 8), min_size=1, max_size=4, unique=True))
def test_pes_for_operands_to_wait_in_change_no_result(lanes: int, users: list[int]) -> None:
    static = stored(BLUR, 40 * lanes, 3, lanes=lanes)
    waiting = [next(pin for net in static.graph.nets for pin in net.sinks if pin.block == f"muladd {lanes + user}"
                    and pin.port.startswith("data")) for user in users]
    found = with_passes(static, waiting)
    graph = store(found, SMALL).graph
    assert graph.count("pe") == static.graph.count("pe") + len(users)
    pictures = {name: np.random.default_rng(at).integers(0, 65536, (9, 50)) for at, name in enumerate(found.graph.inputs)}
    before, after = (evaluate_pes(each.graph, pictures) for each in (static.walk, found))
    for name, region in before.items():
        assert np.array_equal(after[name].part(region.origin, region.end), region.values)
    assert [store.value for store in found.stores] == list(found.graph.results.values())


@given(st.dictionaries(st.tuples(st.integers(-4, 4), st.integers(-3, 3)), st.integers(1, 9), min_size=1, max_size=9),
       st.integers(1, 90), st.integers(1, 4))
def test_every_use_has_one_source_and_the_lead_of_its_offset(weights: dict[tuple[int, int], int], width: int,
                                                             lanes: int) -> None:
    static = stored(stencil(weights), width * lanes, 3, lanes=lanes)
    driven = [sink for net in static.graph.nets for sink in net.sinks]
    assert len(driven) == len(set(driven)) == len(static.leads)
    pes = {f"{node.op} {number}": node for number, node in enumerate(static.walk.graph.nodes)}
    for name, node in pes.items():
        for port, ref in node.refs():
            sink = Pin(name, {"a": "data0", "b": "data1", "c": "data2"}[port])
            assert static.leads[sink] == static.walk.grid.steps(ref.offset)
    assert ports(static) <= 2 * len(static.lines)
