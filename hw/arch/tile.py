"""Tiles: kinds of tiles, their ports, the primitives they can be set to and the sizes inside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from .buffer import MEM_SIZES, MemSizes, buffer_config
from .check import Identifier, Misfit, OneOf, PowerOfTwo, Whole, check, shown
from .config import ConfigSet, Field
from .op import OPS, Op
from .primitive import ACCUMULATOR, ALU, BUFFER, MEM_PRIMITIVES, PE_PRIMITIVES, REDUCER, Flow, Primitive
from .register_file import ADDRESS_BITS, SCHEDULE_FIELDS
from .register_file import FIELDS as REGISTER_FILE_FIELDS

DATA, BIT = "data", "bit"
LAYERS = (DATA, BIT)
SIDES = ("n", "e", "s", "w")
OPPOSITE = {"n": "s", "e": "w", "s": "n", "w": "e"}
# Sides on which a tile may have a neighbour of another region: regions are whole columns.
WALLED = ("e", "w")


# Fields that size a tile of a kind, in the order of a machine's description.
SIZES = {"pe": ("pass_depth", "ops", "register_words", "register_schedules", "multiplier_tree", "reduce_max"),
         "mem": (*MEM_SIZES, "multiplier_tree", "locate", "early")}


@dataclass(frozen=True)
class Port:
    """A port of a tile core on one layer of the interconnect."""

    name: Annotated[str, Identifier()]
    flow: Flow
    layer: Annotated[str, OneOf(LAYERS)]
    doc: str

    def __post_init__(self) -> None:
        check(self, "port")


@dataclass(frozen=True)
class TileSpec(MemSizes):
    """A kind of tile.

    Parameters
    ----------
    kind : str               ``pe``, ``mem`` or ``io``.
    ports : tuple of Port    Core ports; the order gives the order of connection boxes.
    primitives : tuple       What it can be set to; mode code = position + 1, 0 is off.
    sides : tuple            Sides with tracks; an IO tile only has its south side.
    pass_depth : int         Tokens a pass-through holds, 2..256 (PE).
    ops : tuple of Op        Operations that the ALU has, of those of `hw/arch/op.py` (PE).
    register_words : int     16-bit words of the register file beside the ALU, a power of two 2..32, or 0 for none (PE).
    register_schedules : bool
        The channels of the register file can also write and read by schedules, on words that they share; else each is a delay
        line with `register_words` of its own, which needs no memory with two write ports (PE).
    multiplier_tree : bool
        Products come from a tree of adders, small and fast in cells; else from the operator of Verilog, for the multipliers
        that an FPGA has (PE; MEM: of references and the extents of dense levels).
    locate : bool
        A dense level can give the reference of a coordinate by arithmetic: the primitive `level` has the output `locate` (MEM).
    early : bool
        What comes as a block is read while it arrives, its segments first, so that a level that is loaded need not be whole
        (MEM).
    reduce_max : bool
        A reducer can also take the maximum of a fiber: the primitive `reducer` has the operation `max` (PE).
    sram_lines, ...          Sizes of the memory and its controllers, by name only: see `MemSizes` (MEM).
    """

    kind: Annotated[str, Identifier()]
    ports: tuple[Port, ...]
    primitives: tuple[Primitive, ...] = ()
    sides: tuple[Annotated[str, OneOf(SIDES)], ...] = SIDES
    pass_depth: Annotated[int, Whole(2, 256)] = 8
    ops: tuple[Op, ...] = OPS
    register_words: Annotated[int, PowerOfTwo(2, 1 << ADDRESS_BITS, zero=True)] = 32
    register_schedules: bool = True
    multiplier_tree: bool = True
    locate: bool = False
    early: bool = False
    reduce_max: bool = False

    def __post_init__(self) -> None:
        check(self, f"tile {shown(self.kind)}", self._misfits)

    def _misfits(self) -> Iterator[Misfit]:
        yield from super()._misfits()
        for field, names in (("ports", [port.name for port in self.ports]), ("sides", self.sides),
                             ("primitives", [primitive.name for primitive in self.primitives]),
                             ("ops", [op.name for op in self.ops])):
            if twice := [name for name, times in Counter(names).items() if times > 1]:
                yield Misfit(field, f"have {twice[0]} twice", "give each once")
        if strange := [op.name for op in self.ops if op not in OPS]:
            yield Misfit("ops", f"have {strange[0]}, which is no operation of the ALU", "choose among those of hw/arch/op.py")
        if ACCUMULATOR in self.primitives and self.sram_lines < 2 * self.sram_lanes:
            yield Misfit("sram_lines", f"is {self.sram_lines}, but an accumulator of {self.sram_lanes} lanes needs "
                                       f"{2 * self.sram_lanes}, or one line would be of several outer coordinates",
                         "give more lines, fewer lanes or no accumulator")
        if ALU in self.primitives and not self.ops:
            yield Misfit("ops", "are none, but the tile has an ALU", "give one or more")
        there = {(port.name, port.flow, port.layer) for port in self.ports}
        for primitive in self.primitives:
            for stream in primitive.ports:
                if (stream.tile_port, stream.flow, BIT if stream.width == 1 else DATA) not in there:
                    yield Misfit("primitives",
                                 f"have {primitive.name}, whose stream {stream.name} is {stream.flow.value}put "
                                 f"{stream.tile_port}, which the tile does not have", f"leave {primitive.name} out")
                    break

    def inputs(self, layer: str) -> tuple[Port, ...]:
        """Core inputs of a layer, in order."""
        return tuple(port for port in self.ports if port.flow is Flow.IN and port.layer == layer)

    def outputs(self, layer: str) -> tuple[Port, ...]:
        """Core outputs of a layer, in order."""
        return tuple(port for port in self.ports if port.flow is Flow.OUT and port.layer == layer)

    @property
    def has_memory(self) -> bool:
        """Whether there is an SRAM, which configuration can fill."""
        return any(primitive.memory for primitive in self.primitives)

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Sizes that say nothing about a tile of this kind."""
        every = dict.fromkeys(size for sizes in SIZES.values() for size in sizes)
        return tuple(size for size in every if size not in SIZES.get(self.kind, ()))

    def mode(self, primitive: str) -> int:
        """The mode code that activates a primitive."""
        return [each.name for each in self.primitives].index(primitive) + 1

    def config(self, primitive: Primitive) -> ConfigSet:
        """The configuration of a primitive in this tile: an ALU has the fields of the register file that it
        has, a reducer those of maxima if it takes them, a buffer those of its controllers' sizes."""
        if primitive is BUFFER:
            return buffer_config(self)
        if primitive is REDUCER and not self.reduce_max:
            return SUMS
        if primitive is ALU and not (self.register_words and self.register_schedules):
            return DELAY_LINES if self.register_words else WITHOUT_REGISTER_FILE
        return primitive.config


def _ports(data_in: tuple[str, ...], data_out: tuple[str, ...], bit_in: tuple[str, ...], bit_out: tuple[str, ...],
           doc: str) -> tuple[Port, ...]:
    return tuple(Port(name, flow, layer, f"{doc} {name}")
                 for names, flow, layer in ((data_in, Flow.IN, DATA), (data_out, Flow.OUT, DATA),
                                            (bit_in, Flow.IN, BIT), (bit_out, Flow.OUT, BIT))
                 for name in names)


def _without(left_out: tuple[Field, ...]) -> ConfigSet:
    return ConfigSet(ALU.name, *(field for field in ALU.config.fields.values() if field not in left_out))


# The configuration of a reducer that only sums.
SUMS = ConfigSet(REDUCER.name, REDUCER.config.fields["guided"])


# The configuration of a tile's power switch, where machines have some.
POWER = ConfigSet("power", Field("on", 1, "core and boxes have power; 0: they are off, and no other tile sees them"))

WITHOUT_REGISTER_FILE, DELAY_LINES = _without(REGISTER_FILE_FIELDS), _without(SCHEDULE_FIELDS)

PE = TileSpec("pe", _ports(("data0", "data1", "data2", "data3"), ("res0", "res1", "res2"),
                           ("bit0", "bit1", "bit2"), ("bit",), "operand or result"), PE_PRIMITIVES)
MEM = TileSpec("mem", _ports(("in0", "in1", "in2", "in3"), ("out0", "out1", "out2"), ("bit0",), ("bit",),
                             "memory stream"), MEM_PRIMITIVES)
IO = TileSpec("io", _ports(("f2g",), ("g2f",), ("f2g_bit",), ("g2f_bit",), "link with the global buffer"), sides=("s",))
