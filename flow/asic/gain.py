"""What the registers of the interconnect gain: the period of a static program with and without them, from its routes.

Without: words meet registers in memories, at the global buffer and in the register files of PEs, and nowhere else; what a PE
computes from a word at its port goes on through boxes to the next PE in the same cycle: through the multiplier where it
multiplies, and through what follows it. Of the cycle before both, in which operands are chosen, no delay is counted. Delays of
single words are kept in register files whether they are the program's own or even out pipelines. So the stretches without
registers are rather too short.

Input:   the mapped graph of a static program, the hops of its routes, its machine.
Output:  picoseconds. Throughput is the same in cycles, so the gain is the ratio of the periods.
Source:  Amber JSSC IX-A, Table III: 6.4 to 24.7 times, from automatic pipelining of six applications.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import TopologicalSorter

from ...compiler.ir.mapped import MappedGraph, Pin
from ...hw.arch.cgra import Arch
from ...hw.arch.op import BY_NAME
from ...hw.arch.primitive import ALU
from ...hw.arch.register_file import OPERANDS, SOURCES
from ...hw.arch.tile import LAYERS
from ...hw.arith.alu import MULTIPLIES

_PRODUCTS = [BY_NAME[name].code for name in MULTIPLIES]


def unpipelined_ps(graph: MappedGraph, hops: Mapping[str, Sequence[int]], arch: Arch) -> int:
    """The longest stretch between registers if no switch box and no core input had one.

    hops: the switch boxes on the way to each sink of a net, by the name of the net (`Routing.hops`).
    """
    delays = arch.timing
    (box, _), (last, _) = delays.through("sb"), delays.through("in")
    layers = {port.name: layer for layer in LAYERS for spec in (arch.pe, arch.mem, arch.io) for port in spec.outputs(layer)}
    wires = {sink: (net.source, count * box + last)
             for net in graph.nets for sink, count in zip(net.sinks, hops[net.name], strict=True)}
    entering: dict[str, list[Pin]] = {name: [] for name in graph.blocks}
    for sink in wires:
        if _goes_on(graph, sink):
            entering[sink.block].append(sink)
    order = TopologicalSorter({name: {wires[pin][0].block for pin in pins} for name, pins in entering.items()})
    made: dict[str, int] = {}

    def arrives(pin: Pin) -> int:
        source, wire = wires[pin]
        return made[source.block] + delays.leaving(graph.blocks[source.block].kind, layers[source.port])[0] + wire

    # A program of which words go round without a register would be no static program: the sorter raises CycleError.
    for name in order.static_order():
        block = graph.blocks[name]
        product = delays.pe_inside if block.primitive == ALU.name and block.config.get("op") in _PRODUCTS else 0
        made[name] = max(map(arrives, entering[name]), default=0) + product
    inside = (delays.inside(kind) for kind in {block.kind for block in graph.blocks.values()})
    return max([*map(arrives, wires), *inside]) + delays.setup


def _goes_on(graph: MappedGraph, pin: Pin) -> bool:
    """Whether a word at a port of a core is computed with in the cycle in which it comes."""
    block = graph.blocks[pin.block]
    operand = dict(zip(("data0", "data1", "data2"), OPERANDS, strict=True)).get(pin.port)
    return block.kind == "pe" and (operand is None or block.config.get(f"operand_{operand}", SOURCES[0]) == SOURCES[0])
