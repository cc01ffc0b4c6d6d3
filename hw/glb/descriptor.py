"""What a load or store unit runs with `Glb.queue`: a descriptor, its repetitions, and behind it the one that waits."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arch.glb import Glb
from ..arch.soc import ENDED_BITS, REPEAT_BITS
from ..emit import macro
from ..interconnect.boxes import Members


def column_bits(glb: Glb) -> int:
    """Bits that tell the columns of a tile apart."""
    return max(1, (glb.columns_per_tile - 1).bit_length())


def queue_members(glb: Glb) -> Members:
    """What a unit has more with a queue, see `Descriptors`; `column` is where the word at hand goes, or comes from."""
    return {"next_column": In(column_bits(glb)), "repeats": In(REPEAT_BITS), "queued": In(1), "taken": Out(1),
            "ended": Out(ENDED_BITS), "ends": Out(1), "column": Out(column_bits(glb))} if glb.queue else {}


class Descriptors(wiring.Component):
    """Holds the descriptor that a unit runs, and begins the next one in the very cycle in which it ends.

    Behaviour: a descriptor is what the registers of a unit say. A start takes it out of them. Where it ends it begins anew,
    `repeats` times; then a queued one is taken. One that is queued behind the end is taken at once.

        registers A with `repeats` 1, start; registers B, `queued`           A A B, taken at the start and with the end of A

    Parameters
    ----------
    unit : str                  load or store.
    layout : StructLayout       Of a descriptor; `first`, `loops` and `sliced` are among it.

    Members
    -------
    registers, repeats : In     What the registers say.
    start, stop : In(1)         With a stop nothing is taken, and repetitions that are left are not run.
    queued : In(1)              The registers are the next descriptor.
    idle : In(1)                The unit has nothing to run.
    steps, ends : In(1)         The unit does a step; the one at hand is its last, done or not.
    counts : In(1)              A descriptor has ended, with all that its words do.
    running : Out               What the unit runs. `first`, the extents and what is 1 bit wide are, with `begins`, those of
                                what begins.
    begins : Out(1)             The unit begins, by a start or behind what ends; with a slice at the next start.
    waits : Out(1)              What is queued begins in this run.
    taken : Out(1)              The registers are taken.
    last : Out(1)               No repetition is left.
    ended : Out(16)             Descriptors that ended since start.

    Timing: all but `first`, the extents and what is 1 bit wide come from registers.
    Source: Onyx JSSC V-C; the modes repeat and queue (of one) of the public hardware, which any descriptor has here.
    """

    def __init__(self, unit: str, layout: data.StructLayout) -> None:
        self.unit, self.layout = unit, layout
        super().__init__({
            "registers": In(layout), "repeats": In(REPEAT_BITS), "start": In(1), "stop": In(1), "queued": In(1), "idle": In(1),
            "steps": In(1), "ends": In(1), "counts": In(1), "running": Out(layout), "begins": Out(1), "waits": Out(1),
            "taken": Out(1), "last": Out(1), "ended": Out(ENDED_BITS)})

    @property
    def module_name(self) -> str:
        return f"{self.unit}_descriptors"

    def elaborate(self, platform: object) -> Module:
        m = Module()
        held = Signal(self.layout, reset_less=True)     # read after a start only
        left = Signal(REPEAT_BITS)
        queued_next = Signal()
        m.d.comb += [
            self.last.eq(left == 0),
            queued_next.eq(self.queued & (self.idle | self.ends & self.last)),
            self.taken.eq(self.start | queued_next & (self.idle | self.steps) & ~self.stop),
            self.begins.eq(self.taken | self.steps & self.ends & ~self.last & ~self.stop),
            self.running.eq(held), self.waits.eq(self.queued & self.idle & ~self.registers.sliced),
        ]
        # What else the registers say is read from the next cycle on only, so it needs no way around `held`. The choice does not
        # wait for the step, which depends on the bank: a unit at its last step reads these for what begins only.
        with m.If(self.start | queued_next):
            m.d.comb += [self.running.first.eq(self.registers.first), self.running.sliced.eq(self.registers.sliced),
                         self.running.loops.extent.eq(self.registers.loops.extent)]
            m.d.comb += [self.running.listed.eq(self.registers.listed)] if "listed" in self.layout.members else []
        with m.If(self.taken):
            m.d.sync += [held.eq(self.registers), left.eq(self.repeats)]
        with m.Elif(self.begins):
            m.d.sync += left.eq(left - 1)
        with m.If(self.start):
            m.d.sync += self.ended.eq(0)
        with m.Elif(self.counts):
            m.d.sync += self.ended.eq(self.ended + 1)
        return m


def descriptors(m: Module, unit: str, dma: Any, start: Value, *names: str) -> Any:
    """The `Descriptors` of a unit: of its members of these names, and of the column.

    The unit drives `idle`, `steps`, `ends` and `counts`.
    """
    shapes = {name: dma.signature.members[name].shape for name in names}
    m.submodules.descriptors = found = macro(Descriptors(unit, data.StructLayout(shapes | {"column": column_bits(dma.glb)})))
    m.d.comb += [getattr(found.registers, name).eq(getattr(dma, name)) for name in names]
    m.d.comb += [found.registers.column.eq(dma.next_column), found.repeats.eq(dma.repeats), found.start.eq(start),
                 found.stop.eq(dma.stop), found.queued.eq(dma.queued), dma.taken.eq(found.taken), dma.ended.eq(found.ended),
                 dma.ends.eq(found.counts)]
    return found
