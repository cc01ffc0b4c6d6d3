"""Settings of tiles follow from times: delay lines of any number of steps, flags that count elements, register files."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from routed import sinks
from stencils import BLUR, plane, stencil

from sardonyx.compiler.dense.map.delay_lines import StaticGraph
from sardonyx.compiler.dense.map.grid import walk
from sardonyx.compiler.dense.map.registers import waiting_words
from sardonyx.compiler.dense.map.storage import store
from sardonyx.compiler.dense.time.align import OPERAND, Alignment, align
from sardonyx.compiler.dense.time.settle import settle
from sardonyx.compiler.ir.mapped import MappedGraph, Pin, verify
from sardonyx.compiler.ir.pe_graph import PeGraph
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.errors import UserError
from sardonyx.sim.model.cycles import buffer

SMALL = presets.get("small")


def settled(graph: PeGraph, *shape: int, lanes: int = 1, latency: int = 3) -> tuple[StaticGraph, Alignment, MappedGraph]:
    static = store(walk(graph, shape, lanes), SMALL)
    times = align(static, dict.fromkeys(sinks(static), latency), SMALL)
    found = settle(static, times, SMALL).graph
    verify(found, SMALL)
    return static, times, found


def flags(static: StaticGraph, found: MappedGraph, name: str) -> list[int]:
    """Cycles in which the flag of a store is set."""
    return [event.cycle for event in buffer.schedule(SMALL.mem, found.blocks[static.valid[name]].config, "valid", 1 << 20)]


@given(st.integers(1, 50), st.integers(1, 6), st.integers(1, 3), st.integers(1, 3))
def test_flags_mark_the_elements_of_a_result_and_no_others(width: int, height: int, lanes: int, scale: int) -> None:
    graph = stencil({(0, 0): 1, (2, 1): 3})
    if lanes == 1:
        graph = replace(graph, outputs={"out": replace(plane("out"), scale=(scale, scale))})
    static, times, found = settled(graph, width * lanes, height, lanes=lanes)
    for each in static.walk.stores:
        start = times.starts[Pin(static.valid[each.name], "bit")]
        first = static.walk.grid.step(each.first)
        points = [(each.first[0] + each.stride[0] * x, each.first[1] + each.stride[1] * y)
                  for y in range(height) for x in range(width)]
        expected = [start + static.walk.grid.step(point) - first for point in points]
        assert flags(static, found, each.name) == expected


@pytest.mark.parametrize(("width", "height"), [(9, 3), (700, 4), (2100, 2), (4100, 1)])
def test_a_line_gives_every_word_again_after_its_age(width: int, height: int) -> None:
    static, times, found = settled(stencil({(0, 0): 1, (1, 1): 2}), width, height)
    for line, ports in static.lines.items():
        config = {name: int(value) for name, value in found.blocks[line].config.items()}
        first, last = static.spans[line]
        arrival = times.arrivals[Pin(line, "in0")]
        cycles = arrival + last + SMALL.mem.buffer_words + 20
        words = np.arange(cycles) % 65536
        result = buffer.run(SMALL.mem, config, {"wr0": words.tolist()}, cycles)
        for port in ports:
            start = times.starts[Pin(line, port)]
            got = result.words[port.replace("out", "rd")][start + first:start + last + 1]
            assert got.tolist() == words[arrival + first:arrival + last + 1].tolist()


def test_waiting_operands_take_regions_of_the_register_file_one_behind_the_other() -> None:
    static, times, found = settled(BLUR, 40, 4)
    waiting = {sink: wait for sink, wait in times.waits.items() if wait}
    assert waiting
    for name, block in found.blocks.items():
        regions = [range(int(block.config[f"base{n}"]), int(block.config[f"base{n}"]) + int(block.config[f"depth{n}"]) + 1)
                   for n in range(2) if f"base{n}" in block.config]
        taken = [word for region in regions for word in region]
        words = [waiting_words(static.walk, static.nodes[name], OPERAND[sink.port], wait)
                 for sink, wait in waiting.items() if sink.block == name]
        assert len(taken) == len(set(taken)) == sum(words)
        assert max(taken, default=0) < SMALL.pe.register_words


def test_a_pe_without_a_register_file_is_set_where_nothing_waits() -> None:
    arch = replace(SMALL, pe=replace(SMALL.pe, register_words=0))
    static = store(walk(stencil({(0, 0): 3}), (8, 2)), arch)
    times = align(static, dict.fromkeys(sinks(static), 3), arch)
    assert not any(times.waits.values())
    blocks = settle(static, times, arch).graph.blocks.values()
    assert all("depth0" not in block.config for block in blocks if block.kind == "pe")


def test_a_row_of_a_tile_may_be_longer_than_a_loop_counts() -> None:
    static, _, found = settled(stencil({(0,): 1}), 5 * 2000)
    assert len(flags(static, found, "out")) == 10000


def test_a_row_that_no_loops_count_is_refused() -> None:
    with pytest.raises(UserError) as error:
        settled(stencil({(0, 0): 1}), 2053, 2)
    assert str(error.value) == (
        "out: tiles of 2053 x 2 elements cannot be counted: iterations of loop 0: 2053 does not fit valid\n"
        "  try: give smaller tiles, or sides that are products of at most 2048")
