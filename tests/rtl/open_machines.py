"""A small machine without registers on tracks, and what it copies in every simulator."""

from dataclasses import replace

import numpy as np
from machines import LEAST
from numpy.typing import NDArray

COPIER = replace(LEAST, name="open copier", columns=3, interconnect=replace(LEAST.interconnect, fifo="inputs"))


def blocks() -> list[NDArray[np.uint16]]:
    return [np.array([size, *np.random.default_rng(size).integers(0, 1 << 16, size)], np.uint16) for size in (17, 0, 1, 30)]
