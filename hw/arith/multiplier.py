"""Multiplier: the product of two words as a tree of adders, for libraries of cells."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..booth import digits


class Multiplier(wiring.Component):
    """Multiply a word by digits of base 4, of which each makes a row.

    Behaviour: carry-save adders, three rows to two, leave two rows, which one adder adds.

        digit     -2   -1    0    1    2
        row      ~2a   ~a    0    a   2a     and the 1 that makes ~x into -x in the next row, two bits below its first

    Instead of bits that repeat its sign, a row has the inverted sign and a 1 above it; the first one has ``~s s s``. Together
    they come to the same number modulo 2 ** (2 * bits). `top` gives one row more.

    Parameters
    ----------
    bits : int         Of a word; even, 4 or more.

    Members
    -------
    a : In(bits)                 One factor.
    digits : In(digits(bits))    The other one, as `recoded` gives it.
    is_signed : In(1)            Whether both are two's complement.
    product : Out(2 * bits)      In the same cycle.

    Timing: combinational. For 16 bits nine rows, so four levels of adders; the multiplier that Yosys makes of ``*`` of 17
    bits has ten rows and five levels.
    Source: A. D. Booth, Q. J. Mech. Appl. Math. 4 (1951); O. L. MacSorley, Proc. IRE 49 (1961); constants for the signs as
    in M. D. Ercegovac and T. Lang, Digital Arithmetic (2004), 4.
    """

    def __init__(self, bits: int) -> None:
        if bits % 2 or bits < 4:
            raise ValueError(f"a factor has an even number of bits, 4 or more, not {bits}")
        self.bits = bits
        super().__init__({"a": In(bits), "digits": In(digits(bits)), "is_signed": In(1), "product": Out(2 * bits)})

    @property
    def module_name(self) -> str:
        return f"multiplier_{self.bits}"

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rows = self._rows(m)
        level = 0
        while len(rows) > 2:
            full = len(rows) - len(rows) % 3
            following: list[Value] = []
            for at in range(0, full, 3):
                following += self._saved(m, rows[at:at + 3], f"{level}_{at // 3}")
            rows, level = following + rows[full:], level + 1
        m.d.comb += self.product.eq(rows[0] + rows[1])
        return m

    def _rows(self, m: Module) -> list[Value]:
        """The rows, each as wide as the product."""
        bits, wide = self.bits, Cat(self.a, self.a[-1] & self.is_signed)
        rows: list[Value] = []
        inverts: Value = Const(0, 1)
        for n in range(bits // 2):
            once, twice, minus = (self.digits[name][n].replicate(bits + 2) for name in ("once", "twice", "minus"))
            multiple, row = Signal(bits + 2, name=f"multiple{n}"), Signal(2 * bits, name=f"row{n}")
            m.d.comb += multiple.eq((Cat(wide, wide[-1]) & once | wide << 1 & twice) ^ minus)
            sign = multiple[-1]
            signs = Cat(~sign, Const(1, 1)) if n else Cat(sign, sign, ~sign)
            m.d.comb += row.eq(_behind(inverts, n) | Cat(multiple[:-1], signs) << 2 * n)
            rows.append(row)
            inverts = self.digits.minus[n]
        last = Signal(2 * bits, name=f"row{bits // 2}")
        m.d.comb += last.eq(_behind(inverts, bits // 2) | (self.a & self.digits.top.replicate(bits)) << bits)
        return [*rows, last]

    def _saved(self, m: Module, rows: list[Value], name: str) -> list[Value]:
        """Two rows of the same sum as three."""
        x, y, z = rows
        sums, carries = Signal(2 * self.bits, name=f"sums{name}"), Signal(2 * self.bits, name=f"carries{name}")
        m.d.comb += [sums.eq(x ^ y ^ z), carries.eq((x & y | z & (x | y)) << 1)]
        return [sums, carries]


def _behind(inverts: Value, n: int) -> Value:
    """What row n - 1 asks for, in row n, below its first bit."""
    return inverts << max(2 * n - 2, 0)
