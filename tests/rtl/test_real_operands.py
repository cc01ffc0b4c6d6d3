"""Every kernel in generated Verilog on real operands, against NumPy on dense arrays.

A matrix is the one that a test names or that matrix turned: the second operand has its last coordinate rotated by one, as in
the papers, the third by two. A 3-tensor is messages by sender, receiver and day (SNAP CollegeMsg), a second one the same a day
later, and matrices that meet them are the densest rows of `orani678`. A vector is a row with the most nonzeros, a scalar an
entry. Values of matrices are small whole numbers.
"""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from machines import KERNELS, WIDE
from random_programs import meaning
from random_statements import Ints

import sardonyx
from sardonyx.compiler.lang.kernel import Kernel, kernel_names, load_kernel, program_names
from sardonyx.tensors.files import read_tensor
from sardonyx.tensors.values import to_array

NAMES = [*kernel_names(), *program_names()]
# Kernels of so many factors or statements that they need another machine.
LARGE = ("mask_tri_four", "mat_vecmul_iter", *program_names())
# Of all kernels in generated Verilog those that are quick to run and unlike each other.
SAMPLE = ("spmspm", "matmul_kij", "mat_elemadd3", "sddmm", "spmm_ijk_locator", "mat_elemdiv", "spmv_relu", "residual",
          "trans_masked_broadcast", "ttv", "tensor3_elemmul")
FACTOR_ROWS = 4     # Of a matrix that meets a tensor, where the tensor does not say it.


@cache
def read(path: Path) -> Ints:
    """A real matrix or tensor as a dense array, which nobody changes."""
    return to_array(read_tensor(path, "small")).astype(np.int64)


def of_tensor(name: str) -> bool:
    """Whether a kernel has a 3-tensor, so that it takes no square matrix."""
    return any(len(access.modes) == 3 for each in load_kernel(name).program().statements for access in each.operands)


def densest(matrix: Ints, shape: tuple[int, int]) -> Ints:
    """So many of the rows with the most nonzeros, and of the columns of those."""
    for axis, count in enumerate(shape):
        wanted = np.argsort(-np.count_nonzero(matrix, axis=1 - axis), kind="stable")[:count]
        matrix = np.take(matrix, np.sort(wanted), axis)
    return matrix


def operands(kernel: Kernel, square: Ints, tensor: Ints, factors: Ints) -> dict[str, Ints]:
    """What a kernel takes, by name."""
    accesses = {access.tensor: access for each in kernel.program().statements for access in each.operands
                if access.tensor in kernel.program().inputs}
    tensors = [access for access in accesses.values() if len(access.modes) == 3]
    extents = dict(zip(tensors[0].modes, tensor.shape, strict=True)) if tensors else {}
    found: dict[str, Ints] = {}
    for turned, (name, access) in enumerate(accesses.items()):
        if access in tensors:
            found[name] = np.roll(tensor, turned, axis=2)
        elif tensors:
            shape = tuple(extents.get(index, FACTOR_ROWS) for index in access.modes)
            block = densest(factors, shape if len(shape) == 2 else (1, *shape))
            found[name] = block.reshape(shape)
        else:
            rotated = np.roll(square, turned, axis=1)
            found[name] = {2: rotated, 1: densest(rotated, (1, len(square)))[0], 0: rotated.max()}[len(access.modes)]
    return found


def agree(name: str, data: Mapping[str, Ints], engine: str) -> None:
    kernel = load_kernel(name)
    found = sardonyx.kernel(name, **data, arch=WIDE if name in LARGE else KERNELS, engine=engine).value
    right = meaning(kernel.program(), data)
    assert np.array_equal(found.toarray() if scipy.sparse.issparse(found) else found, right) and right.any()


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in SAMPLE else pytest.mark.slow) for name in NAMES])
def test_a_kernel_on_small_real_operands_gives_what_numpy_gives_in_verilog(
        name: str, shared: Callable[[str], Path]) -> None:
    """24 x 24 with 160 nonzeros, and the 24 senders, receivers and days with the most messages."""
    tensor = read(shared("tensors/collegemsg_100x200.tns.gz"))
    for axis in range(3):
        others = tuple(other for other in range(3) if other != axis)
        tensor = np.take(tensor, np.sort(np.argsort(-np.count_nonzero(tensor, axis=others), kind="stable")[:24]), axis)
    data = operands(load_kernel(name), read(shared("matrices/can_24.mtx.gz")), tensor,
                    read(shared("matrices/orani678.mtx.gz")))
    agree(name, data, "rtl-full")


@pytest.mark.slow
@pytest.mark.parametrize("name, matrix", [(name, matrix) for name in NAMES for matrix in ("west0067", "bfwa62")
                                          if matrix == "west0067" or not of_tensor(name)])
def test_a_kernel_on_real_operands_gives_what_numpy_gives_in_verilog(
        name: str, matrix: str, shared: Callable[[str], Path]) -> None:
    """Chemistry, 67 x 67 with 294 nonzeros, and waves, 62 x 62 with 450; the whole tensor, 7,153 messages."""
    tensor = read(shared("tensors/collegemsg_100x200.tns.gz"))
    data = operands(load_kernel(name), read(shared(f"matrices/{matrix}.mtx.gz")), tensor,
                    read(shared("matrices/orani678.mtx.gz")))
    agree(name, data, "rtl-full")
