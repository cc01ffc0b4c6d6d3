"""A simulated system: host and machine in generated Verilog, and a model of the memory outside.

The Verilog and the memory run in a process of their own, built from `system.cpp`; what runs on the processor is in the memory,
see `runtime.firmware`.
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from ...hw.arch.cgra import Arch
from ...hw.arch.errors import UserError
from . import library, stitch
from .process import Process

# Bytes of memory outside, and cycles from an address to its first word.
MEMORY_BYTES, LATENCY = 64 << 20, 50


class SimulatedSystem(Process):
    """One running simulation. Use as a context manager, so that the process ends.

    Parameters
    ----------
    arch : Arch            With a processor.
    memory_bytes : int     Of memory outside, from address 0 on; a multiple of 8.
    latency : int          Cycles from an address outside to its first word, and from the last beat of a write to its answer, 1
                           or more. Otherwise a 64-bit beat passes in every cycle, in both directions at once.
    periods : tuple        Of the clocks of host and machine, in any common unit, each 1 or more: 97, 50 are 500 and 970 MHz.
                           Equal ones where the system has one clock. Memory outside has the host's, of which all cycles are.
    check : bool           As of `Machine`.
    cache : Path           Folder of built models; default: the user's cache folder.
    """

    def __init__(self, arch: Arch, memory_bytes: int = MEMORY_BYTES, latency: int = LATENCY, check: bool = False,
                 cache: Path | None = None, periods: tuple[int, int] = (1, 1)) -> None:
        if not arch.system.processor:
            raise UserError("this machine has no processor", f"machine '{arch.name}'", "give it system=System(processor=True)")
        for name, value, step in (("memory_bytes", memory_bytes, 8), ("latency", latency, 1)):
            if not isinstance(value, int) or not step <= value <= 1 << 32 or value % step:
                raise UserError(f"{name} is {value}", "simulated system", f"give a multiple of {step}, {step}..2^32")
        if len(periods) != 2:
            raise UserError(f"there are {len(periods)} periods", "simulated system", "give those of host and machine")
        for period in periods:
            if not isinstance(period, int) or not 1 <= period <= 1 << 32:
                raise UserError(f"a period is {period}", "simulated system", "give whole numbers 1..2^32")
        if periods[0] != periods[1] and not arch.system.own_clock:
            raise UserError(f"periods {periods[0]} and {periods[1]} are of two clocks, the system has one",
                            f"machine '{arch.name}'", "give equal periods, or a machine with system.own_clock")
        self.arch, self.memory_bytes = arch, memory_bytes
        self.model = library.system_model(arch, cache)
        super().__init__([str(self.model.executable), *map(str, (memory_bytes, latency, arch.system.serial_cycles, *periods)),
                          *(["--check"] if check else [])], stitch.wire_list(arch, host=True))

    def write(self, address: int, content: bytes) -> None:
        """Fill memory outside from a byte address (a multiple of 8) on; the last 64-bit word is filled up with zeros."""
        content += bytes(-len(content) % 8)
        refused, = self._ask(struct.pack("<cII", b"L", address, len(content) // 8) + content, "I")
        self._inside(refused, address, len(content))

    def read(self, address: int, count: int) -> np.ndarray:
        """Read 16-bit words of memory outside from a byte address (a multiple of 8) on."""
        lines = -(-count // 4)
        refused, = self._ask(struct.pack("<cII", b"m", address, lines), "I")
        found = np.frombuffer(self._read(8 * lines), "<u2")
        self._inside(refused, address, 2 * count)
        return found[:count].copy()

    def run(self, limit: int) -> int | None:
        """Reset the system and run it until its processor stands still; the cycles that took, None if more than the limit.

        Cycles are of the host's clock, as everywhere here.
        """
        stands, cycles = self._ask(struct.pack("<cQ", b"G", limit), "IQ")
        return cycles if stands else None

    @property
    def line(self) -> bytes:
        """What the serial line has sent since the last `run` began."""
        length, = self._ask(b"u", "I")
        return self._read(length)

    def moves(self, outward: bool) -> list[tuple[int, int]]:
        """Spans of cycles since reset in which words came from memory outside, or went there."""
        count, = self._ask(struct.pack("<cI", b"a", outward), "I")
        edges = list(struct.unpack(f"<{count}Q", self._read(8 * count)))
        if count % 2:
            edges.append(self._ask(struct.pack("<c", b"T"), "Q")[0])
        return list(zip(edges[::2], edges[1::2], strict=True))

    def _inside(self, refused: int, address: int, count: int) -> None:
        if refused:
            raise UserError(f"memory outside has {self.memory_bytes} bytes, and none of {address:#x}..{address + count:#x}",
                            fix="give it more memory_bytes, or an address that is a multiple of 8")
