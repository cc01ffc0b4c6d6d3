"""Graphs that we write are read back as the same ones."""

import random
from dataclasses import replace

import pytest
from drawings import PUBLIC
from graph_operands import operand_sets
from hypothesis import given, settings
from hypothesis import strategies as st
from mutations import try_to_read
from same_graphs import operations

from sardonyx.compiler.ir.sam_dot import to_dot
from sardonyx.compiler.ir.sam_read import read_sam
from sardonyx.compiler.ir.sam_reduce import MaxReducer, Reducer
from sardonyx.compiler.lang.einsum import EVERY, LOCATED, parse, with_extents
from sardonyx.compiler.lang.kernel import kernel_names, load_kernel
from sardonyx.compiler.sparse.lower import lower
from sardonyx.graph_job import check_statement, graph_data
from sardonyx.hw.arch.errors import UserError

OTHERS = ("x(i) = b(i) * b(i)", "X(i,j) = B(i,k) * B(k,j)", "x = b * c - -3 * d", "x(i) = -(b(i) - c(i))", "x = b * B(i) + c",
          "x(i) = (a + b) * c(i)", "x(i) = (b(i) + C(i,j) * d(j)) * (g(i) - F(i,k) * h(k))",
          "X(i,j) = max(abs(B(i,j)), C(i,j)) - min(B(i,j), 3)",
          "x(i) = relu(B(i,j) * c(j)) + sign(d(i)) * nonzero(e(i)) * (d(i) > e(i))",
          "x(i) = b(i) / (c(i) - 3 * d(i)) + -7 / b(i) - c(i) / 2")
STATEMENTS = [*(load_kernel(name).einsum() for name in kernel_names()), *map(parse, OTHERS),
              # Coordinates that are counted beside those of operands, of an operand that has them all, and of two levels.
              parse("x(i) = B(i,j) * c(j)", formats={"x": "d"}), parse("x(i) = B(i,j) * c(j)", formats={"x": "d", "B": "ds"}),
              parse("X(i,j) = B(i,j) + C(i,j)", formats={"X": "dd"}), parse("X(i,j) = B(i,k) * C(k,j)", formats={"X": "ds"}),
              parse("X(i,j,k) = B(i,j,k) - C(i,j,k)", formats={"X": "dss"}),
              parse("X(i,j,k) = B(i,j,k)", formats={"X": "dsd"}),
              parse("X(i,j) = B(i,k) * C(k,j)", "jik"), parse("x(i) = B(i,j) * c(j)", formats={"B": "dd01", "c": "d0"}),
              *(replace(load_kernel(name).einsum(), locate=EVERY) for name in ("spmm_ijk", "sddmm"))]


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda statement: statement.text)
def test_a_graph_that_we_write_is_read_as_the_same_graph(statement):
    graph = lower(statement)
    reading = read_sam(to_dot(graph), "ours.gv")
    assert operations(reading.graph) == operations(without_unused(statement, graph, reading)) and reading.notes == ()
    assert (reading.graph.title, dict(reading.graph.formats)) == (graph.title, dict(graph.formats))
    assert set(reading.tensors.values()) == set(statement.tensors)
    for operands in operand_sets(statement, 1):
        check_statement(graph_data(reading, operands, 1024, "ours.gv"), statement, "ours.gv")


def without_unused(statement, graph, reading):
    """The graph, or, where coordinates are counted, whose references nobody takes, what is read when it is written again."""
    return read_sam(to_dot(reading.graph), "again.gv").graph if statement.framed else graph


def test_a_graph_that_was_read_is_written_and_read_again():
    for name in ("matmul_drop", "residual", "scaled"):
        graph = read_sam(PUBLIC[name].text, name).graph
        assert operations(read_sam(to_dot(graph), name).graph) == operations(graph), name


def test_maxima_are_written_and_read_again():
    statement = with_extents(parse("X(i,j) = B(i,j) * max(k, C(i,j,k) * D(k))"), {"i": 5, "j": 6, "k": 7})
    graph = lower(statement)
    assert 'type="max_reduce"' in to_dot(graph)
    again = read_sam(to_dot(graph), "maxima.gv").graph
    assert [op for op in again.nodes.values() if isinstance(op, Reducer)] == [MaxReducer("k", True, 7)]
    for wrong in ("65536", "-1", "seven"):
        with pytest.raises(UserError, match=f"attribute extent is '{wrong}'"):
            read_sam(to_dot(graph).replace('extent="7"', f'extent="{wrong}"'), "maxima.gv")


@settings(max_examples=25)
@given(name=st.sampled_from(kernel_names()), letters=st.lists(st.sampled_from("ssd"), min_size=6, max_size=6),
       seed=st.integers(0, 9999), locate=st.sampled_from([*LOCATED]), scatter=st.booleans())
def test_graphs_of_kernels_in_any_order_and_format_are_read_as_they_are_written(name, letters, seed, locate, scatter):
    kernel, choose = load_kernel(name).einsum(), random.Random(seed)
    statement = stored_otherwise(kernel, letters, choose, locate, scatter)
    graph = lower(statement)
    if statement.reframed or len(statement.every) > 1:
        with pytest.raises(UserError, match=r"(fiber|array)keep"):     # sums that are kept have no node
            read_sam(to_dot(graph), "ours.gv")
        return
    reading = read_sam(to_dot(graph), "ours.gv")
    assert operations(reading.graph) == operations(without_unused(statement, graph, reading)) and reading.notes == ()
    for operands in operand_sets(statement, 1):
        check_statement(graph_data(reading, operands, 1024, "ours.gv"), statement, "ours.gv")


def stored_otherwise(kernel, letters, choose, locate, scatter):
    """A kernel in another order of its loops and other formats, as far as they are allowed; of a result of two dense levels in
    both orders of these."""
    order = choose.sample(kernel.order, len(kernel.order))
    try:
        parse(kernel.text, order)
    except UserError:
        order = kernel.order
    result = kernel.result
    ranks = {**kernel.tensors, result.tensor: len(result.indices)}
    formats = {tensor: "".join(letters[:rank]) for tensor, rank in ranks.items() if rank and choose.random() < 0.8}
    if formats.get(result.tensor) == "dd":
        formats[result.tensor] += choose.choice(("01", "10"))
    if formats.get(result.tensor) == "sds":     # dense levels are above compressed ones, or below all of them
        formats[result.tensor] = "ssd"
    return replace(parse(kernel.text, order, formats), locate=locate, scatter=scatter)


@pytest.mark.parametrize("form,rank", [("dd10", 2), ("ddd", 3), ("sdd", 3), ("ds", 2), ("dsd", 3)])
def test_a_damaged_graph_of_a_result_with_dense_levels_runs_or_is_refused(form, rank):
    indices = ",".join("ijk"[:rank])
    text = to_dot(lower(replace(parse(f"X({indices}) = B({indices})", formats={"X": form}), scatter=True)))
    operands = next(operand_sets(parse(f"X({indices}) = B({indices})"), 1))

    def run(content):
        reading = read_sam(content.decode(errors="replace"), "f.gv")
        if set(reading.tensors.values()) == {"B"} and reading.formats["B"].rank == rank:
            graph_data(reading, operands, 1024, "f.gv")

    assert 0 < sum(try_to_read(run, text.encode(), seed, swapped) for seed in range(25)) < 25


def swapped(content, seed):
    """A graph in which words of one line stand in another one, or a line is away."""
    choose, lines = random.Random(seed), content.decode().split("\n")
    for _ in range(choose.choice((1, 1, 2))):
        one, other = choose.sample(range(1, len(lines) - 2), 2)
        words, others = lines[one].split(), lines[other].split()
        if choose.randrange(4):
            at = choose.randrange(min(len(words), len(others)))
            words[at], others[at] = others[at], words[at]
            lines[one], lines[other] = " ".join(words), " ".join(others)
        else:
            del lines[one]
    return "\n".join(lines).encode()
