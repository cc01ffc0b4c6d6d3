"""What the preset `fpga` runs, on the models; in Verilog and as a netlist in test_simulation.py."""

from importlib import import_module

import numpy as np
import pytest

import sardonyx
import sardonyx.halide
from sardonyx.hw.arch.errors import UserError

PHOTO = np.random.default_rng(7).integers(0, 256, (20, 33)).astype(np.uint8)


@pytest.mark.parametrize("engine", ["tokens", "fabric"])
@pytest.mark.parametrize("name", ["vec_elemmul", "vec_elemadd", "mat_identity"])
def test_kernels_of_four_loads_and_six_memories_run(name: str, engine: str) -> None:
    report = sardonyx.kernel(name, size=23, density=0.4, arch="fpga", engine=engine, without="narrowing").report
    assert report["words_checked"]
    if name == "vec_elemmul":
        assert report["tiles_used"]["mem"] == 6


@pytest.mark.parametrize("engine", ["tokens", "fabric"])
@pytest.mark.parametrize("name", ["binomial", "box", "pointwise"])
def test_programs_of_six_pes_run(name: str, engine: str) -> None:
    program = import_module(f"sardonyx.apps.dense.{name}").build()
    assert sardonyx.halide.run(program, inputs={"photo": PHOTO}, arch="fpga", engine=engine).report["tiles_used"]["pe"] <= 6


def test_a_larger_blur_is_refused() -> None:
    program = import_module("sardonyx.apps.dense.gaussian").build()
    with pytest.raises(UserError) as error:
        sardonyx.halide.run(program, inputs={"photo": PHOTO}, arch="fpga", engine="tokens")
    assert str(error.value) == ("Func blur: the program is too large for 'fpga': it needs 8 PE tiles, has 6\n"
                                "  try: describe a machine of more columns and rows, or compute the expression in parts")
