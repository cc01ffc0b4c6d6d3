"""Place and route until the paths of a static graph can be evened out, and give every stream its cycles.

What waits where was decided with an estimate of the wires. If wires differ too much in length for that, the graph is mapped
anew: operands that cannot wait get PEs to wait in; where none are left, nets are expected to take what the wires took, in turn
with longer ones; if that does not fit either, only the places change.

Needs:   Walk, its StaticGraph; routes, attempt by attempt.
Gives:   Retimed.
Errors:  `Misaligned` of the last attempt; UserError for what `settle` cannot say with a controller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from ....hw.arch.cgra import Arch
from ....hw.arch.errors import UserError
from ...ir.mapped import MappedGraph, Pin, graph_demands
from ..map.delay_lines import NET, StaticGraph
from ..map.grid import Walk
from ..map.storage import store, with_passes
from . import align as alignment
from .align import Alignment, Misaligned
from .settle import Settled, settle

# Placements tried until one can be evened out.
ATTEMPTS = 6

Routes = TypeVar("Routes")


@dataclass(frozen=True)
class Retimed(Generic[Routes]):
    """A static graph with its routes and when everything happens."""

    static: StaticGraph
    routes: Routes
    alignment: Alignment
    settled: Settled


def retime(walked: Walk, static: StaticGraph, arch: Arch,
           route: Callable[[MappedGraph, int], tuple[Routes, Mapping[Pin, int]]],
           tell: Callable[[], None] = lambda: None) -> Retimed[Routes]:
    """The first attempt whose paths can be evened out.

    route: graph and number of the attempt -> routes, and the latency of every sink. tell: called when timing begins.
    """
    misaligned: Misaligned | None = None
    for attempt in range(ATTEMPTS):
        routes, latency = route(static.graph, attempt)
        tell()
        try:
            found = alignment.align(static, latency, arch)
        except Misaligned as failure:
            misaligned = failure
            static = next(_fitting(_relieved(walked, static, failure, latency, attempt), arch), static)
            continue
        alignment.verify(static, found, latency, arch)
        return Retimed(static, routes, found, settle(static, found, arch))
    assert misaligned is not None, "every attempt either returned or failed"
    raise misaligned


def _relieved(walked: Walk, static: StaticGraph, failure: Misaligned, latency: Mapping[Pin, int],
              attempt: int) -> Iterator[tuple[Walk, int]]:
    """Walks that are easier to even out, each with the cycles to expect for a net; the best first."""
    if failure.waiting:
        yield with_passes(static, failure.waiting), NET
    mean = max(1, round(sum(latency.values()) / len(latency)))
    yield walked, mean if attempt % 2 == 0 else NET + attempt


def _fitting(options: Iterator[tuple[Walk, int]], arch: Arch) -> Iterator[StaticGraph]:
    """Those walks that fit a machine."""
    for walked, net in options:
        try:
            found = store(walked, arch, net)
        except UserError:
            continue
        if all(each.needed <= each.has for each in graph_demands(found.graph, arch)):
            yield found
