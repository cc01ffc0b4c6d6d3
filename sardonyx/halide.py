"""Halide programs in, checked pictures out.

    >>> import halide as hl, numpy as np, sardonyx.halide
    >>> x, y, photo, twice = hl.Var("x"), hl.Var("y"), hl.ImageParam(hl.UInt(8), 2, "photo"), hl.Func("twice")
    >>> twice[x, y] = hl.u16(photo[x, y]) * 2
    >>> sardonyx.halide.run(twice, inputs={"photo": np.array([[1, 2], [3, 4]], np.uint8)}, engine="golden").value.tolist()
    [[2, 4], [6, 8]]

Arrays are NumPy's, y first (and colour in front of it); Halide's dimensions and every size given here are x first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from . import arguments
from .api import Outcome, Result, keep, silent
from .compiler.backend.route import Unroutable
from .compiler.dense.front.directives import plan, said
from .compiler.dense.front.lower import lower
from .compiler.dense.map.lanes import limit, product_limit
from .compiler.dense.map.product import Product, find, tile_of
from .compiler.dense_pipeline import CompiledDense, compile_picture, compile_product, compile_words
from .compiler.ir.dataflow import WordGraph
from .compiler.lang.halide.extent import largest
from .compiler.lang.halide.pipeline import Pipeline
from .compiler.lang.halide.walk import bind
from .hw.arch.cgra import Arch
from .hw.arch.errors import UserError
from .images import buffers, check_names, dtype_of, extents, image_names, read_images
from .options import ENGINES
from .pictures import check_picture, write_picture
from .programs import names, read_program
from .programs import shipped as program_named
from .sim import engines, static_engines
from .sim.engines import Run
from .sim.frames import Frames
from .sim.golden import halide as halide_golden
from .sim.products import Products, factor_matrix, multiply

_Compiled = TypeVar("_Compiled")


def run(program: object, *, inputs: Mapping[str, np.ndarray | str | Path], shape: Sequence[int] | None = None,
        tile: Sequence[int] | None = None, unroll: int | None = None, arch: str | Arch = "small", engine: str = "rtl",
        params: Mapping[str, int] | None = None, dump: str | Path | None = None, seed: int = 0,
        progress: Callable[[str], None] = silent) -> Result:
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
    unroll : int              Lanes: neighbours in x that are computed at once, on streams of their own; default: as the
                              program is scheduled, else 1.
    arch : str | Arch         A preset, a .json file, or a description.
    engine : str              golden, tokens, fabric, rtl or rtl-full.
    params : mapping          Values of scalar parameters (halide.Param) by name; those of a Func have the values set in it.
    dump : Path               Folder for every stage of the compiler; not with golden, which compiles nothing.

    Returns a `Result`: `value` is an array of the type of the Func. Raises UserError for whatever does not fit.
    """
    arguments.choice("engine", engine, ENGINES)
    began = time.perf_counter()
    machine, seed, dump = arguments.machine(arch), arguments.whole("seed", seed), arguments.stages(dump, engine)
    lanes = arguments.whole("unroll", unroll, 1) if unroll is not None else None
    sides = arguments.sizes("tile", tile) if tile is not None else None
    asked = arguments.sizes("shape", shape) if shape is not None else None
    pipeline = read_program(program, arguments.numbers("params", params or {}))
    images, notes = read_images(pipeline, arguments.mapping("inputs", inputs))
    reach = extents(pipeline, images)
    pipeline = bind(pipeline, reach)
    size = asked if asked is not None else largest(pipeline, reach)
    _check_size(pipeline, size)
    progress("computing the result in NumPy")
    expected = halide_golden.realize(pipeline, images, size[::-1])
    report: dict[str, object] = {"engine": engine, **({"inputs": "; ".join(notes)} if notes else {}),
                                 "result": f"{' x '.join(map(str, size))}, {expected.dtype}"}
    if engine == engines.GOLDEN:
        return Result(report, value=expected)

    progress(f"compiling for '{machine.name}'")
    compile_began = time.perf_counter()
    images = {**buffers(pipeline), **images}
    product = find(pipeline)
    job = _stencil(pipeline, images, size, sides, lanes, machine, seed, dump) if product is None else \
        _product(product, pipeline, images, size, sides, lanes, machine, seed, dump)
    compiled = job.compiled
    compile_s = time.perf_counter() - compile_began
    if dump:
        compiled.dump(dump)
    found, words = job.compute(engine, progress)
    progress("checking every element against NumPy")
    value = words.astype(expected.dtype)
    wrong = int(np.count_nonzero(value != expected))
    assert not wrong, f"{wrong} of {expected.size} elements differ from NumPy, the first at {np.argwhere(value != expected)[0]}"
    report |= {"arch": machine.name, "tiles": job.tiles, "tile": " x ".join(map(str, job.tile)), **job.facts(),
               "tiles_used": {kind: compiled.graph.count(kind) for kind in ("pe", "mem", "io")},
               "elements_checked": expected.size, "compile_s": round(compile_s, 3)}
    if found.cycles is not None:
        report |= {"cycles": found.cycles, "elements_per_cycle": round(expected.size / found.cycles, 3),
                   "simulated_cycles_per_s": round(found.simulated / max(1e-9, found.simulate_s)),
                   "build_s": round(found.build_s, 1), "simulate_s": round(found.simulate_s, 2),
                   "verilog": str(keep(found.verilog, dump))}
    report["elapsed_s"] = round(time.perf_counter() - began, 2)
    return Result(report, value=value, cycles=found.cycles)


@dataclass(frozen=True)
class _Job:
    """A compiled program with what it runs on.

    tile: of the result, x first. compute: engine and progress -> what the engine found, and the words of the result, y first.
    facts: more of the report.
    """

    compiled: CompiledDense
    tile: Sequence[int]
    tiles: int
    compute: Callable[[str, Callable[[str], None]], tuple[Run, np.ndarray]]
    facts: Callable[[], Mapping[str, object]]


def _stencil(pipeline: Pipeline, images: Mapping[str, np.ndarray], size: tuple[int, ...], tile: Sequence[int] | None,
             unroll: int | None, machine: Arch, seed: int, dump: Path | None) -> _Job:
    words = lower(pipeline, streams=machine.glb_tiles)
    asked = plan(pipeline, words.dims, tile=tile is None, lanes=unroll is None)
    lanes, name = unroll if unroll is not None else asked.lanes or 1, pipeline.outputs[0]
    if tile is None and any(dim not in asked.sides for dim in words.dims):
        sides = _sides(words, size)
        compiled, part = _compile(lambda: compile_picture(words, machine, sides, lanes, seed, asked.sides), name, dump)
        wanted: Sequence[int] = part
    else:
        wanted = tile if tile is not None else [asked.sides[dim] for dim in words.dims]
        part = _part(words, size, wanted, lanes)
        compiled = _compile(lambda: compile_words(words, machine, part, lanes, seed), name, dump)
    frames = Frames(compiled.walk, images, size, part,
                    {name: each.minimum for name, each in pipeline.inputs.items() if each.data is not None}, words.gathered)

    def compute(engine: str, progress: Callable[[str], None]) -> tuple[Run, np.ndarray]:
        found = static_engines.run(engine, compiled, frames, progress)
        return found, frames.picture(found.blocks)

    def facts() -> Mapping[str, object]:
        most = limit(compiled.pes, machine, part)
        return {"lanes": f"{lanes} of at most {most.lanes}: {most.why}",
                "schedule": said(asked, words.dims, wanted, lanes, (tile is not None, unroll is not None)),
                "selection": compiled.selection}

    return _Job(compiled, part, len(frames), compute, facts)


def _product(product: Product, pipeline: Pipeline, images: Mapping[str, np.ndarray], size: tuple[int, ...],
             tile: Sequence[int] | None, unroll: int | None, machine: Arch, seed: int, dump: Path | None) -> _Job:
    dims = pipeline.funcs[product.name].args
    asked = plan(pipeline, dims, tile=tile is None, lanes=unroll is None, taken=product.reduced)
    lanes = unroll if unroll is not None else asked.lanes or 1
    part = tile_of(product, lanes, size, tile if tile is not None else [asked.sides.get(dim) for dim in dims], machine)
    compiled = _compile(lambda: compile_product(product, machine, lanes, part[1], seed), product.name, dump)
    left, right = (factor_matrix(images[factor.image], factor, product) for factor in (product.left, product.right))
    whole = Products(compiled.walk, left[:size[0]], right[:size[1]], product.name, lanes, part[1],
                     product.products * compiled.walk.grid.extents[0])

    def compute(engine: str, progress: Callable[[str], None]) -> tuple[Run, np.ndarray]:
        return multiply(engine, compiled, whole, progress)

    def facts() -> Mapping[str, object]:
        most = product_limit(product, machine)
        return {"lanes": f"{lanes} of at most {most.lanes}: {most.why}",
                "schedule": f"{product.products} terms at once; "
                            + said(asked, dims, part, lanes, (tile is not None, unroll is not None))}

    return _Job(compiled, part, len(whole), compute, facts)


def demo(out: Path, progress: Callable[[str], None] = silent) -> Outcome:
    """Blur a real photograph in generated Verilog, and compare every pixel with NumPy and with Halide.

    Writes `photo.png`, `blurred.png`, the picture of the array and every stage of the compiler into `out`.
    """
    import halide
    import skimage.data

    from .apps.dense import gaussian
    photo = skimage.data.camera()
    image = halide.ImageParam(halide.UInt(8), 2, "photo")
    blur = gaussian.build(image)
    result = run(blur, inputs={"photo": photo}, tile=(255, 170), dump=out, progress=progress)
    image.set(halide.Buffer(photo))
    assert np.array_equal(np.asarray(blur.realize(list(result.value.shape[::-1]))), result.value), "the result is not Halide's"
    write_picture(photo, out / "photo.png")
    write_picture(result.value, out / "blurred.png")
    return Outcome({"program": "gaussian blur, 3 x 3, of skimage.data.camera()", **result.report, "halide": "equal",
                    "pictures": f"{out / 'photo.png'}, {out / 'blurred.png'}", "array": str(out / "array.svg")})


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
    result = run(program, inputs=inputs, params=params, **options)
    if output is not None:
        write_picture(result.value, output)
    return result


def _sides(words: WordGraph, size: Sequence[int]) -> list[int]:
    """The result in the dimensions of the grid."""
    plane = next(iter(words.outputs.values())).plane
    return [side for side, at in zip(size, plane, strict=True) if at is None]


def _part(words: WordGraph, size: Sequence[int], tile: Sequence[int], lanes: int) -> tuple[int, ...]:
    """The tile, no larger than it needs to be, in the dimensions of the grid."""
    sides = _sides(words, size)
    sides[0] = -(-sides[0] // max(1, lanes)) * max(1, lanes)
    # A wrong number of sizes is refused by the compiler.
    return tuple(map(min, tile, sides)) if len(tile) == len(sides) else tuple(tile)


def _compile(compiler: Callable[[], _Compiled], func: str, dump: Path | None) -> _Compiled:
    try:
        return compiler()
    except Unroutable as failure:
        picture = (dump or Path("out")) / "unroutable.svg"
        picture.parent.mkdir(parents=True, exist_ok=True)
        picture.write_text(failure.picture)
        raise UserError(failure.what, _at(func, failure.where), f"{failure.fix}; the picture is {picture}") from None
    except UserError as failure:
        raise UserError(failure.what, _at(func, failure.where), failure.fix) from None


def _at(func: str, where: str) -> str:
    """A place in a program; what only a block or nothing names is of its output."""
    return where if where.startswith("Func") else ", ".join(filter(None, (f"Func {func}", where)))


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
