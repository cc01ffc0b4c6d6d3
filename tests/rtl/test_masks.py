"""Programs around holes, in generated Verilog: alone and in a region beside another, whose words are its own."""

from dataclasses import replace

import numpy as np
import pytest
from machines import BENCH

import sardonyx
from sardonyx.avoid import avoiding
from sardonyx.compiler.einsum import compile_einsum
from sardonyx.compiler.lang.kernel import load_kernel
from sardonyx.compiler.sparse.tiling import tile
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.mask import Mask
from sardonyx.runtime.data.sub_tiles import Work
from sardonyx.runtime.session import Session
from sardonyx.sim.rtl import simulator
from sardonyx.tensor_job import TensorJob
from sardonyx.tensors.values import random_tensor

# The machine of test_memories.py, so that it is built once: a chip with defects in its eastern half.
CHIP = replace(BENCH, name="chip", columns=12, rows=5, regions=2, memory_readback=True, mem=replace(BENCH.mem, sram_lines=64),
               avoid=Mask(((7, 2), (8, 4), (9, 1), (10, 3), (11, 5))))


def job(arch, seed: int) -> TensorJob:
    program = load_kernel("vec_elemmul").einsum()
    operands = {name: random_tensor((300,), 0.5, seed + number) for number, name in enumerate("bc")}
    return TensorJob(compile_einsum(program, arch, seed), operands, Work(tile(program, operands, arch.mem.level_words)))


@pytest.mark.parametrize("seed", range(2))
def test_a_region_with_holes_has_its_words_while_another_runs(seed: int) -> None:
    draw = np.random.default_rng(seed)
    with simulator.whole_machine(CHIP).start(check=True) as machine:
        session = Session(machine, [6, 6])
        west, east = session.regions
        assert west.arch.avoid == Mask() and east.arch.avoid.tiles == tuple((x - 6, y) for x, y in CHIP.avoid.tiles)
        holes = [(int(draw.integers(6)), int(draw.integers(2, 6))) for _ in range(3)]
        long = job(avoiding(west.arch, holes), seed)
        assert not long.compiled.program.config.keys() & set(holes)
        session.load(0, long.compiled.program)
        session.run(0, long.transactions(1), long.bounds())
        more, launches = (int(draw.integers(6)), 5), []
        while session.busy(0) and len(launches) < 3:
            found = sardonyx.kernel("vec_elemmul", size=40, arch=east.arch, engine=east, seed=len(launches), avoid=[more])
            launches.append(found.report["launches"])
        assert launches, "both regions had work at once"
        for outcome in session.wait(0):
            for stored in outcome.stored:
                long.take(stored)
        long.check()


def test_a_program_that_was_compiled_without_the_holes_of_a_region_is_refused_there_and_runs_elsewhere() -> None:
    with simulator.whole_machine(CHIP).start() as machine, Session(machine, [6, 6]) as session:
        free = job(session.regions[0].arch, 0)
        taken = {(x + 6, y) for x, y in free.compiled.program.config} & set(CHIP.avoid.tiles)
        assert taken, "or this tests nothing"
        with pytest.raises(UserError, match=r"the program uses tile .*, to be avoided there"):
            session.load(1, free.compiled.program)
        session.load(0, free.compiled.program)
        # As it was compiled for the holes it runs in either region.
        masked = job(session.regions[1].arch, 0)
        for region in (0, 1):
            session.load(region, masked.compiled.program)
