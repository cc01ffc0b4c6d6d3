"""Dense levels of a result whose coordinates are counted, as the loops of operands may miss some.

    x(i) = B(i,j) * c(j)    B by compressed rows: i is united with all there are, which a scanner of the level of x counts
                            B by dense rows: the loop over i has them all

Source:  ours.
"""

from __future__ import annotations

from sardonyx.compiler.lang.einsum import Einsum
from sardonyx.compiler.lang.expr import Access

from .normalize import Node, Product, live, nested


def counted(einsum: Einsum) -> int:
    """How many dense levels of the result are counted, of the outermost ones that are looped over (`Einsum.framed`)."""
    einsum, _ = einsum.apart        # A sum that is kept has the coordinates that occur, whatever its operands have.
    outermost = einsum.framed == 1 and einsum.nest[:1] == einsum.result.stored[:1] and not einsum.accumulated
    return 0 if outermost and everywhere(nested(einsum)[0], einsum.nest[0]) else einsum.framed


def everywhere(part: Node, index: str) -> bool:
    """Whether the loop over an index, the outermost one, meets all its coordinates."""
    if isinstance(part, Access):
        return index in part.stored and part.format.is_dense(part.stored.index(index))
    if isinstance(part, Product):
        here = [each for each in part.factors if index in live(each)]
        return bool(here) and all(everywhere(each, index) for each in here)
    return any(everywhere(term, index) for _, term in part.terms)
