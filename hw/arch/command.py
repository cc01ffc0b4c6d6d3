"""Commands of a spatial accelerator: what each does, and its form in 32-bit words.

A command is a number of 7 bits and two words, `rs1` and `rs2`. From a RISC-V core it is an instruction of the custom-3 opcode
whose funct7 is the number, with two registers; over a bus the three are written to registers. All commands but `issue` and
`wait` set one thing of the request that is being made.

Source: Stellar V, Table II. Departure: words have 32 bits, for small cores, so that sides are bits beside the axis. Numbers are
those of the published implementation.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from . import private_buffer
from .check import Identifier, Text, Whole, check
from .errors import UserError
from .soc import PULSE, RO, RW, W1C, Register, register_file

OPCODE = 0b1111011      # custom-3: custom-0 has the core's own instructions of interrupts
NUMBER_BITS = 7
# Sides of a request, in rs1.
SOURCE, DESTINATION = 1 << 30, 1 << 31
BOTH = SOURCE | DESTINATION
AXIS_BITS = 8
# Regions: a kind and an index.
MEMORY, BUFFER = 1, 2
KIND_LSB, INDEX_BITS = 16, 16
# Formats of an axis, as Stellar numbers them.
DENSE, COMPRESSED, LINKED_LIST, BITVECTOR = range(4)
AXIS_TYPES = {private_buffer.COMPRESSED: COMPRESSED, private_buffer.LINKED: LINKED_LIST, private_buffer.BITVECTOR: BITVECTOR}
METADATA_LSB = 16
# Elements from one to the next of an array of a tensor without zeros.
PITCHES = (1, 2, 4, 8)
# What `set_constant` sets; Stellar's own are below 16, of which this is one, with a value.
RESTART = 8
ELEMENT, PARTS, LAUNCHES, SHARED, PATIENCE = range(16, 21)
PATIENCE_BITS = 32

ISSUE, SET_SRC_AND_DST, SET_CONSTANT, SET_ADDRESS, SET_SPAN, SET_STRIDE, SET_AXIS_TYPE, SET_METADATA_ADDRESS, \
    SET_METADATA_STRIDE = range(9)
WAIT = 13
# Of a core alone, past the queue: the registers `given_up` and `status`, and what a write of `clear` does.
READ_GIVEN_UP, READ_STATUS, CLEAR = 125, 126, 127
# Where there are counters: registers of why streams wait, what each counts; a core reads the nth of its accelerator by command
# READ_STALL + n.
STALLS = {
    "operand_late": "a request for an operand had no element: memory had not given it",
    "operand_held": "an element had come that had no room in its buffer: the array was not done with those before",
    "result_late": "a request for a result had nothing to store: the array had not computed it",
    "result_held": "an element of a result waited for the bus",
    "command_held": "a command waited for a port of the DMA, or for the request before it of its stream",
}
# Of lanes, which ask memory themselves, each in which so many cycles were, lane by lane.
LANE_STALLS = {
    "operand_late": "a lane took words of an operand, and memory had not given the next one",
    "operand_held": "a word had come that had no room: its lane merged those before",
    "result_late": "a lane had no word for what it stores: it asked the ledger, or its last one was on its way",
    "result_held": "a word of a node waited for the bus",
    "command_held": STALLS["command_held"],
    "answer_late": "a lane had asked for its next number, free memory or a first node, and was not answered",
    "port_held": "a request of a lane waited for its port, which another one had",
    "run_late": "of two runs that a lane merges one had no element: its memory gave the other one, or took what they become",
    "lane_idle": "a lane had no number left, and another one had",
}
READ_STALL = 112
# Of `wait`: every request; streams follow from bit 1 on.
ALL = 1


@dataclass(frozen=True)
class Command:
    """A command: its number, what rs1 and rs2 are, what it does."""

    name: Annotated[str, Identifier()]
    number: Annotated[int, Whole(0, (1 << NUMBER_BITS) - 1)]
    rs1: Annotated[str, Text()]
    rs2: Annotated[str, Text()]
    doc: Annotated[str, Text(1)]

    def __post_init__(self) -> None:
        check(self, "command")


COMMANDS = (
    Command("issue", ISSUE, "", "",
            "starts the request; waits for a port of the DMA, and for the stream while another request has it"),
    Command("set_src_and_dst", SET_SRC_AND_DST, "source: kind[18:16], index[15:0]", "destination, likewise",
            "begins a request: all spans are 1, strides and address 0, elements of a byte"),
    Command("set_constant", SET_CONSTANT, "which[7:0]", "value",
            f"{ELEMENT}: the logarithm of the bytes of an element in memory, 0..2; {PARTS}: of how many operations a result is "
            f"the sum, 1..65535; of buffers of rows {LAUNCHES}: launches of an operation that may end early, {SHARED}: "
            "operations that share a tensor and are one result; "
            f"{RESTART}: behind how many elements what is counted goes on, 0 after reset; "
            f"all but {ELEMENT} wait until no request is under way. {PATIENCE}, at once: cycles without a move that the "
            "watchdog waits, 0 after reset: for ever"),
    Command("set_address", SET_ADDRESS, "sides[31:30]", "byte address",
            "where the first element is, of the side that is memory"),
    Command("set_span", SET_SPAN, "sides[31:30], axis[7:0]", "elements",
            "iterations of a loop, 0 being the innermost one: of the side that is memory, how many are there, and of the "
            "other one, how many there are in all"),
    Command("set_data_stride", SET_STRIDE, "sides[31:30], axis[7:0]", "signed elements",
            "from one iteration of a loop to the next, of the side that is memory"),
    Command("set_axis_type", SET_AXIS_TYPE, "sides[31:30], axis[7:0]", "0: dense, 1: compressed, 2: linked list, 3: bitvector",
            "the format of an axis: axis 0 may be that of the stream's tensor, of which all arrays are moved then; in memory "
            "axis 1 may be a linked list, of up to its span of nodes, if the DMA has lists"),
    Command("set_metadata_address", SET_METADATA_ADDRESS, "sides[31:30], array[23:16], axis[7:0]", "byte address",
            "where an array in front of the values is, of the side that is memory: the first is segments, bits or heads"),
    Command("set_metadata_stride", SET_METADATA_STRIDE, "sides[31:30], array[23:16], axis[7:0]",
            f"elements: {', '.join(map(str, PITCHES))}",
            "how far apart elements of such an array are: of the first one by axis 1, of the others by axis 0"),
    Command("wait", WAIT, "mask", "",
            "waits until what the mask names has ended: bit 0 all requests, bit 1 + n that of stream n"),
)
BY_NAME = {command.name: command for command in COMMANDS}

# Why a command was refused, or what a request met.
ERRORS = ("none", "unknown command", "an axis, a constant or a value that there is not",
          "a request between regions that nothing joins",
          "spans of 0, more there than in all, or elements that are not aligned",
          "a number of elements that is no whole number of tensors, or more than have room", "an error response of the memory",
          "a wait for elements whose number was not asked for: segments, bits or heads come by a request of their own",
          "nothing has moved for as long as the watchdog waits: an operand was not asked for, or a result")
NONE, UNKNOWN, VALUE, REGIONS, SHAPE, TENSORS, BUS, ORDER, HANG = range(len(ERRORS))

REGISTERS: tuple[Register, ...] = register_file(
    ("rs1", RW, "first word of the next command"),
    ("rs2", RW, "second word of the next command"),
    ("command", PULSE, "puts a command of this number, with rs1 and rs2, into the queue; an error response, and nothing else, "
                       "while it is full"),
    ("status", RO, "state",
     (("busy", 0, 1, "commands wait or requests are under way"), ("full", 1, 1, "the queue is full"),
      ("empty", 2, 1, "the queue is empty"), ("room", 8, 8, "commands that the queue has room for"),
      ("error", 16, 4, "what went wrong first: " + ", ".join(f"{n} {text}" for n, text in enumerate(ERRORS))),
      ("refused", 20, NUMBER_BITS, "the number of the command that was refused"))),
    ("clear", W1C, "any bit: forgets the error; one that came behind it is there then. Until then every command is "
                     "dropped", (("error", 0, 1, "there is one"),)),
    ("cycles", RO, "cycles since reset in which something was under way"),
    ("ended", RO, "requests that have ended since reset"),
    ("given_up", RO, "where there is a watchdog: the requests that were under way when it gave all up, bits as of `wait`; "
                     "until the error is cleared"),
    *((name, RO, f"where there are counters: cycles since reset in which {what}") for name, what in STALLS.items()),
    *((name, RO, f"where lanes are counted: the sum of all lanes, cycles in which {what}")
      for name, what in LANE_STALLS.items() if name not in STALLS),
)
REGISTER_BITS = 6


def register_bits(stalls: Iterable[str]) -> int:
    """Of an address on the bus, with counters of these causes: more only where one of them lies behind what 6 bits reach."""
    return max([REGISTER_BITS, *(each.offset.bit_length() for each in REGISTERS if each.name in stalls)])


def region(kind: int, index: int = 0) -> int:
    """A region as a command has it."""
    return kind << KIND_LSB | index


def instruction(number: int, rd: int, rs1: int, rs2: int) -> int:
    """The RISC-V instruction of a command with the numbers of its registers."""
    return number << 25 | rs2 << 20 | rs1 << 15 | rd << 7 | OPCODE


Word = tuple[int, int, int]     # number, rs1, rs2


def shown(word: Word) -> str:
    """A command as people write it: the inverse of `runtime.spatial_commands`, for logs."""
    number, rs1, rs2 = word
    named = {command.number: command.name for command in COMMANDS}
    if number not in named:
        raise UserError(f"command {number} is unknown", fix=f"use one of {', '.join(map(str, named))}")
    sides = {0: "", SOURCE: "src, ", DESTINATION: "dst, ", BOTH: "both, "}[rs1 & BOTH]
    axis = rs1 & (1 << AXIS_BITS) - 1
    text = {ISSUE: "", SET_SRC_AND_DST: f"{_region(rs1)}, {_region(rs2)}", SET_CONSTANT: f"{axis}, {rs2}",
            SET_ADDRESS: f"{sides}{rs2:#x}", SET_METADATA_ADDRESS: f"{sides}{rs1 >> METADATA_LSB & 255}, {rs2:#x}",
            SET_METADATA_STRIDE: f"{sides}{axis}, {rs1 >> METADATA_LSB & 255}, {rs2}",
            SET_STRIDE: f"{sides}{axis}, {rs2 - (rs2 >> 31 << 32)}", WAIT: f"{rs1:#x}"}
    return f"{named[number]}({text.get(number, f'{sides}{axis}, {rs2}')})"


def _region(word: int) -> str:
    kind, index = word >> KIND_LSB & 7, word & (1 << INDEX_BITS) - 1
    return {MEMORY: "memory", BUFFER: f"stream {index}"}.get(kind, f"kind {kind}")
