"""How the word that an array stops gets to all of it: a register for each group of PEs or ports, of the square root of them."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt
from typing import Any, TypeVar

from amaranth.hdl import Elaboratable, Module
from amaranth.lib.wiring import Component, In, Out

# Of fewer PEs or ports than this there is one group.
GROUP = 16
Part = TypeVar("Part")


def grouped(parts: Sequence[Part]) -> list[Sequence[Part]]:
    """Parts of an array in groups: as many as each has, or one of up to `GROUP`."""
    size = max(GROUP, isqrt(max(len(parts), 1) - 1) + 1)
    return [parts[at:at + size] for at in range(0, len(parts), size)]


class Going(Component):
    """Whether an array goes on, for one group of its PEs or ports.

    A module of its own: what makes cells of each module alone puts no buffers into the net between two of them, and makes one
    of equal registers of one module.

    Members
    -------
    next : In(1)    Of the next cycle.
    on : Out(1)     1 after a reset.
    """

    module_name = "spatial_going"

    def __init__(self) -> None:
        super().__init__({"next": In(1), "on": Out(1, init=1)})

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        m.d.sync += self.on.eq(self.next)
        return m
