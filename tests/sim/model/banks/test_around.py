"""Arrays with private buffers take in engine `tokens` the cycles of their Verilog."""

from collections.abc import Callable
from functools import cache, partial

import numpy as np
import pytest
from buffer_draws import buffered, sparse
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from statement_arrays import Statement

from sardonyx import spatial as sp
from sardonyx.hw.arch.errors import UserError

i, j, k = sp.indices("i j k")
A, B, D = sp.inputs("A B D")
PRODUCT = sp.functionality("C(i,j) = A(i,k) * B(k,j)")
INPUT, OUTPUT, HEXAGONAL = ([[0, 0, 1], [1, 0, 0], [1, 1, 1]], [[1, 0, 0], [0, 1, 0], [1, 1, 1]],
                            [[1, 0, -1], [0, 1, -1], [1, 1, 1]])
ROWS_OF_B, ROWS_OF_A = sp.skip(j, where=B(k, j) == 0), sp.skip(k, where=A(i, k) == 0)
DENSE, CSR, BITS, LISTS = (("dense", last) for last in ("dense", "compressed", "bitvector", "linked list"))
# On which array what is skipped, and how operands are stored.
DESIGNS = {
    "stationary, in chains": (INPUT, [], {"A": DENSE, "B": DENSE}),
    "in step": (OUTPUT, [], {"A": DENSE, "B": DENSE}),
    "in step, one operand": (OUTPUT, [], {"B": DENSE}),
    "a table": (HEXAGONAL, [], {"A": DENSE, "B": DENSE}),
    "optimistic": (OUTPUT, [sp.optimistic_skip(k, where=A(i, k) == 0, keep=1, of=3)], {"A": DENSE, "B": DENSE}),
    "rows": (INPUT, [ROWS_OF_B], {"A": DENSE, "B": CSR}),
    "rows of bits": (INPUT, [ROWS_OF_B], {"A": DENSE, "B": BITS}),
    "rows of lists": (INPUT, [ROWS_OF_B], {"B": LISTS}),
    "dense fibers": (INPUT, [sp.skip(i, where=A(i, k) == 0)], {"B": DENSE}),
    "dealt, and rows chosen": (INPUT, [ROWS_OF_A, ROWS_OF_B], {"A": CSR, "B": CSR}),
    "rows of bits chosen": (INPUT, [ROWS_OF_A, ROWS_OF_B], {"A": BITS, "B": BITS}),
    "rows of lists chosen": (INPUT, [ROWS_OF_A, ROWS_OF_B], {"A": LISTS, "B": LISTS}),
    "rows of levels chosen": (INPUT, [ROWS_OF_A, ROWS_OF_B], {"A": CSR, "B": ("compressed", "compressed")}),
    "rows in lists of lists chosen": (INPUT, [ROWS_OF_A, ROWS_OF_B], {"A": CSR, "B": ("linked list", "linked list")}),
    "whole rows chosen": (INPUT, [ROWS_OF_A], {"B": ("bitvector", "dense")}),
    "dense rows chosen": (INPUT, [ROWS_OF_A], {"B": DENSE}),
    "gathered": (OUTPUT, [ROWS_OF_A], {"A": CSR, "B": DENSE}),
    "gathered by a port": (OUTPUT, [ROWS_OF_A], {"B": DENSE}),
    "searched": (OUTPUT, [ROWS_OF_A], {"A": CSR, "B": CSR}),
    "searched in lists": (OUTPUT, [ROWS_OF_A], {"B": LISTS}),
    "levels behind each other": (INPUT, [ROWS_OF_B], {"B": ("compressed", "compressed")}),
    "levels of lists": (INPUT, [ROWS_OF_B], {"B": ("linked list", "linked list")}),
    "blocks": (INPUT, [ROWS_OF_B], {"B": ("bitvector", "dense")}),
    "blocks with their zeros": (INPUT, [sp.skip(i, where=A(i, k) == 0)], {"B": ("compressed", "dense")}),
    "searched in levels": (OUTPUT, [ROWS_OF_A], {"A": CSR, "B": ("compressed", "bitvector")}),
    "a compressed result": (INPUT, [ROWS_OF_B], {"B": CSR, "C": CSR}),
    "a result of bits": (INPUT, [ROWS_OF_B], {"C": BITS}),
    "a dense result": (INPUT, [ROWS_OF_B], {"B": BITS, "C": DENSE}),
    "a result of lists": (INPUT, [ROWS_OF_B], {"B": LISTS, "C": LISTS}),
}


@cache
def design(name: str, banks: int = 1, operations: int = 1) -> sp.Design:
    rows, skips, buffers = DESIGNS[name]
    # What is gathered is stored column by column, one after the other.
    turned = {"B": (1, 0)} if "gathered" in name or "searched" in name else {}
    # Of a result lists alone gather what several operations give.
    served = {"C": operations if buffers.get("C") == LISTS else 1}
    made = {tensor: sp.Buffer(*levels, words=256 if tensor == "C" else 64, banks=banks if tensor == "B" else 1, node=2,
                              operations=served.get(tensor, operations), order=turned.get(tensor, ()))
            for tensor, levels in buffers.items()}
    return sp.Design(PRODUCT, sp.Transform(rows), {"i": 5, "j": 8, "k": 3}, sparsity=skips, buffers=made)


def operands(array: sp.Design, operations: int, seed: int, shared: int = 1) -> "dict[str, np.ndarray]":
    """Operands from empty to dense, with empty rows, each the same for some operations in a row."""
    random, found = np.random.default_rng(seed), array.random(operations, seed)
    for name, each in found.items():
        each *= random.random(each.shape) < random.choice([0.3, 1])
        each *= random.random((operations, each.shape[1], 1)) < random.random((operations, 1, 1)) * 1.5
        found[name] = each[np.arange(operations) // shared * shared]
    return found


@pytest.mark.parametrize("name,banks,shared", [("in step", 1, 1), ("rows", 3, 4), *(
    pytest.param(*each, marks=pytest.mark.slow) for each in (
    ("stationary, in chains", 1, 1), ("stationary, in chains", 3, 4), ("in step, one operand", 1, 2), ("a table", 1, 1),
    ("optimistic", 1, 1), ("rows", 1, 1), ("rows of bits", 1, 4), ("rows of bits", 3, 1), ("rows of lists", 1, 1),
    ("rows of lists", 1, 4), ("dense fibers", 1, 1), ("dense fibers", 3, 4),
    ("dealt, and rows chosen", 1, 1), ("rows of bits chosen", 1, 2),
    ("rows of lists chosen", 1, 2), ("dense rows chosen", 1, 4), ("gathered", 1, 3), ("gathered by a port", 3, 1),
    ("searched", 3, 2), ("searched in lists", 1, 1),
    ("levels behind each other", 3, 2), ("levels of lists", 1, 1), ("blocks", 1, 1), ("blocks with their zeros", 1, 2),
    ("searched in levels", 1, 1), ("rows of levels chosen", 1, 2), ("rows in lists of lists chosen", 1, 1),
    ("whole rows chosen", 1, 3),
    ("a compressed result", 3, 1), ("a result of bits", 1, 1), ("a dense result", 3, 1),
    ("a result of lists", 1, 1), ("a result of lists", 3, 2)))])
@settings(max_examples=10)
@given(operations=st.integers(1, 5), seed=st.integers(0, 1 << 30))
def test_an_array_with_buffers_takes_the_cycles_of_its_verilog(name: str, banks: int, shared: int, operations: int,
                                                               seed: int) -> None:
    array = design(name, banks, shared)
    operand = operands(array, operations * shared, seed, shared)
    tokens, rtl = (array.run(engine, **operand) for engine in ("tokens", "rtl"))
    assert tokens.cycles is not None and tokens.cycles == rtl.cycles
    assert np.array_equal(tokens.value, rtl.value)


@pytest.mark.parametrize("examples", [1, pytest.param(15, marks=pytest.mark.slow)])
def test_random_arrays_with_buffers_take_the_cycles_of_their_verilog(examples: int) -> None:
    @settings(max_examples=examples, suppress_health_check=[*HealthCheck])
    @given(found=buffered(), operations=st.integers(1, 5), seed=st.integers(0, 1 << 30))
    def holds(found: "tuple[Statement, sp.Design]", operations: int, seed: int) -> None:
        _, array = found
        operand = sparse(array, operations, seed)
        try:
            tokens = array.run("tokens", **operand).cycles
        except UserError as refused:
            assert refused.fix
            assume(False)
        assert tokens is not None
        assert tokens == array.run("rtl", **operand).cycles
    holds()


@pytest.mark.parametrize("name,banks,shared", [("rows", 3, 4), *(
    pytest.param(*each, marks=pytest.mark.slow) for each in (
    ("stationary, in chains", 3, 4), ("in step, one operand", 1, 2), ("rows of bits", 1, 4), ("rows of lists", 1, 4),
    ("dense fibers", 3, 4), ("rows of bits chosen", 1, 2), ("dense rows chosen", 1, 4), ("gathered", 1, 3), ("searched", 3, 2),
    ("a compressed result", 3, 4)))])
@settings(max_examples=10)
@given(operations=st.integers(1, 9), seed=st.integers(0, 1 << 30))
def test_a_tensor_may_serve_more_operations_than_there_are(name: str, banks: int, shared: int, operations: int,
                                                           seed: int) -> None:
    """Words of those beyond come to the array, too, and wait in it, or give results that nobody asked for."""
    array = design(name, banks, shared)
    operand = operands(array, operations, seed, shared)
    tokens, rtl = (array.run(engine, **operand) for engine in ("tokens", "rtl"))
    assert np.array_equal(tokens.value, rtl.value)
    assert tokens.cycles is not None and tokens.cycles == rtl.cycles


@cache
def met(either: bool) -> sp.Design:
    """Two operands find together which elements of B are gathered."""
    of_a, of_d = A(i, k) == 0, D(k, j) == 0
    text, skips = (("(A(i,k) + D(k,j)) * B(k,j)", [sp.skip(k, where=of_a & of_d)]) if either else
                   ("A(i,k) * D(k,j) * B(k,j)", [sp.skip(k, where=of_a), sp.skip(k, where=of_d)]))
    turned = {name: sp.Buffer("dense", last, words=16, order=(1, 0)) for name, last in (("B", "dense"), ("D", "compressed"))}
    return sp.Design(sp.functionality(f"C(i,j) = {text}"), sp.Transform(OUTPUT), {"i": 2, "j": 2, "k": 6}, sparsity=skips,
                     buffers=turned if either else {"B": turned["B"]})


@cache
def moved(kind: str, grain: str) -> sp.Design:
    """Rows, or PEs, take each other's work, and B is gathered by what each has."""
    return sp.Design(PRODUCT, sp.Transform(OUTPUT), {"i": 3 if grain == "row" else 2, "j": 2, "k": 8}, sparsity=[ROWS_OF_A],
                     balance=[sp.shift(i, by=-1, where=k >= 4, grain=grain)],
                     buffers={"B": sp.Buffer("dense", kind, words=16, order=(1, 0))})


@pytest.mark.parametrize("made", [pytest.param(partial(moved, "dense", "row"), id="rows move"), *(
    pytest.param(each, marks=pytest.mark.slow, id=name) for name, each in (
        ("PEs move", partial(moved, "dense", "pe")), ("rows move, searched", partial(moved, "compressed", "row")),
        ("both", partial(met, False)), ("either", partial(met, True))))])
@settings(max_examples=10)
@given(operations=st.integers(1, 7), seed=st.integers(0, 1 << 30))
def test_what_is_gathered_by_two_or_where_work_moves_takes_the_cycles_of_the_verilog(
        made: "Callable[[], sp.Design]", operations: int, seed: int) -> None:
    operand = operands(made(), operations, seed)
    tokens, rtl = (made().run(engine, **operand).cycles for engine in ("tokens", "rtl"))
    assert tokens is not None and tokens == rtl


@cache
def of_rows(shared: int) -> sp.Design:
    """Both operands row by row, of which one tells how long operations are."""
    buffers = {"A": sp.Buffer("dense", "dense", words=64, operations=shared, wide=True),
               "B": sp.Buffer("dense", "dense", words=64, wide=True)}
    return sp.Design(sp.functionality("C(i,j) = A(i,k) * B(k,j)", dtype="int16"),
                     sp.Transform([[0, 0, 1], [0, 1, 0], [1, 1, 1]]), {"i": 10, "j": 4, "k": 4}, short=True, buffers=buffers)


@pytest.mark.parametrize("shared", [3, pytest.param(1, marks=pytest.mark.slow)])
@settings(max_examples=10)
@given(operations=st.integers(1, 9), seed=st.integers(0, 1 << 30))
def test_rows_take_the_cycles_of_the_verilog(shared: int, operations: int, seed: int) -> None:
    array = of_rows(shared)
    operand = operands(array, operations, seed, shared)
    tokens, rtl = (array.run(engine, **operand).cycles for engine in ("tokens", "rtl"))
    assert tokens is not None and tokens == rtl


@pytest.mark.slow
def test_an_array_that_a_bank_fills_word_by_word_comes_to_its_end() -> None:
    """B stays in 256 PEs, and comes to them in as many cycles, in which no port takes or gives a word."""
    array = sp.Design(sp.functionality("C(i,j) = A(i,k) * B(k,j)", dtype="int8"),
                      sp.Transform([[0, 0, 1], [0, 1, 0], [1, 1, 1]]), {"i": 5, "j": 16, "k": 16},
                      buffers={"B": sp.Buffer("dense", "dense", words=256, operations=3)})
    operand = operands(array, 2, 1, 3)
    tokens, rtl = (array.run(engine, **operand).cycles for engine in ("tokens", "rtl"))
    assert tokens is not None and tokens == rtl
