"""Reproducible stalls: for sources and sinks of tokens, and as pause generators of the buses of cocotbext-axi."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import repeat

from ..hw.arch.errors import UserError


def stalls(seed: int, rate: float = 0.3) -> Iterator[bool]:
    """Cycle by cycle whether to pause: the same for the same seed, endless.

    rate: share of the cycles that pause, 0 to below 1.
    """
    if not 0 <= rate < 1:
        raise UserError(f"a rate of {rate} is no share of the cycles after which something still moves", "stalls",
                        "give a number from 0 to below 1")
    draw = random.Random(seed)
    return (draw.random() < rate for _ in repeat(None))
