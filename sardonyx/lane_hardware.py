"""Lanes from memory to memory in a simulation: a job that stands there, commands over a bus, or firmware that gives these.

How long a job takes that stands there is also known without the Verilog.

Errors:  UserError for what an accelerator tells; AssertionError for a job that ends with an error.
"""

from __future__ import annotations

from .hw.arch.outer_product import ERRORS, OuterProduct
from .hw.spatial.accelerator import SpatialAccelerator
from .hw.spatial.outer.product import OuterProductArray
from .hw.spatial.system import SpatialSystem
from .runtime import spatial_outer
from .runtime.data.outer_product import Laid
from .runtime.spatial_commands import check
from .sim.model.outer.machine import cycles
from .sim.rtl.accelerator import BURSTS, SimulatedAccelerator

# Cycles that a command takes at most, and a byte of a core's memory with what the core does.
PATIENCE, LOADING = 1000, 20


def top(kind: OuterProduct) -> OuterProductArray | SpatialAccelerator | SpatialSystem:
    """The component that is the top of the Verilog, a new one each time."""
    if not kind.queue:
        return OuterProductArray(kind)
    return SpatialSystem(kind) if kind.ram_bytes else SpatialAccelerator(kind)


def simulated(kind: OuterProduct, place: Laid, work: int, latency: int) -> tuple[bytes, dict[str, object]]:
    """What the Verilog leaves in memory, and what is told of it; `work` elements and operations."""
    content = place.content
    words = spatial_outer.product(kind, place) if kind.queue and not kind.ram_bytes else []
    if kind.ram_bytes:
        content = spatial_outer.firmware(kind, place) + content[kind.ram_bytes:]
    # Cycles that one of these may take at most, with merges of their runs, if nothing hangs.
    limit = (64 + 8 * latency) * (work + 1) + kind.rows + PATIENCE * len(words) + LOADING * kind.ram_bytes
    with SimulatedAccelerator(top(kind), len(content), latency, kind.stalls) as running:
        running.write(0, content)
        ended = running.run(words, limit)
        if kind.queue:
            check(ended.status, kind.name)
        else:
            assert not ended.status, f"it ended with an error: {ERRORS[ended.status]}"
        given = {"firmware": "C on the core"} if kind.ram_bytes else {"commands": len(words)} if words else {}
        return running.read(0, len(content)), {**given, **ended.report}


def timed(kind: OuterProduct, place: Laid, latency: int) -> dict[str, object]:
    """The cycles that the Verilog takes for a job in memory; nothing where commands come, which take time of their own."""
    return {} if kind.queue else {"cycles": cycles(kind, place.content, place.job, latency, BURSTS)}
