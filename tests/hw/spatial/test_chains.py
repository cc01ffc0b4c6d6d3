"""Arrays get the very same words of buffers in which levels without zeros are above others, whatever these are."""

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx import spatial as sp
from sardonyx.hw.arch.errors import UserError
from sardonyx.runtime.data import fibers
from sardonyx.runtime.data.private_buffers import filled
from sardonyx.sim.model import private_buffer as model

i, j, k = sp.indices("i j k")
A, B = sp.inputs("A B")
PRODUCT = sp.functionality("C(i,j) = A(i,k) * B(k,j)")
INPUT, BY_ROWS = sp.Transform([[0, 0, 1], [1, 0, 0], [1, 1, 1]]), sp.Transform([[1, 0, 0], [0, 1, 0], [1, 1, 1]])
ROWS_OF_B, COLUMNS_OF_A, ROWS_OF_A, WHOLE = (sp.skip(j, where=B(k, j) == 0), sp.skip(i, where=A(i, k) == 0),
                                             sp.skip(k, where=A(i, k) == 0), sp.skip(k, where=A(i, ...) == 0))
CSR = ("dense", "compressed")
# Functionality, transform, what is skipped, and how operands are stored.
DESIGNS = {
    "doubly compressed": (PRODUCT, INPUT, [ROWS_OF_B], {"B": ("compressed", "compressed")}),
    "bits of bits": (PRODUCT, INPUT, [ROWS_OF_B], {"B": ("bitvector", "bitvector")}),
    "lists of lists": (PRODUCT, INPUT, [ROWS_OF_B], {"B": ("linked list", "linked list")}),
    "block rows, without zeros": (PRODUCT, INPUT, [ROWS_OF_B], {"B": ("compressed", "dense")}),
    "block rows, with zeros": (PRODUCT, INPUT, [COLUMNS_OF_A], {"B": ("bitvector", "dense")}),
    "rows that are whole or empty": (PRODUCT, BY_ROWS, [WHOLE], {"A": ("compressed", "dense")}),
    "searched": (PRODUCT, BY_ROWS, [ROWS_OF_A], {"A": CSR, "B": ("compressed", "bitvector")}),
    "searched blocks": (PRODUCT, BY_ROWS, [ROWS_OF_A], {"A": ("linked list", "compressed"), "B": ("compressed", "dense")}),
    "dealt": (PRODUCT, INPUT, [COLUMNS_OF_A, ROWS_OF_B], {"A": ("compressed", "compressed"), "B": ("bitvector", "compressed")}),
    "three levels": (sp.functionality("C(i,k,j) = A(i,k) * B(i,k,j)"), sp.Transform([[1, 0, 0], [0, 1, 0], [0, 0, 1]]),
                     [sp.skip(j, where=B(i, k, j) == 0)], {"B": ("compressed", "dense", "compressed")}),
}
QUICK = ("dealt", "searched blocks")


@cache
def design(name: str) -> sp.Design:
    functionality, transform, skips, buffers = DESIGNS[name]
    made = {tensor: sp.Buffer(*levels, words=32, node=2,
                              order=(1, 0) if (name, tensor) == ("dealt", "A") else (1, 0, 2) if len(levels) == 3 else ())
            for tensor, levels in buffers.items()}
    return sp.Design(functionality, transform, {"i": 5, "j": 4, "k": 3}, sparsity=skips, buffers=made)


def operands(array: sp.Design, operations: int, seed: int) -> "dict[str, np.ndarray]":
    """From all empty to dense, with empty rows and columns."""
    random, found = np.random.default_rng(seed), array.random(operations, seed)
    for each in found.values():
        for axis in (1, 2):
            shape = [operations, 1, *each.shape[2:]] if axis == 2 else [*each.shape[:2], *[1] * (each.ndim - 2)]
            each *= random.random(shape) < random.random([operations, *[1] * (each.ndim - 1)]) * 1.5
    return found


@pytest.mark.parametrize("name", DESIGNS)
@settings(max_examples=12)
@given(operations=st.integers(1, 5), seed=st.integers(0, 1 << 30))
def test_a_chain_gives_the_very_words_that_ports_take(name: str, operations: int, seed: int) -> None:
    array = design(name)
    assert array.elastic is not None
    words = operands(array, operations, seed)
    golden = fibers.fed(array.elastic, words)
    for buffer in array.private:
        found = model.given(buffer, filled(buffer, words[buffer.tensor]), operations, golden)
        assert found == {port: golden[port] for port in found} and found
    array.run("tokens", **words)


@pytest.mark.parametrize("name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in DESIGNS])
@settings(max_examples=6)
@given(operations=st.integers(1, 5), stalls=st.none() | st.integers(1, 1 << 30), seed=st.integers(0, 1 << 30))
def test_the_verilog_of_an_array_with_chains_is_exact_whatever_stalls(
        name: str, operations: int, stalls: "int | None", seed: int) -> None:
    design(name).run("rtl", stalls, **operands(design(name), operations, seed))


def of(levels: "tuple[str, ...]", skips: "list[sp.Skip]", tensor: str = "B", transform: sp.Transform = INPUT,
       **options: int) -> sp.Design:
    return sp.Design(PRODUCT, transform, {"i": 5, "j": 4, "k": 3}, sparsity=skips,
                     buffers={tensor: sp.Buffer(*levels, **{"words": 32} | options)})     # type: ignore[arg-type]


@pytest.mark.parametrize("made,said", [
    (lambda: of(("compressed", "dense"), []), "a level is compressed, but the array takes zeros of B, too"),
    (lambda: of(("compressed", "dense"), [ROWS_OF_A], transform=BY_ROWS, words=512),
     "a level is compressed, whose elements are found by comparing, 256 in a bank, which has 512 words"),
    (lambda: sp.Design(PRODUCT, INPUT, {"i": 2, "j": 40, "k": 3}, sparsity=[ROWS_OF_B],
                       buffers={"B": sp.Buffer("compressed", "dense", words=32)}),
     "dense levels behind one that is not have 40 values in a bank, which has 32 words"),
])
def test_chains_that_do_not_feed_the_array_are_refused_with_a_remedy(made: "Callable[[], sp.Design]", said: str) -> None:
    with pytest.raises(UserError) as refused:
        made().hardware()
    assert said in refused.value.what and refused.value.fix
