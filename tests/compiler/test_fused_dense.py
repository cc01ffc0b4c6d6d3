"""Intermediates that MEM tiles keep as dense values: looked up by coordinates, neither scanned nor accumulated."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_fuse import operands, refusal, run

from sardonyx.compiler.ir.mapped import MappedGraph
from sardonyx.compiler.lang.einsum import OUTERMOST
from sardonyx.compiler.lang.program import parse_program
from sardonyx.compiler.sparse.balance import balance
from sardonyx.compiler.sparse.blocks import map_graph
from sardonyx.compiler.sparse.fuse import fuse
from sardonyx.compiler.sparse.fused_tiling import sharing, tile_fused
from sardonyx.compiler.sparse.lower import lower_fused
from sardonyx.hw.arch import presets
from sardonyx.runtime.data.sub_tiles import Work
from sardonyx.sim.model.tokens import fabric

TWICE = "y(i) = A(i,j) * x(j); z(i) = A(i,j) * y(j)"
ROWS = {"A": "ds", "x": "d", "y": "d"}


def made(text: str, formats: dict[str, str], size: int, density: float = 0.5) -> tuple[MappedGraph, Work]:
    """The program of statements over i and j whose dense levels are located, and its work on random operands."""
    program = parse_program(text, "; ".join(["ij"] * (text.count(";") + 1)), formats)
    found = fuse([replace(each, locate=OUTERMOST) for each in program.statements], program.formats)
    tiling = tile_fused(found, operands(program, size, density, 3), 1024)
    return map_graph(lower_fused(sharing(found, tiling))), Work(tiling)


def test_dense_values_are_written_and_looked_up_by_one_tile_and_take_no_stream():
    found, _ = made(TWICE, ROWS, 9)
    assert sorted(stream.name for stream in found.streams) == ["A0", "A1", "A_vals", "x_vals", "z0", "z_vals"]
    keeps = [block for block in found.blocks.values() if block.name.startswith("keep")]
    assert [(block.config["input"], block.config["output"]) for block in keeps] == [("stream", "lookup")]
    assert not [block for block in found.blocks.values() if block.primitive in ("joiner", "accumulator", "repeater")]


@settings(max_examples=40, deadline=None)
@given(size=st.integers(1, 6), density=st.sampled_from([0.0, 0.2, 0.6, 1.0]), seed=st.integers(0, 99),
       edge=st.none() | st.integers(1, 4), text=st.sampled_from((
           ("y(i) = A(i,j) * x(j); z(i) = A(i,j) * y(j)", "ij; ij"),
           ("y(i) = A(i,j) * x(j); z(i) = B(i,j) * y(j)", "ij; ji"),
           ("y(i) = A(i,j) * x(j) + C(i,j) * x(j); z(i) = relu(B(i,j) * y(j)) + B(i,j) * y(j)", "ij; ij"),
           ("y(i) = relu(A(i,j) * x(j) - x(i)); z = B(i,j) * y(j)", "ij; ij"),
           ("y(i) = A(i,j) * x(j); w(i) = A(i,j) * y(j); z(i) = B(i,j) * w(j) + x(i)", "ij; ij; ij"))))
def test_random_vectors_kept_dense_give_what_statements_give_one_by_one(size, density, seed, edge, text):
    statements, order = text
    formats = {"A": "ds", "C": "ds", "x": "d", "y": "d", "w": "d"}
    program = parse_program(statements, order, {name: form for name, form in formats.items() if f"{name}(" in statements})
    data = operands(program, size, density, seed)
    edges = None if edge is None else {index: edge for index in ("i", "j") if index in program.result.result.indices}
    found, right, _ = run(program, data, edges)
    assert found == right


def test_a_product_out_of_dense_values_takes_a_cycle_for_each_nonzero_and_row():
    text = "; ".join(f"y{n}(i) = A(i,j) * y{n - 1}(j)" for n in range(1, 5))
    found, work = made(text, {"A": "ds", "y0": "d", "y1": "d", "y2": "d", "y3": "d"}, 30, 0.2)
    nonzeros = len(next(work.transactions())["A_vals"]) - 1
    assert fabric.ideal_cycles(found, list(work.transactions())) < 5 * (nonzeros + 30) + 4 * 25, "loading, and four products"


def test_paths_that_meet_what_waits_for_a_kept_level_get_no_slack_for_that():
    """With slack they would be the longer ones when it is there: four products of 64 x 64 took 3,117 cycles, now 2,475."""
    arch = presets.get("onyx")
    slack = [block.name for block in balance(made(TWICE, ROWS, 9)[0], arch).blocks.values() if block.slack]
    assert slack and not [name for name in slack if "mul" in name]


@pytest.mark.parametrize("text,order,formats,message", [
    (TWICE, "ij; ij", {"y": "d"},
     "y(j) = A(j,j2) * x(j2): y is kept dense, but loop j meets only what is stored of compressed levels\n"
     "  try: store a level of j dense, as in format ds of a matrix, or store y compressed, or do not fuse y"),
    ("y(i) = A(i,j) * x(j); z(i) = y(j) * B(j) * c(i)", "ij; ij", {**ROWS, "B": "d", "c": "d"},
     "z(i) = y(j) * B(j) * c(i): y is kept dense, but no other factor of j says at which coordinates it is read\n"
     "  try: store y compressed, or do not fuse y"),
    ("T(i,j) = B(i,k) * C(k,j); X(i,l) = T(i,j) * D(j,l)", "ijk; ijl", {"B": "dd", "C": "dd", "T": "dd"},
     "T has dense levels, and MEM tiles hand over one dense level, or compressed ones")])
def test_dense_values_that_cannot_be_kept_are_refused_with_a_remedy(text, order, formats, message):
    program = parse_program(text, order, formats)
    assert message in refusal(fuse, program.statements, program.formats)
