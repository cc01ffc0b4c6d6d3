"""Serial line: bytes to and from a pin, 8 bits, no parity, one stop bit."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import cdc, stream, wiring
from amaranth.lib.wiring import In, Out

LEAST_DIVISOR = 4
FRAME_BITS = 10     # start, eight data bits, stop


class Receiver(wiring.Component):
    """Bytes of a line.

    Behaviour: a byte is offered from the middle of its stop bit until it is taken, or until the next one has come: then the old
    one is lost, as nothing stops a line. A start bit that is too short and a stop bit that is none are passed over.

    Parameters
    ----------
    divisor : int      Cycles a bit, 4 or more.

    Members
    -------
    pin : In(1)        The line, 1 at rest, of any clock.
    o : Out(stream)    Bytes.

    Timing: bits are taken in their middle, so clocks may differ by 4 % less half a cycle a bit.
    """

    def __init__(self, divisor: int) -> None:
        self.divisor = _divisor(divisor)
        super().__init__({"pin": In(1, init=1), "o": Out(stream.Signature(8))})

    @property
    def module_name(self) -> str:
        return f"uart_receiver_{self.divisor}"

    def elaborate(self, platform: object) -> Module:
        m = Module()
        pin = Signal(init=1)
        m.submodules.synchronizer = cdc.FFSynchronizer(self.pin, pin, init=1)
        timer = Signal(range(self.divisor))
        left = Signal(range(FRAME_BITS + 1))
        bits = Signal(FRAME_BITS)
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(left == 0):
            with m.If(~pin):
                m.d.sync += [left.eq(FRAME_BITS), timer.eq(self.divisor // 2 - 1)]
        with m.Elif(timer != 0):
            m.d.sync += timer.eq(timer - 1)
        with m.Else():
            m.d.sync += [timer.eq(self.divisor - 1), bits.eq(Cat(bits[1:], pin)), left.eq(left - 1)]
            with m.If((left == FRAME_BITS) & pin):
                m.d.sync += left.eq(0)      # no start bit, but noise
            with m.If((left == 1) & pin):
                m.d.sync += [self.o.payload.eq(bits[2:]), self.o.valid.eq(1)]
        return m


class Transmitter(wiring.Component):
    """Bytes to a line.

    Parameters
    ----------
    divisor : int      Cycles a bit, 4 or more.

    Members
    -------
    i : In(stream)     Bytes.
    pin : Out(1)       The line, from a register.

    Timing: a byte every 10 x divisor + 1 cycles.
    """

    def __init__(self, divisor: int) -> None:
        self.divisor = _divisor(divisor)
        super().__init__({"i": In(stream.Signature(8)), "pin": Out(1, init=1)})

    @property
    def module_name(self) -> str:
        return f"uart_transmitter_{self.divisor}"

    def elaborate(self, platform: object) -> Module:
        m = Module()
        timer = Signal(range(self.divisor))
        left = Signal(range(FRAME_BITS + 1))
        bits = Signal(FRAME_BITS, init=(1 << FRAME_BITS) - 1)
        m.d.comb += [self.i.ready.eq(left == 0), self.pin.eq(bits[0])]
        with m.If(left == 0):
            with m.If(self.i.valid):
                m.d.sync += [bits.eq(Cat(Const(0, 1), self.i.payload, Const(1, 1))), left.eq(FRAME_BITS),
                             timer.eq(self.divisor - 1)]
        with m.Elif(timer != 0):
            m.d.sync += timer.eq(timer - 1)
        with m.Else():
            m.d.sync += [timer.eq(self.divisor - 1), bits.eq(Cat(bits[1:], Const(1, 1))), left.eq(left - 1)]
        return m


def _divisor(cycles: int) -> int:
    if cycles < LEAST_DIVISOR:
        raise ValueError(f"a bit takes {LEAST_DIVISOR} cycles or more, not {cycles}")
    return cycles
