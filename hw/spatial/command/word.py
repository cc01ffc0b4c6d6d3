"""What a command is on its way to a core, and what a core says of those it was given."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ...arch import command

WORD = data.StructLayout({"rs2": 32, "rs1": 32, "number": command.NUMBER_BITS})
ERROR_BITS = (len(command.ERRORS) - 1).bit_length()
# What a front of commands sees of a core.
STATUS = {"clear": In(1), "error": Out(ERROR_BITS), "refused": Out(command.NUMBER_BITS), "busy": Out(1), "ended": Out(1)}


def command_word(rs1: Any, rs2: Any, number: Any) -> Any:
    """The fields of a command in the order of `WORD`."""
    return Cat(rs2, rs1, number)
