"""What the registers of the interconnect gain: the period of a static program with and without them, from its routes.

Without: words meet registers in memories, at the global buffer and in the register files of PEs, and nowhere else; what a PE
computes from a word at its port goes on through boxes to the next PE in the same cycle. A program's delays of single words are
kept in register files whether they are its own or even out pipelines, so the stretches without registers are rather too short.

Input:   the mapped graph of a static program, the hops of its routes, its machine.
Output:  picoseconds. Throughput is the same in cycles, so the gain is the ratio of the periods.
Source:  Amber JSSC IX-A, Table III: 6.4 to 24.7 times, from automatic pipelining of six applications.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import TopologicalSorter

from ...compiler.ir.mapped import MappedGraph, Pin
from ...hw.arch.cgra import Arch
from ...hw.arch.register_file import OPERANDS, SOURCES


def unpipelined_ps(graph: MappedGraph, hops: Mapping[str, Sequence[int]], arch: Arch) -> int:
    """The longest stretch between registers if no switch box and no core input had one.

    hops: the switch boxes on the way to each sink of a net, by the name of the net (`Routing.hops`).
    """
    delays = arch.timing
    core = {"pe": delays.pe, "mem": delays.mem, "io": delays.glb}
    wires = {sink: (net.source.block, count * delays.switch_box + delays.connection_box)
             for net in graph.nets for sink, count in zip(net.sinks, hops[net.name], strict=True)}
    entering: dict[str, list[Pin]] = {name: [] for name in graph.blocks}
    for sink in wires:
        if _goes_on(graph, sink):
            entering[sink.block].append(sink)
    order = TopologicalSorter({name: {wires[pin][0] for pin in pins} for name, pins in entering.items()})
    leaves: dict[str, int] = {}
    # A program of which words go round without a register would be no static program: the sorter raises CycleError.
    for block in order.static_order():
        begin = max((leaves[wires[pin][0]] + wires[pin][1] for pin in entering[block]), default=0)
        leaves[block] = begin + core[graph.blocks[block].kind]
    return max((leaves[source] + wire for source, wire in wires.values()), default=delays.pe)


def _goes_on(graph: MappedGraph, pin: Pin) -> bool:
    """Whether a word at a port of a core is computed with in the cycle in which it comes."""
    block = graph.blocks[pin.block]
    operand = dict(zip(("data0", "data1", "data2"), OPERANDS, strict=True)).get(pin.port)
    return block.kind == "pe" and (operand is None or block.config.get(f"operand_{operand}", SOURCES[0]) == SOURCES[0])
