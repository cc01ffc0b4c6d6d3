"""C on a core and commands of a bench in cocotb leave the same memory: of a product, a convolution, and one without zeros."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
import without_zeros
from accelerators import accelerator, operands
from amaranth.lib.wiring import Component
from riscv import needs_compiler
from simulators import run_cocotb

from sardonyx.accelerators import AcceleratorDesign
from sardonyx.hw.arch import command
from sardonyx.hw.arch.command import Word
from sardonyx.hw.arch.outer_product import MERGE, MULTIPLY, OuterProduct
from sardonyx.hw.spatial.accelerator import SpatialAccelerator
from sardonyx.hw.spatial.system import SpatialSystem
from sardonyx.runtime import spatial_firmware, spatial_outer, spatial_sparse
from sardonyx.runtime.data.outer_lists import laid_lists
from sardonyx.runtime.data.outer_product import laid
from sardonyx.runtime.spatial_commands import Program
from sardonyx.runtime.spatial_products import Matrix, convolution, product
from sardonyx.sim.rtl.accelerator import SimulatedAccelerator

RAM, BYTES = 4096, 8192


def images(alone: AcceleratorDesign, with_core: AcceleratorDesign, program: Program, firmware: bytes, content: bytes,
           folder: Path) -> None:
    """Compare the memory that a program of a bench leaves with that of firmware."""
    compare(alone.hardware(), with_core.hardware(), program.words, firmware + content[len(firmware):], folder)


def compare(alone: Component, with_core: Component, words: "list[Word]", content: bytes, folder: Path) -> None:
    with SimulatedAccelerator(with_core, BYTES, 20) as system:
        system.write(0, content)
        assert system.run([], 400_000).status >> 16 & 15 == command.NONE
        wanted = system.read(0, BYTES)
    (folder / "before").write_bytes(content)
    (folder / "wanted").write_bytes(wanted)
    np.array(words, np.uint32).tofile(folder / "words")
    run_cocotb(alone, "cocotb_image", "verilator", folder)


@needs_compiler
def test_a_product(tmp_path: Path) -> None:
    shape = 4, 3, 5
    a, b = (matrix.astype(np.int8) for matrix in operands(shape, 1))
    places = Matrix(RAM, shape[2], 0), Matrix(RAM + 256, shape[1], 0), Matrix(RAM + 512, shape[1] + 1, 2)
    content = bytearray(BYTES)
    for matrix, place in zip((a, b), places):
        content[place.address:place.address + matrix.size] = matrix.tobytes()
    images(accelerator(), accelerator(ram_bytes=RAM), product(accelerator().kind, shape, *places),
           spatial_firmware.product(accelerator(ram_bytes=RAM).kind, shape, *places), bytes(content), tmp_path)


@needs_compiler
@pytest.mark.slow
def test_a_convolution(tmp_path: Path) -> None:
    what = convolution((5, 5, 2), (3, 3, 2), 2, (RAM, RAM + 256, RAM + 512), (0, 0, 2))
    content = np.random.default_rng(1).integers(0, 256, BYTES, np.uint8).tobytes()
    images(accelerator(), accelerator(ram_bytes=RAM), product(accelerator().kind, *what),
           spatial_firmware.product(accelerator(ram_bytes=RAM).kind, *what), content, tmp_path)


@needs_compiler
@pytest.mark.slow
def test_a_product_without_zeros(tmp_path: Path) -> None:
    shape, places = (5, 9, 5), (without_zeros.A_AT, without_zeros.B_AT, without_zeros.C_AT)
    alone, with_core = without_zeros.accelerator(), without_zeros.accelerator(ram_bytes=RAM)
    content = without_zeros.placed(alone, *without_zeros.matrices(shape, 0.5, 1))
    images(alone, with_core, spatial_sparse.product(alone.kind, shape, *places),
           spatial_firmware.sparse_product(with_core.kind, shape, *places), content, tmp_path)


@needs_compiler
@pytest.mark.slow
def test_a_product_in_two_phases(tmp_path: Path) -> None:
    # With one lane the order in which nodes take memory does not depend on its stalls.
    alone = OuterProduct("outer_image", lanes=1, ports=1, rows=16, pairs=32, queue=16)
    with_core = replace(alone, ram_bytes=RAM)
    a, b = (scipy.sparse.csr_array(each) for each in without_zeros.matrices((5, 9, 5), 0.5, 1))
    place = laid(with_core, scipy.sparse.csc_array(a), b, 5 * 9)
    compare(SpatialAccelerator(alone), SpatialSystem(with_core), spatial_outer.product(alone, place),
            (spatial_outer.firmware(with_core, place) + place.content[RAM:]).ljust(BYTES, b"\0"), tmp_path)


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("phase", [MULTIPLY, MERGE])
def test_a_phase_alone(phase: str, tmp_path: Path) -> None:
    """One lane, as there; what is merged is what is multiplied, element by element."""
    alone = OuterProduct(f"{phase}_image", lanes=1, ports=1, rows=16, pairs=32, queue=16, phases=phase)
    with_core = replace(alone, ram_bytes=RAM)
    a, b = without_zeros.matrices((5, 9, 5), 0.5, 1)
    runs = [[np.stack([np.flatnonzero(b[k]), a[row, k] * b[k, b[k] != 0]], 1) for k in np.flatnonzero(a[row]) if b[k].any()]
            for row in range(5)]
    place = (laid(with_core, scipy.sparse.csc_array(a), scipy.sparse.csr_array(b), 0) if phase == MULTIPLY
             else laid_lists(with_core, runs, 5 * 9))
    compare(SpatialAccelerator(alone), SpatialSystem(with_core), spatial_outer.product(alone, place),
            (spatial_outer.firmware(with_core, place) + place.content[RAM:]).ljust(BYTES, b"\0"), tmp_path)
