"""A product row by row from memory to memory, two rows of A at a time and all of B with them."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy.sparse

from sardonyx import spatial as sp
from sardonyx.runtime.spatial_commands import Program

BYTES, BETWEEN = 0xC00, 0x80
A_AT, C_AT, B_AT = 0x100, 0x300, 0x600
ROWS = 2        # of A in an operation


def csr(matrix: np.ndarray) -> "list[np.ndarray]":
    """Segments, coordinates and values as they lie in memory."""
    found = scipy.sparse.csr_array(matrix)
    return [found.indptr.astype(np.int32), found.indices.astype(np.uint16), found.data.astype(np.int8)]


def product(array: sp.Design, a: np.ndarray, of_b: "Sequence[np.ndarray]", columns: int) -> np.ndarray:
    """C of an array with a buffer of B for all rows of A. of_b: the arrays of B in the order of their streams."""
    array = replace(array, buffers={**array.buffers, "C": sp.Buffer("dense", "compressed", words=32)})
    accelerator, memory = array.accelerator(), bytearray(BYTES)
    a_at, c_at, b_at = ([base + BETWEEN * nth for nth in range(count)]
                        for base, count in ((A_AT, 3), (C_AT, 3), (B_AT, len(of_b))))
    for at, words in (*zip(a_at, csr(a), strict=True), *zip(b_at, of_b, strict=True)):
        memory[at:at + words.nbytes] = words.tobytes()
    program = Program(accelerator.kind)
    program.arrays("B_values", b_at, of_b[-1].itemsize.bit_length() - 1)
    for row in range(0, len(a), ROWS):
        program.arrays("A_values", (a_at[0] + row * 4, *a_at[1:]), 0)
        program.arrays("C_values", (c_at[0] + row * 4, *c_at[1:]), 2)
    program.wait()
    found, _ = accelerator.run(program, bytes(memory))
    segments = np.frombuffer(found, np.int32, len(a) + 1, c_at[0])
    coordinates, values = (np.frombuffer(found, kind, segments[-1], at)
                           for kind, at in zip((np.uint16, np.int32), c_at[1:], strict=True))
    stored: np.ndarray = scipy.sparse.csr_array((values, coordinates, segments), (len(a), columns)).toarray()
    return stored
