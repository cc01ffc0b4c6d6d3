"""Ports whose elements are known when hardware is made have no comparators, and nothing stores coordinates for them.

Applies where no value says which element a port takes. Else elements are asked for by the coordinates that another operand
gives: of a dense operand the coordinate is part of an address (`GatherBank`). Where zeros are not stored it is compared with
those of all elements of a tensor, the fallback of all passes (`Matcher`): one comparator for each, which ports share.

Source:  Stellar IV-D (constant output coordinates: comparators fold away).
"""

from __future__ import annotations

from ....hw.arch.errors import many
from ....hw.arch.private_buffer import DENSE
from ..buffer import Stored
from ..taken import Taken
from .verdict import Verdict

NAME = "constant coordinates"


def tried(stored: Stored, taken: Taken) -> Verdict:
    """Whether no element is searched for."""
    ports = many(len(taken.sinks), "port")
    if not taken.asks:
        return Verdict(NAME, True, f"what {ports} take is known, so that nothing is compared")
    givers = ", ".join(dict.fromkeys((*taken.asks, *taken.others, *taken.rows)))
    by_address = "level by level" if stored.is_chain else "by address"
    how = by_address if stored.kind == DENSE or taken.whole else f"by {stored.buffer.words} comparators"
    return Verdict(NAME, False, f"{ports} ask for what {givers} find, each in turn, {how}")
