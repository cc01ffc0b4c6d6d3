"""What is taken in another order than it is stored in is read so, by the strides of the request.

Applies where addresses do not rise. No register turns a tensor around: a memory gives any address in the same time.

Source:  Stellar IV-D (perpendicular outputs: an array's order becomes that of a buffer). Departure: strides, not registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ....hw.arch.private_buffer import Loop
from .verdict import Verdict

NAME = "transpose"


def tried(places: Sequence[int], made: Sequence[Loop]) -> Verdict:
    """Whether strides turn a tensor around, or a table does; places: the addresses in the order in which they are taken."""
    if all(a <= b for a, b in pairwise(places)):
        return Verdict(NAME, False, "it is taken as it is stored")
    if not made:
        return Verdict(NAME, True, "by the addresses of a table, without a register")
    strides = ", ".join(str(loop.stride) for loop in reversed(made))
    return Verdict(NAME, True, f"by strides of {strides}, without a register")
