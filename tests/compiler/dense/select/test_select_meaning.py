"""Selection keeps the meaning of any graph, and its verifier says what is wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from words import DIMS, EDGES, assert_same_meaning, graphs, plane

from sardonyx.compiler.dense.select.flags import in_step
from sardonyx.compiler.dense.select.select import select
from sardonyx.compiler.ir.dataflow import Ref
from sardonyx.compiler.ir.pe_graph import PeGraph, PeNode, pe_faults, pe_text, verify_pes
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.op import CONDITIONS, OPS, predicate
from sardonyx.sim.model.pe_graph import pe_outputs

AMBER = presets.get("amber").pe.ops


@pytest.mark.parametrize("ops", [OPS, AMBER], ids=["onyx", "amber"])
@settings(max_examples=80)
@given(graph=graphs(), seed=st.integers(0, 3))
def test_selection_keeps_the_meaning_of_any_graph(ops, graph, seed):
    assert_same_meaning(graph, select(graph, ops), seed)


@pytest.mark.parametrize("factor", [True, False])
@settings(max_examples=60)
@given(graph=graphs(("add", "sub", "mul", "shl", "shr", "word", "lt"), 20))
def test_selection_keeps_the_meaning_of_sums(factor, graph):
    assert_same_meaning(graph, select(graph, factor=factor))


@settings(max_examples=60)
@given(graph=graphs(("lt", "eq", "select", "bit_and", "bit_or", "bit_not", "bit_xor", "min", "max", "word", "sub"), 20))
def test_selection_keeps_the_meaning_of_flags_and_brings_them_in_step(graph):
    pes = select(graph)
    assert_same_meaning(graph, pes)
    assert in_step(pes)


@settings(max_examples=30)
@given(graph=graphs())
def test_selection_gives_the_same_graph_every_time(graph):
    assert pe_text(select(graph)) == pe_text(select(graph))


@pytest.mark.parametrize("condition", ["", *(each.name for each in CONDITIONS)])
@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_the_vectorised_pe_does_what_the_operation_table_says(op, condition):
    random = np.random.default_rng(op.code)
    words = [np.where(random.random(60) < 0.6, random.choice(EDGES, 60), random.integers(0, 65536, 60)) for _ in "abc"]
    operands = dict(zip("abcdef", [*words, *(random.integers(0, 2, 60) for _ in "def")]))
    code = next((each.code for each in CONDITIONS if each.name == condition), len(CONDITIONS))
    for signed in (False, True):
        result, flag = pe_outputs(PeNode(op.name, signed=signed, cond=condition, lut=0x6A), operands)
        for place in range(60):
            a, b, c, d, e, f = (int(operands[port][place]) for port in "abcdef")
            assert result[place] == op(a, b, c, d, signed)
            assert flag[place] == predicate(op, code, 0x6A, a, b, c, d, e, f, signed)


# The verifier.

def broken(**changes):
    node = replace(PeNode("muladd", {"a": Ref(0, (0, 0)), "b": 3, "c": Ref(0, (1, 0))}), **changes)
    nodes = PeNode("input", name="in"), node
    return PeGraph(DIMS, nodes, {"in": plane("in")}, {"out": Ref(1, (0, 0))}, {"out": plane("out")})


def test_the_verifier_accepts_what_selection_gives():
    assert pe_faults(broken()) == []


@pytest.mark.parametrize("changes,fault", [
    ({"op": "addshr"}, "1 addshr: not an operation of the PEs"),
    ({"operands": {"a": Ref(0, (0, 0)), "b": 3}}, "1 muladd: operands ab where it reads abc"),
    ({"operands": {"a": Ref(1, (0, 0)), "b": 3, "c": 0}}, "1 muladd: operand a: reads node 1, which does not come before it"),
    ({"operands": {"a": Ref(0, (0,)), "b": 3, "c": 0}}, "1 muladd: operand a: offset (0,) on a grid of 2 dimensions"),
    ({"operands": {"a": Ref(0, (0, 0)), "b": 1 << 16, "c": 0}}, "1 muladd: operand b: constant 65536 is out of range"),
    ({"op": "adc", "operands": {"a": Ref(0, (0, 0)), "b": 0, "d": 2}}, "1 adc: operand d: constant 2 is out of range"),
    ({"op": "adc", "operands": {"a": Ref(0, (0, 0)), "b": 0, "d": Ref(0, (0, 0))}},
     "1 adc: operand d: port res has the other width"),
    ({"op": "abs", "operands": {"a": Ref(0, (0, 0), "p")}}, "1 abs: operand a: node 0 has no output p"),
    ({"cond": "odd"}, "1 muladd: no condition 'odd'"),
])
def test_the_verifier_says_what_is_wrong(changes, fault):
    assert fault in pe_faults(broken(**changes))


def test_amber_has_no_fused_operations():
    assert pe_faults(broken(), AMBER) == ["1 muladd: not an operation of the PEs"]
    with pytest.raises(AssertionError, match="not an operation of the PEs"):
        verify_pes(broken(), AMBER)


@given(graphs(), st.sets(st.sampled_from([op for op in OPS if "c" in op.operands])), st.integers(0, 99))
def test_selection_uses_the_fused_operations_that_there_are(graph, left_out, seed):
    assert_same_meaning(graph, select(graph, tuple(op for op in OPS if op not in left_out)), seed)
