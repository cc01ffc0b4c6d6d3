import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse
from statements import DENSE, agreeing, random_operands

from sardonyx.compiler.lang.einsum import parse
from sardonyx.sim.golden import einsum as golden
from sardonyx.tensors.coordinates import Coo, wrap
from sardonyx.tensors.values import random_tensor, to_array, to_coo, to_value


@pytest.mark.parametrize("text", DENSE)
@pytest.mark.parametrize("densities", [[0.0], [0.2], [0.6, 0.1], [1.0]])
@pytest.mark.parametrize("extents", [(1, 1, 1, 1), (7, 5, 3, 2)])
def test_agrees_with_dense_numpy(text, densities, extents):
    einsum = parse(text)
    operands = random_operands(einsum, agreeing(einsum, extents), densities, 7)
    dense = SimpleNamespace(**{name: to_array(tensor).astype(np.int64) for name, tensor in operands.items()})
    expected = wrap(np.asarray(DENSE[text](dense)))
    result = golden.evaluate(einsum, operands)
    assert np.array_equal(to_array(result), expected)
    assert result == to_coo(expected)


def test_results_wrap_and_those_that_wrap_to_zero_are_no_nonzeros():
    einsum = parse("x(i) = b(i) * c(i)")
    operands = {"b": to_coo(np.array([256, 300, 181])), "c": to_coo(np.array([256, 300, 181]))}
    assert golden.evaluate(einsum, operands) == Coo.make((3,), [[1], [2]], [90000 - 65536, 32761])


def test_agrees_with_scipy_on_a_large_matrix():
    matrix = random_tensor((2000, 2000), 0.01, 3)
    result = golden.evaluate(parse("X(i,j) = B(i,k) * B(k,j)"), {"B": matrix})
    sparse = to_value(matrix).astype(np.int64)
    expected = scipy.sparse.coo_array(sparse @ sparse)
    assert result == to_coo(expected)


def test_a_product_takes_the_memory_of_its_result_and_not_that_of_its_pairs():
    ones = {"B": to_coo(np.ones((200, 2000), int)), "C": to_coo(np.ones((2000, 200), int))}
    tracemalloc.start()
    result = golden.evaluate(parse("X(i,j) = B(i,k) * C(k,j)"), ones)
    assert tracemalloc.get_traced_memory()[1] < 120e6      # 80 million pairs would be 640 MB in one word each.
    tracemalloc.stop()
    assert result.nnz == 40_000 and set(result.values.tolist()) == {2000}


def test_coordinates_beyond_a_word_are_told_apart():
    far = [[0, 0, 0], [1 << 30, 1 << 30, 1 << 30], [1 << 30, 1 << 30, 0]]
    tensors = {name: Coo.make((1 << 31,) * 3, far, [2, 3, 5]) for name in "BC"}
    assert golden.evaluate(parse("X(i,j,k) = B(i,j,k) * C(i,j,k)"), tensors).values.tolist() == [4, 25, 9]
    assert golden.evaluate(parse("X(i,j,k) = B(i,j,k) + C(i,j,k)"), tensors).values.tolist() == [4, 10, 6]


def test_words_of_a_result_and_of_an_empty_one():
    einsum = parse("X(i,j) = B(i,j)")
    matrix = to_coo(np.array([[0, 0, 0], [0, 5, -1]]))
    assert golden.words(einsum, matrix) == ([2, 0, 1, 1, 1], [2, 0, 2, 2, 1, 2], [2, 5, 65535])
    assert golden.words(einsum, Coo.empty((2, 3))) == ([2, 0, 0, 0], [1, 0, 0], [0])


def test_words_follow_the_order_of_the_result():
    einsum = parse("X(i,j) = B(i,j)", "ji")
    assert str(einsum.result.format) == "ss10"
    assert golden.words(einsum, to_coo(np.array([[0, 7]]))) == ([2, 0, 1, 1, 1], [2, 0, 1, 1, 0], [1, 7])


def test_a_scalar_has_its_value_even_if_it_is_zero():
    einsum = parse("x = b(i)")
    assert golden.words(einsum, golden.evaluate(einsum, {"b": Coo.empty((3,))})) == ([1, 0],)


@pytest.mark.parametrize("text,expected", [
    # Rows of B have 2, 1 and 0 entries; b and c meet in one place.
    ("x(i) = b(i) * c(i)", 1),
    ("x(i) = b(i) + c(i)", 1),
    ("x(i) = B(i,j) * c(j)", 2),
    ("x = b(i)", 1),
    ("X(i,j) = B(i,k) * B(k,j)", 4 + 1),
    ("x(i) = 3 * b(i)", 2),
    ("x(i) = b(i) - B(i,j) * c(j)", 2 + 2),
])
def test_operations_are_products_of_entries_and_additions_of_those_that_meet(text, expected):
    operands = {"b": to_coo(np.array([5, 7, 0])), "c": to_coo(np.array([0, 1, 2])),
                "B": to_coo(np.array([[1, 2, 0], [0, 3, 0], [0, 0, 0]]))}
    einsum = parse(text)
    used = {name: operands[name] for name in einsum.tensors}
    assert golden.operations(einsum, used) == expected


def test_operations_of_a_matrix_product_are_those_that_scipy_counts():
    matrix = random_tensor((60, 60), 0.1, 3)
    ones = to_value(matrix).astype(bool).astype(np.int64)
    product = ones @ ones
    assert golden.operations(parse("X(i,j) = B(i,k) * B(k,j)"), {"B": matrix}) == 2 * product.sum() - product.nnz
