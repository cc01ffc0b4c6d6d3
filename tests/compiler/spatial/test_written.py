"""Results leave arrays in a format, and what no format holds is refused."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx import spatial as sp
from sardonyx.compiler.lang.sparsity import Skip
from sardonyx.hw.arch.errors import UserError

i, j, k = sp.indices("i j k")
A, B = sp.inputs("A B")
PRODUCT = sp.functionality("C(i,j) = A(i,k) * B(k,j)")
INPUT, OUTPUT = [[0, 0, 1], [1, 0, 0], [1, 1, 1]], [[1, 0, 0], [0, 1, 0], [1, 1, 1]]
ROWS_OF_B, COLUMNS_OF_A, ROWS_OF_A = (sp.skip(j, where=B(k, j) == 0), sp.skip(i, where=A(i, k) == 0),
                                      sp.skip(k, where=A(i, k) == 0))
KINDS = ("dense", "compressed", "bitvector", "linked list")


def design(skips: "list[Skip]", rows: "list[list[int]]" = INPUT, **buffers: sp.Buffer) -> sp.Design:
    return sp.Design(PRODUCT, sp.Transform(rows), {"i": 3, "j": 20, "k": 3}, sparsity=skips, buffers=buffers)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=10)
@given(seed=st.integers(0, 1 << 30), operations=st.integers(1, 4))
def test_results_in_a_format_are_those_without(kind: str, seed: int, operations: int) -> None:
    array = design([ROWS_OF_B, COLUMNS_OF_A], C=sp.Buffer("dense", kind, words=256))
    array.run("tokens", **array.random(operations, seed))


@pytest.mark.parametrize("kind", ["compressed", *(pytest.param(kind, marks=pytest.mark.slow)
                                                  for kind in KINDS if kind != "compressed")])
@settings(max_examples=6)
@given(seed=st.integers(0, 1 << 30), operations=st.integers(1, 4), stalls=st.none() | st.integers(1, 1 << 30))
def test_the_verilog_of_an_array_with_buffers_on_both_sides_is_exact(kind: str, seed: int, operations: int,
                                                                     stalls: "int | None") -> None:
    array = design([ROWS_OF_B], A=sp.Buffer("dense", "dense", words=16), B=sp.Buffer("dense", "compressed", words=64),
                   C=sp.Buffer("dense", kind, words=64))
    array.run("rtl", stalls, **array.random(operations, seed))


@pytest.mark.parametrize("above,last", [("compressed", "compressed"), ("bitvector", "dense"), ("compressed", "linked list"),
                                        ("linked list", "compressed")])
@settings(max_examples=10)
@given(seed=st.integers(0, 1 << 30), operations=st.integers(1, 4))
def test_results_without_empty_rows_are_those_without_a_buffer(above: str, last: str, seed: int, operations: int) -> None:
    array = design([ROWS_OF_B, COLUMNS_OF_A], C=sp.Buffer(above, last, words=256))
    array.run("tokens", **array.random(operations, seed))
    assert f"C to a private buffer ({above}, {last}) of 256 words" in array.explain().text


def test_lists_gather_the_fibers_of_several_operations() -> None:
    array = design([ROWS_OF_B], C=sp.Buffer("dense", "linked list", words=512, operations=3))
    operands = array.random(6, 1)
    found = array.run("tokens", **operands).value
    assert np.array_equal(found, np.einsum("opik,opkj->oij", *(operands[name].reshape(2, 3, *operands[name].shape[1:])
                                                               for name in "AB")))
    with pytest.raises(UserError, match="5 operations are no tensors of 3"):
        array.run("tokens", **array.random(5, 1))


def test_a_result_without_room_is_said() -> None:
    array = design([ROWS_OF_B], C=sp.Buffer("dense", "compressed", words=16))
    for engine in ("tokens", "rtl"):
        with pytest.raises(UserError) as refused:
            array.run(engine, A=np.ones((3, 3), int), B=np.ones((3, 20), int))
        assert str(refused.value).startswith("buffers: C: a tensor has more values than the 16 that its buffer has room for")


def test_explain_and_the_description_name_the_buffer_of_a_result() -> None:
    array = design([ROWS_OF_B], C=sp.Buffer("dense", "linked list", words=64, operations=2))
    assert array.explain().text.endswith(
        "C to a private buffer (dense, linked list) of 64 words, twice: fibers of 2 operations of 3 ports, one after the other")
    names = set(array.hardware().signature.members)
    assert {"C_heads", "C_links", "C_coordinates", "C_values", "fault"} < names and not any(name == "C_0" for name in names)


@pytest.mark.parametrize("made,said", [
    (lambda: design([], C=sp.Buffer("dense", "compressed")), "ports of C give words, not fibers"),
    (lambda: design([ROWS_OF_A], OUTPUT, C=sp.Buffer("dense", "dense")), "ports of C give words, not fibers"),
    (lambda: design([ROWS_OF_B], C=sp.Buffer("dense")), "it has 1 level, but the result 2 dimensions"),
    (lambda: design([ROWS_OF_B], C=sp.Buffer("dense", "dense", order=(0, 0))), "its order is 0, 0"),
    (lambda: design([ROWS_OF_B], C=sp.Buffer("linked list", "dense", words=64)), "words are 64, but a node is 4 x 20"),
    (lambda: design([ROWS_OF_B], C=sp.Buffer("compressed", "linked list", operations=2)), "a tensor is of 2 operations"),
    (lambda: design([ROWS_OF_B], C=sp.Buffer("compressed", "dense", words=16)), "words are 16, but C takes 20"),
    (lambda: design([ROWS_OF_B], C=sp.Buffer("dense", "dense", banks=2)), "it has 2 banks"),
    (lambda: design([ROWS_OF_B], C=sp.Buffer("dense", "dense", order=(1, 0))), "fibers go along dimension 1"),
    (lambda: design([ROWS_OF_B], C=sp.Buffer("dense", "dense", words=16)), "words are 16, but C takes 60"),
])
def test_results_that_no_buffer_holds_are_refused_with_a_remedy(made: "Callable[[], sp.Design]", said: str) -> None:
    with pytest.raises(UserError) as refused:
        made().hardware()
    assert said in str(refused.value)
