"""Balanced arrays give the largest, or any other reduction of all work of a row, whichever row did which part of it."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx import spatial as sp
from sardonyx.compiler.lang.recurrence import Recurrences
from sardonyx.hw.arch.elastic import Balance
from sardonyx.hw.arch.reduction import ADD, ANY, LARGEST, SMALLEST
from sardonyx.sim.golden.spatial import evaluate

i, j, k = sp.indices("i j k")
A, B = sp.inputs("A B", dtype="int8")
MEANING: "dict[str, Any]" = {LARGEST: sp.maximum, SMALLEST: sp.minimum, ANY: lambda a, b: a | b,
                            ADD: lambda a, b: a + b}
BALANCE = {"shift": [sp.shift(i, by=-1, where=k >= 4)], "queue": [sp.work_queue(i, where=k >= 3)],
           "PEs": [sp.shift(i, by=-1, where=k >= 4, grain="pe")]}
EXTENTS = {"i": 3, "j": 2, "k": 8}
# Of bytes a product needs 16 bits.
TYPES = ("int16", "int32")


def reduced(reduction: str, dtype: str) -> Recurrences:
    (best,), (C,) = sp.variables("best", dtype=dtype), sp.outputs("C")
    return sp.functionality(best(i, j, k.lower).eq(0),
                            best(i, j, k).eq(MEANING[reduction](best(i, j, k - 1), A(i, k) * B(k, j))),
                            C(i, j).eq(best(i, j, k.upper)))


def design(balance: str, reduction: str, dtype: str = "int32", **more: Any) -> sp.Design:
    return sp.Design(reduced(reduction, dtype), sp.Transform([[1, 0, 0], [0, 1, 0], [1, 1, 1]]), EXTENTS, name="balanced",
                     sparsity=[sp.skip(k, where=A(i, k) == 0)], balance=BALANCE[balance], **more)


def operands(operations: int, seed: int) -> "dict[str, np.ndarray]":
    """Operands from empty to dense, with rows that are empty, and rows of negative numbers alone."""
    random = np.random.default_rng(seed)
    a = random.integers(-128, 128, (operations, 3, 8)) * (random.random((operations, 3, 8)) < random.random((operations, 3, 1)))
    return {"A": np.where(random.random((operations, 3, 1)) < 0.3, -abs(a // 2), a),
            "B": abs(random.integers(-127, 128, (operations, 8, 2)))}


def wanted(reduction: str, dtype: str, given_: "dict[str, np.ndarray]") -> np.ndarray:
    means = reduced(reduction, dtype)
    return np.stack([evaluate(means, EXTENTS, {name: each[nth] for name, each in given_.items()})["C"]
                     for nth in range(len(given_["A"]))])


@settings(max_examples=40)
@given(balance=st.sampled_from(tuple(BALANCE)), reduction=st.sampled_from((LARGEST, SMALLEST, ANY)),
       dtype=st.sampled_from(TYPES), operations=st.integers(1, 6), seed=st.integers(0, 1 << 30))
def test_it_is_what_recurrences_say_whoever_does_the_work(balance: str, reduction: str, dtype: str, operations: int,
                                                          seed: int) -> None:
    found = operands(operations, seed)
    assert np.array_equal(design(balance, reduction, dtype).run("tokens", **found).value, wanted(reduction, dtype, found))


@pytest.mark.parametrize("balance,reduction", [("shift", LARGEST), pytest.param("queue", SMALLEST, marks=pytest.mark.slow),
                                               pytest.param("PEs", ANY, marks=pytest.mark.slow)])
def test_so_does_the_verilog_in_as_many_cycles(balance: str, reduction: str) -> None:
    found, array = operands(6, 3), design(balance, reduction)
    for stalls in (None, 5):
        ran = array.run("rtl", stalls, **found)
        assert np.array_equal(ran.value, wanted(reduction, "int32", found))
        assert stalls or ran.cycles == array.run("tokens", **found).cycles


def test_it_takes_the_time_of_a_sum_and_less_than_without() -> None:
    bounds, random = {"i": 3, "j": 2, "k": 64}, np.random.default_rng(4)
    a = random.integers(1, 99, (10, 3, 64)) * (random.random((10, 3, 64)) < [[1], [0.2], [0.2]])
    found = {"A": a, "B": random.integers(1, 99, (64, 2))}
    cycles = {}
    for reduction, balance in ((ADD, "queue"), (LARGEST, "queue"), (LARGEST, "alone")):
        array = sp.Design(reduced(reduction, "int32"), sp.Transform([[1, 0, 0], [0, 1, 0], [1, 1, 1]]), bounds,
                          sparsity=[sp.skip(k, where=A(i, k) == 0)],
                          balance=[sp.work_queue(i, where=k >= 32)] if balance == "queue" else [])
        cycles[reduction, balance] = array.run("tokens", **found).cycles
    assert cycles[LARGEST, "queue"] == cycles[ADD, "queue"] < 0.75 * cycles[LARGEST, "alone"]


def test_behind_buffers_it_is_the_same() -> None:
    found = operands(4, 6)
    array = design("shift", SMALLEST, buffers={"A": sp.Buffer("dense", "compressed", words=32)})
    assert np.array_equal(array.run("tokens", **found).value, wanted(SMALLEST, "int32", found))


def test_of_sums_the_name_of_the_module_is_what_it_was() -> None:
    kinds = [Balance(((0,), (1, 0)), (2,), 1, 2, *more) for more in ((), ("add",), ("max",), ("min",))]
    assert kinds[0] == kinds[1] and len({kind.digest for kind in kinds}) == 3
    assert kinds[0].digest == "cf3038d9"
