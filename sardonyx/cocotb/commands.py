"""Commands of a spatial accelerator in a bench, over its registers on AXI4-Lite.

    commands = Commands(dut)                    # before reset
    await commands.run(program)                 # a `runtime.spatial_commands.Program`, or words

Errors:  UserError for what the accelerator tells in `status`.
Source:  `sardonyx.hw.arch.command`: registers, commands, errors.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp

from ..hw.arch.command import REGISTERS, Word
from ..hw.arch.soc import offsets
from ..runtime.spatial_commands import Program, check

AT = offsets(REGISTERS)


class Commands:
    """The queue of an accelerator; make it before reset.

    Parameters
    ----------
    dut : handle         The accelerator, of `design.accelerator().verilog`, without a core.
    stalls : function    Gives every channel of the bus a pause generator, as `stalls`, by its number 0..4; None: no pauses.

    Members
    -------
    bus : AxiLiteMaster  Of cocotbext-axi, for accesses that the methods do not make.
    """

    def __init__(self, dut: Any, stalls: Callable[[int], Iterator[bool]] | None = None) -> None:
        self._name = dut._name
        logging.getLogger(f"cocotb.{dut._name}.s_axil").setLevel(logging.WARNING)
        self.bus = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst)
        write, read = self.bus.write_if, self.bus.read_if
        channels = write.aw_channel, write.w_channel, write.b_channel, read.ar_channel, read.r_channel
        if stalls is not None:
            for number, channel in enumerate(channels):
                channel.set_pause_generator(stalls(number))

    async def write(self, register: str, value: int) -> AxiResp:
        """Write a register; the answer."""
        return (await self.bus.write(AT[register], value.to_bytes(4, "little"))).resp

    async def read(self, register: str) -> int:
        """Read a register."""
        return int.from_bytes((await self.bus.read(AT[register], 4)).data, "little")

    async def give(self, word: Word) -> None:
        """Give a command, again while the queue is full."""
        number, rs1, rs2 = word
        await self.write("rs1", rs1)
        await self.write("rs2", rs2)
        while await self.write("command", number) != AxiResp.OKAY:
            pass

    async def ended(self) -> int:
        """Wait until nothing waits or is under way; `status`."""
        while (status := await self.read("status")) & 1:
            pass
        return status

    async def run(self, program: Program | Sequence[Word]) -> None:
        """Give commands, and wait until all is done; UserError for an error of them."""
        for word in program.words if isinstance(program, Program) else program:
            await self.give(word)
        check(await self.ended(), self._name)
