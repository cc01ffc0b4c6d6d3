"""Parts of the CGRA around a spatial array: the sums of products of the rows of two matrices, back to back.

Streams bring a word a cycle each. All sums are compared with SciPy's.

Source: Onyx JSSC III-B and III-C; Stellar IV-B.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse

from sardonyx import spatial as sp
from sardonyx.hw.joined.row_products import RowProducts
from sardonyx.sim.rtl.bench import Bench

TENSORS, ROWS, COLUMNS, AT_ONCE, DENSITY = 20, 16, 100, 4, 0.3
# Lines of the memory of each level, of 4 words.
LINES = 512


@dataclass(frozen=True)
class Joined:
    """How many rows, nonzeros of both operands, coordinates that either has in a row, and cycles."""

    rows: int
    nonzeros: int
    coordinates: int
    cycles: int


def measure() -> Joined:
    """Multiply random matrices; AssertionError where sums are not SciPy's."""
    i, k = sp.indices("i k")
    B, C = sp.inputs("B C")
    array = sp.Design(sp.functionality("x(i) = B(i,k) * C(i,k)"), sp.Transform([[1, 0], [1, 1]]), {"i": AT_ONCE, "k": COLUMNS},
                      sparsity=[sp.skip(k, where=B(i, k) == 0), sp.skip(k, where=C(i, k) == 0)]).elastic
    assert array is not None, "values are skipped"
    random, wanted, nonzeros, coordinates = np.random.default_rng(0), list[int](), 0, 0
    streams: dict[str, list[int]] = {name: [] for name in ("rows", "b_level", "b_values", "c_level", "c_values")}
    for _ in range(TENSORS):
        pair = [scipy.sparse.csr_array(random.integers(-200, 200, (ROWS, COLUMNS)) * (random.random((ROWS, COLUMNS)) < DENSITY))
                for _ in range(2)]
        streams["rows"] += [2, 0, ROWS, 0]
        for name, matrix in zip("bc", pair, strict=True):
            streams[f"{name}_level"] += [ROWS + 1, *matrix.indptr.tolist(), matrix.nnz, *matrix.indices.tolist()]
            streams[f"{name}_values"] += [matrix.nnz, *(int(value) % (1 << 16) for value in matrix.data)]
            nonzeros += matrix.nnz
        coordinates += (abs(pair[0]) + abs(pair[1])).nnz
        wanted += [ROWS, *((pair[0] * pair[1]).sum(axis=1) % (1 << 16)).tolist()]
    found = Bench(RowProducts(array, LINES)).run(streams, idle=20_000)
    assert found.outputs["x"] == wanted and not found.left, "the sums are not SciPy's"
    return Joined(TENSORS * ROWS, nonzeros, coordinates, found.cycles)
