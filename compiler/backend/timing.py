"""Static timing of a routed program: the longest stretch between registers, from the delay table of the machine.

A register ends a stretch on every switch-box output of an odd tile (with `fifo="full"` of every one, with "inputs" of none) and
at every core input; a stretch begins behind such a register, or at a core output with the delay of the core before it, which is
that of a register where the machine has one there (`output_registers`): then the way to it is a stretch of its own. Each core
that is used has stretches inside, so have the GLB tiles and boxes. Power domains and walls between regions are on the way into
a tile, and with regions and FIFOs each track to the west or the east leads to a register of its tile that says so if it ends at
a wall; without FIFOs its configuration does. Tiles that a program does not use change nothing in it, and are not looked at.
Without registers on tracks `ready` comes back through all boxes of a route, for which there are no delays: a period is longer.
Estimates to compare mappings with, not sign-off.

Source: Cascade-style table lookup as in the public flow; the stretches follow from our register sites.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...hw.arch.cgra import Arch
from ..ir.mapped import MappedGraph, Net

_INSIDE = {"pe": "in a PE", "mem": "in a MEM", "io": "in a GLB tile"}


@dataclass(frozen=True)
class Timing:
    """The critical stretch: its delay with the setup at its end, and where it is: inside of a tile, or the net and its end."""

    delay_ps: int
    where: str

    @property
    def period_ns(self) -> float:
        """The shortest period of the clock in which every stretch is passed."""
        return self.delay_ps / 1000


def timing(graph: MappedGraph, nets: Sequence[Net], routes: Mapping[str, Mapping[int, int]], arch: Arch) -> Timing:
    """The slowest stretch of the tiles that are used and of all routes; of equal ones the one in a tile."""
    stretches = [*_in_tiles(graph, arch), *_in_routes(graph, nets, routes, arch)]
    delay, where = max(stretches, key=lambda stretch: stretch[0])
    return Timing(delay + arch.timing.setup, where)


def _in_tiles(graph: MappedGraph, arch: Arch) -> Iterator[tuple[int, str]]:
    """The stretches that no route has a part in."""
    delays = arch.timing
    for kind in sorted({block.kind for block in graph.blocks.values()}):
        yield delays.inside(kind), _INSIDE[kind]
        if arch.interconnect.output_registers:
            yield max(max(delays.leaving(kind, layer)) for layer in arch.interconnect.widths), f"{_INSIDE[kind]}, to an output"
    yield delays.boxes_inside, "in the boxes of a tile"


def _in_routes(graph: MappedGraph, nets: Sequence[Net], routes: Mapping[str, Mapping[int, int]],
               arch: Arch) -> Iterator[tuple[int, str]]:
    """What ends at a register of a route or of a core that it leads to."""
    delays, nodes = arch.timing, arch.graph.nodes
    walls, has_valid = arch.regions > 1, arch.interconnect.fifo != "none"
    register = (delays.register, delays.register)
    for net in nets:
        kind = graph.blocks[net.source.block].kind
        arrival: dict[int, tuple[int, int]] = {}
        # Trees list nodes from the source outwards, so the driver's arrival is known before it is used.
        for node, driver in routes[net.name].items():
            at, before = nodes[node], nodes[driver]
            leaving = register if arch.interconnect.output_registers else delays.leaving(kind, at.layer)
            payload, valid = arrival.get(driver, leaving)
            more = 0
            if (at.x, at.y) != (before.x, before.y):
                at_wall = walls and at.x != before.x
                more = delays.entering(arch.power_domains, at_wall)
                if at_wall and has_valid:
                    yield valid + delays.walled, f"net {net.name} to the wall of tile ({before.x}, {before.y})"
            more_payload, more_valid = delays.through(at.kind)
            arrival[node] = payload + more + more_payload, valid + more + more_valid
            if at.kind == "in" or arch.interconnect.registers(at.x, at.y):
                yield max(arrival[node]), f"net {net.name} to {at.name} of tile ({at.x}, {at.y})"
                arrival[node] = register
