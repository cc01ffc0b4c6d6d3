"""Programs of a machine without registers on tracks: generated Verilog against NumPy on dense arrays."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from machines import KERNELS
from open_machines import COPIER, MEETING
from random_programs import meaning
from simulators import run_cocotb

import sardonyx
from sardonyx.compiler.lang.kernel import load_kernel
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.soc.top import Sardonyx

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


@pytest.mark.slow
@pytest.mark.icarus
@pytest.mark.parametrize("arch,bench", [(COPIER, "cocotb_open_copier"), (MEETING, "cocotb_open_meeting")],
                         ids=["copier", "meeting"])
def test_all_verilog_at_once_has_the_cycles_of_the_stitched_machine(arch: Arch, bench: str, tmp_path: Path) -> None:
    """Icarus takes an event for every change, and finds the order of what is combinational by itself."""
    run_cocotb(Sardonyx(arch), bench, "icarus", tmp_path)
