"""Row-partitioned and flat mergers on partial matrices of sparse products, in the order of SpArch: cycles.

A square matrix times itself: condensed column n holds the n-th nonzero of each row, and its product is a partial matrix. The
smallest are merged first, up to 64 at once, the first time as many as leave full merges for all others. The row-partitioned
merger has 32 lanes, and again 16, as many as the flat one takes elements in a cycle; memory gives each stream a word in each
cycle. Cycles are those of the merges, one after the other, each from its first element to its last end. Those of lanes have a
closed form, those of the flat merger are of the model; both are the Verilog's (tests/hw/spatial/test_merger.py). Every element
of the product is compared with SciPy's.

Source: Stellar VI-D and Fig. 18; SpArch (HPCA 2020) II, for the order.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse
from bench_sparse import FOLDER

from sardonyx.hw.arch.merger import Merger
from sardonyx.runtime.data.merged import Fiber, collected, dealt
from sardonyx.sim.spatial import run_merger_tokens
from sardonyx.tensors.files import read_tensor

SIZE, WAYS = 512, 64
# The paper's, and those that the flat merger takes.
LANES = 32, 16
# SuiteSparse matrices of many kinds, each of a square with up to 200,000 products.
FILES = ("1138_bus", "bcspwr09", "bcsstk01", "bfwa398", "bwm2000", "can_1072", "cdde1", "fs_541_2", "gr_30_30", "jagmesh7",
         "nos5", "olm2000", "pde225", "sherman1", "tols340", "USAir97", "west0497", "young3c")


@dataclass(frozen=True)
class Compared:
    """A matrix: cycles of the row-partitioned merger by its lanes, and of the flat one."""

    name: str
    rows: dict[int, int]
    flat: int

    def ratio(self, lanes: int) -> float:
        """Elements a cycle, row-partitioned to flat."""
        return self.flat / self.rows[lanes]


def suite() -> Iterator[tuple[str, scipy.sparse.csr_array]]:
    """The committed list: generated matrices, and files where the folder of them is there."""
    random = np.random.default_rng(0)
    line, eye = scipy.sparse.diags_array([1.0, -2.0, 1.0], offsets=[-1, 0, 1], shape=(8, 8)), scipy.sparse.eye_array(8)
    ways = (line, eye, eye), (eye, line, eye), (eye, eye, line)
    poisson = sum(scipy.sparse.kron(scipy.sparse.kron(a, b), c) for a, b, c in ways)
    yield "band", scipy.sparse.diags_array([1.0] * 13, offsets=range(-6, 7), shape=(SIZE, SIZE))
    yield "uniform 8 a row", _rows(random, np.full(SIZE, 8))
    yield "poisson 8^3", poisson
    for mean in (8, 3):
        lengths = random.pareto(1.5, SIZE) + 1
        yield f"power law, mean {mean}", _rows(random, np.clip(lengths * mean / lengths.mean(), 1, SIZE).astype(int))
    for count, length in ((64, 16), (8, 128), (4, 128)):
        yield f"{count} hubs of {length}", _rows(random, np.where(random.permutation(SIZE) < count, length, 1))
    if FOLDER.is_dir():
        for name in FILES:
            tensor = read_tensor(FOLDER / f"{name}.mtx.gz", "small", 1)
            yield name, scipy.sparse.csr_array((tensor.values, tensor.coords.T), shape=tensor.shape)


def _rows(random: np.random.Generator, lengths: np.ndarray) -> scipy.sparse.csr_array:
    """A matrix with rows of some lengths."""
    columns = [random.choice(SIZE, length, replace=False) for length in lengths]
    return scipy.sparse.csr_array((np.ones(lengths.sum()), (np.repeat(np.arange(SIZE), lengths), np.concatenate(columns))),
                                  shape=(SIZE, SIZE))


def partial_matrices(matrix: scipy.sparse.csr_array) -> list[Fiber]:
    """The products of condensed columns with their rows."""
    found = []
    lengths = np.diff(matrix.indptr)
    for nth in range(lengths.max()):
        rows = np.flatnonzero(lengths > nth)
        at = matrix.indptr[rows] + nth
        column = scipy.sparse.csr_array((matrix.data[at], (rows, matrix.indices[at])), shape=matrix.shape)
        product = (column @ matrix).tocoo()
        coordinates = product.row.astype(np.int64) * matrix.shape[1] + product.col
        order = np.argsort(coordinates)
        found.append((coordinates[order], product.data[order]))
    return found


def compare(name: str, given: scipy.sparse.sparray) -> Compared:
    """Both mergers on one matrix."""
    matrix = scipy.sparse.csr_array(given).astype(np.int64)
    matrix.sort_indices()
    rows, columns = matrix.shape
    flat = Merger("flat", WAYS, rows, columns, 1, 16)
    numbers = itertools.count()
    waiting = [(len(part[0]), next(numbers), part) for part in partial_matrices(matrix)]
    heapq.heapify(waiting)
    row_cycles, flat_cycles = dict.fromkeys(LANES, 0), 0
    count = (len(waiting) - 2) % (WAYS - 1) + 2
    while len(waiting) > 1:
        parts = [heapq.heappop(waiting)[2] for _ in range(count)]
        count = min(WAYS, len(waiting) + 1)
        ran = run_merger_tokens(flat, dealt(flat, [parts]))
        (out,) = collected(flat, ran.lanes, 1)
        flat_cycles += ran.cycles
        # Each lane takes a cycle for each of its elements and for the end.
        for lanes in LANES:
            most = int(np.bincount(out[0] // columns % lanes).max())
            row_cycles[lanes] += Merger("rows", WAYS, rows, columns, lanes).latency + 1 + most
        heapq.heappush(waiting, (len(out[0]), next(numbers), out))
    # SciPy leaves coordinates out whose sums are 0, mergers do not look.
    pattern = scipy.sparse.csr_array((matrix != 0).astype(np.int64))
    coordinates, values = waiting[0][2]
    assert np.array_equal(coordinates, np.flatnonzero((pattern @ pattern).toarray())), f"{name}: coordinates are not SciPy's"
    sums = (matrix @ matrix).toarray().ravel()[coordinates]
    assert np.array_equal(values, (sums + (1 << 15)) % (1 << 16) - (1 << 15)), f"{name}: values are not SciPy's"
    return Compared(name, row_cycles, flat_cycles)


def compared() -> list[Compared]:
    """The list."""
    return [compare(name, matrix) for name, matrix in suite()]
