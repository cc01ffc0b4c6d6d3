"""Halide programs in, checked pictures out.

    >>> import halide as hl, numpy as np, sardonyx.halide
    >>> x, y, photo, twice = hl.Var("x"), hl.Var("y"), hl.ImageParam(hl.UInt(8), 2, "photo"), hl.Func("twice")
    >>> twice[x, y] = hl.u16(photo[x, y]) * 2
    >>> sardonyx.halide.run(twice, inputs={"photo": np.array([[1, 2], [3, 4]], np.uint8)}, engine="golden").value.tolist()
    [[2, 4], [6, 8]]

Arrays are NumPy's, y first (and colour in front of it); Halide's dimensions and every size given here are x first.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import arguments
from .compiler.halide import FILES
from .compiler.lang.halide.extent import largest
from .compiler.lang.halide.pipeline import Pipeline
from .compiler.lang.halide.walk import bind
from .dump import Dump, check_file
from .execute import Result, execute, options
from .hw.arch.cgra import Arch
from .hw.arch.errors import UserError
from .images import buffers, check_names, dtype_of, extents, image_names, read_images
from .outcome import Outcome, silent
from .picture_job import PictureJob, Wanted, picture_job
from .pictures import check_picture, write_picture
from .programs import names, read_program
from .programs import shipped as program_named
from .runtime.device import Device
from .sim import engines
from .sim.golden import halide as halide_golden


def run(program: object, *, inputs: Mapping[str, np.ndarray | str | Path], shape: Sequence[int] | None = None,
        tile: Sequence[int] | None = None, unroll: int | None = None, arch: str | Arch = "small", engine: str | Device = "rtl",
        params: Mapping[str, int] | None = None, dump: str | Path | None = None, seed: int = 0,
        progress: Callable[[str], None] = silent, power: str | None = None, avoid: object = None,
        counters: bool = False) -> Result:
    """Run a Halide program on images and check every element against NumPy.

    Parameters
    ----------
    program : halide.Func, halide.Pipeline, bytes or path     Bytes and files (.hlpipe) as `halide.serialize_pipeline` makes.
    inputs : mapping          By the names of the ImageParams: NumPy arrays of their types, y first, or picture files.
    shape : sequence of int   Size of the result, x first; default: the largest that the inputs allow, that of the image where
                              a boundary condition allows any.
    tile : sequence of int    The result is computed in tiles of this size, x first, without dimensions that are bounded to a
                              few planes; default: as the program is scheduled (see compiler/dense/front/directives.py), else
                              the one of the fewest cycles (see compiler/dense/map/tiles.py).
    unroll : int              Lanes: stripes of a tile that are computed at once, on streams of their own; default: as the
                              program is scheduled, else 1.
    arch : str | Arch         A preset, a .json file, or a description.
    engine : str | Device     golden, tokens, fabric, rtl or rtl-full, or a machine that is there (`sardonyx.board.open_board`).
    params : mapping          Values of scalar parameters (halide.Param) by name; those of a Func have the values set in it.
    dump : Path               Folder for every stage of the compiler; not with golden, which compiles nothing.
    power : str               Estimate the energy of the run in a cell library, sky130hd or asap7; engines rtl and rtl-full.
    avoid : str | sequence    Tiles that the program leaves alone, such as defective ones of a chip: ``"3,5 column:4 glb:1"``
                              or pairs (x, y), as `sardonyx/avoid.py` says; beside those that `arch` avoids.
    counters : bool           Read the performance counters of the program's loads and stores, on a machine that has some
                              (`Arch.counter_bits`), and say what its other tiles do, which move words in every cycle; engines
                              rtl and rtl-full, and devices.

    Returns a `Result`: `value` is an array of the type of the Func. Raises UserError for whatever does not fit.
    """
    progress = arguments.function("progress", progress)
    began, how = time.perf_counter(), options(engine, arch, dump, seed, FILES, power, avoid, counters)
    if how.counters and how.engine in (engines.TOKENS, engines.FABRIC):
        raise UserError(f"engine {how.engine} runs programs of pictures without a clock, so that it has no cycles to count",
                        "counters", f"choose {engines.RTL} or {engines.RTL_FULL}")
    lanes = arguments.whole("unroll", unroll, 1) if unroll is not None else None
    sides = arguments.sizes("tile", tile) if tile is not None else None
    asked = arguments.sizes("shape", shape) if shape is not None else None
    found = prepared(program, inputs, asked, {} if params is None else params, progress)
    if how.engine == engines.GOLDEN:
        return Result({"engine": how.engine, **found.about}, value=found.expected)
    wanted = Wanted(found.size, sides, lanes, how.arch, how.seed)
    return execute(how, lambda tell: found.job(wanted, tell), began, progress)


@dataclass(frozen=True)
class Prepared:
    """A program with its images and the result of NumPy.

    Parameters
    ----------
    pipeline : Pipeline
    images : {str: array}     And its constant Buffers.
    size : tuple              Of the result, x first.
    expected : array          Of NumPy, y first.
    about : mapping           For the report.
    """

    pipeline: Pipeline
    images: Mapping[str, np.ndarray]
    size: tuple[int, ...]
    expected: np.ndarray
    about: Mapping[str, object]

    def job(self, wanted: Wanted, tell: Callable[[str], None]) -> PictureJob:
        """The program, compiled."""
        return picture_job(self.pipeline, self.images, wanted, self.expected, self.about, tell)


def prepared(program: object, inputs: Mapping[str, np.ndarray | str | Path], shape: tuple[int, ...] | None,
             params: Mapping[str, int], progress: Callable[[str], None]) -> Prepared:
    """Read a program and its images, and compute its result in NumPy; arguments as of `run`."""
    pipeline = read_program(program, arguments.numbers("params", params))
    images, notes = read_images(pipeline, arguments.mapping("inputs", inputs))
    reach = extents(pipeline, images)
    pipeline = bind(pipeline, reach)
    size = shape if shape is not None else largest(pipeline, reach)
    _check_size(pipeline, size)
    progress("computing the result in NumPy")
    expected = halide_golden.realize(pipeline, images, size[::-1])
    about: dict[str, object] = {**({"inputs": "; ".join(notes)} if notes else {}),
                                "result": f"{' x '.join(map(str, size))}, {expected.dtype}"}
    return Prepared(pipeline, {**buffers(pipeline), **images}, tuple(size), expected, about)


def demo(out: Path, progress: Callable[[str], None] = silent) -> Outcome:
    """Blur a real photograph in generated Verilog, and compare every pixel with NumPy and with Halide.

    Writes `photo.png`, `blurred.png`, the picture of the array and every stage of the compiler into `out`.
    """
    import halide
    import skimage.data

    from .apps.dense import gaussian
    photo, folder = skimage.data.camera(), Dump.made(out)
    folder.check(["photo.png", "blurred.png"])
    image = halide.ImageParam(halide.UInt(8), 2, "photo")
    blur = gaussian.build(image)
    result = run(blur, inputs={"photo": photo}, dump=out, progress=progress)
    image.set(halide.Buffer(photo))
    assert np.array_equal(np.asarray(blur.realize(list(result.value.shape[::-1]))), result.value), "the result is not Halide's"
    pictures = [folder.make(f"{name}.png", functools.partial(write_picture, value))
                for name, value in (("photo", photo), ("blurred", result.value))]
    return Outcome({"program": "gaussian blur, 3 x 3, of skimage.data.camera()", **result.report, "halide": "equal",
                    "pictures": ", ".join(map(str, pictures)), "array": str(out / "array.svg")})


def shipped() -> Outcome:
    """The programs of `apps/dense` and what each computes."""
    found = names()
    width = max(map(len, found))
    return Outcome(found, "\n".join(f"{name:{width}}  {text}" for name, text in found.items()))


def run_files(name: str | Path, inputs: Mapping[str, Path], output: Path | None = None,
              params: Mapping[str, int] | None = None, **options: Any) -> Result:
    """Run a .hlpipe file, or a program that we ship, on pictures and write the result as one.

    name: the file, or the program.
    inputs: files by the name of the ImageParam; the name may be empty if there is only one. options: see `run`.
    """
    program = program_named(str(name))
    pipeline = read_program(program, params or {})
    images = image_names(pipeline)
    if set(inputs) == {""} and len(images) == 1:
        inputs = {images[0]: inputs[""]}
    check_names(images, inputs, str(name), "--input {}=FILE")
    func = pipeline.funcs[pipeline.outputs[0]]
    if output is not None:
        # Before the run, which may take minutes.
        check_picture(output, dtype_of(func.types[0]), len(func.args))
        check_file(output, "the picture")
    result = run(program, inputs=inputs, params=params, **options)
    if output is not None:
        write_picture(result.value, output)
    return result


def _check_size(pipeline: Pipeline, size: Sequence[int]) -> None:
    """UserError for a shape of the result that the program does not have."""
    func = pipeline.funcs[pipeline.outputs[0]]
    text = " x ".join(map(str, size)) or "no dimensions"
    if len(size) != len(func.args) or any(side < 1 for side in size):
        raise UserError(f"a result of {text} for dimensions {', '.join(func.args)}", f"Func {func.name}",
                        "give one positive size for each, x first")
    for arg, side in zip(func.args, size, strict=True):
        if arg in func.bounds and func.bounds[arg] != (0, side):
            low, extent = func.bounds[arg]
            raise UserError(f"{arg} is bounded to {low}..{low + extent - 1}, and the result has 0..{side - 1}",
                            f"Func {func.name}", f"bound it from 0 on, and ask for {extent} elements")
