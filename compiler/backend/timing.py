"""Static timing of a routed program: the longest stretch between registers, from the delay table of the machine.

A register ends a stretch on every switch-box output of an odd tile (with `fifo="full"` of every tile) and at every core
input; a stretch begins behind such a register, or at a core output with the delay of the core before it, which is that of a
register where the machine has one there (`output_registers`): then the slowest core is a stretch of its own. Estimates to
compare mappings with, not sign-off.

Source: Cascade-style table lookup as in the public flow; the stretches follow from our register sites.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...hw.arch.cgra import Arch
from ..ir.mapped import MappedGraph, Net


@dataclass(frozen=True)
class Timing:
    """The critical stretch: its delay, the net it is on, and where it ends."""

    delay_ps: int
    net: str
    end: str

    @property
    def period_ns(self) -> float:
        """The shortest period of the clock in which every stretch is passed."""
        return self.delay_ps / 1000


def timing(graph: MappedGraph, nets: Sequence[Net], routes: Mapping[str, Mapping[int, int]], arch: Arch) -> Timing:
    """The slowest stretch of all routes."""
    delays = arch.timing
    nodes = arch.graph.nodes
    cores = {"pe": delays.pe, "mem": delays.mem, "io": delays.glb}
    worst = Timing(delays.pe, "-", "-")
    if arch.interconnect.output_registers:
        worst = Timing(max(cores.values()), "-", "-")
        cores = dict.fromkeys(cores, delays.register)
    for net in nets:
        kind = graph.blocks[net.source.block].kind
        arrival: dict[int, int] = {}
        # Trees list nodes from the source outwards, so the driver's arrival is known before it is used.
        for node, driver in routes[net.name].items():
            at = nodes[node]
            begin = arrival.get(driver, cores[kind])
            delay = begin + (delays.switch_box if at.kind == "sb" else delays.connection_box)
            registered = at.kind == "in" or arch.interconnect.registers(at.x, at.y)
            if registered and delay > worst.delay_ps:
                worst = Timing(delay, net.name, f"{at.name} of tile ({at.x}, {at.y})")
            arrival[node] = delays.register if registered else delay
    return worst
