from typing import Any

import numpy as np
import pytest
from graphs import blocks, dense, network, split
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.hw.arch.token import DONE, parse_stream, show_stream, stop
from sardonyx.sim.model.tokens.network import DeadlockError, Result, run_primitive
from sardonyx.sim.model.tokens.process import ProtocolError
from sardonyx.tensors.fibertree import Format

# X(i,j) = B(i,k) * C(k,j), C by columns.
SPMSPM = """
B0 level root=1
repeat_C repeater root=1 crd=B0.crd
C0 level ref=repeat_C.ref_o
repeat_B repeater ref=B0.ref_o crd=C0.crd
B1 level ref=repeat_B.ref_o
C1 level ref=C0.ref_o
join joiner op=intersect use_ref0=1 use_ref1=1 crd0=B1.crd ref0=B1.ref_o crd1=C1.crd ref1=C1.ref_o
B_vals level output=lookup values=1 ref=join.ref0_o
C_vals level output=lookup values=1 ref=join.ref1_o
mul alu op=mult0 stream_a=1 stream_b=1 a=B_vals.crd b=C_vals.crd
sum reducer guided=1 val=mul.res crd=C0.crd
drop_j dropper form=value outer=C0.crd inner=sum.val_o
drop_i dropper form=coordinate outer=B0.crd inner=drop_j.outer_o
X0 level input=stream output=block wr=drop_i.outer_o
X1 level input=stream output=block wr=drop_i.inner_o
X_vals level input=stream output=block values=1 wr=drop_j.inner_o
"""

# X(i,j) = B(i,j) * C(i,k) * D(j,k), the sum over k inside.
SDDMM = """
B0 level root=1
C0 level root=1 {dense}
join_i joiner use_ref0=1 use_ref1=1 crd0=B0.crd ref0=B0.ref_o crd1=C0.crd ref1=C0.ref_o
repeat_D repeater root=1 crd=join_i.crd
B1 level ref=join_i.ref0_o
D0 level {dense} ref=repeat_D.ref_o
join_j joiner use_ref0=1 use_ref1=1 crd0=B1.crd ref0=B1.ref_o crd1=D0.crd ref1=D0.ref_o
repeat_C repeater ref=join_i.ref1_o crd=join_j.crd
C1 level {dense} ref=repeat_C.ref_o
D1 level {dense} ref=join_j.ref1_o
join_k joiner use_ref0=1 use_ref1=1 crd0=C1.crd ref0=C1.ref_o crd1=D1.crd ref1=D1.ref_o
C_vals level output=lookup values=1 ref=join_k.ref0_o
D_vals level output=lookup values=1 ref=join_k.ref1_o
dot alu op=mult0 stream_a=1 stream_b=1 a=C_vals.crd b=D_vals.crd
sum reducer guided=1 val=dot.res crd=join_j.crd
B_vals level output=lookup values=1 ref=join_j.ref0_o
mul alu op=mult0 stream_a=1 stream_b=1 a=B_vals.crd b=sum.val_o
drop_j dropper form=value outer=join_j.crd inner=mul.res
drop_i dropper form=coordinate outer=join_i.crd inner=drop_j.outer_o
X0 level input=stream output=block wr=drop_i.outer_o
X1 level input=stream output=block wr=drop_i.inner_o
X_vals level input=stream output=block values=1 wr=drop_j.inner_o
"""
RESULT = [("X0", "block_o"), ("X1", "block_o"), ("X_vals", "block_o")]
ROWS, COLUMNS, DENSE = Format("ss", (0, 1)), Format("ss", (1, 0)), Format("dd", (0, 1))


def loads(transactions: list[dict[str, tuple[np.ndarray, Format]]]) -> dict[tuple[str, str], list[int]]:
    """The block streams of operands, one transaction after the other."""
    found: dict[tuple[str, str], list[int]] = {}
    for operands in transactions:
        for name, (matrix, form) in operands.items():
            for suffix, words in zip(("0", "1", "_vals"), blocks(matrix, form), strict=True):
                found.setdefault((f"{name}{suffix}", "block"), []).extend(words)
    return found


def results(run: Result, shapes: list[tuple[int, ...]]) -> list[np.ndarray]:
    """The matrices that a run stored."""
    stored = [split(run.outputs[port], sections) for port, sections in zip(RESULT, (2, 2, 1), strict=True)]
    assert {len(each) for each in stored} == {len(shapes)}
    return [dense(words, ROWS, shape) for words, shape in zip(zip(*stored, strict=True), shapes, strict=True)]


def sparse(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """A random matrix, sometimes without any nonzero; many values, so that sums wrap, and a few, so that they cancel."""
    values = rng.choice([-1, 1, 2, 300, -20000], shape) * (rng.random(shape) < rng.choice([0, 0.2, 0.5, 1]))
    return values.astype(np.int16)


seeds = st.integers(0, 1 << 30)


@pytest.mark.parametrize("options", [{}, {"timed": True}, {"capacity": 64}], ids=["untimed", "timed", "bounded"])
@given(seed=seeds)
def test_spmspm_is_numpys_product(options: dict[str, Any], seed: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = []
    for _ in range(rng.integers(1, 4)):
        i, j, k = rng.integers(1, 6, 3)
        pairs.append((sparse(rng, i, k), sparse(rng, k, j)))
    inputs = loads([{"B": (B, ROWS), "C": (C, COLUMNS)} for B, C in pairs])
    found = results(network(SPMSPM).run(inputs, RESULT, **options), [(len(B), C.shape[1]) for B, C in pairs])
    for X, (B, C) in zip(found, pairs, strict=True):
        np.testing.assert_array_equal(X, B @ C)


@pytest.mark.parametrize("form", [ROWS, DENSE], ids=["compressed", "dense"])
@given(seed=seeds)
def test_sddmm_is_numpys(form: Format, seed: int) -> None:
    rng = np.random.default_rng(seed)
    cases = []
    for _ in range(rng.integers(1, 4)):
        i, j, k = rng.integers(1, 6, 3)
        cases.append((sparse(rng, i, j), sparse(rng, i, k), sparse(rng, j, k)))
    inputs = loads([{"B": (B, ROWS), "C": (C, form), "D": (D, form)} for B, C, D in cases])
    graph = network(SDDMM.format(dense=f"dense={int(form is DENSE)}"))
    runs = [graph.run(inputs, RESULT, timed=timed) for timed in (False, True)]
    assert runs[0].outputs == runs[1].outputs and runs[0].counts == runs[1].counts
    for X, (B, C, D) in zip(results(runs[0], [B.shape for B, _, _ in cases]), cases, strict=True):
        np.testing.assert_array_equal(X, B * (C @ D.T))


def test_the_clock_counts_one_element_a_cycle() -> None:
    rng = np.random.default_rng(3)
    B, C = (np.where(rng.random((20, 20)) < 0.5, rng.integers(1, 9, (20, 20)), 0) for _ in range(2))
    run = network(SPMSPM).run(loads([{"B": (B, ROWS), "C": (C, COLUMNS)}]), RESULT, timed=True)
    compared = sum(len(set(np.flatnonzero(row)) | set(np.flatnonzero(column))) for row in B for column in C.T)
    stops = 20 * 20
    longest_block = max(len(words) for words in blocks(B, ROWS) + blocks(C, COLUMNS))
    stored = len(blocks(B @ C, ROWS)[1])
    # Load, join, store; everything else runs beside, some cycles behind.
    assert 0 <= run.cycles - (longest_block + compared + stops + 1 + stored) < 25


# Every value times the sum of all: nothing leaves before the last value has come.
SCALED = """
x pass_through
sum reducer val=x.o
slack pass_through depth={depth} i=x.o
again repeater ref=sum.val_o crd=slack.o
mul alu op=mult0 stream_a=1 stream_b=1 a=slack.o b=again.ref_o
"""
FIBER = [*range(1, 21), stop(0), DONE]


@pytest.mark.parametrize("options", [{}, {"timed": True}, {"capacity": 22}, {"capacity": 2, "depth": 20}])
def test_room_for_a_fiber_is_enough_where_two_paths_meet(options: dict[str, Any]) -> None:
    graph = network(SCALED.format(depth=options.pop("depth", 0)))
    outcome = graph.run({("x", "i"): FIBER * 2}, [("mul", "res")], **options)
    assert outcome.outputs["mul", "res"] == [*range(210, 4201, 210), stop(0), DONE] * 2


def test_a_deadlock_names_who_waits_for_what_and_what_they_hold() -> None:
    with pytest.raises(DeadlockError) as error:
        network(SCALED.format(depth=0)).run({("x", "i"): FIBER}, [("mul", "res")], capacity=4)
    assert str(error.value) == """nothing moves any more
  x (pass_through) cannot give 8 on o, slack.i is full; i holds 9 10 11
  sum (reducer) waits for val
  slack (pass_through) cannot give 4 on o, again.crd and mul.a are full; i holds 5 6 7
  again (repeater) waits for ref; crd holds 1 2 3
  mul (alu) waits for b; a holds 1 2 3
  input x.i (source) cannot give 12 on o, x.i is full"""
    assert [each.node for each in error.value.stuck][:2] == ["x", "sum"]
    assert error.value.stuck[3].holds == {"ref": (), "crd": (1, 2, 3)}


def test_capacities_can_be_given_by_edge() -> None:
    graph = network(SCALED.format(depth=0))
    room = {edge: 22 if edge[0][0] in ("x", "slack") and edge[1][0] != "sum" else 2 for edge in graph.edges}
    del room[("sum", "val_o"), ("again", "ref")]
    assert graph.run({("x", "i"): FIBER}, [("mul", "res")], capacity=room).outputs["mul", "res"][-1] == DONE
    room[("x", "o"), ("slack", "i")] = room[("slack", "o"), ("mul", "a")] = 3
    with pytest.raises(DeadlockError):
        graph.run({("x", "i"): FIBER}, [("mul", "res")], capacity=room)


@pytest.mark.parametrize("options", [{}, {"timed": True}, {"capacity": 8}])
@pytest.mark.parametrize("crd0,crd1,text", [
    ("1 S0 D", "1 S0", "join (joiner) waits for crd1; crd0 holds D"),
    ("1 S0 D", "1 S0 D 4 5", "join (joiner) has tokens left over; crd1 holds 4 5"),
    ("1 S0 D", "", "join (joiner) waits for crd1; crd0 holds 1 S0 D"),
])
def test_a_transaction_that_cannot_end_is_told(crd0: str, crd1: str, text: str, options: dict[str, Any]) -> None:
    inputs = {("join", "crd0"): parse_stream(crd0), ("join", "crd1"): parse_stream(crd1)}
    with pytest.raises(DeadlockError) as error:
        network("join joiner").run(inputs, **options)
    assert str(error.value) == f"nothing moves any more\n  {text}"


def test_long_queues_and_levels_are_told_in_short() -> None:
    with pytest.raises(DeadlockError) as error:
        network("it level").run({("it", "block"): [2, 0, 1, 1, 7], ("it", "ref"): []})
    assert str(error.value) == "nothing moves any more\n  it (level scanner) waits for ref; level holds 1 complete"
    with pytest.raises(DeadlockError, match=r"crd0 holds 0 1 2 3 4 5 6 7 and 2 more$"):
        network("it joiner").run({("it", "crd0"): range(10), ("it", "crd1"): []})


def test_a_primitives_fault_names_its_node() -> None:
    graph = network("one pass_through\nmul alu stream_a=1 stream_b=1 a=one.o")
    for options in ({}, {"timed": True}):
        with pytest.raises(ProtocolError) as error:
            graph.run({("one", "i"): parse_stream("1 S0 D"), ("mul", "b"): parse_stream("1 S1 D")}, **options)
        assert str(error.value) == "mul (alu): the operands are out of step: a shows S0, b shows S1"


@pytest.mark.parametrize("options", [{}, {"timed": True}])
def test_every_edge_is_counted_and_traced(options: dict[str, Any]) -> None:
    graph = network("scan level root=1\nagain repeater root=1 crd=scan.crd\nleft pass_through i=scan.crd")
    run = graph.run({("scan", "block"): [2, 0, 2, 2, 4, 7]}, [("again", "ref_o"), ("scan", "crd")], trace=True, **options)
    assert run.counts == {(("scan", "crd"), ("again", "crd")): 4, (("scan", "crd"), ("left", "i")): 4}
    assert {f"{node}.{port}": show_stream(tokens) for (node, port), tokens in run.trace.items()} == {
        "scan.crd": "4 7 S0 D", "again.ref_o": "0 0 S0 D"}
    assert set(run.outputs) == {("again", "ref_o"), ("scan", "crd")}
    assert set(graph.run({("scan", "block"): [2, 0, 0, 0]}).outputs) == {
        ("again", "ref_o"), ("left", "o"), ("scan", "ref_o")}


def test_configurations_are_names_or_numbers() -> None:
    inputs = {"crd0": parse_stream("1 S0 D"), "crd1": parse_stream("2 S0 D")}
    for op in ("union", 1, True):
        assert run_primitive("joiner", {"op": op}, inputs)[0] == {"crd": parse_stream("1 2 S0 D")}
    assert run_primitive("joiner", {}, inputs)[0] == run_primitive("joiner", {"op": "intersect"}, inputs)[0]


@pytest.mark.parametrize("text,inputs,fault", [
    ("it joiner", {"crd0": [DONE]}, "nothing leads to it.crd1 (joiner)"),
    ("it joiner", {"crd0": [DONE], "crd1": [DONE], "ref0": [DONE]}, "input ref0 of it (joiner) is connected in vain"),
    ("it level", {"wr": [DONE]}, "it has no input wr as it is configured"),
    ("one pass_through i=two.o", {}, "there is no node two"),
    ("one pass_through\ntwo joiner crd0=one.o crd1=one.crd", {"one.i": [DONE]},
     "output crd of one (pass_through) is connected in vain"),
    ("one pass_through\ntwo pass_through i=one.o", {"two.i": [DONE]}, "two streams lead to two.i"),
    ("it level-scan", {}, "'level-scan' is not the name of a primitive"),
    ("it reduce", {}, "primitive 'reduce' has no meaning on tokens: sim/model/tokens/reduce.py is not there"),
])
def test_faults_of_a_graph_are_told(text: str, inputs: dict[str, list[int]], fault: str) -> None:
    given = {tuple(port.split(".")) if "." in port else ("it", port): tokens for port, tokens in inputs.items()}
    with pytest.raises(AssertionError) as error:
        network(text).run(given)
    assert str(error.value) == fault


def test_capacities_below_two_do_not_exist() -> None:
    with pytest.raises(AssertionError, match="an edge holds 2 tokens or more"):
        network(SCALED.format(depth=0)).run({("x", "i"): FIBER}, capacity=1)
