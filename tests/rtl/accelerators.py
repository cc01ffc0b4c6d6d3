"""Small accelerators that tests share: 3 x 2 sums of 4 terms, weights that stay, a buffer of two banks; and one of rows."""

from functools import cache

import numpy as np

from sardonyx import spatial as sp
from sardonyx.accelerators import AcceleratorDesign

TILE = {"i": 3, "j": 2, "k": 4}


@cache
def accelerator(ports: int = 2, ram_bytes: int = 0, watchdog: bool = False, counters: bool = False) -> AcceleratorDesign:
    buffers = {"A": sp.Buffer("dense", "dense", words=16), "B": sp.Buffer("dense", "dense", words=16, banks=2)}
    design = sp.Design(sp.functionality("C(i,j) = A(i,k) * B(k,j)", dtype="int8"),
                       sp.Transform([[0, 0, 1], [0, 1, 0], [1, 1, 1]]), TILE, buffers=buffers, name="tiled")
    return design.accelerator(ports, ram_bytes=ram_bytes, lists=ports == 2 and not ram_bytes, watchdog=watchdog,
                              counters=counters)


def operands(shape: "tuple[int, int, int]", seed: int) -> "tuple[np.ndarray, np.ndarray]":
    """A and B of a product of rows, columns and terms."""
    random, (rows, columns, terms) = np.random.default_rng(seed), shape
    return random.integers(-128, 128, (rows, terms)), random.integers(-128, 128, (terms, columns))


@cache
def of_rows(ram_bytes: int = 0) -> AcceleratorDesign:
    """4 x 4 products of 16 bits, up to 6 rows of A for up to 3 tiles of B; buffers and results of rows."""
    buffers = {"A": sp.Buffer("dense", "dense", words=32, operations=3, wide=True),
               "B": sp.Buffer("dense", "dense", words=16, wide=True),
               "C": sp.Buffer("dense", "dense", words=32, operations=3, wide=True)}
    design = sp.Design(sp.functionality("C(i,j) = A(i,k) * B(k,j)", dtype="int16"),
                       sp.Transform([[0, 0, 1], [0, 1, 0], [1, 1, 1]]), {"i": 6, "j": 4, "k": 4}, buffers=buffers, short=True,
                       name="of_rows")
    return design.accelerator(3, ram_bytes=ram_bytes)
