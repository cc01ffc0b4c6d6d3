"""Sparse products in two phases (`outerspace`) with one request port and with sixteen, at the same bandwidth.

Matrices times themselves, from memory to memory: generated ones and files of SuiteSparse. Values are whole numbers from -99
to 99, random with seed 0, as those of the files are no whole numbers. Of a matrix with more than `MOST_ROWS` rows as many are
taken, at random with seed 0, and multiplied with all of it; of more than `MOST_PRODUCTS` products half of the rows, until
there are fewer. Where a row of the result has no room in a lane of the design its memory is enlarged to the next power of two.
Memory gives 64 bits a cycle each way, the first word of a burst after 60 cycles. Lanes and what they compute are the same for
every number of ports; each element of the result is compared with SciPy's.

    python scripts/bench_outer.py [NAME ...]            # by ports
    python scripts/bench_outer.py queues [NAME ...]     # with 16 ports, by who does which operation
    python scripts/bench_outer.py nodes [NAME ...]      # with 16 ports, a node for each run, or nodes of 16 elements

Source: Stellar VI-C, Fig. 16b: 16 requests at once in place of one raise 1.42 to 2.1 GFLOP/s, 1.48 times.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse
from bench_gather import LATENCY, NAMES
from bench_mergers import FILES, suite
from bench_sparse import FOLDER

from sardonyx import designs
from sardonyx import spatial as sp
from sardonyx.tensors.files import read_tensor

PORTS = (1, 4, 16)
MOST_ROWS, MOST_PRODUCTS = 1024, 100_000
# Besides those of the mergers: collaborations, of which most of the rows are left out.
LARGE = ("ca-CondMat",)


@dataclass(frozen=True)
class Multiplied:
    """A matrix: its rows, and how many of them were multiplied; products; cycles by ports."""

    name: str
    rows: int
    taken: int
    products: int
    cycles: dict[int, int]

    def ratio(self, ports: int = 1) -> float:
        """Cycles with so many ports, to those with the most."""
        return self.cycles[ports] / self.cycles[PORTS[-1]]

    @property
    def flops(self) -> float:
        """Multiplications and additions a cycle with the most ports."""
        return 2 * self.products / self.cycles[PORTS[-1]]


@dataclass(frozen=True)
class Square:
    """A matrix whose rows, or some of them, are multiplied with all of it."""

    name: str
    left: scipy.sparse.csr_array
    whole: scipy.sparse.csr_array
    products: int
    longest: int        # elements of a row of the result

    def run(self, design: sp.OuterProductDesign, **sizes: int) -> sp.Computed:
        """A product, from memory to memory."""
        pairs = max(design.kind.pairs, 1 << (2 * self.longest + 1).bit_length())
        return design.resized({**sizes, "pairs": pairs}).run(A=self.left, B=self.whole, latency=LATENCY)


def heads(ran: sp.Computed) -> float:
    """How much of what passes the bus are heads of nodes, a word of it each: those of partial products in and out, and those
    of rows of the result."""
    numbers = {name: int(str(ran.report[name])) for name in ("nodes", "words_read", "words_written")}
    rows = np.count_nonzero(np.diff(ran.value.indptr))
    return float((2 * numbers["nodes"] + rows) / (numbers["words_read"] + numbers["words_written"]))


def multiplied(names: tuple[str, ...] | None = None) -> Iterator[Multiplied]:
    """Those of the committed list, or some of it."""
    for each in squares(names):
        yield Multiplied(each.name, each.whole.shape[0], each.left.shape[0], each.products,
                         {ports: each.run(outerspace(), ports=ports).cycles or 0 for ports in PORTS})


def dealt() -> sp.PhasedDesign:
    """Operations have lanes of their own."""
    design = outerspace()
    return sp.phases(*(replace(each, balance=()) for each in (design.multiply, design.merge)), name="outerspace_dealt")


def filled() -> sp.PhasedDesign:
    """Runs fill up nodes of 16 elements."""
    design = outerspace()
    buffers = {**design.multiply.buffers, "P": sp.Lists(node=16)}
    return sp.phases(replace(design.multiply, buffers=buffers), design.merge, name="outerspace_nodes")


def compared(other: sp.PhasedDesign, names: tuple[str, ...] | None = None) -> Iterator[tuple[Square, sp.Computed, sp.Computed]]:
    """Each with its runs as we ship it, and by another design."""
    for each in squares(names):
        yield each, each.run(outerspace()), each.run(other)


def outerspace() -> sp.PhasedDesign:
    """What we ship by this name."""
    design = designs.any_design("outerspace")
    assert isinstance(design, sp.PhasedDesign), "it has two phases"
    return design


def squares(names: tuple[str, ...] | None = None) -> Iterator[Square]:
    """What is multiplied."""
    for name, matrix in matrices():
        if names and name not in names:
            continue
        random = np.random.default_rng(0)
        whole = scipy.sparse.csr_array(matrix)
        whole.eliminate_zeros()
        whole = scipy.sparse.csr_array((random.integers(1, 100, whole.nnz) * random.choice((-1, 1), whole.nnz),
                                        whole.indices, whole.indptr), whole.shape)
        lengths = np.diff(whole.indptr)
        taken = np.sort(random.permutation(whole.shape[0])[:MOST_ROWS])
        while (products := int((whole[taken].astype(bool) @ lengths).sum())) > MOST_PRODUCTS:
            taken = np.sort(random.permutation(taken)[:len(taken) // 2])
        left = whole[taken]
        longest = int(np.diff(scipy.sparse.csr_array(left.astype(bool) @ whole.astype(bool)).indptr).max())
        yield Square(name, left, whole, products, longest)


def by_commands(ports: int) -> sp.Computed:
    """The product of two random matrices without zeros, tile by tile, as commands of `tiled_spgemm` say."""
    accelerator = designs.design("tiled_spgemm").accelerator(ports=ports)
    return accelerator.product(*accelerator.random(64, 64, 64))


def matrices() -> Iterator[tuple[str, scipy.sparse.sparray]]:
    """Generated ones, and files where the folder of them is there."""
    for name, matrix in suite():
        if name in (*NAMES, *FILES):
            yield name, matrix
    if FOLDER.is_dir():
        for name in LARGE:
            tensor = read_tensor(FOLDER / f"{name}.mtx.gz", "small", 1)
            yield name, scipy.sparse.csr_array((tensor.values, tensor.coords.T), shape=tensor.shape)


if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1] in (others := {"queues": dealt, "nodes": filled}):
        for square, ours, theirs in compared(others[sys.argv[1]](), tuple(sys.argv[2:])):
            print(f"{square.name}: {ours.cycles} cycles, {heads(ours):.3f} of the words heads of nodes; {theirs.cycles}, "
                  f"{heads(theirs):.3f}; {(theirs.cycles or 0) / (ours.cycles or 1):.2f} times", flush=True)
    else:
        for each in multiplied(tuple(sys.argv[1:])):
            print(f"{each.name}: {each.taken} of {each.rows} rows, {each.products} products, {each.cycles}, "
                  f"{each.ratio():.2f}, {each.ratio(4):.2f} times, {each.flops:.2f} flops a cycle", flush=True)
