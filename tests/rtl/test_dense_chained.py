"""Launches of a dense program in one run, in Verilog: tiles follow each other from launch to launch as they do in one."""

import random
from dataclasses import replace
from typing import Any

import halide as hl
import numpy as np
import pytest
from halide_programs import X, Y, load
from stencil_machine import STENCILS

from sardonyx.apps.dense import gaussian
from sardonyx.compiler.halide import compile_halide
from sardonyx.hw.arch.soc import FLUSH_CYCLES
from sardonyx.runtime import batches, host
from sardonyx.runtime.batches import LEAST_CYCLES
from sardonyx.runtime.data.frames import Frames
from sardonyx.runtime.plan import launches, loops_of_transactions
from sardonyx.sim.golden.halide import realize
from sardonyx.sim.rtl import simulator

ARCH = replace(STENCILS, name="queued stencils", glb=replace(STENCILS.glb, queue=True))
SHAPE, TILE = (80, 60), (20, 20)
POINTS = (TILE[0] + 2) * (TILE[1] + 2)


class Late:
    """A machine whose host does nothing for some cycles now and then."""

    def __init__(self, machine: Any, seed: int) -> None:
        self._machine, self._draw = machine, random.Random(seed)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._machine, name)

    def write_register(self, name: str, value: int, *where: Any) -> None:
        if self._draw.random() < 0.1:
            self._machine.wait(self._draw.randrange(1, 900))
        self._machine.write_register(name, value, *where)


@pytest.fixture(scope="module")
def made() -> "tuple[Any, Frames, np.ndarray]":
    photo = hl.ImageParam(hl.UInt(8), 2, "photo")
    images = {"photo": np.random.default_rng(1).integers(0, 256, (SHAPE[1] + 2, SHAPE[0] + 2), dtype=np.uint8)}
    pipeline = load(gaussian.build(photo))
    compiled = compile_halide(pipeline, ARCH, TILE)
    return compiled.program, Frames(compiled.walk, images, SHAPE, TILE), realize(pipeline, images, SHAPE[::-1])


def run(made: "tuple[Any, Frames, np.ndarray]", wrap: Any = lambda machine: machine,
        tiles: "int | None" = None) -> "list[host.Outcome]":
    """Compute a picture and compare it; tiles: of the last run, by default all."""
    program, whole, expected = made
    transactions = list(whole.transactions(loops_of_transactions(ARCH.glb)))
    with simulator.whole_machine(ARCH).start(check=True) as machine:
        found = list(host.run(wrap(machine), program, transactions, chained=True))
        assert machine.read_register("runs_done") == (tiles or len(transactions)) and not machine.read_register("hold")
    picture = whole.picture(each for one in found for each in one.stored)
    np.testing.assert_array_equal(picture.astype(expected.dtype), expected)
    return found


def test_a_tile_follows_that_of_another_launch_as_it_follows_one_of_its_own(made: "tuple[Any, Frames, np.ndarray]") -> None:
    found = run(made)
    counts = [len(one.stored) for one in found]
    assert counts == [1, 3, 4, 3, 1] and -(-LEAST_CYCLES // POINTS) == 3
    [alone] = [one.cycles for one in run(made_alone(made))]
    assert sum(one.cycles for one in found) == sum(counts) * alone + (sum(counts) - 1) * (FLUSH_CYCLES + 2)


def made_alone(made: "tuple[Any, Frames, np.ndarray]") -> "tuple[Any, Frames, np.ndarray]":
    """The first tile of the picture."""
    program, whole, expected = made
    images = {name: image[:TILE[1] + 2, :TILE[0] + 2] for name, image in whole.images.items()}
    return program, Frames(whole.walk, images, TILE, TILE), expected[:TILE[1], :TILE[0]]


def test_a_picture_of_more_launches_than_a_run_may_have_is_several_runs(made: "tuple[Any, Frames, np.ndarray]",
                                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    program, whole, _ = made
    monkeypatch.setattr(batches, "RUN_LIMIT", 3 * batches.LAUNCH_LIMIT)
    transactions = list(whole.transactions(loops_of_transactions(ARCH.glb)))
    joined = [each.joins for each in launches(program, ARCH, transactions, chained=True)]
    assert joined == [False, True, True, False, True]
    assert sum(one.cycles for one in run(made, tiles=4)) > 12 * POINTS


# Seeds by which the host is so late that the array waits.
@pytest.mark.parametrize("seed", (0, 2, 3))
def test_a_host_that_is_late_loses_no_word(seed: int, made: "tuple[Any, Frames, np.ndarray]") -> None:
    found = run(made, lambda machine: Late(machine, seed))
    assert sum(one.cycles for one in found) > 13 * POINTS, f"seed {seed}"


def test_the_streams_of_a_machine_with_queues_are_apart_and_their_launches_in_two_banks_in_turn(
        made: "tuple[Any, Frames, np.ndarray]") -> None:
    program, whole, _ = made
    assert len({each.column for each in program.transfers}) == len(program.transfers)
    given = launches(program, ARCH, whole.transactions(loops_of_transactions(ARCH.glb)), chained=True)
    banks = [{each.address // ARCH.glb.bank_bytes % ARCH.glb.banks for each in one.loads} for one in given]
    assert banks == [{number % 2} for number in range(5)]


def test_a_tile_that_takes_more_than_its_place_is_a_run_of_its_own(made: "tuple[Any, Frames, np.ndarray]") -> None:
    program, whole, _ = made
    small = replace(ARCH, glb=replace(ARCH.glb, bank_bytes=1024))
    given = list(launches(replace(program, transfers=tuple(replace(each, room=512) for each in program.transfers)), small,
                          whole.transactions(loops_of_transactions(ARCH.glb)), chained=True))
    assert [each.transactions for each in given] == [1] * 12 and not any(each.joins or each.goes_on for each in given)


@pytest.mark.parametrize("columns", [7, 10])
def test_a_run_may_end_while_the_launch_before_its_last_is_waited_for(columns: int) -> None:
    """Tiles of a column compute for twelve cycles, in which registers of the other launch are read."""
    photo = hl.ImageParam(hl.UInt(16), 2, "photo")
    narrow = hl.Func("narrow")
    narrow[X, Y] = photo[X, Y] * 3 + photo[X + 2, Y] + photo[X + 1, Y + 1] * 5
    images = {"photo": np.arange(2 * (columns + 2), dtype=np.uint16).reshape(2, columns + 2)}
    pipeline, tile = load(narrow), (1, 3)
    compiled = compile_halide(pipeline, ARCH, tile)
    run((compiled.program, Frames(compiled.walk, images, (columns, 1), tile), realize(pipeline, images, (1, columns))))
