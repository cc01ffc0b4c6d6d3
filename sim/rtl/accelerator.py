"""A simulated spatial accelerator: its generated Verilog, and a model of the memory behind its bus.

Both run in a process of their own, built from `accelerator.cpp`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from amaranth.hdl import Shape
from amaranth.lib import wiring

from ...cache import Cache, home
from ...hw import emit
from ...hw.arch.command import REGISTERS, Word
from ...hw.arch.dma import LEAST_BUS
from ...hw.arch.errors import UserError
from ...hw.arch.soc import named
from ...hw.component import module_name
from . import verilator
from .process import Process

HARNESS = Path(__file__).with_suffix(".cpp")
HEADERS = [HARNESS.with_name(name) for name in ("pipe.h", "outside.h")]
# Bytes of memory, and cycles from an address to its first word.
MEMORY_BYTES, LATENCY = 1 << 20, 50
# That memory takes at once, in each direction.
BURSTS = 64


@dataclass(frozen=True)
class Ended:
    """How a run ended: the register `status`, cycles from reset on, 64-bit words that went over the bus, and what counters
    have, if there are some, by their names."""

    status: int
    cycles: int
    words_read: int
    words_written: int
    stalls: Mapping[str, int] = field(default_factory=dict)

    @property
    def report(self) -> dict[str, object]:
        """What a report says of it."""
        counted = {"waits": dict(self.stalls)} if self.stalls else {}
        return {"words_read": self.words_read, "words_written": self.words_written, "cycles": self.cycles, **counted}


class Unended(AssertionError):
    """A run that goes on: of a program that a user wrote, who may have meant it so, or a mistake of ours."""


class SimulatedAccelerator(Process):
    """One running simulation. Use as a context manager, so that the process ends.

    Parameters
    ----------
    top : Component        `SpatialAccelerator`, or one with a processor, fresh.
    memory_bytes : int     From address 0 on; a multiple of 8.
    latency : int          Cycles from an address to its first word, and from the last beat of a write to its answer, 1 or more.
                           Otherwise a word of the bus passes in every cycle, in both directions at once.
    bursts : int           That memory takes at once, in each direction.
    stalls : sequence      What it counts, as of `Accelerator.stalls`.
    cache : Path           Folder of built models; default: the user's.
    """

    def __init__(self, top: wiring.Component, memory_bytes: int = MEMORY_BYTES, latency: int = LATENCY,
                 stalls: Iterable[str] = (), cache: Path | None = None, *, bursts: int = BURSTS) -> None:
        for name, value, step in (("memory_bytes", memory_bytes, 8), ("latency", latency, 1), ("bursts", bursts, 1)):
            if not isinstance(value, int) or not step <= value <= 1 << 32 or value % step:
                raise UserError(f"{name} is {value}", "simulated accelerator", f"give a multiple of {step}, {step}..2^32")
        self.memory_bytes = memory_bytes
        has_queue = "s_axil_awvalid" in top.signature.members
        platform = emit.collect(top, Cache(cache) if cache else home())
        name = module_name(top)
        bus_bytes = Shape.cast(top.signature.members["m_axi_wstrb"].shape).width
        lines = [f'#include "V{name}.h"', f"using Top = V{name};"]
        lines += ["#define HAS_QUEUE"] * has_queue
        lines += [f"#define BUS_BYTES {bus_bytes}"] if bus_bytes != LEAST_BUS else []
        self._stalls = tuple(stalls)
        places = [f"{named(REGISTERS)[each].offset}u" if has_queue else f"top->{each}" for each in self._stalls]
        lines += [f"#define COUNTERS {', '.join(places)}"] if places else []
        self._answer = "IIQQQ" + "I" * len(places)
        headers = {"top.h": "\n".join((*lines, ""))} | {header.name: header.read_text() for header in HEADERS}
        self.model = verilator.build(emit.texts(platform), HARNESS, name, includes=headers, cache=cache)
        super().__init__([str(self.model.executable), str(memory_bytes), str(latency), str(bursts)], None)

    def write(self, address: int, content: bytes) -> None:
        """Fill memory from a byte address (a multiple of 8) on; the last 64-bit word is filled up with zeros."""
        content += bytes(-len(content) % 8)
        refused, = self._ask(struct.pack("<cII", b"L", address, len(content) // 8) + content, "I")
        self._inside(refused, address, len(content))

    def read(self, address: int, count: int) -> bytes:
        """Bytes of memory from a byte address (a multiple of 8) on."""
        lines = -(-count // 8)
        refused, = self._ask(struct.pack("<cII", b"m", address, lines), "I")
        found = self._read(8 * lines)
        self._inside(refused, address, count)
        return found[:count]

    def run(self, commands: Sequence[Word], limit: int) -> Ended:
        """Reset, and do commands, or what is in memory for the processor; Unended where it takes more than the limit."""
        words = np.array([*commands], np.uint32).reshape(-1)
        asked = struct.pack("<cQI", b"G", limit, len(commands)) + words.tobytes()
        ended, status, cycles, read, written, *stalls = self._ask(asked, self._answer)
        if not ended:
            raise Unended(f"the accelerator did not end within {limit:,} cycles, its status is {status:#x}")
        return Ended(status, cycles, read, written, dict(zip(self._stalls, stalls, strict=True)))

    def _inside(self, refused: int, address: int, count: int) -> None:
        if refused:
            raise UserError(f"memory has {self.memory_bytes} bytes, and none of {address:#x}..{address + count:#x}",
                            fix="give it more memory_bytes, or an address that is a multiple of 8")
