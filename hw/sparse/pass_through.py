"""Pass-through: a FIFO that takes up the slack between two paths that meet again."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory

from ..arch.primitive import PASS_THROUGH
from ..arch.tile import TileSpec
from ..arch.token import TOKEN
from .interface import members


class PassThrough(wiring.Component):
    """Hold up to `spec.pass_depth` tokens.

    Behaviour: ``o`` is ``i``.

    Parameters
    ----------
    spec : TileSpec     Its `pass_depth`, 2..256.

    Members
    -------
    i : In
    o : Out

    Timing: one token per cycle, one cycle of latency; both ready and valid come from registers.
    Source: Onyx IEEE Micro (pass-through primitive).
    """

    def __init__(self, spec: TileSpec) -> None:
        self.depth = spec.pass_depth
        super().__init__(members(PASS_THROUGH))

    @property
    def module_name(self) -> str:
        return f"pass_through_{self.depth}"

    @property
    def emit_key(self) -> int:
        return self.depth

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.tokens = tokens = Memory(shape=TOKEN, depth=self.depth, init=[])
        write, read = tokens.write_port(), tokens.read_port(domain="comb")
        back = Signal.like(write.addr)
        front = Signal.like(read.addr)
        # Equal places are a full FIFO if the last that moved them was a token that came, else an empty one. A level would say
        # the same in more gates (`Fifo`), and every PE has this one.
        came = Signal()
        enters = Signal()
        leaves = Signal()
        meet = back == front
        m.d.comb += [
            self.i.ready.eq(~(meet & came)), self.o.valid.eq(~meet | came), self.o.payload.eq(read.data),
            enters.eq(self.i.valid & self.i.ready), leaves.eq(self.o.valid & self.o.ready),
            write.addr.eq(back), write.data.eq(self.i.payload), write.en.eq(enters), read.addr.eq(front),
        ]
        for moves, place in ((enters, back), (leaves, front)):
            with m.If(moves):
                m.d.sync += place.eq(self._after(place))
        # Where both happen at once the places differ, before and after.
        with m.If(enters != leaves):
            m.d.sync += came.eq(enters)
        return m

    def _after(self, place: Value) -> Value:
        """The place behind one, after the last the first."""
        behind = (place + 1)[:len(place)]
        return behind if self.depth == 1 << len(place) else Mux(place == self.depth - 1, 0, behind)
