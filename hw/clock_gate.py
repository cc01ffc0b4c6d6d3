"""Clock gates: a part of the hardware is clocked only in cycles in which something can change in it.

A part takes a `Clock` (`emit.macro`), whose `on` says so, in one of two forms, a value of the description:

    enable    every register in the part has `on` for an enable, and so has the enable of an SRAM: for simulators and FPGAs
    cell      the part has a clock of its own, out of a `ClockGate`, which is the place of a library's cell: for ASICs

Both forms change the same words at the same edges. Reset is synchronous and needs an edge, so it opens every gate; what else
resets a part (`flush` of `emit.macro`) does so in cycles with `on` only.
"""

from __future__ import annotations

from contextlib import nullcontext

from amaranth.hdl import Cat, ClockDomain, ClockSignal, Module, ResetSignal, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .arch.glb import CELL
from .emit import Clock, macro
from .emit_platform import EmitPlatform


class ClockGate(wiring.Component):
    """A clock that has an edge only at the end of cycles with `on`.

    Members
    -------
    on : In(1)         Sampled while `clk` is low, so it has to be there before the edge, as the data of a flop has.
    gated : Out(1)     `clk` while it is high, if `on` was 1 before; else 0. It has no other edges, whenever `on` changes.

    Place of a cell: replace the body of this module, and of no other, by an instance of the library's integrated clock gate
    (latch and AND): its clock is `clk`, its enable `on`, its output `gated`; a test enable is tied to 0 or to scan. The body
    here is what such a cell does, for simulation.
    Source: Onyx JSSC V-C (clock gates of the global buffer).
    """

    module_name = "clock_gate"
    # A latch is nothing that Amaranth can say.
    rtlil = r"""
module \clock_gate
  wire width 1 input 1 \clk
  wire width 1 input 2 \on
  wire width 1 output 3 \gated
  wire width 1 \open
  cell $dlatch $latch
    parameter \WIDTH 1
    parameter \EN_POLARITY 1'0
    connect \EN \clk
    connect \D \on
    connect \Q \open
  end
  cell $and $and
    parameter \A_SIGNED 0
    parameter \A_WIDTH 1
    parameter \B_SIGNED 0
    parameter \B_WIDTH 1
    parameter \Y_WIDTH 1
    connect \A \clk
    connect \B \open
    connect \Y \gated
  end
end
""".lstrip()

    def __init__(self) -> None:
        super().__init__({"on": In(1), "gated": Out(1)})


def gated_clock(m: Module, name: str, form: str, platform: object) -> Clock:
    """A clock for a part of a module; its `on` is a signal, to be driven.

    form: one of `arch.glb.CLOCK_GATES`. Amaranth's simulator has no latches: what it runs has enables in either form.
    """
    on = Signal(name=f"{name}_clock_on")
    if form != CELL or not isinstance(platform, EmitPlatform):
        return Clock(on)
    m.submodules[f"{name}_clock_gate"] = gate = macro(ClockGate())
    m.d.comb += gate.on.eq(on | ResetSignal())
    return Clock(on, gate.gated)


def domain(m: Module, name: str, clock: Clock | None) -> str:
    """The domain of registers of a module that this clock serves; they do not change without `on` in any case."""
    if clock is None or clock.gated is None:
        return "sync"
    m.domains += ClockDomain(name, local=True)
    m.d.comb += [ClockSignal(name).eq(clock.gated), ResetSignal(name).eq(ResetSignal())]
    return name


def follows(m: Module, register: Signal, value: Value, clock: Clock | None) -> None:
    """A register of a module, beside a part that this clock serves, takes a value at its edges."""
    clocked = domain(m, register.name, clock)
    with m.If(clock.on) if clock is not None and clock.gated is None else nullcontext():
        m.d[clocked] += register.eq(value)


def lasting(m: Module, name: str, active: Value, margin: int) -> Value:
    """1 in cycles with `active`, and in so many after the last of them, or after a reset."""
    if not margin:
        return active
    # Because what was active in a cycle with reset goes on after it.
    past = Signal(margin, name=f"{name}_past", init=-1)
    m.d.sync += past.eq(Cat(active, past))
    return active | past.any()
