"""The programs of apps/dense: equal to Halide's own results, compiled for onyx, within the tiles that they may take; the
larger ones, and the Gaussian blur in lanes, in generated Verilog on photographs."""

import pkgutil
from importlib import import_module
from typing import Any

import halide as hl
import numpy as np
import pytest
import skimage.data
from stencil_machine import CORNERS, LANES, STENCILS

import sardonyx.halide
from sardonyx.api import Result
from sardonyx.apps import dense
from sardonyx.compiler.ir.program import STATIC
from sardonyx.hw.arch.cgra import Arch
from sardonyx.sim.rtl import simulator

# All that make a picture of a `photo`.
NAMES = [module.name for module in pkgutil.iter_modules(dense.__path__) if module.name != "matrix_product"]
# PEs at most: budgets of the programs that have one, and what the largest of the others take.
MOST = {"gaussian": 12, "unsharp": 57, "harris": 80, "arithmetic": 29, "comparisons": 22, "camera": 72}


@pytest.mark.parametrize("name", NAMES)
def test_a_program_gives_what_halide_gives(name: str) -> None:
    shape = (3, 17, 22) if name == "unsharp" else (17, 22)
    most, type_ = (1024, np.uint16) if name == "camera" else (256, np.uint8)
    photo = np.random.default_rng(len(name)).integers(0, most, shape).astype(type_)
    program = import_module(f"sardonyx.apps.dense.{name}").build()
    result = sardonyx.halide.run(program, inputs={"photo": photo}, engine="tokens", arch="onyx", tile=(12, 9))
    assert result.report["tiles_used"]["pe"] <= MOST.get(name, 16)

    assert np.array_equal(result.value, by_halide(program, photo, result.value.shape))


def by_halide(program: hl.Func, photo: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """What Halide's own compiler makes of a program."""
    file = hl.serialize_pipeline(hl.Pipeline([program]), get_params=True)
    parameters = dict(file[1])
    parameters["photo"].set_buffer(hl.Buffer(photo))
    again = hl.deserialize_pipeline(file[0], parameters)
    return np.asarray(again.realize(list(shape[::-1])))


def checked(name: str, photo: np.ndarray, **options: Any) -> Result:
    """A run of a program on a photograph, equal to NumPy (which the run itself sees to) and to Halide."""
    program = import_module(f"sardonyx.apps.dense.{name}").build()
    result = sardonyx.halide.run(program, inputs={"photo": photo}, **options)
    assert np.array_equal(result.value, by_halide(program, photo, result.value.shape))
    return result


def colours(photo: np.ndarray) -> np.ndarray:
    """A photograph as planes of red, green and blue, since Halide wants neighbours in x side by side."""
    return np.ascontiguousarray(np.moveaxis(photo, 2, 0))


def is_one_point_a_cycle(result: Result, columns: int, rows: int, depth: int) -> bool:
    """Whether tiles on grids of so many points take a cycle a point, and `depth` cycles more at most."""
    tiles = result.report["tiles"]
    assert isinstance(tiles, int) and result.cycles is not None
    return tiles * columns * rows <= result.cycles <= tiles * (columns * rows + depth)


@pytest.mark.parametrize("lanes", [2, 4])
def test_a_blur_in_lanes_runs_from_the_bitstream_of_onyx(lanes: int) -> None:
    """The decoded bitstream, cycle by cycle; tiles reach beyond the picture on both sides."""
    checked("gaussian", skimage.data.camera()[100:132, 150:192], engine="fabric", arch="onyx", tile=(24, 13), unroll=lanes)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["rtl", "rtl-full"])
@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("harris", "camera")])
def test_a_program_in_verilog(name: str, engine: str) -> None:
    """Specialised, and configured on the preset; the others need more PEs than this one has."""
    photo = colours(skimage.data.astronaut()) if name == "unsharp" else skimage.data.coins()
    checked(name, photo[..., 100:131, 150:187], engine=engine, arch="small", tile=(20, 16))


@pytest.mark.slow
def test_corners_of_a_photograph_in_verilog() -> None:
    """Four tiles of 40 x 30 on grids of 46 x 36 points; the last ones reach beyond the 64 x 44 elements of the result."""
    result = checked("harris", skimage.data.camera()[100:150, 150:220], engine="rtl", arch="onyx", tile=(40, 30))
    assert 0 < np.count_nonzero(result.value) < result.value.size // 20
    assert is_one_point_a_cycle(result, 46, 36, 200)


@pytest.mark.slow
def test_a_sharper_colour_photograph_in_verilog() -> None:
    photo = colours(skimage.data.astronaut())[:, 100:150, 150:220]
    result = checked("unsharp", photo, engine="rtl", arch="onyx", tile=(40, 30))
    assert result.value.shape == (3, 44, 64)
    assert is_one_point_a_cycle(result, 46, 36, 200)


@pytest.mark.slow
@pytest.mark.parametrize("lanes", [1, 2, 4, 14])
def test_a_blur_in_lanes_in_verilog(lanes: int) -> None:
    """Tiles are no squares, and the last ones reach beyond the picture."""
    columns = 42 if lanes == 14 else 44
    result = checked("gaussian", skimage.data.camera()[100:150, 150:220], engine="rtl", arch="onyx", tile=(columns, 30),
                     unroll=lanes)
    assert is_one_point_a_cycle(result, columns // lanes + 2, 32, 100)


@pytest.mark.slow
@pytest.mark.parametrize("lanes", [2, 4])
def test_a_blur_in_lanes_in_configured_verilog(lanes: int) -> None:
    result = checked("gaussian", skimage.data.camera()[100:150, 150:220], engine="rtl-full", arch="small", tile=(44, 30),
                     unroll=lanes)
    assert is_one_point_a_cycle(result, 44 // lanes + 2, 32, 100)


@pytest.mark.slow
@pytest.mark.parametrize("name,arch,lanes,columns,rows,depth",
                         [("gaussian", STENCILS, 1, 44, 32, 100), ("gaussian", LANES, 14, 5, 32, 100),
                          ("harris", CORNERS, 1, 48, 36, 200)])
def test_a_program_takes_the_same_cycles_folded_and_reconfigurable(name: str, arch: Arch, lanes: int, columns: int, rows: int,
                                                                   depth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the least machine that it fits, in tiles of 42 x 30, the last ones beyond the picture."""
    monkeypatch.setitem(simulator.LIBRARY_TILE_CYCLES, STATIC, 1)
    photo = skimage.data.camera()[100:150, 150:220]
    full, special = (checked(name, photo, engine=engine, arch=arch, tile=(42, 30), unroll=lanes)
                     for engine in ("rtl-full", "rtl"))
    assert special.report["simulator"].startswith("folded")
    assert full.cycles == special.cycles
    assert is_one_point_a_cycle(full, columns, rows, depth)
