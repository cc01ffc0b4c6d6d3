"""ALU: the integer operations of the PE on streams of tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from ..arch.op import BY_NAME, CONDITIONS, OPS
from ..arch.primitive import ALU
from ..arch.register_file import CHANNELS, OPERANDS, SOURCES
from ..arch.tile import TileSpec
from ..arch.token import DATA_BITS
from ..booth import digits, recoded
from ..emit import macro
from ..sparse.interface import every, fork, is_value, members
from .delay_lines import DelayLines
from .multiplier import Multiplier
from .register_file import RegisterFile
from .words import add, choice, extended, full_add, less

# Operations that begin with an adder of their own, and those that end with a subtraction.
ADDS_FIRST = ("taa", "tas", "tsa", "tss")
SUBTRACTS = ("sbc", "mulsub", "tas", "tss", "crop")


# Operations that begin with the multiplier, and the first bit of the product that each takes.
PRODUCTS = {("mult0", "muladd", "mulsub", "mulshr"): 0, ("mult1",): 8, ("mult2",): 16}
MULTIPLIES = tuple(name for names in PRODUCTS for name in names)
# The operands that the datapath takes, and their ports.
LATE = "late"
PORTS = {"a": ("a",), "b": ("b",), LATE: ("b", "c")}


class Alu(wiring.Component):
    """Apply one operation of `hw/arch/op.py` to up to three 16-bit and three 1-bit operands.

    Behaviour: each operand is a stream or a constant. When every stream operand shows data (maybe counts as
    0), one result and one predicate leave. When all 16-bit ones show the same stop or done, that leaves as
    result; 1-bit streams carry only data, so they are not read then and there is no predicate. Operands out of
    step wait for ever, and an ALU without stream operands is silent.

        a ``1 2 S0 D``, b ``3 N S0 D``, op adc     res ``4 2 S0 D``, p (condition eq) ``0 0``

    An operation takes three cycles, and one can begin in every cycle. The first chooses the operands, and makes the digits of b
    for the multiplier (0 in operations without a product). The second makes a word of a and b: one of them, a product, a
    logical word, a sum or the smaller one. The third adds the late operand (`Op.late`), shifts by it or takes the larger one,
    and tests the result. What has no late operand, and a stop or done, goes through the second adder with 0.

        taa     | second: a + b         | third: + c            sbc     | second: a             | third: + ~b + d
        mulshr  | second: a * b         | third: >> c           or      | second: a | b         | third: + 0

    Static, operands are taken in every cycle, whatever their valid and control bits say, and a result and a predicate of
    their data leave two cycles later; valid and ready play no part. An operand may then also come from the register file
    (`RegisterFile`), which keeps operand words or results: in the cycle in which it is used, so the late one in that of the
    result, and a running sum takes a word every cycle. In cycles 0 and 1 the result is 0.

    Parameters
    ----------
    spec : TileSpec            Its `ops`: the operations of the table that there are; the codes of the others give 0. Its
                               `register_words`: 0 for no register file; `register_schedules`: whether it is a `RegisterFile`
                               or `DelayLines`; `multiplier_tree`: whether products come from a `Multiplier`.

    Members
    -------
    cfg : as described in `hw/arch/primitive.py`
    a, b, c : In               16-bit operands.
    d, e, f : In               1-bit operands.
    res : Out                  Results, stops and done.
    p : Out                    The predicate: one for every result that is data.

    Timing: one token per cycle, latency 2. `valid` of the outputs comes from registers; `ready` of the inputs follows that of
    the outputs. Longest paths: the multiplier in the second cycle; in the third an adder or the shifter and the choice between
    them, for a predicate the choice between two of them.
    Source: Onyx JSSC V-A and Fig. 11; Amber JSSC for the operations of two 16-bit operands.
    """

    def __init__(self, spec: TileSpec) -> None:
        assert all(op.type.bits == DATA_BITS and op.latency == 2 for op in spec.ops), "three cycles of words of 16 bits"
        self.ops = tuple(op.name for op in spec.ops)
        self.register_words, self.register_schedules = spec.register_words, spec.register_schedules
        self.multiplier_tree = spec.multiplier_tree
        super().__init__(members(ALU) | {"cfg": In(spec.config(ALU).layout)})

    @property
    def emit_key(self) -> object:
        return self.ops, self.register_words, self.register_schedules, self.multiplier_tree

    def elaborate(self, platform: object) -> Module:
        m = Module()
        cfg = self.cfg
        words = ((self.a, cfg.stream_a), (self.b, cfg.stream_b), (self.c, cfg.stream_c))
        bits = ((self.d, cfg.stream_d), (self.e, cfg.stream_e), (self.f, cfg.stream_f))
        registers = None
        if self.register_words:
            m.submodules.registers = registers = (RegisterFile if self.register_schedules else DelayLines)(self.register_words)
            self._feed(m, registers)
        flags = [Mux(use, bit.payload, constant)
                 for (bit, use), constant in zip(bits, (cfg.const_d, cfg.const_e, cfg.const_f))]
        passing, controls, moves = self._handshake(m, words, bits)

        # What the second cycle works on.
        taken = {operand: Signal(DATA_BITS, name=f"{operand}_taken") for operand in PORTS}
        carry = Signal()
        table = Signal()
        factor = Signal(digits(DATA_BITS) if self.multiplier_tree else DATA_BITS)     # b, or 0 where nothing is multiplied
        begun = Signal()    # the second cycle has taken operands
        # Choices are made outside the conditions below, which would else stand in front of them and of the multiplier.
        chosen = {operand: self._taken(m, operand, registers, passing if operand == "a" else {}) for operand in PORTS}
        kept = {operand: self._kept(m, operand, registers) for operand in PORTS}
        words_next = {operand: Signal(DATA_BITS, name=f"{operand}_next") for operand in ("a", "b")}
        # What channels give comes last; they do so in static mode only, where nothing is a control token.
        m.d.comb += [word.eq(chosen[operand] | kept[operand]) for operand, word in words_next.items()]
        multiplies = ~controls[0] & self._is_op(*MULTIPLIES)
        factor_next = recoded(words_next["b"], cfg.signed) if self.multiplier_tree else words_next["b"]
        with m.If(moves):
            m.d.sync += [carry.eq(flags[0]), table.eq(cfg.lut.bit_select(Cat(*flags), 1)), begun.eq(1),
                         factor.eq(factor_next & multiplies.replicate(len(factor_next))),
                         *(taken[operand].eq(word) for operand, word in words_next.items()), taken[LATE].eq(chosen[LATE])]
        a, b = taken["a"], taken["b"]
        late = taken[LATE] | kept[LATE]

        # What the third works on. It is 0 after a flush, so that nothing of an earlier run is seen in a static one.
        passes = controls[1]
        word = Signal(DATA_BITS)
        other = Signal(DATA_BITS)
        carry_in = Signal()
        shifts = Signal()
        crops = Signal()
        far = Signal()          # by 16 places or more
        index = Signal()
        made = self._short(m, a, b, carry, passes) | self._product(m, a, factor)
        with m.If(moves & begun):
            m.d.sync += [
                word.eq(made),
                other.eq((late ^ self._is_op(*SUBTRACTS).replicate(DATA_BITS)) & ~passes.replicate(DATA_BITS)),
                carry_in.eq(~passes & Mux(self._is_op("adc", "sbc"), carry,
                                          self._is_op(*SUBTRACTS) | self._is_op("abs") & a[-1])),
                shifts.eq(~passes & self._is_op("shr", "shl", "mulshr")),
                crops.eq(~passes & self._is_op("crop")),
                far.eq(late[4:].any()),
                index.eq(table),
            ]
        result, predicate = self._second(m, word, other, carry_in, shifts, far, crops, index)
        m.d.comb += [self.res.payload.data.eq(result), self.p.payload.eq(predicate)]
        if registers is not None:
            m.d.comb += registers.res.eq(result)
        return m

    def _is_op(self, *names: str) -> Value:
        """Whether the operation is one of those named; false for what this ALU does not have."""
        return Cat(self.cfg.op == BY_NAME[name].code for name in names if name in self.ops).any()

    def _is_late(self, operand: str) -> Value:
        """Whether the operation takes an operand in its second cycle."""
        return self._is_op(*(op.name for op in OPS if op.late == operand))

    def _handshake(self, m: Module, words: Sequence[tuple[Any, Value]],
                   bits: Sequence[tuple[Any, Value]]) -> tuple[dict[str, Value], tuple[Value, Value], Value]:
        """Move tokens from cycle to cycle. Returns from which port a control token goes in, whether one does and whether one is
        in the second cycle, and whether all move; then also what is no token."""
        static = self.cfg.static
        words_there = Signal()
        bits_there = Signal()
        compute = Signal()
        passes = Signal()
        taken = Signal()
        moves = Signal()
        full = Signal(2)        # the second and the third cycle have a token
        control = Signal(2)     # it is a control token
        equal = [~use | ~other_use | (word.payload.data == other.payload.data)
                 for (word, use), (other, other_use) in combinations(words, 2)]
        any_word, any_bit = (Cat(use for _, use in each).any() for each in (words, bits))
        (a, use_a), (b, use_b), (c, use_c) = words
        # Of the first operand alone: where the others differ, nothing is taken.
        firsts = {"a": (a, use_a), "b": (b, ~use_a & use_b), "c": (c, ~use_a & ~use_b & use_c)}
        passing = {port: Signal(name=f"{port}_passes") for port in firsts}
        m.d.comb += [
            *(passing[port].eq(~static & is_first & ~is_value(word.payload)) for port, (word, is_first) in firsts.items()),
            words_there.eq(every([~use | word.valid for word, use in words])),
            bits_there.eq(every([~use | bit.valid for bit, use in bits])),
            compute.eq(words_there & bits_there & (any_word | any_bit)
                       & every([~use | is_value(word.payload) for word, use in words])),
            passes.eq(words_there & any_word & every(equal)
                      & every([~use | ~is_value(word.payload) for word, use in words])),
            taken.eq(compute | passes),
        ]
        is_control = Cat(passing.values()).any()
        over = fork(m, full[1], (self.res, Const(1)), (self.p, ~control[1]))
        m.d.comb += [moves.eq(over | static), self.res.payload.control.eq(control[1])]
        m.d.comb += [word.ready.eq(use & over & taken) for word, use in words]
        m.d.comb += [bit.ready.eq(use & over & compute) for bit, use in bits]
        with m.If(moves):
            m.d.sync += [full.eq(Cat(taken, full[0])), control.eq(Cat(is_control, control[0]))]
        with m.If(static):
            m.d.comb += [self.res.valid.eq(1), self.p.valid.eq(1), *(each.ready.eq(1) for each, _ in (*words, *bits))]
        return passing, (is_control, control[0]), moves

    def _feed(self, m: Module, registers: RegisterFile | DelayLines) -> None:
        """Set the register file and give it the words that arrive."""
        m.d.comb += [registers.enable.eq(self.cfg.static),
                     *(registers.cfg[name].eq(self.cfg[name]) for name, _ in registers.cfg.shape()),
                     *(getattr(registers, name).eq(getattr(self, name).payload.data) for name in OPERANDS)]

    def _taken(self, m: Module, operand: str, registers: RegisterFile | DelayLines | None,
               passing: Mapping[str, Value]) -> Value:
        """Operand a or b, or the late one, as its port or a constant gives it; 0 where a channel does. Or the control token of
        a port, if one passes on this way."""
        cfg = self.cfg
        found: Value = Const(0, DATA_BITS)
        for port in PORTS[operand]:
            word, use = getattr(self, port), cfg[f"stream_{port}"]
            from_port = Signal(name=f"{operand}_is_{port}")
            from_channel = Cat(self._from_channel(port, n) for n in range(CHANNELS) if registers is not None).any()
            m.d.comb += from_port.eq(self._asks(operand, port) & ~from_channel)
            # Maybe counts as 0.
            arrives = from_port & use & (cfg.static | ~word.payload.control)
            found |= word.payload.data & arrives.replicate(DATA_BITS)
            found |= cfg[f"const_{port}"] & (from_port & ~use & ~Cat(passing.values()).any()).replicate(DATA_BITS)
        for port, passes in passing.items():
            found |= getattr(self, port).payload.data & passes.replicate(DATA_BITS)
        return found

    def _kept(self, m: Module, operand: str, registers: RegisterFile | DelayLines | None) -> Value:
        """What a channel gives of operand a or b in the second cycle, or of the late one in the third, asked for in the
        cycle before."""
        found: Value = Const(0, DATA_BITS)
        for port in PORTS[operand]:
            for channel in range(CHANNELS if registers is not None else 0):
                chosen = Signal(name=f"{operand}_is_{port}_channel{channel}")
                m.d.comb += chosen.eq(self._asks(operand, port) & self._from_channel(port, channel))
                found |= getattr(registers, f"next{channel}") & chosen.replicate(DATA_BITS)
        return found

    def _asks(self, operand: str, port: str) -> Value:
        """Whether an operand may come from the port: the late one from the port that the operation says."""
        return self._is_late(port) if operand == LATE else Const(1)

    def _from_channel(self, port: str, channel: int) -> Value:
        """Whether a channel gives what would be the operand of a port."""
        asked: Value = self.cfg.static & (self.cfg[f"operand_{port}"] == SOURCES.index(f"channel{channel}"))
        return asked

    def _product(self, m: Module, a: Value, factor: Any) -> Value:
        """The part of the product that the operation takes, or 0. It comes last, so nothing is chosen behind it."""
        product = Signal(2 * DATA_BITS)
        if not self.multiplier_tree:
            m.d.comb += product.eq(extended(a, self.cfg.signed) * extended(factor, self.cfg.signed))
        elif set(MULTIPLIES) & set(self.ops):
            m.submodules.multiplier = multiplier = macro(Multiplier(DATA_BITS))
            m.d.comb += [multiplier.a.eq(a), multiplier.digits.eq(factor), multiplier.is_signed.eq(self.cfg.signed),
                         product.eq(multiplier.product)]
        found: Value = Const(0, DATA_BITS)
        for names, low in PRODUCTS.items():
            found |= product[low:low + DATA_BITS] & self._is_op(*names).replicate(DATA_BITS)
        return found

    def _short(self, m: Module, a: Value, b: Value, d: Value, passes: Value) -> Value:
        """The word that the second cycle makes where it does not multiply: a, where it passes on. One adder, for fused
        operations only."""
        minus_b = self._is_op("tsa", "tss", "crop")
        inverted = b ^ minus_b.replicate(DATA_BITS)
        sum1 = Signal(DATA_BITS + 1)
        m.d.comb += sum1.eq(add(a, inverted, minus_b))
        is_less = less(a, b, sum1[-1], self.cfg.signed)
        # Each word has one select for all operations that take it, so a bit is one OR of ANDs; a | b is both.
        takes_a = (self._is_op("adc", "sbc", "shr", "or") | self._is_op("sel") & d | self._is_op("crop") & is_less
                   | self._is_op("abs") & ~a[-1])
        takes_b = self._is_op("or") | self._is_op("sel") & ~d | self._is_op("crop") & ~is_less
        parts = [(a, passes | takes_a), (b, ~passes & takes_b), (~a, ~passes & self._is_op("abs") & a[-1]),
                 (a[::-1], ~passes & self._is_op("shl")), (a & inverted, ~passes & self._is_op("and")),
                 (a ^ inverted, ~passes & self._is_op("xor")), (sum1[:DATA_BITS], ~passes & self._is_op(*ADDS_FIRST))]
        return choice(parts)

    def _second(self, m: Module, word: Value, other: Value, carry_in: Value, shifts: Value, far: Value,
                crops: Value, index: Value) -> tuple[Value, Value]:
        """The result and the predicate. `other` is the late operand, inverted where it is subtracted."""
        top = DATA_BITS - 1
        signed = self.cfg.signed
        low = Signal(DATA_BITS)     # the sum of all bits but the top one, and the carry into that
        m.d.comb += low.eq(add(word[:top], other[:top], carry_in))
        sum_top, carry = full_add(word[top], other[top], low[top])
        is_less = less(word, ~other, carry, signed)

        # One shifter: right with a fill bit; left with the bits in reverse, as they come from the first cycle. 16 places or
        # more leave the fill bit.
        is_left = self._is_op("shl")
        shifted = Signal(DATA_BITS)
        fill = word[top] & signed & ~is_left
        m.d.comb += shifted.eq(extended(word, signed & ~is_left) >> other[:4])
        parts = [(Cat(low[:top], sum_top), ~shifts & ~crops), (fill.replicate(DATA_BITS), shifts & far),
                 (shifted, shifts & ~far & ~is_left), (shifted[::-1], shifts & ~far & is_left)]
        if "crop" in self.ops:
            parts += [(~other, crops & is_less), (word, crops & ~is_less)]
        result = Signal(DATA_BITS)
        m.d.comb += result.eq(choice(parts))

        # Z is found beside the adder, not behind it: a sum is 0 if every carry is what its bits have to give away. The carry
        # into the top bit, which is the last to come, chooses between two predicates.
        zero = Mux(shifts, Mux(far, ~fill, shifted == 0), (word ^ other) == Cat(carry_in, (word | other)[:top]))
        shifted_top = choice([(part[top], one) for part, one in parts[1:4]])
        has_flags = self._is_op("adc", "sbc")

        def predicate(carried: Value) -> Value:
            total, carry = full_add(word[top], other[top], carried)
            takes_other = crops & less(word, ~other, carry, signed)
            kept = Mux(takes_other, ~other[top], word[top])
            negative = shifted_top | total & ~shifts & ~crops | kept & crops
            is_zero = Mux(crops, Mux(takes_other, other.all(), word == 0), zero)
            return self._condition(is_zero, negative, carry & has_flags, (carry ^ carried) & has_flags, index)

        return result, Mux(low[top], predicate(Const(1, 1)), predicate(Const(0, 1)))

    def _condition(self, *flags: Value) -> Value:
        """The condition of Z, N, C, V and the bit of the truth table."""
        # The meanings use only & | ^, so they apply to signals as they do to integers.
        return Cat((self.cfg.cond == condition.code) & condition.meaning(*flags) for condition in CONDITIONS).any()
