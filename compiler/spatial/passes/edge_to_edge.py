"""Words enter at the edge of an array, and PEs hand them on to where they stay: a stream for a line of PEs.

Applies to a tensor of which each PE keeps one word in an operation, in lines that cost no time (`border` says when). It saves
the ports of all PEs of a line but one.

Source:  Stellar IV-D (feed-forward register files, ports at edges alone); Gemmini (weights are handed down the columns).
"""

from __future__ import annotations

from ....hw.arch.elastic import Elastic
from ....hw.arch.errors import many
from ....hw.arch.spatial import Spatial
from ..border import chains
from .verdict import Verdict

NAME = "edge to edge"


def tried(tensor: str, array: Spatial | Elastic) -> Verdict:
    """Whether a tensor enters by chains."""
    if isinstance(array, Elastic):
        return Verdict(NAME, False, "PEs take words whenever they come, not all in one step")
    lines = [chain.positions for chain in array.chains if chain.tensor == tensor]
    if not lines:
        return Verdict(NAME, False, chains(array)[1][tensor])
    return Verdict(NAME, True, f"{many(len(lines), 'stream')} in place of {sum(map(len, lines))}")
