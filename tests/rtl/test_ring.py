"""Machines in generated Verilog whose streams reach banks of several GLB tiles."""

from dataclasses import replace

import halide as hl
import numpy as np
import pytest
from collect import ran
from halide_programs import X, Y, load
from machines import KERNELS
from stencil_machine import STENCILS
from test_static import ARCH, STENCIL_LATENCY, expected, run, start, stencil

import sardonyx
from sardonyx.apps.dense import gaussian
from sardonyx.compiler.halide import compile_halide
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.glb import HYBRID
from sardonyx.hw.arch.soc import FINISHED, STORE_LOST, glb_registers, named
from sardonyx.runtime.data.frames import Frames
from sardonyx.sim.golden.halide import realize
from sardonyx.sim.rtl.machine import Machine

# Three tiles of 512 words, of two columns each.
CHAINED = replace(ARCH, name="chained", columns=6, glb=replace(ARCH.glb, columns_per_tile=2, ring=3, clock_gating=HYBRID))
LATE = replace(CHAINED, glb=replace(CHAINED.glb, bank_macros=2, read_latency=3, clock_gating="none"))
TILE = CHAINED.glb.tile_bytes
PICTURES = replace(STENCILS, name="chained stencils", glb=replace(STENCILS.glb, bank_bytes=1024, ring=4))
# Length of the chain, words of the load, its first byte and that of the store: from bank to bank, from tile to tile.
CASES = (1, 80, 0, 512), (2, 400, 600, 0), (3, 700, 2, TILE + 518), (3, 6, 2 * TILE - 2, TILE + 512)


def chain(machine: Machine, length: int, first: int = 0) -> None:
    """Make a chain of so many tiles, and none of the others."""
    control = named(glb_registers(machine.arch.glb))["ring_control"]
    for tile in range(machine.arch.glb_tiles):
        word = control.word(connected=int(first < tile < first + length), hops=(length - 1) * (tile == first))
        machine.write_register("ring_control", word, tile)


def streams(machine: Machine, at: int, count: int, to: int, stored: int) -> None:
    """A linear load of tile 0 to column 0, and a static store from column 1."""
    for name, value in (("load_control", 1), ("load_start", at), ("load_extent0", count - 1), ("load_stride0", 2),
                        ("store_control", 1 | 1 << 2 | 1 << 8), ("store_start", to), ("store_limit", stored),
                        ("store_extent0", stored - 1), ("store_stride0", 2)):
        machine.write_register(name, value, 0)


@pytest.mark.parametrize("arch,full", [(CHAINED, True), (LATE, True), (CHAINED, False)],
                         ids=["reconfigurable", "with a late global buffer", "folded"])
def test_a_static_program_streams_out_of_and_into_several_tiles_in_its_cycles(arch: Arch, full: bool) -> None:
    """One tile, two and three: the schedule is the same."""
    first = arch.glb.load_start_cycle + STENCIL_LATENCY + 5
    program = stencil(arch, first - 6)
    with start(arch, program, full) as machine:
        for seed, (length, count, at, to) in enumerate(CASES):
            chain(machine, length)
            x = np.random.default_rng(seed).integers(0, 1 << 16, count).astype(np.uint16)
            before = machine.read_memory(0, 3 * TILE // 2)
            before[at // 2:][:count] = x
            machine.write_memory(0, before)
            streams(machine, at, count, to, count - 5)
            assert run(machine, program, full) == 1 << FINISHED
            before[to // 2:][:count - 5] = expected(x)
            np.testing.assert_array_equal(machine.read_memory(0, 3 * TILE // 2), before)
            # What is stored last is on its way when the last word was taken.
            over = machine.read_register("cycles") - (arch.glb.load_start_cycle + STENCIL_LATENCY + count)
            assert 2 <= over <= 2 + arch.glb.ring


def test_a_store_beyond_a_chain_ends_the_run() -> None:
    program = stencil(CHAINED, CHAINED.glb.load_start_cycle + STENCIL_LATENCY - 1)
    with start(CHAINED, program, True) as machine:
        chain(machine, 2)
        machine.write_memory(0, np.zeros(3 * TILE // 2, np.uint16))
        streams(machine, 0, 80, 2 * TILE - 20, 75)
        assert run(machine, program, True) == 1 << STORE_LOST
        assert machine.read_memory(2 * TILE, TILE // 2).tolist() == [0] * (TILE // 2)


def test_a_picture_in_tiles_larger_than_a_bank() -> None:
    """A tile of it in a launch, in halves of the chains in turn."""
    arch = PICTURES
    pipeline = load(gaussian.build(hl.ImageParam(hl.UInt(8), 2, "photo")))
    images = {"photo": np.random.default_rng(1).integers(0, 256, (47, 62), dtype=np.uint8)}
    expected = realize(pipeline, images, (45, 60))
    apart, shared = (compile_halide(pipeline, arch, (30, 20), seed=seed) for seed in (0, 2))
    assert [(each.tiles, each.count, each.room) for each in apart.program.transfers] == [(2, 704, 2048), (2, 600, 2048)]
    assert [(each.column, each.tiles, each.room) for each in shared.program.transfers] == [(2, 2, 1024)] * 2
    cycles = []
    for engine, compiled in (("rtl-full", shared), ("rtl-full", apart), ("rtl", apart)):
        whole = Frames(compiled.walk, images, (60, 45), (30, 20))
        stored, run = ran(engine, compiled, whole)
        np.testing.assert_array_equal(whole.picture(stored).astype(expected.dtype), expected, err_msg=engine)
        assert run.launches == 6 and run.cycles is not None
        cycles.append(run.cycles)
    assert cycles[1] == cycles[2] and all(704 < each / 6 < 704 + 100 for each in cycles)


def test_a_picture_that_is_stored_as_fast_as_it_is_loaded_from_the_same_chain() -> None:
    """Were they in one bank, the store, which cannot wait, would lose words."""
    photo, larger = hl.ImageParam(hl.UInt(8), 2, "photo"), hl.Func("larger")
    larger[X, Y] = photo[X // 2, Y // 2]
    images = {"photo": np.random.default_rng(2).integers(0, 256, (20, 30), dtype=np.uint8)}
    compiled = compile_halide(load(larger), PICTURES, (30, 20))
    assert [(each.column, each.tiles, each.count) for each in compiled.program.transfers] == [(2, 2, 600)] * 2
    whole = Frames(compiled.walk, images, (60, 40), (30, 20))
    stored, _ = ran("rtl-full", compiled, whole)
    np.testing.assert_array_equal(whole.picture(stored), images["photo"].repeat(2, 0).repeat(2, 1))


def test_blocks_larger_than_a_bank() -> None:
    draw = np.random.default_rng(1)
    b, c = (np.zeros(480, np.int64) for _ in range(2))
    for vector, count in ((b, 350), (c, 100)):
        vector[draw.permutation(480)[:count]] = draw.integers(1, 9, count)
    arch = replace(KERNELS, name="chained kernels", glb=replace(KERNELS.glb, bank_bytes=512, ring=8))
    result = sardonyx.einsum("x(i) = b(i) * c(i)", b=b, c=c, arch=arch, engine="rtl", tile=480)
    np.testing.assert_array_equal(result.value, b * c)
    alone = replace(arch, glb=replace(arch.glb, ring=1))
    with pytest.raises(UserError, match="a block of stream b0 takes 354 words but a bank of the global buffer holds 256"):
        sardonyx.einsum("x(i) = b(i) * c(i)", b=b, c=c, arch=alone, engine="rtl", tile=480)
    # Left to itself the compiler cuts them so that they fit.
    assert sardonyx.einsum("x(i) = b(i) * c(i)", b=b, c=c, arch=alone, engine="tokens").report["sub_tiles"] > 1
