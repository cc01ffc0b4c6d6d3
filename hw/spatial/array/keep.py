"""Words that stay in PEs while an operation is under way, and how those of the next one get there."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Elaboratable, Module, Mux, Signal
from amaranth.lib.wiring import Component, In, Out


class Keep(Component):
    """The word that a PE keeps, and the next one, which is handed on.

    Members
    -------
    i : In(width)       The word in front of it.
    load : In(1)        That becomes the next one.
    take : In(1)        The next one becomes the one that is kept.
    next, kept : Out(width)

    Timing: outputs are registers.
    """

    def __init__(self, width: int) -> None:
        self.width, self.module_name = width, f"spatial_keep_w{width}"
        super().__init__({"i": In(width), "load": In(1), "take": In(1), "next": Out(width), "kept": Out(width)})

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        following = Signal(self.width, reset_less=True)
        kept = Signal(self.width, reset_less=True)
        m.d.comb += [self.next.eq(following), self.kept.eq(kept)]
        with m.If(self.load):
            m.d.sync += following.eq(self.i)
        with m.If(self.take):
            m.d.sync += kept.eq(following)
        return m


class Loading(Component):
    """Counts the words that go down the chains of a tensor: in each cycle with `arrived` one down each.

    Behaviour: a word goes if the ones for the next operation are not complete, or are taken in this cycle. The words of an
    operation enter in the opposite order of their PEs. Where the wave goes along the chain, PE n has the word that enters now
    in front of it when the wave is there. The last n words are for the PEs before it, so it takes the first `length` - n only.

    Parameters
    ----------
    length : int      PEs of a chain, 1 or more.

    Members
    -------
    arrived : In(1)      A word is there for every chain.
    take : In(1)         The words of an operation are taken; only with `full`.
    load : Out(1)        A word goes down each chain.
    number : Out         How many went before it.
    full : Out(1)        All words of an operation are there, or on their way before its first step.

    Timing: `load` and `number` follow the inputs in the same cycle.
    """

    def __init__(self, length: int) -> None:
        if length < 1:
            raise ValueError(f"a chain has one PE or more, not {length}")
        self.length, self.module_name = length, f"spatial_loading_{length}"
        super().__init__({"arrived": In(1), "take": In(1), "load": Out(1), "number": Out(range(length + 1)), "full": Out(1)})

    def elaborate(self, platform: Any) -> Elaboratable:
        m = Module()
        loaded = Signal.like(self.number)
        m.d.comb += [self.full.eq(loaded == self.length), self.number.eq(Mux(self.full, 0, loaded)),
                     self.load.eq(self.arrived & (~self.full | self.take))]
        with m.If(self.load):
            m.d.sync += loaded.eq(self.number + 1)
        with m.Elif(self.take):
            m.d.sync += loaded.eq(0)
        return m
