"""Performance counters of a tile."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..arch.counters import EVENTS


class TileCounters(wiring.Component):
    """Count tokens of a core, and cycles in which it moves some, starves or is blocked, from the first token to the last.

    Behaviour: of ports a and b, with ``.`` for nothing, ``m`` for a token that moves and ``w`` for an output that waits,

        a         . . m . . m . .
        b         . . . w w m . w
                      | | | |         tokens 3, busy 2, blocked 2, starved 0: neither what was before nor what follows

    Cycles without a token are counted apart, as starved or blocked, and added when the next token moves. `flush` drops them,
    so that nothing between launches is counted; counts go on over launches until `clear`. A counter that is full stays so.

    Parameters
    ----------
    ports : int             Of the core, 1 or more.
    bits : int              Of each counter, 1..32.

    Members
    -------
    moved : In(ports)       Ports at which a token moved.
    waits : In(1)           An output waits to be taken.
    pause : In(1)           Nothing is counted: the tile stands still.
    flush : In(1)           A launch begins.
    clear : In(1)           All counts become 0.
    {event} : Out(bits)     The counts, by the names of `arch.counters.EVENTS`.

    Timing: what happens in a cycle is in the counts of the next one, waiting once a token has followed.
    Source: ours.
    """

    def __init__(self, ports: int, bits: int) -> None:
        if ports < 1 or not 1 <= bits <= 32:
            raise ValueError("counters have 1..32 bits and count the tokens of one port or more")
        self.ports, self.bits = ports, bits
        super().__init__({"moved": In(ports), "waits": In(1), "pause": In(1), "flush": In(1), "clear": In(1),
                          **{event: Out(bits) for event in EVENTS}})

    @property
    def module_name(self) -> str:
        return f"counters_{self.ports}"

    @property
    def emit_key(self) -> object:
        return self.ports, self.bits

    def elaborate(self, platform: object) -> Module:
        m = Module()
        begun = Signal()
        # Of the cycles since the last token.
        idle_starved = Signal(self.bits)
        idle_blocked = Signal(self.bits)
        with m.If(~self.pause):
            with m.If(self.moved.any()):
                m.d.sync += [begun.eq(1), idle_starved.eq(0), idle_blocked.eq(0),
                             self.tokens.eq(self._more(m, "tokens", self.tokens, sum(self.moved))),
                             self.busy.eq(self._more(m, "busy", self.busy, Value.cast(1))),
                             self.starved.eq(self._more(m, "starved", self.starved, idle_starved)),
                             self.blocked.eq(self._more(m, "blocked", self.blocked, idle_blocked))]
            with m.Elif(begun):
                for idle, counts in ((idle_starved, ~self.waits), (idle_blocked, self.waits)):
                    m.d.sync += idle.eq(self._more(m, idle.name, idle, counts))
        with m.If(self.flush | self.clear):
            m.d.sync += [begun.eq(0), idle_starved.eq(0), idle_blocked.eq(0)]
        with m.If(self.clear):
            m.d.sync += [getattr(self, event).eq(0) for event in EVENTS]
        return m

    def _more(self, m: Module, name: str, count: Value, more: Value) -> Value:
        """A count with more, or all ones where that does not fit."""
        total = Signal(max(self.bits, len(more)) + 1, name=f"{name}_with_more")
        m.d.comb += total.eq(count + more)
        return Mux(total[self.bits:].any(), ~0, total[:self.bits])
