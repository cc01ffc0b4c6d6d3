"""Random functionality, transforms, skips and balances: an array gives what NumPy gives, or is refused with a remedy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from recurrence_draws import programs, transforms
from recurrence_programs import Program
from statement_arrays import Statement, designs

from sardonyx import spatial as sp
from sardonyx.hw.arch.errors import UserError
from sardonyx.sparsity import Counted

RUNS = {"operations": st.integers(1, 4), "seed": st.integers(0, 1 << 30)}
STALLS = st.none() | st.integers(1, 1 << 30)
# The ways in which a program is no array that its grammar leaves open.
NO_INPUT, WIDE = "the results depend on no input", "assign parts of it to variables: at most 128 bits are computed at once"

i, j, k = sp.indices("i j k")
# By reduction: itself, what NumPy calls it, a value that changes nothing where operands are 0, and with what it may begin then.
BEGUN: "dict[str, tuple[Callable[[Any, Any], Any], np.ufunc, Callable[[Any, Any], Any], list[int]]]" = {
    "sum": (lambda c, value: c + value, np.add, lambda a, b: a * b, [0, 7, -3]),
    "product": (lambda c, value: c * value, np.multiply, lambda a, b: a * b + 1, [0, 1, 3, -2]),
    "largest": (sp.maximum, np.maximum, lambda a, b: a * b, [0, 1, 9]),
    "smallest": (sp.minimum, np.minimum, lambda a, b: a * b + 1, [1, 0, -9])}
DATAFLOWS = ([[1, 0, 0], [0, 1, 0], [1, 1, 1]], [[0, 0, 1], [0, 1, 0], [1, 1, 1]], [[0, 0, 1], [1, 0, 0], [1, 1, 1]],
             [[1, 0, -1], [0, 1, -1], [1, 1, 1]])


def _runs_as_it_means(program: Program, transform: sp.Transform, engine: str, stalls: "int | None", operations: int,
                      seed: int) -> None:
    """`run` compares an engine with the golden model; here that is compared with what the program means."""
    design = sp.Design(program.functionality, transform, program.bounds)
    try:
        given = design.random(operations, seed)
        value = design.run(engine, stalls, **given).value
    except UserError as refused:
        assert refused.what == NO_INPUT or refused.fix == WIDE
        assume(False)
    found = value if isinstance(value, dict) else dict.fromkeys(program.outputs, value)
    for operation in range(operations):
        for name, elements in program.meaning({each: array[operation] for each, array in given.items()}).items():
            assert {at: found[name][(operation, *at)] for at in elements} == elements


def _is_exact(found: "tuple[Statement, sp.Design]", engine: str, stalls: "int | None", operations: int, seed: int) -> None:
    statement, design = found
    try:
        given = design.random(operations, seed)
        value = design.run(engine, stalls, **given).value
    except UserError as refused:
        assert refused.fix
        assume(False)
    for operation in range(operations):
        assert np.array_equal(value[operation], statement.meaning({name: array[operation] for name, array in given.items()}))


@settings(max_examples=60)
@given(data=st.data(), **RUNS)
def test_random_recurrences_give_what_they_mean(data: st.DataObject, operations: int, seed: int) -> None:
    program = data.draw(programs())
    _runs_as_it_means(program, data.draw(transforms(program)), "tokens", None, operations, seed)


@settings(max_examples=60)
@given(found=designs(), **RUNS)
def test_a_random_statement_is_refused_with_a_remedy_or_gives_what_it_means(
        found: "tuple[Statement, sp.Design]", operations: int, seed: int) -> None:
    _is_exact(found, "tokens", None, operations, seed)


@settings(max_examples=100)
@given(data=st.data(), name=st.sampled_from([*BEGUN]), on=st.sampled_from([i, j]), far=st.integers(-1, 2),
       extents=st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 5)), seed=st.integers(0, 1 << 30))
def test_a_reduction_keeps_what_it_begins_with_under_skips_on_indices(
        data: st.DataObject, name: str, on: Counted, far: int, extents: "tuple[int, int, int]", seed: int) -> None:
    (A, B), (c,), (C,) = sp.inputs("A B", dtype="int8"), sp.variables("c"), sp.outputs("C")
    by, meant, value, numbers = BEGUN[name]
    begins = data.draw(st.sampled_from(numbers))
    whole = sp.functionality(c(i, j, k.lower).eq(begins), c(i, j, k).eq(by(c(i, j, k - 1), value(A(i, k), B(k, j)))),
                             C(i, j).eq(c(i, j, k.upper)))
    skipped = data.draw(st.sampled_from([(k,), (on,), (on, k)]))
    where = data.draw(st.sampled_from([k != on + far, k < on + far, k > on + far]))
    design = sp.Design(whole, sp.Transform(data.draw(st.sampled_from(DATAFLOWS))), dict(zip("ijk", extents)),
                       sparsity=[sp.skip(*skipped, where=where)])
    try:
        given = design.random(2, seed)
        found = design.run("tokens", **given).value
    except UserError as refused:
        assert refused.what.startswith(("C(", "nothing is left of C"))
        assume(False)
    a, b = given["A"].astype(np.int32)[:, :, :, None], given["B"].astype(np.int32)[:, None]
    assert np.array_equal(found, meant.reduce(value(a, b), axis=2, initial=begins, dtype=np.int32))


@pytest.mark.slow
@settings(max_examples=1000)
@given(data=st.data(), **RUNS)
def test_many_random_recurrences_give_what_they_mean(data: st.DataObject, operations: int, seed: int) -> None:
    program = data.draw(programs())
    _runs_as_it_means(program, data.draw(transforms(program)), "tokens", None, operations, seed)


@pytest.mark.slow
@settings(max_examples=1000)
@given(found=designs(), **RUNS)
def test_many_random_statements_are_refused_with_a_remedy_or_give_what_they_mean(
        found: "tuple[Statement, sp.Design]", operations: int, seed: int) -> None:
    _is_exact(found, "tokens", None, operations, seed)


@pytest.mark.slow
@settings(max_examples=15)
@given(data=st.data(), stalls=STALLS, **RUNS)
def test_the_verilog_of_random_recurrences_gives_what_they_mean(data: st.DataObject, operations: int, seed: int,
                                                                stalls: "int | None") -> None:
    program = data.draw(programs())
    _runs_as_it_means(program, data.draw(transforms(program)), "rtl", stalls, operations, seed)


@pytest.mark.slow
@settings(max_examples=15)
@given(found=designs(), stalls=STALLS, **RUNS)
def test_the_verilog_of_a_random_statement_gives_what_it_means(
        found: "tuple[Statement, sp.Design]", operations: int, stalls: "int | None", seed: int) -> None:
    _is_exact(found, "rtl", stalls, operations, seed)
