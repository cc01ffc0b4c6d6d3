"""Random statements: the compiler's graphs, on two models of tokens and cut into sub-tiles, against NumPy on dense arrays."""

import random
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mutations import try_to_read
from random_statements import RESULTS, WIDE, contractions, dense, statements
from sam_reference import run
from statements import agreeing, random_operands
from tilings import check

from sardonyx.compiler.lang.einsum import parse, with_extents, with_sizes
from sardonyx.compiler.lang.parser import DEEPEST, LONGEST
from sardonyx.compiler.sparse.blocks import map_graph
from sardonyx.compiler.sparse.lower import lower
from sardonyx.compiler.sparse.settled import too_many
from sardonyx.compiler.sparse.tiling import tile
from sardonyx.hw.arch.errors import UserError
from sardonyx.runtime.data.sub_tiles import named
from sardonyx.sim.expected import by_slot, stored
from sardonyx.sim.golden import einsum as golden
from sardonyx.sim.model.tokens import fabric
from sardonyx.tensors import values as tensors
from sardonyx.tensors.values import to_array

# Why a statement of this grammar may be refused: its sums have no loop order, a summed index happens to stand outside of some
# term of a sum, too, or it is other than 0 where all tensors are.
REASONS = (r"index [no] stands outside of (sum|max)", r"are summed each inside the loop of the other\n",
           r" has no index [klm] but other ", r"index [klmno] is summed on both sides of a quotient\n",
           r"is -?\d+ where every tensor is 0, so the result would be dense\n")
EXTENTS = st.lists(st.sampled_from([1, 2, 3, 5]), min_size=8, max_size=8)
DENSITIES = st.lists(st.sampled_from([0.0, 0.2, 0.6, 1.0]), min_size=3, max_size=3)


def read(text):
    """The statement; one that is refused with a reason is not tried."""
    try:
        return parse(text)
    except UserError as error:
        assert any(re.search(reason, str(error)) for reason in REASONS), error
        assume(False)
    raise AssertionError("an assumption does not return")


def shuffled(text, seed):
    """The statement in an order at random; one that has maxima around loops that are outside of them is not tried."""
    order = list(read(text).order)
    random.Random(seed).shuffle(order)
    try:
        return parse(text, order)
    except UserError as error:
        assert error.where.startswith("loop order") and "only sums are accumulated" in error.what
        assume(False)
    raise AssertionError("an assumption does not return")


@settings(max_examples=150)
@given(text=statements(), extents=EXTENTS, densities=DENSITIES, seed=st.integers(0, 99))
def test_random_statements_mean_what_numpy_makes_of_dense_arrays(text, extents, densities, seed):
    einsum = read(text)
    named_extents = agreeing(einsum, extents)
    operands = random_operands(einsum, named_extents, densities, seed)
    data = {name: to_array(tensor).astype(np.int64) for name, tensor in operands.items()}
    expected = dense(einsum.expr, einsum.order, named_extents, data, einsum.result.indices)
    shape = [named_extents[index] for index in einsum.result.indices]
    assert np.array_equal(to_array(golden.evaluate(einsum, operands)), expected.reshape(shape))


@settings(max_examples=150)
@given(text=statements(results=(*RESULTS, *WIDE)), extents=EXTENTS, densities=DENSITIES, seed=st.integers(0, 99))
def test_random_statements_in_random_orders_give_the_words_of_golden_or_are_refused(text, extents, densities, seed):
    einsum = shuffled(text, seed)
    named_extents = agreeing(einsum, extents)
    if too_many(einsum):
        check(einsum, random_operands(einsum, named_extents, densities, seed), None, seed % 2 == 0)
        return
    einsum = with_extents(einsum, named_extents)
    operands = random_operands(einsum, named_extents, densities, seed)
    words = {access.slot: tensors.encode(operands[access.tensor].diagonal(access.modes), access.format)
             for access in einsum.operands}
    assert run(lower(einsum), words) == golden.words(einsum, golden.evaluate(einsum, operands))


@settings(max_examples=60)
@given(text=contractions(), extents=EXTENTS, densities=DENSITIES, seed=st.integers(0, 99))
def test_random_sums_around_three_indices_give_the_words_of_golden_in_sub_tiles(text, extents, densities, seed):
    order = sorted(read(text).order, key=lambda index: (index != "k", random.Random(f"{seed}{index}").random()))
    try:
        einsum = parse(text, order)
    except UserError as error:
        assert "only sums are accumulated" in error.what
        assume(False)
    assert too_many(einsum)
    check(einsum, random_operands(einsum, agreeing(einsum, extents), densities, seed), None, seed % 2 == 0)


@settings(max_examples=150)
@given(text=statements(), extents=EXTENTS, densities=DENSITIES, seed=st.integers(0, 99),
       letters=st.lists(st.sampled_from("ssd"), min_size=4, max_size=4), form=st.sampled_from(["ss", "ds", "dd", "sd"]),
       scatter=st.booleans(), shuffled=st.booleans())
def test_random_statements_give_the_words_of_golden_on_both_models_of_tokens(text, extents, densities, seed, letters, form,
                                                                             scatter, shuffled):
    einsum = read(text)
    order = list(einsum.order)
    if shuffled:
        random.Random(seed).shuffle(order)
    formats = {name: "".join(letters[at % 4] for at in range(rank)) for name, rank in einsum.tensors.items()}
    formats["X"] = form[:len(einsum.result.indices)]
    try:
        einsum = replace(parse(text, order, formats), scatter=scatter)
    except UserError as error:
        assume("only sums are accumulated" not in error.what)
        raise
    named_extents = agreeing(einsum, extents)
    einsum = with_sizes(with_extents(einsum, named_extents), named_extents)
    operands = random_operands(einsum, named_extents, densities, seed)
    words = {access.slot: tensors.encode(operands[access.tensor].diagonal(access.modes), access.format)
             for access in einsum.operands}
    result = golden.evaluate(einsum, operands)
    words["X"] = golden.words(einsum, result)
    sam = lower(einsum)
    assert run(sam, words) == tuple(block for level, block in enumerate(words["X"]) if formats["X"][level:level + 1] != "d")
    blocks = {name: block for access in (einsum.result, *einsum.operands)
              for name, block in named(access, words[access.slot]).items()}
    found, = fabric.run_graph(map_graph(sam), [blocks])
    assert {name: block.tolist() for name, block in found.items()} == \
        {name: block.tolist() for name, block in stored(einsum, result).items()}


@settings(max_examples=150)
@given(text=statements(4), extents=EXTENTS, edge=st.integers(1, 3), densities=DENSITIES, seed=st.integers(0, 99))
def test_random_statements_are_the_sum_of_their_sub_tiles(text, extents, edge, densities, seed):
    einsum = read(text)
    operands = random_operands(einsum, agreeing(einsum, extents), densities, seed)
    work = tile(einsum, operands, 1024, edge)
    alone = by_slot(work.einsum)
    parts = (golden.evaluate(alone, work.operands(item)) for item in range(len(work)))
    assert work.combine(parts) == golden.evaluate(einsum, operands)


def test_statements_as_text_are_read_back_as_the_same_tree():
    for text in ("x(i) = (b(i) > c(i)) + ((b(i) != 3) > (c(i) - 2 < 0) * 3)",
                 "x(i) = -(b(i) - -(c(i) > 2)) * max(b(i), -c(i))",
                 "x(i) = -(b(i) / c(i)) / (c(i) * b(i)) * (b(i) / 3 * (2 / c(i))) + b(i) / (c(i) / (b(i) - c(i)))",
                 "x(i) = 3 * b(i) / c(i) * b(i) - -b(i) / (b(i) / c(i) > 2)"):
        einsum = parse(text)
        assert parse(f"{einsum.result} = {einsum.expr}").expr == einsum.expr


@settings(max_examples=100)
@given(text=statements())
def test_random_statements_as_text_are_read_back_as_the_same_text(text):
    einsum = read(text)
    assert str(parse(f"{einsum.result} = {einsum.expr}").expr) == str(einsum.expr)


@settings(max_examples=200)
@given(text=statements(), order=st.text("ijklm,; ", max_size=6), form=st.text("ds01239", max_size=5),
       seed=st.integers(0, 1 << 32))
def test_damaged_statements_are_read_or_refused(text, order, form, seed):
    formats = {"A": form} if form else {}
    try_to_read(lambda content: parse(content.decode("utf-8", "replace"), order, formats), text.encode(), seed)


@settings(max_examples=200)
@given(st.text("(),-+*/=<>! \tijABrelumax0319_é²٣", max_size=40))
def test_any_text_is_read_or_refused(text):
    try_to_read(lambda content: parse(content.decode()), f"X(i) = {text}".encode(), 0, lambda content, _: content)


@pytest.mark.parametrize("text", ["x = " + "relu(" * (DEEPEST + 9) + "b" + ")" * (DEEPEST + 9),
                                  "x = " + "-" * (LONGEST - 9) + "b",
                                  "x = " + "b > " * 300 + "b", "x = " + "max(b, " * 40 + "b" + ")" * 40])
def test_deep_statements_are_read_or_refused(text):
    try_to_read(lambda content: parse(content.decode()), text.encode(), 0, lambda content, _: content)
