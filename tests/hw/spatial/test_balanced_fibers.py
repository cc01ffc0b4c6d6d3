"""Balanced arrays whose PEs give fibers are exact in all engines, never stand still, and take the time of the mean load."""

import dataclasses
from functools import cache

import numpy as np
import pytest
from elastic_arrays import check_verilog, operands
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx import spatial as sp
from sardonyx.hw.arch.elastic import ALIGNED, FIBER, Balance, Elastic, Link, Taken, Unit, Worker
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.logic import Feed
from sardonyx.runtime.data.fibers import collected, fed
from sardonyx.sim.model.elastic import simulate

i, j, k = sp.indices("i j k")
A, B, D = sp.inputs("A B D")
PRODUCT = sp.functionality("C(i,j) = A(i,k) * B(k,j)")
# Of which A stays in its PE, and sums leave as fibers along j.
STATIONARY = [[0, 0, 1], [1, 0, 0], [1, 1, 1]]
SKIP = [sp.skip(j, where=B(k, j) == 0)]
SHIFT, QUEUE = sp.shift(k, by=-1, where=j >= 4), sp.work_queue(k, where=j >= 4)


def largest() -> object:
    (best,), (C,) = sp.variables("best", dtype="int32"), sp.outputs("C")
    return sp.functionality(best(i, j, k.lower).eq(0), best(i, j, k).eq(sp.maximum(best(i, j, k - 1), A(i, k) * B(k, j))),
                            C(i, j).eq(best(i, j, k.upper)))


# Functionality, transform, extents, skips, balance; of the first one Verilog is made in every run of the tests.
DESIGNS = {
    "shift": (PRODUCT, STATIONARY, (2, 9, 3), SKIP, [SHIFT]),
    "queue": (PRODUCT, STATIONARY, (2, 9, 4), SKIP, [QUEUE]),
    "to the first": (PRODUCT, STATIONARY, (1, 7, 3), SKIP, [sp.shift(k, to=0, where=j >= 1)]),
    "PEs, shift": (PRODUCT, STATIONARY, (2, 9, 3), SKIP, [sp.shift(k, by=-1, where=j >= 4, grain="pe")]),
    "PEs, queue": (PRODUCT, STATIONARY, (2, 9, 3), SKIP, [sp.work_queue(k, where=j >= 6, grain="pe")]),
    "the first part of two rows": (PRODUCT, STATIONARY, (2, 9, 4), SKIP, [sp.shift(k, to=0, where=(j < 6) & (k > 1))]),
    "some PEs": (PRODUCT, STATIONARY, (3, 9, 2), SKIP, [sp.shift(k, by=-1, where=(j >= 4) & (i < 2), grain="pe")]),
    "the largest": (largest(), STATIONARY, (2, 9, 3), SKIP, [QUEUE]),
    "either of two": (sp.functionality("C(i,j) = A(i,j) + B(i,j)"), [[1, 0], [1, 1]], (3, 9),
                      [sp.skip(j, where=(A(i, j) == 0) & (B(i, j) == 0))], [sp.work_queue(i, where=j >= 4)]),
    "handed on in a row": (sp.functionality("C(i,j) = A(i,k) * B(k,j) * D(i,j)"), [[1, 0, 0], [0, 0, 1], [1, 1, 1]], (3, 9, 2),
                           [sp.skip(j, where=D(i, j) == 0)], [sp.shift(i, by=1, where=j >= 4)]),
}


@cache
def design(name: str) -> sp.Design:
    functionality, rows, extents, skips, balance = DESIGNS[name]
    bounds = dict(zip(functionality.indices, extents))      # type: ignore[attr-defined]
    return sp.Design(functionality, sp.Transform(rows), bounds, sparsity=skips, balance=balance)


def skewed(extent: int, ratio: int, operations: int, nested: bool) -> np.ndarray:
    """Matrices of two rows, the second one with `ratio` times as many nonzeros; nested: also where the first one has them."""
    random, found = np.random.default_rng(ratio), np.zeros((operations, 2, extent), np.int64)
    for operation in found:
        order = random.permutation(extent)
        for row, count in enumerate((extent * 3 // 4 // ratio, extent * 3 // 4)):
            operation[row, (order if nested else random.permutation(extent))[:count]] = random.integers(1, 99, count)
    return found


def cycles(elastic: "Elastic | None", a: np.ndarray, b: np.ndarray) -> int:
    """Of products, compared with NumPy's."""
    assert elastic is not None
    ran = simulate(elastic, fed(elastic, {"A": a, "B": b}))
    assert np.array_equal(collected(elastic, ran.outputs, len(b))["C"], a @ b)
    return ran.steps


@pytest.mark.parametrize("name", DESIGNS)
@settings(max_examples=12)
@given(operations=st.integers(1, 12), seed=st.integers(0, 1 << 30))
def test_every_kind_of_balance_is_exact(name: str, operations: int, seed: int) -> None:
    array = design(name)
    assert array.run("tokens", **operands(array, operations, seed)).report["operations"] == operations


@pytest.mark.parametrize("name", [name if not at else pytest.param(name, marks=pytest.mark.slow)
                                  for at, name in enumerate(DESIGNS)])
@settings(max_examples=8)
@given(operations=st.integers(1, 20), stalls=st.none() | st.integers(1, 1 << 30), seed=st.integers(0, 1 << 30))
def test_every_pair_of_the_verilog_is_right_whatever_stalls(
        name: str, operations: int, stalls: "int | None", seed: int) -> None:
    array = design(name)
    check_verilog(array, operands(array, operations, seed), stalls)


@pytest.mark.slow
@settings(max_examples=8)
@given(stalls=st.none() | st.integers(1, 1 << 30), seed=st.integers(0, 1 << 30))
def test_room_in_memories_takes_no_other_cycles(stalls: "int | None", seed: int) -> None:
    # Of 64 coordinates and an end what stays has its room in SRAMs, and what may move in registers.
    array = dataclasses.replace(design("shift"), bounds={"i": 2, "j": 100, "k": 2}, balance=[sp.shift(k, by=-1, where=j >= 64)])
    check_verilog(array, operands(array, 6, seed), stalls)


@pytest.mark.parametrize("only", range(3))
@pytest.mark.parametrize("name", ["shift", "to the first", "PEs, queue"])
def test_no_array_stands_still_where_one_row_has_all_work_or_none(name: str, only: int) -> None:
    array = design(name)
    words = array.random(12, only)
    words["B"][words["B"] == 0] = 1
    alone = words["B"] * (np.arange(3) == only)[:, None]
    for b in (alone, words["B"] - alone, words["B"] * (np.arange(12) % 3 == only)[:, None, None], 0 * words["B"]):
        array.run("tokens", A=words["A"], B=b)


def late(elastic: Elastic, port: str, cycles: int) -> Elastic:
    """An array to which the pairs of a port come later."""
    first, = (link for link in elastic.links if link.source == ("", port))
    kind = Worker((Taken("x", 16, FIBER),), ALIGNED, ("x",), Feed("x", 0), 16)
    names = [f"late_{nth}" for nth in range(cycles)]
    ends = [("", port), *((name, end) for name in names for end in "xo"), first.sink]
    links = [Link(source, sink) for source, sink in zip(ends[::2], ends[1::2], strict=True)]
    return dataclasses.replace(elastic, units=(*elastic.units, *(Unit(name, kind) for name in names)),
                               links=(*(link for link in elastic.links if link != first), *links))


def test_without_room_for_what_may_move_an_array_would_stand_still() -> None:
    # The first row takes what may move of the second one, as its own is late, and mergers wait for both.
    array = dataclasses.replace(design("to the first"), bounds={"i": 1, "j": 64, "k": 2},
                                balance=[sp.shift(k, to=0, where=j >= 32)])
    assert array.elastic is not None
    waits = late(array.elastic, "B_0_0_moves", 8)
    a, b = np.ones((4, 1, 2), int), np.ones((4, 2, 64), int)
    b[:, 0, :32] = 0
    cycles(waits, a, b)
    links = tuple(dataclasses.replace(link, depth=2) if link.source == ("balance", "d1_0") else link for link in waits.links)
    with pytest.raises(AssertionError, match="pairs are left"):
        cycles(dataclasses.replace(waits, links=links), a, b)


@pytest.mark.parametrize("nested", [True, False])
@pytest.mark.parametrize("move", ["shift", "queue"])
@pytest.mark.parametrize("ratio,ideal", [(2, 4 / 3), (4, 8 / 5)])
def test_two_rows_take_the_time_of_their_mean_load(move: str, ratio: int, ideal: float, nested: bool) -> None:
    moves = {"shift": sp.shift(k, by=-1, where=j >= 64), "queue": sp.work_queue(k, where=j >= 64)}[move]
    balanced = dataclasses.replace(design("shift"), bounds={"i": 2, "j": 128, "k": 2}, balance=[moves])
    a, b = np.random.default_rng(1).integers(-99, 99, (30, 2, 2)), skewed(128, ratio, 30, nested)
    mean, taken = np.count_nonzero(b) / 2, cycles(balanced.elastic, a, b)
    assert balanced.elastic is not None
    # Two ports for a result and room behind PEs alone, in which no row takes work of another one, gain less.
    apart = dataclasses.replace(balanced.elastic, units=tuple(
        dataclasses.replace(unit, kind=dataclasses.replace(unit.kind, takers=((0,), (1,))))
        if isinstance(unit.kind, Balance) else unit for unit in balanced.elastic.units))
    assert taken <= mean / 0.9 and cycles(apart, a, b) / taken >= 0.9 * ideal
    assert cycles(dataclasses.replace(balanced, balance=[]).elastic, a, b) / taken >= 0.9 * ideal


def test_explain_says_how_much_room_there_is() -> None:
    said = "behind 6 PEs there is room for a fiber of what stays, 4 coordinates, and of what may move, 5"
    assert said in design("shift").explain().text.splitlines()
    assert not any("room" in line for line in dataclasses.replace(design("shift"), balance=[]).explain().text.splitlines())


def test_only_what_may_move_is_there_twice() -> None:
    balanced, alone = (dataclasses.replace(design("shift"), balance=balance).elastic for balance in ([SHIFT], []))
    assert balanced is not None and alone is not None
    assert balanced.units[:len(alone.units)] == alone.units
    assert [unit.name for unit in balanced.units[len(alone.units):]] == ["balance", *(
        f"{unit.name}_moves" for unit in alone.units if unit.name.startswith("merge"))]
    assert [(port.name, port.begin) for port in balanced.outputs] == [
        ("C_0", 0), ("C_0_moves", 4), ("C_1", 0), ("C_1_moves", 4)]
    assert [port.name for port in balanced.inputs if port.tensor == "A"] == [port.name for port in alone.inputs
                                                                            if port.tensor == "A"]
    # Room for a fiber and its end on either side.
    assert {link.depth for link in balanced.links if link.source[0] == "balance" and link.source[1][0] in "cd"} == {5, 6}


@pytest.mark.parametrize("changes,said,remedy", [
    ({"sparsity": [sp.skip(i, where=A(i, k) == 0), *SKIP]},
     "i of the result is found in PEs: fibers have its coordinate beside them, from a", {"sparsity": SKIP}),
    ({"bounds": {"i": 1, "j": 2000, "k": 2}, "balance": [sp.shift(k, by=-1, where=j >= 4)]},
     "behind each PE there is room for its fiber, of up to 1,996 coordinates",
     {"bounds": {"i": 1, "j": 2000, "k": 2}, "balance": [sp.shift(k, by=-1, where=j >= 1000)]}),
    ({"bounds": {"i": 1, "j": 2047, "k": 2}, "balance": [sp.shift(k, by=-1, where=j >= 1023)]}, "of up to 1,024 coordinates",
     {"bounds": {"i": 1, "j": 2046, "k": 2}, "balance": [sp.shift(k, by=-1, where=j >= 1023)]}),
    ({"balance": [sp.shift(i, by=1, where=j >= 4)]}, "b is handed on along i, from row to row", {}),
])
def test_fibers_that_cannot_move_are_refused_with_a_remedy(changes: "dict[str, object]", said: str,
                                                            remedy: "dict[str, object]") -> None:
    with pytest.raises(UserError) as refused:
        dataclasses.replace(design("shift"), **changes).run("tokens")       # type: ignore[arg-type]
    assert said in refused.value.what and refused.value.fix
    assert dataclasses.replace(design("shift"), **remedy).elastic is not None       # type: ignore[arg-type]
