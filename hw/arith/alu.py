"""ALU: the integer operations of the PE on streams of tokens."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from ..arch.op import BY_NAME, CONDITIONS
from ..arch.primitive import ALU
from ..arch.register_file import CHANNELS, FIELDS, OPERANDS, SOURCES
from ..arch.tile import TileSpec
from ..arch.token import DATA_BITS
from ..sparse.interface import every, fork, is_value, members
from .register_file import RegisterFile

# What the second adder computes.
FUSED = ("muladd", "mulsub", "taa", "tas", "tsa", "tss", "crop")


class Alu(wiring.Component):
    """Apply one operation of `hw/arch/op.py` to up to three 16-bit and three 1-bit operands.

    Behaviour: each operand is a stream or a constant. When every stream operand shows data (maybe counts as
    0), one result and one predicate leave. When all 16-bit ones show the same stop or done, that leaves as
    result; 1-bit streams carry only data, so they are not read then and there is no predicate. Operands out of
    step wait for ever, and an ALU without stream operands is silent.

        a ``1 2 S0 D``, b ``3 N S0 D``, op adc     res ``4 2 S0 D``, p (condition eq) ``0 0``

    Static, operands are taken in every cycle, whatever their valid and control bits say, and a result and a predicate of
    their data leave in the same cycle; valid and ready play no part. An operand may then also come from the register file
    (`RegisterFile`), which keeps operand words or results.

    Parameters
    ----------
    spec : TileSpec            Its `ops`: the operations of the table that there are; the codes of the others give 0. Its
                               `register_words`: 0 for no register file.

    Members
    -------
    cfg : as described in `hw/arch/primitive.py`
    a, b, c : In               16-bit operands.
    d, e, f : In               1-bit operands.
    res : Out                  Results, stops and done.
    p : Out                    The predicate: one for every result that is data.

    Timing: one token per cycle; outputs follow inputs in the same cycle, each when it is ready. Longest paths:
    multiplier and second adder (muladd), two adders and a choice (crop), multiplier and shifter (mulshr).
    Source: Onyx JSSC V-A and Fig. 11; Amber JSSC for the operations of two 16-bit operands.
    """

    def __init__(self, spec: TileSpec) -> None:
        assert all(op.type.bits == DATA_BITS and op.latency == 0 for op in spec.ops), "the datapath is one cycle of 16 bits"
        self.ops, self.register_words = tuple(op.name for op in spec.ops), spec.register_words
        super().__init__(members(ALU) | {"cfg": In(spec.config(ALU).layout)})

    @property
    def emit_key(self) -> object:
        return self.ops, self.register_words

    def elaborate(self, platform: object) -> Module:
        m = Module()
        cfg = self.cfg
        words = ((self.a, cfg.stream_a), (self.b, cfg.stream_b), (self.c, cfg.stream_c))
        bits = ((self.d, cfg.stream_d), (self.e, cfg.stream_e), (self.f, cfg.stream_f))
        values = [Mux(use, Mux(word.payload.control & ~cfg.static, 0, word.payload.data), constant)
                  for (word, use), constant in zip(words, (cfg.const_a, cfg.const_b, cfg.const_c))]
        if self.register_words:
            m.submodules.registers = registers = RegisterFile(self.register_words)
            values = self._registers(m, registers, values)
        flags = [Mux(use, bit.payload, constant)
                 for (bit, use), constant in zip(bits, (cfg.const_d, cfg.const_e, cfg.const_f))]

        words_there = Signal()
        bits_there = Signal()
        compute = Signal()
        passes = Signal()
        equal = [~use | ~other_use | (word.payload.data == other.payload.data)
                 for (word, use), (other, other_use) in combinations(words, 2)]
        any_word, any_bit = (Cat(use for _, use in each).any() for each in (words, bits))
        control = Mux(cfg.stream_a, self.a.payload, Mux(cfg.stream_b, self.b.payload, self.c.payload))
        m.d.comb += [
            words_there.eq(every([~use | word.valid for word, use in words])),
            bits_there.eq(every([~use | bit.valid for bit, use in bits])),
            compute.eq(words_there & bits_there & (any_word | any_bit)
                       & every([~use | is_value(word.payload) for word, use in words])),
            passes.eq(words_there & any_word & every(equal)
                      & every([~use | ~is_value(word.payload) for word, use in words])),
        ]
        over = fork(m, (self.res, compute | passes), (self.p, compute))
        m.d.comb += [word.ready.eq(use & over & (compute | passes)) for word, use in words]
        m.d.comb += [bit.ready.eq(use & over & compute) for bit, use in bits]
        with m.If(cfg.static):
            m.d.comb += [self.res.valid.eq(1), self.p.valid.eq(1), *(each.ready.eq(1) for each, _ in (*words, *bits))]

        result, carry, overflow = self._result(m, values[0], values[1], values[2], flags[0])
        m.d.comb += [
            self.res.payload.eq(Mux(passes & ~cfg.static, control, result)),
            self.p.payload.eq(self._predicate(m, result, carry, overflow, Cat(*flags))),
        ]
        if self.register_words:
            m.d.comb += registers.res.eq(result)
        return m

    def _registers(self, m: Module, registers: RegisterFile, values: list[Value]) -> list[Value]:
        """Set and feed the register file; the operands, each from its port or from a channel."""
        cfg, found = self.cfg, []
        m.d.comb += [registers.enable.eq(cfg.static), *(registers.cfg[field.name].eq(cfg[field.name]) for field in FIELDS)]
        for name, value in zip(OPERANDS, values, strict=True):
            operand = Signal(DATA_BITS, name=f"operand_{name}")
            m.d.comb += [getattr(registers, name).eq(getattr(self, name).payload.data), operand.eq(value)]
            for channel in range(CHANNELS):
                with m.If(cfg.static & (cfg[f"operand_{name}"] == SOURCES.index(f"channel{channel}"))):
                    m.d.comb += operand.eq(getattr(registers, f"word{channel}"))
            found.append(operand)
        return found

    def _result(self, m: Module, a: Value, b: Value, c: Value, d: Value) -> tuple[Value, Value, Value]:
        """The datapath: one multiplier, one shifter, two adders, of which the second serves fused operations only."""
        def is_op(*names: str) -> Value:
            """Whether the operation is one of those named; false for what this ALU does not have."""
            return Cat(self.cfg.op == BY_NAME[name].code for name in names if name in self.ops).any()

        top = DATA_BITS - 1
        product = Signal(2 * DATA_BITS)
        m.d.comb += product.eq(_extended(a, self.cfg.signed) * _extended(b, self.cfg.signed))

        # First adder: sums, differences, the comparison of crop, and 0 + ~a + 1 for abs of a negative number.
        is_abs = is_op("abs")
        left = Signal(DATA_BITS)
        right = Signal(DATA_BITS)
        carry_in = Signal()
        sum1 = Signal(DATA_BITS + 1)
        minus_b = is_op("sbc", "tsa", "tss", "crop")
        m.d.comb += [
            left.eq(Mux(is_abs, 0, a)),
            right.eq(Mux(is_abs, a, b) ^ (Mux(is_abs, a[top], minus_b)).replicate(DATA_BITS)),
            carry_in.eq(Mux(is_abs, a[top], Mux(is_op("adc", "sbc"), d, minus_b))),
            sum1.eq(left + right + carry_in),
        ]
        flags_valid = is_op("adc", "sbc")
        carry = sum1[DATA_BITS] & flags_valid
        overflow = (left[top] == right[top]) & (left[top] != sum1[top]) & flags_valid

        # One shifter: right with a fill bit, left with the bits in reverse. 16 places or more empty it.
        is_left, is_product = is_op("shl"), is_op("mulshr")
        operand = Signal(DATA_BITS)
        amount = Signal(DATA_BITS)
        shifted = Signal(DATA_BITS)
        m.d.comb += [
            operand.eq(Mux(is_product, product[:DATA_BITS], Mux(is_left, a[::-1], a))),
            amount.eq(Mux(is_product, c, b)),
            shifted.eq(_extended(operand, self.cfg.signed & ~is_left)
                       >> Mux(amount[4:].any(), DATA_BITS, amount[:4])),
        ]

        results = {
            "adc": sum1, "sbc": sum1, "abs": sum1, "sel": Mux(d, a, b),
            "mult0": product, "mult1": product[8:], "mult2": product[16:],
            "shr": shifted, "shl": shifted[::-1], "or": a | b, "and": a & b, "xor": a ^ b,
        }
        if any(name in self.ops for name in FUSED):
            results |= self._fused(m, is_op, product, sum1, a, b, c)
        results["mulshr"] = shifted
        assert set(self.ops) <= set(results), "every operation of the table has a datapath"

        result = Signal(DATA_BITS)
        with m.Switch(self.cfg.op):
            for name in (name for name in results if name in self.ops):
                with m.Case(BY_NAME[name].code):
                    m.d.comb += result.eq(results[name])
        return result, carry, overflow

    def _fused(self, m: Module, is_op: Callable[..., Value], product: Value, sum1: Value,
               a: Value, b: Value, c: Value) -> dict[str, Value]:
        """The second adder: plus or minus c, after the multiplier, the first adder or the choice of crop."""
        low = Signal(DATA_BITS)
        first = Signal(DATA_BITS)
        sum2 = Signal(DATA_BITS + 1)
        minus_c = is_op("mulsub", "tas", "tss", "crop")
        m.d.comb += [
            low.eq(Mux(_less(a, b, sum1, self.cfg.signed), a, b)),
            first.eq(Mux(is_op("crop"), low, Mux(is_op("muladd", "mulsub"), product, sum1)[:DATA_BITS])),
            sum2.eq(first + (c ^ minus_c.replicate(DATA_BITS)) + minus_c),
        ]
        crop = Mux(_less(low, c, sum2, self.cfg.signed), c, low)
        return {**dict.fromkeys(FUSED[:-1], sum2), FUSED[-1]: crop}

    def _predicate(self, m: Module, result: Value, carry: Value, overflow: Value, index: Value) -> Value:
        predicate = Signal()
        flags = result == 0, result[-1], carry, overflow, self.cfg.lut.bit_select(index, 1)
        with m.Switch(self.cfg.cond):
            for condition in CONDITIONS:
                with m.Case(condition.code):
                    # The meanings use only & | ^, so they apply to signals as they do to integers.
                    m.d.comb += predicate.eq(condition.meaning(*flags))
        return predicate


def _extended(word: Value, is_signed: Value) -> Value:
    """The integer that a word stands for, one bit wider."""
    return Cat(word, word[-1] & is_signed).as_signed()


def _less(left: Value, right: Value, difference: Value, is_signed: Value) -> Value:
    """Whether left < right, given left + ~right + 1 with its carry."""
    top = len(left) - 1
    borrow = ~difference[top + 1]
    return Mux(is_signed & (left[top] != right[top]), left[top], borrow)
