"""Random functionality, transforms and skips: an array is refused with a remedy, or gives what NumPy gives."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sardonyx import spatial as sp
from sardonyx.compiler.lang.sparsity import Skip
from sardonyx.hw.arch.errors import UserError

# For NumPy, operands and a result; one term, two, and an operand that is read twice.
STATEMENTS = {
    "C(i,j) = A(i,k) * B(k,j)": ("xik,xkj->xij", "AB"), "C(j,i) = A(k,i) * B(k,j)": ("xki,xkj->xji", "AB"),
    "x(i) = A(i,j) * B(j)": ("xij,xj->xi", "AB"), "x(j) = A(i,j)": ("xij->xj", "A"),
    "C(i,j) = A(i) * B(j)": ("xi,xj->xij", "AB"),
    "C(i,j) = A(i,j) * B(i,j)": ("xij,xij->xij", "AB"), "C(i,j) = A(i,k) * B(k,j) * D(k)": ("xik,xkj,xk->xij", "ABD"),
    "C(i,j) = A(i,k) * A(k,j)": ("xik,xkj->xij", "AA"),
}


@st.composite
def designs(draw: st.DrawFn) -> "tuple[str, sp.Design]":
    """A design that is not refused."""
    statement = draw(st.sampled_from(list(STATEMENTS)))
    functionality = sp.functionality(statement)
    names = functionality.indices
    square = "A(k,j)" in statement      # a tensor read at two places has one shape
    extent = draw(st.integers(1, 4))
    bounds = {index: extent if square else draw(st.integers(1, 4)) for index in names}
    made = [draw(_skips(statement, names)) for _ in range(draw(st.integers(0, 2)))]
    for skip in made:
        if skip.of:
            bounds[skip.indices[0]] = skip.of * draw(st.integers(1, 2))
    # Mostly all indices but one are space, as elastic arrays want it.
    if draw(st.integers(0, 3)):
        *space, time = draw(st.permutations(range(len(names))))
        rows = [[int(at == axis) for at in range(len(names))] for axis in space]
        last = [draw(st.integers(0, 2)) for _ in names]
        rows.append([max(1, each) if at == time else each for at, each in enumerate(last)])
    else:
        rows = [[draw(st.integers(-1, 2)) for _ in names] for _ in names]
    try:
        design = sp.Design(functionality, sp.Transform(rows), bounds, sparsity=made, clock_gate=draw(st.booleans()))
        design._check_runs()
        assert design.spatial and (design.elastic or design.pruned.is_static)
    except UserError as refused:
        assert refused.fix
        assume(False)
    return statement, design


@st.composite
def _skips(draw: st.DrawFn, statement: str, names: "tuple[str, ...]") -> Skip:
    reads = [part.strip() for part in statement.split("=")[1].split("*")]
    read = draw(st.sampled_from(reads))
    at = sp.indices(" ".join(read[2:-1].split(",")))
    element = sp.inputs(read[0])[0](*at)
    index = draw(st.sampled_from(at))
    if draw(st.integers(0, 3)) == 0:
        of = draw(st.integers(2, 4))
        return sp.optimistic_skip(index, where=element == 0, keep=draw(st.integers(1, of - 1)), of=of)
    other = sp.indices(draw(st.sampled_from(names)))[0]
    if draw(st.integers(0, 3)) == 0:
        return sp.skip(index, where=draw(st.sampled_from([index > other, index != other])))
    return sp.skip(index, where=element == 0)


def _exact(found: "tuple[str, sp.Design]", engine: str, stalls: "int | None", operations: int, seed: int) -> None:
    statement, design = found
    given = design.random(operations, seed)
    spec, names = STATEMENTS[statement]
    # `run` compares with the recurrences; here with the statement, of which they are derived.
    product = np.einsum(spec, *(given[name] for name in names))
    assert np.array_equal(design.run(engine, stalls, **given).value, product.astype(np.int32))


@settings(max_examples=25)
@given(found=designs(), operations=st.integers(1, 5), seed=st.integers(0, 1 << 30))
def test_a_random_array_is_refused_with_a_remedy_or_gives_the_words_of_its_statement(
        found: "tuple[str, sp.Design]", operations: int, seed: int) -> None:
    _exact(found, "tokens", None, operations, seed)


@pytest.mark.slow
@settings(max_examples=15)
@given(found=designs(), operations=st.integers(1, 5), stalls=st.none() | st.integers(1, 1 << 30), seed=st.integers(0, 1 << 30))
def test_the_verilog_of_a_random_array_gives_the_words_of_its_statement(
        found: "tuple[str, sp.Design]", operations: int, stalls: "int | None", seed: int) -> None:
    _exact(found, "rtl", stalls, operations, seed)

