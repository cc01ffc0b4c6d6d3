"""Every sub-tile is dealt once, in the order that was asked for, and the copies have about as much to do."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.compiler.lang.einsum import parse
from sardonyx.compiler.sparse.copies import Copies
from sardonyx.compiler.sparse.estimate import cycles, each_cycles
from sardonyx.compiler.sparse.normalize import normalize
from sardonyx.compiler.sparse.tiling import tile
from sardonyx.options import DISPATCH as OPTIONS
from sardonyx.runtime.data.dispatch import DISPATCH, EASY, EXPECTED, FILL, ORDER, SORTED, balance, deal, groups_needed
from sardonyx.runtime.data.sub_tiles import Work
from sardonyx.tensors.coordinates import Coo
from sardonyx.tensors.values import random_tensor

PRODUCT = parse("X(i,j) = B(i,k) * C(k,j)", "ijk", {"C": "ss10"})


def tiling(size: int = 40, density: float = 0.1, edge: int = 8, seed: int = 0):
    """Sub-tiles of a product whose rows are fuller to the end."""
    b, c = (random_tensor((size, size), density, seed + number) for number in (0, 1))
    keep = np.random.default_rng(seed).integers(0, size, b.nnz) < b.coords[:, 0]
    return tile(PRODUCT, {"B": Coo(b.shape, b.coords[keep], b.values[keep]), "C": c}, 1024, edge)


def groups(sizes: list[int]) -> Copies:
    """Groups of copies of these sizes."""
    ends = np.cumsum(sizes).tolist()
    return Copies(tuple(tuple(range(end - size, end)) for size, end in zip(sizes, ends, strict=True)))


@given(how=st.sampled_from(DISPATCH), sizes=st.lists(st.integers(1, 4), min_size=1, max_size=4), seed=st.integers(0, 50))
def test_every_sub_tile_is_dealt_once_to_a_copy_of_its_group(how, sizes, seed):
    work, copies = tiling(seed=seed), groups(sizes)
    found = deal(work, copies, how)
    items = np.concatenate([each.reshape(-1) for each in found.items])
    assert sorted(items[items != FILL].tolist()) == list(range(len(work)))
    for rounds, chosen, group in zip(found.items, found.copies, copies.groups, strict=True):
        assert rounds.shape == chosen.shape == (found.rounds, len(group))
        assert set(chosen.reshape(-1).tolist()) <= set(group)
        flat = rounds.reshape(-1)
        assert (np.diff((flat == FILL).astype(int)) >= 0).all(), "empty sub-tiles come last"
    assert 0 < balance(found.loads) <= 1


@pytest.mark.parametrize("copies", [1, 2, 3, 7])
def test_in_order_a_round_has_the_next_sub_tile_for_every_copy(copies):
    work = tiling()
    items = np.concatenate(deal(work, groups([1] * copies), ORDER).items, axis=1).reshape(-1)
    assert items[:len(work)].tolist() == list(range(len(work))) and (items[len(work):] == FILL).all()


def test_sorted_a_round_has_sub_tiles_of_about_one_size():
    work = tiling()
    found = np.concatenate(deal(work, groups([2, 1]), SORTED).items, axis=1).reshape(-1)
    sizes = [sum(each.nnz for each in work.operands(item).values()) for item in found[found != FILL].tolist()]
    assert sizes == sorted(sizes, reverse=True)


@given(copies=st.integers(1, 6), seed=st.integers(0, 50))
def test_by_expected_cycles_no_copy_has_more_than_list_scheduling_allows(copies, seed):
    work = tiling(seed=seed)
    each = each_cycles(normalize(PRODUCT), work)
    found = deal(work, groups([1] * copies), EXPECTED)
    assert found.loads.sum() == pytest.approx(each.sum())
    assert found.loads.max() <= each.sum() / copies + (1 - 1 / copies) * each.max() + 1e-6


def test_the_estimate_of_all_sub_tiles_is_nearly_the_sum_of_each():
    work = tiling()
    # Stages of different sub-tiles overlap, and a launch is filled and drained.
    assert cycles(normalize(PRODUCT), work) == pytest.approx(each_cycles(normalize(PRODUCT), work).sum(), rel=0.3)



def test_no_sub_tiles_are_no_rounds():
    empty = tile(PRODUCT, {"B": Coo.empty((5, 5)), "C": Coo.empty((5, 5))}, 1024, 2)
    for how in DISPATCH:
        found = deal(empty, groups([2, 1]), how)
        assert found.rounds == 0 and balance(found.loads) == 1


def test_the_options_name_every_way_to_deal():
    assert tuple(OPTIONS) == DISPATCH


def test_groups_are_as_many_as_keep_links_from_being_waited_for():
    work = Work(tiling())
    for copies in (1, 2, 7, 60):
        groups = groups_needed(work, copies)
        assert 1 <= groups <= copies
        words = work.busiest / (work.cycles() / copies)      # a cycle, of one link
        assert words / groups <= EASY or groups == copies
        assert groups == 1 or words / (groups - 1) > EASY
