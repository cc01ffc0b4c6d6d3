import numpy as np

from sardonyx.compiler.lang.einsum import parse
from sardonyx.compiler.sparse.tiling import tile
from sardonyx.tensors.coordinates import Coo
from sardonyx.tensors.values import random_tensor


def test_edges_that_are_good_only_where_all_but_one_are_small_are_found():
    mttkrp = parse("X(i,j) = B(i,k,l) * C(j,k) * D(j,l)", ("i", "k", "l", "j"))
    places = np.unravel_index(np.random.default_rng(1).choice(1000, 5, replace=False), (10, 10, 10))
    operands = {"B": Coo.make((10, 10, 10), np.stack(places, axis=1), np.ones(5, int)), "C": random_tensor((10, 10), 1.0, 1),
                "D": random_tensor((10, 10), 1.0, 2)}
    chosen = tile(mttkrp, operands, 1024, narrow=True)
    assert chosen.edges == {"i": 1, "k": 1, "l": 1, "j": 10} and len(chosen) == 5
