"""A run begins anew, whatever the array did before: the flush in front of it is all that restarts controllers and register
files, and memories keep their words."""

import random
from dataclasses import replace

import halide as hl
import numpy as np
import pytest
from halide_programs import load
from stencil_machine import STENCILS

from sardonyx.apps.dense import gaussian
from sardonyx.compiler.backend.encode import address
from sardonyx.compiler.halide import compile_halide
from sardonyx.hw.arch.soc import FLUSH_CYCLES
from sardonyx.hw.configuration import word_bits
from sardonyx.runtime import host
from sardonyx.runtime.data.frames import Frames
from sardonyx.runtime.plan import loops_of_transactions
from sardonyx.sim.golden.halide import realize
from sardonyx.sim.rtl import simulator
from sardonyx.sim.rtl.machine import Machine

ARCH = replace(STENCILS, name="queued stencils", glb=replace(STENCILS.glb, queue=True))
SHAPE, TILE = (40, 20), (20, 20)
START, STOP = 1, 2


def wreck(machine: Machine, draw: random.Random) -> None:
    """Configure every register of the array at random, run that on random words, and stop it in the midst."""
    bits = {site: word_bits(ARCH.config_map(spec.kind)) for site, spec in ARCH.tiles.items()}
    machine.configure([(address(*site, register), draw.getrandbits(32) & (1 << bits[site][register]) - 1)
                       for site in ARCH.tiles for register in range(len(bits[site]))])
    for tile in range(ARCH.glb_tiles):
        machine.write_memory(tile * ARCH.glb.tile_bytes, np.array([draw.getrandbits(16) for _ in range(256)], np.uint16))
        for name in ("load_extent0", "load_extent1", "load_stride0", "store_limit", "store_extent0"):
            machine.write_register(name, draw.getrandbits(10), tile)
        for name in ("load_control", "store_control"):
            machine.write_register(name, draw.getrandbits(3) | 1, tile)
    machine.write_register("irq_enable", 0)
    machine.write_register("control", START)
    machine.wait(draw.randrange(50, 500))
    machine.write_register("control", STOP)


@pytest.mark.parametrize("seed", range(2))
def test_a_program_has_its_words_and_cycles_whatever_ran_before(seed: int) -> None:
    photo = hl.ImageParam(hl.UInt(8), 2, "photo")
    pipeline = load(gaussian.build(photo))
    images = {"photo": np.random.default_rng(seed).integers(0, 256, (SHAPE[1] + 2, SHAPE[0] + 2), dtype=np.uint8)}
    compiled = compile_halide(pipeline, ARCH, TILE)
    whole = Frames(compiled.walk, images, SHAPE, TILE)
    transactions, draw, cycles = list(whole.transactions(loops_of_transactions(ARCH.glb))), random.Random(seed), []
    with simulator.whole_machine(ARCH).start(check=True) as machine:
        for _ in range(4):
            for given in (transactions[:1], transactions):
                found = list(host.run(machine, compiled.program, given, chained=True))
                cycles.append(sum(one.cycles for one in found))
            picture = whole.picture(each for one in found for each in one.stored)
            np.testing.assert_array_equal(picture.astype(np.uint8), realize(pipeline, images, SHAPE[::-1]))
            wreck(machine, draw)
    alone, both = cycles[:2]
    assert both == 2 * alone + FLUSH_CYCLES + 2 <= 2 * alone + 16, "a flush is all that is between tiles"
    assert cycles == [alone, both] * 4
