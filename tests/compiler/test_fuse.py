"""Fused statements: which way intermediates go, what is lowered, and that it means what the statements mean one by one."""

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from random_statements import statements

from sardonyx.compiler.ir.sam import SamGraph
from sardonyx.compiler.lang.kernel import load_kernel, program_names
from sardonyx.compiler.lang.program import parse_program
from sardonyx.compiler.sparse.blocks import map_graph
from sardonyx.compiler.sparse.fuse import fuse
from sardonyx.compiler.sparse.fused_tiling import sharing, tile_fused
from sardonyx.compiler.sparse.lower import lower, lower_fused
from sardonyx.hw.arch.errors import UserError
from sardonyx.runtime.data.sub_tiles import Work
from sardonyx.sim.golden import einsum as golden
from sardonyx.sim.model.tokens import fabric
from sardonyx.tensors.coordinates import Coo
from sardonyx.tensors.values import random_tensor

CAPACITY = 1024
TWICE = "y(i) = A(i,j) * x(j); z(i) = A(i,j) * y(j)"


def fused(text, order="", formats=None):
    program = parse_program(text, order, formats)
    return fuse(program.statements, program.formats)


def run(program, data, edges=None, capacity=CAPACITY):
    """The result on the token model, and that of NumPy; and the number of items."""
    found = fuse(program.statements, program.formats)
    work = Work(tile_fused(found, data, capacity, edges))
    graph = map_graph(lower_fused(sharing(found, work.tiling)))
    result = work.result(fabric.run_graph(graph, work.transactions()))
    return result, golden.evaluate_all(program.statements, data)[program.result.result.tensor], len(work)


def operands(program, size, density, seed):
    return {name: random_tensor((size,) * rank, density if rank else 1.0, seed + at)
            for at, (name, rank) in enumerate(program.inputs.items())}


@pytest.mark.parametrize("text,ways", [
    # No sum of its own: streams, wherever it is used.
    ("T(j,k,l) = C(j,k) * D(j,l); X(i,j) = B(i,k,l) * T(j,k,l)", {"T": "streams"}),
    # Sums, in loops that are all of its indices: none is computed again.
    ("T(i,j) = C(i,k) * D(k,j); X(i,j) = B(i,j) * T(i,j)", {"T": "streams"}),
    ("T(i) = B(i,j) * c(j); x = relu(T(i))", {"T": "streams"}),
    # Sums that would be computed again for each k.
    (TWICE, {"y": "MEM tiles"}),
    ("t = b(i); x(i) = t * b(i)", {"t": "MEM tiles"}),
    # A sum inside streams is one, too.
    ("T(i) = B(i,j) * c(j); U(i) = T(i) + c(i); x(i) = B(i,j) * U(j)", {"T": "streams", "U": "MEM tiles"}),
    ("T(i,j) = -B(i,j); x(i) = T(i,j); y(i) = x(i) * c(i)", {"T": "streams", "x": "streams"})])
def test_an_intermediate_is_streams_where_no_sum_is_computed_again_for_it(text, ways):
    assert fused(text).ways == ways


def test_what_is_accumulated_goes_through_mem_tiles():
    assert fused("T(i,j) = B(i,k) * C(k,j); X(i,j) = relu(T(i,j))", "ikj;").ways == {"T": "MEM tiles"}


def test_streams_are_the_statement_in_one():
    pair = fused("T(j,k,l) = C(j,k) * D(j,l); X(i,j) = B(i,k,l) * T(j,k,l)", "jkl; ijkl")
    one = load_kernel("mttkrp").einsum()
    assert lower_fused(pair).to_text().replace(pair.einsum.text, one.text) == lower(one).to_text()


def test_kept_levels_are_written_and_read_by_one_mem_tile():
    found = fused(TWICE)
    graph = lower_fused(found)
    assert [leaf.slot for leaf in found.einsum.operands] == ["A", "A.2", "x"]
    kept = {name: op.settings for name, op in graph.nodes.items() if name.startswith("keep")}
    assert kept == {"keep_y_j": {"input": "stream", "output": "scan", "dense": False, "root": False},
                    "keep_y_vals": {"input": "stream", "output": "lookup", "values": True, "root": False}}
    assert SamGraph.from_json(graph.to_json()) == graph
    mapped = map_graph(graph)
    assert {stream.name for stream in mapped.streams} == {"A0", "A1", "A_vals", "A.20", "A.21", "A.2_vals", "x0", "x_vals",
                                                          "z0", "z_vals"}


def test_an_operand_that_is_taken_whole_for_two_uses_comes_once():
    program = parse_program(TWICE)
    found, data = fuse(program.statements, {}), operands(program, 9, 0.5, 3)
    whole = sharing(found, tile_fused(found, data, CAPACITY))
    assert whole.shared == {"A.2": "A"}
    mapped = map_graph(lower_fused(whole))
    assert sorted(stream.name for stream in mapped.streams) == ["A0", "A1", "A_vals", "x0", "x_vals", "z0", "z_vals"]
    assert mapped.count("mem") == map_graph(lower_fused(found)).count("mem")
    cut = sharing(found, tile_fused(found, data, CAPACITY, {"i": 4}))
    assert not cut.shared, "the second statement takes parts of what the first takes whole"
    turned = parse_program("y(i) = A(i,j) * x(j); z(i) = A(j,i) * y(j)")
    other = fuse(turned.statements, {})
    assert not sharing(other, tile_fused(other, data, CAPACITY)).shared, "it is stored in another order"


def test_index_names_of_statements_are_apart():
    assert fused("T(c) = b(c,k) * k1(k); X(i,k) = T(i) * G(i,k)").einsum.text == "X(i,k) = b(i,k2) * k1(k2) * G(i,k)"
    assert fused("T(i) = c(i); x(c) = T(c)").einsum.text == "x(c2) = c(c2)"


def test_a_function_of_an_intermediate_that_is_summed_is_applied_before_the_sum():
    assert fused("T(i) = relu(b(i) - c(i)); x = T(i)").einsum.text == "x = sum(i, relu(b(i) - c(i)))"


@pytest.mark.parametrize("name", program_names())
@pytest.mark.parametrize("density", [0.05, 0.4, 1.0])
def test_a_kernel_of_several_statements_gives_what_they_give_one_by_one(name, density):
    kernel = load_kernel(name)
    program = kernel.program()
    assert {*kernel.fuse} == {*program.intermediates} and kernel.doc.endswith(".")
    for seed, extents in enumerate(kernel.shapes):
        data = {access.tensor: random_tensor(tuple(extents[index] for index in access.modes), density, seed + at)
                for at, access in enumerate(access for each in program.statements for access in each.operands)
                if access.tensor in program.inputs}
        found, right, _ = run(program, data)
        assert found == right


USES = {0: ("Y(i) = T * G(i)", "Y = T * T + G", "Y(i) = relu(G(i) * T)"),
        1: ("Y(i) = T(i) + G(i)", "Y(i) = G(i,j) * T(j)", "Y = T(i)", "Y(i,j) = T(i) * G(j)", "Y(i) = T(i) * T(i)",
            "Y = relu(T(i) - G(i))", "Y(i) = G(i,j) * T(j) - T(i)", "Y(j) = abs(T(i)) * G(i,j)"),
        2: ("Y(i,j) = T(i,j) * G(i,j)", "Y(i,j) = G(i,k) * T(k,j)", "Y(i,j) = T(i,k) * G(k,j)", "Y(i) = T(i,j)",
            "Y(i,j) = T(i,j) + relu(T(i,j))", "Y(i) = T(i,j) * G(j)", "Y(i) = T(i,i)")}


@settings(max_examples=60, deadline=None)
@given(first=statements(3), use=st.integers(0, 9), size=st.integers(1, 5), density=st.sampled_from([0.0, 0.3, 1.0]),
       seed=st.integers(0, 99), edge=st.none() | st.integers(1, 4))
def test_random_statements_give_what_they_give_one_by_one(first, use, size, density, seed, edge):
    result, _, expr = first.partition(" = ")
    uses = USES[result.count(",") + 1 if "(" in result else 0]
    try:
        program = parse_program(f"T{result[1:]} = {expr.replace('G', 'Q')}; {uses[use % len(uses)]}")
    except UserError:
        reject()        # the first statement is none
    data = operands(program, size, density, seed)
    try:
        found, right, _ = run(program, data)
    except UserError as refused:
        assert "fuse" in str(refused)
        reject()
    assert found == right
    free = set(program.result.result.indices)
    cut = fuse(program.statements, program.formats)
    if cut.nest.kept and edge:
        found, right, _ = run(program, data, {index: edge for index in cut.einsum.order if index in free})
        assert found == right


def test_sub_tiles_of_the_other_indices_compute_an_intermediate_again():
    program = parse_program(TWICE)
    data = operands(program, 9, 0.5, 3)
    found, right, items = run(program, data, {"i": 4, "j": 5})
    assert found == right and items == 6


def refusal(call, *arguments, **named):
    with pytest.raises(UserError) as error:
        call(*arguments, **named)
    return str(error.value)


def test_what_cannot_be_fused_is_refused_with_a_remedy():
    assert refusal(fused, "T(i,j) = B(i,k) * C(k,j); X(i,l) = T(j,i) * C(j,l)") == (
        "X(i,l) = T(j,i) * C(j,l): T(i,j) is computed as ss01, in loop order i j k, but T(j,i) is read as ss10, in loop order "
        "i l j\n  try: give the statements loop orders in which T is computed as it is read, or do not fuse T")
    assert refusal(fused, "T(i,j) = B(i,j); X(j,i) = T(i,j)") == (
        "X(j,i) = T(i,j): the loops of i and j are nested in one order where an intermediate is computed and in another where "
        "it is read\n  try: give the statements loop orders that agree, or do not fuse T")
    assert refusal(fused, "T(i,j) = B(i,k) * C(k,j); X(i,l) = T(j,i) * T(i,l)").endswith(
        "X(i,l) = T(j,i) * T(i,l): T(i,j) is computed as ss01, in loop order i j k, but T(j,i) is read as ss10, in loop order "
        "i l j\n  try: do not fuse T"), "no order is that of both uses"
    assert refusal(fused, "T(i,j) = B(i,k) * C(k,j); x(l) = T(i,i) * G(i,l)", ";il").startswith(
        "x(l) = T(i,i) * G(i,l): the diagonal of T is read, which MEM tiles do not give")
    doubled = "; ".join(["T0(i) = b(i) + c(i)", *(f"T{n + 1}(i) = T{n}(i) * T{n}(i)" for n in range(7))])
    assert "is used more than 64 times" in refusal(fused, doubled)


def test_what_stays_inside_has_to_fit():
    program = parse_program("T(i,j) = b(i) * c(j); t = T(i,j); X(i) = t * b(i)")
    full = Coo.make((40,), np.arange(40)[:, None], np.ones(40, np.int64))
    found, right, _ = run(program, {"b": full, "c": full}, capacity=64)
    assert found == right, "T is streams, of which a MEM tile holds none"
    program = parse_program("T(i,j) = B(i,k) * C(k,j); X(i,l) = T(i,j) * D(j,l)")
    ones = Coo.make((10, 2), np.argwhere(np.ones((10, 2))), np.ones(20, np.int64))
    across = Coo.make((2, 10), np.argwhere(np.ones((2, 10))), np.ones(20, np.int64))
    data = {"B": ones, "C": across, "D": Coo.make((10, 1), np.argwhere(np.ones((10, 1))), np.ones(10, np.int64))}
    found, right, items = run(program, data, capacity=64)
    assert found == right and items > 1, "T has 100 nonzeros: it is computed in tiles"
    assert refusal(run, program, data, 10, capacity=64) == (
        "X(i,l) = B(i,k) * C(k,j) * D(j,l): T stays inside the array: level j of T needs 100 words but a MEM tile holds 64\n"
        "  try: use smaller edges, or do not fuse T")
    assert refusal(run, program, data, {"k": 1}) == (
        "X(i,l) = B(i,k) * C(k,j) * D(j,l): index k, of 2, is summed for what MEM tiles keep, so that it cannot be cut\n"
        "  try: give no tile edge for k, or do not fuse T")
    assert refusal(run, program, data, 1).endswith(
        "  try: use edges 'split(i,1) split(l,1) split(j,1)' (--schedule or schedule=) in place of tile 1, or do not fuse T")
    inner = parse_program("y(i) = B(i,j) * c(j); x = relu(D(k,i) * y(i))")
    assert refusal(run, inner, {"B": ones, "c": Coo.make((2,), [[0], [1]], [1, 1]), "D": across}, 1).endswith(
        "  try: leave out tile 1, or do not fuse y")
    program = parse_program(TWICE)
    dense = Coo.make((50, 50), np.argwhere(np.ones((50, 50))), np.ones(2500, np.int64))
    assert refusal(run, program, {"A": dense, "x": Coo.make((50,), np.arange(50)[:, None], np.ones(50, np.int64))},
                   capacity=40) == (
        "z(i) = A(i,j) * A(j,j2) * x(j2): level i of A needs 50 words but a MEM tile holds 40, also in the smallest tiles that "
        "leave j2 whole\n  try: do not fuse y, or use an array with larger level buffers")
