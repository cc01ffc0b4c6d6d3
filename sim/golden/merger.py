"""What merging means, on arrays: every coordinate that any fiber has, once, in order, with the sum of the values there.

Source: Stellar VI-D; SpArch and GAMMA merge partial matrices so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]
# Coordinates, rising, and a value for each.
Fiber: TypeAlias = tuple[Ints, Ints]


def merged(fibers: Sequence[Fiber], bits: int) -> Fiber:
    """The sum of fibers, each of coordinates and values of shape [n]; values are two's complement of so many bits and wrap.

    A coordinate stays where its values add up to 0: what is merged is not looked at.
    """
    coordinates = np.concatenate([fiber[0] for fiber in fibers])
    values = np.concatenate([fiber[1] for fiber in fibers])
    found, of = np.unique(coordinates, return_inverse=True)
    sums = np.zeros(len(found), np.int64)
    np.add.at(sums, of, values)
    half = 1 << bits - 1
    return found, (sums + half) % (1 << bits) - half
