"""Buffers give the elements of fibers to ports of their own where values say which elements a port takes."""

from collections.abc import Callable
from functools import cache, partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx import spatial as sp
from sardonyx.hw.arch.private_buffer import Bank, Level, Loop
from sardonyx.hw.spatial.buffer.private_buffer import PrivateBank
from sardonyx.runtime.data import fibers
from sardonyx.runtime.data.private_buffers import filled
from sardonyx.sim.model import private_buffer as model
from sardonyx.sim.rtl.bench import Bench

i, j, k = sp.indices("i j k")
A, B = sp.inputs("A B")
KINDS = ("compressed", "bitvector", "linked list")


@cache
def by_rows() -> sp.Design:
    """A product row by row (Gustavson): the elements of a row of A go to PEs of their own."""
    return sp.Design(sp.functionality("C(i,j) = A(i,k) * B(k,j)"), sp.Transform([[0, 0, 1], [1, 0, 0], [1, 1, 1]]),
                     {"i": 3, "j": 6, "k": 4}, sparsity=[sp.skip(k, where=A(i, k) == 0), sp.skip(j, where=B(k, j) == 0)],
                     buffers={"A": sp.Buffer("dense", "compressed", words=64)})


@cache
def design(kind: str, banks: int = 1) -> sp.Design:
    """An outer product whose operands and result are stored without zeros: A by columns, B and C by rows."""
    return sp.Design(sp.functionality("C(i,j) = A(i,k) * B(k,j)"), sp.Transform([[0, 0, 1], [1, 0, 0], [1, 1, 1]]),
                     {"i": 3, "j": 6, "k": 4}, sparsity=[sp.skip(i, where=A(i, k) == 0), sp.skip(j, where=B(k, j) == 0)],
                     buffers={"A": sp.Buffer("dense", kind, words=64, order=(1, 0), banks=banks, node=2),
                              "B": sp.Buffer("dense", "compressed", words=64), "C": sp.Buffer("dense", "compressed", words=32)})


@pytest.mark.parametrize("made", [*(partial(design, kind) for kind in KINDS), partial(design, "compressed", 2), by_rows])
@settings(max_examples=10)
@given(operations=st.integers(1, 4), seed=st.integers(0, 1 << 30))
def test_a_buffer_deals_the_very_words_that_ports_take(made: "Callable[[], sp.Design]", operations: int, seed: int) -> None:
    array = made()
    operands = array.random(operations, seed)
    assert array.elastic is not None
    golden = fibers.fed(array.elastic, operands)
    given_words = model.given(array.private[0], filled(array.private[0], operands["A"]), operations)
    assert given_words == {name: golden[name] for name in given_words} and len(given_words) == 12
    array.run("tokens", **operands)


@pytest.mark.parametrize("kind,banks", [("compressed", 1), *(pytest.param(*each, marks=pytest.mark.slow) for each in (
    ("bitvector", 1), ("linked list", 1), ("compressed", 2)))])
@settings(max_examples=6)
@given(operations=st.integers(1, 4), seed=st.integers(0, 1 << 30), stalls=st.none() | st.integers(1, 1 << 30))
def test_the_verilog_of_an_outer_product_without_zeros_on_any_side_is_exact(
        kind: str, banks: int, operations: int, seed: int, stalls: "int | None") -> None:
    array = design(kind, banks)
    array.run("rtl", stalls, **array.random(operations, seed))


def test_an_element_without_a_port_is_a_fault() -> None:
    bank = Bank(16, (Level("dense", 2), Level("compressed", 4)), 16, 0, 0, (Loop(2, 1, 2),), 4, "word", True, dealt=2)
    bench = Bench(PrivateBank(bank, "bank"))
    fits = bench.run({"level": [3, 0, 1, 3, 3, 2, 0, 3], "values": [3, 7, 8, 9]})
    assert not fits.status["fault"] and not any(len(words) != 1 for words in fits.outputs.values())
    assert bench.run({"level": [3, 0, 3, 3, 3, 0, 1, 2], "values": [3, 7, 8, 9]}).status["fault"]

