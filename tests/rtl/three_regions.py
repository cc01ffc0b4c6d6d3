"""A machine of three regions of two columns, and blocks of words that programs in them pass on."""

from dataclasses import replace

import numpy as np
from machines import LEAST

from sardonyx.runtime.session import Session

# Three regions of two columns.
THREE = replace(LEAST, name="three", columns=6, regions=3)
STATIC = replace(THREE, name="walls of words", interconnect=replace(THREE.interconnect, fifo="none"))
RINGED = replace(THREE, name="walls of the ring", glb=replace(THREE.glb, ring=3))
PART = replace(LEAST, name="part")
START, STOP, CONFIGURE = 1, 2, 4
BLOCK = np.array([20, *range(1, 21)], np.uint16)


def blocks(count: int, seed: int) -> "list[dict[str, np.ndarray]]":
    draw = np.random.default_rng(seed)
    return [{"a_vals": np.array([size, *draw.integers(0, 1 << 16, size)], np.uint16)} for size in draw.integers(1, 30, count)]


def stored(session: Session, region: int) -> "tuple[list[list[int]], list[int]]":
    """Words and cycles of the launches of a region."""
    found = session.wait(region)
    return [each["b_vals"].tolist() for one in found for each in one.stored], [one.cycles for one in found]
