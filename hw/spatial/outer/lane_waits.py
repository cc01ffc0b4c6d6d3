"""What lanes wait for, seen at what they share: ports, the ledger, and memories that their runs are in."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...arch.command import LANE_STALLS
from ...arch.outer_product import OuterProduct

# Of these causes commands know, which lanes do not see.
LANE_CAUSES = tuple(name for name in LANE_STALLS if name != "command_held")
# Of each lane, what its streams say: that there is something, and that it is taken.
STREAMS = ("request", "load", "store", "ask")


def wait_members(kind: OuterProduct, flow: Any) -> dict[str, wiring.Member]:
    """Of each cause, how many lanes wait for it in a cycle, if they are counted."""
    return {f"is_{name}": flow(range(kind.lanes + 1)) for name in LANE_CAUSES} if kind.counters else {}


class LaneWaits(wiring.Component):
    """Counts in each cycle the lanes that wait, by cause.

    Behaviour: a lane takes words of an operand while its `load` is ready, and has room in memory to fill from a request that
    stores until that has ended; it is not answered from its question on, but in the cycle in which the ledger answers.

    Parameters
    ----------
    kind : OuterProduct      With counters.

    Members
    -------
    request_valid, request_ready, ... : In      Of `STREAMS`, a bit for each lane.
    stores : In        Of each lane: its request is one that stores.
    ended : In         Of each lane: its request ends.
    answered : In      Of each lane.
    run_late : In      Of each lane: one of two runs has no element where they are merged.
    done : In          Of each lane: there is no number left for it in this phase.
    is_operand_late, ... : Out      As of `wait_members`.

    Timing: in the same cycle.
    Source: a design of its own.
    """

    def __init__(self, kind: OuterProduct) -> None:
        self.kind, self.module_name = kind, f"lane_waits_{kind.lanes}"
        lanes = kind.lanes
        shaken = {f"{name}_{side}": In(lanes) for name in STREAMS for side in ("valid", "ready")}
        super().__init__({**shaken, "stores": In(lanes), "ended": In(lanes), "answered": In(lanes), "run_late": In(lanes),
                          "done": In(lanes), **wait_members(kind, Out)})

    @property
    def emit_key(self) -> int:
        return self.kind.lanes

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lanes = self.kind.lanes
        storing = Signal(lanes)
        asked = Signal(lanes)
        starts = self.request_valid & self.request_ready
        m.d.sync += [storing.eq((storing & ~self.ended) | (starts & self.stores)),
                     asked.eq((asked & ~self.answered) | (self.ask_valid & self.ask_ready))]
        found = {
            "operand_late": self.load_ready & ~self.load_valid, "operand_held": self.load_valid & ~self.load_ready,
            "result_late": storing & ~self.store_valid, "result_held": self.store_valid & ~self.store_ready,
            "answer_late": (self.ask_valid & ~self.ask_ready) | (asked & ~self.answered),
            "port_held": self.request_valid & ~self.request_ready, "run_late": self.run_late,
            # With the last one that is done the phase is over.
            "lane_idle": Mux(self.done.all(), 0, self.done)}
        for name in LANE_CAUSES:
            waits = Signal(lanes, name=f"waits_{name}")
            count: Value = waits[0]
            for lane in range(1, lanes):
                count = count + waits[lane]
            m.d.comb += [waits.eq(found[name]), getattr(self, f"is_{name}").eq(count)]
        return m
