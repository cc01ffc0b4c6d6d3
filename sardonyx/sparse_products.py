"""Products of matrices without zeros on an accelerator, from memory to memory.

Errors:  UserError for operands that cannot be multiplied, and results that have no room on the chip.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse

from . import arguments
from .hw.arch.accelerator import Accelerator
from .hw.arch.dma import LINE
from .hw.arch.errors import UserError
from .outcome import Computed
from .runtime.data.blocked import Blocked, Cut, blocked, elements
from .runtime.spatial_commands import Program
from .runtime.spatial_firmware import sparse_product as firmware
from .runtime.spatial_sparse import Arrays, product, tiled
from .sim.rtl.accelerator import Ended

ENGINES = {"golden": "NumPy, no hardware", "rtl": "generated Verilog with a memory behind its bus"}
# Elements of a product.
MOST_ELEMENTS = 1 << 24


def sparse_product(kind: Accelerator, run: Callable[[Program | bytes, bytes], tuple[bytes, Ended]], a: object, b: object,
                   engine: str = "rtl") -> Computed:
    """A product of matrices, arrays or of SciPy, whose result is the same kind; see `AcceleratorDesign.product`.

    run: does a program on the contents of memory, as `AcceleratorDesign.run`. Zeros that sums come to stay in the result of
    SciPy, as on the chip.
    """
    began = time.perf_counter()
    arguments.choice("engine", engine, ENGINES)
    left, right = (operand(shaped.name, shaped.bits, given) for shaped, given in zip(kind.array.operands, (a, b), strict=True))
    if left.shape[1] != right.shape[0]:
        raise UserError(f"a row has {left.shape[1]} elements and a column {right.shape[0]}", "product",
                        "give matrices that can be multiplied")
    shape = left.shape[0], right.shape[1], left.shape[1]
    if shape[0] * shape[1] > MOST_ELEMENTS:
        raise UserError(f"the product has {shape[0]:,} x {shape[1]:,} elements", "product", f"give {MOST_ELEMENTS:,} or fewer")
    result, = kind.array.results
    half = 1 << result.bits - 1
    wanted = ((left @ right).toarray() + half) % (2 * half) - half
    there = (abs(left).sign() @ abs(right).sign()).tocoo()       # places that some product is at, whatever the sum
    whole = scipy.sparse.issparse(a) or scipy.sparse.issparse(b)
    if engine == "golden":
        return Computed({"engine": engine, "elements": there.nnz},
                        value=_placed(wanted, there.row, there.col) if whole else wanted)
    found = tiled(kind, shape)
    operands = [blocked(cut, each.row, each.col, each.data) for cut, each in zip(found.cuts, (left, right))]
    # What a result takes at most: values are unknown, but not how many.
    room = blocked(found.cuts[2], there.row, there.col, np.zeros(there.nnz, np.int64))
    sizes = [_bytes(each.bits) for each in (*kind.array.operands, result)]
    places, content = _laid([*operands, room], sizes, kind.ram_bytes)
    made = firmware if kind.ram_bytes else product
    commands: Program | bytes = made(kind, shape, *places)
    memory, ended = run(commands, content)
    gave = _read(memory, places[2], found.cuts[2], room)
    rows, columns, values = elements(found.cuts[2], gave)
    value = _placed(wanted, rows, columns)
    assert len(rows) == there.nnz and np.array_equal(wanted[rows, columns], values), "the accelerator's result is not NumPy's"
    assert value.sum() == wanted.sum() and np.count_nonzero(wanted) == np.count_nonzero(values), "elements are missing"
    given = {"commands": len(commands.words)} if isinstance(commands, Program) else {"firmware": "C on the core"}
    products = int((left.astype(bool).astype(np.int64) @ right.astype(bool).astype(np.int64)).sum())
    return Computed({"engine": "rtl", **given, "nonzeros": there.nnz, "products": products, "elements_checked": wanted.size,
                     **ended.report, "products_a_cycle": round(products / ended.cycles, 3),
                     "elapsed_s": round(time.perf_counter() - began, 2)}, value=value if whole else wanted, cycles=ended.cycles)


def _bytes(bits: int) -> int:
    """Of a value in memory."""
    return 1 if bits <= 8 else 2 if bits <= 16 else 4


def operand(name: str, bits: int, given: Any) -> scipy.sparse.coo_array:
    """An operand without zeros, an array or of SciPy, of whole numbers that have so many bits; else UserError."""
    found = scipy.sparse.coo_array(given) if scipy.sparse.issparse(given) else None
    if found is None:
        refused = UserError(f"it is {arguments.said(given)}", name, "give whole numbers in 2 dimensions")
        try:
            array = np.array(given)
        except ValueError as error:     # lists of different lengths
            raise refused from error
        if array.ndim != 2 or array.dtype.kind not in "iu":
            raise refused
        found = scipy.sparse.coo_array(array)
    if found.dtype.kind not in "iu" or not all(found.shape):
        raise UserError(f"it has {found.dtype} of shape {found.shape}", name, "give whole numbers")
    found = within(name, bits, found)
    found.eliminate_zeros()
    return found


def within(name: str, bits: int, given: scipy.sparse.coo_array) -> scipy.sparse.coo_array:
    """Whole numbers, those of one place added, that have so many bits; else UserError."""
    found = given.astype(np.int64)
    found.sum_duplicates()
    least, most = -1 << bits - 1, (1 << bits - 1) - 1
    # Of unsigned ones those that are no int64 would have wrapped.
    far = given.data[given.data > np.iinfo(np.int64).max] if given.dtype == np.uint64 else found.data[:0]
    values = far if len(far) else found.data
    if len(values) and (values.min() < least or values.max() > most):
        raise UserError(f"it has {values.min()}..{values.max()}", name, f"give {least}..{most}")
    return found


def check_dense(shape: tuple[int, ...]) -> None:
    """UserError for a result that has no room as an array."""
    if (count := math.prod(shape)) > MOST_ELEMENTS:
        raise UserError(f"the result has {count:,} elements", "operands", "give one of them as a sparse array of SciPy")


def _placed(values: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> scipy.sparse.csr_array:
    return scipy.sparse.csr_array((values[rows, columns], (rows, columns)), values.shape)


def _types(size: int) -> tuple[Any, Any, Any]:
    return np.int32, np.uint16, {1: np.int8, 2: np.int16, 4: np.int32}[size]


def _laid(matrices: Sequence[Blocked], sizes: Sequence[int], first: int) -> tuple[tuple[Arrays, ...], bytes]:
    """Where the arrays of matrices lie, and memory with them."""
    content, places = bytes(first), []
    for found, size in zip(matrices, sizes, strict=True):
        addresses = []
        for array, kind in zip((found.segments, found.coordinates, found.values), _types(size)):
            content += bytes(-len(content) % LINE)
            addresses.append(len(content))
            content += array.astype(kind).tobytes()
        segments, coordinates, values = addresses
        places.append(Arrays(segments, coordinates, values, size.bit_length() - 1))
    return tuple(places), content


def _read(memory: bytes, place: Arrays, cut: Cut, room: Blocked) -> Blocked:
    """A result out of memory."""
    segments, coordinates, values = (np.frombuffer(memory, kind, count, at).astype(np.int64) for kind, count, at in zip(
        _types(1 << place.size), (len(room.segments), len(room.coordinates), len(room.values)),
        (place.segments, place.coordinates, place.values), strict=True))
    return Blocked(segments, coordinates, values)
