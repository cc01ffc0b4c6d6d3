"""Runs of spatial arrays: results of NumPy, and those that an engine gives on the streams of an array.

Operands and results have an axis for operations in front here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .compiler.lang import sparsity as skips
from .compiler.lang.recurrence import Recurrences
from .compiler.spatial.prune import Pruned
from .hw.arch.elastic import Elastic
from .hw.arch.private_buffer import PrivateBuffer
from .hw.arch.spatial import Shaped, Spatial
from .hw.arch.written import Written
from .runtime.data import fibers, ports
from .runtime.data.groups import grouped
from .runtime.data.private_buffers import filled
from .runtime.data.written import read
from .sim import spatial as engines
from .sim.golden.spatial import evaluate


def golden(functionality: Recurrences, bounds: Mapping[str, int], given: Mapping[str, np.ndarray],
           count: int) -> dict[str, np.ndarray]:
    """The results of so many operations."""
    found = [evaluate(functionality, bounds, {name: array[at] for name, array in given.items()}) for at in range(count)]
    return {name: np.stack([each[name] for each in found]) for name in found[0]}


def packed(pruned: Pruned, operands: Sequence[Shaped], given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Operands as the array takes them: under an optimistic skip, what is not 0 and where in its group it was.

    operands: of the array in step; the one that is not given is these places.
    """
    skip, found = pruned.packed, dict(given)
    if skip is not None:
        (asked,) = skips.zeros(skip.where)
        axis = 1 + [str(at) for at in asked.at].index(skip.indices[0])
        values, places = grouped(found[asked.name], axis, skip.keep, skip.of)
        at = [each.name for each in operands if each.name not in found]
        found |= {asked.name: values, **dict.fromkeys(at, places)}
    return found


@dataclass(frozen=True)
class Streamed:
    """An array with its private buffers and those of results, on an engine.

    engine: tokens or rtl.  stalls: of rtl, a seed of random stalls at all ports.
    """

    array: Spatial | Elastic
    private: tuple[PrivateBuffer, ...]
    written: tuple[Written, ...]
    engine: str
    stalls: int | None

    def results(self, given: Mapping[str, np.ndarray], taken: Mapping[str, np.ndarray], count: int,
                lengths: Sequence[int] | None) -> tuple[dict[str, np.ndarray], int]:
        """What the streams give, and the cycles.

        taken: the operands as `packed`.  lengths: launches of each operation, where they may end early.
        """
        fills = {name: words for buffer in self.private for name, words in filled(buffer, taken[buffer.tensor]).items()}
        held = engines.Held(self.private, fills, count, self.written)
        is_tokens = self.engine == "tokens"
        if isinstance(self.array, Elastic):
            pairs = fibers.fed(self.array, given)
            gave = (engines.run_elastic_tokens(self.array, pairs, held) if is_tokens
                    else engines.run_elastic_rtl(self.array, pairs, self.stalls, held))
            found = fibers.collected(self.array, gave.outputs, count)
            return found | {each.tensor.name: read(each, gave.arrays) for each in self.written}, gave.cycles
        words = ports.fed(self.array, taken, lengths)
        ran = (engines.run_tokens(self.array, words, count, held) if is_tokens
               else engines.run_rtl(self.array, words, count, self.stalls, held))
        return ports.collected(self.array, ran.outputs, count, lengths), ran.cycles
