"""From which sparsity on a sparse product of matrices takes fewer cycles than a dense one.

The product of two random matrices of 512 x 512 with as many nonzeros each. Sparse: `onyx` with filter and arbiter in its PEs,
as many copies as gain, cycles of generated Verilog from start to done, every word compared. Dense: 256 products a cycle, those
of the spatial array of 16 x 16 PEs (`matmul_weight_stationary`), as busy as it was measured on layers of 16 rows or more
(`bench_spatial.py`); the machine of the sparse side is larger, and its own dense product reaches 15.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bench_sparse import COPIES, machine

import sardonyx
from sardonyx import api
from sardonyx.tensors.values import random_tensor, to_value

EXTENT, PRODUCTS, BUSY = 512, 256, 0.992
DENSE = round(EXTENT ** 3 / PRODUCTS / BUSY)    # Cycles.
SHARES = (0.999, 0.99, 0.95, 0.9, 0.88, 0.87, 0.86)     # Of places that are zero.


@dataclass(frozen=True)
class Point:
    """Cycles of the sparse product at a share of zeros."""

    zeros: float
    cycles: int

    @property
    def gain(self) -> float:
        return DENSE / self.cycles


def measure(shares: Sequence[float] = SHARES) -> Iterator[Point]:
    """The products, in the default order of loops: the choice of another one takes longer than it gains here."""
    for zeros in shares:
        operands: dict[str, Any] = {name: to_value(random_tensor((EXTENT, EXTENT), 1 - zeros, seed))
                                    for seed, name in enumerate("BC", 1)}
        found = sardonyx.einsum(api.MATRIX_PRODUCT, order="ijk", arch=machine(), **operands, **COPIES)
        yield Point(zeros, int(found.cycles or 0))


def crossing(points: Sequence[Point]) -> float:
    """The share of zeros, between two that were measured, at which both take as long."""
    below = min((point for point in points if point.gain >= 1), key=lambda point: point.gain)
    above = max((point for point in points if point.gain < 1), key=lambda point: point.gain, default=below)
    if above is below:
        return below.zeros
    return below.zeros + (above.zeros - below.zeros) * (below.gain - 1) / (below.gain - above.gain)
