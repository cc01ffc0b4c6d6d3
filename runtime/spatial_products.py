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

from ..hw.arch.accelerator import RAM, Accelerator
from ..hw.arch.dma import MOST_SPAN
from ..hw.arch.errors import UserError
from ..hw.arch.vectored import Vectored
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
    products with a C of their own.  Ragged edges need no room in memory. Where terms are whole tiles, and ports and loops
    enough, each matrix is one request, or some, for what is whole and for the edges.
    """
    return Job(accelerator, shape, (a, b, c), taps, groups).made()


@dataclass(frozen=True)
class _Span:
    """Rows or columns of a product that have the same tiles: from where on, in how many groups, tiles of each, elements of a
    tile, and how many of these are there."""

    first: int
    groups: int
    tiles: int
    extent: int
    there: int


class Job:
    """A product that is being made."""

    def __init__(self, accelerator: Accelerator, shape: tuple[int, int, int], matrices: tuple[Matrix, Matrix, Matrix],
                 taps: Repeat, groups: Repeat) -> None:
        self.accelerator, self.shape, self.matrices, self.taps, self.groups = accelerator, shape, matrices, taps, groups
        self.names, self.tile, self.held = tiles(accelerator)
        self.program = Program(accelerator)
        check(shape, self.tile, taps, groups)

    def made(self) -> Program:
        """All commands."""
        self.program.parts(-(-self.shape[2] // self.tile[2]) * self.taps.count)
        if self.fits:
            for folds in self.folds():
                for rows in self.rows():
                    for columns in self.columns():
                        self.whole(folds, rows, columns)
        else:
            self.by_tiles()
        self.program.wait()
        return self.program

    @property
    def fits(self) -> bool:
        """Whether a request can have a matrix: ports for all streams, loops for tiles, taps and groups."""
        dma, folds, rows, columns = self.accelerator.dma, self.folds()[0], self.rows()[0], self.columns()[0]
        around = (folds.groups, folds.tiles, rows.groups, columns.groups, columns.tiles, self.shape[2] // self.tile[2],
                  self.taps.count)
        # The memory of a core is filled before.
        streams = sum(each.name != RAM for each in self.accelerator.streams)
        return (self.shape[2] % self.tile[2] == 0 and dma.ports >= streams
                and (self.accelerator.shared > 1 or self.held == 1) and 2 + sum(each > 1 for each in around) <= dma.loops)

    @property
    def operations(self) -> int:
        """That share a tile of A."""
        return self.columns()[0].tiles if self.accelerator.shared > 1 else self.held

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Rows, columns and terms of an operation."""
        return self.rows()[0].extent, self.tile[1], self.tile[2]

    def folds(self) -> list[_Span]:
        """Groups of which the rows follow each other in C, as those of a convolution: so many of them are one operation, which
        keeps a tile of B for longer."""
        rows, count = self.shape[0], self.groups.count
        folded = 1
        if self.accelerator.launches and self.groups.c == rows * self.matrices[2].pitch:
            folded = max(1, min(count, self.tile[0] // rows))
        folded = -(-count // -(-count // folded))
        whole, rest = divmod(count, folded)
        spans = [_Span(0, whole, folded, 1, 1), _Span(whole * folded, 1, rest, 1, 1)]
        return [span for span in spans if span.groups and span.tiles]

    def rows(self) -> list[_Span]:
        """Rows in operations, of as many launches each where they can be fewer, and what is left."""
        count, most = self.shape[0], self.tile[0]
        if not self.accelerator.launches:
            whole, rest = divmod(count, most)
            spans = [_Span(0, whole, 1, most, most), _Span(whole * most, 1, 1, most, rest)]
        else:
            least = self.accelerator.least_launches
            each = max(least, -(-count // -(-count // most)))
            whole, rest = divmod(count, each)
            spans = [_Span(0, whole, 1, each, each), _Span(whole * each, 1, 1, max(least, rest), rest)]
        return [span for span in spans if span.groups and span.there]

    def columns(self) -> list[_Span]:
        """Columns in groups that share tiles of A, the group that is left, and the tile that is left."""
        width = self.tile[1]
        count, ragged = divmod(self.shape[1], width)
        each = -(-count // -(-count // self.held)) if count else 1
        whole, rest = divmod(count, each)
        spans = [_Span(0, whole, each, width, width), _Span(whole * each * width, 1, rest, width, width),
                 _Span(count * width, 1, 1, width, ragged)]
        return [span for span in spans if span.groups and span.tiles and span.there]

    def whole(self, folds: _Span, rows: _Span, columns: _Span) -> None:
        """A request for each matrix; what the array needs first is asked for first."""
        folded = folds.tiles
        self._set(rows.extent * folded, columns.tiles)
        a, b, c = self.matrices
        taps, groups = self.taps, self.groups
        deep, depth, width = self.shape[2] // self.tile[2], self.tile[2], columns.extent
        at_a = _place(a, rows.first, 0, folds.first * groups.a)
        around = [(deep, depth * a.step), (taps.count, taps.a), (columns.groups, 0), (rows.groups, rows.extent * a.pitch),
                  (folds.groups, folded * groups.a)]
        if folded == 1:
            self.program.move(self.names[0], at_a, (a.pitch, a.step), (rows.there, depth), a.size, around)
        else:
            # Rows of several groups: a loop more than the buffer has levels.
            stream = next(each.name(0, "values") for each in self.accelerator.buffers if each.tensor == self.names[0])
            inner = ((depth, a.step), (rows.extent, a.pitch), (folded, groups.a))
            self.program.request(stream, at_a, [(span, span, stride) for span, stride in (*inner, *around)], a.size)
        self.program.move(
            self.names[1], _place(b, 0, columns.first, 0), (b.pitch, b.step), (depth, columns.there), b.size,
            [(columns.tiles, width * b.step), (deep, depth * b.pitch), (taps.count, taps.b),
             (columns.groups, columns.tiles * width * b.step), (rows.groups, 0), (folds.groups, 0)])
        self.program.move(
            self.names[2], _place(c, rows.first, columns.first, folds.first * groups.c), (c.pitch, c.step),
            (rows.there * folded, columns.there), c.size,
            [(columns.tiles * columns.groups, width * c.step), (rows.groups, rows.extent * c.pitch),
             (folds.groups, folded * groups.c)])

    def by_tiles(self) -> None:
        """Requests for each tile."""
        rows, columns, terms = self.shape
        a, b, c = self.matrices
        (height, width, depth), held = self.sizes, self.operations
        self._set(height, held)
        for group in range(self.groups.count):
            for i in range(0, rows, height):
                for j in range(0, columns, width * held):
                    there = min(height, rows - i)
                    # Columns of the tiles that share one of A; behind the edge there are none.
                    across = [(min(at, columns), max(0, min(width, columns - at))) for at in range(j, j + width * held, width)]
                    for tap in range(self.taps.count):
                        for k in range(0, terms, depth):
                            deep = min(depth, terms - k)
                            at_a = _place(a, i, k, group * self.groups.a + tap * self.taps.a)
                            self.program.move(self.names[0], at_a, (a.pitch, a.step), (there, deep), a.size)
                            for at, many in across:
                                at_b = _place(b, k, at, tap * self.taps.b)
                                self.program.move(self.names[1], at_b, (b.pitch, b.step), (deep, many), b.size)
                    for at, many in across:
                        at_c = _place(c, i, at, group * self.groups.c)
                        self.program.move(self.names[2], at_c, (c.pitch, c.step), (there, many), c.size)

    def _set(self, launches: int, shared: int) -> None:
        """What the array is told of operations, where it may differ."""
        if self.accelerator.launches:
            self.program.launches(launches)
        if self.accelerator.shared > 1:
            self.program.shared(shared)


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


def tiles(accelerator: Accelerator) -> tuple[tuple[str, str, str], tuple[int, int, int], int]:
    """The names of A, B and C, the extents of i, j and k of an operation, and how many operations in a row share a tile of A
    and are one result; UserError for an array of something else."""
    operands, results = accelerator.array.operands, accelerator.array.results
    if isinstance(accelerator.array, Vectored):
        raise UserError("requests bring its operands as fibers, part by part, not as matrices", accelerator.name,
                        "use compute(...), or --operations N")
    other = UserError("the array computes no product of two matrices", accelerator.name, "use one for C(i,j) = A(i,k) * B(k,j)")
    shapes = [each.shape for each in (*operands, *results)]
    if len(operands) != 2 or len(results) != 1 or [len(shape) for shape in shapes] != [2, 2, 2]:
        raise other
    (rows, terms), (inner, columns), result = shapes
    if inner != terms or result != (rows, columns):
        raise other
    names = operands[0].name, operands[1].name, results[0].name
    kept = {buffer.tensor: buffer.banks[0].operations for buffer in accelerator.buffers}
    held = accelerator.results[0].operations
    for name, wanted in ((names[0], held), (names[1], 1)):
        if kept[name] != wanted:
            beside = f" and that of {names[2]} for {held}" if name == names[0] else ""
            raise UserError(f"the buffer of {name} keeps a tensor for {kept[name]} operations{beside}, a product brings one "
                            f"for {'as many' if beside else 'each'}", accelerator.name,
                            f"give {names[0]} and {names[2]} the same operations, and {names[1]} none, or write the program")
    return names, (rows, columns, terms), held


def _place(matrix: Matrix, row: int, column: int, further: int) -> int:
    return matrix.address + ((row * matrix.pitch + column * matrix.step + further) << matrix.size)


def by_columns(accelerator: Accelerator, tensor: str) -> bool:
    """Whether a matrix lies best by columns: where its banks are chosen by the column, what a bank takes is then one run."""
    return any(buffer.tensor == tensor and len(buffer.banks) > 1 and buffer.order[buffer.axis] == 1
               for buffer in accelerator.buffers)
