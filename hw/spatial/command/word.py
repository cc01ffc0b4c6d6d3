"""What a command is on its way to a core, and what a core says of those it was given."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...arch import command

WORD = data.StructLayout({"rs2": 32, "rs1": 32, "number": command.NUMBER_BITS})


def error_bits(watchdog: bool) -> int:
    """Of an error; the last one is that of a watchdog."""
    return (command.HANG if watchdog else command.HANG - 1).bit_length()


def status_members(watchdog: bool) -> dict[str, wiring.Member]:
    """What a front of commands sees of a core, from its side."""
    more = {"given_up": Out(32)} if watchdog else {}
    return {"clear": In(1), "error": Out(error_bits(watchdog)), "refused": Out(command.NUMBER_BITS), "busy": Out(1),
            "ended": Out(1), **more}


def command_word(rs1: Any, rs2: Any, number: Any) -> Any:
    """The fields of a command in the order of `WORD`."""
    return Cat(rs2, rs1, number)
