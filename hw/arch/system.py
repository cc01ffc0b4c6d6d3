"""The processor in front of a machine: sizes, its address map, and the registers beside it.

    0x00000000   its memory; a chip-side address of the system DMA, too
    0x10000000   `HOST`, the registers of system DMA and serial line
    0x40000000   the machine's registers, at their addresses of `arch.soc`
    0x80000000   chip-side address of the global buffer: the processor itself has no way there

Memory outside has an address space of its own, which only the system DMA sees.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from .check import PowerOfTwo, Whole, check
from .soc import PULSE, RO, RW, W1C, Register, register_file

RAM, HOST_REGISTERS, MACHINE_REGISTERS, GLB_WINDOW = 0x0, 0x1000_0000, 0x4000_0000, 0x8000_0000
# Line of the processor's interrupts at which the machine's is, or that of its region 0, and those of others behind it.
MACHINE_IRQ = 3


@dataclass(frozen=True)
class System:
    """What stands in front of the machine's buses.

    Parameters
    ----------
    processor : bool      A PicoRV32 with its memory, a system DMA between the chip and memory outside, and a serial line; else
                          the buses are those of the top module.
    ram_bytes : int       The processor's memory, instructions and data, a power of two from 4 K to 1 M. It is filled from
                          memory outside after reset.
    serial_cycles : int   Cycles of a bit of the serial line, 4..65535.
    own_clock : bool      The processor and what is beside it, memory outside too, have a clock of their own, which need not
                          know of the machine's (`soc.crossing`); else all have one.
    """

    processor: bool = False
    ram_bytes: Annotated[int, PowerOfTwo(1 << 12, 1 << 20)] = 64 * 1024
    serial_cycles: Annotated[int, Whole(4, 65535)] = 16
    own_clock: bool = False

    def __post_init__(self) -> None:
        check(self, "system")

    @property
    def without_effect(self) -> tuple[str, ...]:
        """The fields that decide nothing: without a processor there is nothing beside it."""
        return () if self.processor else ("ram_bytes", "serial_cycles", "own_clock")


# Transfers that may wait in each direction, besides the one that goes on; and bits of their number.
WAITING, MOVES_BITS = 4, 8
# Bits of the number of rows behind the first one of a transfer.
MORE_ROWS_BITS = 16
# Bits of the number of registers that are set as a list says.
SETS_BITS = 16
REGISTER_FAULT, IN_FAULT, OUT_FAULT, ASTRAY_FAULT, MOVE_FAULT, SET_FAULT = range(6)

HOST: tuple[Register, ...] = register_file(
    ("moves", RO, "transfers of the system DMA that have not ended",
     (("in", 0, MOVES_BITS, "to the chip"), ("out", MOVES_BITS, MOVES_BITS, "from the chip"))),
    ("move_from", RW, "byte address from which the next transfer reads"),
    ("move_to", RW, "byte address to which it writes, the same modulo 8; only the bytes of the transfer are written there"),
    ("move_more", RW, "rows behind the first one of the next transfer; 0 again when that is asked for",
     (("rows", 0, MORE_ROWS_BITS, "how many; with higher bits the transfer is left out"),)),
    ("pitch_from", RW, "bytes from row to row where a transfer reads, modulo 2^32; a multiple of 8"),
    ("pitch_to", RW, "the same where it writes; rows are written one behind the other"),
    ("move_in", PULSE, "brings rows of so many bytes each, 1 or more and less than 2 GB, from memory outside to the chip, "
                       f"behind transfers that wait; the write itself waits while there are {WAITING}"),
    ("move_out", PULSE, "brings so many bytes from the chip to memory outside, likewise; both directions at the same time"),
    ("faults", W1C, "what went wrong since it was cleared",
     (("register", REGISTER_FAULT, 1, "an error response to an access of the machine's registers"),
      ("in", IN_FAULT, 1, "an error response in a transfer to the chip"),
      ("out", OUT_FAULT, 1, "an error response in a transfer from the chip"),
      ("astray", ASTRAY_FAULT, 1, "an access to no address of the processor's; it read 0"),
      ("move", MOVE_FAULT, 1, "a transfer of no bytes, of 2 GB, between addresses that differ modulo 8, with a pitch that "
                             "is no multiple of 8, or of too many rows; it was left out"),
      ("set", SET_FAULT, 1, "a list of registers that is empty or does not lie in the processor's memory, or a pair in one "
                            "whose address is none of the machine's or of these registers, or is `set_count`; it was left "
                            "out"))),
    ("serial", RW, "written: sends the low byte; the write waits while bytes before it do. Read: takes the byte received last",
     (("byte", 0, 8, "the byte"), ("valid", 8, 1, "there was one"))),
    ("set_from", RW, "byte address of a list in the processor's memory, a multiple of 4: pairs of the address of a register, "
                     "of the machine or of these, and a value"),
    ("set_count", RW, "written: sets as many registers, in order, while the processor goes on, whose own accesses to registers "
                      "wait, as the next list does. Read: 0, when all are set",
     (("pairs", 0, SETS_BITS, "how many, 1 or more"),)),
    ("time", RO, "cycles since reset, modulo 2^32"),
)
