"""The host of a machine in a bench: its registers over AXI4-Lite, its global buffer over AXI4, its interrupt.

`AxiHost` is for benches, which await it. `BenchDevice` is the same as a `Device`, which host code calls: that one blocks, so it
runs in a thread for which the simulation waits (`cocotb.task.bridge`), and every access lets the simulation go on until it is
done.

Cost:  a cycle takes as long as ten channels of cocotbext-axi take to look at an edge of the clock: see docs/cocotb.md.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

import numpy as np
from cocotb.task import resume
from cocotb.triggers import ClockCycles, First, RisingEdge
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiMaster, AxiResp

from ..hw.arch.cgra import Arch
from ..hw.arch.errors import UserError
from ..runtime.device import read_back, register_address, whole_lines
from .stream import signal

# Writes of configuration that are under way at once.
MOST_WRITES = 256

_T = TypeVar("_T")


class AxiHost:
    """A machine's two ports with a master at each, and its interrupt; make it before reset.

    Parameters
    ----------
    dut : handle         The machine, module ``sardonyx``, or whatever has its ports.
    arch : Arch          Its description.
    stalls : function    Gives every channel of the buses a pause generator, as `stalls`, by its number 0..9; None: no pauses.

    Members
    -------
    registers : AxiLiteMaster    Of cocotbext-axi, for accesses that the methods do not make.
    memory : AxiMaster
    """

    def __init__(self, dut: Any, arch: Arch, stalls: Callable[[int], Iterator[bool]] | None = None) -> None:
        self.dut, self.arch = dut, arch
        # They tell every access, and what they are, at this level.
        for prefix in ("s_axi", "s_axil"):
            logging.getLogger(f"cocotb.{dut._name}.{prefix}").setLevel(logging.WARNING)
        self.registers = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst)
        self.memory = AxiMaster(AxiBus.from_prefix(dut, "s_axi"), dut.clk, dut.rst)
        if stalls is not None:
            channels = [channel for bus in (self.registers, self.memory)
                        for channel in (bus.write_if.aw_channel, bus.write_if.w_channel, bus.write_if.b_channel,
                                        bus.read_if.ar_channel, bus.read_if.r_channel)]
            for number, channel in enumerate(channels):
                channel.set_pause_generator(stalls(number))

    async def write_register(self, name: str, value: int, glb_tile: int | None = None, region: int = 0) -> None:
        """Write a register of the controller of a region, or one of a GLB tile; value: 32 bits."""
        await self._write([(register_address(self.arch, name, glb_tile, region), value)])

    async def read_register(self, name: str, glb_tile: int | None = None, region: int = 0) -> int:
        """Read a register of the controller of a region, or one of a GLB tile."""
        found = await self.registers.read(register_address(self.arch, name, glb_tile, region), 4)
        _check(found, f"a read of register {name}")
        return int.from_bytes(found.data, "little")

    async def configure(self, words: Iterable[tuple[int, int]]) -> None:
        """Write configuration words (address, data), a register write in each cycle that the bus allows."""
        at, data = (register_address(self.arch, name) for name in ("config_address", "config_write"))
        writes = (pair for where, word in words for pair in ((at, where), (data, word)))
        while some := [*islice(writes, MOST_WRITES)]:
            await self._write(some)

    async def write_memory(self, address: int, words: np.ndarray) -> None:
        """Write 16-bit words to the global buffer from a byte address (a multiple of 8) on; the last 64-bit word is filled up
        with zeros."""
        _check(await self.memory.write(address, whole_lines(words)), f"a write of {len(words)} words at {address:#x}")

    async def read_memory(self, address: int, count: int) -> np.ndarray:
        """Read `count` 16-bit words from a byte address (a multiple of 8) on."""
        if not count:
            return np.zeros(0, np.uint16)
        found = await self.memory.read(address, 2 * count)
        _check(found, f"a read of {count} words at {address:#x}")
        return np.frombuffer(bytes(found.data), "<u2").astype(np.uint16)

    async def wait(self, limit: int) -> bool:
        """Run until the interrupt, at most `limit` cycles; whether it came."""
        irq = signal(self.dut, "irq")
        if not irq.value:
            await First(RisingEdge(irq), ClockCycles(self.dut.clk, limit))
        return bool(irq.value)

    async def _write(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Write registers by address, one after the other without waiting for answers."""
        done = [self.registers.init_write(at, (value & 0xFFFFFFFF).to_bytes(4, "little")) for at, value in pairs]
        for event, (at, _) in zip(done, pairs, strict=True):
            await event.wait()
            _check(event.data, f"a write of the register at {at:#x}")


class BenchDevice:
    """An `AxiHost` as a `Device`, such as the `engine` of `sardonyx.kernel`; for threads that `Session.call` made."""

    def __init__(self, host: AxiHost) -> None:
        self._host = host

    @property
    def arch(self) -> Arch:
        return self._host.arch

    def write_register(self, name: str, value: int, glb_tile: int | None = None, region: int = 0) -> None:
        """Write a register of the controller of a region, or one of a GLB tile."""
        _blocking(self._host.write_register, name, value, glb_tile, region)

    def read_register(self, name: str, glb_tile: int | None = None, region: int = 0) -> int:
        """Read a register of the controller of a region, or one of a GLB tile."""
        return _blocking(self._host.read_register, name, glb_tile, region)

    def configure(self, words: Iterable[tuple[int, int]]) -> None:
        """Write configuration words (address, data)."""
        _blocking(self._host.configure, words)

    def read_configuration(self, address: int) -> int:
        """Read a configuration word back; 0 where no tile has such a register."""
        return read_back(self, address)

    def write_memory(self, address: int, words: np.ndarray) -> None:
        """Write 16-bit words to the global buffer from a byte address (a multiple of 8) on."""
        _blocking(self._host.write_memory, address, words)

    def read_memory(self, address: int, count: int) -> np.ndarray:
        """Read `count` 16-bit words from a byte address (a multiple of 8) on."""
        return _blocking(self._host.read_memory, address, count)

    def wait(self, limit: int) -> bool:
        """Run until the interrupt, at most `limit` cycles; whether it came."""
        return _blocking(self._host.wait, limit)


def _blocking(function: Callable[..., Coroutine[Any, Any, _T]], *arguments: object) -> _T:
    """Call a coroutine function and block until it is done."""
    if threading.current_thread() is threading.main_thread():
        raise UserError("host code blocks, and would block the simulation for which it waits", function.__name__,
                        "call it as `await session.call(function, ...)`, or await the AxiHost")
    return resume(function)(*arguments)


def _check(answer: Any, what: str) -> None:
    """AssertionError for an access that the machine refused, or that a reset took away."""
    assert answer is not None, f"{what} was lost in a reset"
    assert answer.resp == AxiResp.OKAY, f"{what} was answered with {answer.resp.name}"
