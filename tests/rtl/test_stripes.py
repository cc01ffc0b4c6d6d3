"""Pictures in lanes in Verilog: stripes come and go as they lie in images, whatever sizes there are; nobody parts columns."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import halide as hl
import numpy as np
import pytest
from halide_programs import X, Y, load
from hypothesis import given, settings
from hypothesis import strategies as st
from stencil_machine import STENCILS
from test_dense_chained import Late
from test_stall import Restless, stalling

from sardonyx.compiler.halide import CompiledDense, compile_halide
from sardonyx.compiler.lang.halide.pipeline import Pipeline
from sardonyx.compiler.lang.halide.walk import bind
from sardonyx.hw.arch.cgra import Arch
from sardonyx.runtime import host
from sardonyx.runtime.data.frames import Frames
from sardonyx.runtime.host import Outcome
from sardonyx.runtime.plan import loops_of_transactions
from sardonyx.runtime.session import Session
from sardonyx.sim.golden.halide import realize
from sardonyx.sim.rtl import simulator

QUEUED = replace(STENCILS, name="queued stencils", glb=replace(STENCILS.glb, queue=True))
PHOTO = hl.ImageParam(hl.UInt(16), 2, "photo")


def program(value: Any, *loops: hl.Var) -> Pipeline:
    found = hl.Func("out")
    found[(X, Y, *loops)] = value
    for loop in loops:
        found.bound(loop, 0, 2)
    return load(found)


# Two rows and three columns: three PEs and a MEM tile a lane.
STENCIL = program(PHOTO[X, Y] * 3 + PHOTO[X + 2, Y] + PHOTO[X + 1, Y + 1] * 5)


def noise(width: int, height: int, seed: int) -> "dict[str, np.ndarray]":
    return {"photo": np.random.default_rng(seed).integers(0, 1 << 16, (height, width)).astype(np.uint16)}


def frames(compiled: CompiledDense, images: "dict[str, np.ndarray]", shape: Sequence[int], tile: Sequence[int]) -> Frames:
    return Frames(compiled.walk, images, tuple(shape), tuple(tile), gathered=compiled.words.gathered if compiled.words else {})


def equal(whole: Frames, outcomes: Iterable[Outcome], pipeline: Pipeline) -> None:
    expected = realize(pipeline, whole.images, whole.shape[::-1])
    picture = whole.picture(stored for one in outcomes for stored in one.stored)
    np.testing.assert_array_equal(picture.astype(expected.dtype), expected)


@pytest.mark.parametrize("arch", [STENCILS, QUEUED], ids=["a launch a row", "queued"])
@pytest.mark.parametrize("tile, lanes", [((2, 3), 2), ((10, 4), 2), ((16, 5), 2), ((21, 6), 3)],
                         ids=["a column each", "five", "eight", "seven each of three"])
def test_pictures_of_any_size_come_and_go_as_they_lie(arch: Arch, tile: "tuple[int, int]", lanes: int) -> None:
    """Also with fewer columns than lanes: the last stripes are beyond the picture."""
    compiled = compile_halide(STENCIL, arch, tile, lanes)

    @settings(max_examples=6)
    @given(st.integers(1, 60), st.integers(1, 24), st.integers(0, 9))
    def each(width: int, height: int, seed: int) -> None:
        whole = frames(compiled, noise(width + 2, height + 1, seed), (width, height), tile)
        transactions = list(whole.transactions(loops_of_transactions(arch.glb)))
        with simulator.whole_machine(arch).start(check=True) as machine:
            found = list(host.run(machine, compiled.program, transactions, chained=arch is QUEUED))
        equal(whole, found, STENCIL)
        assert all((one.arranged, one.tiled) == (0, 0) and one.lying and one.placed for one in found)

    each()


def test_a_row_of_tiles_of_each_stripe_is_a_launch_in_which_words_that_they_share_come_once() -> None:
    compiled = compile_halide(STENCIL, STENCILS, (16, 40), 2)
    whole = frames(compiled, noise(66, 41, 0), (64, 40), (16, 40))
    with simulator.whole_machine(STENCILS).start(check=True) as machine:
        [found] = host.run(machine, compiled.program, list(whole.transactions(loops_of_transactions(STENCILS.glb))))
    equal(whole, [found], STENCIL)
    # Two stripes of 34 columns in lines, of four tiles each.
    assert (len(found.stored), found.lying, found.placed) == (4, 2 * 36 * 41, 64 * 40)


@pytest.mark.parametrize("value, size, shape, tile", [
    # Where one element is computed for two columns of the image, which columns in turn would compute in vain.
    pytest.param(lambda: PHOTO[2 * X, 2 * Y] + PHOTO[2 * X + 1, 2 * Y + 1] * 3, (38, 14), (19, 7), (10, 4), id="smaller"),
    pytest.param(lambda: PHOTO[X // 2, Y] + PHOTO[X // 2 + 1, Y] * 3, (13, 7), (23, 7), (8, 4), id="twice as wide"),
    pytest.param(lambda: hl.BoundaryConditions.mirror_image(PHOTO)[X - 1, Y] + PHOTO[X, Y], (19, 7), (19, 7), (10, 4),
                 id="mirrored"),
    pytest.param(lambda: hl.select(X % 2 == 0, PHOTO[X, Y], PHOTO[X, Y] * 3), (19, 7), (19, 7), (10, 4),
                 id="every second column")])
def test_every_program_may_take_stripes(value: "Callable[[], Any]", size: "tuple[int, int]", shape: "tuple[int, int]",
                                        tile: "tuple[int, int]") -> None:
    images = noise(*size, seed=1)
    pipeline = bind(program(value()), {"photo": size})
    compiled = compile_halide(pipeline, STENCILS, tile, 2)
    whole = frames(compiled, images, shape, tile)
    with simulator.whole_machine(STENCILS).start(check=True) as machine:
        found = list(host.run(machine, compiled.program, list(whole.transactions(loops_of_transactions(STENCILS.glb)))))
    equal(whole, found, pipeline)
    assert not any(one.tiled for one in found)


def test_stripes_of_two_planes() -> None:
    colour, arch = hl.Var("c"), replace(STENCILS, name="wide stencils", columns=8)
    photo = hl.ImageParam(hl.UInt(16), 3, "photo")
    pipeline = program(photo[X, Y, colour] + photo[X + 1, Y, colour] * 3, colour)
    compiled = compile_halide(pipeline, arch, (14, 3), 2)
    images = {"photo": np.random.default_rng(3).integers(0, 1 << 16, (2, 7, 32)).astype(np.uint16)}
    whole = frames(compiled, images, (31, 7, 2), (14, 3))
    with simulator.whole_machine(arch).start(check=True) as machine:
        found = list(host.run(machine, compiled.program, list(whole.transactions(loops_of_transactions(arch.glb)))))
    equal(whole, found, pipeline)
    assert not any(one.arranged or one.tiled for one in found)
    # One for each plane, into which both lanes store.
    assert len({id(words.base) for one in found for each in one.stored for words in each.values()}) == 2


@pytest.mark.parametrize("seed", range(3))
def test_a_host_that_is_late_loses_no_word(seed: int) -> None:
    compiled = compile_halide(STENCIL, QUEUED, (22, 8), 2)
    whole = frames(compiled, noise(80, 31, seed), (78, 30), (22, 8))
    with simulator.whole_machine(QUEUED).start(check=True) as machine:
        found = list(host.run(Late(machine, seed), compiled.program,
                              list(whole.transactions(loops_of_transactions(QUEUED.glb))), chained=True))
    equal(whole, found, STENCIL)


# The build of a machine, half a minute.
@pytest.mark.slow
def test_stripes_have_their_words_while_columns_stand_still() -> None:
    arch = stalling(STENCILS)
    compiled = compile_halide(STENCIL, arch, (22, 8), 2)
    whole = frames(compiled, noise(80, 31, 0), (78, 30), (22, 8))
    transactions = list(whole.transactions(loops_of_transactions(arch.glb)))
    with simulator.whole_machine(arch).start(check=True) as machine:
        for seed in range(3):
            restless = Restless(machine, seed, whole=True)
            equal(whole, host.run(restless, compiled.program, transactions), STENCIL)
            assert restless.times


def test_two_regions_have_pictures_in_stripes_at_once() -> None:
    arch = replace(STENCILS, name="two halves", columns=8, regions=2)
    tiles = {0: (12, 5), 1: (18, 4)}
    compiled = {region: compile_halide(STENCIL, STENCILS, tile, 2 + region) for region, tile in tiles.items()}
    whole = {region: frames(compiled[region], noise(52, 20, region), (50 - 9 * region, 19), tile)
             for region, tile in tiles.items()}
    with simulator.whole_machine(arch).start() as machine, Session(machine, [4, 4]) as session:
        for region, each in compiled.items():
            session.load(region, each.program)
        for region, each in whole.items():
            session.run(region, list(each.transactions(loops_of_transactions(arch.glb))))
        for region, each in whole.items():
            equal(each, session.wait(region), STENCIL)
