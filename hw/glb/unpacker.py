"""Unpacker: configuration words out of packed ones, as a GLB tile has them in its banks."""

from __future__ import annotations

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..arch.config import WORD_BITS
from ..arch.glb import LINE_BYTES
from ..arch.packed import FIRST_ROW, ITEM_BYTES, MASK_BITS, MOST_STEP, NEXT, PLACE, PLACE_BYTES, REGISTERS, SKIP
from .config_word import CONFIG_WORD

# Lines that it holds, so that an item may begin in one and end in the next.
HELD = 2


class Unpacker(wiring.Component):
    """Takes lines of packed configuration (`arch/packed.py`), and gives its writes.

    Behaviour: an item a cycle, as soon as all of it is there; a write of column 0, row 3, register 2, whose data are 0x50, is
    the bytes 02 51 50: the register goes on by 2, the row by 5 from `FIRST_ROW` on, and the lowest byte of data follows.

    Members
    -------
    start, stop : In(1)         Begin at the first place; give up.
    line_valid, line : In       A line, while `held` says that there is room.
    last : In(1)                No line comes any more: an item that is cut by the end is dropped.
    held : Out                  Lines held, 0..HELD.
    busy : Out(1)               A line is held, or a word leaves.
    o_valid, o : Out            A word.

    Timing: a word leaves in the cycle after its item was taken, from registers.
    """

    def __init__(self) -> None:
        super().__init__({"start": In(1), "stop": In(1), "line_valid": In(1), "line": In(8 * LINE_BYTES), "last": In(1),
                          "held": Out(range(HELD + 1)), "busy": Out(1), "o_valid": Out(1), "o": Out(CONFIG_WORD)})

    module_name = "unpacker"

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lines = [Signal(8 * LINE_BYTES, name=f"line{number}", reset_less=True) for number in range(HELD)]
        at = Signal(range(LINE_BYTES))      # the first byte of the item
        item = Signal(8 * ITEM_BYTES)
        reach = LINE_BYTES - 1 + ITEM_BYTES
        m.d.comb += item.eq(Cat(lines)[:8 * reach].bit_select(Cat(C(0, 3), at), 8 * ITEM_BYTES))
        mask, step = item[:MASK_BITS], item[MASK_BITS:8]
        length = Signal(range(ITEM_BYTES + 1))
        m.d.comb += length.eq(1 + Mux(step != 0, _ones(mask), Mux(mask == PLACE, PLACE_BYTES, 0)))
        end = Signal(range(LINE_BYTES + ITEM_BYTES))
        whole = Signal()
        takes = Signal()
        leaves = Signal()       # the first line
        m.d.comb += [end.eq(at + length), whole.eq((self.held == HELD) | (end <= LINE_BYTES)),
                     takes.eq((self.held != 0) & (whole | self.last)), leaves.eq(takes & (end >= LINE_BYTES))]
        with m.If(takes):
            m.d.sync += at.eq(end)
        after = Signal(range(HELD + 1))
        m.d.comb += [after.eq(self.held - leaves), self.busy.eq((self.held != 0) | self.o_valid)]
        m.d.sync += self.held.eq(Mux(self.start | self.stop, 0, after + self.line_valid))
        with m.If(leaves):
            m.d.sync += lines[0].eq(lines[1])
        for number, line in enumerate(lines):
            with m.If(self.line_valid & (after == number)):
                m.d.sync += line.eq(self.line)
        self._place(m, item, takes & whole)
        with m.If(self.start):
            m.d.sync += at.eq(0)
        return m

    def _place(self, m: Module, item: Value, does: Value) -> None:
        """The place, and what is written there."""
        mask, step, rest = item[:MASK_BITS], item[MASK_BITS:8], item[8:]
        column = Signal(8, reset_less=True)
        row = Signal(8, reset_less=True)
        register = Signal(16, reset_less=True)
        word = Signal(WORD_BITS, reset_less=True)
        there = Cat(register, row, column)
        m.d.comb += [self.o.data.eq(word), Cat(self.o.address, self.o.column).eq(there)]
        m.d.sync += self.o_valid.eq(does & (step != 0) & ~self.start & ~self.stop)
        with m.If(does):
            with m.If(step != 0):
                m.d.sync += row.eq(row + step)
                places = [C(0, 1), *(_ones(mask[:byte]) for byte in range(1, WORD_BITS // 8))]
                m.d.sync += [word.word_select(byte, 8).eq(Mux(mask[byte], rest.word_select(place, 8), 0))
                             for byte, place in enumerate(places)]
            with m.Else():
                with m.Switch(mask):
                    with m.Case(0):
                        pass
                    with m.Case(NEXT):
                        m.d.sync += [column.eq(column + 1), register.eq(0), row.eq(FIRST_ROW)]
                    with m.Case(SKIP):
                        m.d.sync += row.eq(row + MOST_STEP)
                    with m.Case(PLACE):
                        m.d.sync += there.eq(rest[:8 * PLACE_BYTES])
                    with m.Default():
                        m.d.sync += [register.eq(register + mask), row.eq(FIRST_ROW)]
        with m.If(self.start):
            m.d.sync += [column.eq(0), register.eq(0), row.eq(FIRST_ROW)]


def _ones(bits: Value) -> Value:
    """How many bits are 1."""
    return sum((bit for bit in bits), start=C(0, 1))


assert REGISTERS < NEXT < SKIP < PLACE < 1 << MASK_BITS, "every code has a meaning"
