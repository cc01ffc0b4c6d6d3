"""Sums around three and more indices of the result: any order of loops, in sub-tiles of one coordinate of some of them."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statements import agreeing, random_operands
from tilings import DRAWN, check, message

from sardonyx.compiler.ir.sam_reduce import Accumulator, Reducer
from sardonyx.compiler.lang.einsum import parse
from sardonyx.compiler.sparse import settled as compiler_settled
from sardonyx.compiler.sparse.blocks import map_graph
from sardonyx.compiler.sparse.estimate import cycles
from sardonyx.compiler.sparse.lower import lower
from sardonyx.compiler.sparse.normalize import normalize
from sardonyx.compiler.sparse.settled import in_order, settled, too_many, uncut, with_lone
from sardonyx.compiler.sparse.tiling import tile
from sardonyx.runtime.data.sub_tiles import Work
from sardonyx.sim.expected import by_slot, expected
from sardonyx.sim.golden import einsum as golden
from sardonyx.sim.model.tokens import fabric
from sardonyx.tensors.values import to_array

TTM = "X(i,j,l) = B(i,j,k) * C(k,l)"
MTTKRP = "X(i,j,l) = B(i,k,j) * C(k,l) * D(k,j)"
FOUR = "X(i,j,l,m) = B(i,j,k) * C(k,l,m)"
TWICE = "X(i,j,l) = B(i,k,n) * C(k,j) * D(n,l)"
RELU = "X(i,j,l) = relu(B(i,j,k) * C(k,l) - 1)"
ADDED = "X(i,j,l) = (B(i,j,k) + C(i,j,k)) * D(k,l)"
SELF = "X(i,j,l) = B(i,k,j) * B(j,k,l)"
MEANING = {TTM: "ijk,kl->ijl", MTTKRP: "ikj,kl,kj->ijl", FOUR: "ijk,klm->ijlm", TWICE: "ikn,kj,nl->ijl"}


@pytest.mark.parametrize("text,more", [(TTM, 6), (MTTKRP, 6), (TWICE, 48), (RELU, 6), (ADDED, 6), (SELF, 6)])
def test_every_order_of_loops_gives_the_words_of_golden(text, more):
    found = [parse(text, order) for order in permutations(parse(text).order)]
    assert sum(bool(too_many(einsum)) for einsum in found) == more
    for n, einsum in enumerate(found[::1 if len(found) < 100 else 5]):
        operands = random_operands(einsum, agreeing(einsum, [5, 3, 2, 7, 3]), [0.5, 0.3], n)
        check(einsum, operands, narrow=n % 2 == 0)


def test_orders_around_four_indices_give_the_words_of_golden():
    orders = [each for each in permutations("ijlmk") if each.index("k") < 2]
    for n, order in enumerate(orders):
        einsum = parse(FOUR, order)
        lone = [index for index in order if index != "k"][order.index("k"):][:2 - order.index("k")]
        operands = random_operands(einsum, agreeing(einsum, [3, 2, 5, 3, 2]), [0.5], n)
        tiling = check(einsum, operands, {index: 2 for index in order if index not in lone}, narrow=n % 2 == 0)
        assert all(tiling.edges[index] == 1 for index in lone)


@pytest.mark.parametrize("text", MEANING)
def test_the_sum_of_sub_tiles_is_what_numpy_makes_of_dense_arrays(text):
    einsum = parse(text, sorted(parse(text).order, key=lambda index: index in "ijlm"))
    assert too_many(einsum)
    operands = random_operands(einsum, agreeing(einsum, [5, 3, 7, 2, 3]), [0.5], 1)
    dense = [to_array(operands[access.tensor]).astype(np.int64) for access in einsum.operands]
    assert np.array_equal(to_array(check(einsum, operands).combine(
        golden.evaluate(by_slot(work.einsum), work.operands(item)) for work in [tile(einsum, operands, 1024, narrow=True)]
        for item in range(len(work)))), np.einsum(MEANING[text], *dense))


@settings(max_examples=40)
@given(text=st.sampled_from([TTM, MTTKRP, TWICE, RELU, ADDED, SELF]), order=st.permutations("ijlkn"),
       extents=st.lists(st.sampled_from([0, 1, 2, 5, 7]), min_size=5, max_size=5), edge=st.integers(1, 3), **DRAWN)
def test_orders_formats_and_edges_at_random_give_the_words_of_golden(text, order, extents, edge, letters, form, densities, seed,
                                                                     narrow):
    plain = parse(text)
    formats = {name: (letters * 2)[at:at + rank] for at, (name, rank) in enumerate(plain.tensors.items())} | {"X": form}
    einsum = parse(text, [index for index in order if index in plain.order], formats)
    operands = random_operands(einsum, agreeing(einsum, extents), densities, seed)
    check(einsum, operands, {einsum.order[-1]: edge} if text != RELU else None, narrow)


@pytest.mark.parametrize("text,order,edges,found,formats", [
    (TTM, "kijl", {"i": 1, "j": 3, "k": 4, "l": 7}, "ikjl", "sss021 ss01 sss012"),
    (TTM, "kijl", {"i": 5, "j": 3, "k": 1, "l": 7}, "ijlk", "sss012 ss10 sss012"),
    (TTM, "kijl", {"i": 5, "j": 1, "k": 4, "l": 7}, "jkil", "sss120 ss01 sss102"),
    (TTM, "kijl", {"i": 1, "j": 1, "k": 4, "l": 7}, "ikjl", "sss021 ss01 sss012"),
    (TTM, "kijl", {"i": 5, "j": 3, "k": 4, "l": 7}, "kijl", "sss201 ss01 sss012"),
    (TTM, "ikjl", {"i": 1, "j": 1, "k": 1, "l": 1}, "ikjl", "sss021 ss01 sss012"),
    (TWICE, "nkijl", {"i": 9, "j": 9, "k": 1, "l": 9, "n": 1}, "ijlnk", "sss021 ss10 ss10 sss012"),
    (TWICE, "nikjl", {"i": 1, "j": 9, "k": 9, "l": 9, "n": 9}, "inkjl", "sss021 ss01 ss01 sss012")])
def test_a_loop_that_turns_once_goes_where_it_needs_no_sums(text, order, edges, found, formats):
    einsum = settled(parse(text, order), edges)
    stored = {access.slot: str(access.format) for access in (*einsum.operands, einsum.result)}
    assert ("".join(einsum.order), " ".join(stored.values())) == (found, formats)


def test_sub_tiles_of_one_coordinate_of_the_result_are_accumulated_and_of_the_sum_multiplied():
    for edges, kinds in (({"i": 1, "j": 4, "k": 4, "l": 4}, {"k": ("j", "l")}), ({"i": 4, "j": 4, "k": 1, "l": 4}, {})):
        graph = lower(settled(parse(TTM, "kijl"), edges))
        assert {op.index: op.inner for op in graph.nodes.values() if isinstance(op, Accumulator)} == kinds
        assert any(isinstance(op, Reducer) for op in graph.nodes.values()) == (not kinds)


def test_a_dense_result_that_could_not_be_stored_so_settles_at_another_index():
    einsum = parse(TTM, "kijl", {"X": "dss"})
    assert settled(einsum, {"i": 4, "j": 1, "k": 4, "l": 4}) is einsum
    assert settled(einsum, {"i": 1, "j": 4, "k": 4, "l": 4}).result.format == einsum.result.format


@pytest.mark.parametrize("edges,told", [
    ({"j": 2}, {"i": 1, "j": 2, "k": 4, "l": 7}), ({"i": 2}, {"i": 2, "j": 1, "k": 4, "l": 7}),
    ({"i": 2, "j": 2, "l": 2}, {"i": 2, "j": 2, "k": 1, "l": 2}), ({"k": 1}, {"i": 5, "j": 3, "k": 1, "l": 7}), (1, None)])
def test_edges_that_nobody_gives_are_whole_but_for_one(edges, told):
    einsum = parse(TTM, "kijl")
    operands = random_operands(einsum, agreeing(einsum, [4, 5, 3, 7]), [0.5], 1)
    assert check(einsum, operands, edges).edges == (told or dict.fromkeys("kijl", 1))


@pytest.mark.parametrize("text,order,form,edges,told", [
    (TTM, "kijl", "dss", {"i": 2}, {"i": 2, "j": 1, "k": 4, "l": 1}),       # j l k i, and dense i is the innermost level
    (TWICE, "nkjil", "dss", {"n": 3, "k": 1, "j": 2}, {"n": 3, "k": 1, "j": 2, "i": 1, "l": 1}),
    (TWICE, "klnji", "dss", {"k": 2, "j": 1, "i": 1}, {"k": 2, "j": 1, "i": 1, "l": 7, "n": 3}),
    (FOUR, "kijml", "ssdd", {"i": 2, "j": 1, "m": 1}, {"i": 2, "j": 1, "m": 1, "k": 4, "l": 7}),     # m outermost
    (FOUR, "lkmji", "ddss", {"m": 2, "i": 3}, {"m": 2, "i": 3, "j": 5, "k": 1, "l": 7})])
def test_dense_levels_of_the_result_leave_other_edges_and_orders(text, order, form, edges, told):
    einsum = parse(text, order, {"X": form})
    extents = {"i": 4, "j": 5, "k": 4, "l": 7, "m": 3, "n": 3}
    operands = random_operands(einsum, agreeing(einsum, [extents[index] for index in einsum.order]), [0.5], 1)
    assert check(einsum, operands, edges).edges == told


def test_no_edges_are_refused_for_which_an_order_can_be_found():
    """Nor where 1 in place of an edge that nobody gives leads to one: against all orders and all such edges."""
    refused, random = 0, np.random.default_rng(1)
    for n, (text, order) in enumerate((each, order) for each in (TTM, TWICE) for order in permutations(parse(each).order)):
        form = ("sss", "dss", "dds", "ssd", "sdd")[n % 5]
        einsum = parse(text, order, {"X": form})
        said = {index: int(random.choice([1, 2, 3])) for index in order if random.random() < 0.7}
        edges = {index: said.get(index, 4) for index in order}
        if not too_many(settled(einsum, with_lone(einsum, edges, said.keys()))):
            continue
        refused += 1
        level = dict(zip((index for index in order if index in "ijl"), form, strict=True))
        free = [index for index in order if index not in said]
        for few in (few for some in range(len(free) + 1) for few in combinations(free, some)):
            turning = [index for index in order if edges[index] > 1 and index not in few]
            for other in permutations(order):
                if [index for index in other if index in turning] == turning:
                    letters = "".join(level[index] for index in other if index in level)
                    stored = "d" not in letters.lstrip("d").rstrip("d")
                    assert not stored or too_many(parse(text, other)), (text, order, form, said, few, other)
    assert refused > 5


def test_maxima_stay_inside_of_what_they_are_for_wherever_loops_are_moved():
    einsum = parse("X(i,j,l) = B(i,j,k) * C(k,l) * max(n, D(j,n,i))", "kijln", {"X": "dss"})
    operands = random_operands(einsum, agreeing(einsum, [3, 2, 4, 2, 3]), [0.7], 1)
    assert check(einsum, operands, {"j": 1, "l": 1}).einsum.order == ("j", "k", "l", "i", "n")
    assert message(tile, einsum, operands, 1024, {"j": 1, "k": 2, "i": 2, "l": 2}).endswith(
        "use edges 'split(k,2) split(i,1) split(j,1) split(l,2)' (--schedule or schedule=)")
    check(einsum, operands, {"k": 2, "i": 1, "j": 1, "l": 2})
    # Where the order that sums are settled in cannot be stored, others are looked at: none with the maximum around m.
    einsum = parse("X(i,j,l,m) = B(i,j,k) * C(k,l) * max(n, D(m,n,i))", "ikjmnl", {"X": "sssd"})
    found = settled(einsum, dict.fromkeys("ikjm", 3) | {"l": 1, "n": 1})
    assert found.order.index("n") > max(found.order.index("m"), found.order.index("i"))


@pytest.mark.parametrize("text,most", [
    ("X(a,b,c,d,e,f,g) = B(k,a,b,c) * C(k,q,d,e) * D(q,r,f,g)", 10),
    ("X(i,j,l,m,o,q) = relu(A(i,j,k) * B(k,l,a) * C(k,n,m) * E(n,p,o) * F(a,p,q)) + D(i,j,l,m,o,q)", 3_000)])
def test_orders_of_ten_loops_are_settled_within_so_many_looks(text, most, monkeypatch):
    looks = []
    monkeypatch.setattr(compiler_settled, "in_order", lambda *given: looks.append(given) or in_order(*given))
    plain = parse(text)
    own = plain.result.indices
    einsum = parse(text, sorted(plain.order, key=lambda index: index in own))
    assert not too_many(settled(einsum, with_lone(einsum, dict.fromkeys(einsum.order, 2))))
    assert too_many(settled(einsum, with_lone(einsum, dict.fromkeys(einsum.order, 2), einsum.order)))
    assert len(looks) <= most


def test_edges_that_leave_too_many_sums_are_refused_with_some_that_do_not():
    einsum = parse(TTM, "kijl")
    operands = random_operands(einsum, agreeing(einsum, [4, 5, 3, 7]), [0.5], 1)
    sums = (f"{TTM}: sums over k are for each i and j and l, but an accumulator keeps those for 2 indices, so that one of "
            "these needs sub-tiles of one coordinate, or k does\n  try: ")
    assert message(tile, einsum, operands, 1024, 2) == (
        f"{sums}use edges 'split(k,2) split(i,1) split(j,2) split(l,2)' (--schedule or schedule=) in place of tile 2")
    check(einsum, operands, {"k": 2, "i": 1, "j": 2, "l": 2})
    assert message(tile, einsum, operands, 1024, {"k": 3, "i": 2, "j": 2, "l": 2}) == (
        f"{sums}use edges 'split(k,3) split(i,1) split(j,2) split(l,2)' (--schedule or schedule=)")


def test_what_is_refused_is_what_edges_leave():
    """Loops over n turn once, and the one over m as well."""
    einsum = parse("X(i,j,l,m) = B(i,k) * C(k,j) * D(n,l) * E(n,m)", "nkmlji")
    operands = random_operands(einsum, agreeing(einsum, [1, 2, 1, 3, 3, 3]), [0.5], 1)
    assert message(tile, einsum, operands, 1024, 3) == (
        f"{einsum.text}: sums over k are for each l and j and i, but an accumulator keeps those for 2 indices, so that one of "
        "these needs sub-tiles of one coordinate, or k does\n"
        "  try: use edges 'split(n,1) split(k,2) split(m,1) split(l,1) split(j,3) split(i,3)' (--schedule or schedule=) in "
        "place of tile 3")


def test_two_sums_are_settled_where_edges_of_the_result_are_said():
    einsum = parse("X(i,j,l,m) = B(i,k) * C(k,j) * D(n,l) * E(n,m)", "nkmlji")
    operands = random_operands(einsum, agreeing(einsum, [2, 2, 2, 3, 3, 3]), [0.5], 1)
    edges = {"i": 2, "j": 2, "l": 2, "m": 2}
    assert check(einsum, operands, edges).edges == edges | {"n": 1, "k": 1}


def test_chosen_edges_are_as_good_as_those_of_the_order_that_sub_tiles_have():
    operands = random_operands(parse(TTM), dict(zip("ijlk", (40, 30, 50, 60), strict=True)), [0.01, 0.05], 1)
    least = {}
    for order in ("kijl", "ikjl", "ijlk"):
        tiling = tile(parse(TTM, order), operands, 1024, narrow=True)
        least[order] = cycles(normalize(tiling.einsum), tiling)
    assert least["kijl"] <= 1.05 * min(least.values())


def test_without_operands_a_statement_is_what_sub_tiles_of_one_coordinate_compute():
    assert uncut(parse(FOUR, "kijlm")).order == ("i", "j", "k", "l", "m")
    assert uncut(parse(TTM)) is not None and uncut(parse(TTM)).order == parse(TTM).order


def test_the_model_of_the_fabric_gives_the_words_of_numpy():
    einsum = parse(MTTKRP, "kijl")
    operands = random_operands(einsum, agreeing(einsum, [7, 5, 3, 4]), [0.5], 1)
    work = Work(tile(einsum, operands, 1024, {"j": 2}))
    given = fabric.run_graph(map_graph(lower(work.tiling.einsum)), list(work.transactions()))
    for found, right in zip(given, expected(work), strict=True):
        assert {name: each.tolist() for name, each in found.items()} == {name: each.tolist() for name, each in right.items()}
