"""The register file of a PE: the configuration fields that it adds to those of the ALU.

Two channels, each of which writes one word and reads one word a cycle, either as a delay line or by two schedules. A schedule
has the fields of a MEM port (`hw/arch/buffer.py`):

    cycle        cycle of the first word; what is read is shown `READ_TO_WORD` cycles later
    address      its address
    extent{l}    iterations of loop l, less 1; loop 0 is the innermost
    gap{l}       idle cycles between two words when loop l advances: the distance of their cycles, less 1
    delta{l}     distance of their addresses, modulo 32

Without schedules (`TileSpec.register_schedules`) these fields are missing, a channel is a delay line or does nothing, and each
has words of its own.

Source: Amber JSSC IV and VI (64-byte register file in the PE, affine controllers of two loop levels, inputs of the ALU from the
connection boxes or the register file, its output to the switch boxes or the register file).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from .check import PowerOfTwo, Whole, check
from .config import Field

CHANNELS = 2
LOOPS = 2
# As many rows of 16 words as a bank of the global buffer of 128 kB holds, and as many cycles to a first word and between words.
EXTENT_BITS = CYCLE_BITS = 12
# The largest register file has 32 words; smaller ones take addresses modulo their size.
ADDRESS_BITS = 5

OPERANDS = ("a", "b", "c")
# Where an operand comes from: its port (the stream or the constant), or what a channel reads.
SOURCES = ("port", *(f"channel{channel}" for channel in range(CHANNELS)))
# What a channel writes.
WRITES = (*OPERANDS, "res")
# Cycles from that of a scheduled read to the one in which the word is shown: one for the address, one for the word.
READ_TO_WORD = 2
SCHEDULED, DELAY = MODES = ("scheduled", "delay")


@dataclass(frozen=True)
class ScheduleSizes:
    """Widths and depths of a schedule, by the names that those of a MEM port have; words: of the register file."""

    buffer_words: Annotated[int, PowerOfTwo(2, 1 << ADDRESS_BITS)]
    extent_bits: Annotated[int, Whole(1, EXTENT_BITS)] = EXTENT_BITS
    cycle_bits: Annotated[int, Whole(2, CYCLE_BITS)] = CYCLE_BITS

    def __post_init__(self) -> None:
        check(self, "register file")

    def loops(self, port: str) -> int:
        """Loops of a schedule, the same for all."""
        return LOOPS


def _schedule(port: str) -> tuple[Field, ...]:
    """The fields of one schedule, three words of configuration."""
    return (*(Field(f"{port}_extent{loop}", EXTENT_BITS, f"iterations of loop {loop}, less 1") for loop in range(LOOPS)),
            *(Field(f"{port}_gap{loop}", CYCLE_BITS, f"idle cycles when loop {loop} advances") for loop in range(LOOPS)),
            Field(f"{port}_cycle", CYCLE_BITS, f"cycle of the first word of {port}"),
            Field(f"{port}_on", 1, f"{port} has a schedule"),
            Field(f"{port}_address", ADDRESS_BITS, f"address of the first word of {port}"),
            *(Field(f"{port}_delta{loop}", ADDRESS_BITS, f"added to the address when loop {loop} advances")
              for loop in range(LOOPS)))


def _channel(n: int) -> tuple[Field, ...]:
    return (Field(f"mode{n}", 1, f"channel {n} writes and reads by the schedules wr{n} and rd{n}, or is a delay line", MODES),
            Field(f"write{n}", 2, f"what channel {n} writes: the word at an operand's port, or the result", WRITES),
            Field(f"base{n}", ADDRESS_BITS, f"delay: the first word that channel {n} uses"),
            Field(f"depth{n}", ADDRESS_BITS, "delay: cycles of delay, less 1, and words used, less 1"))


LINE_FIELDS = (*(Field(f"operand_{each}", 2, f"static: where operand {each} comes from", SOURCES) for each in OPERANDS),
               *(field for channel in range(CHANNELS) for field in _channel(channel)))
SCHEDULE_FIELDS = tuple(field for channel in range(CHANNELS) for port in ("wr", "rd")
                        for field in _schedule(f"{port}{channel}"))
FIELDS = (*LINE_FIELDS, *SCHEDULE_FIELDS)
