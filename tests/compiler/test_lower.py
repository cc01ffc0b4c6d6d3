import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sam_reference import run
from statements import DENSE, agreeing, random_operands

from sardonyx.compiler.ir.sam_ops import Dropper, Joiner, Reducer, Repeater
from sardonyx.compiler.lang.einsum import parse
from sardonyx.compiler.lang.kernel import kernel_names, load_kernel
from sardonyx.compiler.sparse.lower import lower
from sardonyx.sim.golden import einsum as golden
from sardonyx.tensors.fibertree import build

DENSITIES = st.sampled_from([0.0, 0.1, 0.3, 0.7, 1.0])


def check(einsum, operands):
    blocks = {access.slot: build(operands[access.tensor].diagonal(access.modes), access.format).blocks()
              for access in einsum.operands}
    words = golden.words(einsum, golden.evaluate(einsum, operands))
    dense = einsum.result.format.dense_levels
    assert run(lower(einsum), {**blocks, einsum.result.slot: words}) == words[dense:]


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


@pytest.mark.parametrize("text", [text for text in DENSE if "(" in text.split("=")[1]])
@settings(max_examples=15)
@given(letters=st.lists(st.sampled_from("ds"), min_size=16, max_size=16),
       densities=st.lists(DENSITIES, min_size=2,
                                                                                          max_size=2),
       extents=st.lists(st.sampled_from([1, 2, 3, 5]), min_size=4, max_size=4), seed=st.integers(0, 999))
def test_dense_levels_give_the_same(text, letters, densities, extents, seed):
    ranks = parse(text).tensors
    formats = {name: "".join(letters[at:at + rank]) for at, (name, rank) in enumerate(ranks.items())}
    einsum = parse(text, formats=formats)
    check(einsum, random_operands(einsum, agreeing(einsum, extents), densities, seed))


@pytest.mark.parametrize("text", [text for text in DENSE if not text.startswith("x =")])
@settings(max_examples=12)
@given(dense=st.integers(1, 3), letters=st.lists(st.sampled_from("ssd"), min_size=16, max_size=16),
       densities=st.lists(DENSITIES, min_size=2, max_size=2),
       extents=st.lists(st.sampled_from([1, 2, 3, 5]), min_size=4, max_size=4), seed=st.integers(0, 999))
def test_dense_levels_of_the_result_hold_zeros(text, dense, letters, densities, extents, seed):
    plain = parse(text)
    rank = len(plain.result.indices)
    formats = {name: "".join(letters[at:at + rank]) for at, (name, rank) in enumerate(plain.tensors.items())}
    formats[plain.result.tensor] = ("d" * dense + "sss")[:rank]
    einsum = parse(text, formats=formats)
    check(einsum, random_operands(einsum, agreeing(einsum, extents), densities, seed))


@pytest.mark.parametrize("order", ["ijk", "jik"])
def test_loop_orders_of_a_matrix_product_give_the_same_matrix(order):
    einsum = parse("X(i,j) = B(i,k) * C(k,j)", order)
    check(einsum, random_operands(einsum, {"i": 5, "j": 7, "k": 11}, [0.3], 1))


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
