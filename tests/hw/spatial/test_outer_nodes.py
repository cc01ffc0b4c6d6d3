"""Nodes of partial products that several runs fill up: the same products, with fewer heads of nodes."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from outer_arrays import array

from sardonyx import spatial as sp
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.outer_product import ASTRAY, MEMORY, MULTIPLY, NONE, OuterProduct
from sardonyx.runtime.data.outer_product import laid, rows

# Two lanes that share a port; half of a lane's memory is 16, and a row of the result has up to 15.
KIND = OuterProduct("outer_nodes", lanes=2, ports=1, rows=16, pairs=32, node=4)
LIMIT = 1_000_000


def drawn(shape: "tuple[int, int, int]", density: float, seed: int) -> "tuple[np.ndarray, np.ndarray]":
    random, (height, terms, width) = np.random.default_rng(seed), shape
    a, b = (random.integers(-1 << 15, 1 << 15, size) * (random.random(size) < density)
            for size in ((height, terms), (terms, width)))
    return a, b


@settings(max_examples=25)
@given(shape=st.tuples(st.integers(1, 16), st.integers(1, 14), st.integers(1, 15)), latency=st.sampled_from((1, 20, 77)),
       density=st.sampled_from((0, 0.1, 0.4, 1)), seed=st.integers(0, 1 << 30))
def test_any_product_is_that_of_numpy_and_memory_for_nodes_is_as_much_as_is_taken(shape: "tuple[int, int, int]", latency: int,
                                                                                  density: float, seed: int) -> None:
    a, b = drawn(shape, density, seed)
    there = np.count_nonzero((a != 0).astype(int) @ (b != 0).astype(int))
    place = laid(KIND, scipy.sparse.csc_array(a), scipy.sparse.csr_array(b), there)
    simulated = array(KIND, latency)
    simulated.write(0, place.content)
    assert simulated.run([], LIMIT).status == NONE
    found = rows(simulated.read(0, len(place.content)), place, (shape[0], shape[2]))
    half = 1 << 31
    assert np.array_equal(found.toarray(), (a @ b + half) % (2 * half) - half) and found.nnz == there


def test_all_nodes_of_a_list_but_the_first_are_full() -> None:
    """Of a row of ones with as many partial products as terms: nodes lie in memory one behind the other, before the result."""
    a, b = np.ones((1, 10), int), np.ones((10, 3), int)
    place = laid(KIND, scipy.sparse.csc_array(a), scipy.sparse.csr_array(b), 3)
    array(KIND, 20).write(0, place.content)
    assert array(KIND, 20).run([], LIMIT).status == NONE
    words = np.frombuffer(array(KIND, 20).read(0, len(place.content)), np.uint32)[place.job["free"] // 4:]
    nodes = words[:8 * 10].reshape(8, 10)       # 30 pairs in nodes of 4: heads of 2 words, and 8
    assert nodes[:, 1].tolist() == [8] * 8
    assert nodes[:, 0].tolist() == [0, *(place.job["free"] + 40 * n for n in range(7))]
    assert (nodes[:7, 3::2] == 1).all() and nodes[7, 6:].tolist() == [0] * 4


def test_memory_that_is_not_there_and_rows_that_there_are_not_are_told() -> None:
    a = np.eye(4, dtype=int)
    for word, value, error in (("end", 0, MEMORY), ("height", 3, ASTRAY)):
        place = laid(KIND, scipy.sparse.csc_array(a), scipy.sparse.csr_array(a), 4)
        job = bytearray(place.content)
        at = 4 * KIND.job.index(word)
        job[at:at + 4] = value.to_bytes(4, "little")
        array(KIND, 20).write(0, bytes(job))
        assert array(KIND, 20).run([], LIMIT).status == error


def test_nodes_are_a_matter_of_the_buffer_of_lists_in_a_machine_of_both_phases() -> None:
    i, j, k = sp.indices("i j k")
    A, B = sp.inputs("A B")
    (P,) = sp.inputs("P", dtype="int32")
    lanes, bounds = {"lanes": 2, "ports": 1}, {"i": 16, "j": 16}
    fibers = [sp.Buffer("dense", "compressed", words=16, order=order) for order in ((1, 0), (0, 1))]
    multiply = sp.Design(
        sp.functionality("P(i,k,j) = A(i,k) * B(k,j)"), sp.Lanes(k, (i, j), **lanes), bounds,
        sparsity=[sp.skip(i, where=A(i, k) == 0), sp.skip(j, where=B(k, j) == 0)],
        balance=[sp.work_queue(k, grain="operation")], buffers={"A": fibers[0], "B": fibers[1], "P": sp.Lists(node=4)})
    merge = sp.Design(
        sp.functionality("C(i,j) = P(i,k,j)", dtype="int32"), sp.Lanes(i, (k, j), **lanes), bounds,
        sparsity=[sp.skip(j, where=P(i, k, j) == 0)], balance=[sp.work_queue(i, grain="operation")],
        buffers={"P": sp.Runs(words=32), "C": sp.Lists()})
    design = sp.phases(multiply, merge, name=KIND.name)
    assert design.kind == KIND and "is a run of P: in nodes of 4 in front of the list of its i" in design.explain().text
    a, b = drawn((9, 14, 13), 0.4, 3)
    found = [design.run(engine, A=a, B=b) for engine in ("tokens", "rtl")]
    assert found[0].report["nodes"] == found[1].report["nodes"] and np.array_equal(found[0].value, found[1].value)
    for alone in (multiply.hardware, lambda: multiply.run("rtl", A=a, B=b)):
        with pytest.raises(UserError, match="how many elements the first node of a list of P has only the chip knows"):
            alone()
    with pytest.raises(UserError, match="a list of C is of one run, which is a node"):
        replace(merge, buffers={"P": sp.Runs(words=32), "C": sp.Lists(node=8)}).explain()


def test_what_a_table_in_memory_does_not_say_is_for_both_phases() -> None:
    with pytest.raises(UserError, match="node is 4, and what is in the first node of a list only the chip knows"):
        OuterProduct("outer", node=4, phases=MULTIPLY)
