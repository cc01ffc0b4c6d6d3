"""Programs of a machine without registers on tracks: generated Verilog against NumPy on dense arrays."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from machines import KERNELS
from random_programs import meaning

import sardonyx
from sardonyx.compiler.lang.kernel import load_kernel

OPEN = replace(KERNELS, name="open", interconnect=replace(KERNELS.interconnect, fifo="inputs"))


@pytest.mark.slow
@pytest.mark.parametrize("without", [(), "balancing", ("pipelining", "balancing")])
@pytest.mark.parametrize("name", ["spmspm", "matmul_kij", "mat_elemadd3", "sddmm", "spmv"])
def test_tracks_without_registers_lead_the_words_of_numpy(name: str, without: Any) -> None:
    random, kernel = np.random.default_rng(0), load_kernel(name)
    data = {access.tensor: random.integers(-3, 4, (20,) * len(access.modes)) * (random.random((20,) * len(access.modes)) < 0.3)
            for access in kernel.einsum().operands}
    found = sardonyx.kernel(name, **data, arch=OPEN, engine="rtl-full", without=without)
    assert np.array_equal(found.value.toarray() if scipy.sparse.issparse(found.value) else found.value,
                          meaning(kernel.program(), data))
