"""Balanced arrays give what the recurrences mean, in little more time than their rows have work on average."""

import dataclasses
from functools import cache

import numpy as np
import pytest
from elastic_arrays import check_verilog, operands
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx import designs
from sardonyx import spatial as sp
from sardonyx.compiler.spatial.balance import balanced
from sardonyx.compiler.spatial.moving import Moving
from sardonyx.hw.arch.errors import UserError
from sardonyx.runtime.data.fibers import collected, fed
from sardonyx.runtime.data.private_buffers import filled
from sardonyx.sim.model.elastic import simulate
from sardonyx.sim.model.private_buffer import given as given_words

i, j, k = sp.indices("i j k")
A, B = sp.inputs("A B")
PRODUCT, LINE = sp.functionality("C(i,j) = A(i,k) * B(k,j)"), sp.functionality("x(i) = A(i,k) * B(i,k)")
OUTPUT = [[1, 0, 0], [0, 1, 0], [1, 1, 1]]
ROWS, BOTH = [sp.skip(k, where=A(i, k) == 0)], [sp.skip(k, where=A(i, k) == 0), sp.skip(k, where=B(k, j) == 0)]
SHIFT, QUEUE = sp.shift(i, by=-1, where=k >= 4), sp.work_queue(i, where=k > 3)
ALONE = sp.shift(i, by=-1, where=k >= 4, grain="pe")
# Functionality, transform, extents, skips, balance; of the first one Verilog is made in every run of the tests.
DESIGNS = {
    "rows, shift": (PRODUCT, OUTPUT, (3, 2, 9), ROWS, [SHIFT]),
    "rows, queue": (PRODUCT, OUTPUT, (4, 1, 9), ROWS, [QUEUE]),
    "rows, two shifts": (PRODUCT, OUTPUT, (5, 1, 7), ROWS, [SHIFT, sp.shift(i, by=2, where=k >= 4)]),
    "columns": (PRODUCT, OUTPUT, (2, 3, 9), [sp.skip(k, where=B(k, j) == 0)], [sp.shift(j, by=1, where=k >= 2)]),
    "rows, to the first": (PRODUCT, OUTPUT, (3, 1, 9), ROWS, [sp.shift(i, to=0, where=k >= 4)]),
    "PEs, shift": (PRODUCT, OUTPUT, (3, 2, 9), ROWS, [ALONE]),
    "PEs, both operands": (PRODUCT, OUTPUT, (2, 2, 9), BOTH, [sp.work_queue(i, where=k >= 4, grain="pe")]),
    "a word in each PE": (sp.functionality("C(i,j) = A(i,k) * B(k,j) * D(i,j)"), OUTPUT, (3, 2, 9), ROWS, [SHIFT]),
    "dot products": (LINE, [[1, 0], [1, 1]], (4, 9), [sp.skip(k, where=A(i, k) == 0), sp.skip(k, where=B(i, k) == 0)], [QUEUE]),
}


@cache
def design(name: str) -> sp.Design:
    functionality, rows, extents, skips, balance = DESIGNS[name]
    bounds = dict(zip(functionality.indices, extents))
    return sp.Design(functionality, sp.Transform(rows), bounds, sparsity=skips, balance=balance)


def skewed(rows: int, extent: int, ratio: int, operations: int) -> np.ndarray:
    """Matrices of which every second row has `ratio` times as many nonzeros."""
    random, found = np.random.default_rng(ratio), np.zeros((operations, rows, extent), np.int64)
    for operation in range(operations):
        for row in range(rows):
            count = extent * 3 // 4 // (1 if row % 2 else ratio)
            found[operation, row, random.choice(extent, count, replace=False)] = random.integers(1, 99, count)
    return found


def simulated(array: sp.Design, a: np.ndarray, b: np.ndarray) -> int:
    """The cycles of products, compared with NumPy's."""
    assert array.elastic is not None
    ran = simulate(array.elastic, fed(array.elastic, {"A": a, "B": b}))
    assert np.array_equal(collected(array.elastic, ran.outputs, len(a))["C"], a @ b)
    return ran.steps


@pytest.mark.parametrize("name", ["rows, shift", *(pytest.param(name, marks=pytest.mark.slow) for name in [*DESIGNS][1:])])
def test_the_model_is_exact_on_200_random_operands(name: str) -> None:
    array = design(name)
    assert array.run("tokens", **operands(array, 200, 7)).report["operations"] == 200


@pytest.mark.parametrize("name", DESIGNS)
def test_every_kind_of_balance_is_exact_on_20_operations(name: str) -> None:
    array = design(name)
    assert array.run("tokens", **operands(array, 20, 8)).report["operations"] == 20


@pytest.mark.parametrize("name", [name if not at else pytest.param(name, marks=pytest.mark.slow)
                                  for at, name in enumerate(DESIGNS)])
@settings(max_examples=8)
@given(operations=st.integers(1, 30), stalls=st.none() | st.integers(1, 1 << 30), seed=st.integers(0, 1 << 30))
def test_every_word_of_the_verilog_is_right_whatever_stalls(
        name: str, operations: int, stalls: "int | None", seed: int) -> None:
    array = design(name)
    check_verilog(array, operands(array, operations, seed), stalls)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rows, shift", "rows, queue"])
def test_200_seeds_of_operands_and_stalls_are_exact(name: str) -> None:
    array = design(name)
    for seed in range(1, 201):
        array.run("rtl", seed, **operands(array, 5, seed))


@pytest.mark.parametrize("balance", ["shift", "queue"])
@pytest.mark.parametrize("ratio,ideal", [(2, 4 / 3), (4, 8 / 5)])
def test_two_rows_take_the_time_of_their_mean_load(balance: str, ratio: int, ideal: float) -> None:
    moves = {"shift": sp.shift(i, by=-1, where=k >= 64), "queue": sp.work_queue(i, where=k >= 64)}[balance]
    alone = sp.Design(PRODUCT, sp.Transform(OUTPUT), {"i": 2, "j": 1, "k": 128}, sparsity=ROWS)
    a, b = skewed(2, 128, ratio, 30), np.random.default_rng(1).integers(-99, 99, (30, 128, 1))
    without, shared = (simulated(each, a, b) for each in (alone, dataclasses.replace(alone, balance=[moves])))
    mean = np.count_nonzero(a) / 2
    assert shared <= mean / 0.9 and without / shared >= 0.9 * ideal


def test_longer_rows_with_work_2_to_1_gain_more_than_1_3() -> None:
    # A cycle for the end of each item counts less.
    alone = sp.Design(PRODUCT, sp.Transform(OUTPUT), {"i": 2, "j": 1, "k": 256}, sparsity=ROWS)
    a, b = skewed(2, 256, 2, 10), np.ones((10, 256, 1), int)
    shift = sp.shift(i, by=-1, where=k >= 128)
    assert simulated(alone, a, b) / simulated(dataclasses.replace(alone, balance=[shift]), a, b) > 1.3


@pytest.mark.parametrize("ratio", [2, 4])
def test_pes_take_work_apart_where_rows_have_the_same(ratio: int) -> None:
    # Of either row one PE has `ratio` times as much to do as the other one, each in another column.
    work = sp.functionality("C(i,j) = A(i,j,k) * B(k,j)")
    a, random = np.zeros((30, 2, 2, 128), np.int64), np.random.default_rng(ratio)
    for fiber, place in ((fiber, place) for fiber in a for place in np.ndindex(2, 2)):
        count = 96 // (ratio if sum(place) % 2 else 1)
        fiber[place][random.permutation(128)[:count]] = random.integers(1, 99, count)
    b, cycles = random.integers(-99, 99, (30, 128, 2)), {}
    for grain in ("row", "pe"):
        array = sp.Design(work, sp.Transform(OUTPUT), {"i": 2, "j": 2, "k": 128}, sparsity=[sp.skip(k, where=A(i, j, k) == 0)],
                          balance=[sp.work_queue(i, where=k >= 64, grain=grain)])
        assert array.elastic is not None
        ran = simulate(array.elastic, fed(array.elastic, {"A": a, "B": b}))
        assert np.array_equal(collected(array.elastic, ran.outputs, 30)["C"], np.einsum("nijk,nkj->nij", a, b))
        cycles[grain] = ran.steps
    assert cycles["pe"] <= np.count_nonzero(a) / 4 / 0.9 and cycles["row"] >= 30 * 96


def test_what_pes_hand_on_is_cut_where_each_takes_work_on_its_own() -> None:
    rows, apart = design("rows, shift"), design("PEs, shift")
    assert {(cut.use.variable, cut.index) for cut in apart.pruned.cuts} == {("a", "j"), ("b", "i")}
    assert rows.elastic is not None and apart.elastic is not None
    assert [unit.name for unit in apart.elastic.units[-2:]] == ["balance_0", "balance_1"]
    # Two ports for each fiber: a word of A for each of two columns, no longer one for both.
    assert (len(rows.elastic.inputs), len(apart.elastic.inputs)) == (2 * (3 + 6), 2 * (6 + 6))
    assert ("(0, 1, 0)  no wire, its input is read at each PE: PEs along j take work apart "
            "(shift i by -1 where 4 <= k, each PE on its own)") in apart.explain().text


def test_work_that_is_alike_takes_no_longer() -> None:
    alone = dataclasses.replace(design("rows, shift"), balance=(), bounds={"i": 3, "j": 1, "k": 64})
    a, b = np.ones((20, 3, 64), int), np.ones((20, 64, 1), int)
    cycles = [simulated(dataclasses.replace(alone, balance=balance), a, b)
              for balance in ((), [sp.shift(i, by=-1, where=k >= 32)])]
    # A cycle more for the end of each item that may move, and what fills the array.
    assert cycles[1] <= cycles[0] * 1.03 + 10


def test_only_the_balance_tells_a_balanced_array_apart() -> None:
    shipped = designs.design("balanced_rows")
    alone = dataclasses.replace(shipped, balance=())
    assert shipped.elastic is not None and alone.elastic is not None
    assert shipped.elastic.units[:-1] == alone.elastic.units and shipped.elastic.results == alone.elastic.results
    assert dataclasses.replace(shipped, balance=[sp.work_queue(i, where=k >= 9)]).elastic.units[:-1] == alone.elastic.units
    assert shipped.explain().text.splitlines()[-2:] == [
        "balance: shift i by -1 where 128 <= k", "PEs (1..3, 0..1) may give work, (0..2, 0..1) may take it"]


def buffered(name: str, kind: str, banks: int) -> sp.Design:
    levels = sp.Buffer("dense", kind, words=32, banks=banks, node=2)
    return dataclasses.replace(design(name), buffers=dict.fromkeys("AB" if name == "dot products" else "A", levels))


@pytest.mark.parametrize("name,kind,banks", [("rows, shift", "compressed", 1), ("rows, shift", "linked list", 3),
                                             ("PEs, shift", "compressed", 1), ("dot products", "compressed", 4)])
@settings(max_examples=10)
@given(operations=st.integers(1, 5), seed=st.integers(0, 1 << 30))
def test_buffers_give_work_that_stays_and_work_that_moves(name: str, kind: str, banks: int, operations: int, seed: int) -> None:
    array = buffered(name, kind, banks)
    operand = operands(array, operations, seed)
    assert array.elastic is not None
    golden = fed(array.elastic, operand)
    for buffer in array.private:
        assert len(buffer.banks) == 2 * banks
        found = given_words(buffer, filled(buffer, operand[buffer.tensor]), operations)
        assert found == {port: golden[port] for port in found}
    array.run("tokens", **operand)


@pytest.mark.parametrize("name,kind,banks", [("rows, shift", "compressed", 3),
                                             pytest.param("dot products", "linked list", 1, marks=pytest.mark.slow)])
@settings(max_examples=6)
@given(operations=st.integers(1, 5), seed=st.integers(0, 1 << 30), stalls=st.none() | st.integers(1, 1 << 30))
def test_the_verilog_of_a_balanced_array_with_buffers_is_exact(name: str, kind: str, banks: int, operations: int, seed: int,
                                                               stalls: "int | None") -> None:
    array = buffered(name, kind, banks)
    array.run("rtl", stalls, **operands(array, operations, seed))


@pytest.mark.slow
@pytest.mark.parametrize("ratio,gain", [(2, 1.3), (4, 1.5)])
def test_a_balance_gains_as_much_behind_buffers(ratio: int, gain: float) -> None:
    rows = sp.Design(PRODUCT, sp.Transform(OUTPUT), {"i": 2, "j": 1, "k": 128}, sparsity=ROWS,
                     buffers={"A": sp.Buffer("dense", "compressed", words=128, banks=2)})
    a = skewed(2, 128, ratio, 30)
    alone, balanced = (dataclasses.replace(rows, balance=balance).run("rtl", A=a, B=np.ones((128, 1), int)).cycles
                       for balance in ([], [sp.shift(i, by=-1, where=k >= 64)]))
    assert alone is not None and balanced is not None and alone / balanced > gain


@pytest.mark.parametrize("name", DESIGNS)
def test_rows_without_any_work_end(name: str) -> None:
    # In the step in which rows take their items no FIFO moves.
    array = design(name)
    words = array.random(1, 1)
    words["A"][:] = 0
    ran = array.run("tokens", **words)
    assert ran.report["operations"] == 1 and not ran.value.any()


def test_rows_that_take_their_operands_in_another_order_are_refused() -> None:
    # No transform gives such rows: of one there the fibers of A and of B have changed places, and have the same bits.
    alone = dataclasses.replace(design("rows, shift"), balance=[], bounds={"i": 2, "j": 1, "k": 9}).elastic
    assert alone is not None
    first, second = (at for at, link in enumerate(alone.links) if link.sink[0] == "pe_1_0")
    links = list(alone.links)
    links[first], links[second] = links[second], links[first]
    rows: dict[str, tuple[int, tuple[int, ...]]] = {"pe_0_0": (0, ()), "pe_1_0": (1, ())}
    moves = Moving(SHIFT, 4, 1 << 16, frozenset(rows.values()))
    assert balanced(alone, [moves], rows).units[-1].name == "balance"
    with pytest.raises(UserError, match="rows have a, b and b, a fibers, as a wire of some is cut"):
        balanced(dataclasses.replace(alone, links=tuple(links)), [moves], rows)


def test_of_a_row_with_one_coordinate_nothing_can_move() -> None:
    narrow = dataclasses.replace(design("rows, shift"), bounds={"i": 3, "j": 2, "k": 1})
    with pytest.raises(UserError) as refused:
        narrow.run("tokens")
    assert (refused.value.what, refused.value.fix) == ("k is 0..0: of a row no work may move", "leave it out")
    dataclasses.replace(narrow, balance=[]).run("tokens")


@pytest.mark.parametrize("changes,said", [
    ({"sparsity": []}, "all rows have the same work: no skip finds an index by values"),
    ({"balance": [sp.shift(k, by=1, where=k >= 2)]}, "k is no index of PEs"),
    ({"balance": [sp.shift(i, by=1, where=j >= 1)]}, "work is parted along k, which is time, and it has no condition on that"),
    ({"balance": [sp.shift(i, by=1, where=k >= 9)]}, "k is 0..8: of a row no work may move"),
    ({"balance": [sp.shift(i, by=1, where=k > -1)]}, "k is 0..8: of a row all work may move"),
    ({"balance": [sp.shift(i, by=3, where=k >= 4)]}, "no row is that far from another one of 3"),
    ({"balance": [sp.shift(i, to=3, where=k >= 4)]}, "there is no row 3 of i, which is 0..2"),
    ({"balance": [SHIFT, ALONE]}, "it moves other work than shift i by -1 where 4 <= k"),
    ({"balance": [SHIFT, sp.shift(i, by=1, where=k >= 5)]}, "it moves other work than shift i by -1 where 4 <= k"),
    ({"balance": [sp.shift(j, by=1, where=k >= 4)]}, "a is handed on along j, from row to row"),
    # A passes along j in the first row; in others, to which it has no wire, each PE has it from a port.
    ({"functionality": sp.functionality("C(j,i) = A(k) * B(k,j) * D(k,i)"),
      "sparsity": [sp.skip(k, where=sp.inputs("D")[0](k, i) == 0)]}, "rows have 4 and 5 fibers, as a wire of some is cut"),
    ({"bounds": {"i": 1, "j": 2, "k": 9}}, "i has one place, so that there is no other row"),
    ({"balance": ["k"]}, "which is no list of shifts"),
    ({"name": "balance_0123abcd"}, "balance_0123abcd is the name of a part"),
])
def test_work_that_cannot_move_is_refused_with_the_reason(changes: "dict[str, object]", said: str) -> None:
    with pytest.raises(UserError) as refused:
        dataclasses.replace(design("rows, shift"), **changes).run("tokens")     # type: ignore[arg-type]
    assert said in refused.value.what and refused.value.fix


@pytest.mark.parametrize("made,said", [
    (lambda: sp.shift("i", by=1, where=k >= 4), "which is no index"), (lambda: sp.shift(i, by=0, where=k >= 4), "it is 0"),
    (lambda: sp.shift(i, by=65, where=k >= 4), "it is 65"), (lambda: sp.shift(i, by=1, where=True), "which is no condition"),
    (lambda: sp.work_queue(i, where=A(i, k) == 0), "A(i, k) == 0 asks for values, and which work may move is known before"),
    (lambda: sp.work_queue(i, where=(k > 4) & (A(i, k) == 0)), "(4 < k) & (A(i, k) == 0) asks for values"),
    (lambda: sp.shift(i, where=k >= 4), "it has neither `by` nor `to`"),
    (lambda: sp.shift(i, by=1, to=0, where=k >= 4), "it has both `by` and `to`"),
    (lambda: sp.shift(i, to=-1, where=k >= 4), "it is -1"),
    (lambda: sp.shift(i, by=1, where=k >= 4, grain="column"), "it is 'column'"),
    (lambda: sp.work_queue(i, where=k >= 4, grain=1), "it is 1"),
])
def test_what_is_no_balance_is_refused(made, said: str) -> None:     # type: ignore[no-untyped-def]
    with pytest.raises(UserError) as refused:
        made()
    assert said in refused.value.what and refused.value.fix
