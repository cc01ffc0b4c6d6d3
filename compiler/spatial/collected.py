"""Find the order in which results leave an array in step, as a loop nest over its ports.

The order is proved, as in front of an array: the elements of a result, in the order of its dimensions or of some permutation of
them, have to take the words of every port in the order in which they leave it. A buffer behind each port then needs no address.

Input:   a `Spatial`, one of its results.
Output:  Collected.
Errors:  UserError for a result of which no order of its dimensions is such a nest.
Source:  Stellar IV-D (order of an array against that of a buffer), Fig. 13.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np

from ...hw.arch.accelerator import Collected
from ...hw.arch.errors import UserError
from ...hw.arch.private_buffer import MOST_LOOPS, Loop
from ...hw.arch.spatial import Shaped, Spatial
from .loops import loops


def collected(spatial: Spatial, result: Shaped) -> Collected:
    """The order of a result, that of its dimensions if it can be."""
    ports = [port for port in spatial.outputs if port.tensor == result.name]
    counts = {len(port.words) for port in ports}
    if len(counts) > 1:
        raise UserError(f"ports of {result.name} give {min(counts)} to {max(counts)} words", f"result {result.name}",
                        "choose a transform under which each port has as many, as one whose rows are indices")
    places = np.array([(*word.element, at, nth) for at, port in enumerate(ports) for nth, word in enumerate(port.words)])
    dimensions = len(result.shape)
    for order in permutations(range(dimensions)):
        found = places[np.lexsort(tuple(places[:, dimension] for dimension in reversed(order)))]
        nths = [found[found[:, -2] == at, -1] for at in range(len(ports))]
        if any((np.diff(each) < 0).any() for each in nths):
            continue
        nest = loops(found[:, -2:-1])
        if nest is not None and len(nest) < MOST_LOOPS:
            made = tuple(Loop(extent, 0, hop) for extent, (hop,) in nest)
            return Collected(result, order, tuple(port.name for port in ports), counts.pop(), int(found[0, -2]), made)
    raise UserError(f"ports give the elements of {result.name} in no order of its dimensions", f"result {result.name}",
                    "choose another transform")
