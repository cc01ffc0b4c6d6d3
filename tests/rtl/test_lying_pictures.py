"""Pictures of several rows of small tiles in Verilog: words come and go as they lie in images, whatever sizes there are."""

from dataclasses import replace

import halide as hl
import numpy as np
import pytest
from halide_programs import load
from hypothesis import given, settings
from hypothesis import strategies as st
from stencil_machine import STENCILS

from sardonyx.apps.dense import gaussian
from sardonyx.compiler.halide import compile_halide
from sardonyx.hw.arch.cgra import Arch
from sardonyx.runtime import host
from sardonyx.runtime.data.frames import Frames
from sardonyx.runtime.plan import loops_of_transactions
from sardonyx.sim.golden.halide import realize
from sardonyx.sim.rtl import simulator

PIPELINE = load(gaussian.build(hl.ImageParam(hl.UInt(8), 2, "photo")))
QUEUED = replace(STENCILS, name="queued stencils", glb=replace(STENCILS.glb, queue=True))


@pytest.mark.parametrize("arch, tile", [(STENCILS, (8, 6)), (STENCILS, (10, 7)), (QUEUED, (10, 7))],
                         ids=["two lines", "two lines and a half", "two lines and a half, queued"])
def test_tiles_of_several_rows_are_walked_where_they_lie(arch: Arch, tile: "tuple[int, int]") -> None:
    compiled = compile_halide(PIPELINE, arch, tile)

    @settings(max_examples=8)
    @given(st.integers(1, 40), st.integers(1, 30), st.integers(0, 9))
    def each(width: int, height: int, seed: int) -> None:
        images = {"photo": np.random.default_rng(seed).integers(0, 256, (height + 2, width + 2), dtype=np.uint8)}
        whole = Frames(compiled.walk, images, (width, height), tile)
        transactions = list(whole.transactions(loops_of_transactions(arch.glb)))
        with simulator.whole_machine(arch).start(check=True) as machine:
            found = list(host.run(machine, compiled.program, transactions, chained=arch is QUEUED))
        picture = whole.picture(stored for one in found for stored in one.stored)
        np.testing.assert_array_equal(picture.astype(np.uint8), realize(PIPELINE, images, (height, width)))
        assert all((one.arranged, one.tiled) == (0, 0) and one.lying and one.placed for one in found)

    each()
