"""Lanes of a product in two phases take in engine `tokens` the cycles of their Verilog."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from outer_arrays import array, close

from sardonyx.hw.arch.outer_product import MERGE, MULTIPLY, NONE, OuterProduct
from sardonyx.runtime.data.outer_lists import laid_lists
from sardonyx.runtime.data.outer_product import Laid, laid
from sardonyx.sim.model.outer.machine import cycles
from sardonyx.sim.rtl.accelerator import BURSTS

# Machines that other tests have models of, with lanes that share ports, and numbers of their own.
BOTH_PHASES = OuterProduct("outer_test", lanes=2, ports=1, rows=16, pairs=32)
NODES = OuterProduct("outer_nodes", lanes=2, ports=1, rows=16, pairs=32, node=4)
MULTIPLIES = OuterProduct("outer_multiplies", lanes=4, ports=2, rows=16, pairs=32, phases=MULTIPLY, takes_columns=False)
MERGES = OuterProduct("outer_merges", lanes=4, ports=2, rows=16, pairs=32, phases=MERGE)
DEALT = replace(MERGES, name="outer_merges_dealt", takes_rows=False)
LIMIT = 5_000_000
LATENCIES = st.sampled_from((1, 2, 20, 77))
DENSITIES = st.sampled_from((0, 0.1, 0.4, 1))


@pytest.fixture(scope="module", autouse=True)
def no_process_is_left() -> Iterator[None]:
    yield
    close()


def check(kind: OuterProduct, place: Laid, latency: int, bursts: int = BURSTS) -> int:
    simulated = array(kind, latency, bursts)
    simulated.write(0, place.content)
    ended = simulated.run([], LIMIT)
    assert ended.status == NONE
    assert cycles(kind, place.content, place.job, latency, bursts) == ended.cycles
    return ended.cycles


def product(kind: OuterProduct, shape: "tuple[int, int, int]", density: float, seed: int) -> Laid:
    random, (height, terms, width) = np.random.default_rng(seed), shape
    return of(kind, *(random.random(size) < density for size in ((height, terms), (terms, width))))


def of(kind: OuterProduct, left: np.ndarray, right: np.ndarray) -> Laid:
    a, b = left.astype(int), right.astype(int)
    return laid(kind, scipy.sparse.csc_array(a), scipy.sparse.csr_array(b), np.count_nonzero(a @ b))


def lists(kind: OuterProduct, height: int, width: int, longest: int, seed: int) -> Laid:
    """Lists of up to `longest` runs, some of them empty."""
    random = np.random.default_rng(seed)
    found: list[list[np.ndarray]] = []
    for _ in range(height):
        count = int(random.integers(0, longest + 1)) * int(random.random() < 0.8)
        columns = [np.sort(random.permutation(width)[:random.integers(1, width + 1)]) for _ in range(count)]
        found.append([np.stack([each, each], 1) for each in columns])
    return laid_lists(kind, found, sum(len(np.unique(np.concatenate(row)[:, 0])) for row in found if row))


@settings(max_examples=40)
@given(kind=st.sampled_from((BOTH_PHASES, NODES, MULTIPLIES)), latency=LATENCIES, density=DENSITIES,
       seed=st.integers(0, 1 << 30), shape=st.tuples(st.integers(1, 16), st.integers(1, 20), st.integers(1, 30)))
def test_products_take_the_cycles_of_the_verilog(kind: OuterProduct, latency: int, shape: "tuple[int, int, int]",
                                                 density: float, seed: int) -> None:
    """Columns and rows that are empty, or longer than half of a lane's memory."""
    height, terms, width = shape
    most = width if kind is MULTIPLIES else kind.most_row
    check(kind, product(kind, (height, terms, min(width, most)), density, seed), latency)


@settings(max_examples=40)
@given(kind=st.sampled_from((MERGES, DEALT)), latency=LATENCIES, height=st.integers(1, 16), width=st.integers(1, 15),
       longest=st.sampled_from((0, 3, 20, 90)), seed=st.integers(0, 1 << 30))
def test_lists_take_the_cycles_of_the_verilog(kind: OuterProduct, latency: int, height: int, width: int, longest: int,
                                              seed: int) -> None:
    """Also of more runs than there may be in a lane's memory, or than have room."""
    check(kind, lists(kind, height, width, longest, seed), latency)


@settings(max_examples=20)
@given(kind=st.sampled_from((NODES, MULTIPLIES)), bursts=st.sampled_from((1, 2, 3, 5)), latency=st.sampled_from((1, 3, 20)),
       seed=st.integers(0, 1 << 30))
def test_a_memory_of_few_bursts_takes_the_cycles_of_the_verilog(kind: OuterProduct, bursts: int, latency: int,
                                                                seed: int) -> None:
    check(kind, product(kind, (12, 6, 15), 0.4, seed), latency, bursts)


def test_a_column_of_short_nodes_waits_for_answers() -> None:
    """A port has as many bursts as may be without an answer."""
    assert check(BOTH_PHASES, product(BOTH_PHASES, (16, 8, 1), 1, 0), 200) > 200


@pytest.mark.slow
@pytest.mark.parametrize("lanes,ports,pairs", [(1, 1, 256), (8, 1, 64), (16, 4, 32), (16, 16, 256)])
def test_lanes_and_ports_of_any_number_take_the_cycles_of_the_verilog(lanes: int, ports: int, pairs: int) -> None:
    """Also where columns and rows are longer than half of a lane's memory, and memory is slow to answer many."""
    kind = OuterProduct("outer_timed", lanes, ports, rows=64, pairs=pairs, takes_rows=lanes > 1)
    for seed, density in enumerate((0.02, 0.1, 0.2)):
        for latency in (2, 50, 150):
            check(kind, product(kind, (60, 24, min(100, kind.most_row)), density, seed), latency)
    for bursts in (1, 2, 20):
        for latency in (1, 30):
            check(kind, product(kind, (30, 24, min(60, kind.most_row)), 0.2, bursts), latency, bursts)
    # As many runs as there may be in a lane's memory, one more, and as many again.
    for runs in (64, 65, 130):
        check(kind, of(kind, np.ones((1, runs)), np.ones((runs, 1))), 5)
    # More runs of an element than there may be in a lane's memory, and rows of many bursts.
    columns = np.arange(150)[:, None] * 7 % kind.most_row == np.arange(kind.most_row)
    check(kind, of(kind, np.ones((2, 150)), columns), 20)
    check(kind, of(kind, np.ones((20, 2)), np.ones((2, kind.most_row))), 5)
