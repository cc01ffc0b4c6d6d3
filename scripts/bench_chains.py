"""Cycles of an operation of one array whose operand B is in a private buffer, by its levels and by how much of it is there.

    python scripts/bench_chains.py

The array is that of docs/spatial.md, "Private buffers", 4 x 64 x 4 points, and B has one bank of 256 words. Operations follow
each other, and every element of every result is compared with NumPy's.

Source: Stellar III-E, formats of any level.
Cost: five simulations, three minutes with nothing cached.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from bench_row import Row

from sardonyx import designs
from sardonyx import spatial as sp
from sardonyx.hw.arch.private_buffer import BITVECTOR, COMPRESSED, DENSE, LINKED

OPERATIONS, WORDS = 20, 256
BOUNDS = {"i": 4, "j": 64, "k": 4}
LEVELS = (DENSE, COMPRESSED), (COMPRESSED, COMPRESSED), (BITVECTOR, BITVECTOR), (COMPRESSED, LINKED), (COMPRESSED, DENSE)
# How many elements of a row are there, in how many rows.
THERE = (64, 4), (32, 4), (16, 4), (6, 4), (16, 2)


def measured() -> Iterator[tuple[tuple[str, str], list[float]]]:
    """The levels, and cycles of an operation for each of `THERE`."""
    base = replace(designs.design("sparse_csr_dense"), bounds=BOUNDS)
    for levels in LEVELS:
        design = sp.Design(base.functionality, base.dataflow, base.bounds, sparsity=base.sparsity,
                           buffers={"B": sp.Buffer(*levels, words=WORDS)}, name="chains")
        found = []
        for elements, rows in THERE:
            ran = design.run(**_operands(base, elements, rows))
            assert ran.cycles is not None, "Verilog has cycles"
            found.append(ran.cycles / OPERATIONS)
        yield levels, found


def _operands(base: sp.Design, elements: int, rows: int) -> dict[str, np.ndarray]:
    """Those of `OPERATIONS` operations: A whole, and of each B so many elements in so many of its rows, at random."""
    random = np.random.default_rng(0)
    shapes = {each.name: (OPERATIONS, *each.shape) for each in base.tensors}
    found = {name: random.integers(1, 100, shape) for name, shape in shapes.items()}
    operations, height, width = shapes["B"]
    there = random.random((operations, height, width)).argsort(2) < elements
    kept = random.random((operations, height)).argsort(1) < rows
    found["B"] *= there & kept[:, :, None]
    return found


def row() -> Row:
    """All of it."""
    there = ", ".join(f"{elements} in each of {rows}" for elements, rows in THERE)
    return Row(f"`sparse_csr_dense` of {' x '.join(map(str, BOUNDS.values()))}, B in a bank of {WORDS} words by its levels, "
               f"elements in rows {there}: cycles of each of {OPERATIONS} operations",
               "; ".join(f"{', '.join(levels)}: {', '.join(f'{each:.1f}' for each in found)}" for levels, found in measured()),
               "equal to NumPy", True)


if __name__ == "__main__":
    for levels, found in measured():
        print(f"{', '.join(levels)}: {', '.join(f'{each:.1f}' for each in found)}", flush=True)
