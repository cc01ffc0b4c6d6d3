"""Halide programs as jobs: stencils tile by tile, matrix products in as many runs as their sums take."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from .compiler.dense.front.directives import plan, said
from .compiler.dense.front.lower import lower
from .compiler.dense.map.lanes import Limit, limit, product_limit
from .compiler.dense.map.product import Product, apart, find, tile_of, turned, weights_of
from .compiler.halide import LOWER, CompiledDense, compile_picture, compile_product, compile_words
from .compiler.ir.dataflow import WordGraph
from .compiler.lang.halide.pipeline import Pipeline
from .hw.arch.cgra import Arch
from .hw.arch.errors import UserError
from .runtime.data.blocks import Blocks
from .runtime.data.frames import Frames
from .runtime.data.products import Products, factor_matrix
from .runtime.data.tile import Source
from .sim.engines import Run


@dataclass(frozen=True)
class Wanted:
    """What is asked for: size of the result and sides of a tile, x first, lanes, and for which machine; None: as it comes."""

    size: tuple[int, ...]
    tile: tuple[int, ...] | None
    lanes: int | None
    arch: Arch
    seed: int


@dataclass(frozen=True)
class _Part:
    """Frames or products, and what was stored for them."""

    data: Frames | Products
    stored: list[Blocks] = field(default_factory=list)

    @property
    def unit(self) -> str:
        return self.data.unit

    def __len__(self) -> int:
        return len(self.data)

    def transactions(self, most: int) -> Iterator[Mapping[str, Source]]:
        return self.data.transactions(most)

    def bounds(self) -> Mapping[str, int]:
        return self.data.bounds()

    def cycles(self) -> int:
        return self.data.cycles()

    def take(self, stored: Blocks) -> None:
        self.stored.append(stored)

    def picture(self) -> np.ndarray:
        return self.data.picture(self.stored)


class PictureJob:
    """A compiled pipeline on its images.

    Parameters
    ----------
    compiled : CompiledDense
    data : Frames | Products
    expected : array           The result of NumPy, y first.
    about : function           Gives more of the report; it may take a second.
    """

    checks = "elements"

    def __init__(self, compiled: CompiledDense, data: Frames | Products, expected: np.ndarray,
                 about: Callable[[], Mapping[str, object]]) -> None:
        self.compiled, self.data, self.expected, self.about = compiled, data, expected, about
        self._found: np.ndarray | None = None

    def parts(self) -> Iterator[_Part]:
        if isinstance(self.data, Products):
            yield from self._runs(self.data)
            return
        part = _Part(self.data)
        yield part
        self._found = part.picture()

    def _runs(self, whole: Products) -> Iterator[_Part]:
        """The runs of a product, `width` terms each; the sums of one go into the next."""
        terms = whole.left.shape[1]
        sums = np.zeros((len(whole.right), len(whole.left)), np.uint16)
        for first in range(0, terms, whole.width):
            some = slice(first, first + whole.width)
            part = _Part(replace(whole, left=whole.left[:, some], right=whole.right[:, some],
                                 carry=None if whole.width >= terms else sums))
            yield part
            sums = part.picture()
        self._found = sums

    def check(self) -> tuple[np.ndarray, int]:
        assert self._found is not None, "a job is checked when all of its parts have run"
        value = self._found.astype(self.expected.dtype)
        wrong = int(np.count_nonzero(value != self.expected))
        assert not wrong, (f"{wrong} of {value.size} elements differ from NumPy, the first at "
                           f"{np.argwhere(value != self.expected)[0]}")
        return value, value.size

    def facts(self) -> Mapping[str, object]:
        return self.about()

    def useful(self) -> tuple[str, int]:
        return "element", self.expected.size

    def rate(self, run: Run, cycles: int) -> Mapping[str, object]:
        return {"elements_per_cycle": round(self.expected.size / cycles, 3),
                "words_in": f"{run.lying:,} as they lie in images, {run.arranged:,} arranged",
                "words_out": f"{run.placed:,} as they lie in images, {run.tiled:,} tile by tile"}


def picture_job(pipeline: Pipeline, images: Mapping[str, np.ndarray], wanted: Wanted, expected: np.ndarray,
                about: Mapping[str, object], tell: Callable[[str], None]) -> PictureJob:
    """Compile a pipeline for its images, a matrix product as one."""
    product = find(pipeline)
    with _in(product.name if product else pipeline.outputs[0]):
        make = _product(product, pipeline, images, wanted, tell) if product else _stencil(pipeline, images, wanted, tell)
    compiled, data, part, lanes = make
    return PictureJob(compiled, data, expected, lambda: {
        **about, "tiles": len(data), "tile": " x ".join(map(str, part)), **lanes()})


_Made = tuple[CompiledDense, Frames | Products, tuple[int, ...], Callable[[], Mapping[str, object]]]


def _stencil(pipeline: Pipeline, images: Mapping[str, np.ndarray], wanted: Wanted, tell: Callable[[str], None]) -> _Made:
    tell(LOWER)
    words = lower(pipeline, streams=len(wanted.arch.stream_tiles))
    asked = plan(pipeline, words.dims, tile=wanted.tile is None, lanes=wanted.lanes is None)
    lanes, size = wanted.lanes if wanted.lanes is not None else asked.lanes or 1, _sides(words, wanted.size)
    if wanted.tile is None and any(dim not in asked.sides for dim in words.dims):
        compiled, part = compile_picture(words, wanted.arch, size, lanes, wanted.seed, asked.sides, tell)
        sides: Sequence[int] = part
    else:
        sides = wanted.tile if wanted.tile is not None else [asked.sides[dim] for dim in words.dims]
        part = _part(size, sides, lanes)
        compiled = compile_words(words, wanted.arch, part, lanes, wanted.seed, tell)
    frames = Frames(compiled.walk, images, wanted.size, part,
                    {name: each.minimum for name, each in pipeline.inputs.items() if each.data is not None}, words.gathered)
    schedule = said(asked, words.dims, sides, lanes, (wanted.tile is not None, wanted.lanes is not None))
    return compiled, frames, part, lambda: {"lanes": _limited(lanes, limit(compiled.pes, wanted.arch, part)),
                                            "schedule": schedule, "selection": compiled.selection}


def _product(product: Product, pipeline: Pipeline, images: Mapping[str, np.ndarray], wanted: Wanted,
             tell: Callable[[str], None]) -> _Made:
    dims, size = pipeline.funcs[product.name].args, wanted.size
    asked = plan(pipeline, dims, tile=wanted.tile is None, lanes=wanted.lanes is None, taken=product.reduced)
    lanes = wanted.lanes if wanted.lanes is not None else asked.lanes or 1
    sides = wanted.tile if wanted.tile is not None else [asked.sides.get(dim) for dim in dims]
    part = tile_of(product, lanes, size, sides, wanted.arch)
    weights = weights_of(product, lanes, part[1], size[1], wanted.arch)
    compiled = compile_product(product, wanted.arch, weights, part[1], wanted.seed, tell)
    left, right = (factor_matrix(images[factor.image], factor, product) for factor in (product.left, product.right))
    whole = Products(compiled.walk, left[:size[0]], right[:size[1]], product.name, lanes, part[1],
                     product.products * compiled.walk.grid.extents[0], weights)
    schedule = said(asked, dims, part, lanes, (wanted.tile is not None, wanted.lanes is not None))
    return compiled, whole, part, lambda: {"lanes": _limited(lanes, product_limit(product, wanted.arch)),
                                           "schedule": f"{product.products} terms at once; {schedule}",
                                           **({"turned": how} if (how := turned(product, weights)) else {}),
                                           **({"joined": why} if (why := apart(lanes, weights.steps)) else {})}


def _limited(lanes: int, most: Limit) -> str:
    return f"{lanes} of at most {most.lanes}: {most.why}"


def _sides(words: WordGraph, size: Sequence[int]) -> list[int]:
    """The result in the dimensions of the grid."""
    plane = next(iter(words.outputs.values())).plane
    return [side for side, at in zip(size, plane, strict=True) if at is None]


def _part(size: Sequence[int], tile: Sequence[int], lanes: int) -> tuple[int, ...]:
    """The tile, no larger than a result needs it to be."""
    whole = -(-size[0] // max(1, lanes)) * max(1, lanes), *size[1:]
    # A wrong number of sizes is refused by the compiler.
    return tuple(map(min, tile, whole)) if len(tile) == len(whole) else tuple(tile)


@contextmanager
def _in(func: str) -> Iterator[None]:
    """Let refusals name the Func: what only a block or nothing names is of the output."""
    try:
        yield
    except UserError as failure:
        if not failure.where.startswith("Func"):
            failure.where = ", ".join(filter(None, (f"Func {func}", failure.where)))
        raise
