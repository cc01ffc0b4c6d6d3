import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statements import able, agreeing, random_operands

import sardonyx
from sardonyx.compiler.lang.einsum import OUTERMOST, SCANNED, parse
from sardonyx.compiler.sparse.full import filled
from sardonyx.compiler.sparse.tiling import tile
from sardonyx.hw.arch import presets
from sardonyx.sim.golden import einsum as golden
from sardonyx.tensors.coordinates import Coo
from sardonyx.tensors.values import random_tensor, to_coo, to_value

SPMV = "x(i) = B(i,j) * c(j)"
ONYX = able(presets.get("onyx"))


def formats(tiling):
    return [str(each.access.format) for each in tiling.tiles]


def rows(counts, columns):
    """A matrix of so many nonzeros in each row."""
    coords = np.array([(row, column) for row, count in enumerate(counts) for column in range(count)], np.int64).reshape(-1, 2)
    return Coo.make((len(counts), columns), coords, np.arange(len(coords)) + 1)


@pytest.mark.parametrize("counts,vector,edges,found", [
    ([2, 1, 3], 1.0, 5, ["ds01", "d0"]),            # no empty row, no zero in the vector
    ([2, 0, 3], 1.0, 5, ["ss01", "d0"]),
    ([2, 1, 3], 0.5, 5, ["ds01", "s0"]),
    ([4, 4, 4], 1.0, 5, ["dd01", "d0"]),
    ([2, 1, 3], 1.0, 2, ["ss01", "d0"]),            # a tile at the far end has one row
    ([2, 0, 3], 1.0, {"i": 1, "j": 4}, ["s0", "d0"])])
def test_levels_are_dense_that_are_full_in_every_tile(counts, vector, edges, found):
    operands = {"B": rows(counts, 4), "c": random_tensor((4,), vector, 1)}
    assert formats(tile(parse(SPMV), operands, 1024, edges, narrow=True)) == found
    assert all(set(each) <= set("s01") for each in formats(tile(parse(SPMV), operands, 1024, edges)))


def test_levels_of_a_term_that_an_item_lacks_stay():
    operands = {"b": random_tensor((4,), 1.0, 1), "c": Coo.make((4,), np.array([[2], [3]]), np.array([1, 2]))}
    tiling = tile(parse("x(i) = b(i) + c(i)"), operands, 1024, 2, narrow=True)
    assert formats(tiling) == ["d0", "s0"], "half of c has no tile"


def test_what_is_made_dense_is_located_and_a_statement_with_dense_levels_is_taken_at_its_word():
    operands = {"B": rows([2, 1, 3], 4), "c": random_tensor((4,), 1.0, 1)}
    own = parse(SPMV, formats={"c": "d"})
    assert [tile(each, operands, 1024, 4, narrow=True).einsum.locate for each in (parse(SPMV), own)] == [OUTERMOST, SCANNED]
    assert filled(tile(own, operands, 1024)).einsum.locate == SCANNED


def test_a_copy_stays_since_it_drops_no_zeros():
    tiling = tile(parse("x(i) = b(i)"), {"b": random_tensor((4,), 1.0, 1)}, 1024, 4, narrow=True)
    assert formats(tiling) == ["s0"]


@pytest.mark.parametrize("text,found", [("x(i) = abs(b(i) * c(i))", ["s0", "s0"]),
                                        ("X(i,j) = abs(b(i) * C(i,j))", ["s0", "ss01"])])
def test_tiles_of_one_coordinate_of_every_index_stay_since_a_dense_one_takes_a_cycle_more(text, found):
    operands = {"b": random_tensor((9,), 0.5, 1), "c": random_tensor((9,), 0.5, 2), "C": random_tensor((9, 9), 0.5, 3)}
    program = parse(text)
    assert formats(tile(program, {name: operands[name] for name in program.tensors}, 1024, 1, narrow=True)) == found


def test_nothing_changes_where_nothing_is_full():
    operands = {"B": rows([2, 0, 3], 4), "c": random_tensor((4,), 0.5, 1)}
    tiling = tile(parse(SPMV), operands, 1024, 5)
    assert filled(tiling) is tiling


def test_a_full_vector_is_looked_up_and_not_scanned_for_each_row():
    matrix, vector = random_tensor((40, 40), 0.1, 1), random_tensor((40,), 1.0, 2)
    given = {"B": to_value(matrix), "c": to_value(vector)}
    cycles = [sardonyx.einsum(SPMV, engine="rtl", arch="small", tile=40, order="ij", without=without, **given).report["cycles"]
              for without in (None, "narrowing")]
    assert 3 * cycles[0] < cycles[1]


STATEMENTS = (SPMV, "X(i,j) = B(i,k) * C(k,j)", "X(i,j) = B(i,k,l) * C(j,k) * D(j,l)", "X(i,j) = B(i,j) + C(i,j)",
              "X(i,j) = B(i,j)", "x(i) = relu(b(i) - C(i,j) * d(j))", "X(i,j) = B(i,j) * C(i,k) * D(k,j)")


@settings(max_examples=8, deadline=None)
@given(text=st.sampled_from(STATEMENTS), densities=st.lists(st.sampled_from([0.3, 1.0, 1.0]), min_size=3, max_size=3),
       edge=st.sampled_from([None, 2, 3]), locate=st.sampled_from(["auto", "none"]), seed=st.integers(0, 99))
def test_results_are_those_of_compressed_levels(text, densities, edge, locate, seed):
    einsum = parse(text)
    operands = random_operands(einsum, agreeing(einsum, [4, 6, 2, 3]), densities, seed)
    given = {name: to_value(operand) for name, operand in operands.items()}
    found = sardonyx.einsum(text, engine="tokens", arch=ONYX, tile=edge, locate=locate, **given)
    assert to_coo(found.value) == golden.evaluate(einsum, operands)
