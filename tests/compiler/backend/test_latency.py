"""Latencies of static routes are the registers that their configuration puts on the way."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from netlists import machine, random_graph

from sardonyx.compiler.backend.configure import configure
from sardonyx.compiler.backend.latency import latencies
from sardonyx.compiler.backend.pnr import place_and_route
from sardonyx.compiler.ir.mapped import LOAD, STORE, Net, Pin
from sardonyx.hw.arch.interconnect import FIFOS, Interconnect, Node
from sardonyx.sim.model.trace import trace


@settings(max_examples=25)
@given(st.integers(0, 10 ** 6), st.sampled_from(FIFOS), st.sampled_from(["data", "bit"]), st.booleans())
def test_latencies_are_those_that_the_configuration_shows(seed: int, fifo: str, layer: str, registers: bool) -> None:
    arch = replace(machine(4, 4), interconnect=Interconnect(5, fifo=fifo, output_registers=registers))
    graph = random_graph(arch, {LOAD: 3, STORE: 3, "pe": 8, "mem": 2}, 8, 12, seed, layer)
    placement, routing = place_and_route(graph, arch, seed=seed)
    found = latencies(graph.nets, routing.trees, placement.tiles, arch)
    shown = trace(configure(graph, arch, placement.tiles, routing.trees, static=True), arch).registers
    assert {(*placement.tiles[pin.block], pin.port): cycles for pin, cycles in found.items()} == shown


def test_odd_tiles_register_and_even_ones_pass() -> None:
    """(0, 0) even, (0, 1) odd, (0, 2) even: down a column, one register at the odd tile and one at the core input, and one at
    the core output where the machine has it."""
    arch = machine(2, 3)
    index = arch.graph.index
    nodes = [index[Node(0, 0, "data", "out", "g2f")], index[Node(0, 0, "data", "sb", "s0")],
             index[Node(0, 1, "data", "sb", "s0")], index[Node(0, 2, "data", "in", "data0")]]
    net = Net(Pin("load", "g2f"), (Pin("pe", "data0"),))
    routes = {net.name: dict(zip(nodes[1:], nodes[:-1], strict=True))}
    registered = replace(arch, interconnect=replace(arch.interconnect, output_registers=True))
    assert latencies([net], routes, {"load": (0, 0), "pe": (0, 2)}, registered) == {Pin("pe", "data0"): 3}
    assert latencies([net], routes, {"load": (0, 0), "pe": (0, 2)}, arch) == {Pin("pe", "data0"): 2}
    open_ = replace(arch, interconnect=replace(arch.interconnect, fifo="inputs"))
    assert latencies([net], routes, {"load": (0, 0), "pe": (0, 2)}, open_) == {Pin("pe", "data0"): 1}
