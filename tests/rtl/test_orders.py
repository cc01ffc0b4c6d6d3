"""Sums around three indices of the result in generated Verilog: in sub-tiles of one coordinate, with the words of NumPy."""

from itertools import permutations

import numpy as np
import pytest
from machines import KERNELS

import sardonyx

RANDOM = np.random.default_rng(5)
B, C, D = (RANDOM.integers(-3, 4, shape) * (RANDOM.random(shape) < 0.3) for shape in ((7, 5, 11), (5, 3), (5, 11)))
MTTKRP = "X(i,j,l) = B(i,k,j) * C(k,l) * D(k,j)"
RIGHT = np.einsum("ikj,kl,kj->ijl", B, C, D)


@pytest.mark.parametrize("order", [order for order in permutations("ijlk") if order[0] == "k"][::2])
def test_orders_with_a_sum_around_three_indices(order):
    found = sardonyx.einsum(MTTKRP, B=B, C=C, D=D, arch=KERNELS, engine="rtl-full", order=order)
    edges = found.report["tile_edge"]
    assert np.array_equal(found.value, RIGHT) and (edges["k"] == 1 or min(edges[index] for index in "ijl") == 1)


def test_a_schedule_of_such_an_order():
    found = sardonyx.einsum(MTTKRP, B=B, C=C, D=D, arch=KERNELS, engine="rtl-full", schedule="reorder(k,i,j,l) split(j,4)")
    assert np.array_equal(found.value, RIGHT) and found.report["tile_edge"] == {"k": 5, "i": 1, "j": 4, "l": 3}
