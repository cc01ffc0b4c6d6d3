import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.hw.arch.errors import UserError
from sardonyx.tensors.coordinates import Coo
from sardonyx.tensors.fibertree import Format, build, flatten, from_blocks, natural

MATRIX = Coo.make((2, 3), [[1, 2], [1, 0]], [-1, 5])


def test_a_compressed_matrix_by_rows_and_by_columns():
    assert build(MATRIX, natural(2)).blocks() == ([2, 0, 1, 1, 1], [2, 0, 2, 2, 0, 2], [2, 5, 65535])
    assert build(MATRIX, Format("ss", (1, 0))).blocks() == ([2, 0, 2, 2, 0, 2], [3, 0, 1, 2, 2, 1, 1],
                                                            [2, 5, 65535])


def test_dense_levels_store_nothing_and_values_for_all_places():
    assert build(MATRIX, Format("dd", (0, 1))).blocks() == ([2, 0, 2, 0], [2, 0, 3, 0],
                                                            [6, 0, 0, 0, 5, 0, 65535])
    assert build(MATRIX, Format("ds", (0, 1))).blocks() == ([2, 0, 2, 0], [3, 0, 0, 2, 2, 0, 2],
                                                            [2, 5, 65535])
    assert build(MATRIX, Format("sd", (0, 1))).blocks() == ([2, 0, 1, 1, 1], [2, 0, 3, 0], [3, 5, 0, 65535])


def test_an_empty_tensor_has_an_empty_root_fiber_and_no_others():
    assert build(Coo.empty((2, 3, 4)), natural(3)).blocks() == ([2, 0, 0, 0], [1, 0, 0], [1, 0, 0], [0])


def test_a_scalar_has_one_value():
    assert build(Coo.make((), [()], [7]), natural(0)).blocks() == ([1, 7],)
    assert build(Coo.empty(()), natural(0)).blocks() == ([1, 0],)


@given(st.data())
def test_every_format_gives_the_tensor_back(data):
    shape = data.draw(st.lists(st.integers(1, 6), min_size=0, max_size=4))
    form = Format("".join(data.draw(st.sampled_from("ds")) for _ in shape),
                  tuple(data.draw(st.permutations(range(len(shape))))))
    entry = st.tuples(*(st.integers(0, extent - 1) for extent in shape))
    entries = data.draw(st.dictionaries(entry, st.integers(-32768, 32767), max_size=20))
    tensor = Coo.make(shape, np.array(list(entries), np.int64).reshape(len(entries), len(shape)),
                      list(entries.values()))
    tree = build(tensor, form)
    assert flatten(tree) == tensor
    assert flatten(from_blocks(tree.blocks(), form, shape)) == tensor


@given(st.tuples(st.integers(1, 3), st.integers(1, 4), st.integers(1, 3), st.integers(1, 2)), st.integers(0, 1 << 30))
def test_blocks_of_a_compressed_row_are_two_dense_levels_as_scipy_has_them(shape, seed):
    rows, columns, height, width = shape
    random = np.random.default_rng(seed)
    blocks = random.integers(1, 99, shape) * (random.random((rows, columns)) < 0.5)[:, :, None, None]
    whole = blocks.transpose(0, 2, 1, 3).reshape(rows * height, columns * width)
    wanted = scipy.sparse.bsr_array(whole, blocksize=(height, width))
    places = np.argwhere(blocks)
    tensor = Coo.make(shape, places, blocks[tuple(places.T)])
    tree = build(tensor, Format("dsdd", (0, 1, 2, 3)))
    assert np.array_equal(tree.levels[1].seg, wanted.indptr) and np.array_equal(tree.levels[1].crd, wanted.indices)
    assert np.array_equal(tree.values, wanted.data.ravel()) and flatten(tree) == tensor


def test_coo_adds_equal_places_wraps_and_removes_zeros():
    tensor = Coo.make((3,), [[2], [0], [2], [1], [1]], [30000, 4, 30000, 5, -5])
    assert (tensor.coords.tolist(), tensor.values.tolist()) == ([[0], [2]], [4, 60000 - 65536])


BAD = [
    (([2, 0, 1, 1, 1], [2, 0, 2, 2, 0, 2]), "a block per level and one of values are needed, not 2"),
    (([2, 0, 1, 1, 1], [2, 0, 2, 2, 0], [2, 5, 6]), "a block is shorter than it says"),
    (([2, 0, 1, 1, 1, 9], [2, 0, 2, 2, 0, 2], [2, 5, 6]), "words are left over after the coordinates"),
    (([2, 0, 1, 1, 1], [3, 0, 1, 2, 2, 0, 2], [2, 5, 6]), "1 fibers need 2 segments, not 3"),
    (([2, 0, 2, 1, 1], [2, 0, 2, 2, 0, 2], [2, 5, 6]), "segments do not run from 0 to the last coordinate"),
    (([2, 0, 1, 1, 2], [2, 0, 2, 2, 0, 2], [2, 5, 6]), "a coordinate is not below the extent 2"),
    (([2, 0, 1, 1, 1], [2, 0, 2, 2, 2, 2], [2, 5, 6]), "coordinates of a fiber do not rise"),
    (([2, 0, 1, 1, 1], [2, 0, 2, 2, 0, 2], [1, 5]), "2 values were expected, not 1"),
]


@pytest.mark.parametrize("blocks, message", BAD)
def test_inconsistent_blocks_are_found(blocks, message):
    with pytest.raises(AssertionError, match=f"^{message}"):
        from_blocks(blocks, natural(2), (2, 3))


def test_words_hold_16_bits():
    tensor = Coo.make((70000,), [[69999]], [1])
    with pytest.raises(UserError) as error:
        build(tensor, natural(1)).blocks("B")
    assert str(error.value) == ("a coordinate of level 0 of B is 69999 but a word holds at most 65535\n"
                                "  try: cut the tensor into tiles")
    with pytest.raises(UserError) as error:
        build(tensor, Format("d", (0,)))
    assert str(error.value) == ("the number of positions down to dense mode 0 is 70000 but a word holds at "
                                "most 65535"
                                "\n  try: cut the tensor into tiles")
