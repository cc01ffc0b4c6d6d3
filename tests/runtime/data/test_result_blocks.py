import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statements import DENSE, agreeing, random_operands

from sardonyx.compiler.ir.mapped import VALUES, level_name
from sardonyx.compiler.lang.einsum import parse
from sardonyx.compiler.sparse.tiling import tile
from sardonyx.runtime.data.result_blocks import above, gathered, same
from sardonyx.runtime.data.sub_tiles import Work
from sardonyx.sim.expected import expected, expected_together
from sardonyx.tensors.fibertree import build, flatten
from sardonyx.tensors.values import random_tensor


def of(work, stored):
    """The blocks of items as one tree."""
    result = work.tiling.einsum.result
    names = [level_name(result.slot, level) for level in (*range(len(result.stored)), VALUES)]
    return gathered(stored, names, result.format, [work.tiling.edges[index] for index in result.indices])


@pytest.mark.parametrize("text", DENSE)
@settings(max_examples=8)
@given(edge=st.integers(1, 9), densities=st.lists(st.sampled_from([0.0, 0.1, 0.5, 1.0]), min_size=2, max_size=3),
       seed=st.integers(0, 99))
def test_blocks_of_all_items_together_are_what_numpy_says_of_them_together_and_one_by_one(text, edge, densities, seed):
    einsum = parse(text)
    work = Work(tile(einsum, random_operands(einsum, agreeing(einsum, [9, 7, 8, 6]), densities, seed), 1024, edge))
    if not len(work):
        return
    begin, end = len(work) // 3, len(work)
    tree = of(work, list(expected(work, begin, end)))
    right = build(expected_together(work, begin, end), above(einsum.result.format))
    assert tree is not None and same(tree, right)
    found = flatten(tree)
    for item in range(begin, end):
        there = found.coords[:, 0] == item - begin
        part = work.part(item, next(expected(work, item, item + 1)))
        assert np.array_equal(found.coords[there, 1:], part.coords) and np.array_equal(found.values[there], part.values)


def test_a_word_that_differs_is_seen_wherever_it_stands():
    matrix = random_tensor((12, 12), 0.3, 1)
    work = Work(tile(parse("X(i,j) = B(i,k) * C(k,j)"), {"B": matrix, "C": matrix}, 1024, 6))
    stored = list(expected(work))
    right = build(expected_together(work, 0, len(work)), above(work.tiling.einsum.result.format))
    assert same(of(work, stored), right)
    for item in (0, len(work) - 1):
        for name, block in stored[item].items():
            for at in range(len(block)):
                wrong = block.copy()
                wrong[at] ^= 1
                tree = of(work, [*stored[:item], {**stored[item], name: wrong}, *stored[item + 1:]])
                assert tree is None or not same(tree, right), (item, name, at)
            for length in (block[:-1], np.append(block, block[-1])):
                assert of(work, [*stored[:item], {**stored[item], name: length}, *stored[item + 1:]]) is None
