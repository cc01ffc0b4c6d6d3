"""Kernels of 3-tensors on a real one: messages by sender, receiver and day (SNAP CollegeMsg, 100 x 200 x 194, 7,153 nonzeros).

All of it against NumPy: with the edges of sub-tiles that are chosen, which leave products of numbers or of columns, and with an
edge that keeps all levels of the tensor in the array.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from machines import KERNELS
from numpy.typing import NDArray

import sardonyx
from sardonyx.tensors.files import read_tensor

NAME = "collegemsg_100x200"
COLUMNS = 4     # Of the factors.


@pytest.fixture(scope="module")
def messages(shared: Callable[[str], Path]) -> NDArray[Any]:
    """By sender, receiver and day."""
    found = read_tensor(shared(f"tensors/{NAME}.tns.gz"))
    whole = np.zeros(found.shape, np.int64)
    whole[tuple(found.coords.T)] = found.values
    return whole


def others(name: str, tensor: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """What the tensor meets: the same a day later, or small random numbers, a fifth of those of a matrix nonzeros."""
    random, (_, receivers, days) = np.random.default_rng(0), tensor.shape
    if name == "tensor3_innerprod":
        return {"C": np.roll(tensor, 1, axis=2)}
    if name == "tensor3_ttv":
        return {"c": random.integers(1, 5, days)}
    return {factor: random.integers(1, 5, (COLUMNS, extent)) * (random.random((COLUMNS, extent)) < 0.2)
            for factor, extent in (("C", receivers), ("D", days))}


@pytest.mark.parametrize("engine,edge", [("tokens", None), ("rtl-full", None), ("rtl-full", 32)])
@pytest.mark.parametrize("name,sums", [
    ("tensor3_innerprod", "ijk,ijk->"), ("tensor3_ttv", "ijk,k->ij"), ("tensor3_mttkrp", "ikl,jk,jl->ij")])
def test_kernels_of_a_real_tensor_are_those_of_numpy(
        name: str, sums: str, engine: str, edge: "int | None", messages: NDArray[Any]) -> None:
    with_it = others(name, messages)
    right = np.einsum(sums, messages, *with_it.values())
    assert 0 < np.abs(right).max() < 1 << 15, "sums wrap, or there is nothing to compare"
    found = sardonyx.kernel(name, B=messages, **with_it, arch=KERNELS, engine=engine, tile=edge).value
    assert np.array_equal(found.toarray() if scipy.sparse.issparse(found) else found, right)
