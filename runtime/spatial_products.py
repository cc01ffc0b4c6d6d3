"""Tiled matrix products, and convolutions as products, for a spatial accelerator of C(i,j) = A(i,k) * B(k,j).

Tiles of A and B are brought one after the other, and sums over k are added up on the chip. A convolution is such a product in
place: of an image by rows, columns and channels the elements that a row of a kernel meets lie one behind the other, so that
neighbouring outputs are rows of a matrix that overlap, and the rows of the kernel are further terms of the sum.

Input:   Accelerator, the shape of a product, where its matrices lie.
Output:  `Program`.
Errors:  UserError for an array of something else, and shapes that commands cannot hold.
Source:  Stellar V and VI-B.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..hw.arch.accelerator import Accelerator
from ..hw.arch.dma import MOST_SPAN
from ..hw.arch.errors import UserError
from .spatial_commands import Program


@dataclass(frozen=True)
class Matrix:
    """A matrix in memory.

    Parameters
    ----------
    address : int    In bytes, of its first element.
    pitch : int      Elements from row to row.
    size : int       Logarithm of the bytes of an element.
    step : int       Elements from column to column: 1 by rows, the rows by columns with a pitch of 1.
    """

    address: int
    pitch: int
    size: int
    step: int = 1


@dataclass(frozen=True)
class Repeat:
    """How often a product is done, and how many elements A, B and C lie further on each time."""

    count: int = 1
    a: int = 0
    b: int = 0
    c: int = 0


ONCE = Repeat()


def product(accelerator: Accelerator, shape: tuple[int, int, int], a: Matrix, b: Matrix, c: Matrix, taps: Repeat = ONCE,
            groups: Repeat = ONCE) -> Program:
    """The commands of a product C = A B of any shape, tile by tile.

    shape: rows of A, columns of B, terms of a sum, each below 2^16.  taps: products that are added up to one C.  groups:
    products with a C of their own.  Ragged edges need no room in memory. Where there are none, and ports and loops enough, each
    matrix is one request.
    """
    names, tile = tiles(accelerator)
    program = Program(accelerator)
    check(shape, tile, taps, groups)
    rows, columns, terms = shape
    program.parts(-(-terms // tile[2]) * taps.count)
    if not any(n % m for n, m in zip(shape, tile)) and _whole(program, names, shape, tile, (a, b, c), taps, groups):
        return program
    for group in range(groups.count):
        for i in range(0, rows, tile[0]):
            for j in range(0, columns, tile[1]):
                height, width = min(tile[0], rows - i), min(tile[1], columns - j)
                for tap in range(taps.count):
                    for k in range(0, terms, tile[2]):
                        depth = min(tile[2], terms - k)
                        at_a, at_b = _place(a, i, k, group * groups.a + tap * taps.a), _place(b, k, j, tap * taps.b)
                        program.move(names[0], at_a, (a.pitch, a.step), (height, depth), a.size)
                        program.move(names[1], at_b, (b.pitch, b.step), (depth, width), b.size)
                program.move(names[2], _place(c, i, j, group * groups.c), (c.pitch, c.step), (height, width), c.size)
    program.wait()
    return program


def _whole(program: Program, names: tuple[str, str, str], shape: tuple[int, int, int], tile: tuple[int, int, int],
           matrices: tuple[Matrix, Matrix, Matrix], taps: Repeat, groups: Repeat) -> bool:
    """A request for each matrix, if the DMA can have them: ports for all streams, loops for tiles, taps and groups."""
    (down, height), (right, width), (deep, depth) = ((n // m, m) for n, m in zip(shape, tile))
    a, b, c = matrices
    dma = program.accelerator.dma
    around = [each for each in (down, right, deep, taps.count, groups.count) if each > 1]
    if dma.ports < len(program.accelerator.streams) or len(around) + 2 > dma.loops:
        return False
    program.move(names[2], c.address, (c.pitch, c.step), (height, width), c.size,
                 [(right, width * c.step), (down, height * c.pitch), (groups.count, groups.c)])
    program.move(names[0], a.address, (a.pitch, a.step), (height, depth), a.size,
                 [(deep, depth * a.step), (taps.count, taps.a), (right, 0), (down, height * a.pitch), (groups.count, groups.a)])
    program.move(names[1], b.address, (b.pitch, b.step), (depth, width), b.size,
                 [(deep, depth * b.pitch), (taps.count, taps.b), (right, width * b.step), (down, 0), (groups.count, 0)])
    program.wait()
    return True


def check(shape: tuple[int, int, int], tile: tuple[int, int, int], taps: Repeat, groups: Repeat) -> None:
    """UserError for a product that commands cannot hold."""
    check_shape(*shape, groups.count, taps.count)
    if (parts := -(-shape[2] // tile[2]) * taps.count) > MOST_SPAN:
        raise UserError(f"a sum has {parts:,} parts", "product", f"give {MOST_SPAN} or fewer: larger operations")


def check_shape(rows: int, columns: int, terms: int, *repeats: int) -> None:
    """UserError for a product of so many rows, columns and terms, and repeats of it, that loops do not have."""
    if not all(1 <= each <= MOST_SPAN for each in (rows, columns, terms, *repeats)):
        raise UserError(f"a product of {rows} x {columns} x {terms}", "product", f"give whole numbers 1..{MOST_SPAN}")


def convolution(image: tuple[int, int, int], kernel: tuple[int, int, int], stride: int, addresses: tuple[int, int, int],
                sizes: tuple[int, int, int]) -> tuple[tuple[int, int, int], Matrix, Matrix, Matrix, Repeat, Repeat]:
    """A convolution without padding as a product: what `product` takes, and the firmware's.

    Parameters
    ----------
    image : tuple        Rows, columns and channels of the input, which lies in this order.
    kernel : tuple       Rows, columns and outputs of the weights, which lie by rows, columns, channels and outputs.
    stride : int         Pixels between the places of the kernel, both ways.
    addresses, sizes     Of image, weights and output (rows, columns, outputs): in bytes, and logarithms of the bytes of an
                         element.
    """
    (height, width, channels), (rows, columns, outputs) = image, kernel
    if min(*image, *kernel, stride) < 1 or rows > height or columns > width:
        raise UserError(f"a kernel of {rows} x {columns} on an image of {height} x {width}, stride {stride}", "convolution",
                        "give whole numbers from 1, and no kernel beyond its image")
    down, across = ((size - part) // stride + 1 for size, part in ((height, rows), (width, columns)))
    run = columns * channels        # elements of the image under a row of the kernel
    a, b, c = (Matrix(address, pitch, size) for address, pitch, size in
               zip(addresses, (stride * channels, outputs, outputs), sizes, strict=True))
    return ((across, outputs, run), a, b, c, Repeat(rows, width * channels, run * outputs),
            Repeat(down, stride * width * channels, 0, across * outputs))


def tiles(accelerator: Accelerator) -> tuple[tuple[str, str, str], tuple[int, int, int]]:
    """The names of A, B and C, and the extents of i, j and k of an operation; UserError for an array of something else."""
    operands, results = accelerator.array.operands, accelerator.array.results
    other = UserError("the array computes no product of two matrices", accelerator.name, "use one for C(i,j) = A(i,k) * B(k,j)")
    shapes = [each.shape for each in (*operands, *results)]
    if len(operands) != 2 or len(results) != 1 or [len(shape) for shape in shapes] != [2, 2, 2]:
        raise other
    (rows, terms), (inner, columns), result = shapes
    if inner != terms or result != (rows, columns):
        raise other
    for buffer in accelerator.buffers:
        if (kept := buffer.banks[0].operations) > 1:
            raise UserError(f"the buffer of {buffer.tensor} keeps a tensor for {kept} operations, a product brings one for "
                            "each", accelerator.name, "leave out operations, or write the program")
    return (operands[0].name, operands[1].name, results[0].name), (rows, columns, terms)


def _place(matrix: Matrix, row: int, column: int, further: int) -> int:
    return matrix.address + ((row * matrix.pitch + column * matrix.step + further) << matrix.size)


def by_columns(accelerator: Accelerator, tensor: str) -> bool:
    """Whether a matrix lies best by columns: where its banks are chosen by the column, what a bank takes is then one run."""
    return any(buffer.tensor == tensor and len(buffer.banks) > 1 and buffer.order[buffer.axis] == 1
               for buffer in accelerator.buffers)
