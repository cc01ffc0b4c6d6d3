"""What a command is on its way to a core, and what a core says of those it was given."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from amaranth.hdl import Cat
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...arch import command
from ...arch.dma import ELEMENT_BITS
from .stalls import stall_members

WORD = data.StructLayout({"rs2": 32, "rs1": 32, "number": command.NUMBER_BITS})


def error_bits(watchdog: bool) -> int:
    """Of an error; the last one is that of a watchdog."""
    return (command.HANG if watchdog else command.HANG - 1).bit_length()


def status_members(watchdog: bool, stalls: Iterable[str] = ()) -> dict[str, wiring.Member]:
    """What a front of commands sees of a core, from its side."""
    more = {**({"given_up": Out(32)} if watchdog else {}), **stall_members(stalls)}
    return {"clear": In(1), "error": Out(error_bits(watchdog)), "refused": Out(command.NUMBER_BITS), "busy": Out(1),
            "ended": Out(1), **more}


def ram_members(ram_bytes: int) -> dict[str, wiring.Member]:
    """What fills the memory of a RISC-V core, if there is one: the words of requests, each from its first word on.

    ram_over : Out(1)       A request has ended, with its last word, or is given up.
    ram_failed : Out(1)     With it: some of its words are not those of memory.
    """
    return {"ram": Out(stream.Signature(ELEMENT_BITS)), "ram_over": Out(1), "ram_failed": Out(1)} if ram_bytes else {}


def command_word(rs1: Any, rs2: Any, number: Any) -> Any:
    """The fields of a command in the order of `WORD`."""
    return Cat(rs2, rs1, number)
