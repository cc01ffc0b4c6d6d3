"""Retiming tries placements until the wires can be evened out, and maps the graph anew in between."""

import pytest
from stencils import BLUR

from sardonyx.compiler.dense.map.grid import walk
from sardonyx.compiler.dense.map.storage import store
from sardonyx.compiler.dense.time.align import Misaligned
from sardonyx.compiler.dense.time.retime import ATTEMPTS, retime
from sardonyx.compiler.ir.mapped import MappedGraph, Pin
from sardonyx.hw.arch import presets

SMALL = presets.get("small")
WALK = walk(BLUR, (11, 9))
STATIC = store(WALK, SMALL)


def latencies(graph: MappedGraph, uneven: int) -> dict[Pin, int]:
    """Four cycles for every net, but more for the sum that comes to every PE."""
    return {sink: 4 + (uneven if sink.port == "data2" else 0) for net in graph.nets for sink in net.sinks}


def test_wires_that_can_be_evened_out_need_one_attempt() -> None:
    asked: list[int] = []

    def route(graph: MappedGraph, attempt: int) -> tuple[str, dict[Pin, int]]:
        asked.append(attempt)
        return f"routes {attempt}", latencies(graph, 0)

    found = retime(WALK, STATIC, SMALL, route)
    assert (asked, found.routes, found.static) == ([0], "routes 0", STATIC)
    assert found.settled.graph.blocks.keys() == STATIC.graph.blocks.keys()


def test_the_first_attempt_that_fits_is_taken_with_the_graph_that_it_is_for() -> None:
    asked: list[MappedGraph] = []

    def route(graph: MappedGraph, attempt: int) -> tuple[int, dict[Pin, int]]:
        asked.append(graph)
        return attempt, latencies(graph, 60 if attempt < 2 else 0)

    found = retime(WALK, STATIC, SMALL, route)
    assert found.routes == 2
    assert found.static.graph == asked[2] != STATIC.graph


def test_wires_that_never_fit_end_after_all_attempts() -> None:
    asked: list[int] = []

    def route(graph: MappedGraph, attempt: int) -> tuple[None, dict[Pin, int]]:
        asked.append(attempt)
        return None, latencies(graph, 400)

    with pytest.raises(Misaligned):
        retime(WALK, STATIC, SMALL, route)
    assert asked == list(range(ATTEMPTS))
