"""Which load streams of a program are looked up where other operands say, from the first word of these on.

    y(i) = A(i,j) * x(j), A by rows that are compressed, x dense and located     x_vals

All others are taken in the order in which their words come, at least once.

Needs:   statements as they are lowered.
Gives:   names of load streams.
"""

from __future__ import annotations

from ..ir.mapped import VALUES, level_name
from .fuse import Fused
from .normalize import begun, nested


def looked_up(fused: Fused) -> frozenset[str]:
    """The streams of operands whose outermost level is located."""
    root = fused.nest.apart()
    nests = [nest.einsum for nest in (*root.walk(), root)]
    slots = frozenset[str]().union(*(begun(nested(einsum)[0], einsum) for einsum in nests))
    return frozenset(level_name(access.slot, level) for access in fused.einsum.operands if access.slot in slots
                     for level in (*range(len(access.stored)), VALUES))
