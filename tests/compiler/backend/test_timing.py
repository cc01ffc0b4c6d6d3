"""The longest stretch between registers of a route, against sums by hand."""

from dataclasses import replace

import pytest
from netlists import machine

from sardonyx.compiler.backend.timing import Timing, timing
from sardonyx.compiler.ir.mapped import LOAD, Block, MappedGraph, Net, Pin, Stream
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.interconnect import Node

# Words from the GLB tile are late enough for a route of two boxes to be longer than a PE, and one of one box not.
PLAIN = machine(2, 3)
BASE = replace(PLAIN, timing=replace(PLAIN.timing, glb=PLAIN.timing.pe - 170, switch_box=136))
TIMES = BASE.timing


def down_a_column(arch: Arch) -> Timing:
    """Of a route from a load at (0, 0) through odd (0, 1) to a PE at even (0, 2)."""
    index = arch.graph.index
    nodes = [index[Node(0, 0, "data", "out", "g2f")], index[Node(0, 0, "data", "sb", "s0")],
             index[Node(0, 1, "data", "sb", "s0")], index[Node(0, 2, "data", "in", "data0")]]
    net = Net(Pin("load", "g2f"), (Pin("pe", "data0"),))
    blocks = {"load": Block("load", "io", "", {}), "pe": Block("pe", "pe", "alu", {})}
    graph = MappedGraph(blocks, (net,), (Stream("load", LOAD, "T", 0),))
    return timing(graph, [net], {net.name: dict(zip(nodes[1:], nodes[:-1], strict=True))}, arch)


@pytest.mark.parametrize("fifo,registers,delay,end", [
    ("split", False, TIMES.glb + 2 * TIMES.switch_box, "s0 of tile (0, 1)"),    # the register is in the odd tile
    ("full", False, TIMES.pe, "-"),         # slower than from the GLB tile to the first one
    ("none", False, TIMES.glb + 2 * TIMES.switch_box, "s0 of tile (0, 1)"),
    ("split", True, TIMES.pe, "-"),         # between two registers, and slower than two boxes
])
def test_the_period_is_the_longest_stretch(fifo: str, registers: bool, delay: int, end: str) -> None:
    found = down_a_column(replace(BASE, interconnect=replace(BASE.interconnect, fifo=fifo, output_registers=registers)))
    assert (found.delay_ps, found.end, found.period_ns) == (delay, end, delay / 1000)


@pytest.mark.parametrize("fifo,delay,end", [
    ("split", TIMES.register + 300 + 300, "s0 of tile (0, 1)"), ("full", TIMES.register + 500, "data0 of tile (0, 2)")])
def test_behind_a_register_a_stretch_begins_anew(fifo: str, delay: int, end: str) -> None:
    """With registers at core outputs and cores that take no time, boxes decide."""
    quick = replace(BASE.timing, pe=1, mem=1, glb=1, switch_box=300, connection_box=500)
    boxes = replace(BASE.interconnect, fifo=fifo, output_registers=True)
    found = down_a_column(replace(BASE, timing=quick, interconnect=boxes))
    assert (found.delay_ps, found.end) == (delay, end)
