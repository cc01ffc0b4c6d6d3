"""Selection of PE operations: counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from words import DIMS, Words, assert_same_meaning, at, harris, plane, unsharp, weighted

from sardonyx.compiler.dense.select import flags as flags_module
from sardonyx.compiler.dense.select import truth
from sardonyx.compiler.dense.select.flags import in_step
from sardonyx.compiler.dense.select.select import select
from sardonyx.compiler.ir.dataflow import WORD_OPS, Ref, WordGraph, WordNode
from sardonyx.compiler.ir.pe_graph import pe_text
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.op import BY_NAME, OPS
from sardonyx.sim.model.pe_graph import evaluate_pes

AMBER = presets.get("amber").pe.ops


def ops_of(pes):
    return sorted(node.op for node in pes.nodes if node.op not in ("input", "lookup"))


def count(graph, **options):
    pes = select(graph, **options)
    assert_same_meaning(graph, pes)
    return pes.pes


def one(build, names="abc"):
    """The graph of one expression of inputs."""
    words = Words()
    return words.graph(build(words, *(words.input(name) for name in names)))


# Single operations.

@pytest.mark.parametrize("ops", [OPS, AMBER], ids=["onyx", "amber"])
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("op", [op for op, (_, kind) in WORD_OPS.items() if kind == "w"])
def test_a_word_operation_alone_takes_one_pe(op, signed, ops):
    words = Words()
    a, b = words.input("a"), words.input("b")
    flag = words.lt(a, b)
    operands = {"w": (a,), "ww": (a, b), "b": (flag,), "bww": (flag, b, at(a, 1))}[WORD_OPS[op][0]]
    table = range(7, 65543, 1) if op == "lookup" else ()
    graph = words.graph(getattr(words, op)(*operands, signed=signed, table=[each % 65536 for each in table]))
    expected = {"lookup": 0, "select": 2, "word": 2}.get(op, 2 if op in ("min", "max") and ops == AMBER else 1)
    assert count(graph, ops=ops) == expected


@pytest.mark.parametrize("ops", [OPS, AMBER], ids=["onyx", "amber"])
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("op", ["eq", "ne", "lt", "le"])
def test_a_comparison_is_one_pe_and_negating_it_costs_nothing(op, signed, ops):
    for negate in (False, True):
        words = Words()
        flag = getattr(words, op)(words.input("a"), words.input("b"), signed=signed)
        graph = words.graph(words.word(words.bit_not(flag) if negate else flag))
        assert count(graph, ops=ops) == 2


@pytest.mark.parametrize("op", ["bit_and", "bit_or", "bit_xor", "bit_not"])
def test_a_flag_operation_is_a_truth_table(op):
    words = Words()
    flags = [words.ne(words.input(name), 0) for name in "ab"]
    graph = words.graph(words.word(getattr(words, op)(*flags[:len(WORD_OPS[op][0])])))
    assert count(graph) == (2 if op == "bit_not" else 4)


# Fusions. Expression -> PEs with the operations of onyx and of amber.

FUSIONS = {
    "muladd": (lambda w, a, b, c: w.add(w.mul(a, b), c), 1, 2),
    "muladd, product behind": (lambda w, a, b, c: w.add(a, w.mul(b, 7)), 1, 2),
    "mulsub": (lambda w, a, b, c: w.sub(w.mul(a, b), c), 1, 2),
    "minus a product": (lambda w, a, b, c: w.sub(a, w.mul(b, c)), 2, 2),
    "minus a scaled term": (lambda w, a, b, c: w.sub(a, w.mul(b, 7)), 1, 2),
    "shift and add": (lambda w, a, b, c: w.add(a, w.shl(b, 3)), 1, 2),
    "taa": (lambda w, a, b, c: w.add(a, w.add(b, c)), 1, 2),
    "tas": (lambda w, a, b, c: w.sub(a, w.sub(b, c)), 1, 2),
    "tsa": (lambda w, a, b, c: w.add(w.sub(a, b), c), 1, 2),
    "tss": (lambda w, a, b, c: w.sub(w.sub(a, b), c), 1, 2),
    "tss of a sum": (lambda w, a, b, c: w.sub(a, w.add(b, c)), 1, 2),
    "minus a sum": (lambda w, a, b, c: w.sub(0, w.add(b, c)), 1, 2),
    "min": (lambda w, a, b, c: w.min(a, b), 1, 2),
    "max": (lambda w, a, b, c: w.max(a, b, signed=True), 1, 2),
    "clamp": (lambda w, a, b, c: w.max(w.min(a, b, signed=True), c, signed=True), 1, 4),
    "clamp by constants": (lambda w, a, b, c: w.max(w.min(a, 180, signed=True), 65536 - 180, signed=True), 1, 4),
    "clamp, max inside": (lambda w, a, b, c: w.min(w.max(a, 9, signed=True), 180, signed=True), 1, 4),
    "unsigned clamp from 0": (lambda w, a, b, c: w.max(w.min(a, 255), 0), 1, 2),
    "min and max of different signs": (lambda w, a, b, c: w.max(w.min(a, b), c, signed=True), 2, 4),
    "max of two minima": (lambda w, a, b, c: w.max(w.min(a, b), w.min(b, c)), 2, 6),
    "max of four": (lambda w, a, b, c: w.max(w.max(a, b), w.max(c, at(a, 1))), 3, 6),
    "select as min": (lambda w, a, b, c: w.select(w.lt(a, b), a, b), 1, 2),
    "select as max": (lambda w, a, b, c: w.select(w.lt(255, a), a, 255), 1, 2),
    "mulshr": (lambda w, a, b, c: w.shr(w.mul(a, b), c, signed=True), 1, 2),
    "mulshr by constants": (lambda w, a, b, c: w.shr(w.mul(a, 77), 8), 1, 2),
    "shifts": (lambda w, a, b, c: w.shr(w.shl(a, 4), 8), 1, 2),
    "product of a sum, shifted": (lambda w, a, b, c: w.shr(w.mul(w.add(a, b), 3), 8), 2, 3),
    "select": (lambda w, a, b, c: w.select(w.lt(a, b), c, a), 2, 2),
    "difference and comparison": (lambda w, a, b, c: w.select(w.lt(a, b), w.sub(a, b), c), 2, 2),
    "difference and opposite comparison": (lambda w, a, b, c: w.select(w.lt(b, a), w.sub(a, b), 0), 2, 2),
    "sign of a sum": (lambda w, a, b, c: w.word(w.lt(w.add(w.mul(a, b), c), 0, signed=True)), 2, 3),
    "sum above 0": (lambda w, a, b, c: w.word(w.le(1, w.sub(a, b), signed=True)), 2, 3),
    "carry": (lambda w, a, b, c: w.add(w.word(w.lt(a, b)), c), 2, 2),
    "two flags counted": (lambda w, a, b, c: w.add(w.word(w.lt(a, b)), w.word(w.lt(b, c))), 4, 4),
    "three flags": (lambda w, a, b, c: w.word(w.bit_and(w.lt(a, b), w.bit_or(w.lt(b, c), w.bit_not(w.lt(a, c))))), 5, 5),
    "truth table of two": (lambda w, a, b, c: w.select(w.bit_not(w.bit_xor(w.lt(a, b), w.lt(b, c))), a, b), 4, 4),
    "chain of constant factors": (lambda w, a, b, c: w.mul(w.shl(w.mul(a, 3), 2), 5), 1, 1),
    "common factor": (lambda w, a, b, c: w.add(w.add(w.mul(a, 3), w.mul(b, 3)), w.mul(c, 3)), 2, 3),
    "factor of a sum": (lambda w, a, b, c: w.mul(w.add(w.mul(a, b), c), 3), 2, 3),
    "minus a product with a difference": (lambda w, a, b, c: w.sub(c, w.mul(a, w.sub(b, c))), 2, 3),
    "constant factor of a product": (lambda w, a, b, c: w.mul(w.mul(w.add(a, 5), b), 7), 2, 3),
    "like terms": (lambda w, a, b, c: w.add(w.sub(w.add(a, a), b), w.add(a, b)), 1, 1),
}


@pytest.mark.parametrize("build,onyx,amber", FUSIONS.values(), ids=FUSIONS)
def test_expressions_take_as_many_pes_as_expected(build, onyx, amber):
    graph = one(build)
    assert (count(graph), count(graph, ops=AMBER)) == (onyx, amber)


def test_offsets_add_through_fused_nodes():
    words = Words()
    image = words.input("a")
    row = words.mul(at(image, 1), 3)
    graph = words.graph(words.add(at(row, 1, 2), at(image, -1)))
    pes = select(graph)
    last = pes.nodes[-1]
    assert [last.op, last.operands["a"].offset, last.operands["c"].offset] == ["muladd", (2, 2), (-1, 0)]
    assert_same_meaning(graph, pes)


# Sharing.

def test_a_node_with_two_users_is_one_pe():
    graph = one(lambda w, a, b, c: w.xor(total := w.abs(w.add(a, b)), w.shr(total, c)))
    assert count(graph) == 4


def test_a_product_is_computed_in_both_of_its_users_where_that_saves_a_pe():
    words = Words()
    a, b, c = (words.input(name) for name in "abc")
    scaled = words.mul(a, b)
    assert count(words.graph(words.add(scaled, c), words.sub(scaled, c))) == 2


def test_equal_nodes_at_different_points_are_one():
    words = Words()
    image = words.input("a")
    grey = [words.abs(words.xor(at(image, x), 7)) for x in range(3)]
    assert count(words.graph(words.max(words.max(grey[0], grey[1]), grey[2]))) == 4


def test_products_shared_among_rows_do_not_multiply_the_rows_to_keep():
    words = Words()
    graph = words.graph(weighted(words, words.input("in"), [[24, 30, 24], [30, 37, 30], [24, 30, 24]]))
    pes = select(graph)
    rows = {ref.node for node in pes.nodes for _, ref in node.refs() if ref.offset[1]}
    assert [pes.nodes[each].op for each in rows] == ["input"]


def test_results_may_be_inputs_constants_and_each_other():
    words = Words()
    a = words.input("a")
    pes = select(words.graph(a, words.sub(a, a), words.or_(words.sub(5, 3), 0), at(words.add(a, 0), 1)))
    assert pes.results["out0"] == Ref(0, (0, 0)) and pes.results["out3"] == Ref(0, (1, 0))
    got = evaluate_pes(pes, {"a": np.arange(12).reshape(3, 4)})
    assert (got["out1"].values == 0).all() and (got["out2"].values == 2).all() and pes.pes == 2


def test_inputs_that_no_result_needs_are_gone():
    pes = select(one(lambda w, a, b, c: w.add(a, w.mul(b, 0))))
    assert [node.name for node in pes.nodes] == ["a"] and set(pes.inputs) == {"a"}


def test_sums_that_cancel_leave_no_pe_of_constants():
    graph = one(lambda w, a, b, c: w.xor(w.mul(w.sub(w.add(a, b), w.add(b, a)), c), b))
    pes = select(graph)
    assert_same_meaning(graph, pes)
    assert all(any(True for _ in node.refs()) for node in pes.nodes if node.op != "input")


# Applications.

def blur(kernel, shift):
    words = Words()
    return words.graph(words.shr(weighted(words, words.input("in"), kernel), shift))


GAUSSIAN = [[24, 30, 24], [30, 37, 30], [24, 30, 24]]
CONV = [[11, 0, 17], [12, 0, 18], [13, 16, 19]]


@pytest.mark.parametrize("kernel,shift,onyx,plain,amber", [
    (GAUSSIAN, 8, 8, 10, 12),
    (CONV, 4, 8, 8, 14),
    ([[1, 1, 1]] * 3, 3, 5, 5, 9),
    ([[1, 2, 1], [2, 4, 2], [1, 2, 1]], 4, 7, 8, 11),
], ids=["gaussian", "conv", "box", "binomial"])
def test_filters(kernel, shift, onyx, plain, amber):
    graph = blur(kernel, shift)
    assert (count(graph), count(graph, factor=False), count(graph, ops=AMBER)) == (onyx, plain, amber)


def test_taps_of_a_chain_stand_in_the_order_of_their_age():
    pes = select(blur(CONV, 4))
    taps = [node.operands["a"].offset[::-1] for node in pes.nodes if node.op in ("mult0", "muladd")]
    assert taps == sorted(taps) and len(taps) == 7


@pytest.mark.parametrize("ops,pes", [(OPS, 384), (AMBER, 767)], ids=["onyx", "amber"])
def test_a_chain_may_be_as_long_as_the_array_is_large(ops, pes):
    words = Words()
    kernel = [[3 + 16 * row + column for column in range(16)] for row in range(24)]
    assert select(words.graph(weighted(words, words.input("in"), kernel)), ops).pes == pes


@pytest.mark.parametrize("build,onyx,plain,amber", [(unsharp, 41, 53, 69), (harris, 46, 46, 74)])
def test_applications(build, onyx, plain, amber):
    graph = build()
    found = select(graph), select(graph, factor=False), select(graph, ops=AMBER)
    for pes in found:
        assert_same_meaning(graph, pes)
        assert in_step(pes)
    assert tuple(pes.pes for pes in found) == (onyx, plain, amber)


# Flags.

def test_a_flag_wanted_at_several_points_is_computed_at_each():
    words = Words()
    a, b = words.input("a"), words.input("b")
    flag = words.lt(a, b)
    graph = words.graph(words.select(words.bit_and(flag, at(flag, 1)), a, b))
    pes = select(graph)
    assert_same_meaning(graph, pes)
    assert all(not any(ref.offset) for node in pes.nodes for _, ref in node.refs() if ref.port == "p")


def test_the_sign_of_a_word_that_is_still_needed_gets_a_pe_of_its_own():
    """The select needs the flag after x and c, which is made of x: from the PE of x the flag would come too early."""
    graph = one(lambda w, a, b, c: w.select(w.lt(x := w.xor(a, b), 0, signed=True), w.and_(c, x), x))
    pes = select(graph)
    assert_same_meaning(graph, pes)
    assert ops_of(pes) == ["and", "sbc", "sel", "xor"] and in_step(pes)
    early = [replace(node, cond="negative") if node.op == "xor" else node for node in pes.nodes]
    xor = next(place for place, node in enumerate(early) if node.op == "xor")
    early[-1] = replace(early[-1], operands=dict(early[-1].operands, d=Ref(xor, (0, 0), "p")))
    assert not in_step(replace(pes, nodes=tuple(early)))


def test_a_flag_for_pes_one_behind_the_other_is_computed_for_each():
    words = Words()
    a, b, c = (words.input(name) for name in "abc")
    flag = words.lt(a, b)
    graph = words.graph(words.select(flag, words.abs(words.select(flag, b, c)), c))
    pes = select(graph)
    assert_same_meaning(graph, pes)
    assert in_step(pes) and pes.pes == 5


@pytest.mark.parametrize("steps,most", [(3, 4), (300, 90)])
def test_a_condition_on_two_flags_may_be_nested_deeply(steps, most, monkeypatch):
    monkeypatch.setattr(truth, "CUTS", 2)   # so that it takes a second
    words = Words()
    a, b = words.input("a"), words.input("b")
    less, same = words.lt(a, b), words.eq(a, b)
    flag = less
    for _ in range(steps):
        flag = words.bit_xor(words.bit_and(flag, less), same)
    graph = words.graph(words.select(flag, a, b))
    pes = select(graph)
    assert_same_meaning(graph, pes)
    assert pes.pes <= most


def test_comparisons_stay_as_they_are_when_the_budget_is_spent(monkeypatch):
    graph = one(lambda w, a, b, c: w.select(w.lt(w.sub(a, b), 0, signed=True), w.max(a, c), c))
    merged = select(graph)
    monkeypatch.setattr(flags_module, "STEPS", 1)
    alone = select(graph)
    assert_same_meaning(graph, alone)
    assert alone.pes > merged.pes


# Meaning.

def test_an_operation_that_is_needed_and_not_there_is_refused():
    words = Words()
    graph = words.graph(words.mul(words.input("a"), words.input("b")))
    with pytest.raises(UserError) as error:
        select(graph, tuple(op for op in OPS if op.name != "mult0"))
    assert str(error.value) == ("pe.ops: the program needs operations that the PEs do not have: mult0\n"
                                "  try: choose another machine, or add them to its description")


def test_graphs_read_as_text():
    words = Words()
    a = words.input("a")
    pes = select(words.graph(words.select(words.lt(a, at(a, 1, 1), signed=True), words.mul(a, 5), 0)))
    assert pe_text(pes) == ("   0 input a\n"
                            "   1 sbc a = @0, b = @0+(1, 1), d = 1 if slt\n"
                            "   2 mult0 a = @0, b = 5\n"
                            "   3 sel a = @2, b = 0, d = @1.p\n"
                            "result out0 = @3\n")


def test_word_graphs_of_constants_alone_take_one_pe():
    graph = WordGraph(DIMS, (WordNode("input", name="a"), WordNode("eq", (3, 3))), {"a": plane("a")},
                      {"flag": Ref(1, (0, 0))}, {"flag": plane("flag")})
    pes = select(graph)
    assert pes.pes == 1 and pes.results["flag"].port == "p"
    assert BY_NAME[pes.nodes[-1].op].operands == "ab" and pes.nodes[-1].lut == 0xFF
