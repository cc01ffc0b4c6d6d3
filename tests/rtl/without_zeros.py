"""A small accelerator of matrices without zeros that tests share, and where such matrices lie in memory."""

from functools import cache

import numpy as np

from sardonyx import spatial as sp
from sardonyx.accelerators import AcceleratorDesign
from sardonyx.runtime import spatial_sparse
from sardonyx.runtime.data.blocked import blocked
from sardonyx.runtime.spatial_sparse import Arrays

RAM, BYTES = 4096, 8192
A_AT, B_AT, C_AT = (Arrays(at, at + 0x100, at + 0x200, size) for at, size in ((RAM, 1), (RAM + 0x400, 1), (RAM + 0x800, 2)))


@cache
def accelerator(first: str = "compressed", ports: int = 4, ram_bytes: int = 0, words: int = 32,
                last: str = "compressed", watchdog: bool = False) -> AcceleratorDesign:
    """An outer product of 2 x 6 x 2; `first` the format of A, `last` of C, and of B if commands bring it."""
    i, j, k = sp.indices("i j k")
    A, B = sp.inputs("A B")
    return sp.Design(sp.functionality("C(i,j) = A(i,k) * B(k,j)"), sp.Transform([[0, 0, 1], [1, 0, 0], [1, 1, 1]]),
                     {"i": 2, "j": 6, "k": 2}, sparsity=[sp.skip(i, where=A(i, k) == 0), sp.skip(j, where=B(k, j) == 0)],
                     buffers={"A": sp.Buffer("dense", first, words=16, order=(1, 0)),
                              "B": sp.Buffer("dense", "bitvector" if last == "bitvector" else "compressed", words=16),
                              "C": sp.Buffer("dense", last, words=words, operations=2 if last == "linked list" else 1, node=2)},
                     name="without_zeros").accelerator(ports, ram_bytes=ram_bytes, watchdog=watchdog)


def matrices(shape: "tuple[int, int, int]", density: float, seed: int) -> "tuple[np.ndarray, np.ndarray]":
    random = np.random.default_rng(seed)
    rows, columns, terms = shape
    a, b = (random.integers(-99, 99, size) * (random.random(size) < density) for size in ((rows, terms), (terms, columns)))
    return a, b


def placed(design: AcceleratorDesign, a: np.ndarray, b: np.ndarray) -> bytes:
    """Memory with operands at their places."""
    memory = bytearray(BYTES)
    found = spatial_sparse.tiled(design.kind, (a.shape[0], b.shape[1], a.shape[1]))
    for cut, matrix, place in zip(found.cuts, (a, b), (A_AT, B_AT)):
        rows, columns = np.nonzero(matrix)
        arrays = blocked(cut, rows, columns, matrix[rows, columns])
        for at, array in ((place.segments, arrays.segments.astype(np.int32)),
                          (place.coordinates, arrays.coordinates.astype(np.uint16)),
                          (place.values, arrays.values.astype(np.int16))):
            memory[at:at + array.nbytes] = array.tobytes()
    return bytes(memory)
