"""A small accelerator that tests share: 3 x 2 sums of 4 terms, weights that stay, a buffer of two banks."""

from functools import cache

import numpy as np

from sardonyx import spatial as sp
from sardonyx.accelerators import AcceleratorDesign

TILE = {"i": 3, "j": 2, "k": 4}


@cache
def accelerator(ports: int = 2, ram_bytes: int = 0) -> AcceleratorDesign:
    buffers = {"A": sp.Buffer("dense", "dense", words=16), "B": sp.Buffer("dense", "dense", words=16, banks=2)}
    design = sp.Design(sp.functionality("C(i,j) = A(i,k) * B(k,j)", dtype="int8"),
                       sp.Transform([[0, 0, 1], [0, 1, 0], [1, 1, 1]]), TILE, buffers=buffers, name="tiled")
    return design.accelerator(ports, ram_bytes=ram_bytes, lists=ports == 2 and not ram_bytes)


def operands(shape: "tuple[int, int, int]", seed: int) -> "tuple[np.ndarray, np.ndarray]":
    """A and B of a product of rows, columns and terms."""
    random, (rows, columns, terms) = np.random.default_rng(seed), shape
    return random.integers(-128, 128, (rows, terms)), random.integers(-128, 128, (terms, columns))
