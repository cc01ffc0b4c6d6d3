"""Streams of emitted Verilog, and the contract that everything on them keeps.

A stream is three signals: payload, valid and ready. A token moves at a rising edge at which valid and ready are 1. An offer
stands: until it is taken, valid stays 1 and the payload as it is (docs/streams.md, Wires).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cocotb.triggers import RisingEdge

from ..hw.arch.errors import UserError
from ..hw.arch.token import show

# Inputs that take back what is offered while one of them is 1, on the components that have them.
RESETS = ("rst", "reset", "flush")


class ProtocolError(AssertionError):
    """A stream broke its contract; the text says which one, and how."""


class Wire:
    """A signal and what is driven on it: several drivers may own parts of it and write them in the same cycle."""

    def __init__(self, signal: Any) -> None:
        self.signal, self.driven = signal, 0


@dataclass(frozen=True)
class Part:
    """Some bits of a signal."""

    wire: Wire
    low: int
    bits: int

    def get(self) -> int:
        """Its value; ValueError if a bit of it is neither 0 nor 1."""
        value = self.wire.signal.value
        try:
            return int(value) >> self.low & (1 << self.bits) - 1
        except ValueError:
            if len(self.wire.signal) == self.bits:
                raise
            # Bits of others may be unknown.
            return int(value[self.low + self.bits - 1:self.low])

    def set(self, value: int) -> None:
        """Drive it from the next step of the simulation on."""
        mask = (1 << self.bits) - 1 << self.low
        self.wire.driven = self.wire.driven & ~mask | value << self.low
        self.wire.signal.value = self.wire.driven


@dataclass(frozen=True)
class Stream:
    """A stream of a component, seen from outside.

    Parameters
    ----------
    name : str         What errors call it.
    clk : handle       Its clock.
    payload, valid, ready : Part
    resets : tuple     Signals that take back offers while one of them is 1.
    """

    name: str
    clk: Any
    payload: Part
    valid: Part
    ready: Part
    resets: tuple[Any, ...] = ()

    def is_reset(self) -> bool:
        """Whether a reset is on, or not known to be off."""
        return any(str(each.value) != "0" for each in self.resets)

    def offered(self) -> int | None:
        """The payload that is offered at an edge of the clock; None if there is none. ProtocolError for unknown bits."""
        try:
            return self.payload.get() if self.valid.get() else None
        except ValueError:
            raise ProtocolError(f"stream {self.name}: valid {self.valid.wire.signal.value}, payload "
                                f"{self.payload.wire.signal.value} are not known") from None


def signal(dut: Any, name: str) -> Any:
    """A port of a component; UserError if there is none of that name."""
    found = getattr(dut, name, None)
    if found is None:
        raise UserError(f"there is no port '{name}'", f"module {dut._name}", "see the table of ports, docs/ports.md")
    return found


def resets(dut: Any) -> tuple[Any, ...]:
    """The inputs of a component that take back what its streams offer."""
    return tuple(getattr(dut, name) for name in RESETS if hasattr(dut, name))


def stream(dut: Any, name: str) -> Stream:
    """A stream port of a component, as ``val`` of the reducer; UserError if it has none of that name.

    Ask once for each stream and let source, sink and watchers share it.
    """
    payload, valid, ready = (Part(Wire(each), 0, len(each)) for each in
                             (signal(dut, f"{name}__{part}") for part in ("payload", "valid", "ready")))
    return Stream(name, signal(dut, "clk"), payload, valid, ready, resets(dut))


async def watch(stream: Stream) -> None:
    """Look at a stream at every edge of its clock, for ever.

    ProtocolError if an offer is withdrawn or changed before it was taken. Resets may withdraw it.
    """
    standing: int | None = None
    while True:
        await RisingEdge(stream.clk)
        if stream.is_reset():
            standing = None
            continue
        offered = stream.offered()
        if standing is not None and offered != standing:
            became = "was withdrawn" if offered is None else f"became {show(offered)}"
            raise ProtocolError(f"stream {stream.name}: {show(standing)} waited to be taken and {became}")
        standing = None if stream.ready.get() else offered
