"""Functions of the language: what an expression may do with parts of it besides sums and products.

    relu(C(i,j) * d(j) - 3)      max(B(i,j), C(i,j))      B(i,j) * (B(i,j) > 7)      B(i,j) / C(i,j)

They are applied at every coordinate of the indices that their arguments have after their own sums, and what is absent is 0 for
them as for everything else. A result can only be sparse if zeros give 0, which `einsum.parse` checks of every use.

A quotient is rounded down, and 0 where it is divided by 0. So it is other than 0 only where both of its sides are, and its
coordinates are those of a product: what a divisor does not store divides nothing.

Source:  relu, abs, max and min are among the functions of Onyx's programs (JSSC IV-B); nonzero is the way to say that only the
         pattern of an operand counts (its kernel `masked_broadcast`). Quotients are those of NumPy's `floor_divide`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

# A function that is written as an operator between its arguments; `a < b` is read as `b > a`, `a != b` as `nonzero(a - b)`.
GREATER = ">"
# The quotient, written between its sides.
DIVIDE = "/"
# The sum over an index that is named, as in `sum(k, relu(B(i,k)))`; no function of values at one coordinate.
SUM = "sum"
# The largest value over an index that is named, as in `max(k, B(i,k))`; zeros that are not stored count.
MAX = "max"


@dataclass(frozen=True)
class Function:
    """A function of 16-bit integers.

    Parameters
    ----------
    name : str
    arguments : int       How many it takes.
    doc : str             What it gives of e, or of a and b.
    meaning : function    The same of Python integers, before it wraps at 16 bits.
    """

    name: str
    arguments: int
    doc: str
    meaning: Callable[..., int]


FUNCTIONS = {function.name: function for function in (
    Function("relu", 1, "e where it is above 0, else 0", lambda e: max(e, 0)),
    Function("abs", 1, "e without its sign; -32768 stays", abs),
    Function("sign", 1, "1 where e is above 0, -1 where it is below, else 0", lambda e: (e > 0) - (e < 0)),
    Function("nonzero", 1, "1 where e is not 0, else 0", lambda e: int(e != 0)),
    Function(MAX, 2, "the larger one", max),
    Function("min", 2, "the smaller one", min),
    Function(GREATER, 2, "1 where a is above b, else 0", lambda a, b: int(a > b)),
    Function(DIVIDE, 2, "a / b, rounded down; 0 where b is 0", lambda a, b: a // b if b else 0))}
NAMES = tuple(name for name in FUNCTIONS if name not in (GREATER, DIVIDE))
