"""Booth's digits: a factor in base 4, and the lower half of a product as a sum of a row for each digit.

Source:  A. D. Booth, Q. J. Mech. Appl. Math. 4 (1951); O. L. MacSorley, Proc. IRE 49 (1961).
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Mux, Value
from amaranth.lib import data


def digits(bits: int) -> data.StructLayout:
    """The digits of a factor in base 4 as a multiplier takes them, bit i of each field for digit i: whether it is 1 or -1,
    whether it is 2 or -2, and whether it is negative; `top`: what is left of the top bit. All 0 is the factor 0."""
    return data.StructLayout({"once": bits // 2, "twice": bits // 2, "minus": bits // 2, "top": 1})


def recoded(factor: Value, is_signed: Value) -> Value:
    """The digits of a factor (Booth): -2 b[2i+1] + b[2i] + b[2i-1]. They read the top bit as that of a signed word; for others
    it weighs twice what is missing."""
    above, here, below = factor[1::2], factor[0::2], Cat(Const(0, 1), factor[1:-1:2])
    once = here ^ below
    return Cat(once, (above ^ here) & ~once, above & ~(here & below), factor[-1] & ~is_signed)


def low_product(a: Value, factor: Value) -> Value:
    """The lower half of a product, signed or not, of two words of the same even number of bits.

    A row is the digit times `a`, cut where the word ends; where the digit is negative it is inverted, and the 1 that makes ~x
    into -x stands in a row with those of the others.
    """
    bits = len(a)
    named = data.View(digits(bits), recoded(factor, Const(1, 1)))
    product: Value = Cat(Cat(minus, Const(0, 1)) for minus in named.minus)
    for n in range(bits // 2):
        multiple = Mux(named.once[n], a, 0) | Mux(named.twice[n], a << 1, 0)
        product = (product + ((multiple[:bits] ^ named.minus[n].replicate(bits)) << 2 * n))[:bits]
    return product
