"""Rows of an operand dealt to lanes, each of which sums a part of them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_fuse import operands, refusal

import sardonyx
from sardonyx.compiler.einsum import compile_fused
from sardonyx.compiler.lang.einsum import OUTERMOST
from sardonyx.compiler.lang.program import Program, parse_program
from sardonyx.compiler.sparse.blocks import map_graph
from sardonyx.compiler.sparse.fuse import Fused, fuse
from sardonyx.compiler.sparse.fused_tiling import sharing, tile_fused
from sardonyx.compiler.sparse.lanes import deal, dealt, lanes_of
from sardonyx.compiler.sparse.lower import lower_fused
from sardonyx.hw.arch import presets
from sardonyx.runtime.data.sub_tiles import Work
from sardonyx.sim.golden import einsum as golden
from sardonyx.sim.model.tokens import fabric
from sardonyx.tensors.coordinates import Coo
from sardonyx.tensors.values import random_tensor, to_array

TWICE = "y(i) = A(i,j) * x(j); z(i) = A(i,j) * y(j)"


def program(text: str) -> Program:
    """Statements over i and j, matrices by dense rows and vectors dense, located."""
    formats = {"A": "ds", "B": "ds", "C": "ds", "x": "d", "y": "d", "w": "d"}
    found = parse_program(text, "; ".join(["ij"] * (text.count(";") + 1)),
                          {name: form for name, form in formats.items() if f"{name}(" in text})
    return replace(found, statements=tuple(replace(each, locate=OUTERMOST) for each in found.statements))


def fused(text: str, lanes: int) -> Fused:
    return replace(fuse(program(text).statements, program(text).formats), lanes=lanes)


@settings(max_examples=30, deadline=None)
@given(rows=st.integers(1, 9), density=st.sampled_from([0.0, 0.3, 1.0]), lanes=st.integers(1, 5),
       edge=st.integers(1, 4), seed=st.integers(0, 99))
def test_each_nonzero_is_in_one_lane_and_a_row_in_all_alike(rows, density, lanes, edge, seed):
    data = {"A": random_tensor((rows, rows), density, seed), "x": random_tensor((rows,), 1.0, 1)}
    tiles = tile_fused(fused(TWICE, 1), data, 1024, {"i": edge}).tiles[0]
    parts = deal(tiles, lanes)
    for number in range(len(tiles.ids)):
        shares = np.array([to_array(part.tile(number)) for part in parts])
        assert np.array_equal(shares.sum(axis=0), to_array(tiles.tile(number))) and ((shares != 0).sum(axis=0) <= 1).all()
        counts = (shares != 0).sum(axis=2)
        assert (counts.max(axis=0) - counts.min(axis=0) <= 1).all()
        assert [int(part.counts[number, -1]) for part in parts] == counts.sum(axis=1).tolist()


@settings(max_examples=40, deadline=None)
@given(size=st.integers(1, 7), density=st.sampled_from([0.0, 0.2, 0.6, 1.0]), seed=st.integers(0, 99), lanes=st.integers(2, 5),
       edge=st.none() | st.integers(1, 4), text=st.sampled_from((
           TWICE, "y(i) = A(i,j) * x(j); z(i) = B(i,j) * y(j) - x(i)",
           "y(i) = A(i,j) * x(j) + C(i,j) * x(j); z(i) = relu(B(i,j) * y(j) * x(j)) + B(i,j) * y(j)",
           "y(i) = A(i,j) * x(j) * 3; w(i) = A(i,j) * y(j); z = B(i,j) * w(j)",
           "y(i) = relu(A(i,j) * x(j)); w(i) = A(i,j) * y(j); z(i) = A(i,j) * w(j)")))
def test_lanes_give_what_statements_give_one_by_one(size, density, seed, lanes, edge, text):
    made, statements = fused(text, lanes), program(text)
    data = operands(statements, size, density, seed)
    edges = {"i": edge} if edge and "i" in statements.result.result.indices else None
    tiling = tile_fused(made, data, 1024, edges)
    work = Work(tiling, lanes_of(made))
    found = work.result(fabric.run_graph(map_graph(lower_fused(sharing(made, tiling))), work.transactions()))
    assert work.lanes and found == golden.evaluate_all(statements.statements, data)["z"]


def test_an_operand_that_is_used_otherwise_as_well_is_not_dealt():
    assert dealt(fused(TWICE, 2)) == {"A", "A.2"}
    assert dealt(fused("y(i) = A(i,j) * x(j); z(i) = B(i,j) * y(j) + A(i,j) * C(i,j)", 2)) == {"B"}
    assert not dealt(fused("y(i) = A(i,j) * x(j)", 2)), "nothing is kept"


def test_four_lanes_take_the_longest_of_them_for_each_row_and_are_certain():
    made, data = fused(TWICE, 4), {"A": random_tensor((40, 40), 0.2, 1), "x": random_tensor((40,), 1.0, 2)}
    tiling = tile_fused(made, data, 1024)
    work, rows = Work(tiling, lanes_of(made)), np.bincount(data["A"].coords[:, 0], minlength=40)
    compiled = compile_fused(sharing(made, tiling), presets.get("onyx"))
    assert not compiled.waits
    assert compiled.slack == 4, "36, where what guides sums has to be held beside references and products"
    cycles = fabric.ideal_cycles(compiled.graph, list(work.transactions()))
    # Loading, two products, and 60 for each latency; one lane takes 1,066.
    assert cycles < data["A"].nnz / 4 + 40 + 2 * (np.ceil(rows / 4) + 1).sum() + 3 * 60 < 600


def test_rows_that_one_level_buffer_does_not_hold_fit_lanes():
    ones = Coo.make((12, 12), np.argwhere(np.ones((12, 12))), np.ones(144, np.int64))
    data = {"A": ones, "x": random_tensor((12,), 1.0, 2)}
    text = "y(i) = A(i,j) * x(j); w(i) = A(i,j) * y(j); z(i) = A(i,j) * w(j)"
    assert "of A needs 144 words but a MEM tile holds 64" in refusal(tile_fused, fused(text, 1), data, 64)
    assert len(tile_fused(fused(text, 3), data, 64)) == 1


@pytest.mark.parametrize("how,lanes", [({"unroll": 3}, 3), ({"schedule": "fuse(a,b,c) parallelize(j,2)"}, 2), ({}, None)])
def test_copies_of_fused_vectors_are_lanes(how, lanes):
    report = sardonyx.kernel("spmv_iter", engine="tokens", arch="onyx", size=9, **how).report
    assert report.get("lanes") == lanes and "copies" not in report and "may_wait" not in report
    assert report.get("dealt") == ("rows" if lanes else None)
