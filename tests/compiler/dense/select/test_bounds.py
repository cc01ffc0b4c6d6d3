"""Programs on which a search has no end in sight: selection gives something right within a bound of work."""

from __future__ import annotations

import pytest
from words import Words, at

from sardonyx.compiler.dense.select.fold import fold
from sardonyx.compiler.dense.select.select import select
from sardonyx.compiler.dense.select.tree import Value, leaves, moved, pe
from sardonyx.compiler.dense.select.tree import parts as tree_parts
from sardonyx.compiler.ir.dataflow import Ref
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.op import OPS

AMBER = presets.get("amber").pe.ops


def flags(words):
    """As many flags as are wanted."""
    a = words.input("a")
    return (words.lt(at(a, place), words.input("b")) for place in range(1000))


@pytest.mark.parametrize("ops", [OPS, AMBER], ids=["onyx", "amber"])
def test_a_sum_of_many_kinds_of_terms_is_covered(ops) -> None:
    """30 products subtracted, 30 flags added and 30 subtracted: 30,000 sums of some of them, and more of their forms."""
    words = Words()
    a, b, total = words.input("a"), words.input("b"), words.input("b")
    each = flags(words)
    for place in range(30):
        total = words.sub(total, words.mul(at(a, place), at(b, 0, place)))
        total = words.sub(words.add(total, words.word(next(each))), words.word(next(each)))
    assert len(select(words.graph(total), ops).nodes) < 300


def test_a_sum_of_many_flags_is_covered() -> None:
    words = Words()
    total = words.input("b")
    for _, flag in zip(range(150), flags(words)):
        total = words.add(total, words.word(flag))
    assert len(select(words.graph(total)).nodes) < 480


def test_flags_that_are_read_elsewhere_are_computed_there_once() -> None:
    """Each flag reads the one before it twice: followed without memory, 30 of them would be 2 ** 30 at another point."""
    words = Words()
    a, b = words.input("a"), words.input("b")
    flag, other = words.lt(a, b), words.eq(a, b)
    for _ in range(30):
        flag, other = words.bit_xor(flag, other), words.bit_and(flag, words.bit_not(other))
    graph = fold(words.graph(words.word(at(flag, 1)), words.word(flag)), frozenset(op.name for op in OPS))
    assert len(graph.nodes) < 2 * len(words.nodes)


def test_flags_out_of_step_are_not_copied_without_end() -> None:
    """Each flag is one of the two before it and of a word that waits, so that no two readers are in step."""
    words = Words()
    a, b = words.input("a"), words.input("b")
    before, flag = words.lt(a, b), words.eq(a, b)
    for place in range(40):
        word = words.select(before, words.mul(a, b), at(b, place))
        before, flag = flag, words.bit_xor(words.bit_and(flag, before), words.lt(word, a))
    assert len(select(words.graph(words.word(flag))).nodes) < 700


def test_a_tree_of_any_depth_is_moved() -> None:
    tree: Value = Ref(0, (0, 0))
    for _ in range(5000):
        tree = pe("adc", a=tree, b=1, d=0)
    found = moved(tree, (1, 2))
    assert list(leaves(found)) == [Ref(0, (1, 2))] and len(list(tree_parts(found))) == len(list(tree_parts(tree)))
