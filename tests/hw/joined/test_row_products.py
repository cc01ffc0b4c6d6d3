"""Streams of scanners and a joiner of the CGRA feed a spatial array, and a writer of the CGRA takes its sums."""

from functools import cache

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx import spatial as sp
from sardonyx.hw.arch.elastic import Elastic
from sardonyx.hw.joined.row_products import RowProducts
from sardonyx.sim.rtl.bench import Bench

LINES, LANES, MOST = 32, 4, 64


@cache
def array(rows: int = 3) -> Elastic:
    i, k = sp.indices("i k")
    B, C = sp.inputs("B C")
    found = sp.Design(sp.functionality("x(i) = B(i,k) * C(i,k)"), sp.Transform([[1, 0], [1, 1]]), {"i": rows, "k": 100},
                      sparsity=[sp.skip(k, where=B(i, k) == 0), sp.skip(k, where=C(i, k) == 0)]).elastic
    assert found is not None
    return found


@cache
def bench() -> Bench:
    return Bench(RowProducts(array(), LINES))


def blocks(matrix: scipy.sparse.csr_array) -> "tuple[list[int], list[int]]":
    """The words of a level of segments and coordinates, and those of values."""
    matrix.sort_indices()
    level = [len(matrix.indptr), *matrix.indptr.tolist(), len(matrix.indices), *matrix.indices.tolist()]
    return level, [matrix.nnz, *(int(value) % (1 << 16) for value in matrix.data)]


@settings(max_examples=25)
@given(tensors=st.integers(1, 3), rows=st.integers(1, 8), density=st.sampled_from((0, 0.2, 0.5)), seed=st.integers(0, 1 << 30),
       stalls=st.none() | st.integers(1, 1 << 30))
def test_products_of_rows_are_those_of_scipy(tensors: int, rows: int, density: float, seed: int, stalls: "int | None") -> None:
    random, streams, wanted = np.random.default_rng(seed), {name: list[int]() for name in (
        "rows", "b_level", "b_values", "c_level", "c_values")}, list[int]()
    for _ in range(tensors):
        b, c = (scipy.sparse.csr_array(random.integers(-200, 200, (rows, 13)) * (random.random((rows, 13)) < density))
                for _ in range(2))
        streams["rows"] += [2, 0, rows, 0]
        for name, matrix in (("b", b), ("c", c)):
            level, values = blocks(matrix)
            streams[f"{name}_level"] += level
            streams[f"{name}_values"] += values
        wanted += [rows, *((b * c).sum(axis=1) % (1 << 16)).tolist()]
    # Sums leave when all are there; meanwhile nothing moves outside.
    found = bench().run(streams, stalls=stalls, idle=2000)
    assert found.outputs["x"] == wanted and not found.status["fault"] and not found.left


def test_a_row_of_each_side_takes_a_cycle_a_coordinate() -> None:
    ones = scipy.sparse.csr_array(np.ones((6, 10), int))
    level, values = blocks(ones)
    found = bench().run({"rows": [2, 0, 6, 0], "b_level": level, "b_values": values, "c_level": level, "c_values": values},
                        idle=200)
    assert found.outputs["x"] == [6, *[10] * 6]
    # Operands are there when their last word is; then come 60 coordinates and 6 ends.
    assert found.cycles <= len(level) + 66 + 60


@pytest.mark.parametrize("words", [{"b_level": [3, 0, 2, 1, 2, 0, 1]}, {"c_values": [MOST + 1, *range(MOST + 1)]}])
def test_what_is_no_block_or_does_not_fit_is_a_fault(words: "dict[str, list[int]]") -> None:
    level, values = blocks(scipy.sparse.csr_array(np.ones((2, 3), int)))
    fills = {"rows": [2, 0, 2, 0], "b_level": level, "b_values": values, "c_level": level, "c_values": values}
    assert bench().run(fills | words).status["fault"]
