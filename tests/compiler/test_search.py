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


def test_edges_of_which_few_items_remain_are_met_though_tiles_of_two_operands_meet_more_often():
    random = np.random.default_rng(1)
    places = np.stack(np.unravel_index(random.choice(100 ** 3, 10, replace=False), (100,) * 3), axis=1)
    operands = {"B": Coo.make((100,) * 3, places, np.ones(10, np.int64)),
                **{name: random_tensor((100, 100), 0.1, seed) for name, seed in (("C", 2), ("D", 3))}}
    chosen = tile(parse("X(i,j) = B(i,k,l) * C(j,k) * D(j,l)", "iklj"), operands, 1024, narrow=True)
    assert [chosen.edges[index] for index in "klj"] == [1, 1, 1] and len(chosen) < 20


def test_edges_of_which_one_is_whole_and_another_one_short_are_looked_at_from_whole_ones():
    """A slice of a tensor: tiles of few rows and all columns are as fast as columns alone, and fewer."""
    random, shape = np.random.default_rng(6), (40, 30, 25)
    coords = random.permutation(np.unique((random.power(0.4, (6000, 3)) * shape).astype(int), axis=0))[:2000]
    operands = {"B": Coo.make(shape, coords, np.ones(2000, int)), "c": Coo.make((25,), [[14]], [3])}
    chosen = tile(parse("X(i,j) = B(i,j,k) * c(k)"), operands, 1024, narrow=True)
    columns = tile(parse("X(i,j) = B(i,j,k) * c(k)"), operands, 1024, {"j": 1, "k": 1}, narrow=True)
    assert chosen.edges["j"] == 30 and 2 * len(chosen) < len(columns)
