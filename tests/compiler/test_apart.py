"""Loops of a result inside sums that are in a term, an argument or a factor: these sums are statements of their own."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sam_reference import run
from statements import agreeing, random_operands
from tilings import DRAWN, check, message

from sardonyx.compiler.ir.sam_kept import KeptValues
from sardonyx.compiler.lang.einsum import parse, with_extents, with_sizes
from sardonyx.compiler.sparse.blocks import map_graph
from sardonyx.compiler.sparse.lower import lower
from sardonyx.compiler.sparse.settled import too_many
from sardonyx.compiler.sparse.tiling import tile
from sardonyx.runtime.data.sub_tiles import Work, named
from sardonyx.sim.expected import expected, stored
from sardonyx.sim.golden import einsum as golden
from sardonyx.sim.model.tokens import fabric
from sardonyx.tensors import values as tensors
from sardonyx.tensors.coordinates import Coo

RESIDUAL = "x(i) = b(i) - C(i,j) * d(j)"
MASKED = "X(i,j) = relu(A(i,k) * B(k,j)) + D(i,j)"
WIDE = "X(i,j,l) = D(i,j,l) - B(i,j,k) * C(k,l)"
NESTED = "X(i,j) = abs(B(i,j,k) * c(k)) * D(i,j) - E(j,l) * F(l,i)"
# Statements, and how many of their orders take a sum out.
STATEMENTS = {
    RESIDUAL: 1, "x(i) = 2 * B(j,i) * c(j) + -3 * d(i)": 1, MASKED: 4, "X(i,j) = relu(sum(k, A(i,k) * B(k,j))) + D(i,j)": 4,
    "X(i,j) = relu(sum(k, A(i,k) * B(k,j)))": 0, "x(i) = c(i) * sum(j, relu(B(i,j)))": 0, "x(i) = B(i,j) + C(i,j)": 1,
    "x(i) = sum(k, A(i,k) * sum(l, B(k,l)))": 1, "x(i) = b(i) + a(i) * (c(n) + d(n))": 1, "x(i) = B(i,k) / c(i)": 1,
    "X(i,j) = A(i) * (B(j) + C(j,k) * d(k))": 4, "X(i,j) = A(i,j) * max(k, B(j,k))": 1,
    "x(i) = (b(i,j) - C(i,j,k) * d(k)) * e(j)": 4, "X(i,j) = max(A(i,k) * B(k,j), C(i,j))": 4,
    "x = sum(i, relu(A(i,j) * b(j))) + c": 1, NESTED: 20}


@pytest.mark.parametrize("text,order,every", [
    (RESIDUAL, "ij", [RESIDUAL]), (RESIDUAL, "ji", ["x.sum1(i) = C(i,j) * d(j)", "x(i) = b(i) - x.sum1(i)"]),
    (MASKED, "kji", ["X.sum1(j,i) = A(i,k) * B(k,j)", "X(i,j) = relu(X.sum1(j,i)) + D(i,j)"]),
    ("x(i) = a(i) * (b(i) - relu(C(i,j) * d(j))) / 2", "ji",
     ["x.sum1(i) = C(i,j) * d(j)", "x(i) = a(i) * (b(i) - relu(x.sum1(i))) / 2"]),
    # Sums in sums: the inner one is for each of what the outer one is over.
    ("x(i) = b(i) - relu(C(i,k) * d(k)) * E(i,j)", "kji",
     ["x.sum1.sum1(i) = C(i,k) * d(k)", "x.sum1(i) = relu(x.sum1.sum1(i)) * E(i,j)", "x(i) = b(i) - x.sum1(i)"]),
    # A sum of the whole is accumulated, named or not, with what is summed inside of it.
    ("x(i) = sum(k, A(i,k) * sum(l, B(k,l)))", "lik", ["x(i) = sum(k, A(i,k) * sum(l, B(k,l)))"]),
    ("x(i) = sum(k, A(i,k) * sum(l, B(k,l)))", "ilk",
     ["x.sum1(i,k) = A(i,k) * sum(l, B(k,l))", "x(i) = sum(k, x.sum1(i,k))"])])
def test_sums_that_are_taken_out(text, order, every):
    found = parse(text, order).every
    assert [each.text for each in found] == every
    assert all(each.every == (each,) for each in found)


@pytest.mark.parametrize("text,taken", STATEMENTS.items())
def test_every_order_of_loops_gives_the_words_of_golden_on_both_models_of_tokens(text, taken):
    found = 0
    for n, order in enumerate(permutations(parse(text).order)):
        if "max(k" in text and order.index("k") < order.index("j"):
            continue
        einsum = parse(text, order)
        extents = agreeing(einsum, [[3, 2, 5, 4], [1, 3, 2, 5], [2, 4, 0, 3]][n % 3])
        einsum = with_sizes(with_extents(einsum, extents), extents)
        graph = lower(einsum)
        assert (len(einsum.every) > 1) == any(isinstance(op, KeptValues) for op in graph.nodes.values())
        found += len(einsum.every) > 1
        operands = random_operands(einsum, extents, [[0.5], [0.2, 0.9], [0.0, 0.6]][n % 3], n)
        words = {access.slot: tensors.encode(operands[access.tensor], access.format) for access in einsum.operands}
        result = golden.evaluate(einsum, operands)
        words[einsum.result.slot] = golden.words(einsum, result)
        assert run(graph, words) == words[einsum.result.slot]
        blocks = {name: block for access in (einsum.result, *einsum.operands)
                  for name, block in named(access, words[access.slot]).items()}
        made, = fabric.run_graph(map_graph(graph), [blocks])
        assert {name: block.tolist() for name, block in made.items()} == \
            {name: block.tolist() for name, block in stored(einsum, result).items()}
    assert found == taken


@settings(max_examples=60)
@given(text=st.sampled_from([*STATEMENTS, WIDE]), order=st.permutations("ijklmn"),
       extents=st.lists(st.sampled_from([0, 1, 2, 5, 7]), min_size=4, max_size=4), edge=st.integers(1, 3), **DRAWN)
def test_orders_formats_and_edges_at_random_give_the_words_of_golden(text, order, extents, edge, letters, form, densities, seed,
                                                                     narrow):
    plain = parse(text)
    result = plain.result.tensor
    formats = {name: (letters * 2)[at:at + rank] for at, (name, rank) in enumerate(plain.tensors.items())}
    formats[result] = form[:len(plain.result.indices)]
    if "max(k" in text and order.index("k") < order.index("j"):
        order = plain.order
    if formats[result] == "" or "(" not in text.partition("=")[0]:
        del formats[result]
    einsum = parse(text, [index for index in order if index in plain.order], formats)
    operands = random_operands(einsum, agreeing(einsum, extents), densities, seed)
    # Sums in functions see all of their coordinates.
    cut = dict.fromkeys(einsum.result.indices[:1], edge)
    check(einsum, operands, cut or None, narrow)


def test_a_sum_of_a_term_around_three_indices_is_for_sub_tiles_to_settle():
    found = [parse(WIDE, order) for order in permutations("ijlk")]
    assert sum(bool(too_many(einsum)) for einsum in found) == 6
    for n, einsum in enumerate(found):
        operands = random_operands(einsum, agreeing(einsum, [5, 3, 2, 7]), [0.5, 0.3], n)
        check(einsum, operands, narrow=n % 2 == 0)


def test_a_sum_that_mem_tiles_cannot_keep_is_refused_with_edges_that_can():
    einsum = parse("x(i) = d(i) - E(i,j) * relu(A(i,k) * B(k,j))", "ikj")
    operands = {"A": Coo.make((40, 1), np.array([(i, 0) for i in range(40)]), np.ones(40, np.int64)),
                "B": Coo.make((1, 40), np.array([(0, j) for j in range(40)]), np.ones(40, np.int64)),
                "d": Coo.make((40,), np.array([(0,)]), np.ones(1, np.int64)),
                "E": Coo.make((40, 40), np.array([(0, 0)]), np.ones(1, np.int64))}
    assert message(tile, einsum, operands, 1024, 40) == (
        "x(i) = d(i) - E(i,j) * relu(A(i,k) * B(k,j)): the sum A(i,k) * B(k,j) is kept in MEM tiles: level j of x.sum1 needs "
        "1600 words but a MEM tile holds 1024\n  try: use a tile edge of 32 or less, or none to have it chosen")
    check(einsum, operands)


@pytest.mark.parametrize("text,order,inner,default", [
    ("x(i) = max(k, B(i,k))", "ki", "i", "i k"), ("X(i,j) = A(i,j) * max(k, B(j,k))", "ikj", "j", "i j k"),
    ("x(i) = b(i) + max(k, B(i,k,l) * c(l))", "kil", "i", "i k l")])
def test_maxima_are_not_accumulated(text, order, inner, default):
    assert message(parse, text, order) == (
        f"loop order {' '.join(order)} of {text}: the largest values over k would be kept for each {inner}, but only sums are "
        f"accumulated\n  try: use {default}, or any order with k inside of {inner}")


def test_a_sum_around_three_indices_that_cannot_be_cut_is_refused():
    einsum = parse("x = a + abs(sum(i, sum(j, sum(l, relu(B(i,j,k) * C(k,l))))))", "kijl")
    operands = random_operands(einsum, dict.fromkeys(einsum.order, 3), [0.5], 1)
    assert message(tile, einsum, operands, 1024) == (
        f"{einsum.text}: sums over k are for each i and j and l, but an accumulator keeps those for 2 indices, so that one "
        "of these needs sub-tiles of one coordinate, or k does, and all are summed inside a function, so that they cannot be "
        "cut\n  try: use a loop order with k inside of i")
    check(parse(einsum.text, "ikjl"), operands)


@pytest.mark.parametrize("formats", [{"A": "ds"}, {"A": "ds", "D": "ds"}, {"D": "ds"}])
def test_dense_levels_of_a_result_are_counted_around_sums_that_are_kept(formats):
    """Where they are of operands that have all coordinates, what is kept of these has not."""
    einsum = parse("X(i,j) = abs(A(i,k) * B(k,j) - D(i,j))", "ikj", {"X": "ds", **formats})
    operands = random_operands(einsum, dict(zip("ikj", (5, 2, 3), strict=True)), [0.4], 1)
    for work in (Work(tile(einsum, operands, 1024)), Work(tile(einsum, operands, 1024, 1, narrow=True))):
        ran = fabric.run_graph(map_graph(lower(work.tiling.einsum)), list(work.transactions()))
        assert [{name: each.tolist() for name, each in found.items()} for found in ran] == \
            [{name: each.tolist() for name, each in right.items()} for right in expected(work)]
