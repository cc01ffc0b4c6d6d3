import numpy as np
import pytest

from sardonyx.compiler.lang.einsum import parse
from sardonyx.compiler.sparse.tiling import tile
from sardonyx.hw.arch.presets import get
from sardonyx.runtime.data.sub_tiles import Work
from sardonyx.tensors.coordinates import Coo
from sardonyx.tensors.values import random_tensor

ARCH = get("small")
ROOM = ARCH.glb.bank_bytes // 2


def one(*shape):
    """A tensor with one nonzero."""
    return Coo.make(shape, np.full((1, len(shape)), 3), [5])


@pytest.mark.parametrize("text,operands", [
    ("X(i,j) = B(i,k) * C(k,j)", {"B": one(300, 300), "C": one(300, 300)}),
    ("x(i) = b(i) + c(i)", {"b": one(70_000), "c": one(70_000)}),
    ("X(i,j,k) = B(i,j,k) * C(i,j,k)", {"B": one(40, 40, 40), "C": one(40, 40, 40)}),
    ("X(i,j) = B(i,j) * C(i,j)", {"B": random_tensor((300, 300), 0.005, 0), "C": random_tensor((300, 300), 0.005, 1)}),
])
def test_a_large_extent_with_few_nonzeros_fits_the_banks_of_the_global_buffer(text, operands):
    work = Work(tile(parse(text), operands, ARCH.mem.level_words))
    assert max(work.tiling.edges.values()) ** len(work.tiling.einsum.result.indices) > ARCH.mem.level_words
    assert max(work.bounds().values()) <= 2 * (ARCH.mem.level_words + 1) < ROOM


def test_the_bound_of_a_block_is_the_dense_extent_where_level_buffers_can_give_more():
    copy = parse("X(i,j) = B(i,j)")
    work = Work(tile(copy, {"B": one(5, 6)}, 1024))
    # n_seg, 2 segments, n_crd, 5 coordinates; n_seg, 6 segments, n_crd, 30 coordinates; n_vals, 30 values.
    assert work.bounds() == {"X0": 9, "X1": 38, "X_vals": 31}
    work = Work(tile(copy, {"B": one(5, 6)}, 16))
    assert work.bounds() == {"X0": 9, "X1": 2 + 6 + 16, "X_vals": 1 + 16}


def test_no_block_of_a_result_is_longer_than_its_bound():
    matrix = random_tensor((60, 60), 0.08, 3)
    for capacity in (32, 1024):
        work = Work(tile(parse("X(i,j) = B(i,k) * C(k,j)"), {"B": matrix, "C": matrix}, capacity))
        bounds = work.bounds()
        for blocks in work.expected():
            assert all(len(block) <= bounds[name] for name, block in blocks.items())
