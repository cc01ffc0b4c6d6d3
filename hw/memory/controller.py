"""Controller of a memory port: walks a loop nest by the clock."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, ResetSignal, Signal, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .affine import advancing, count_loops


def schedule_layout(loops: int, extent_bits: int, cycle_bits: int, address_bits: int) -> data.StructLayout:
    """The settings of a controller, constant while it runs; loops innermost first. Meanings: `hw/arch/buffer.py`."""
    return data.StructLayout({
        "on": 1, "cycle": cycle_bits, "address": address_bits,
        "extent": data.ArrayLayout(unsigned(extent_bits), loops), "gap": data.ArrayLayout(unsigned(cycle_bits), loops),
        "delta": data.ArrayLayout(unsigned(address_bits), loops)})


class Controller(wiring.Component):
    """Says in which cycles a port has a word, and at which address.

    Behaviour: the first word comes `cycle` cycles after reset, at `address`; each further word as many idle cycles after the
    one before as the gap of the loop that advances, at an address larger by its delta.

        extents 3, 2 (stored as 2, 1), gaps 0, 2, deltas 1, 5 from cycle 1 and address 7:

        cycle    0  1  2  3  4  5  6  7  8  9
        address     7  8  9        14 15 16

    Parameters
    ----------
    loops : int                         1..16
    extent_bits, cycle_bits : int       Widths of loop counters, and of the countdown to the next word.
    address_bits : int                  Addresses count modulo 2**address_bits; 0: there are none.

    Members
    -------
    cfg : In            Constant from the last cycle of reset on.
    fire : Out(1)       There is a word in this cycle.
    more : Out(1)       There is one in this cycle or later.
    countdown : Out     Cycles until then: 0 in the cycle of a word.
    address : Out       Of that word.

    Timing: one word per cycle; all outputs are of the cycle itself, cycle 0 is the first one after reset.
    Source: Amber JSSC V: iteration domain, address generator and schedule generator. There the schedule generator adds up
    cycles and compares them with a cycle counter; counting the gap down needs neither counter nor comparator, and no schedule
    is too long for its bits.
    """

    def __init__(self, loops: int, extent_bits: int, cycle_bits: int, address_bits: int) -> None:
        self.loops, self.extent_bits, self.cycle_bits, self.address_bits = loops, extent_bits, cycle_bits, address_bits
        members = {"cfg": In(schedule_layout(loops, extent_bits, cycle_bits, address_bits)), "fire": Out(1), "more": Out(1),
                   "countdown": Out(cycle_bits)}
        super().__init__(members | ({"address": Out(address_bits)} if address_bits else {}))

    @property
    def module_name(self) -> str:
        return f"controller_{self.loops}x{self.extent_bits}_{self.cycle_bits}_{self.address_bits}"

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # The start is configuration and so no reset value: reset takes it over. A choice behind the registers, by whether the
        # first cycle is over, would be one signal for all controllers of a memory, and the longest path of its tile.
        starts = ResetSignal()
        ended = Signal()
        left = Signal(self.cycle_bits, reset_less=True)
        m.d.comb += [self.countdown.eq(left), self.more.eq(self.cfg.on & ~ended), self.fire.eq(self.more & (left == 0))]

        at_end = count_loops(m, list(self.cfg.extent), self.fire, starts)
        gap = advancing(m, at_end, list(self.cfg.gap), unsigned(self.cycle_bits), "gap")
        m.d.sync += left.eq(Mux(starts, self.cfg.cycle, Mux(self.fire, gap, left - 1)))
        with m.If(self.fire):
            m.d.sync += ended.eq(at_end.all())
        if self.address_bits:
            delta = advancing(m, at_end, list(self.cfg.delta), unsigned(self.address_bits))
            at = Signal(self.address_bits, reset_less=True)
            m.d.comb += self.address.eq(at)
            m.d.sync += at.eq(Mux(starts, self.cfg.address, at + Mux(self.fire, delta, 0)))
        return m
