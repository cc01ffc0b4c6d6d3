"""Sparse products in two phases (`outerspace`) with one request port and with sixteen, at the same bandwidth.

Matrices times themselves, from memory to memory: generated ones and files of SuiteSparse. Values are whole numbers from -99
to 99, random with seed 0, as those of the files are no whole numbers. Of a matrix with more than `MOST_ROWS` rows as many are
taken, at random with seed 0, and multiplied with all of it; of more than `MOST_PRODUCTS` products half of the rows, until
there are fewer. Where a row of the result has no room in a lane of the design its memory is enlarged to the next power of two.
Memory gives 64 bits a cycle each way, the first word of a burst after 60 cycles. Lanes and what they compute are the same for
every number of ports; each element of the result is compared with SciPy's.

Source: Stellar VI-C, Fig. 16b: 16 requests at once in place of one raise 1.42 to 2.1 GFLOP/s, 1.48 times.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass

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


def multiplied(names: tuple[str, ...] | None = None) -> Iterator[Multiplied]:
    """Those of the committed list, or some of it."""
    design = designs.any_design("outerspace")
    assert isinstance(design, sp.OuterProductDesign), "it is what we ship by this name"
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
        pairs = max(design.kind.pairs, 1 << (2 * longest + 1).bit_length())
        found = {ports: design.resized({"ports": ports, "pairs": pairs}).run(A=left, B=whole, latency=LATENCY).cycles
                 for ports in PORTS}
        yield Multiplied(name, whole.shape[0], len(taken), products, {ports: cycles or 0 for ports, cycles in found.items()})


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
    for each in multiplied(tuple(sys.argv[1:])):
        print(f"{each.name}: {each.taken} of {each.rows} rows, {each.products} products, {each.cycles}, "
              f"{each.ratio():.2f}, {each.ratio(4):.2f} times, {each.flops:.2f} flops a cycle", flush=True)
