"""Balances of some rows or PEs give what the recurrences mean, in the cycles of the model, wherever work may move."""

import dataclasses
import itertools
from functools import reduce
from operator import and_
from typing import Any

import numpy as np
import pytest
from elastic_arrays import check_verilog
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sardonyx import spatial as sp
from sardonyx.compiler.lang.balance import Balance
from sardonyx.hw.arch import elastic
from sardonyx.hw.arch.errors import UserError
from sardonyx.runtime.data.fibers import fed
from sardonyx.runtime.data.private_buffers import filled
from sardonyx.sim.model.private_buffer import given as given_words

i, j, k = sp.indices("i j k")
A, B = sp.inputs("A B")
PRODUCT = sp.functionality("C(i,j) = A(i,k) * B(k,j)")
ALONE = sp.Design(PRODUCT, sp.Transform([[1, 0, 0], [0, 1, 0], [1, 1, 1]]), {"i": 4, "j": 3, "k": 9},
                  sparsity=[sp.skip(k, where=A(i, k) == 0)], name="places")
FEW = sp.shift(i, to=0, where=(k >= 4) & (j < 2), grain="pe")     # Listing 4
BALANCES = {
    "few PEs take": [FEW],
    "the first part moves": [sp.work_queue(i, where=k < 5)],
    "some rows give": [sp.shift(i, to=1, where=(k >= 4) & (i >= 2))],
    "a row of all, one of another": [sp.shift(i, to=0, where=k >= 4), sp.shift(i, to=1, where=(k >= 4) & (i == 2))],
    "two pairs of rows": [sp.shift(i, by=-1, where=(k < 4) & ((i == 1) | (i == 3)))],
    "a triangle": [sp.work_queue(i, where=(k == 8) & (i > j), grain="pe")],
    "columns": [sp.shift(i, to=3, where=(k > 2) & (i < 2) & (j != 1), grain="pe")],
}


def design(name: str) -> sp.Design:
    return dataclasses.replace(ALONE, balance=BALANCES[name])


def operands(operations: int, seed: int, bounds: "dict[str, int]") -> "dict[str, np.ndarray]":
    """Operands from empty to dense, with empty rows, and rows of which all or nothing may move."""
    random = np.random.default_rng(seed)
    a = random.integers(-99, 99, (operations, bounds["i"], bounds["k"]))
    a *= random.random(a.shape) < random.random((operations, bounds["i"], 1)) * 1.3
    half = random.integers(0, 3, (operations, bounds["i"], 1))
    a *= ~(((half == 1) & (np.arange(bounds["k"]) < 4)) | ((half == 2) & (np.arange(bounds["k"]) >= 4)))
    return {"A": a, "B": random.integers(-99, 99, (operations, bounds["k"], bounds["j"]))}


@pytest.mark.parametrize("name", BALANCES)
def test_it_is_the_product_in_as_many_cycles_as_the_model_says(name: str) -> None:
    array, found = design(name), operands(30, 5, {"i": 4, "j": 3, "k": 9})
    assert np.array_equal(array.run("tokens", **found).value, found["A"] @ found["B"])


@pytest.mark.parametrize("name", [name if name == "few PEs take" else pytest.param(name, marks=pytest.mark.slow)
                                  for name in BALANCES])
def test_so_does_the_verilog(name: str) -> None:
    array = design(name)
    for seed, stalls in ((3, None), (4, 7), (5, 11)):
        found = operands(12, seed, {"i": 4, "j": 3, "k": 9})
        ran = array.run("rtl", stalls, **found)
        assert np.array_equal(ran.value, found["A"] @ found["B"])
        assert stalls or ran.cycles == array.run("tokens", **found).cycles
        check_verilog(array, found, stalls)


@st.composite
def boxes(draw: st.DrawFn, rows: int, columns: int, extent: int) -> "list[Balance]":
    """Balances of one part of time, each of some places."""
    at, first = draw(st.integers(1, extent - 1)), draw(st.booleans())
    grain = draw(st.sampled_from(["row", "pe"]))
    made: list[Balance] = []
    for _ in range(draw(st.integers(1, 3))):
        on = [k < at if first else k >= at]
        for index, size in ((i, rows), (j, columns)):
            if index is i or grain == "pe":
                low, high = draw(st.integers(0, size - 1)), draw(st.integers(0, size - 1))
                on += draw(st.sampled_from([[], [index >= low], [index <= high], [index >= low, index <= high], [index == low],
                                            [index != high]]))
        where: Any = reduce(and_, on)
        made.append(draw(st.one_of(
            st.just(sp.work_queue(i, where=where, grain=grain)),
            st.builds(lambda by, where=where: sp.shift(i, by=by, where=where, grain=grain), st.sampled_from([-2, -1, 1, 2])),
            st.builds(lambda to, where=where: sp.shift(i, to=to, where=where, grain=grain), st.integers(0, rows - 1)))))
    return made


@settings(max_examples=40)
@given(data=st.data(), rows=st.integers(2, 5), columns=st.integers(1, 3), extent=st.integers(2, 12),
       operations=st.integers(1, 6), seed=st.integers(0, 1 << 30))
def test_random_boxes_are_exact_and_move_work_between_their_places_alone(
        data: st.DataObject, rows: int, columns: int, extent: int, operations: int, seed: int) -> None:
    balance = data.draw(boxes(rows, columns, extent))
    bounds = {"i": rows, "j": columns, "k": extent}
    array, found = dataclasses.replace(ALONE, bounds=bounds, balance=balance), operands(operations, seed, bounds)
    try:
        ran = array.run("tokens", **found)
    except UserError as refused:
        assert refused.fix
        assume(False)
    assert np.array_equal(ran.value, found["A"] @ found["B"])
    _moves_where_it_may(array)


def _moves_where_it_may(array: sp.Design) -> None:
    """Ports are parted where a PE gives or takes work, as its own conditions say, and nowhere else."""
    made, report = array.elastic, array.explain().report
    assert made is not None
    places, gives, takes = list(itertools.product(range(array.bounds["i"]), range(array.bounds["j"]))), set(), set()
    for each in array.balance:
        for row, column in places:
            point = {"i": row, "j": column}
            if all(eval_at(condition, point) for condition in each.conditions):
                to = [each.to] if each.to is not None else range(array.bounds["i"]) if each.by is None else [row + each.by]
                others = {other for other in to if other != row and 0 <= other < array.bounds["i"]}
                gives |= {(row, column)} if others else set()
                takes |= {(other, column) for other in others}
    assert (set(report["gives"]), set(report["takes"])) == (gives, takes)
    parted = {port.name for port in made.inputs if f"{port.name}_moves" in {other.name for other in made.inputs}}
    for port in made.inputs:
        if port.tensor == "B":
            place = (port.name.split("_")[1:3])
            assert (port.name.removesuffix("_moves") in parted) == (tuple(map(int, place)) in gives | takes)
        spans = port.begin, port.end
        assert (port.name.removesuffix("_moves") in parted) == (spans != (0, elastic.MOST_EXTENT))


def eval_at(condition: Any, point: "dict[str, int]") -> bool:
    """Whether a condition holds, as Python reads its text; one on time says nothing of places."""
    text = str(condition)
    return "k" in text or bool(eval(text, {"__builtins__": {}}, point))


def test_rows_whose_operands_come_otherwise_have_no_part() -> None:
    # A passes along j in the first row; in others, to which it has no wire, each PE has it from a port.
    D, = sp.inputs("D")
    array = dataclasses.replace(
        ALONE, functionality=sp.functionality("C(j,i) = A(k) * B(k,j) * D(k,i)"), sparsity=[sp.skip(k, where=D(k, i) == 0)],
        balance=[sp.work_queue(i, where=k >= 4)])
    with pytest.raises(UserError, match="rows have 5 and 7 fibers"):
        array.run("tokens")
    array = dataclasses.replace(array, balance=[sp.shift(i, by=1, where=(k >= 4) & (i >= 1))])
    assert array.run("tokens", **array.random(5, 1)).report["operations"] == 5


@pytest.mark.parametrize("balance,what,fix", [
    ([sp.shift(i, to=2, where=(k >= 4) & (i == 2))], "none of those that may give work has another one that may take it",
     "let others give work, or others take it"),
    ([sp.work_queue(i, where=k >= 4), sp.work_queue(i, where=(k >= 5) & (i > 1))],
     "it moves other work than work queue of i where 4 <= k",
     "give all of them one index, one condition on time and one grain"),
])
def test_places_that_move_nothing_are_refused(balance: "list[Balance]", what: str, fix: str) -> None:
    with pytest.raises(UserError) as refused:
        dataclasses.replace(ALONE, balance=balance).run("tokens")
    assert (refused.value.what, refused.value.fix) == (what, fix)


# Levels and banks of A in front of PEs of which some take fibers whole, and others in two parts.
BUFFERS = {"rows": ("some rows give", ("dense", "compressed"), 1), "PEs": ("few PEs take", ("dense", "compressed"), 1),
           "lists": ("some rows give", ("dense", "linked list"), 1),
           "the first part": ("two pairs of rows", ("dense", "compressed"), 2)}


def stored(name: str) -> sp.Design:
    balance, levels, banks = BUFFERS[name]
    array = design(balance)
    if name == "the first part":
        # Of six rows two have no part in the balance.
        array = dataclasses.replace(array, bounds={"i": 6, "j": 1, "k": 9})
    return dataclasses.replace(array, buffers={"A": sp.Buffer(*levels, words=64, banks=banks)})


@pytest.mark.parametrize("name", BUFFERS)
@settings(max_examples=6)
@given(operations=st.integers(1, 5), seed=st.integers(0, 1 << 30))
def test_buffers_give_fibers_whole_or_in_parts(name: str, operations: int, seed: int) -> None:
    array = stored(name)
    found = operands(operations, seed, dict(array.bounds))
    buffer, = array.private
    assert array.elastic is not None and buffer.begins[-1] == 0 and len(buffer.banks) == 3 * BUFFERS[name][2]
    wanted = fed(array.elastic, found)
    fills = filled(buffer, found["A"])
    gives = given_words(buffer, fills, operations)
    assert gives == {port: wanted[port] for port in wanted if port[0] == "A"}
    # Each element is stored once, in the banks whose ports take it.
    if name == "rows":
        words = sum(len(fills[f"A_bank{nth}_values"]) for nth in range(3))
        assert words == 3 * operations + np.count_nonzero(found["A"])
    assert np.array_equal(array.run("tokens", **found).value, found["A"] @ found["B"])


@pytest.mark.parametrize("name", ["rows", *(pytest.param(each, marks=pytest.mark.slow) for each in [*BUFFERS][1:])])
def test_so_do_they_in_verilog_in_as_many_cycles(name: str) -> None:
    array = stored(name)
    found = operands(6, 3, dict(array.bounds))
    for stalls in (None, 5):
        ran = array.run("rtl", stalls, **found)
        assert np.array_equal(ran.value, found["A"] @ found["B"])
        assert stalls or ran.cycles == array.run("tokens", **found).cycles


@pytest.mark.parametrize("kind,banks,what,fix", [
    ("compressed", 2, "there is no dimension by which each port of A would have one of 2 banks, and each bank a port for each "
     "part of fibers", "use 1"),
    ("bitvector", 1, "ports take the fibers of A in another order than they are stored, and the values of bitvectors are "
     "counted", "make the last level compressed"),
])
def test_banks_that_cannot_are_refused_with_a_remedy_that_helps(kind: str, banks: int, what: str, fix: str) -> None:
    array = dataclasses.replace(design("some rows give"), buffers={"A": sp.Buffer("dense", kind, words=64, banks=banks)})
    with pytest.raises(UserError) as refused:
        array.run("tokens")
    assert (refused.value.what, refused.value.fix) == (what, fix)
    found = operands(5, 1, {"i": 4, "j": 3, "k": 9})
    mended = dataclasses.replace(array, buffers={"A": sp.Buffer("dense", "compressed", words=64)})
    assert np.array_equal(mended.run("tokens", **found).value, found["A"] @ found["B"])
