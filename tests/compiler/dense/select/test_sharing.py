"""Which shared nodes are PEs of their own: compared with every choice."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from itertools import combinations

import pytest
from halide_programs import load
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from words import Words, at, graphs, harris, unsharp, weighted

from sardonyx.apps import dense
from sardonyx.compiler.dense.front.lower import lower
from sardonyx.compiler.dense.select.cover import Cover
from sardonyx.compiler.dense.select.fold import fold
from sardonyx.compiler.dense.select.sharing import STEPS, WORK, choose, total
from sardonyx.compiler.ir.dataflow import WORD_OPS
from sardonyx.compiler.lang.halide.walk import bind
from sardonyx.hw.arch import presets

ALL, AMBER = (frozenset(op.name for op in presets.get(name).pe.ops) for name in ("onyx", "amber"))


def cheapest(graph, ops=ALL):
    """What the graph costs with the best of all choices of nodes with several users, whether they can be absorbed or not."""
    cover = Cover(graph, ops, True)
    several = cover.roots - cover.results
    cover.shared = set(several)
    best = total(cover)
    for count in range(1, len(several) + 1):
        for absorbed in combinations(several, count):
            cover.cut = cover.roots - set(absorbed)
            best = min(best, total(cover))
    return best


def assert_cheapest(graph, ops=ALL):
    cover = Cover(graph, ops, True)
    assert choose(cover)
    assert total(cover) == cheapest(graph, ops)


@pytest.mark.parametrize("ops", [ALL, AMBER], ids=["onyx", "amber"])
@pytest.mark.parametrize("words", [tuple(WORD_OPS), ("add", "sub", "mul", "shl", "shr", "word", "lt"),
                                 ("lt", "bit_and", "bit_xor", "bit_not", "min", "max", "select")])
@settings(max_examples=60)
@given(data=st.data())
def test_no_choice_is_cheaper_than_the_one_found(words, ops, data):
    graph = fold(data.draw(graphs(words, 18)), ops)
    cover = Cover(graph, ops, True)
    assume(len(cover.roots) < 9)
    assert_cheapest(graph, ops)


def kept(words, *inputs):
    """Results that keep two rows of inputs in any case."""
    return [words.xor(each, at(each, 0, 1)) for each in inputs]


# What pays: the node with two users costs less as a part of both.
PAYS = {
    "a factor in sums": lambda w, a, b, c, d: [w.add(s := w.mul(a, 3), b), w.add(s, c)],
    "a flag in sums": lambda w, a, b, c, d: [w.add(s := w.word(w.lt(a, b)), c), w.add(s, d)],
    "a product in shifts": lambda w, a, b, c, d: [w.shr(s := w.mul(a, 77), 8), w.shr(s, 3)],
    "a min in max": lambda w, a, b, c, d: [w.max(s := w.min(a, b), c), w.max(s, d)],
    # Both rows of a and b are kept anyway; so would be those of the node.
    "a min in min": lambda w, a, b, c, d: [w.min(s := w.min(a, b), c), w.min(at(s, 0, 1), d), *kept(w, a, b)],
    "a max in max": lambda w, a, b, c, d: [w.max(s := w.max(a, b), c), w.max(at(s, 0, 1), d), *kept(w, a, b)],
    "flags in a table": lambda w, a, b, c, d: [w.word(w.bit_and(s := w.bit_and(w.lt(a, b), w.lt(b, c)), w.lt(c, d))),
                                               w.word(w.bit_or(s, w.lt(d, a)))],
    "a negated flag in a table": lambda w, a, b, c, d: [
        w.select(w.bit_xor(w.bit_not(s := w.bit_and(w.lt(a, b), w.lt(b, c))), w.lt(c, d)), c, d),
        w.word(w.bit_or(s, w.lt(d, a)))],
    "a negated flag in a word": lambda w, a, b, c, d: [w.word(s := w.bit_not(flag := w.lt(a, b))), w.select(flag, c, d),
                                                       w.word(w.bit_and(s, w.lt(c, d)))],
}


@pytest.mark.parametrize("name", PAYS)
def test_a_node_is_absorbed_where_that_pays(name):
    words = Words()
    graph = fold(words.graph(*PAYS[name](words, *map(words.input, "abcd"))))
    cover = Cover(graph, ALL, True)
    before = total(cover)
    assert choose(cover)
    assert total(cover) == cheapest(graph) < before


def doubled():
    """Eight times a flag, at two points: as long as one of the sums is a PE of its own, taking in the other gains nothing."""
    words = Words()
    total = words.add(words.word(words.lt(words.input("a"), words.input("b"))), words.input("c"))
    for _ in range(2):
        total = words.add(total, total)
    total = words.add(total, at(total, 0, 1))
    return fold(words.graph(words.add(total, total)))


def test_nodes_that_pay_only_together_are_found():
    descent, search = Cover(doubled(), ALL, True), Cover(doubled(), ALL, True)
    assert not choose(descent, work=110)
    assert choose(search)
    assert total(search) < total(descent)


def test_a_search_that_ends_early_says_so_and_keeps_the_best_so_far():
    graph = fold(unsharp())
    early, whole = Cover(graph, ALL, True), Cover(graph, ALL, True)
    assert not choose(early, work=2000)
    assert choose(whole)
    assert total(whole) <= total(early) < total(Cover(graph, ALL, True))


def test_a_large_filter_takes_seconds_and_the_work_that_it_may() -> None:
    """169 taps with many products in common: all choices would be 2 ** 30."""
    words = Words()
    kernel = [[7 * row + column + 3 for row in range(13)] for column in range(13)]
    cover = Cover(fold(words.graph(weighted(words, words.input("in"), kernel))), ALL, True)
    assert not choose(cover)
    assert len(cover.shared) > 20 and WORK <= cover.work < 1.2 * WORK


def median(side):
    """The middle of a window by exchanges of neighbours: least and largest, each read twice."""
    words = Words()
    image = words.input("in")
    values = [at(image, x, y) for y in range(side) for x in range(side)]
    for last in range(len(values) - 1, len(values) // 2 - 1, -1):
        for place in range(last):
            pair = values[place], values[place + 1]
            values[place], values[place + 1] = words.min(*pair), words.max(*pair)
    return words.graph(values[len(values) // 2])


def layer(channels):
    """The first layer of a small network: 3 x 3 sums with constant weights, negative ones cut off."""
    words = Words()
    image = words.input("in")
    sums = [weighted(words, image, [[(5 * channel + 3 * x * y + y) % 17 - 8 for x in range(3)] for y in range(3)])
            for channel in range(channels)]
    return words.graph(*(words.max(0, each, signed=True) for each in sums))


@pytest.mark.parametrize("ops", [ALL, AMBER], ids=["onyx", "amber"])
@pytest.mark.parametrize("graph", [median(5), layer(8)], ids=["median", "layer"])
def test_a_search_through_plans_that_are_known_ends_after_the_steps_that_it_may(graph, ops) -> None:
    """Making no trees that are new costs no `work`: without a bound of its own it ran for minutes and longer."""
    cover, uncut = (Cover(fold(graph, ops), ops, True) for _ in range(2))
    steps = 100_000
    assert not choose(cover, steps=steps)
    assert cover.work < WORK and steps <= cover.steps < 1.1 * steps < STEPS
    assert total(cover) <= total(uncut)


def test_a_chain_of_any_length_is_planned() -> None:
    """Each PE is a part of the tree of the next one, so that planning one asks for all before it."""
    words = Words()
    value = words.input("in")
    for step in range(2000):
        value = words.mul(words.input("in"), words.max(words.min(value, 100 + step), words.input("other")))
    for ops in (ALL, AMBER):
        cover = Cover(words.graph(value), ops, True)
        assert max(cover.needed()) == value.node


@pytest.mark.parametrize("ops", [ALL, AMBER], ids=["onyx", "amber"])
@pytest.mark.parametrize("name", [module.name for module in pkgutil.iter_modules(dense.__path__)
                                  if module.name != "matrix_product"])
def test_the_choice_for_every_program_is_proven(name, ops):
    program = import_module(f"sardonyx.apps.dense.{name}").build()
    extents = (22, 17, 3) if name == "unsharp" else (22, 17)
    assert choose(Cover(fold(lower(bind(load(program), {"photo": extents})), ops), ops, True), work=WORK)


@pytest.mark.parametrize("build", [unsharp, pytest.param(harris, marks=pytest.mark.slow)])
def test_no_choice_makes_an_application_cheaper(build):
    assert_cheapest(fold(build()))
