"""Counters of why the streams of an accelerator wait."""

from __future__ import annotations

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...arch.command import STALLS

COUNTER_BITS = 32


def stall_members() -> dict[str, wiring.Member]:
    """The registers `STALLS`, from the side of what counts."""
    return {name: Out(COUNTER_BITS) for name in STALLS}


class StallCounters(wiring.Component):
    """Counts cycles.

    Behaviour: several causes may count in a cycle, as each does for any stream. What waits is seen at the streams between ports
    of the DMA and buffers, so that a port whose words are on their way and one that waits for its turn on the bus are alike.

    Members
    -------
    operand_late, ... : Out(32)     The registers; they wrap.
    is_operand_late, ... : In(1)    It is so in this cycle.

    Timing: a cycle counts in the next one.
    Source: a design of its own; Stellar's programs have cycles alone.
    """

    module_name = "stall_counters"

    def __init__(self) -> None:
        super().__init__({**stall_members(), **{f"is_{name}": In(1) for name in STALLS}})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for name in STALLS:
            counter = getattr(self, name)
            m.d.sync += counter.eq(counter + getattr(self, f"is_{name}"))
        return m
