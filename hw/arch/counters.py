"""Performance counters of a tile: the events that are counted, and the registers that hold the counts.

One schema of events for all that counts them: the hardware (`hw/tile/counters.py`), its model (`sim/model/counters.py`), the
token model by the clock (`sim/model/tokens/watch.py`) and what the host reads (`runtime/counters.py`).

Source:  what a tile of an elastic array can do in a cycle: move tokens, wait for one, or wait for room (Onyx JSSC III-D).
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Annotated

from .check import Whole, check
from .config import STATUS_REGISTER, WORD_BITS, ConfigMap, ConfigSet, Field

# The first register of the counts, one for each event; a write to it clears all of them. The status is the last register.
COUNTER_REGISTER = STATUS_REGISTER - 0xF

_COUNT = Whole(0, (1 << WORD_BITS) - 1)


def _event(doc: str) -> int:
    """A count that begins at 0, and what is counted."""
    return field(default=0, metadata={"doc": doc})


@dataclass(frozen=True)
class Counts:
    """How often events happened in a tile; where a counter is full, that often or more.

    busy + starved + blocked: the cycles from the first token to the last, summed over launches.
    """

    tokens: Annotated[int, _COUNT] = _event("tokens that entered or left the core")
    busy: Annotated[int, _COUNT] = _event("cycles in which one or more did")
    starved: Annotated[int, _COUNT] = _event(
        "others, between the first and the last of a launch, with no output that waits to be taken")
    blocked: Annotated[int, _COUNT] = _event(
        "others, between the first and the last of a launch, with an output that waits to be taken")

    def __post_init__(self) -> None:
        check(self, "counts")

    def __add__(self, other: Counts) -> Counts:
        """Both, as far as a register holds them."""
        return Counts(*(min(getattr(self, event) + getattr(other, event), _COUNT.high) for event in EVENTS))


COUNTERS = ConfigSet("counters", *(Field(each.name, WORD_BITS, each.metadata["doc"]) for each in fields(Counts)))
EVENTS = tuple(COUNTERS.fields)
COUNTER_MAP = ConfigMap((COUNTERS,))
