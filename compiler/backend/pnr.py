"""Place and route a mapped graph on a machine: attempts with other seeds and exponents until one is legal.

Input:   MappedGraph, Arch.
Output:  Placement and Routing.
Errors:  UserError when it does not fit; Unroutable of the attempt that came closest.
Cost:    50 ms for 25 blocks on the 32 x 16 Onyx, 0.2 s for 205 blocks on 16 x 16, per attempt.
Source:  Onyx JSSC IV-E; the sweep of placement exponents follows the public flow.
"""

from __future__ import annotations

from itertools import product

from ...hw.arch.cgra import Arch
from ..ir.mapped import MappedGraph
from .place import WHOLE, Chains, Placement, place, slot_kinds, slots_of
from .route import Routing, Unroutable, route

EXPONENTS = (1, 2, 3)


def place_and_route(graph: MappedGraph, arch: Arch, *, seed: int = 0, attempts: int = 6,
                    chained: Chains = WHOLE) -> tuple[Placement, Routing]:
    """The first legal result of several attempts; the same arguments give the same result.

    With `Glb.queue` words come and go while the array computes. Then streams are apart where there are as many GLB tiles, and
    no routing fails for it: a bank that one stream uses is free in the cycles in which another one is used.
    """
    assert attempts >= 1, "without an attempt there is no result"
    begins = chained.begins(arch)
    alone = (arch.glb.queue and len(graph.streams) <= len(begins) + len(chained.alone(arch))
             and len(chained.blocks) <= len(begins))
    starts = [(x, y) for (x, y), tile in arch.usable.items() if tile.kind == "io" and x // arch.glb.columns_per_tile in begins]
    closest: Unroutable | None = None
    for apart, attempt in product((True, False) if alone else (False,), range(attempts)):
        exponent = EXPONENTS[attempt % len(EXPONENTS)]
        placement = place(slot_kinds(graph, apart), graph.nets, slots_of(arch, chained, apart), seed=seed + attempt,
                          exponent=exponent, allowed=dict.fromkeys(chained.blocks, starts))
        try:
            return placement, route(arch.graph, graph.nets, placement.tiles)
        except Unroutable as error:
            if closest is None or len(error.routing.shared) < len(closest.routing.shared):
                closest = error
    assert closest is not None, "every attempt either returned or failed"
    raise closest
