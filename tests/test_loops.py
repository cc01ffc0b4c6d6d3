"""The order of loops that is chosen: what it gains, why, and that it stays where it is given or gains nothing."""

from dataclasses import replace
from math import factorial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sardonyx
from sardonyx import loops
from sardonyx.api import explain_program
from sardonyx.compiler.lang.einsum import parse
from sardonyx.compiler.sparse.search import Search
from sardonyx.compiler.sparse.settled import too_many
from sardonyx.cutting import Plan
from sardonyx.expected import estimated, orders
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.primitive import ACCUMULATOR, ARBITER, FILTER
from sardonyx.loops import dataflow
from sardonyx.tensors.values import random_tensor, to_value

PRODUCT = "X(i,j) = B(i,k) * C(k,j)"
RELU = "X(i,j) = relu(B(i,k) * C(k,j))"
SUM = "X(i,j) = relu(B(i,k) * C(k,j)) + D(i,j)"
MASKED = "X(i,j) = relu(B(i,k) * C(k,j)) * D(i,j)"
B, C = (to_value(random_tensor((24, 24), 0.15, seed)) for seed in (1, 2))
REASONS = ("order", "dataflow", "why", "expected_cycles")


def run(text: str, **how: Any) -> "dict[str, Any]":
    """The report of a run on the token model, whose words were compared."""
    return dict(sardonyx.einsum(text, **{"B": B, "C": C, "engine": "tokens", **how}).report)


@pytest.mark.parametrize("text,how", [
    (PRODUCT, {"tile": 12}), (RELU, {"tile": 12}), (PRODUCT, {"schedule": "split(i,6) split(k,24)"})])
def test_an_accumulator_is_taken_where_pairs_would_meet_in_vain(text: str, how: "dict[str, Any]") -> None:
    found = run(text, **how)
    assert found["order"] != "i j k" and found["dataflow"] in ("Gustavson", "outer product")
    expected = found["expected_cycles"]
    assert expected[found["order"]] == min(expected.values()) < 0.7 * expected["i j k"]
    assert found["why"] == f"{expected[found['order']]:,} cycles expected, {expected['i j k']:,} of i j k"


def test_the_expected_cycles_are_those_of_the_order_as_it_is_cut() -> None:
    found = run(PRODUCT, tile=12)
    statement = parse(PRODUCT, found["order"].replace(" ", ""))
    again = estimated(statement, {"B": random_tensor((24, 24), 0.15, 1), "C": random_tensor((24, 24), 0.15, 2)},
                      presets.get("small"), Plan(12))
    assert found["expected_cycles"][found["order"]] == round(again.cycles)


@pytest.mark.parametrize("how", [{"order": "ijk"}, {"schedule": "reorder(i,j,k)"}, {"engine": "golden"}])
def test_an_order_that_is_given_stays_and_needs_no_reason(how: "dict[str, Any]") -> None:
    assert not run(RELU, **how).keys() & set(REASONS)


def test_a_kernel_keeps_the_order_that_it_states_and_one_without_is_given_one(tmp_path: Path) -> None:
    assert not sardonyx.kernel("spmspm", engine="tokens", tile=8).report.keys() & set(REASONS)
    own = tmp_path / "own.toml"
    own.write_text(f'expression = "{PRODUCT}"')
    assert sardonyx.kernel(str(own), engine="tokens", tile=8).report["order"] != "i j k"


def test_where_nothing_is_gained_the_default_order_stays() -> None:
    free, fixed = run(PRODUCT), run(PRODUCT, order="ijk")
    assert free["order"] == "i j k" and free["tile_edge"] == fixed["tile_edge"]


def test_an_order_that_a_format_does_not_allow_is_not_taken() -> None:
    found = run(RELU, formats={"B": "ss01"})
    assert found["order"].index("i") < found["order"].index("k")


def test_a_machine_without_accumulators_is_given_no_order_that_needs_one() -> None:
    small = presets.get("small")
    mem = replace(small.mem, primitives=tuple(each for each in small.mem.primitives if each is not ACCUMULATOR))
    found = run(PRODUCT, tile=12, arch=replace(small, name="plain", mem=mem))
    assert found["order"] in ("i j k", "j i k") and found["dataflow"] == "inner product"


def test_sums_are_kept_in_mem_tiles_where_that_is_expected_to_gain() -> None:
    found = run(SUM, D=C, tile=12)
    expected = found["expected_cycles"]
    assert found["order"].index("k") < 4    # Around an index of the result.
    assert found["dataflow"] in ("Gustavson", "outer product")
    assert loops.KEEPING * expected[found["order"]] < loops.WORTH * expected["i j k"]
    assert found["why"] == (f"{expected[found['order']]:,} cycles expected, {expected['i j k']:,} of i j k; "
                            f"sums are kept in MEM tiles in {found['order']}")
    assert [*found["sums_apart"]] == ["X.sum1"]


def test_sums_are_not_kept_where_nothing_is_gained() -> None:
    found = run("x(i) = b(i) - B(i,j) * C(j)", b=np.arange(24), C=np.ones(24, int))
    assert found["order"] == "i j" and found["why"].endswith(" of j i; sums are kept in MEM tiles in j i")
    assert "sums_apart" not in found


def test_sums_are_not_kept_where_they_do_not_fit() -> None:
    full, few = np.ones((24, 24), int), np.eye(24, dtype=int)
    onyx = presets.get("onyx")
    short = replace(onyx, name="short", mem=replace(onyx.mem, sram_lines=128))
    how: dict[str, Any] = {"D": few, "tile": 24, "arch": short, "B": full[:, :6], "C": full[:6]}
    with pytest.raises(UserError) as refused:
        run(MASKED, order="ikj", **how)
    assert "is kept in MEM tiles" in str(refused.value)
    assert run(MASKED, **how)["order"] in ("i j k", "j i k")


def test_a_machine_without_accumulators_keeps_no_sums() -> None:
    onyx = presets.get("onyx")
    mem = replace(onyx.mem, primitives=tuple(each for each in onyx.mem.primitives if each is not ACCUMULATOR))
    found = run(SUM, D=C, tile=12, arch=replace(onyx, name="plain", mem=mem))
    assert found["order"] in ("i j k", "j i k") and "MEM tiles" not in found["why"]


def test_an_order_of_which_the_copies_do_not_fit_is_not_taken() -> None:
    statement, data = parse(PRODUCT), {"B": random_tensor((40, 40), 0.1, 1), "C": random_tensor((40, 40), 0.1, 2)}
    onyx = presets.get("onyx")
    sharing = replace(onyx, pe=replace(onyx.pe, primitives=(*onyx.pe.primitives, FILTER, ARBITER)))

    def chosen(copies: "int | None") -> "tuple[str, ...]":
        return loops.choose(statement, {}, data, sharing, Plan(9, copies)).statement.order

    # With an accumulator a copy takes ten MEM tiles of 128, without one nine.
    assert chosen(12)[0] == chosen(None)[0] == "k" and chosen(14)[-1] == "k"
    assert chosen(15) == ("i", "j", "k")    # None does, which is refused when it is compiled.


def test_statements_that_run_in_turn_have_their_own_orders_and_fused_ones_the_default() -> None:
    text, x = "y(i) = B(i,j) * x(j); z(i) = C(i,j) * y(j)", np.ones(24, int)
    apart = run(text, x=x, tile=24)["statements"]
    # x is full and looked up, y is not.
    assert [apart[name]["order"] for name in "yz"] == ["i j", "j i"]
    assert not run(text, x=x, schedule="fuse(y)").keys() & set(REASONS)


def test_what_no_order_can_do_is_refused_as_the_default_order_is() -> None:
    with pytest.raises(UserError) as free:
        run(PRODUCT, tile={"z": 3})
    with pytest.raises(UserError) as fixed:
        run(PRODUCT, tile={"z": 3}, order="ijk")
    assert str(free.value) == str(fixed.value)


@pytest.mark.parametrize("order,edges,name", [
    ("ijk", (9, 9, 9), "inner product"), ("ikj", (9, 9, 9), "Gustavson"), ("kij", (9, 9, 9), "outer product"),
    ("ijk", (9, 9, 1), "outer product"), ("ijk", (1, 9, 1), "Gustavson"), ("ijk", (1, 1, 9), "inner product"),
    ("kij", (1, 1, 1), "single products")])
def test_loops_have_the_name_of_what_they_do_with_sums(order: str, edges: "tuple[int, ...]", name: str) -> None:
    assert dataflow(order, "ij", dict(zip("ijk", edges, strict=True))) == name
    assert dataflow("ij", "ij", {"i": 1, "j": 9}) == "no sum"


@pytest.mark.parametrize("text,most", [("a = b(i) * c(i)", 1), (PRODUCT, 6), (SUM, 6),
                                       ("X(i,j) = B(i,k,l) * C(j,k) * D(j,l)", 24),
                                       ("X(i,j,k) = B(i,l) * C(l,m) * D(m,n) * E(n,o) * F(o,j,k)", 36)])
def test_the_orders_and_the_searches_are_bounded(text: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    statement = parse(text)
    data = {name: random_tensor((5,) * rank, 0.3, seed) for seed, (name, rank) in enumerate(statement.tensors.items())}
    looked: list[Search] = []
    glanced: list[Search] = []
    look, glance = Search.look, Search.glance

    def counted_look(search: Search) -> None:
        looked.extend([search] * (not search.looked))
        look(search)

    def counted_glance(search: Search, some: Any) -> None:
        glanced.append(search)
        glance(search, some)

    monkeypatch.setattr(Search, "look", counted_look)
    monkeypatch.setattr(Search, "glance", counted_glance)
    found = loops.choose(statement, {}, data, presets.get("onyx"), Plan())
    assert len(found.expected) <= most <= factorial(len(statement.order)) and len(glanced) < most
    assert len(looked) <= 1 + loops.CLOSER


def test_of_many_orders_that_keep_sums_some_are_looked_at() -> None:
    text = "X(i,j) = relu(B(i,k) * C(k,l) * E(l,j)) + D(i,j)"
    data = {name: random_tensor((8, 8), 0.3, seed) for seed, name in enumerate("BCDE")}
    found = loops.choose(parse(text), {}, data, presets.get("onyx"), Plan())
    kept = [*map("".join, found.keeping)]
    assert len(kept) <= loops.MOST_KEEPING and {order[0] for order in kept} >= {*"kl"}
    assert len(found.expected) - len(kept) == sum(len(parse(text, each).every) == 1 for each in orders(text, {}))


@given(st.integers(0, 2**32 - 1), st.sampled_from([None, 3, 8, 20]), st.floats(0.02, 0.6))
@settings(max_examples=5, deadline=None)
def test_results_are_those_of_numpy_in_the_order_that_is_chosen(seed: int, edge: "int | None", share: float) -> None:
    rows, inner, columns = (int(each) for each in np.random.default_rng(seed).integers(1, 21, 3))
    b, c = random_tensor((rows, inner), share, seed % 1000), random_tensor((inner, columns), share, seed % 1000 + 1)
    # Every word is compared.
    sardonyx.einsum(PRODUCT, B=to_value(b), C=to_value(c), engine="tokens", tile=edge)
    sardonyx.einsum(RELU, B=to_value(b), C=to_value(c), engine="tokens", tile=edge)
    sardonyx.einsum(SUM, B=to_value(b), C=to_value(c), D=to_value(random_tensor((rows, columns), share, seed % 1000 + 2)),
                    engine="tokens", tile=edge)


CONTRACTED = "X(i,j,l) = B(i,j,k) * C(k,l)"
RANDOM = np.random.default_rng(1)
LEFT, RIGHT = (RANDOM.integers(-3, 4, shape) * (RANDOM.random(shape) < 0.3) for shape in ((7, 5, 11), (11, 6)))


def test_an_order_around_three_indices_runs_in_sub_tiles_of_one_coordinate() -> None:
    found = sardonyx.einsum(CONTRACTED, B=LEFT, C=RIGHT, engine="tokens", arch="onyx",
                            schedule="reorder(k,i,j,l) split(j,2) parallelize(j,2)")
    assert np.array_equal(found.value, LEFT @ RIGHT)
    assert found.report["tile_edge"] == {"k": 11, "i": 1, "j": 2, "l": 6} and found.report["copies"] == 2


def test_such_an_order_is_tuned_where_it_is_given_and_looked_at_nowhere_else() -> None:
    points = sardonyx.tune(CONTRACTED, order="kijl", B=LEFT, C=RIGHT, budget=6, jobs=1).report["points"]
    assert points and all(each["order"] == "k i j l" and 1 in each["edges"].values() for each in points)
    free = sardonyx.einsum(CONTRACTED, B=LEFT, C=RIGHT, engine="tokens").report
    assert not any(order.startswith("k") for order in free["expected_cycles"])
    every = [*orders(CONTRACTED, {})]
    assert len(every) == 24 and all(order[0] != "k" for order in every if not too_many(parse(CONTRACTED, order)))


def test_such_an_order_is_explained_as_sub_tiles_have_it() -> None:
    explained = explain_program(CONTRACTED, order="kijl").report
    assert explained["order"] == "i k j l"
    assert explained["asked_order"] == "k i j l: some loops turn once in a sub-tile, and the order is that of the others"
    assert "asked_order" not in explain_program(CONTRACTED, order="ikjl").report


FUSED = "T(i,j,l) = B(i,j,k) * C(k,l); X(i,j,l) = T(i,j,m) * D(m,l)"
SUMS = ("sums over k are for each {0}, but an accumulator keeps those for 2 indices, so that one of these needs sub-tiles of "
        "one coordinate, or k does")


@pytest.mark.parametrize("order,split,once", [
    ("kijl; ijml", "", "i"), ("kijl; ijml", "split(i,2)", "j"), ("kijl; ijml", "split(j,1)", "j"),
    ("kijl; ijlm", "split(m,1)", "im"), ("kjil; jiml", "split(i,1) split(j,2)", "i")])
def test_such_an_order_is_fused_through_mem_tiles_in_sub_tiles_of_one_coordinate(order: str, split: str, once: str) -> None:
    data = {"B": LEFT, "C": RIGHT, "D": RIGHT[:6]}
    found = sardonyx.einsum(FUSED, **data, engine="tokens", order=order, schedule=f"fuse(T) {split}")
    assert np.array_equal(found.value, LEFT @ RIGHT @ RIGHT[:6]) and found.report["fused"] == {"T": "MEM tiles"}
    assert "".join(sorted(index for index, edge in found.report["tile_edge"].items() if edge == 1)) == once


def test_such_an_order_is_not_fused_where_what_sub_tiles_need_is_whole() -> None:
    data = {"B": LEFT, "C": RIGHT, "D": RIGHT[:6]}
    with pytest.raises(UserError) as refused:
        sardonyx.einsum(FUSED, **data, engine="tokens", order="kijl; ijml", schedule="fuse(T) split(i,2) split(j,2)")
    assert str(refused.value) == (
        f"X(i,j,l) = B(i,j,k) * C(k,m) * D(m,l): {SUMS.format('i and j and m')}\n"
        "  try: use schedule 'split(i,1) split(j,2) split(m,6) split(l,6)', or do not fuse T")
    text = "T(i,j,l) = B(i,j,k) * C(k,l); s = T(i,j,l) * E(i,j,l); x(i) = s * d(i)"
    data = {"B": LEFT, "C": RIGHT, "E": LEFT[:, :, :1] * RIGHT[:1], "d": LEFT[0, 0]}
    with pytest.raises(UserError) as refused:
        sardonyx.einsum(text, **data, engine="tokens", order="kijl; ijl; i", schedule="fuse(T,s)")
    assert str(refused.value) == (
        f"x(i) = B(i2,j,k) * C(k,l) * E(i2,j,l) * d(i): {SUMS.format('i2 and j and l')}, also in the smallest tiles that leave "
        "i2 and j and k and l whole\n  try: do not fuse T and s, or use an array with larger level buffers")


def test_such_an_order_runs_as_statements_in_turn() -> None:
    text, data = FUSED, {"B": LEFT, "C": RIGHT, "D": RIGHT[:6]}
    assert np.array_equal(sardonyx.einsum(text, **data, engine="tokens", order="kijl; mijl").value, LEFT @ RIGHT @ RIGHT[:6])
