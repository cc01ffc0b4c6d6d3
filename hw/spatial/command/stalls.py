"""Counters of why the streams of an accelerator wait."""

from __future__ import annotations

from collections.abc import Iterable

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

COUNTER_BITS = 32


def stall_members(stalls: Iterable[str]) -> dict[str, wiring.Member]:
    """The registers of what is counted, from the side of what counts."""
    return {name: Out(COUNTER_BITS) for name in stalls}


class StallCounters(wiring.Component):
    """Counts cycles.

    Behaviour: several causes may count in a cycle, as each does for any stream, or for as many lanes as there are. What waits
    is seen at the streams between ports of the DMA and buffers or lanes, so that a port whose words are on their way and one
    that waits for its turn on the bus are alike.

    Parameters
    ----------
    stalls : tuple      What is counted, as of `Accelerator.stalls`.
    most : int          How often a cause is counted in a cycle at most.

    Members
    -------
    operand_late, ... : Out(32)     The registers; they wrap.
    is_operand_late, ... : In       It is so in this cycle; of lanes, of how many.

    Timing: a cycle counts in the next one.
    Source: a design of its own; Stellar's programs have cycles alone.
    """

    def __init__(self, stalls: tuple[str, ...], most: int = 1) -> None:
        self.stalls, self.most = stalls, most
        self.module_name = "stall_counters" if most == 1 else f"stall_counters_{most}"
        super().__init__({**stall_members(stalls), **{f"is_{name}": In(range(most + 1)) for name in stalls}})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for name in self.stalls:
            counter = getattr(self, name)
            m.d.sync += counter.eq(counter + getattr(self, f"is_{name}"))
        return m
