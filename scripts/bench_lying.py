"""Words that come into the global buffer for a product of a sparse and a dense matrix: as the dense one lies, and copied.

    python scripts/bench_lying.py FOLDER      with west2021.mtx.gz of SuiteSparse
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from bench_row import Given, Left, Row

from sardonyx.compiler.lang.einsum import parse
from sardonyx.compiler.sparse.fuse import alone
from sardonyx.hw.arch import presets
from sardonyx.outcome import silent
from sardonyx.runtime.plan import launches
from sardonyx.statements import job_of
from sardonyx.tensors.coordinates import Coo
from sardonyx.tensors.files import read_tensor
from sardonyx.tensors.values import random_tensor

MATRIX, COLUMNS = "west2021", 32
MOST = 0.5
WHAT = (f"`{MATRIX}` times a dense matrix of {COLUMNS} columns on `sparse`: words that come, as the dense one lies / copied "
        "sub-tile by sub-tile; seconds of the host for each")


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


if __name__ == "__main__":
    for each in lying(Given(Path(sys.argv[1]))):
        print(each.line() if isinstance(each, Row) else f"{each.what}: {each.why}")
