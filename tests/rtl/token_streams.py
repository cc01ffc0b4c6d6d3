"""Drive and collect streams of emitted Verilog in cocotb.

A stream is three signals: payload, valid and ready. A token moves at a rising edge at which valid and ready are 1.
Tracks of a tile share their signals: track t is word t of the payload and bit t of valid and ready.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge

# What a tile takes from its column beside the tracks.
CHANNEL = tuple(f"config__{name}" for name in ("valid", "write", "addr", "wdata"))


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
        return int(self.wire.signal.value) >> self.low & (1 << self.bits) - 1

    def set(self, value: int) -> None:
        mask = (1 << self.bits) - 1 << self.low
        self.wire.driven = self.wire.driven & ~mask | value << self.low
        self.wire.signal.value = self.wire.driven


@dataclass(frozen=True)
class Stream:
    """The three signals of a stream, and the clock."""

    clk: Any
    payload: Part
    valid: Part
    ready: Part


def stream(dut: Any, name: str) -> Stream:
    """A stream port of a component."""
    signals = [getattr(dut, f"{name}__{part}") for part in ("payload", "valid", "ready")]
    return Stream(dut.clk, *(Part(Wire(signal), 0, len(signal)) for signal in signals))


def tracks(dut: Any, side: str, way: str, layer: str = "data", bits: int = 17) -> list[Stream]:
    """The tracks on a side of a tile; `way` is ``i`` or ``o``."""
    payload, valid, ready = (Wire(getattr(dut, f"{side}_{layer}_{way}_{part}")) for part in ("payload", "valid", "ready"))
    return [Stream(dut.clk, Part(payload, bits * t, bits), Part(valid, t, 1), Part(ready, t, 1))
            for t in range(len(valid.signal))]


async def reset(dut: Any, inputs: Sequence[str]) -> None:
    """Start the clock, set inputs to 0, and reset for some cycles."""
    for name in inputs:
        getattr(dut, name).value = 0
    Clock(dut.clk, 10, "ns").start()
    dut.rst.value = 1
    await ClockCycles(dut.clk, 3)
    dut.rst.value = 0
    await RisingEdge(dut.clk)


async def configure(dut: Any, x: int, y: int, words: Sequence[int]) -> None:
    """Tell a tile where it is and write its configuration registers, one a cycle."""
    dut.tile_x.value, dut.tile_y.value = x, y
    for register, word in enumerate(words):
        dut.config__valid.value, dut.config__write.value = 1, 1
        dut.config__addr.value, dut.config__wdata.value = x << 24 | y << 16 | register, word
        await RisingEdge(dut.clk)
    dut.config__valid.value = 0
    await ClockCycles(dut.clk, 3)


async def drive(port: Stream, tokens: Sequence[int], stalls: random.Random | None = None) -> None:
    """Give tokens, with random gaps if asked for."""
    for token in tokens:
        while stalls and stalls.random() < 0.3:
            await RisingEdge(port.clk)
        port.payload.set(token)
        port.valid.set(1)
        await RisingEdge(port.clk)
        while not port.ready.get():
            await RisingEdge(port.clk)
        port.valid.set(0)


async def collect(port: Stream, count: int, stalls: random.Random | None = None) -> list[int]:
    """Take that many tokens, with random pauses if asked for."""
    tokens: list[int] = []
    while len(tokens) < count:
        open_now = not stalls or stalls.random() < 0.7
        port.ready.set(int(open_now))
        await RisingEdge(port.clk)
        if open_now and port.valid.get():
            tokens.append(port.payload.get())
    port.ready.set(0)
    return tokens
