import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statements import DENSE, agreeing, random_operands

from sardonyx.compiler.lang.einsum import parse
from sardonyx.compiler.sparse.tiling import tile
from sardonyx.hw.arch.presets import get
from sardonyx.runtime.data.sub_tiles import Work, named
from sardonyx.sim.expected import expected
from sardonyx.tensors.coordinates import Coo
from sardonyx.tensors.values import encode, random_tensor, to_coo

ARCH = get("small")
ROOM = ARCH.glb.bank_bytes // 2


def one(*shape):
    """A tensor with one nonzero."""
    return Coo.make(shape, np.full((1, len(shape)), 3), [5])


@pytest.mark.parametrize("text,operands", [
    ("X(i,j) = B(i,k) * C(k,j)", {"B": one(300, 300), "C": one(300, 300)}),
    ("x(i) = b(i) + c(i)", {"b": one(60_000), "c": one(60_000)}),
    ("X(i,j,k) = B(i,j,k) * C(i,j,k)", {"B": one(40, 40, 40), "C": one(40, 40, 40)}),
    ("X(i,j) = B(i,j) * C(i,j)", {"B": random_tensor((300, 300), 0.005, 0), "C": random_tensor((300, 300), 0.005, 1)}),
])
def test_a_large_extent_with_few_nonzeros_fits_the_banks_of_the_global_buffer(text, operands):
    work = Work(tile(parse(text), operands, ARCH.mem.level_words, 60_000))
    assert max(work.bounds().values()) <= 2 * (ARCH.mem.level_words + 1) < ROOM


def test_the_bound_of_a_block_is_the_least_of_dense_extent_level_buffer_and_what_can_meet():
    copy = parse("X(i,j) = B(i,j)")
    work = Work(tile(copy, {"B": to_coo(np.ones((5, 6), int))}, 1024, 6))
    # n_seg, 2 segments, n_crd, 5 coordinates; n_seg, 6 segments, n_crd, 30 coordinates; n_vals, 30 values.
    assert work.bounds() == {"X0": 6, "X1": 38, "X_vals": 31}
    work = Work(dataclasses.replace(work.tiling, capacity=16))
    assert work.bounds() == {"X0": 6, "X1": 2 + 6 + 16, "X_vals": 1 + 16}
    assert Work(tile(copy, {"B": one(5, 6)}, 1024)).bounds() == {"X0": 2, "X1": 5, "X_vals": 2}
    # A column and a row of 20 nonzeros meet 400 times; of two rows the bound is 20 ** 0.5 * 20 times.
    column, row = (Coo.make((40, 40), [place[::way] for place in zip(range(20), [3] * 20)], [1] * 20) for way in (1, -1))
    product = parse("X(i,j) = B(i,k) * C(k,j)")
    assert Work(tile(product, {"B": column, "C": row}, 1024, 40)).bounds() == {"X0": 41, "X1": 2 + 41 + 400, "X_vals": 401}
    assert Work(tile(product, {"B": row, "C": row}, 1024, 40)).bounds()["X_vals"] == 1 + 89


@pytest.mark.parametrize("text", DENSE)
@settings(max_examples=5)
@given(edge=st.integers(1, 9), densities=st.lists(st.sampled_from([0.0, 0.1, 0.5, 1.0]), min_size=2, max_size=3),
       seed=st.integers(0, 99), data=st.data())
def test_transactions_hold_the_words_of_each_tile(text, edge, densities, seed, data):
    einsum = parse(text)
    letters = {name: "".join(data.draw(st.lists(st.sampled_from("sd"), min_size=rank, max_size=rank)))
               for name, rank in einsum.tensors.items() if rank}
    einsum = parse(text, formats=letters)
    work = Work(tile(einsum, random_operands(einsum, agreeing(einsum, [9, 7, 8, 6]), densities, seed), 1024, edge))
    loaded = 0
    for item, blocks in enumerate(work.transactions()):
        for access in einsum.operands:
            for name, words in named(access, encode(work.operands(item)[access.slot], access.format)).items():
                assert blocks[name].tolist() == words.tolist() and blocks[name].dtype == np.uint16
        assert len(blocks) == sum(len(access.indices) + 1 for access in einsum.operands)
        loaded += sum(len(block) for block in blocks.values())
    assert loaded == work.loaded


def test_no_block_of_a_result_is_longer_than_its_bound():
    matrix = random_tensor((60, 60), 0.08, 3)
    for capacity in (32, 1024):
        work = Work(tile(parse("X(i,j) = B(i,k) * C(k,j)"), {"B": matrix, "C": matrix}, capacity))
        bounds = work.bounds()
        for blocks in expected(work):
            assert all(len(block) <= bounds[name] for name, block in blocks.items())


def test_what_there_is_to_do_is_told_in_numbers():
    matrix = random_tensor((60, 60), 0.08, 3)
    work = Work(tile(parse("X(i,j) = B(i,k) * C(k,j)"), {"B": matrix, "C": matrix}, 1024, 20))
    words = sum(len(block) for blocks in work.transactions() for block in blocks.values())
    assert words == work.loaded
    assert work.told == f"27 sub-tiles of i 20, j 20, k 20: {words / 500_000:.1f} MB to load, about 40,271 cycles"
    number = Work(tile(parse("x = b"), {"b": to_coo(3)}, 1024))
    assert number.told == "1 sub-tiles of a number: 0.0 MB to load, about 22 cycles"
