"""A product in two phases is two values of `Design`: what each concern says, results of all engines, and what is refused."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx import designs
from sardonyx import spatial as sp
from sardonyx.compiler.lang.recurrence import Recurrences
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.outer_product import BOTH, MERGE, MULTIPLY, OuterProduct
from sardonyx.sim.golden.spatial import evaluate

i, j, k = sp.indices("i j k")
A, B = sp.inputs("A B")
(P,) = sp.inputs("P", dtype="int32")
product, more = sp.variables("product more")
(made, C) = sp.outputs("P C")
# The same functionality as text, and as recurrences.
MULTIPLIES = [sp.functionality("P(i,k,j) = A(i,k) * B(k,j)"),
              sp.functionality(product(i, j, k).eq(A(i, k) * B(k, j)), made(i, k, j).eq(product(i, j, k)))]
MERGES = [sp.functionality("C(i,j) = P(i,k,j)", dtype="int32"),
          sp.functionality(product(i, j, k).eq(P(i, k, j)), C(i, j).add(product(i, j, k)))]
BOUNDS = {"i": 16, "j": 64}


def fibers(*order: int, words: int = 16) -> sp.Buffer:
    return sp.Buffer("dense", "compressed", words=words, order=order)


# Those of which test_outer_phases.py has models.
MULTIPLY_DESIGN = sp.Design(
    MULTIPLIES[0], sp.Lanes(k, (i, j), lanes=4, ports=2), BOUNDS,
    sparsity=[sp.skip(i, where=A(i, k) == 0), sp.skip(j, where=B(k, j) == 0)],
    buffers={"A": fibers(1, 0), "B": fibers(0, 1), "P": sp.Lists()}, name="outer_multiplies")
MERGE_DESIGN = sp.Design(
    MERGES[0], sp.Lanes(i, (k, j), lanes=4, ports=2), BOUNDS, sparsity=[sp.skip(j, where=P(i, k, j) == 0)],
    balance=[sp.work_queue(i, grain="operation")], buffers={"P": sp.Runs(words=32), "C": sp.Lists()}, name="outer_merges")


def drawn(shape: "tuple[int, ...]", density: float, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    return random.integers(-1 << 15, 1 << 15, shape) * (random.random(shape) < density)


def said(functionality: Recurrences, extents: "dict[str, int]", operands: "dict[str, np.ndarray]") -> "dict[str, np.ndarray]":
    """Point by point, whatever lanes are."""
    return evaluate(functionality, {index: extents[index] for index in functionality.indices}, operands)


SHAPES = st.tuples(st.integers(1, 6), st.integers(1, 7), st.integers(1, 8))


@settings(max_examples=20)
@given(which=st.sampled_from(range(2)), shape=SHAPES, density=st.sampled_from((0, 0.2, 0.6, 1)), seed=st.integers(0, 1 << 30))
def test_each_phase_is_what_its_recurrences_say(which: int, shape: "tuple[int, int, int]", density: float, seed: int) -> None:
    height, width, terms = shape
    extents = {"i": height, "j": width, "k": terms}
    a, b = drawn((height, terms), density, seed), drawn((terms, width), density, seed + 1)
    multiply, merge = (replace(design, functionality=each[which])
                       for design, each in ((MULTIPLY_DESIGN, MULTIPLIES), (MERGE_DESIGN, MERGES)))
    for engine in ("golden", "tokens"):
        partial = multiply.run(engine, A=a, B=b).value
        assert np.array_equal(partial, said(MULTIPLIES[which], extents, {"A": a, "B": b})["P"])
        sums = merge.run(engine, P=partial).value
        assert np.array_equal(sums, said(MERGES[which], extents, {"P": partial})["C"])


def test_the_same_functionality_is_an_array_in_step_under_a_transform() -> None:
    a, b = drawn((3, 4), 0.6, 1), drawn((4, 5), 0.6, 2)
    under = sp.Design(MULTIPLY_DESIGN.functionality, sp.Transform([[0, 1, 0], [0, 0, 1], [1, 1, 1]]), {"i": 3, "k": 4, "j": 5})
    assert np.array_equal(under.run("tokens", A=a, B=b).value, MULTIPLY_DESIGN.run("golden", A=a, B=b).value)


@settings(max_examples=30)
@given(runs=st.integers(1, 90), width=st.integers(1, 15), density=st.sampled_from((0.1, 0.5, 1)), seed=st.integers(0, 1 << 30))
def test_lists_of_any_number_of_runs_are_merged_in_a_memory_of_32(runs: int, width: int, density: float, seed: int) -> None:
    """Also more of them than are kept at once."""
    MERGE_DESIGN.run("tokens", P=drawn((3, runs, width), density, seed))


def test_the_verilog_of_both_phases_leaves_what_numpy_has_with_empty_places_and_long_runs() -> None:
    a, b = drawn((16, 20), 0.3, 3), drawn((20, 15), 0.4, 4)
    a[:, 3], b[5], a[4] = 0, 7, 0
    partial = MULTIPLY_DESIGN.run("rtl", A=a, B=b)
    merged = MERGE_DESIGN.run("rtl", P=partial.value)
    half = 1 << 31
    assert np.array_equal(merged.value, (a @ b + half) % (2 * half) - half)
    assert partial.report["nodes"] == merged.report["runs"] and merged.cycles


# What two elements give besides their product: 0 where a skip says that one of them is.
LARGER, MEET = (sp.functionality(product(i, j, k).eq(value), made(i, k, j).eq(product(i, j, k))) for value in (
    sp.maximum(A(i, k) * B(k, j), 0) * 3 - sp.absolute(A(i, k)) * 0,
    sp.select(sp.different(A(i, k) & B(k, j), 0), sp.minimum(A(i, k), B(k, j)), 0)))


@pytest.mark.parametrize("engine", ["golden", "tokens"])
@pytest.mark.parametrize("functionality", [LARGER, MEET])
def test_two_elements_give_what_the_user_says(functionality: Recurrences, engine: str) -> None:
    design = both()
    multiply = replace(design.multiply, functionality=functionality)
    a, b = drawn((9, 7), 0.5, 11), drawn((7, 11), 0.4, 12)
    partial = said(functionality, {"i": 9, "j": 11, "k": 7}, {"A": a, "B": b})["P"]
    assert np.array_equal(multiply.run(engine, A=a, B=b).value, partial)
    whole = sp.phases(multiply, design.merge)
    assert np.array_equal(whole.run(engine, A=a, B=b).value, partial.astype(np.int64).sum(axis=1).astype(np.int32))
    assert "each of A with those of B is a run of P" in whole.explain().text


def test_without_skips_any_value_of_two_elements_will_do() -> None:
    functionality = sp.functionality("P(i,k,j) = A(i,k) + B(k,j)")
    a, b = drawn((3, 4), 0.5, 5), drawn((4, 5), 0.2, 6)
    dense = replace(MULTIPLY_DESIGN, functionality=functionality, sparsity=[])
    assert np.array_equal(dense.run("tokens", A=a, B=b).value, a[:, :, None] + b[None])


def test_the_verilog_gives_what_the_user_says_of_two_elements() -> None:
    a, b = drawn((9, 7), 0.5, 13), drawn((7, 11), 0.4, 14)
    design = both()
    sp.phases(replace(design.multiply, functionality=MEET), design.merge, name="outer_meets").run("rtl", A=a, B=b)


def test_operands_without_a_skip_are_stored_with_their_zeros() -> None:
    dense = replace(MULTIPLY_DESIGN, sparsity=MULTIPLY_DESIGN.sparsity[:1])
    a, b = drawn((3, 4), 0.5, 5), drawn((4, 5), 0.2, 6)
    all_of_b, without = (each.run("tokens", A=a, B=b) for each in (dense, MULTIPLY_DESIGN))
    assert np.array_equal(all_of_b.value, without.value)
    assert all_of_b.report["partial_products"] == np.count_nonzero(a) * 5
    assert "all elements of B at its k" in dense.explain().text


def test_only_the_concern_that_changes_changes_the_machine() -> None:
    kind = MULTIPLY_DESIGN.laned.kind
    assert kind == OuterProduct("outer_multiplies", 4, 2, 16, 32, 16, phases=MULTIPLY, takes_columns=False)
    assert MERGE_DESIGN.laned.kind == OuterProduct("outer_merges", 4, 2, 16, 32, 16, phases=MERGE)
    for changed, fields in (
            ({"balance": [sp.work_queue(k, grain="operation")]}, {"takes_columns": True}),
            ({"dataflow": sp.Lanes(k, (i, j), lanes=8, ports=1)}, {"lanes": 8, "ports": 1}),
            ({"bounds": {"i": 100, "j": 9}}, {"rows": 128}),
            ({"buffers": {"A": fibers(1, 0, words=64), "B": fibers(0, 1, words=64), "P": sp.Lists()}}, {"pairs": 128}),
            ({"functionality": MULTIPLIES[1]}, {})):
        assert replace(MULTIPLY_DESIGN, **changed).laned.kind == replace(kind, **fields)


def both(turned: bool = False, rows: int = 16) -> sp.PhasedDesign:
    """Both phases on two lanes that share a port; turned, lists are of columns."""
    outer, inner = (j, i) if turned else (i, j)
    by, bounds = {"i": "A", "j": "B"}, {"i": rows, "j": 16}
    multiply = replace(MULTIPLY_DESIGN, dataflow=sp.Lanes(k, (outer, inner), lanes=2, ports=1), bounds=bounds,
                       balance=[sp.work_queue(k, grain="operation")])
    skipped = sp.skip(inner, where=P(i, k, j) == 0)
    merge = replace(MERGE_DESIGN, dataflow=sp.Lanes(outer, (k, inner), lanes=2, ports=1), bounds=bounds,
                    sparsity=[skipped], balance=[sp.work_queue(outer, grain="operation")])
    assert multiply.laned.operands[0].name == by[multiply.laned.lists]
    return sp.phases(multiply, merge, name="outer_test")


@pytest.mark.parametrize("turned", [False, True])
def test_lists_of_rows_and_lists_of_columns_are_the_same_product_through_memory(turned: bool) -> None:
    """Only the dataflow says which. The machine is that of test_outer_product.py."""
    design = both(turned)
    assert design.kind == OuterProduct("outer_test", 2, 1, 16, 32) and design.kind.phases == BOTH
    a, b = drawn((9, 14), 0.3, 7), drawn((14, 13), 0.3, 8)
    half = 1 << 31
    for engine in ("golden", "tokens", "rtl"):
        assert np.array_equal(design.run(engine, A=a, B=b).value, (a @ b + half) % (2 * half) - half)
    for engine in ("golden", "tokens"):
        found = design.run(engine, A=scipy.sparse.csr_array(a), B=b).value
        assert scipy.sparse.issparse(found) and found.shape == (9, 13)


@pytest.mark.parametrize("turned", [False, True])
def test_explain_says_of_both_phases_what_run_takes(turned: bool) -> None:
    design = both(turned, rows=40)
    assert "both, one after the other: C of up to 40 x 16, any k, from memory to memory; values of 16 bits, sums of 32\n" \
        in design.explain().text
    single = {"A": np.eye(40, 1, dtype=int), "B": np.eye(1, 16, dtype=int)}
    assert design.run("golden", **single).value.shape == (40, 16)
    for name, shape, said in (("A", (41, 1), "i has 41 places, and up to 40"), ("B", (1, 17), "j has 17 places, and up to 16")):
        with pytest.raises(UserError, match=said):
            design.run("golden", **single | {name: np.eye(*shape, dtype=int)})


def test_outerspace_is_both_phases_and_no_size_besides() -> None:
    design = designs.any_design("outerspace")
    assert isinstance(design, sp.PhasedDesign)
    assert design.kind == sp.outer_product(lanes=16, ports=16, rows=4096, pairs=2048, name="outerspace").kind
    for phase in (design.multiply, design.merge):
        phase.run("tokens")
    text = design.explain().text
    assert "a lane that is free takes the next place of k" in text and "k ends with data" in text
    small = design.resized({"lanes": 2, "ports": 1, "rows": 64, "pairs": 32})
    assert small.multiply.laned.kind.pairs == small.merge.laned.kind.pairs == 32 and small.kind.rows == 64
    assert small.accelerator().kind.queue == 16


REFUSED: "list[tuple[dict[str, Any], str]]" = [
    ({"functionality": sp.functionality("C(i,j) = A(i,k) * B(k,j)")},
     "functionality: points add mul(A(i, k), B(k, j)): it is no sum or product that lanes compute\n"
     "  try: state it as P(i,k,j) = A(i,k) * B(k,j), or C(i,j) = P(i,k,j)"),
    ({"functionality": sp.functionality("P(i,k,j) = A(i,k) * B(k,j) * D(i,k,j)"), "sparsity": []},
     "functionality: points have mul(mul(A(i, k), B(k, j)), D(i, k, j)): it is no sum or product that lanes compute\n"
     "  try: state it as P(i,k,j) = A(i,k) * B(k,j), or C(i,j) = P(i,k,j)"),
    ({"functionality": sp.functionality("P(i,k,j) = A(i,k) + B(k,j)")}, "it would change p: p(i, k, j) = add("),
    ({"functionality": sp.functionality(product(i, j, k).eq(A(i, k) * B(k, j)), more(i, j, k).eq(product(i, j, k) * 3),
                                        made(i, k, j).eq(more(i, j, k)))},
     "more(i, j, k) = mul(product(i, j, k), 3): more is computed from product, which is computed, too\n"
     "  try: write it as one expression of two elements"),
    ({"functionality": sp.functionality("P(i,k,j) = A(i,k) * A(i,k) * B(k,j) * B(k,j)")},
     "value has 64 bits\n  try: at most 62 bits are computed at once"),
    ({"functionality": sp.functionality("P(i,k,j) = A(i,k) * B(k,j)", sums="int16")},
     'functionality: P has 16 bits, and lanes 32\n  try: declare P as int32 (dtype="int32")'),
    ({"dataflow": sp.Lanes(i, (k, j))},
     "dataflow: over i, then k and j, lanes take an element of k with a run of j for each i, which functionality has not\n"
     "  try: go over another index first: that which both operands have, or that of lists, whose runs are summed"),
    ({"bounds": {"i": 16}}, "bounds: index j has no bound\n  try: give the extent of j"),
    ({"bounds": {"i": 16, "j": 16, "k": 4}},
     "bound of k: runs of k are as many as values leave\n  try: leave it out: it ends with data"),
    ({"bounds": {"i": 1 << 16, "j": 16}}, "bound of i: it is 65,536: places of i are a list each\n  try: give 1..32,768"),
    ({"sparsity": [sp.skip(k, where=A(i, k) == 0)]}, "skip k where A(i, k) == 0: lanes take the elements of an operand "
     "that are not 0, and skip nothing else\n  try: use sp.skip(i, where=A(i, k) == 0) or sp.skip(j, where=B(k, j) == 0)"),
    ({"balance": [sp.work_queue(k, where=i >= 2)]},
     'work queue of k where 2 <= i: lanes do operations, which are places of k\n'
     '  try: use sp.work_queue(k, grain="operation"), or leave it out'),
    ({"buffers": {"A": fibers(1, 0), "B": fibers(0, 1)}},
     "buffers: P: lanes leave lists of P in memory\n  try: give sp.Lists()"),
    ({"buffers": {"A": fibers(0, 1), "B": fibers(0, 1), "P": sp.Lists()}},
     'buffers: A: of A lanes take a fiber for each k\n  try: give sp.Buffer("dense", "compressed", words=1024, order=(1, 0))'),
    ({"buffers": {"A": fibers(1, 0, words=32), "B": fibers(0, 1, words=64), "P": sp.Lists()}},
     "buffers: B: A has 32 words and B 64, halves of one memory\n  try: give both 64"),
    ({"buffers": {"A": sp.Runs(), "B": fibers(0, 1), "P": sp.Lists()}}, "buffers: A: of A lanes take a fiber for each k"),
    ({"buffers": {"X": sp.Runs()}}, "buffers: there is no operand X\n  try: choose from A, B, P"),
    ({"functionality": sp.functionality("P(i,k,j) = A(i,k) * A(k,j)"), "sparsity": []},
     "functionality: both elements are of A, which is stored in one order\n"
     "  try: give its elements as two operands, A(i,k) * B(k,j)"),
    ({"short": True}, "short: lanes wait for memory, each by itself\n  try: leave it out")]


@pytest.mark.parametrize("changed,said", REFUSED)
def test_concerns_that_lanes_have_not_are_refused(changed: "dict[str, Any]", said: str) -> None:
    with pytest.raises(UserError) as refused:
        replace(MULTIPLY_DESIGN, **changed).explain()
    assert said in str(refused.value)


def test_phases_that_are_not_one_product_are_refused() -> None:
    design = both()
    for change, said in (
            ({"dataflow": sp.Lanes(i, (k, j), lanes=4, ports=1)}, "dataflow: lanes are 2 where they multiply, and 4 where"),
            ({"bounds": {"i": 32, "j": 16}}, "bounds: lists of P are up to 16 where they multiply, and 32 where they merge"),
            ({"buffers": {"P": sp.Runs(words=64), "C": sp.Lists()}}, "buffers: the memory of a lane has, in words of both"),
            ({"sparsity": []}, "sparsity: P is stored with its zeros, and both phases together take what is not 0")):
        with pytest.raises(UserError) as refused:
            sp.phases(design.multiply, replace(design.merge, **change))
        assert said in str(refused.value)
    with pytest.raises(UserError, match="dataflow: lists of P go along dimension 0 where they multiply, and 2 where"):
        sp.phases(design.multiply, both(True).merge)
    with pytest.raises(UserError, match="merge: it is no design of lanes that merge"):
        sp.phases(design.multiply, design.multiply)


@pytest.mark.parametrize("given,said", [
    ({"A": np.ones((17, 2), int)}, "A: i has 17 places, and up to 16 in this design"),
    ({"A": scipy.sparse.coo_array((1, (1 << 20) + 1), dtype=int), "B": scipy.sparse.coo_array(((1 << 20) + 1, 1), dtype=int)},
     "A: k has 1,048,577 places, and up to 1,048,576 in this design\n  try: give fewer"),
    ({"A": np.ones((3, 2), int)}, "B: k has 2 places of one operand and 5 of B"), ({"A": [[0.5]]}, "give whole numbers"),
    ({"A": [[1], [1, 2]]}, "A: it is"), ({"A": None}, "A: it is None\n  try: give whole numbers in 2 dimensions"),
    ({"A": [[1 << 15]]}, "A: it has 32768..32768\n  try: give -32768..32767"), ({"P": [[1]]}, "there is no input P"),
    ({"stalls": 3}, "it has no streams"), ({"engine": "fast"}, "fast"), ({"lengths": [1]}, "as long as values make them")])
def test_operands_that_do_not_fit_are_refused(given: "dict[str, object]", said: str) -> None:
    with pytest.raises(UserError) as refused:
        MULTIPLY_DESIGN.run(**{"engine": "golden", "B": np.ones((5, 4), int), **given})
    assert said in str(refused.value) and "another bound of k" not in str(refused.value)
    if "lengths" not in given:
        with pytest.raises(UserError):
            both().run(**{"engine": "tokens", "B": np.ones((5, 4), int), **given})


@pytest.mark.parametrize("engine", ["golden", "tokens"])
def test_elements_of_one_place_are_added_before_it_is_said_that_they_fit(engine: str) -> None:
    def twice(value: int) -> Any:
        return scipy.sparse.coo_array(([value, -5000 if value > 32767 else value], ([0, 0], [0, 0])), (4, 4))

    for design in (MULTIPLY_DESIGN, both()):
        with pytest.raises(UserError, match=r"A: it has 60000\.\.60000"):
            design.run(engine, A=twice(30000), B=np.ones((4, 4), int))
        assert design.run(engine, A=twice(37000), B=np.ones((4, 4), int)).value.max() == 32000


def test_unsigned_numbers_that_would_wrap_are_refused() -> None:
    for design in (MULTIPLY_DESIGN, both()):
        with pytest.raises(UserError, match=r"A: it has 18446744073709551615\.\.18446744073709551615"):
            design.run("golden", A=np.full((2, 2), (1 << 64) - 1, np.uint64), B=np.ones((2, 2), int))


IN_STEP = sp.Design(sp.functionality("C(i,j) = A(i,k) * B(k,j)"), sp.Transform([[1, 0, 0], [0, 1, 0], [1, 1, 1]]),
                    {"i": 2, "j": 2, "k": 2}, buffers={"C": sp.Lists()})


@pytest.mark.parametrize("engine", ["golden", "tokens"])
def test_a_result_that_has_no_room_as_an_array_is_asked_for_as_a_sparse_one(engine: str) -> None:
    design = sp.phases(*(replace(each, bounds={"i": 1 << 15, "j": 1 << 16}) for each in (MULTIPLY_DESIGN, MERGE_DESIGN)))
    a, b = np.eye(1 << 15, 1, dtype=np.int8), np.eye(1, 1 << 16, dtype=np.int8)
    with pytest.raises(UserError, match="the result has 2,147,483,648 elements"):
        design.run(engine, A=a, B=b)
    if engine == "golden":
        assert design.run(engine, A=scipy.sparse.csr_array(a), B=b).value.nnz == 1


def test_what_lanes_have_not_is_refused_by_name() -> None:
    for ask, said in ((MULTIPLY_DESIGN.picture, "it has lanes, of which there is no picture"),
                      (lambda: MULTIPLY_DESIGN.random(2), "there is one job from reset on"),
                      (lambda: MERGE_DESIGN.run("golden", P=np.ones((1, 1, 16), int)), "give sp.Runs(words=64) to P"),
                      (lambda: replace(MERGE_DESIGN, bounds={"i": 1, "j": 4096}).run("golden", P=np.ones((1, 1, 4096), int)),
                       "a list of the result has 4,096 elements, and a lane has room for 15\n  try: give P in parts"),
                      (lambda: sp.Lanes(k, (i, k)), "indices k, i, k name one twice"),
                      (lambda: sp.Lanes(k, (i, j), lanes=2, ports=4), "ports are 4, more than the 2 lanes"),
                      (lambda: sp.work_queue(k, where=k >= 2, grain="operation"),
                       "it is of k, where 2 <= k\n  try: give sp.work_queue(k, grain=\"operation\"): any operation may go"),
                      (IN_STEP.hardware, "Lists is for lanes, and words of C have an order that is known\n"
                       "  try: use sp.Buffer(...), or the dataflow sp.Lanes(...)"),
                      (lambda: both().run("golden", A=np.ones((2, 2), int), B=np.ones((2, 17), int)), "B: j has 17 places"),
                      (lambda: sp.Design(MULTIPLIES[0], sp.Transform([[1, 0, 0], [0, 1, 0], [0, 0, 1]]),
                                         {"i": 2, "j": 2, "k": 2}, balance=[sp.work_queue(k, grain="operation")]).explain(),
                       "no lanes do operations: a transform says where each of them is")):
        with pytest.raises(UserError) as refused:
            ask()
        assert said in str(refused.value)


def test_engine_tokens_has_the_cycles_of_a_phase_and_of_the_machine_of_both() -> None:
    design, a, b = both(), drawn((12, 13), 0.5, 21), drawn((13, 14), 0.5, 22)
    product = {"A": a, "B": b}
    for each, operands in ((design, product), (both(turned=True), product), (MULTIPLY_DESIGN, product),
                           (MERGE_DESIGN, {"P": np.sign(a[:, :, None] * b[None])})):
        found, wanted = (each.run(engine, **dict[str, Any](operands)) for engine in ("tokens", "rtl"))
        assert found.cycles == wanted.cycles == found.report["cycles"]
    assert design.run("tokens", A=a, B=b, latency=7).cycles == design.run("rtl", A=a, B=b, latency=7).cycles


def test_behind_commands_engine_tokens_has_no_cycles() -> None:
    found = MERGE_DESIGN.accelerator().run("tokens")
    assert found.cycles is None and "cycles" not in found.report
    assert both().accelerator().run("tokens").cycles is None


@pytest.mark.parametrize("engine", ["golden", "tokens", "rtl"])
def test_lists_that_are_longer_than_a_request_follows_are_refused(engine: str) -> None:
    """Of a phase that merges; one that multiplies leaves lists of any length."""
    runs = 65_536
    places = np.zeros(runs, int), np.arange(runs), np.zeros(runs, int)
    partial = scipy.sparse.coo_array((np.ones(runs, int), places), (1, runs, 1))
    with pytest.raises(UserError, match="a list of P has 65,536 runs, and lanes follow up to 65,535 nodes\n"
                                        "  try: give P in parts, of fewer runs each, and merge the results"):
        MERGE_DESIGN.run(engine, P=partial)
