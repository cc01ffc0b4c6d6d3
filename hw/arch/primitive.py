"""Primitives: what a tile can be set to do, each described once.

A primitive is its stream ports (and the tile ports they sit on), its configuration, its latency and the names of
its hardware (`component`); its meaning on tokens is the file of the same name in `sim/model/tokens`.

Sources: Onyx JSSC III-B (level writer, buffer, scanner) and III-C (intersector/unioner, coordinate dropper, reducer,
repeater); IEEE Micro for the pass-through. One departure: the memory primitives of a tile are one primitive here,
`level`, because they only ever work as the triplet writer, buffer, scanner (JSSC IV-B).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Annotated

from .buffer import MemSizes, buffer_config
from .check import Identifier, Whole, check
from .config import ConfigSet, Field
from .register_file import FIELDS as REGISTER_FILE_FIELDS
from .token import TOKEN_BITS


class Flow(Enum):
    """Direction of a port, seen from the tile core."""

    IN = "in"
    OUT = "out"


@dataclass(frozen=True)
class StreamPort:
    """A stream of a primitive and the tile port it uses."""

    name: Annotated[str, Identifier()]
    flow: Flow
    tile_port: Annotated[str, Identifier()]
    doc: str
    width: Annotated[int, Whole(1, TOKEN_BITS)] = TOKEN_BITS

    def __post_init__(self) -> None:
        check(self, "stream")


@dataclass(frozen=True, eq=False)
class Primitive:
    """Description of a primitive.

    Parameters
    ----------
    name : str            Also the name of its configuration set and of its meaning's file.
    ports : tuple         Stream ports in order.
    config : ConfigSet
    component : str       ``module:Class`` of the hardware; the class is built without arguments or with the tile's
                          `TileSpec` where `sized` says so.
    latency : int         Cycles from an input token at the head of its FIFO to the output token it causes.
    sized : bool          Whether the hardware depends on sizes in the tile's description.
    static : bool         Whether its streams move every cycle, whatever valid and ready say. A primitive that can be set to
                          do so has a configuration field `static` instead.
    memory : bool         Whether it works in the SRAM of its tile; its class then takes ``shared=True`` for a member `sram`.
    """

    name: Annotated[str, Identifier()]
    doc: str
    ports: tuple[StreamPort, ...]
    config: ConfigSet
    component: str
    latency: Annotated[int, Whole(0, 255)] = 0
    sized: bool = False
    static: bool = False
    memory: bool = False

    def __post_init__(self) -> None:
        check(self, "primitive")

    @property
    def inputs(self) -> tuple[StreamPort, ...]:
        return tuple(port for port in self.ports if port.flow is Flow.IN)

    @property
    def outputs(self) -> tuple[StreamPort, ...]:
        return tuple(port for port in self.ports if port.flow is Flow.OUT)


def _in(name: str, tile_port: str, doc: str, width: int = TOKEN_BITS) -> StreamPort:
    return StreamPort(name, Flow.IN, tile_port, doc, width)


def _out(name: str, tile_port: str, doc: str, width: int = TOKEN_BITS) -> StreamPort:
    return StreamPort(name, Flow.OUT, tile_port, doc, width)


ALU = Primitive(
    "alu", "integer ALU: one operation on up to three 16-bit and three 1-bit operands, each a stream or a constant",
    (_in("a", "data0", "operand a"), _in("b", "data1", "operand b"), _in("c", "data2", "operand c"),
     _in("d", "bit0", "1-bit operand d: carry in, select, LUT input 0", 1),
     _in("e", "bit1", "1-bit operand e: LUT input 1", 1), _in("f", "bit2", "1-bit operand f: LUT input 2", 1),
     _out("res", "res0", "result"), _out("p", "bit", "predicate: the chosen condition", 1)),
    ConfigSet("alu",
              Field("op", 6, "operation, a code of the operation table"),
              Field("signed", 1, "operands of multiply, shift right and compare are signed"),
              Field("cond", 5, "condition that `p` reports, a code of the condition table"),
              Field("lut", 8, "truth table of condition `lut`, indexed by f e d"),
              Field("stream_a", 1, "operand a is the stream, else the constant"),
              Field("stream_b", 1, "operand b is the stream, else the constant"),
              Field("stream_c", 1, "operand c is the stream, else the constant"),
              Field("stream_d", 1, "operand d is the stream, else the constant"),
              Field("stream_e", 1, "operand e is the stream, else the constant"),
              Field("stream_f", 1, "operand f is the stream, else the constant"),
              Field("const_d", 1, "constant of d"),
              Field("const_e", 1, "constant of e"),
              Field("const_f", 1, "constant of f"),
              Field("const_a", 16, "constant of a"),
              Field("const_b", 16, "constant of b"),
              Field("const_c", 16, "constant of c"),
              Field("static", 1, "operands are taken and results given every cycle, without valid, ready and control tokens"),
              *REGISTER_FILE_FIELDS),
    "sardonyx.hw.arith.alu:Alu", sized=True)

# Cycles of a quotient.
QUOTIENT_CYCLES = 17

DIVIDER = Primitive(
    "divider", "divides integers, rounding down; a / 0 is 0",
    (_in("a", "data0", "dividends"), _in("b", "data1", "divisors"), _out("res", "res0", "quotients")),
    ConfigSet("divider",
              Field("stream_a", 1, "the dividend is the stream, else the constant"),
              Field("stream_b", 1, "the divisor is the stream, else the constant"),
              Field("constant", 16, "the operand that is no stream")),
    # Of stops. A quotient takes longer, but tokens beside it come no faster than it, so that no path has to hold more of them.
    "sardonyx.hw.arith.divider:Divider", latency=1)

JOINER = Primitive(
    "joiner", "intersects or unites two coordinate streams, references alongside",
    (_in("crd0", "data0", "coordinates of side 0"), _in("ref0", "data1", "references of side 0"),
     _in("crd1", "data2", "coordinates of side 1"), _in("ref1", "data3", "references of side 1"),
     _out("crd", "res0", "coordinates kept"), _out("ref0_o", "res1", "references of side 0, N where absent"),
     _out("ref1_o", "res2", "references of side 1, N where absent")),
    ConfigSet("joiner",
              Field("op", 1, "which coordinates are kept", ("intersect", "union")),
              Field("use_ref0", 1, "ref0 is connected"),
              Field("use_ref1", 1, "ref1 is connected")),
    "sardonyx.hw.sparse.joiner:Joiner")

REPEATER = Primitive(
    "repeater", "repeats a reference once for every coordinate of a fiber",
    (_in("ref", "data0", "references to repeat"), _in("crd", "data1", "coordinates that ask for repeats"),
     _out("ref_o", "res0", "repeated references, shaped like crd")),
    ConfigSet("repeater", Field("root", 1, "repeat the root reference 0; ref is not connected")),
    "sardonyx.hw.sparse.repeater:Repeater")

# What a reducer makes of a fiber if its tile can do so (`TileSpec.reduce_max`), beside the sum.
MAXIMUM = "max"
EXTENT_BITS = 16

REDUCER = Primitive(
    "reducer", "sums each innermost fiber, or takes its maximum",
    (_in("val", "data0", "values"), _in("crd", "data1", "coordinates of the level above, if guided"),
     _out("val_o", "res0", "sums, one level up")),
    ConfigSet("reducer",
              Field("guided", 1, "one sum per coordinate of crd; else one sum per stop"),
              Field("op", 1, "what is made of a fiber; max only with `pe.reduce_max`", ("sum", MAXIMUM)),
              Field("extent", EXTENT_BITS, "of max: so many values are a fiber without zeros that are not stored; 0: none is")),
    "sardonyx.hw.sparse.reducer:Reducer", sized=True)

DROPPER = Primitive(
    "dropper", "removes coordinates of empty fibers, or coordinates of zero values",
    (_in("outer", "data0", "coordinates that may be dropped"),
     _in("inner", "data1", "coordinates or products one level below (form coordinate), or values (form value)"),
     _out("outer_o", "res0", "coordinates kept"), _out("inner_o", "res1", "inner tokens kept")),
    ConfigSet("dropper", Field("form", 1, "what empties a coordinate", ("coordinate", "value"))),
    "sardonyx.hw.sparse.dropper:Dropper")

PASS_THROUGH = Primitive(
    "pass_through", "a FIFO: slack on the shorter of two paths that meet again",
    (_in("i", "data0", "tokens"), _out("o", "res0", "the same tokens")),
    ConfigSet("pass_through"),
    "sardonyx.hw.sparse.pass_through:PassThrough", latency=1, sized=True)

# How a dense level is read if its tile can do so (`TileSpec.locate`).
LOCATE = "locate"

LEVEL = Primitive(
    "level", "level writer, buffer and scanner: holds a level of a fibertree, or its values",
    (_in("ref", "in0", "references of fibers to scan, or of values to look up"),
     _in("wr", "in1", "coordinates or values to write, from the array; coordinates to locate"),
     _in("block", "in2", "block of a level, from the global buffer"),
     _out("crd", "out0", "coordinates scanned, or values looked up"),
     _out("ref_o", "out1", "references scanned or located"),
     _out("block_o", "out2", "block of the level, to the global buffer")),
    ConfigSet("level",
              Field("input", 1, "what is written", ("block", "stream")),
              Field("output", 2, "how it is read; locate only with `mem.locate`", ("scan", "lookup", "block", LOCATE)),
              Field("values", 1, "a value array, else segments and coordinates"),
              Field("dense", 1, "coordinates are counted up to the extent in the block"),
              Field("root", 1, "scan the root fiber once; ref is not connected")),
    "sardonyx.hw.memory.level:Level", latency=6, sized=True, memory=True)

BUFFER = Primitive(
    "buffer", "unified buffer: stores words and gives them again, in cycles and at addresses that loops count",
    (_in("wr0", "in0", "words to store; addresses, as a ROM"),
     _in("wr1", "in1", "words to store"),
     _out("rd0", "out0", "words stored"),
     _out("rd1", "out1", "words stored"),
     _out("valid", "bit", "1 in the cycles of its schedule", 1)),
    buffer_config(MemSizes()),
    "sardonyx.hw.memory.buffer:Buffer", latency=MemSizes().read_latency, sized=True, static=True, memory=True)

# A copy of an unrolled program has a number of so many bits.
COPY_BITS = 6

FILTER = Primitive(
    "filter", "stream filter: leads each block of a link to the output of the copy whose number it carries",
    (_in("block", "data0", "blocks, each behind its number unless that is given"),
     _in("number", "data1", "the number of each block, if given"),
     *(_out(f"block{at}", f"res{at}", f"blocks of the copies of output {at}") for at in range(3))),
    ConfigSet("filter",
              Field("sections", 2, "sections of a block, 1 to 3"),
              Field("given", 1, "numbers come on their own stream; else each is the word in front of its block"),
              Field("keep", 3, "outputs at which the number stays in front of the block, a bit each"),
              Field("first1", COPY_BITS, "the first number of output 1; lower ones go to output 0"),
              Field("first2", COPY_BITS, "the first number of output 2")),
    "sardonyx.hw.sparse.filter:Filter")

ARBITER = Primitive(
    "arbiter", "stream arbiter: leads the blocks of four inputs to one link, in turn",
    (*(_in(f"block{at}", f"data{at}", f"blocks of input {at}") for at in range(4)),
     _out("block", "res0", "blocks of all inputs, each behind the number of its copy")),
    ConfigSet("arbiter",
              Field("sections", 2, "sections of a block without its number, 1 or 2"),
              Field("numbers", 4, "inputs of one copy, which have no number yet, a bit each"),
              Field("first", COPY_BITS, "the number of input 0; those of the others follow")),
    "sardonyx.hw.sparse.arbiter:Arbiter")

ADDRESS = Primitive(
    "address", "output address: puts its number in front of each block that a copy gives",
    (_in("number", "data0", "a section of one word for each sub-tile, its number"),
     *(_in(f"block{at}", f"data{at + 1}", f"blocks of stream {at}, one a sub-tile") for at in range(3)),
     *(_out(f"block{at}_o", f"res{at}", f"the same blocks, each behind its number, of stream {at}") for at in range(3))),
    ConfigSet("address",
              Field("used", 3, "streams that are connected, a bit each"),
              Field("values", 3, "streams whose blocks are of one section, a bit each; others are of two")),
    "sardonyx.hw.sparse.address:Address")

DISPATCHER = Primitive(
    "dispatcher", "names the next copy that is free",
    (*(_in(f"done{at}", f"data{at}", f"any stream of copy {at}, or the numbers of another dispatcher") for at in range(4)),
     _out("number", "res0", "numbers of copies, in turn among those that are free"),
     _out("log", "res1", "the same, each behind its length, for the global buffer")),
    ConfigSet("dispatcher",
              Field("copies", 4, "inputs that are streams of a copy, a bit each; others bring numbers"),
              Field("first", COPY_BITS, "the number of input 0; those of the others follow"),
              Field("ahead", 2, "blocks that a copy may have before the first of them is done, 1 to 3")),
    "sardonyx.hw.sparse.dispatcher:Dispatcher")

ACCUMULATOR = Primitive(
    "accumulator", "adds up values at their coordinates over the fibers of a summed index around them",
    (_in("outer", "in0", "coordinates of the level above crd, if use_outer"),
     _in("crd", "in1", "coordinates of the values"),
     _in("val", "in2", "values"),
     _out("outer_o", "out0", "coordinates of outer with sums"),
     _out("crd_o", "out1", "coordinates with a sum that is not 0, rising"),
     _out("val_o", "out2", "these sums")),
    ConfigSet("accumulator", Field("use_outer", 1, "a sum for each pair of coordinates of outer and crd, else of crd alone")),
    "sardonyx.hw.memory.accumulator:Accumulator", latency=4, sized=True, memory=True)

BELOW_BITS = 2
SCATTER = Primitive(
    "scatter", "writes values at their coordinates, and gives them with the zeros between as a block",
    (_in("at", "in0", "coordinates or positions of values"),
     _in("val", "in1", "values"),
     _out("block_o", "out2", "block of the values, to the global buffer")),
    ConfigSet("scatter",
              Field("extent", EXTENT_BITS, "words of a fiber"),
              Field("whole", 1, "a transaction is one fiber; else stops of `at` end one"),
              Field("below", BELOW_BITS, "stops of `at` below this level mean nothing: those of dense levels above the last")),
    "sardonyx.hw.memory.scatter:Scatter", latency=3, sized=True, memory=True)

PE_PRIMITIVES = (ALU, JOINER, REPEATER, REDUCER, DROPPER, PASS_THROUGH)
MEM_PRIMITIVES = (LEVEL, BUFFER, ACCUMULATOR)
# What a PE needs beside these for copies of a program that share links, in this order behind them.
SHARING_PRIMITIVES = (FILTER, ARBITER, DISPATCHER)
PRIMITIVES = {primitive.name: primitive for primitive in (*PE_PRIMITIVES, *SHARING_PRIMITIVES, ADDRESS, DIVIDER,
                                                          *MEM_PRIMITIVES, SCATTER)}
# Coordinates that an accumulator tells sums apart by, at most.
MOST_ACCUMULATED = 2
