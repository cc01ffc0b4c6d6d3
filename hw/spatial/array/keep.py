"""Words that stay in PEs while an operation is under way, and how those of the next one get there."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Elaboratable, Module, Mux, Signal, Value
from amaranth.lib.wiring import Component, In, Member, Out


def keep_members(width: int) -> dict[str, Member]:
    """The ports of a PE that keeps a word: the one in front of it, whether that becomes the next one, whether the next one
    becomes the one that is kept, and the next one, from a register."""
    return {"i": In(width), "load": In(1), "take": In(1), "next": Out(width)}


def keep(m: Module, tensor: str, i: Value, load: Value, take: Value) -> tuple[Signal, Signal]:
    """The next word and the one that is kept, as registers.

    They are the PE's own: what is made of each module alone would have what drives a product made for a port.
    """
    following = Signal(len(i), name=f"{tensor}_following", reset_less=True)
    kept = Signal(len(i), name=f"{tensor}_kept", reset_less=True)
    with m.If(load):
        m.d.sync += following.eq(i)
    with m.If(take):
        m.d.sync += kept.eq(following)
    return following, kept


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
