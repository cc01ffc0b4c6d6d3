"""The phases of an outer product as machines of their own: one leaves lists of runs in memory, one makes rows of such lists."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from outer_arrays import BYTES, array
from simulators import run_cocotb

from sardonyx.hw.arch.outer_product import ASTRAY, BUS, MEMORY, MERGE, MULTIPLY, NONE, ROOM, OuterProduct
from sardonyx.hw.spatial.outer.product import OuterProductArray
from sardonyx.runtime.data.outer_lists import laid_lists, lists
from sardonyx.runtime.data.outer_product import Laid, laid, rows
from sardonyx.sim.rtl.accelerator import SimulatedAccelerator

# Four lanes, two of them at a port, of which the first ones have columns of their own; half of a lane's memory is 16 pairs, and
# a row of the result has up to 15.
MULTIPLIES = OuterProduct("outer_multiplies", lanes=4, ports=2, rows=16, pairs=32, phases=MULTIPLY, takes_columns=False)
MERGES = OuterProduct("outer_merges", lanes=4, ports=2, rows=16, pairs=32, phases=MERGE)
DEALT = replace(MERGES, name="outer_merges_dealt", takes_rows=False)
LIMIT = 200_000


def wrapped(values: np.ndarray) -> np.ndarray:
    return (values + (1 << 31)) % (1 << 32) - (1 << 31)


def partial(a: np.ndarray, b: np.ndarray, most: int) -> "list[list[list[list[int]]]]":
    """Of each row of the product its runs, sorted: each element of A times a row of B, of which `most` elements are a run."""
    found = []
    for row in a:
        runs = []
        for k in np.flatnonzero(row):
            columns = np.flatnonzero(b[k])
            for part in np.split(columns, range(most, len(columns), most)) if len(columns) else []:
                runs.append([[int(j), int(wrapped(row[k] * b[k, j]))] for j in part])
        found.append(sorted(runs))
    return found


@settings(max_examples=25)
@given(latency=st.sampled_from((1, 20, 77)), shape=st.tuples(st.integers(1, 16), st.integers(1, 30), st.integers(1, 20)),
       density=st.sampled_from((0, 0.1, 0.4, 1)), seed=st.integers(0, 1 << 30))
def test_the_list_of_a_row_has_a_run_for_each_of_its_partial_products(latency: int, shape: "tuple[int, int, int]",
                                                                      density: float, seed: int) -> None:
    random, (height, terms, width) = np.random.default_rng(seed), shape
    a, b = (random.integers(-1 << 15, 1 << 15, size) * (random.random(size) < density)
            for size in ((height, terms), (terms, width)))
    place = laid(MULTIPLIES, scipy.sparse.csc_array(a), scipy.sparse.csr_array(b), 0)
    simulated = array(MULTIPLIES, latency)
    simulated.write(0, place.content)
    assert simulated.run([], LIMIT).status == NONE
    found = lists(simulated.read(0, len(place.content)), place, height)
    assert [sorted(run.tolist() for run in row) for row in found] == partial(a, b, MULTIPLIES.pairs // 2)


def drawn(random: np.random.Generator, height: int, width: int, longest: int) -> "list[list[np.ndarray]]":
    """Lists of up to `longest` runs, some rows empty."""
    found: list[list[np.ndarray]] = []
    for _ in range(height):
        count = int(random.integers(0, longest + 1)) * int(random.random() < 0.8)
        found.append([])
        for _ in range(count):
            columns = np.sort(random.permutation(width)[:random.integers(1, width + 1)])
            found[-1].append(np.stack([columns, random.integers(-1 << 31, 1 << 31, len(columns))], 1))
    return found


def added(given: "list[list[np.ndarray]]", width: int) -> np.ndarray:
    found = np.zeros((len(given), width), np.int64)
    for row, runs in enumerate(given):
        for run in runs:
            np.add.at(found[row], run[:, 0], run[:, 1])
    return wrapped(found)


@settings(max_examples=25)
@given(latency=st.sampled_from((1, 20, 77)), height=st.integers(1, 16),
       width=st.integers(1, 15), longest=st.sampled_from((1, 2, 7, 40)), seed=st.integers(0, 1 << 30))
def test_lists_of_any_length_become_sorted_rows_with_equal_columns_added(latency: int, height: int, width: int, longest: int,
                                                                         seed: int) -> None:
    given = drawn(np.random.default_rng(seed), height, width, longest)
    place = laid_lists(MERGES, given, height * width)
    simulated = array(MERGES, latency)
    simulated.write(0, place.content)
    assert simulated.run([], LIMIT).status == NONE
    found = rows(simulated.read(0, len(place.content)), place, (height, width))
    assert np.array_equal(found.toarray(), added(given, width))


def test_what_one_phase_leaves_the_other_one_takes() -> None:
    random = np.random.default_rng(7)
    a, b = (random.integers(-99, 99, size) * (random.random(size) < 0.4) for size in ((16, 20), (20, 15)))
    place = laid(MULTIPLIES, scipy.sparse.csc_array(a), scipy.sparse.csr_array(b), 0)
    first, second = array(MULTIPLIES, 20), array(MERGES, 20)
    first.write(0, place.content)
    assert first.run([], LIMIT).status == NONE
    left = lists(first.read(0, len(place.content)), place, 16)
    merged = laid_lists(MERGES, left, 16 * 15)
    second.write(0, merged.content)
    assert second.run([], LIMIT).status == NONE
    assert np.array_equal(rows(second.read(0, len(merged.content)), merged, (16, 15)).toarray(), a @ b)


@pytest.mark.slow
def test_lanes_that_take_what_is_next_gain_where_rows_are_skewed() -> None:
    """Every fourth row has ten times the work of the others."""
    random = np.random.default_rng(3)
    given = [[np.stack([np.arange(15), random.integers(0, 99, 15)], 1)] * (20 if row % 4 == 0 else 2) for row in range(16)]
    place, cycles = laid_lists(MERGES, given, 16 * 15), []
    for kind in (MERGES, DEALT):
        with SimulatedAccelerator(OuterProductArray(kind), BYTES, 20) as simulated:
            simulated.write(0, place.content)
            cycles.append(simulated.run([], LIMIT).cycles)
            assert np.array_equal(rows(simulated.read(0, len(place.content)), place, (16, 15)).toarray(), added(given, 15))
    assert cycles[0] < 0.6 * cycles[1]


def refused(place: Laid, word: str, value: int) -> int:
    """What a merge ends with whose job says something else."""
    job = bytearray(place.content)
    at = 4 * MERGES.job.index(word)
    job[at:at + 4] = value.to_bytes(4, "little")
    array(MERGES, 20).write(0, bytes(job))
    return array(MERGES, 20).run([], LIMIT).status


def test_a_job_of_lists_that_cannot_be_done_ends_with_its_error() -> None:
    place = laid_lists(MERGES, [[np.array([[1, 5]])]] * 3, 3)
    assert refused(place, "height", 17) == ASTRAY
    assert refused(place, "end", 0) == MEMORY
    assert refused(place, "lists", BYTES) == BUS
    long = laid_lists(MERGES, [[np.stack([np.arange(17)] * 2, 1)]], 17)
    assert refused(long, "height", 1) == ROOM


@pytest.mark.slow
def test_each_phase_is_right_whatever_the_order_and_the_stalls_of_the_memory(tmp_path: Path) -> None:
    random = np.random.default_rng(9)
    a, b = (random.integers(-99, 99, size) * (random.random(size) < 0.3) for size in ((16, 20), (20, 15)))
    place = laid(MULTIPLIES, scipy.sparse.csc_array(a), scipy.sparse.csr_array(b), 0)
    found = lists(stalled(MULTIPLIES, place, tmp_path / "multiply"), place, 16)
    assert [sorted(run.tolist() for run in row) for row in found] == partial(a, b, MULTIPLIES.pairs // 2)
    merged = laid_lists(MERGES, found, 16 * 15)
    assert np.array_equal(rows(stalled(MERGES, merged, tmp_path / "merge"), merged, (16, 15)).toarray(), a @ b)


def stalled(kind: OuterProduct, place: Laid, folder: Path) -> bytes:
    """What a run leaves in a memory that stalls."""
    folder.mkdir()
    (folder / "before").write_bytes(place.content)
    run_cocotb(OuterProductArray(kind), "cocotb_outer", "verilator", folder)
    return (folder / "after").read_bytes()
