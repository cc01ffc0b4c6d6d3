"""A sample of large operands: the nonzeros in chosen rows of tiles, and no others."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx.compiler.lang.einsum import parse
from sardonyx.compiler.sparse import sample
from sardonyx.compiler.sparse.normalize import normalize
from sardonyx.compiler.sparse.sample import Sample
from sardonyx.compiler.sparse.tiles import cut_one
from sardonyx.tensors.values import random_tensor


@pytest.mark.parametrize("text", ["X(i,j) = B(i,k) * C(k,j)", "X(i,j) = B(i,j) + C(i,j)", "x(i) = B(j,i) * c(j)"])
@settings(max_examples=20)
@given(extents=st.lists(st.integers(1, 60), min_size=3, max_size=3), edge=st.integers(1, 9), density=st.floats(0, 0.5),
       most=st.integers(1, 40), seed=st.integers(0, 99))
def test_a_sample_has_the_tiles_in_chosen_rows(text, extents, edge, density, most, seed):
    einsum = parse(text)
    sizes, edges = dict(zip(einsum.order, extents)), dict.fromkeys(einsum.order, edge)
    operands = {access.slot: random_tensor(tuple(sizes[index] for index in access.indices), density, seed + at)
                for at, access in enumerate(einsum.operands)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sample, "MOST", most)
        found = Sample.of(einsum, normalize(einsum), operands, sizes)
        tiles, times = found.cut(einsum, edges)
        again, _ = found.cut(einsum, edges)
    rows = {index: -(-sizes[index] // edge) for index in found.shares}
    there = {index: min(count, max(sample.LEAST_ROWS, -(-count // found.shares[index]))) for index, count in rows.items()}
    assert times == pytest.approx(np.prod([rows[index] / there[index] for index in rows]))
    for one, same, access in zip(tiles, again, einsum.operands, strict=True):
        whole = cut_one(access, operands[access.slot], edges)
        assert np.array_equal(one.coords, same.coords)
        kept = np.ones(len(whole.ids), bool)
        for index, count in rows.items():
            if index in access.indices:
                mode = access.indices.index(index)
                chosen = np.random.default_rng(0).choice(count, there[index], replace=False)
                kept &= np.isin(whole.ids[:, mode], chosen)
        assert np.array_equal(one.ids, whole.ids[kept]) and np.array_equal(one.counts, whole.counts[kept])
        assert np.array_equal(one.nnz[:-1], whole.nnz[:-1][kept])
        assert all(np.array_equal(one.tile(at).coords, whole.tile(number).coords) and
                   np.array_equal(one.tile(at).values, whole.tile(number).values)
                   for at, number in enumerate(np.flatnonzero(kept).tolist()))
