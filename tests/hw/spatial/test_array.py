"""Generated Verilog of spatial arrays gives what the recurrences mean, under stalls and back to back."""

import dataclasses
import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx import designs, functionality
from sardonyx import spatial as sp
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.logic import OPERATIONS
from sardonyx.hw.arch.spatial import Spatial
from sardonyx.hw.emit import collect, texts
from sardonyx.hw.spatial.array.beat import Beat, ShortBeat
from sardonyx.hw.spatial.array.going import GROUP, grouped

# Small, and together of all kinds of ways: staying, moving, passing, a determinant of 3, three axes of space, one.
SMALL = {"matmul_weight_stationary": {"i": 5, "j": 2, "k": 3}, "matmul_broadcast": {"i": 2, "j": 3, "k": 2},
         "matmul_hexagonal": {"i": 2, "j": 2, "k": 3}, "fir_filter": {}, "longest_common": {"i": 4, "j": 3}}


@cache
def design(name: str) -> sp.Design:
    found = designs.design(name)
    return dataclasses.replace(found, bounds={**found.bounds, **SMALL.get(name, {})})


def operands(spatial: Spatial, operations: int, seed: int) -> "dict[str, np.ndarray]":
    random = np.random.default_rng(seed)
    return {tensor.name: random.integers(-1 << tensor.bits - 1, 1 << tensor.bits - 1, (operations, *tensor.shape))
            for tensor in spatial.operands}


@pytest.mark.parametrize("name", SMALL)
@settings(max_examples=10)
@given(operations=st.integers(1, 9), stalls=st.none() | st.integers(1, 1 << 30), seed=st.integers(0, 1 << 30))
def test_every_word_is_that_of_the_recurrences_whatever_stalls(
        name: str, operations: int, stalls: "int | None", seed: int) -> None:
    array = design(name)
    array.run("rtl", stalls, **operands(array.spatial, operations, seed))


@settings(max_examples=10)
@given(operations=st.integers(1, 9), stalls=st.none() | st.integers(1, 1 << 30), seed=st.integers(0, 1 << 30))
def test_an_array_that_waits_by_a_clock_gate_gives_the_same_words_in_the_same_cycles(
        operations: int, stalls: "int | None", seed: int) -> None:
    given = operands(design("matmul_weight_stationary").spatial, operations, seed)
    gated = dataclasses.replace(design("matmul_weight_stationary"), clock_gate=True)
    assert gated.run("rtl", stalls, **given).cycles == design("matmul_weight_stationary").run("rtl", stalls, **given).cycles


def test_what_stops_an_array_leads_to_no_more_parts_than_the_square_root_of_all() -> None:
    for parts in (*range(600), 4096):
        groups = grouped(range(parts))
        assert [part for group in groups for part in group] == list(range(parts))
        assert max(len(groups), *map(len, groups), 0, 0) <= max(GROUP, math.isqrt(parts) + 1)
    array = dataclasses.replace(design("matmul_weight_stationary"), bounds={"i": 4, "j": 5, "k": 4})
    array.run("rtl", 7, **operands(array.spatial, 9, 7))
    text = texts(collect(array.hardware()))["matmul_weight_stationary_wave_enabled"]
    assert [text.count(f".clock_on(on[{n}])") for n in range(3)] == [GROUP, 20 - GROUP, 0], "a PE with what it keeps"


@pytest.mark.parametrize("name", SMALL)
def test_operations_follow_each_other_at_the_interval(name: str) -> None:
    array = design(name)
    rtl, model = (array.run(engine, **operands(array.spatial, 20, 1)).cycles for engine in ("rtl", "tokens"))
    # A cycle into the FIFOs of ports, one to the first PE, one behind the last one; and before the first operation, what is
    # kept goes down the chains.
    over = 3 + max((len(chain.positions) for chain in array.spatial.chains), default=0)
    assert rtl == model == 19 * array.spatial.interval + array.spatial.steps + over


@settings(max_examples=10)
@given(lengths=st.lists(st.integers(1, 5), min_size=1, max_size=9), stalls=st.none() | st.integers(1, 1 << 30),
       seed=st.integers(0, 1 << 30))
def test_operations_that_end_early_leave_out_their_last_steps_and_no_other(
        lengths: "list[int]", stalls: "int | None", seed: int) -> None:
    array = dataclasses.replace(design("matmul_weight_stationary"), short=True)
    given = operands(array.spatial, len(lengths), seed)
    found = array.run("rtl", stalls, lengths=lengths, **given)
    product = given["A"] @ given["B"]
    for at, length in enumerate(lengths):
        assert np.array_equal(found.value[at, :length], product[at, :length].astype(np.int32))
        assert not found.value[at, length:].any()


def test_operations_that_end_early_take_their_steps_or_those_of_what_enters() -> None:
    array = dataclasses.replace(design("matmul_weight_stationary"), short=True)
    lengths = [5, 1, 2, 4, 3]
    rtl, tokens = (array.run(engine, lengths=lengths, **operands(array.spatial, 5, 1)).cycles for engine in ("rtl", "tokens"))
    # Chains of three: an operation of one or two steps ends before the words of the next one are there.
    steps = sum(lengths) + array.spatial.steps - array.spatial.launches
    assert rtl == tokens == steps + 3 + 3 + (3 - 1) + (3 - 2)


def test_operations_that_take_their_first_word_late_end_when_no_more_words_come() -> None:
    i, j = sp.indices("i j")
    (A,), (X,), (x,) = sp.inputs("A"), sp.outputs("X"), sp.variables("x", dtype="int16")
    late = sp.Design(sp.functionality(x(i, j.lower).eq(1), x(i, 4).eq(x(i, j - 1) + A(i)), x(i, j).eq(x(i, j - 1) * 2),
                                      X(i).eq(x(i, j.upper))), sp.Transform([[1, 0], [0, 1]]), {"i": 2, "j": 8})
    for stalls in (None, 1, 2):
        late.run("rtl", stalls, A=np.arange(14).reshape(7, 2))


def test_an_operation_whose_first_port_takes_more_words_begins_when_those_before_have_all_of_theirs() -> None:
    i, k = sp.indices("i k")
    (X,), (C,), (c,) = sp.inputs("X"), sp.outputs("C"), sp.variables("c", dtype="int32")
    design = sp.Design(sp.functionality(c(i, 0).eq(1), c(i, 1).eq(c(i, k - 1) * 3), c(i, k).eq(c(i, k - 1) * 2 + X(i, k - 2)),
                                        C(i).eq(c(i, k.upper))), sp.Transform([[0, 1], [1, 1]]), {"i": 5, "k": 8})
    for stalls in (None, 3):
        design.run("rtl", stalls, **operands(design.spatial, 5, 1))


def test_many_steps_without_a_word_are_no_end() -> None:
    design = sp.Design(sp.functionality("C(i,j) = A(i,k) * B(k,j)"), sp.Transform([[0, 0, 1], [1, 0, 0], [1, 1, 300]]),
                       {"i": 2, "j": 2, "k": 2})
    assert design.run("rtl").cycles > 300


@pytest.mark.slow
@pytest.mark.parametrize("name", designs.names())
def test_every_design_that_is_shipped_gives_the_words_of_its_recurrences(name: str) -> None:
    array = designs.any_design(name)
    # Convolvers and outer products do one operation after the other, and these have no streams that could wait.
    given = array.random(7 if isinstance(array, sp.Design | sp.MergerDesign) else 1, 5)
    for stalls in (None,) if isinstance(array, sp.OuterProductDesign) else (None, 1, 2, 3):
        array.run("rtl", stalls, **given)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_arrays_of_random_transforms_give_the_words_of_their_recurrences(seed: int) -> None:
    random = np.random.default_rng(seed)
    statement = ("C(i,j) = A(i,k) * B(k,j)", "X(i,j,k) = A(i,j) * B(k) + D(k,j)", "x(i) = A(i,j,k) * B(j) * B(k)")[seed % 3]
    while True:
        bounds = {index: int(random.integers(1, 6)) for index in "ijk"}
        rows = [*random.integers(-1, 2, (2, 3)).tolist(), random.integers(0, 3, 3).tolist()]
        try:
            array = sp.Design(sp.functionality(statement), sp.Transform(rows), bounds)
            spatial = array.spatial
        except UserError:
            continue
        # A quarter has no wave, half has chains for sure.
        if bool(seed % 4) == any(spatial.wave) and (seed % 4 < 2 or spatial.chains):
            break
    for stalls in (None, 1, 2):
        array.run("rtl", stalls, **operands(spatial, 5, seed))


@pytest.mark.slow
def test_a_large_array_gives_the_words_of_its_recurrences() -> None:
    array = dataclasses.replace(designs.design("matmul_weight_stationary"), bounds={"i": 37, "j": 16, "k": 16})
    result = array.run("rtl", **operands(array.spatial, 60, 3))
    assert result.report["utilisation"] > 0.95     # type: ignore[operator]


def test_every_operation_is_exact_and_its_result_wraps() -> None:
    i, j = sp.indices("i j")
    A, B = sp.inputs("A B", dtype="int8")
    a, b = sp.variables("a b")
    variables = {name: sp.variables(f"v_{name}", dtype="int8")[0] for name in OPERATIONS}
    made = [a(i, j).eq(A(j)), b(i, j).eq(B(j))]
    for name, variable in variables.items():
        takes = (a(i, j), b(i, j), a(i, j) + b(i, j))[:OPERATIONS[name].operands]
        made += [variable(i, j).eq(functionality._call(name, *takes)), sp.outputs(f"R_{name}")[0](j).eq(variable(0, j))]
    ends = np.array([-128, -127, -1, 0, 1, 2, 126, 127])
    array = sp.Design(sp.functionality(*made), sp.Transform([[1, 0], [0, 1]]), {"i": 1, "j": 64})
    found = array.run("rtl", A=np.repeat(ends, 8), B=np.tile(ends, 8)).value
    assert found["R_select"].tolist() == np.where(np.repeat(ends, 8) != 0, np.tile(ends, 8), (
        np.repeat(ends, 8) + np.tile(ends, 8)).astype(np.int8)).tolist()
    assert found["R_mul"].tolist() == (np.repeat(ends, 8) * np.tile(ends, 8)).astype(np.int8).tolist()


@pytest.mark.parametrize("sizes", [(4, 0), (4, 4)])
def test_a_short_beat_without_a_step_to_end_at_is_refused(sizes: "tuple[int, int]") -> None:
    with pytest.raises(ValueError, match="it is 1 or more, and not behind the last"):
        ShortBeat(*sizes)


@pytest.mark.parametrize("sizes", [(0, 1), (1, 0)])
def test_a_beat_without_steps_or_interval_is_refused(sizes: "tuple[int, int]") -> None:
    with pytest.raises(ValueError, match="both are 1 or more"):
        Beat(*sizes)
