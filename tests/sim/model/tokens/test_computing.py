import numpy as np
import pytest
from graphs import coo

from sardonyx.compiler.ir.mapped import MappedGraph
from sardonyx.compiler.lang.einsum import parse
from sardonyx.compiler.sparse.blocks import map_graph
from sardonyx.compiler.sparse.lower import lower
from sardonyx.compiler.sparse.tiling import tile
from sardonyx.runtime.data.blocks import Blocks
from sardonyx.runtime.data.sub_tiles import Work
from sardonyx.sim.model.tokens import fabric
from sardonyx.sim.model.tokens.computing import compute_cycles

RANDOM = np.random.default_rng(1)
MATRIX = RANDOM.integers(1, 9, (20, 30)) * (RANDOM.random((20, 30)) < 0.3)


def program(text: str, order: str, formats: dict[str, str], **operands: np.ndarray) -> tuple[MappedGraph, Blocks]:
    """The mapped graph of a statement, and its one transaction."""
    einsum = parse(text, order, formats)
    work = Work(tile(einsum, {name: coo(each) for name, each in operands.items()}, 2048, 1024))
    (transaction,) = work.transactions()
    return map_graph(lower(einsum)), transaction


def steady(graph: MappedGraph, transaction: Blocks) -> float:
    return (compute_cycles(graph, [transaction] * 7) - compute_cycles(graph, [transaction] * 3)) / 4


def test_operations_follow_each_other_in_as_many_cycles_as_the_busiest_stream_has_tokens():
    graph, transaction = program("X(i,j) = B(i,j)", "ij", {}, B=MATRIX)
    rows = np.count_nonzero(MATRIX.any(axis=1))
    assert steady(graph, transaction) == np.count_nonzero(MATRIX) + rows + 1, "nonzeros, a stop for each row, done"


def test_what_is_loaded_and_stored_takes_no_cycles():
    one = np.zeros(MATRIX.shape, np.int64)
    one[7, 8] = 1
    graph, transaction = program("X(i,j) = B(i,j) * C(i,j)", "ij", {}, B=one, C=MATRIX)
    moved = (fabric.ideal_cycles(graph, [transaction] * 7) - fabric.ideal_cycles(graph, [transaction] * 3)) / 4
    assert steady(graph, transaction) < 40 < np.count_nonzero(MATRIX) < moved, "one row of C is looked at, all come"


@pytest.mark.parametrize(("text", "formats"), [("x(i) = B(i,j) * c(j)", {}), ("X(i,j) = B(i,j) * c(j)", {"B": "sd"})])
def test_a_machine_that_also_moves_takes_no_fewer_cycles(text: str, formats: dict[str, str]):
    graph, transaction = program(text, "ij", formats, B=MATRIX, c=np.arange(30))
    for count in (1, 4):
        assert compute_cycles(graph, [transaction] * count) <= fabric.ideal_cycles(graph, [transaction] * count)
