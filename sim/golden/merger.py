"""What merging means, on arrays: every coordinate that any fiber has, once, in order, with the sum of the values there, or
the largest, say.

Source: Stellar VI-D; SpArch and GAMMA merge partial matrices so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...hw.arch.reduction import ADD, ALL, ANY, LARGEST, SMALLEST, TIMES, TRUTHS

Ints: TypeAlias = NDArray[np.int64]
# Coordinates, rising, and a value for each.
Fiber: TypeAlias = tuple[Ints, Ints]


# Of truths the values are 0 and 1.
REDUCED: dict[str, np.ufunc] = {ADD: np.add, TIMES: np.multiply, LARGEST: np.maximum, SMALLEST: np.minimum, ALL: np.minimum,
                                ANY: np.maximum}


def merged(fibers: Sequence[Fiber], bits: int, reduction: str = ADD) -> Fiber:
    """The sum of fibers, or what else a reduction makes of values that are there, each of coordinates and values of shape [n];
    values are two's complement of so many bits and wrap.

    A coordinate stays where its values add up to 0: what is merged is not looked at.
    """
    coordinates = np.concatenate([fiber[0] for fiber in fibers])
    values = np.concatenate([fiber[1] for fiber in fibers])
    found, of = np.unique(coordinates, return_inverse=True)
    if reduction in TRUTHS:
        values = (values != 0).astype(np.int64)
    met = np.zeros(len(found), np.int64)
    # The values of a coordinate one behind the other; where each begins.
    order = np.argsort(of, kind="stable")
    if len(found):
        # Products wrap in 64 bits, of which all lower ones are right.
        met = REDUCED[reduction].reduceat(values[order], np.searchsorted(of[order], np.arange(len(found))))
    half = 1 << bits - 1
    return found, (met & (1 << bits) - 1 ^ half) - half
