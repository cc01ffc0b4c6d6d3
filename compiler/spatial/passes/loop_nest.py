"""What all ports of a bank take, one after the other, is a loop nest: its counters are the request, of constants alone.

Applies where the addresses of an operation, with the ports to which they go, have constant distances, loop by loop. It saves
the table of them, or their search. A table has an entry for each run of steps whose distances are constant.

Source:  Stellar IV-C and Listing 6 (requests with hardcoded parameters), IV-D (constant and incrementing coordinates).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....hw.arch.errors import many
from ....hw.arch.private_buffer import MOST_LOOPS, Loop, Run
from ..loops import loops, runs
from .verdict import Verdict

NAME = "loop nest"


def tried(places: Sequence[int], sinks: Sequence[int]) -> tuple[tuple[Loop, ...] | None, Verdict]:
    """The loops, innermost first, of addresses and of the ports to which they go; None where there is no such nest."""
    nest = loops(np.array([*zip(places, sinks)], np.int64))
    if nest is None or len(nest) >= MOST_LOOPS:
        return None, Verdict(NAME, False, f"the order is no nest of {MOST_LOOPS - 1} loops")
    made = tuple(Loop(extent, stride, hop) for extent, (stride, hop) in nest)
    if not made:
        return made, Verdict(NAME, True, "it is always the same")
    bits = sum(loop.extent.bit_length() for loop in made)
    return made, Verdict(NAME, True, f"{many(len(made), 'loop')} of {many(bits, 'bit')} in place of a table of {len(places):,}")


def table(places: Sequence[int], sinks: Sequence[int]) -> tuple[tuple[Run, ...], Verdict]:
    """The runs of an order that is no nest."""
    made = tuple(Run(places[at], sinks[at], extent, stride, hop) for at, extent, (stride, hop)
                 in runs(np.array([*zip(places, sinks, strict=True)], np.int64)))
    return made, Verdict(NAME, False, f"the order is no nest of {MOST_LOOPS - 1} loops, but a table of "
                                      f"{many(len(made), 'run')}, of {many(len(places), 'step')}")
