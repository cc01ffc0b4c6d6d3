"""Products of matrices without zeros, tile by tile, for a spatial accelerator of C(i,j) = A(i,k) * B(k,j).

Operands lie in memory as `data.blocked` cuts them: tiles of A by rows of tiles, of B by columns of tiles, of C by rows.
Partial results of a tile are added up by coordinate on the chip.

Input:   Accelerator whose operands are in compressed buffers, as its result is; how many tiles there are, where arrays are.
Output:  `Program`, or what the C of such a product knows.
Errors:  UserError for an accelerator of something else, and more tiles than a sum has parts.
Source:  Stellar V, Listing 7 (a matrix in CSR by one request), and VI-C (outer products).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..hw.arch.accelerator import Accelerator
from ..hw.arch.dma import MOST_SPAN
from ..hw.arch.errors import UserError
from ..hw.arch.private_buffer import COMPRESSED
from .data.blocked import Cut
from .spatial_commands import Program
from .spatial_products import tiles

SEGMENT_BYTES = 4


@dataclass(frozen=True)
class Arrays:
    """Where a matrix is: byte addresses of its arrays, and the logarithm of the bytes of a value."""

    segments: int
    coordinates: int
    values: int
    size: int


@dataclass(frozen=True)
class Tiled:
    """The cuts of A, B and C, and the names of their streams of values."""

    cuts: tuple[Cut, Cut, Cut]
    streams: tuple[str, str, str]

    @property
    def counts(self) -> tuple[int, int, int]:
        """Tiles of rows of C, of its columns, and of the terms of a sum."""
        (rows, terms), (_, columns) = self.cuts[0].tiles, self.cuts[1].tiles
        return rows, columns, terms


def tiled(accelerator: Accelerator, shape: tuple[int, int, int]) -> Tiled:
    """How matrices of a product are cut; shape: rows of A, columns of B, terms of a sum."""
    names, (height, width, depth), _ = tiles(accelerator)
    by_name = {stream.name: stream for stream in accelerator.streams}
    streams = tuple(f"{name}_values" for name in names)
    if any(name not in by_name or (by_name[name].kind, by_name[name].before) != (COMPRESSED, 2) for name in streams):
        raise UserError("a product without zeros has compressed buffers for A, B and C, one bank each", accelerator.name,
                        "give these, as tiled_spgemm has them, or dense ones without skips by values, or run(program, memory)")
    orders = {buffer.tensor: buffer.order for buffer in accelerator.buffers}
    orders |= {result.tensor.name: result.order for result in accelerator.results}
    rows, columns, terms = shape
    by_columns = [orders[name] == (1, 0) for name in names]
    found = Tiled((Cut((rows, terms), (height, depth), by_columns[0], False),
                   Cut((terms, columns), (depth, width), by_columns[1], True),
                   Cut((rows, columns), (height, width), by_columns[2], False)), (streams[0], streams[1], streams[2]))
    if found.counts[2] > MOST_SPAN:
        raise UserError(f"a sum has {found.counts[2]:,} parts", "product", f"give {MOST_SPAN:,} or fewer: larger operations")
    return found


def product(accelerator: Accelerator, shape: tuple[int, int, int], a: Arrays, b: Arrays, c: Arrays) -> Program:
    """The commands of a product."""
    found = tiled(accelerator, shape)
    program = Program(accelerator)
    program.parts(found.counts[2])
    program.restart()
    for which, tile in moves(found):
        arrays = (a, b, c)[which]
        segments = arrays.segments + tile * found.cuts[which].fibers * SEGMENT_BYTES
        program.arrays(found.streams[which], (segments, arrays.coordinates, arrays.values), arrays.size)
    program.wait()
    return program


def moves(found: Tiled) -> Iterator[tuple[int, int]]:
    """Which matrix, and which tile of it, in order; a result is asked for when the next operands are under way."""
    rows, columns, terms = found.counts
    for tile in range(rows * columns):
        i, j = divmod(tile, columns)
        for k in range(terms):
            yield 0, i * terms + k
            yield 1, j * terms + k
            if k == 0 and tile:
                yield 2, tile - 1
    yield 2, rows * columns - 1
