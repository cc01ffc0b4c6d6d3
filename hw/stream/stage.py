"""One entry of a stream, which is filled again in the cycle in which it is taken."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Elaboratable, Module, Shape, ShapeLike, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import Component, In, Out


class Stage(Component):
    """A register of a stream, at its full rate.

    Parameters
    ----------
    shape : ShapeLike      Payload.

    Members
    -------
    i : In(stream)
    o : Out(stream)

    Timing: latency 1, one token per cycle. `o` comes from registers; `i.ready` follows `o.ready` in the same cycle, so that a
    FIFO with a ready from a register has to end a row of these.
    Source: the half of a two-entry FIFO that a stream needs whose sink tells in time that it takes a word.
    """

    def __init__(self, shape: ShapeLike) -> None:
        self.width = Shape.cast(shape).width
        self.module_name = f"stage_w{self.width}"
        tokens = stream.Signature(shape)
        super().__init__({"i": In(tokens), "o": Out(tokens)})

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        word = Signal(self.width, reset_less=True)      # read when valid
        valid = Signal()
        m.d.comb += [self.i.ready.eq(~valid | self.o.ready), self.o.valid.eq(valid), self.o.payload.eq(word)]
        with m.If(self.i.ready):
            m.d.sync += [valid.eq(self.i.valid), word.eq(self.i.payload)]
        return m
