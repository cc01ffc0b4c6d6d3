"""Products by outer products: partial products go to memory as linked lists, and come back as rows that are SciPy's."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from outer_arrays import BYTES, array
from simulators import run_cocotb

from sardonyx import designs
from sardonyx import spatial as sp
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.outer_product import ASTRAY, BUS, JOB, MEMORY, NONE, ROOM, OuterProduct
from sardonyx.hw.spatial.outer.product import OuterProductArray
from sardonyx.runtime.data.outer_product import laid, rows

# Two lanes that share a port; a row of the result has up to 15 elements, half of a lane's memory is 16.
KIND = OuterProduct("outer_test", lanes=2, ports=1, rows=16, pairs=32)
LIMIT = 200_000


def matrix(shape: "tuple[int, int]", density: float, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    return random.integers(-1 << 15, 1 << 15, shape) * (random.random(shape) < density)


def wrapped(product: np.ndarray) -> np.ndarray:
    return (product + (1 << 31)) % (1 << 32) - (1 << 31)


@settings(max_examples=40)
@given(shape=st.tuples(st.integers(1, 16), st.integers(1, 40), st.integers(1, 15)), latency=st.sampled_from((1, 20, 77)),
       densities=st.tuples(*[st.sampled_from((0, 0.1, 0.4, 1))] * 2), seed=st.integers(0, 1 << 30))
def test_any_product_is_that_of_numpy_at_any_latency(shape: "tuple[int, int, int]", latency: int,
                                                     densities: "tuple[float, float]", seed: int) -> None:
    height, terms, width = shape
    a, b = matrix((height, terms), densities[0], seed), matrix((terms, width), densities[1], seed + 1)
    place = laid(KIND, scipy.sparse.csc_array(a), scipy.sparse.csr_array(b), height * width)
    simulated = array(KIND, latency)
    simulated.write(0, place.content)
    assert simulated.run([], LIMIT).status == NONE
    found = rows(simulated.read(0, len(place.content)), place, (height, width))
    assert np.array_equal(found.toarray(), wrapped(a @ b))
    # Places that some product is at are there, whatever their sum.
    assert found.nnz == np.count_nonzero((a != 0).astype(int) @ (b != 0).astype(int))


def poisson(edge: int) -> scipy.sparse.csr_array:
    """Of a cube."""
    line, eye = scipy.sparse.diags_array([1.0, -2.0, 1.0], offsets=[-1, 0, 1], shape=(edge, edge)), scipy.sparse.eye_array(edge)
    ways = (line, eye, eye), (eye, line, eye), (eye, eye, line)
    return scipy.sparse.csr_array(sum(scipy.sparse.kron(scipy.sparse.kron(a, b), c) for a, b, c in ways)).astype(int)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["poisson", "bcsstk01", "west0497", "pde225"])
def test_rows_of_squares_of_real_matrices_are_scipys(name: str, shared: Callable[[str], Path]) -> None:
    """Up to 256 rows, at random with seed 0, of the pattern, whose values are random whole numbers."""
    found = poisson(7) if name == "poisson" else scipy.sparse.csr_array(scipy.io.mmread(shared(f"matrices/{name}.mtx.gz")))
    random = np.random.default_rng(0)
    whole = scipy.sparse.csr_array((random.integers(1, 100, found.nnz), found.indices, found.indptr), found.shape)
    left = whole[np.sort(random.permutation(whole.shape[0])[:256])]
    design = sp.outer_product(lanes=4, ports=2, rows=256, pairs=256, name="outer_slow")
    assert (design.run(A=left, B=whole).value != left @ whole).nnz == 0


@pytest.mark.slow
def test_a_product_is_that_of_numpy_whatever_the_order_and_the_stalls_of_the_memory(tmp_path: Path) -> None:
    kind = replace(KIND, name="outer_ports", ports=2)
    a, b = matrix((16, 20), 0.3, 1), matrix((20, 15), 0.3, 2)
    place = laid(kind, scipy.sparse.csc_array(a), scipy.sparse.csr_array(b), a.shape[0] * b.shape[1])
    (tmp_path / "before").write_bytes(place.content)
    run_cocotb(OuterProductArray(kind), "cocotb_outer", "verilator", tmp_path)
    found = rows((tmp_path / "after").read_bytes(), place, (16, 15))
    assert np.array_equal(found.toarray(), wrapped(a @ b))


@pytest.mark.parametrize("word,value,error", [
    ("height", 17, ASTRAY), ("height", 3, ASTRAY), ("end", 0, MEMORY), ("right", BYTES, BUS)])
def test_a_job_that_cannot_be_done_ends_with_its_error(word: str, value: int, error: int) -> None:
    a = np.eye(4, dtype=int)
    place = laid(KIND, scipy.sparse.csc_array(a), scipy.sparse.csr_array(a), 4)
    job = bytearray(place.content)
    job[4 * JOB.index(word):4 * JOB.index(word) + 4] = value.to_bytes(4, "little")
    simulated = array(KIND, 20)
    simulated.write(0, bytes(job))
    assert simulated.run([], LIMIT).status == error


def test_a_row_that_has_no_room_is_told() -> None:
    a, b = np.ones((1, 3), int), np.ones((3, 17), int)
    place = laid(KIND, scipy.sparse.csc_array(a), scipy.sparse.csr_array(b), 17)
    simulated = array(KIND, 20)
    simulated.write(0, place.content)
    assert simulated.run([], LIMIT).status == ROOM


def test_the_design_that_we_ship_is_scipys_product_without_hardware_and_says_what_it_is() -> None:
    design = designs.any_design("outerspace")
    assert isinstance(design, sp.OuterProductDesign)
    found = design.run("golden", A=[[2, 0], [0, 0], [1, -1]], B=scipy.sparse.csr_array([[0, 3], [0, 3]]))
    assert found.value.toarray().tolist() == [[0, 6], [0, 0], [0, 0]] and found.value.nnz == 2
    text = design.explain().text
    assert "16 requests to memory at once, a lane each, over one bus of 64 bits" in text
    assert design.resized({"ports": 4}).explain().report["ports"] == 4


@pytest.mark.parametrize("latency", [1, 50])
def test_engine_tokens_has_the_product_and_the_cycles_of_the_verilog(latency: int) -> None:
    random = np.random.default_rng(6)
    a, b = (random.integers(-2, 3, shape) * (random.random(shape) < 0.4) for shape in ((13, 9), (9, 15)))
    a[:, 4], a[7], b[2] = 0, 0, 0
    design = sp.outer_product(lanes=2, ports=1, rows=16, pairs=32, name=KIND.name)
    found, wanted = (design.run(engine, A=a, B=scipy.sparse.csr_array(b), latency=latency) for engine in ("tokens", "rtl"))
    assert found.cycles == wanted.cycles == found.report["cycles"] and (found.value != wanted.value).nnz == 0
    assert found.value.nnz == wanted.value.nnz == found.report["elements_checked"]
    assert design.accelerator().run("tokens", A=a, B=b).cycles is None


@pytest.mark.slow
@pytest.mark.parametrize("lanes,ports", [(4, 2), (16, 16)])
def test_random_matrices_with_long_rows_are_scipys_product(lanes: int, ports: int) -> None:
    design = sp.outer_product(lanes=lanes, ports=ports, rows=256, pairs=256, name="outer_slow")
    random = np.random.default_rng(5)
    # Rows and columns of more than half of a lane's memory, and lists with more runs than there is room for.
    a = (random.random((200, 150)) < 0.03) * random.integers(-99, 99, (200, 150))
    a[:, 7], a[11] = 5, 3
    b = (random.random((150, 120)) < 0.03) * random.integers(-99, 99, (150, 120))
    assert (design.run(A=a, B=b).value == a @ b).all()


@pytest.mark.parametrize("given,said", [
    ({"A": np.ones((17, 2), int), "B": np.ones((2, 2), int)}, "the product has 17 rows, and the hardware up to 16"),
    ({"A": np.ones((2, 3), int), "B": np.ones((2, 2), int)}, "give matrices that can be multiplied"),
    ({"A": np.ones((2, 2), int), "B": np.ones((2, 16), int)},
     "a row of the product has 16 elements, and a lane has room for 15"),
    ({"A": np.ones((2, 2)), "B": np.ones((2, 2), int)}, "give whole numbers"),
    ({"A": [[1], [1, 2]], "B": [[1]]}, "A: it is [[1], [1, 2]]\n  try: give whole numbers in 2 dimensions"),
    ({"A": [[1 << 15]], "B": [[1]]}, "give -32768..32767"), ({"C": [[1]]}, "there is no input C"),
    ({"stalls": 1}, "it has no streams"), ({"engine": "fabric"}, "fabric")])
def test_what_has_no_room_or_is_no_matrix_is_refused(given: "dict[str, object]", said: str) -> None:
    design = sp.outer_product(lanes=2, ports=1, rows=16, pairs=32)
    with pytest.raises(UserError) as refused:
        design.run(**{"engine": "golden", **given})
    assert said in str(refused.value)


@pytest.mark.parametrize("engine", ["golden", "tokens", "rtl"])
def test_a_list_that_is_longer_than_a_request_follows_is_refused(engine: str) -> None:
    """The Verilog ended with an error that said something else."""
    design = sp.outer_product(lanes=2, ports=1, rows=16, pairs=32, name=KIND.name)
    a, b = (scipy.sparse.csr_array(np.ones(shape, int)) for shape in ((1, 65_536), (65_536, 1)))
    with pytest.raises(UserError, match="the list of a row of the result has 65,536 nodes, and lanes follow up to 65,535\n"
                                        "  try: give A in parts, of fewer columns each, and add the products"):
        design.run(engine, A=a, B=b)
    assert design.run("golden", A=a[:, 1:], B=b[1:]).value.toarray() == 65_535


def test_more_ports_than_lanes_are_refused() -> None:
    with pytest.raises(UserError, match="ports are 4, more than the 2 lanes"):
        sp.outer_product(lanes=2, ports=4)
