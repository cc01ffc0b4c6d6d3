"""Firmware that saves what memories hold and restores it, in Verilog: a program interrupted by another one in its region."""

from collections.abc import Sequence
from dataclasses import replace

import halide as hl
import numpy as np
import pytest
from halide_programs import X, Y, load
from machines import BESIDE, PART, copier
from riscv import needs_compiler
from stencil_machine import STENCILS

from sardonyx.compiler.halide import CompiledDense, compile_halide
from sardonyx.compiler.ir.program import Program, Site
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.system import System
from sardonyx.runtime import host, memories
from sardonyx.runtime.data.frames import Frames
from sardonyx.runtime.firmware import Job, firmware
from sardonyx.runtime.plan import loops_of_transactions, prepare
from sardonyx.runtime.region import part
from sardonyx.runtime.session import Session
from sardonyx.runtime.works import Transaction
from sardonyx.sim import system
from sardonyx.sim.rtl import simulator

# What three MEM tiles of 64 lines hold, as words of configuration.
KEPT = 3 * 64 * 16
# Two regions of four columns, two of them of three MEM tiles, where streams beside the first ones have banks of two GLB tiles.
TABLES = replace(STENCILS, name="tables", columns=8, mem_every=2, regions=2, memory_readback=True,
                 glb=replace(STENCILS.glb, kept_bytes=2 * KEPT, ring=2),
                 mem=replace(STENCILS.mem, sram_lines=64), system=System(processor=True, ram_bytes=16384, serial_cycles=4))
WHOLE = replace(TABLES, name="one region", columns=4, regions=1)
HALF = part(TABLES, 4)
SHAPE, TILE = (14, 8), (7, 4)


def looked_up(seed: int, arch: Arch = HALF) -> "tuple[CompiledDense, Frames, np.ndarray]":
    """A picture through a table of random words: compiled, its tiles, and what NumPy makes of it."""
    draw = np.random.default_rng(seed)
    photo, table = draw.integers(0, 256, SHAPE[::-1], dtype=np.uint8), draw.integers(0, 65536, 256, dtype=np.uint16)
    curve, image, mapped = hl.Buffer(table), hl.ImageParam(hl.UInt(8), 2, "photo"), hl.Func("mapped")
    mapped[X, Y] = curve[hl.i32(image[X, Y])]
    compiled = compile_halide(load(mapped), arch, TILE)
    return compiled, Frames(compiled.walk, {"photo": photo}, SHAPE, TILE), table[photo]


def pieces(frames: Frames) -> "list[Transaction]":
    return list(frames.transactions(loops_of_transactions(TABLES.glb)))


def ran(jobs: Sequence[Job], arch: Arch, columns: Sequence[int]) -> "tuple[system.Ran, list[list[dict[str, np.ndarray]]]]":
    stored: list[list[dict[str, np.ndarray]]] = [[] for _ in jobs]
    takes = [lambda blocks, each=each: each.append(dict(blocks)) for each in stored]
    return system.run_jobs(jobs, takes, arch, lambda stage: None, columns=columns), stored


def test_memories_that_a_program_fills_without_being_configured_for_them_are_kept_by_jobs_that_resume() -> None:
    """Programs that a host has saved have such contents."""
    one, first, _ = looked_up(1)
    spare = next(site for site, words in memories.memories(WHOLE, one.program).items() if site not in one.program.config)
    program = replace(one.program, contents={**one.program.contents, spare: (1, 2)})
    made = firmware([Job("one", program, pieces(first)[:2], {}, keeps=True),
                     Job("rest", program, pieces(first)[2:], {}, keeps=True, resumes=0)], WHOLE, 1 << 20)
    tile = spare[0] // WHOLE.glb.columns_per_tile
    kept = [each for each in memories.places(program, WHOLE) if each.glb_tile == tile]
    restored = f"SARDONYX_GLB({tile}) + SARDONYX_GLB_CONFIG_WORDS, {sum(each.pairs for each in kept):#x}u"
    assert restored in made.commands[made.commands.index("/* 1: rest */"):]
    assert made.saved[1].keys() == memories.used(WHOLE, program).keys() > memories.used(WHOLE, one.program).keys()


@needs_compiler
@pytest.mark.parametrize("arch, columns, region", [
    (TABLES, (4, 4), 1),
    pytest.param(WHOLE, (), None, marks=pytest.mark.slow)],
    ids=["regions", "one region"])
def test_a_program_that_another_one_interrupts_has_its_memories_again(arch: Arch, columns: "tuple[int, ...]",
                                                                      region: "int | None") -> None:
    """The other has a table of its own where the first one's was. What is kept is what a host saves there."""
    (one, first, expected), (other, second, others) = looked_up(1), looked_up(2)
    assert [(each.tiles, each.bank) for each in one.program.transfers] == [(2, 0), (2, HALF.glb.banks)], "a chain"
    begun, rest = pieces(first)[:2], pieces(first)[2:]
    jobs = [Job("one", one.program, begun, {}, region, keeps=True), Job("other", other.program, pieces(second), {}, region),
            Job("rest", one.program, rest, {}, region, keeps=True, resumes=0)]
    done, stored = ran(jobs, arch, columns)
    done.check()
    np.testing.assert_array_equal(first.picture([*stored[0], *stored[2]]), expected)
    np.testing.assert_array_equal(second.picture(stored[1]), others)
    assert done.saved.keys() == {2}, "what is resumed stays in the global buffer"
    tables = {words[:256] for words in done.saved[2].contents.values()}
    assert {each[:256] for each in one.program.contents.values()} <= tables, "its table, wherever it stands"
    with simulator.whole_machine(replace(TABLES, system=System())).start() as machine:
        session = Session(machine, [4, 4])
        session.load(1, other.program)      # so that what the first one does not touch is not of the reset
        session.load(1, one.program)
        session.run(1, begun)
        session.wait(1)
        kept = session.save(1)
    for site, words in one.program.contents.items():
        assert kept.contents[site][:len(words)] == done.saved[2].contents[site][:len(words)] == words


def test_memories_of_two_programs_are_kept_in_the_global_buffer_and_come_from_there_whoever_ran_meanwhile() -> None:
    """Words of a memory go and come two a cycle, by commands that are those of firmware; the host reads them by itself."""
    one, other = looked_up(3)[0].program, looked_up(4)[0].program
    with simulator.whole_machine(replace(TABLES, system=System())).start() as machine:
        view = Session(machine, [4, 4]).regions[1]

        def words() -> "dict[Site, list[int]]":
            return {site: memories.held(view, site).tolist() for site in memories.memories(HALF, one)}

        def used(program: Program) -> "dict[Site, list[int]]":
            return {site: held for site, held in words().items() if site in memories.used(HALF, program)}

        there = {}
        for at, program in ((0, one), (KEPT, other)):
            host.execute(view, prepare(program, HALF))
            there[at] = used(program)
            host.execute(view, memories.saves(program, HALF, at))
            assert 0 < view.read_register("config_cycles") - HALF.mem.buffer_words // 2 <= 8
        assert 0 < len(there[0]) < len(words()) and there[0] != there[KEPT]
        for at, program in ((0, one), (KEPT, other), (0, one)):
            host.execute(view, prepare(replace(program, contents={}), HALF))
            host.execute(view, memories.restores(program, HALF, at))
            assert 0 < view.read_register("config_cycles") - len(there[at]) * HALF.mem.buffer_words // 2 <= 8
            assert used(program) == there[at]
            assert {site: [*each] for site, each in memories.saved(view, program, at).contents.items()} == words()


@pytest.mark.slow
def test_a_program_on_onyx_has_its_table_again_from_the_banks_of_its_region() -> None:
    """And all memories of half of it are saved, whose columns take a bank whole: in two rounds."""
    onyx = presets.get("onyx")
    arch = replace(onyx, regions=2, memory_readback=True, glb=replace(onyx.glb, kept_bytes=onyx.glb.bank_bytes // 2))
    half = part(arch, arch.glb_tiles // 2)
    with simulator.whole_machine(arch).start() as machine, Session(machine, [16, 16]) as session:
        def computes(frames: Frames, expected: np.ndarray) -> None:
            session.run(1, pieces(frames))
            stored = [each for launch in session.wait(1) for each in launch.stored]
            np.testing.assert_array_equal(frames.picture(stored), expected)

        (one, *first), (other, *second) = (looked_up(seed, half) for seed in (6, 7))
        session.load(1, one.program)
        computes(*first)
        before, kept = session.save(1).contents, session.keep(1)
        assert len(before) == 64 and all(len(words) == 2048 for words in before.values())
        session.load(1, other.program)
        computes(*second)
        assert session.save(1).contents != before
        session.load(1, kept)
        computes(*first)
        table, = one.program.contents
        assert session.save(1).contents[table] == before[table]


def test_memories_that_have_no_room_in_the_global_buffer_are_not_kept() -> None:
    program, fixed = looked_up(5)[0].program, "  try: describe it with glb.kept_bytes of"
    size = memories.size(program, HALF)
    assert size == KEPT // 3, "that of its table"
    for kept, at, said in (
            (size - 8, 0, f"takes {size} bytes of a GLB tile, which keeps {size - 8}\n{fixed} {size} or more"),
            (size, 8, f"takes {size} bytes of a GLB tile, which keeps {size}, where 8 are taken\n{fixed} {size + 8} or more")):
        arch = replace(HALF, glb=replace(HALF.glb, kept_bytes=kept))
        for commands in (memories.saves, memories.restores):
            with pytest.raises(UserError) as error:
                list(commands(replace(program, fingerprint=arch.fingerprint), arch, at))
            assert str(error.value) == f"machine '{arch.name}': what memories hold {said}"


# Without MEM tiles, which saves nothing, and quick to build.
BARE = replace(BESIDE, name="bare", memory_readback=True, glb=replace(BESIDE.glb, kept_bytes=8))
PLAIN = part(BARE, 2)


def copies(words: Sequence[Sequence[int]], region: int, keeps: bool = False, resumes: "int | None" = None) -> Job:
    return Job("copy", copier(PLAIN), [{"a_vals": np.array(each, np.uint16)} for each in words], {"b_vals": 9}, region, keeps,
               resumes)


@needs_compiler
def test_a_job_that_resumes_one_that_was_stopped_is_not_begun_and_what_follows_is_done() -> None:
    jobs = [copies([[5, 1]], 1, keeps=True), copies([[2, 7, 8]], 1), copies([[1, 3]], 1, resumes=0), copies([[1, 4]], 1)]
    done, stored = ran(jobs, BARE, (2, 2, 2))
    assert [each.done for each in done.report.jobs] == [False, True, False, True]
    assert [str(done.stopped(number)) for number in (0, 2)] == [
        "the firmware stopped at status 0x208 of region 1",
        "region 1: the job whose memories it resumes with was stopped\n  try: see what stopped that"]
    assert not done.spans(2, "configure") and not done.saved
    assert [[each["b_vals"].tolist() for each in words] for words in stored] == [[], [[2, 7, 8]], [], [[1, 4]]]


def test_jobs_whose_memories_cannot_be_kept_or_resumed_are_refused() -> None:
    one, keeper = copies([[1, 3]], 1, resumes=0), copies([[1, 3]], 1, keeps=True)
    named = "  try: name an earlier job of the same region, with `keeps`"
    for jobs, arch, said in (
            ([replace(keeper, region=None)], BARE, "firmware: job 'copy' keeps what memories hold, wherever it runs\n"
                                                   "  try: give it a region, in which it is resumed"),
            ([replace(keeper, keeps=False), one], BARE, f"firmware: job 'copy' resumes with what job 0 keeps\n{named}"),
            ([replace(keeper, region=0), one], BARE, f"firmware: job 'copy' resumes with what job 0 keeps\n{named}"),
            ([keeper, replace(one, resumes=1)], BARE, f"firmware: job 'copy' resumes with what job 1 keeps\n{named}"),
            ([keeper, replace(one, resumes=-1)], BARE, f"firmware: job 'copy' resumes with what job -1 keeps\n{named}"),
            ([keeper, replace(one, program=replace(one.program, source={}))], BARE,
             "firmware: job 'copy' resumes with memories of another program, that of job 0\n  try: give both the same program"),
            ([replace(keeper, program=copier(PART))], replace(BESIDE, memory_readback=True),
             "machine 'beside, 2 columns': job 'copy' keeps what memories hold, and the global buffer has no room for it\n"
             "  try: describe it with `glb.kept_bytes`"),
            ([replace(keeper, program=copier(PART))], BESIDE,
             "machine 'beside, 2 columns': what memories hold cannot be read\n  try: describe it with `memory_readback`, or "
             "begin anew with the program as it was compiled")):
        with pytest.raises(UserError) as error:
            firmware(jobs, arch, 1 << 20, (2, 2, 2))
        assert str(error.value) == said
