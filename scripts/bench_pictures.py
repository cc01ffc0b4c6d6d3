"""Rows of `bench.py` about pictures: how long their programs take to compile, and what they take on onyx in Verilog."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import halide
import numpy as np
import skimage.data
from bench_row import Row

import sardonyx.halide
from sardonyx.apps.dense import camera as camera_pipeline
from sardonyx.apps.dense import matrix_product
from sardonyx.compiler.backend.encode import encode
from sardonyx.compiler.backend.native import library as placer
from sardonyx.compiler.dense.map.product import find, weights_of
from sardonyx.compiler.halide import compile_halide, compile_product
from sardonyx.compiler.lang.halide.pipeline import Pipeline
from sardonyx.compiler.lang.halide.reader import read
from sardonyx.compiler.lang.halide.walk import bind
from sardonyx.hw.arch import presets

DENSE = ("pointwise", "arithmetic", "comparisons", "booleans", "conv_3_3", "gaussian", "cascade", "box",
         "down_sample", "up_sample", "unsharp", "harris", "blur_edges", "camera", "matrix_product")


def dense() -> list[Row]:
    """From Halide's program to bitstream of every program of apps/dense on onyx, after imports."""
    placer()
    times = {}
    for name in DENSE:
        pipeline = pipeline_of(name)
        arch = replace(presets.get("onyx"))     # a fresh one, without routing graph
        began = time.perf_counter()
        product = find(pipeline)
        compiled = compile_halide(pipeline, arch, (62, 62)) if product is None else \
            compile_product(product, arch, weights_of(product, matrix_product.UNROLLED, 62, 62, arch), 62)
        encode(compiled.program, arch)
        times[name] = time.perf_counter() - began
    measured = ", ".join(f"{name} {each:.1f} s" for name, each in times.items())
    return [Row("compile, programs of `apps/dense` on `onyx`", measured, "<= 10 s each", max(times.values()) <= 10)]


def pipeline_of(name: str) -> Pipeline:
    """A program of apps/dense for an image of 512 x 512, as the compiler reads it."""
    program = import_module(f"sardonyx.apps.dense.{name}").build()
    return bind(read(halide.serialize_pipeline(halide.Pipeline(program), get_params=False)), {"photo": (512, 512)})


def gaussian() -> list[Row]:
    """A 3 x 3 Gaussian blur on onyx: one tile with one lane, and a whole picture with fourteen lanes."""
    photo = skimage.data.camera()
    one = photograph("gaussian", photo[:64, :64], (62, 62))
    pes, mems = one.tiles
    seconds = one.report["build_s"] + one.report["simulate_s"]
    wide = photograph("gaussian", photo, (518, 128), lanes=14)
    rate = wide.value.size / wide.cycles
    return [Row("gaussian, 64 x 64 pixels in, one lane: cycles from start to done; tiles",
                f"{one.cycles:,}; {pes} PE, {mems} MEM", "<= 4,095 + 32 (depth of the pipeline); <= 12 PE, 2 MEM",
                one.cycles <= 4127 and pes <= 12 and mems <= 2),
            Row("the same, the first program on `onyx`: build and tile", f"{seconds:.0f} s", "<= 90 s", seconds <= 90),
            Row(f"gaussian, 512 x 512 pixels in, 14 lanes, in {wide.report['tiles']} parts: pixels per cycle, start to done",
                f"{rate:.2f} ({rate / 14:.0%} of 14)", ">= 90 % of 14", rate >= 0.9 * 14)]


def harris() -> list[Row]:
    """Corners of a whole picture on onyx."""
    return [_whole("harris", skimage.data.camera(), 80)]


def unsharp() -> list[Row]:
    """A whole colour picture, sharper, on onyx."""
    return [_whole("unsharp", np.ascontiguousarray(np.moveaxis(skimage.data.astronaut(), 2, 0)), 57)]


def camera() -> list[Row]:
    """A whole colour picture from a mosaic on onyx."""
    return [_whole("camera", camera_pipeline.mosaic(skimage.data.astronaut()), 294)]


def _whole(name: str, photo: np.ndarray, most: int) -> Row:
    """A program on 512 x 512 pixels in tiles that fit a bank; most: PEs that it may take."""
    found = photograph(name, photo, (253, 169))
    pes, mems = found.tiles
    rows, columns = found.value.shape[-2:]
    each = found.cycles / (rows * columns)
    return Row(f"{name} on `onyx`, 512 x 512 pixels in, one lane, in {found.report['tiles']} parts: tiles; cycles per pixel",
               f"{pes} PE, {mems} MEM; {each:.2f}", f"<= {most} PE", pes <= most)


def product() -> list[Row]:
    """A matrix product on onyx, four columns and four terms at once."""
    matrix = np.arange(64 * 64, dtype=np.int16).reshape(64, 64)
    found = picture(matrix_product.build(64), {"weights": matrix, "rows": matrix})
    pes, rate = found.tiles[0], 64**3 / found.cycles
    return [Row(f"matrix product on `onyx`, 64 x 64 times 64 x 64, in {found.report['tiles']} parts: tiles; products per cycle",
                f"{pes} PE; {rate:.1f} ({rate / 16:.0%} of 16)", "none given", None)]


@dataclass(frozen=True)
class Picture:
    """What a dense program made in Verilog."""

    value: np.ndarray
    cycles: int
    report: Mapping[str, Any]

    @property
    def tiles(self) -> tuple[int, int]:
        """PE and MEM tiles that it takes."""
        used = self.report["tiles_used"]
        return used["pe"], used["mem"]


def picture(program: object, inputs: Mapping[str, np.ndarray], arch: str = "onyx", **how: Any) -> Picture:
    """A program on its inputs."""
    found = sardonyx.halide.run(program, inputs=inputs, arch=arch, **how)
    report: Mapping[str, Any] = found.report
    return Picture(found.value, report["cycles"], report)


def photograph(name: str, photo: np.ndarray, tile: tuple[int, int], lanes: int = 1) -> Picture:
    """A program of apps/dense on a picture."""
    return picture(import_module(f"sardonyx.apps.dense.{name}").build(), {"photo": photo}, tile=tile, unroll=lanes)
