"""Simulated arrays of outer products that the tests of a module share: one process for each array and memory."""

from __future__ import annotations

from sardonyx.hw.arch.outer_product import OuterProduct
from sardonyx.hw.spatial.outer.product import OuterProductArray
from sardonyx.sim.rtl.accelerator import BURSTS, SimulatedAccelerator

BYTES = 1 << 17
_running: dict[tuple[OuterProduct, int, int], SimulatedAccelerator] = {}


def array(kind: OuterProduct, latency: int, bursts: int = BURSTS) -> SimulatedAccelerator:
    """An array with a memory of `BYTES`, which answers after so many cycles; the model of an array is the same for all."""
    key = kind, latency, bursts
    if key not in _running:
        _running[key] = SimulatedAccelerator(OuterProductArray(kind), BYTES, latency, bursts=bursts)
    return _running[key]


def close() -> None:
    """End all processes."""
    while _running:
        _running.popitem()[1].__exit__(None, None, None)
