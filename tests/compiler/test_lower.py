import time
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sam_reference import run
from statements import DENSE, agreeing, random_operands

from sardonyx.compiler.ir.mapped import LOAD, STORE
from sardonyx.compiler.ir.sam_levels import Locator, RootLocator, Scanner
from sardonyx.compiler.ir.sam_reduce import Accumulator, Reducer
from sardonyx.compiler.ir.sam_streams import Dropper, Joiner, Repeater
from sardonyx.compiler.lang.einsum import EVERY, LOCATED, parse, with_extents, with_sizes
from sardonyx.compiler.lang.kernel import kernel_names, load_kernel
from sardonyx.compiler.sparse.counted import everywhere
from sardonyx.compiler.sparse.lower import lower
from sardonyx.compiler.sparse.normalize import normalize
from sardonyx.compiler.sparse.settled import too_many
from sardonyx.hw.arch.errors import UserError
from sardonyx.sim.golden import einsum as golden
from sardonyx.sim.model.tokens.network import Network
from sardonyx.tensors.fibertree import build

DENSITIES = st.sampled_from([0.0, 0.1, 0.3, 0.7, 1.0])


def check(einsum, operands):
    blocks = {access.slot: build(operands[access.tensor].diagonal(access.modes), access.format).blocks()
              for access in einsum.operands}
    words = golden.words(einsum, golden.evaluate(einsum, operands))
    extents = einsum.extents({name: each.shape for name, each in operands.items()})
    graph = lower(with_sizes(with_extents(einsum, extents), extents))
    stored = tuple(block for level, block in enumerate(words) if einsum.result.format.letters[level:level + 1] != "d")
    assert run(graph, {**blocks, einsum.result.slot: words}) == stored


@pytest.mark.parametrize("text", DENSE)
@settings(max_examples=25)
@given(extents=st.lists(st.sampled_from([1, 2, 3, 5, 7]), min_size=4, max_size=4),
       densities=st.lists(DENSITIES, min_size=3, max_size=3), seed=st.integers(0, 999))
@example(extents=[1, 1, 1, 1], densities=[0.0], seed=0)
@example(extents=[5, 3, 2, 3], densities=[0.0], seed=0)
@example(extents=[5, 3, 2, 3], densities=[0.0, 0.5], seed=0)
@example(extents=[5, 3, 2, 3], densities=[0.5, 0.0], seed=0)
@example(extents=[3, 3, 3, 3], densities=[1.0], seed=0)
def test_graph_gives_the_words_of_golden(text, extents, densities, seed):
    einsum = parse(text)
    check(einsum, random_operands(einsum, agreeing(einsum, extents), densities, seed))


@pytest.mark.parametrize("locate", LOCATED)
@pytest.mark.parametrize("text", [text for text in DENSE if "(" in text.split("=")[1]])
@settings(max_examples=8)
@given(letters=st.lists(st.sampled_from("ds"), min_size=16, max_size=16),
       densities=st.lists(DENSITIES, min_size=2,
                                                                                          max_size=2),
       extents=st.lists(st.sampled_from([1, 2, 3, 5]), min_size=4, max_size=4), seed=st.integers(0, 999))
def test_dense_levels_give_the_same(text, locate, letters, densities, extents, seed):
    ranks = parse(text).tensors
    formats = {name: "".join(letters[at:at + rank]) for at, (name, rank) in enumerate(ranks.items())}
    einsum = replace(parse(text, formats=formats), locate=locate)
    check(einsum, random_operands(einsum, agreeing(einsum, extents), densities, seed))


@pytest.mark.parametrize("text", [text for text in DENSE if not text.startswith("x =")])
@settings(max_examples=12)
@given(dense=st.integers(1, 3), locate=st.sampled_from(LOCATED),
       letters=st.lists(st.sampled_from("ssd"), min_size=16, max_size=16),
       densities=st.lists(DENSITIES, min_size=2, max_size=2),
       extents=st.lists(st.sampled_from([1, 2, 3, 5]), min_size=4, max_size=4), seed=st.integers(0, 999))
def test_dense_levels_of_the_result_hold_zeros(text, dense, locate, letters, densities, extents, seed):
    plain = parse(text)
    rank = len(plain.result.indices)
    formats = {name: "".join(letters[at:at + rank]) for at, (name, rank) in enumerate(plain.tensors.items())}
    formats[plain.result.tensor] = ("d" * dense + "sss")[:rank]
    einsum = replace(parse(text, formats=formats), locate=locate)
    check(einsum, random_operands(einsum, agreeing(einsum, extents), densities, seed))


@pytest.mark.parametrize("text", [text for text in DENSE if not text.startswith("x =")])
@settings(max_examples=12)
@given(form=st.sampled_from(["d", "sd", "sdd", "dsd", "all"]),
       letters=st.lists(st.sampled_from("ssd"), min_size=16, max_size=16),
       densities=st.lists(DENSITIES, min_size=2, max_size=2), transposed=st.booleans(),
       extents=st.lists(st.sampled_from([1, 2, 3, 5]), min_size=4, max_size=4), seed=st.integers(0, 999))
def test_dense_levels_of_the_result_are_written_at_coordinates(text, form, letters, densities, transposed, extents, seed):
    plain = parse(text)
    rank = len(plain.result.indices)
    formats = {name: "".join(letters[at:at + rank]) for at, (name, rank) in enumerate(plain.tensors.items())}
    formats["x" if rank == 1 else "X"] = "d" * rank + "10" * (transposed and rank == 2) if form == "all" else \
        ("s" * rank + form)[-rank:]
    einsum = replace(parse(text, formats=formats), scatter=True)
    assert einsum.scattered
    check(einsum, random_operands(einsum, agreeing(einsum, extents), densities, seed))


@pytest.mark.parametrize("text,forms", [
    ("X(i,j) = B(i,k) * C(k,j)", ["dd01", "dd10", "sd"]), ("x(i) = B(i,j) * c(j)", ["d"]),
    ("X(i,j) = relu(B(i,k) * C(k,j) - 1)", ["dd01", "dd10"]), ("X(i,j,k) = B(i,j,l) * C(l,k)", ["ddd", "ssd", "sdd"])])
def test_dense_results_have_their_zeros_in_every_loop_order(text, forms):
    for n, order in enumerate(permutations(parse(text).order)):
        for form in forms:
            with suppress(UserError):
                einsum = parse(text, order, {text[0]: form})
                if too_many(einsum):
                    continue
                for density in (0.0, 0.4):
                    check(einsum, random_operands(einsum, agreeing(einsum, [5, 3, 4, 2]), [density, 0.5], n))


def orders(text):
    """All loop orders that work, whatever the sub-tiles."""
    found = []
    for order in permutations(parse(text).order):
        with suppress(UserError):
            found.append(parse(text, order))
    return [einsum for einsum in found if not too_many(einsum)]


@pytest.mark.parametrize("text", DENSE)
def test_every_loop_order_that_works_gives_the_words_of_golden(text):
    for n, einsum in enumerate(orders(text)):
        for density in (0.0, 0.4):
            check(einsum, random_operands(einsum, agreeing(einsum, [5, 3, 4, 2]), [density, 0.5], n))


@pytest.mark.parametrize("text,works", [
    ("X(i,j) = B(i,k) * C(k,j)", 6), ("x(i) = B(i,j) * c(j)", 2), ("X(i,j) = B(i,k,l) * C(j,k) * D(j,l)", 24),
    ("X(i,j) = (B(i,k) + C(i,k)) * D(k,j)", 6), ("x = B(i,j,k) * C(i,j,k)", 6), ("x(i) = b(i) - C(i,j) * d(j)", 2),
    ("X(i,j) = relu(B(i,k) * C(k,j) - 1)", 6), ("x(i) = 3 * -abs(B(i,j) * c(j))", 2), ("x(i) = relu(B(i,j) * c(j)) * d(i)", 2),
    # With l around i, j and k there are three coordinates, which sub-tiles settle (test_settled.py).
    ("X(i,j,k) = B(i,j,l) * C(l,k)", 18)])
def test_loop_orders_that_work(text, works):
    assert len(orders(text)) == works
    for n, einsum in enumerate(orders(text)):
        check(einsum, random_operands(einsum, agreeing(einsum, [5, 3, 4, 2]), [0.4], n))


@pytest.mark.parametrize("text", ["X(i,j) = B(i,k) * C(k,j)", "x(i) = B(i,j) * c(j)", "X(i,j) = B(i,k,l) * C(j,k) * D(l)"])
def test_no_loop_order_needs_more_than_three_tokens_on_an_edge(text):
    for n, einsum in enumerate(orders(text)[::-3]):
        graph = lower(einsum)
        operands = random_operands(einsum, agreeing(einsum, [9, 8, 7, 6]), [0.5, 0.2], n)
        blocks = {access.slot: build(operands[access.tensor], access.format).blocks() for access in einsum.operands}
        nodes = {name: (op.primitive.name, op.settings) for name, op in graph.nodes.items()}
        edges = [((edge.src.node, graph.nodes[edge.src.node].renamed.get(edge.src.port, edge.src.port)),
                  (edge.dst.node, edge.dst.port)) for edge in graph.edges]
        moved = {name: op.moved for name, op in graph.nodes.items() if op.moved}
        loads = {(name, "block"): blocks[each.slot][each.level] * 3 for name, each in moved.items() if each.direction == LOAD}
        stores = [(name, "block_o") for name, each in moved.items() if each.direction == STORE]
        given = Network(nodes, edges).run(loads, stores, capacity=3).outputs
        words = golden.words(einsum, golden.evaluate(einsum, operands))
        # The outermost level is stored without segments.
        words = [words[0][3:], *words[1:]]
        assert given == {store: words[moved[store[0]].level] * 3 for store in stores}


@pytest.mark.parametrize("order,accumulated,drops", [
    ("ijk", {}, ["value", "coordinate"]), ("ikj", {"k": ("j",)}, ["coordinate"]), ("kij", {"k": ("i", "j")}, ["coordinate"])])
def test_a_summed_index_is_reduced_inside_the_loops_of_the_result_and_accumulated_around_them(order, accumulated, drops):
    graph = lower(parse("X(i,j) = B(i,k) * C(k,j)", order))
    assert {op.index: op.inner for op in graph.nodes.values() if isinstance(op, Accumulator)} == accumulated
    assert count(graph, Reducer) == (not accumulated)
    assert [op.form for op in graph.nodes.values() if isinstance(op, Dropper)] == drops


def test_an_index_is_reduced_before_another_is_accumulated():
    graph = lower(parse("X(i,j) = B(i,k,l) * C(k,j) * D(l,j)", "ikjl"))
    ops = [type(graph.nodes[name]) for name in graph.topological()]
    assert ops.index(Reducer) < ops.index(Accumulator) and count(graph, Accumulator) == 1
    assert count(lower(parse("X(i,j) = B(i,k,l) * C(k,j) * D(l,j)", "iklj")), Accumulator) == 2


@pytest.mark.parametrize("name", kernel_names())
@pytest.mark.parametrize("density", [0.05, 0.4])
def test_kernel_gives_the_words_of_golden(name, density):
    kernel = load_kernel(name)
    einsum = kernel.einsum()
    for seed, shape in enumerate(kernel.shapes):
        check(einsum, random_operands(einsum, dict(shape), [density], seed))


def count(graph, kind):
    return sum(isinstance(op, kind) for op in graph.nodes.values())


def test_a_factor_without_the_summed_index_is_not_repeated_in_its_loop():
    graph = lower(parse("X(i,j) = B(i,j) * C(i,k) * D(k,j)"))
    repeated = {(op.slot, op.index) for op in graph.nodes.values() if isinstance(op, Repeater)}
    assert repeated == {("D", "i"), ("C", "j")}


def test_four_references_take_four_joiners_per_level():
    graph = lower(parse("X(i,j) = B(i,j) + C(i,j) + D(i,j) + E(i,j)"))
    assert count(graph, Joiner) == 8


def test_only_the_outermost_sum_of_a_scalar_is_unguided():
    graph = lower(parse("x = B(i,j) * C(i,j)"))
    assert [op.guided for op in graph.nodes.values() if isinstance(op, Reducer)] == [True, False]


def test_a_copy_drops_no_zeros_and_a_copy_of_a_dense_level_does():
    assert [op.form for op in lower(parse("X(i,j) = B(i,j)")).nodes.values()
            if isinstance(op, Dropper)] == ["coordinate"]
    assert [op.form for op in lower(parse("X(i,j) = B(i,j)", formats={"B": "ds"})).nodes.values()
            if isinstance(op, Dropper)] == ["value", "coordinate"]


def test_lowering_is_deterministic():
    text = "x(i) = (b(i) + C(i,j) * d(j)) * (g(i) - F(i,k) * h(k))"
    assert lower(parse(text)).to_json() == lower(parse(text)).to_json()


@pytest.mark.parametrize("text,formats,scans,locators", [
    ("X(i,j) = B(i,k) * C(k,j)", {"B": "dd"}, {"B": 1, "C": 2}, ["B1"]),
    ("X(i,j) = B(i,j) * C(i,k) * D(k,j)", {"C": "dd", "D": "dd"}, {"B": 2, "C": 1, "D": 1}, ["C0", "D0"]),
    ("x(i) = B(i,j) * c(j)", {"c": "d"}, {"B": 2}, ["c0"]),
    ("X(i,j) = B(i,j) * C(i,j) + D(i,j)", {"B": "dd", "D": "dd"}, {"C": 2, "D": 2}, ["B0", "B1"]),
    # Two dense levels meet at each step, so that nothing is gained inside.
    ("X(i,j) = B(i,j) * C(i,j)", {"B": "dd", "C": "dd"}, {"B": 2, "C": 1}, ["C0"]),
    ("X(i,j) = B(i,j) + C(i,j)", {"B": "dd", "C": "ss"}, {"B": 2, "C": 2}, [])])
def test_a_dense_level_is_located_where_another_factor_says_the_coordinates(text, formats, scans, locators):
    ops = [*lower(replace(parse(text, formats=formats), locate=EVERY)).nodes.values()]
    assert Counter(op.slot for op in ops if isinstance(op, Scanner)) == scans
    found = [f"{op.slot}{getattr(op, 'level', 0)}" for op in ops if isinstance(op, Locator | RootLocator)]
    assert sorted(found) == locators
    # What is located at a coordinate of the outermost level is not repeated before.
    assert not any(isinstance(op, Repeater) and op.root and f"{op.slot}0" in locators for op in ops)


@pytest.mark.parametrize("text,order,form", [
    ("X(i,j) = B(i,k) * C(k,j)", "kij", "ds"), ("X(i,j) = B(i,k) * C(k,j)", "kji", "ds10"),
    ("X(i,j,l) = B(i,k,j) * C(k,l)", "ikjl", "dds"), ("X(i,j) = relu(B(i,k) * C(k,j))", "kij", "ds")])
def test_sums_that_are_accumulated_around_dense_levels_are_read_with_all_coordinates(text, order, form):
    einsum = parse(text, order, {"X": form})
    assert einsum.reframed
    for seed, densities in enumerate(([0.0], [0.1, 0.3], [0.7], [1.0])):
        check(einsum, random_operands(einsum, {"i": 5, "j": 4, "k": 3, "l": 6}, densities, seed))


@pytest.mark.parametrize("text,form,counted", [
    ("x(i) = B(i,j) * c(j)", "ds", 0), ("x(i) = B(i,j) * c(j)", "ss", 1), ("x(i) = B(i,j) * c(j) + d(i)", "ds", 0),
    ("x(i) = B(i,j) * c(j) * d(i)", "ds", 1)])
def test_a_dense_level_of_the_result_is_counted_where_operands_may_miss_some(text, form, counted):
    nodes = lower(parse(text, "ij", {"B": form, "x": "d"})).nodes.values()
    assert len([op for op in nodes if isinstance(op, Scanner) and op.slot == "x"]) == counted


@pytest.mark.parametrize("text,found", [("x = b(i) * c(i)", True), ("x = b(i) * d(i)", False), ("x = e * d(j)", False),
                                        ("x = e * d(j) + d(i)", False), ("x = e * d(j) + b(i)", True)])
def test_a_product_without_an_index_meets_none_of_its_coordinates(text, found):
    statement = parse(text)
    statement = parse(text, formats={name: "d" for name in statement.tensors if name in "bc"})
    assert everywhere(normalize(statement), "i") is found


def test_the_factor_that_is_there_last_is_multiplied_last():
    """A repeated one passes a repeater before it is looked up; located ones pass nothing."""
    graph = lower(replace(parse("X(j) = B * C(j) * D(j)", "j", {"C": "d", "D": "d"}), locate=EVERY))
    feeds = {(edge.dst.node, edge.dst.port): edge.src.node for edge in graph.edges}
    assert {feeds["mul", port] for port in "ab"} == {"values_C", "values_D"} and feeds["mul_2", "b"] == "values_B"


def test_a_product_of_many_indices_is_lowered_at_once():
    """Though paths from its streams to its factors are millions: each of its nodes is looked at once."""
    began, at = time.process_time(), "(i,j,k,l,m,n)"
    graph = lower(parse(f"X{at} = A{at} * B{at} * C{at}"))
    assert len(graph.nodes) == 54 and time.process_time() - began < 5
