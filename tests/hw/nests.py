"""Loop nests as NumPy sees them, and as the registers of an address generator take them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st


@dataclass(frozen=True)
class Nest:
    """Loops, innermost first: iterations, and the distance between the addresses of two iterations."""

    extents: tuple[int, ...]
    pitches: tuple[int, ...]
    start: int

    @property
    def size(self) -> int:
        return int(np.prod(self.extents))

    def addresses(self, limit: int) -> np.ndarray:
        """Every address in order, in a memory of `limit` bytes that wraps around."""
        grid = np.indices(self.extents[::-1]).reshape(len(self.extents), -1)[::-1]
        return (self.start + np.array(self.pitches) @ grid) % limit

    def registers(self, levels: int) -> list[tuple[int, int]]:
        """(extent - 1, stride) of every loop register; loops that the nest does not have are all zero.

        A stride goes from the last address of the inner loops to the first of the next iteration.
        """
        pairs, travelled = [], 0
        for extent, pitch in zip(self.extents, self.pitches, strict=True):
            pairs.append((extent - 1, pitch - travelled))
            travelled += (extent - 1) * pitch
        return pairs + [(0, 0)] * (levels - len(pairs))


@st.composite
def nests(draw: st.DrawFn, levels: int, limit: int, most: int = 200) -> Nest:
    """Nests of up to `most` iterations in a memory of `limit` bytes; addresses are even, pitches of either sign."""
    extents: list[int] = []
    for _ in range(draw(st.integers(1, levels))):
        room = most // int(np.prod(extents, dtype=int))
        extents.append(draw(st.integers(1, max(1, min(room, 9)))))
    pitches = [2 * draw(st.integers(-limit // 4, limit // 4) | st.integers(-4, 4)) for _ in extents]
    return Nest(tuple(extents), tuple(pitches), 2 * draw(st.integers(0, limit // 2 - 1)))


@st.composite
def nests_within(draw: st.DrawFn, levels: int, limit: int, most: int = 200) -> Nest:
    """Nests of up to `most` iterations that never leave a memory of `limit` bytes."""
    extents: list[int] = []
    pitches: list[int] = []
    low = high = 0
    for _ in range(draw(st.integers(1, levels))):
        extent = draw(st.integers(1, max(1, min(most // int(np.prod(extents, dtype=int)), 9))))
        far = (limit // 2 - 1 - (high - low) // 2) // max(1, extent - 1)
        pitch = 2 * draw(st.integers(-far, far) | st.integers(max(-4, -far), min(4, far)))
        reach = (extent - 1) * pitch
        low, high = low + min(0, reach), high + max(0, reach)
        extents.append(extent)
        pitches.append(pitch)
    return Nest(tuple(extents), tuple(pitches), 2 * draw(st.integers(-low // 2, limit // 2 - 1 - high // 2)))
