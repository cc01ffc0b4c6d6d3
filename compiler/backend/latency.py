"""Cycles that static routes take: one for every register on the way, the one of the core input included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...hw.arch.cgra import Arch
from ...hw.arch.interconnect import Node
from ..ir.mapped import Net, Pin
from ..ir.program import Site


def latencies(nets: Sequence[Net], routes: Mapping[str, Mapping[int, int]], placement: Mapping[str, Site],
              arch: Arch) -> dict[Pin, int]:
    """Sink -> cycles from what is in front of its source's core output to behind the register of the core input.

    A switch-box output is a register in odd tiles, and passed in even ones; with a FIFO at every hop a register.
    """
    graph = arch.graph
    found: dict[Pin, int] = {}
    for net in nets:
        begin, cycles = int(arch.interconnect.output_registers), dict[int, int]()
        # Trees list nodes from the source outwards.
        for node, driver in routes[net.name].items():
            at = graph.nodes[node]
            cycles[node] = cycles.get(driver, begin) + int(at.kind == "in" or arch.interconnect.registers(at.x, at.y))
        for sink in net.sinks:
            found[sink] = cycles[graph.index[Node(*placement[sink.block], net.layer, "in", sink.port)]]
    return found
