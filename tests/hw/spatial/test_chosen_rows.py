"""A buffer gives whole rows that the nonzeros of another operand choose, whenever these are known."""

from functools import cache

import numpy as np
import pytest
import tiled_products
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx import spatial as sp
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.private_buffer import Bank, Level, Loop
from sardonyx.hw.arch.token import MAYBE, stop
from sardonyx.hw.spatial.buffer.row_bank import RowBank
from sardonyx.runtime.data import fibers
from sardonyx.runtime.data.private_buffers import filled
from sardonyx.sim.model import private_buffer as model
from sardonyx.sim.rtl.bench import Bench

i, j, k, n = sp.indices("i j k n")
A, B = sp.inputs("A B", dtype="int8")
PRODUCT = sp.functionality("C(i,j) = A(i,k) * B(k,j)", dtype="int8")
BY_ROWS = sp.Transform([[0, 0, 1], [1, 0, 0], [1, 1, 1]])
CHOSEN, WITHOUT_ZEROS = sp.skip(k, where=A(i, k) == 0), sp.skip(j, where=B(k, j) == 0)
CSR, DENSE = sp.Buffer("dense", "compressed", words=64), sp.Buffer("dense", "dense", words=64)
BANK = {"bits": 8, "levels": (Level("dense", 2), Level("compressed", 4)), "words": 16, "first": 0, "first_sink": 0,
        "loops": (Loop(2, 1, 0),), "sinks": 2, "form": "fiber", "paired": True, "depth": 5, "bases": (0, 0), "whole": True}
stalls = st.none() | st.integers(1, 1 << 30)


@cache
def design(name: str) -> sp.Design:
    """Products row by row (Gustavson): B without zeros in each format, the same one for two operations, with zeros; and those
    of a batch, all rows of B in one bank, or with zeros, of each product in a bank of its own."""
    if name.startswith("batch"):
        whole = sp.functionality("C(n,i,j) = A(n,i,k) * B(n,k,j)", dtype="int8")
        rows = sp.Transform([[1, 0, 0, 0], [0, 0, 0, 1], [0, 1, 0, 0], [1, 1, 1, 1]])
        kind = sp.Buffer("dense", "dense", "dense", words=64, banks=2) if name == "batch, banks" else \
            sp.Buffer("dense", "dense", {"batch": "compressed", "batch, bits": "bitvector"}[name], words=64, order=(1, 0, 2))
        skips = [sp.skip(k, where=A(n, i, k) == 0), *([] if name == "batch, banks" else [sp.skip(j, where=B(n, k, j) == 0)])]
        return sp.Design(whole, rows, {"n": 2, "i": 1, "j": 4, "k": 3}, sparsity=skips, buffers={"B": kind})
    of_b = {"sparse": CSR, "shared": sp.Buffer("dense", "compressed", words=64, operations=2), "dense": DENSE,
            "bits": sp.Buffer("dense", "bitvector", words=64), "lists": sp.Buffer("dense", "linked list", words=64, node=2),
            "shared bits": sp.Buffer("dense", "bitvector", words=64, operations=2),
            "shared lists": sp.Buffer("dense", "linked list", words=64, operations=2)}[name]
    skips = [CHOSEN, *([] if name == "dense" else [WITHOUT_ZEROS])]
    return sp.Design(PRODUCT, BY_ROWS, {"i": 2, "j": 20 if "bits" in name else 5, "k": 3}, sparsity=skips,
                     buffers={"A": CSR, "B": of_b}, name="chosen")


DESIGNS = ("sparse", "shared", "dense", "bits", "lists", "shared bits", "shared lists", "batch", "batch, bits", "batch, banks")
QUICK = ("shared", "bits", "shared lists")


def operands(array: sp.Design, operations: int, seed: int) -> "dict[str, np.ndarray]":
    """From empty to dense, with empty rows of both."""
    random, found = np.random.default_rng(seed), array.random(operations, seed)
    for each in found.values():
        each *= random.random((*each.shape[:-1], 1)) < 0.8
    if (shared := array.private[-1].banks[0].operations) > 1:
        found["B"] = np.repeat(found["B"], shared, axis=0)[:operations]
    return found


@cache
def bench(whole: bool, bits: int = 8) -> Bench:
    loops = (Loop(4, 1, 0), Loop(2, 4, 0)) if whole else BANK["loops"]
    levels = (Level("dense", 2), Level("dense" if whole else "compressed", 4))
    made = BANK | {"levels": levels, "loops": loops, "bits": bits}
    return Bench(RowBank(Bank(**made), "rows"))      # type: ignore[arg-type]


def test_a_port_gets_the_fiber_at_the_coordinate_that_it_asks_for() -> None:
    found = bench(False).run({"level": [3, 0, 1, 3, 3, 2, 0, 3], "values": [3, 7, 8, 9], "ask0": [1], "ask1": [MAYBE]})
    assert found.outputs["o0"] == [0 << 8 | 8, 3 << 8 | 9, stop(1) << 8] and found.outputs["o1"] == [stop(1) << 8]
    assert not found.status["fault"] and not found.left


@pytest.mark.parametrize("bits", [16, pytest.param(8, marks=pytest.mark.slow)])
def test_of_a_dense_level_it_gets_zeros_for_none(bits: int) -> None:
    found = bench(True, bits).run({"values": [8, *range(1, 9)], "ask0": [MAYBE], "ask1": [1]})
    assert found.outputs["o0"] == [crd << bits for crd in (*range(4), stop(0))]
    assert found.outputs["o1"] == [0 << bits | 5, 1 << bits | 6, 2 << bits | 7, 3 << bits | 8, stop(0) << bits]
    assert not found.status["fault"] and not found.left


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_coordinate_beyond_the_last_is_a_fault(whole: bool) -> None:
    fills = {"values": [8, *range(8)]} if whole else {"level": [3, 0, 1, 3, 3, 2, 0, 3], "values": [3, 7, 8, 9]}
    assert bench(whole).run(fills | {"ask0": [2], "ask1": [0]}).status["fault"]


@pytest.mark.parametrize("name", DESIGNS)
@settings(max_examples=6)
@given(operations=st.integers(1, 5), seed=st.integers(0, 1 << 30))
def test_rows_that_are_chosen_are_the_very_ones_that_ports_take(name: str, operations: int, seed: int) -> None:
    array = design(name)
    assert array.elastic is not None
    words = operands(array, operations, seed)
    golden, buffer = fibers.fed(array.elastic, words), array.private[-1]
    given = model.given(buffer, filled(buffer, words["B"]), operations, golden)
    assert given == {port: golden[port] for port in given} and len(given) == 6
    assert array.run("tokens", **words).report["operations"] == operations


@pytest.mark.parametrize("name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in DESIGNS])
@settings(max_examples=8)
@given(operations=st.integers(1, 5), seed=st.integers(0, 1 << 30), stalls=stalls)
def test_a_product_row_by_row_is_exact_whatever_stalls(name: str, operations: int, seed: int, stalls: "int | None") -> None:
    array = design(name)
    array.run("rtl", stalls, **operands(array, operations, seed))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sparse", "bits", "lists"])
def test_200_products_row_by_row_of_matrices_without_zeros_are_exact(name: str) -> None:
    array = design(name)
    for seed in range(1, 201):
        array.run("rtl", seed, **operands(array, 3, seed))


@pytest.mark.slow
def test_a_product_row_by_row_goes_from_memory_to_memory() -> None:
    """All matrices in CSR, two rows of A at a time, with the same B of 3 x 5."""
    random = np.random.default_rng(1)
    a, b = (random.integers(-128, 128, shape) * (random.random(shape) < 0.5) for shape in ((4, 3), (3, 5)))
    assert np.array_equal(tiled_products.product(design("shared"), a, tiled_products.csr(b), 5), a @ b)


def test_explain_says_by_whose_coordinates() -> None:
    assert design("sparse").explain().text.splitlines()[-8].endswith(
        "a bank of 64 words, twice: 6 ports gather fibers by the coordinates of A_0_0, A_1_0, A_2_0, A_0_1, A_1_1, A_2_1")


@pytest.mark.parametrize("kind,skips,said", [
    *((kind, [CHOSEN], f"its last level is {kind}, but the array takes every j")
      for kind in ("compressed", "bitvector", "linked list")),
    ("dense", [CHOSEN, WITHOUT_ZEROS], "its last level is dense, but the array takes no zeros of B"),
])
def test_rows_that_a_format_does_not_give_are_refused(kind: str, skips: "list[object]", said: str) -> None:
    with pytest.raises(UserError) as refused:
        sp.Design(PRODUCT, BY_ROWS, {"i": 2, "j": 5, "k": 3}, sparsity=skips,     # type: ignore[arg-type]
                  buffers={"B": sp.Buffer("dense", kind, words=64)}).hardware()
    assert said in refused.value.what and refused.value.fix and refused.value.where == "buffers: B"


@pytest.mark.parametrize("changed,said", [
    ({"bases": ()}, "whole but no port asks for a fiber"),
    ({"loops": ()}, "whole but it is not said along what ports ask"),
    ({"loops": (Loop(4, 1, 0), Loop(2, 4, 0))}, "bases are 2 of 2 sinks, or there is a request, too"),
    ({"first_sink": 1}, "bases are 2 of 2 sinks, or there is a request, too"),
])
def test_a_bank_that_cannot_give_rows_is_refused(changed: "dict[str, object]", said: str) -> None:
    assert Bank(**BANK).whole          # type: ignore[arg-type]
    with pytest.raises(UserError) as refused:
        Bank(**BANK | changed)          # type: ignore[arg-type]
    assert said in refused.value.what
