"""Words that come into the global buffer as they lie, and arranged: of a product of a sparse and a dense matrix, of pictures,
of products of dense matrices.

    python scripts/bench_lying.py FOLDER      with west2021.mtx.gz of SuiteSparse
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import halide as hl
import numpy as np
import skimage.data
from bench_row import Given, Left, Row

import sardonyx.halide
from sardonyx import together
from sardonyx.apps.dense import gaussian
from sardonyx.compiler.lang.einsum import parse
from sardonyx.compiler.sparse.fuse import alone
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.cgra import Arch
from sardonyx.outcome import silent
from sardonyx.picture_job import PictureJob, Wanted
from sardonyx.runtime.firmware import Job
from sardonyx.runtime.plan import launches, loops_of_transactions
from sardonyx.runtime.works import Transaction
from sardonyx.sim import system
from sardonyx.statements import job_of
from sardonyx.tensors.coordinates import Coo
from sardonyx.tensors.files import read_tensor
from sardonyx.tensors.values import random_tensor

MATRIX, COLUMNS = "west2021", 32
MOST = 0.5
WHAT = (f"`{MATRIX}` times a dense matrix of {COLUMNS} columns on `sparse`: words that come, as the dense one lies / copied "
        "sub-tile by sub-tile; seconds of the host for each")
PRODUCTS = ((64, 64, 64), (64, 40, 64), (60, 60, 60))
SIDE, TILES = 128, ((16, 16), (10, 10))


def lying(given: Given) -> Iterator[Row | Left]:
    """Words of all launches; nothing is simulated."""
    place = given.data and given.data / f"{MATRIX}.mtx.gz"
    if place is None or not place.is_file():
        yield Left(WHAT, f"needs DATA=folder with {MATRIX}.mtx.gz")
        return
    left = read_tensor(place, "small")
    data = {"A": left, "B": random_tensor((left.shape[1], COLUMNS), 1.0, 0)}
    (there, took), (copied, before) = (_moved(data, listed) for listed in (True, False))
    yield Row(WHAT, f"{there:,} / {copied:,} = {there / copied:.2f}; {took:.2f}, {before:.2f}", f"<= {MOST}",
              there <= MOST * copied)


def _moved(data: dict[str, Coo], listed: bool) -> tuple[int, float]:
    """Words that come, and processor time of the plan of all launches."""
    arch = presets.get("sparse")
    arch = replace(arch, glb=replace(arch.glb, listed=listed))
    job = job_of(alone(parse("X(i,j) = A(i,k) * B(k,j)", "ikj", {"B": "dd"})), data, arch).compiles(silent, None)
    began = time.process_time()
    found = [each.lying + each.arranged for each in launches(job.compiled.program, arch, job.transactions(1), job.bounds())]
    return int(np.sum(found)), time.process_time() - began


def pictures() -> Iterator[Row]:
    """A picture in small tiles behind a processor, from the first command to the last word outside: with words as they lie, in
    launches of a row of tiles, and with words that the host has arranged before, in launches of all that has room."""
    image = np.ascontiguousarray(skimage.data.camera()[:SIDE + 2, :SIDE + 2])
    photo = sardonyx.halide.prepared(gaussian.build(), {"photo": image}, None, {}, silent)
    queued = together.demo_arch()
    for arch, how in ((replace(queued, glb=replace(queued.glb, queue=False)), "without queues"), (queued, "with queues")):
        for tile in TILES:
            job = photo.job(Wanted(photo.size, tile, None, arch, 0), silent)
            data = next(iter(job.parts()))
            given = [*data.transactions(loops_of_transactions(arch.glb))]
            there = _spent(job, arch, given)
            arranged = _spent(job, arch, [{name: stream.apart for name, stream in one.items()} for one in given])
            yield Row(f"gaussian in tiles of {tile[0]} x {tile[1]} on `small` behind a processor, {how}: cycles with words as "
                      "they lie / with words that the host has arranged before", f"{there:,} / {arranged:,} = "
                      f"{there / arranged:.3f}", "<= 1", there <= arranged)


def products() -> Iterator[Row]:
    """Products of matrices by four columns and terms behind a processor: with the second factor as NumPy has it, and turned
    before by the host, which a program can say, too."""
    random = np.random.default_rng(0)
    for rows, terms, columns in PRODUCTS:
        a, b = (random.integers(-99, 99, shape, dtype=np.int16) for shape in ((rows, terms), (terms, columns)))
        there, before = (_product(a, matrix, turned) for matrix, turned in ((b, False), (np.ascontiguousarray(b.T), True)))
        yield Row(f"{rows} x {terms} times {terms} x {columns} on `small` behind a processor, with queues: cycles with the "
                  "second factor as it lies / turned by the host before",
                  f"{there:,} / {before:,} = {there / before:.3f}", "<= 1",
                  there <= before)


def _product(a: np.ndarray, b: np.ndarray, turned: bool) -> int:
    """Cycles of a product."""
    x, y, r = hl.Var("x"), hl.Var("y"), hl.RDom([(0, a.shape[1])], "r")
    left, right, out = hl.ImageParam(hl.Int(16), 2, "left"), hl.ImageParam(hl.Int(16), 2, "right"), hl.Func("out")
    out[x, y] = hl.i16(0)
    out[x, y] += (left[r, x] if turned else left[x, r]) * right[r, y]
    outer, inner = hl.RVar("outer"), hl.RVar("inner")
    out.update().unroll(x, 4).split(r, outer, inner, 4).unroll(inner)
    found, arch = sardonyx.halide.prepared(out, {"left": b, "right": a}, None, {}, silent), together.demo_arch()
    job = found.job(Wanted(found.size, None, None, arch, 0), silent)
    return _spent(job, arch, [*next(iter(job.parts())).transactions(loops_of_transactions(arch.glb))])


def _spent(job: PictureJob, arch: Arch, given: Sequence[Transaction]) -> int:
    """Cycles from the first command of a picture to its last word outside; every element is compared with NumPy."""
    part = next(iter(job.parts()))
    ran = system.run_jobs([Job("picture", job.compiled.program, given, part.bounds())], [part.take], arch, silent)
    assert np.array_equal(part.picture().astype(job.expected.dtype), job.expected), "the picture is that of NumPy"
    return ran.left(0) - ran.spans(0, "configure")[0][0]


if __name__ == "__main__":
    for row in (*pictures(), *products()):
        print(row.line())
    for each in lying(Given(Path(sys.argv[1]))):
        print(each.line() if isinstance(each, Row) else f"{each.what}: {each.why}")
