"""What reports name the bottleneck of a program: by its own rates on the token model, against cycles that are given here."""

from functools import cache

import numpy as np
import pytest

from sardonyx.bottleneck import SAMPLE, bottleneck
from sardonyx.compiler.lang.einsum import parse
from sardonyx.compiler.sparse.blocks import map_graph
from sardonyx.compiler.sparse.lower import lower
from sardonyx.compiler.sparse.tiling import tile
from sardonyx.runtime.data.sub_tiles import Work
from sardonyx.sim.model.tokens.fabric import working_cycles
from sardonyx.tensors.values import to_coo

FULL = to_coo(np.ones((8, 8), int), "B")
OPERANDS = {"B": FULL, "C": FULL, "L": to_coo(np.tril(np.ones((8, 8), int)), "L"), "d": to_coo(np.ones(8, int), "d"),
            "b": to_coo(np.arange(1, 65), "b"), "c": to_coo(np.ones(64, int), "c")}


@cache
def program(text, edge, order=None):
    """The graph of a statement, their sub-tiles, and what its parts take for them."""
    einsum = parse(text, order)
    work = Work(tile(einsum, {name: OPERANDS[name] for name in einsum.tensors}, 1024, edge))
    graph = map_graph(lower(einsum))
    return graph, work, working_cycles(graph, list(work.transactions()))


@pytest.mark.parametrize("text,order,edge,least,said", [
    # Two segments and their number, 64 coordinates and theirs.
    ("x(i) = b(i)", None, 64, 3 + 65, "links: b0 brings 1.00 words a cycle"),
    ("X(i,j) = B(i,j)", None, 8, 10 + 65, "links: B1 brings 1.00 words a cycle"),
    # Each of 8 rows asks for all 8 coordinates of d, of which row k has k.
    ("x(i) = L(i,j) * d(j)", "ij", 8, 8 * 9 + 1, "MEM tiles: scan_d_j is busy for 100% of the time"),
    # 64 fibers of 8 products and a stop, of which 8 are above the innermost.
    ("X(i,j) = B(i,k) * C(k,j)", "ijk", 8, 64 * 9 + 8 + 1, "reduction: reduce_k is busy for 100% of the time"),
    # 512 products, 127 of them in another line than the one before, 64 stops and 8 more of rows; then three cycles, 64 sums of
    # 8 rows, and done.
    ("X(i,j) = B(i,k) * C(k,j)", "kij", 8, 512 + 127 + 64 + 8 + 3 + 64 + 8 + 1,
     "reduction: accumulate_k is busy for 100% of the time"),
    ("X(i,j) = B(i,j) / B(i,j)", None, 8, 64 * 17 + 8 + 1, "PEs: div is busy for 100% of the time"),
])
def test_the_busiest_part_is_named_with_what_it_is(text, order, edge, least, said):
    graph, work, working = program(text, edge, order)
    assert max(working.values()) == least, sorted(working.items(), key=lambda each: -each[1])[:5]
    assert bottleneck(graph, work, least) == said
    assert bottleneck(graph, work, round(least / 0.6)).startswith("waiting: ")


def test_a_level_of_few_words_takes_the_cycles_of_its_turn():
    _, work, working = program("x = b(i) * c(i)", 1)
    assert working["write_x_vals"] == 3.5 * len(work) == 3.5 * 64


def test_what_is_busy_for_less_than_most_of_the_time_is_not_what_all_waits_for():
    graph, work, _ = program("X(i,j) = B(i,j)", 8)
    assert bottleneck(graph, work, 150) == "waiting: B1, the busiest, is busy for 50% of the time"


def test_of_many_sub_tiles_some_are_looked_at_that_are_spread_evenly(monkeypatch):
    graph, work, _ = program("x(i) = b(i)", 1)
    looked = []

    def some(graph, transactions):
        looked.append([int(blocks["b_vals"][1]) for blocks in transactions])
        return working_cycles(graph, transactions)

    monkeypatch.setattr("sardonyx.bottleneck.working_cycles", some)
    assert bottleneck(graph, work, 64 * SAMPLE // 6) == "waiting: b0, the busiest, is busy for 0% of the time"
    assert looked == [[1, 12, 23, 34, 45, 56]]
