"""A simulated machine behind its two buses: registers, memory, configuration, interrupt.

The generated Verilog runs in a process of its own (built from `machine.cpp`); this is the driver that host code uses.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

import numpy as np

from ...hw.arch.cgra import Arch
from ...hw.arch.glb import LINE_BYTES
from ...hw.arch.soc import CONFIGURING
from ...runtime.commands import WriteRegister
from ...runtime.device import read_back, register_address, whole_lines
from ...runtime.registers import queues
from .activity import Activity, Count
from .process import Process


class Machine(Process):
    """One running simulation. Use as a context manager, so that the process ends.

    Parameters
    ----------
    arch : Arch          What was built.
    executable : Path    From `folding` or `library`.
    wires : str          For a library: the wire list, see `stitch`.
    check : bool         For a library: evaluate what is asleep too, and end with a message if that changes anything; slow.
    counting : bool      For a library that is built to: count what moves while programs run, see `activity`.
    posts : bool         The host goes on before the answers to what it writes, over each bus in order and over both at once:
                         registers that follow each other take a cycle each, and bursts no cycle between them. It waits for
                         all before it reads anything and before it closes, but for an error, and for bursts before what begins
                         something that reads their words: a write to `control` or `group`, or one that queues a descriptor.
                         By default a register takes 5 cycles, and a burst 3 more than its beats. It waits for what it writes
                         to `control` and `group`, too: a start takes the registers of loads and stores in the flush behind it,
                         so those of the next descriptor must not come before.

    Members
    -------
    lines : int          Of 64 bits, that were to be written to the global buffer, or read from it.
    """

    lines: int = 0

    def __init__(self, arch: Arch, executable: Path, wires: str | None = None, check: bool = False,
                 counting: bool = False, posts: bool = False) -> None:
        self.arch, self._counting, self._posts = arch, counting, posts
        self._posted: list[tuple[str, int, int]] = []      # name, address and value of registers that are to be written
        self._bursts: list[tuple[int, bytes]] = []         # address and lines of memory that are to be written
        registers = (str(register_address(arch, name)) for name in ("config_address", "config_write"))
        super().__init__([str(executable), *registers, *(["--check"] if check else [])], wires)

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if kind is None:
                self._write()
        finally:
            super().__exit__(kind, value, trace)

    def write_register(self, name: str, value: int, glb_tile: int | None = None, region: int = 0) -> None:
        """Write a register of the controller of a region, or one of a GLB tile."""
        address = register_address(self.arch, name, glb_tile, region)
        commands = name in ("control", "group")
        if self._bursts and (commands or queues(WriteRegister(name, value, glb_tile))):
            self._write()
        self._posted.append((name, address, value & 0xFFFFFFFF))
        if not self._posts or commands:
            self._write()

    def _write(self) -> None:
        """Write what is to be written."""
        (writes, self._posted), (bursts, self._bursts) = (self._posted, []), (self._bursts, [])
        if not writes and not bursts:
            return
        registers = b"".join(struct.pack("<II", address, value) for _, address, value in writes)
        memory = b"".join(struct.pack("<II", address, len(lines) // LINE_BYTES) + lines for address, lines in bursts)
        command = b"V" + struct.pack("<I", len(writes)) + registers + struct.pack("<I", len(bursts)) + memory
        response, burst = super()._ask(command, "II")
        names = " or ".join(dict.fromkeys(name for name, _, _ in writes))
        assert response == 0, f"write of register {names} was answered with {response}"
        places = " or ".join(f"{address:#x}" for address, _ in bursts)
        assert burst == 0, f"a burst to {places} was answered with {burst}"

    def _ask(self, command: bytes, answer: str) -> tuple[int, ...]:
        self._write()
        return super()._ask(command, answer)

    def read_register(self, name: str, glb_tile: int | None = None, region: int = 0) -> int:
        """Read a register of the controller of a region, or one of a GLB tile."""
        response, value = self._ask(struct.pack("<cI", b"R", register_address(self.arch, name, glb_tile, region)), "II")
        assert response == 0, f"read of register {name} was answered with {response}"
        return value

    def configure(self, words: Iterable[tuple[int, int]]) -> None:
        """Write configuration words (address, data)."""
        pairs = list(words)
        flat = np.array(pairs, "<u4").tobytes() if pairs else b""
        response, = self._ask(struct.pack("<cI", b"C", len(pairs)) + flat, "I")
        assert response == 0, f"a configuration write was answered with {response}"

    def read_configuration(self, address: int) -> int:
        """Read a configuration word back; 0 where no tile has such a register."""
        return read_back(self, address)

    def write_memory(self, address: int, words: np.ndarray) -> None:
        """Write 16-bit words to the global buffer from a byte address (a multiple of 8) on; the last 64-bit word is
        filled up with zeros."""
        lines = whole_lines(words)
        self.lines += len(lines) // LINE_BYTES
        if self._posts:
            self._bursts.append((address, lines))
            return
        response, = self._ask(struct.pack("<cII", b"M", address, len(lines) // LINE_BYTES) + lines, "I")
        assert response == 0, f"a burst to {address:#x} was answered with {response}"

    def read_memory(self, address: int, count: int) -> np.ndarray:
        """Read `count` 16-bit words from a byte address (a multiple of 8) on."""
        lines = -(-count // 4)
        self.lines += lines
        response, = self._ask(struct.pack("<cII", b"m", address, lines), "I")
        found = np.frombuffer(self._read(8 * lines), "<u2")
        assert response == 0, f"a burst from {address:#x} was answered with {response}"
        return found[:count].copy()

    def wait(self, limit: int) -> bool:
        """Run until the interrupt, at most `limit` cycles; whether it came."""
        # A configuration is waited for, too, and is no program.
        self._count(self._counting and not self.read_register("status") >> CONFIGURING & 1)
        came, = self._ask(struct.pack("<cI", b"I", limit), "I")
        self._count(False)
        return bool(came)

    def _count(self, on: bool) -> None:
        if self._counting:
            self._send(struct.pack("<cB", b"N", on))

    @property
    def activity(self) -> Activity:
        """What moved while programs ran."""
        length, = self._ask(b"n", "I")
        lines = iter(self._read(length).decode().splitlines())
        cycles, kinds, counts = int(next(lines)), {}, {}
        for line in lines:
            name, kind, modules = line.split()
            kinds[name] = kind
            found = (next(lines).split() for _ in range(int(modules)))
            counts[name] = {module: Count(*map(int, numbers)) for module, *numbers in found}
        return Activity(cycles, kinds, counts)

    @property
    def cycles(self) -> int:
        """Cycles simulated so far, bus traffic included."""
        return self._ask(b"T", "Q")[0]
