"""Regions from firmware, in Verilog: programs side by side, with words and cycles as alone, one switched beside another."""

import re
from collections.abc import Sequence
from dataclasses import replace

import halide as hl
import numpy as np
import pytest
from halide_programs import X, Y, load
from machines import BESIDE, LEAST, PART, copier, mirrored
from riscv import FOUND, each_compiler, needs_compiler
from stencil_machine import STENCILS

from sardonyx.compiler.halide import compile_halide
from sardonyx.compiler.ir.program import Program
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.mask import Mask
from sardonyx.hw.tables import header
from sardonyx.runtime import toolchain
from sardonyx.runtime.data.frames import Frames
from sardonyx.runtime.firmware import Job, firmware
from sardonyx.runtime.plan import loops_of_transactions
from sardonyx.sim import system

OWN = replace(BESIDE, system=replace(BESIDE.system, own_clock=True))
COPY, MIRROR = copier(PART), mirrored(PART)
COLUMNS = (2, 2)
MEMORY = 1 << 20
Blocks = list[np.ndarray]


def blocks(count: int, seed: int, most: int = 30) -> Blocks:
    draw = np.random.default_rng(seed)
    return [np.array([size, *draw.integers(0, 1 << 16, size)], np.uint16) for size in draw.integers(1, most, count)]


def job(program: Program, given: Blocks, region: "int | None") -> Job:
    return Job("copy", program, [{"a_vals": each} for each in given], {"b_vals": max(map(len, given))}, region)


def run(jobs: "Sequence[tuple[Program, Blocks, int | None]]", arch: Arch = BESIDE, latency: int = 50,
        periods: "tuple[int, int]" = (1, 1), columns: Sequence[int] = COLUMNS) -> "tuple[system.Ran, list[list[int]]]":
    """What a system did with programs in regions, and the cycles of every launch of each; words are as they should be."""
    found: list[list[list[int]]] = [[] for _ in jobs]
    ran = system.run_jobs([job(*each) for each in jobs],
                          [lambda stored, each=each: each.append(stored["b_vals"].tolist()) for each in found], arch,
                          lambda stage: None, latency=latency, periods=periods, columns=columns)
    assert found == [[each.tolist() for each in given] for _, given, _ in jobs]
    layout = ran.firmware.layout
    return ran, [[cycles for mark, cycles in zip(layout.marks, ran.report.cycles, strict=True)
                  if mark.job == number and mark.what == "end"] for number in range(len(jobs))]


def test_the_processor_knows_where_regions_lie_and_what_may_run_in_them() -> None:
    jobs = [job(COPY, blocks(1, 0), region) for region in (None, 1, None, 2, 1)]
    made = firmware(jobs, BESIDE, MEMORY, columns=(2, 2, 2))
    assert made.tables == (
        "static const struct place places[REGIONS] = { { 0x3u, 0u, 0x0u }, { 0xcu, 2u, 0x2000u }, { 0x30u, 4u, 0x4000u } };\n"
        "static const uint32_t chains[] = { 0x7u, 0x2u, 0x7u, 0x4u };\nstatic const uint32_t lists[] = { 0u };\n")
    assert re.findall(r"JOB\((.*)\)", made.commands) == ["0u, 0u", "1u, 4u", "2u, 0u", "3u, 0u", "4u, 0u"]
    whole = firmware([Job("copy", copier(replace(PART, columns=6)), [], {})], BESIDE, MEMORY)
    assert "places[REGIONS] = { { 0x0u, 0u, 0x0u } };" in whole.tables, "nothing is claimed"


FIRST, SECOND, THIRD = (COPY, blocks(120, 0, 150), 0), (MIRROR, blocks(25, 1, 150), 1), (COPY, blocks(40, 2, 150), 1)


@needs_compiler
@pytest.mark.parametrize("latency", [1, 50, 700])
def test_programs_beside_each_other_have_the_words_and_cycles_of_each_alone(latency: int) -> None:
    """One of them is switched to a third program while the other runs."""
    ran, together = run([FIRST, SECOND, THIRD], latency=latency)
    for number, each in enumerate((FIRST, SECOND, THIRD)):
        _, (alone,) = run([each], latency=latency)
        assert together[number] == alone and len(alone) > 3
    assert ran.left(1) < ran.spans(2, "configure")[0][0]


@needs_compiler
@pytest.mark.parametrize("periods", [(97, 50), (1, 7), (5, 1)], ids=str)
def test_interrupts_of_all_regions_cross_to_another_clock(periods: "tuple[int, int]") -> None:
    _, one = run([FIRST, SECOND, THIRD])
    _, two = run([FIRST, SECOND, THIRD], OWN, periods=periods)
    assert one == two


@needs_compiler
def test_what_computes_is_not_waited_for_where_another_region_can_go_on() -> None:
    """A slow machine: one region is configured and computes while the other does, which takes less than one after the other."""
    (ran, _), (west, _), (east, _) = (run(jobs, OWN, periods=(1, 12)) for jobs in (
        [FIRST, SECOND, THIRD], [FIRST], [SECOND, THIRD]))
    for what in ("configure", "start"):
        assert any(start < end_of_third and third < end
                   for start, end in ran.spans(0, "start") for third, end_of_third in ran.spans(2, what))
    spent, apart = max(map(ran.left, range(3))), (west.left(0), east.left(1))
    assert max(apart) < spent < 0.75 * sum(apart)


@needs_compiler
@pytest.mark.parametrize("seed", range(3))
def test_programs_of_three_regions_are_switched_in_any_order(seed: int) -> None:
    draw = np.random.default_rng(seed)
    jobs = [((COPY, MIRROR)[draw.integers(2)], blocks(draw.integers(1, 20), draw.integers(1000), 150), number % 3)
            for number in draw.permutation(9)]
    _, together = run(jobs, latency=int(draw.integers(1, 300)), columns=(2, 2, 2))
    for region in range(3):
        _, alone = run([each for each in jobs if each[2] == region], columns=(2, 2, 2))
        assert [cycles for each, cycles in zip(jobs, together, strict=True) if each[2] == region] == alone


@needs_compiler
def test_regions_may_differ_in_width() -> None:
    wide = copier(replace(PART, columns=4))
    _, both = run([(MIRROR, blocks(17, 1, 100), 0), (wide, blocks(31, 2, 100), 1)], columns=(2, 4))
    _, (alone,) = run([(wide, blocks(31, 2, 100), 1)], columns=(2, 4))
    assert both[1] == alone


@needs_compiler
def test_regions_without_work_and_single_words_are_no_matter() -> None:
    run([(MIRROR, [np.array([0], np.uint16)], 1)])
    run([(COPY, [np.array([1, 7], np.uint16)], 0), (COPY, [np.array([0], np.uint16)], 1)])


@each_compiler
def test_every_compiler_makes_firmware_of_regions(compiler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "tools", lambda: FOUND[compiler])
    run([SECOND, THIRD, (COPY, blocks(3, 5), 0)])


def ends_early(words: int, region: "int | None") -> Job:
    """A job whose last block ends before its length says, behind so many words of others: the watchdog stops it."""
    given = [*blocks(words, 7, 90), np.array([5, 1], np.uint16)]
    return Job("short", COPY, [{"a_vals": each} for each in given], {"b_vals": 100}, region)


def fated(jobs: Sequence[Job], arch: Arch = BESIDE,
          columns: Sequence[int] = COLUMNS) -> "tuple[system.Ran, list[list[list[int]]]]":
    """What became of jobs, and what those gave that were not stopped."""
    found: list[list[list[int]]] = [[] for _ in jobs]
    ran = system.run_jobs(jobs, [lambda stored, each=each: each.append(stored["b_vals"].tolist()) for each in found], arch,
                          lambda stage: None, columns=columns)
    return ran, found


@needs_compiler
@pytest.mark.parametrize("words", [0, 60], ids=["at once", "after launches"])
def test_what_stops_in_a_region_is_told_and_everything_else_is_done(words: int) -> None:
    """Beside it, and behind it in the same region."""
    ran, found = fated([job(*FIRST), ends_early(words, 1), job(*SECOND), job(*THIRD)])
    assert [str(ran.stopped(number)) for number in range(4)] == [
        "None", "the firmware stopped at status 0x208 of region 1", "None", "None"]
    assert [fate.region for fate in ran.report.jobs] == [0, 1, 1, 1]
    assert not ran.report.ended and ran.line.startswith("stopped after")
    assert found == [[each.tolist() for each in given] for given in (FIRST[1], [], SECOND[1], THIRD[1])]
    _, alone = run([FIRST, SECOND, THIRD])
    layout = ran.firmware.layout
    cycles = [[cycles for mark, cycles in zip(layout.marks, ran.report.cycles, strict=True)
               if mark.job == number and mark.what == "end"] for number in (0, 2, 3)]
    assert cycles == alone, "of the machine, as if nothing had stopped"
    with pytest.raises(AssertionError, match="status 0x208 of region 1"):
        ran.check()


@needs_compiler
def test_after_a_job_that_stops_the_whole_machine_goes_on_with_the_next() -> None:
    whole = replace(PART, name="whole", system=BESIDE.system)
    jobs = [ends_early(3, None), job(MIRROR, SECOND[1], None), ends_early(0, None), job(COPY, THIRD[1], None)]
    ran, found = fated(jobs, whole, ())
    assert [fate.status for fate in ran.report.jobs] == [0x208, None, 0x208, None]
    assert found == [[], [each.tolist() for each in SECOND[1]], [], [each.tolist() for each in THIRD[1]]]


@needs_compiler
def test_a_word_at_a_wall_stops_its_own_job_only() -> None:
    """From column 1 of region 0 east, into region 1."""
    wide = copier(replace(PART, columns=4))
    x, y = (1, 1)
    led = replace(COPY, config={**COPY.config, (x, y): {"sb_data": {
        **wide.config[1, 1]["sb_data"], "e0_sel": PART.interconnect.select(PART.pe, "e0", "w_in0", "data")}}})
    jobs = [job(led, blocks(3, 1), 0), job(*SECOND), job(COPY, THIRD[1], None)]
    ran, found = fated(jobs)
    reason = ran.stopped(0)
    assert isinstance(reason, UserError) and (reason.what, reason.where) == (
        "words are led at a wall, into columns of another region", "region 0")
    assert found == [[], [each.tolist() for each in SECOND[1]], [each.tolist() for each in THIRD[1]]]
    assert ran.report.jobs[2].region == 0, "the region is free again"


@needs_compiler
@pytest.mark.parametrize("seed", range(3))
def test_jobs_of_any_width_begin_in_order_in_the_first_region_that_is_free(seed: int) -> None:
    """Some are for a region, some stop."""
    draw = np.random.default_rng(seed)
    wide = copier(replace(PART, columns=4))
    jobs = []
    for _ in range(12):
        kind, given = draw.integers(6), blocks(int(draw.integers(1, 15)), int(draw.integers(1000)), 150)
        jobs.append(job(wide, given, None) if kind == 0 else ends_early(int(draw.integers(4)), None) if kind == 1
                    else job((COPY, MIRROR)[kind % 2], given, (None, None, 2)[kind % 3]))
    arch = replace(BESIDE, name="eight", columns=8)
    ran, found = fated(jobs, arch, (2, 4, 2))
    for one, fate, stored in zip(jobs, ran.report.jobs, found, strict=True):
        assert fate.region in ((1,) if one.program is wide else (one.region,) if one.region is not None else (0, 2))
        assert (fate.status is None) == fate.done == (one.name != "short")
        assert stored == ([] if one.name == "short" else [each["a_vals"].tolist() for each in one.transactions])
    narrow = [number for number, one in enumerate(jobs) if one.program is not wide and one.region is None]
    begins = [ran.spans(number, "configure")[0][0] for number in narrow]
    assert begins == sorted(begins)
    assert len({ran.report.jobs[number].region for number in narrow}) == 2 or len(narrow) < 3


@needs_compiler
def test_where_there_is_a_choice_all_is_done_sooner_than_with_jobs_dealt_out_before() -> None:
    """A slow machine, as the processor has little to do for the jobs of most."""
    given = [blocks(size, number, 150) for number, size in enumerate([60, 2, 2, 2, 60, 2, 2, 2])]
    dealt, chosen = (run([(COPY, each, region(number)) for number, each in enumerate(given)], OWN, periods=(1, 12))[0]
                     for region in (lambda number: number % 2, lambda number: None))
    assert chosen.cycles < 0.8 * dealt.cycles


def test_a_job_runs_where_nothing_is_avoided_that_it_uses() -> None:
    chip = replace(BESIDE, avoid=Mask(((1, 1), (5, 1))))
    made = firmware([job(COPY, blocks(1, 0), None)], chip, MEMORY, columns=(2, 2, 2))
    assert "chains[] = { 0x2u };" in made.tables
    with pytest.raises(UserError, match=r"the program uses tile \(1, 1\), to be avoided there"):
        firmware([job(COPY, blocks(1, 0), 2)], chip, MEMORY, columns=(2, 2, 2))
    with pytest.raises(UserError, match="regions are"):
        firmware([job(copier(replace(PART, columns=4)), blocks(1, 0), None)], chip, MEMORY, columns=(2, 2, 2))


@pytest.mark.parametrize("arch, columns, region, program, said", [
    (BESIDE, (2, 2), 2, COPY, "machine 'beside': program 'copy' is for region 2\n  try: choose one of 0..1"),
    (BESIDE, (4,), 0, COPY, f"machine 'beside': program 'copy' is for machine {PART.fingerprint:016x}, region 0 is "
                            f"{replace(PART, columns=4).fingerprint:016x}, 'beside, 4 columns'\n"
                            "  try: compile it for the columns of this region (runtime.region.part)"),
    (BESIDE, (2, 2, 1, 1), 0, COPY, "machine 'beside': 4 regions are asked for\n"
                                    "  try: ask for 3 at most, or describe a machine with more `regions`"),
    (replace(BESIDE, regions=1), (2, 2), 0, COPY,
     "machine 'beside': the machine has one region\n  try: describe one with `regions` of 2 or more, or give no columns")])
def test_regions_that_cannot_be_are_refused(arch: Arch, columns: "tuple[int, ...]", region: int, program: Program,
                                            said: str) -> None:
    with pytest.raises(UserError) as error:
        firmware([job(program, blocks(1, 0), region)], arch, MEMORY, columns)
    assert str(error.value) == said


@needs_compiler
def test_more_regions_than_the_memory_has_room_for_are_refused() -> None:
    many = replace(LEAST, name="many", columns=32, regions=16, system=replace(BESIDE.system, ram_bytes=4096))
    made = firmware([], many, MEMORY, [2] * 16)
    with pytest.raises(UserError, match="the firmware of 16 regions does not fit into 4096 bytes"):
        toolchain.compiled(made, many, header(many))


@pytest.mark.skipif(toolchain.GCC not in toolchain.installed(), reason="what fits is said of GCC, which is not installed")
def test_three_regions_with_memories_that_are_kept_fit_into_the_smallest_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "tools", lambda: toolchain.installed()[toolchain.GCC])
    three = replace(LEAST, name="three", columns=6, regions=3, system=replace(BESIDE.system, ram_bytes=4096))
    made = replace(firmware([], three, MEMORY, [2] * 3), resumes=True)
    assert len(toolchain.compiled(made, three, header(three)).memory) == 4096
    monkeypatch.setattr(toolchain, "_LEAST_FRAME_BYTES", 16)
    with pytest.raises(UserError) as error:
        toolchain.compiled(made, three, header(three))
    assert str(error.value) == ("machine 'three': the firmware of 3 regions does not fit into 4096 bytes of the "
                                "processor's memory\n  try: give it more system.ram_bytes, or fewer regions"), "frames fit, too"


@needs_compiler
@pytest.mark.slow
def test_a_job_alone_in_a_region_has_its_rows_nearly_as_fast_as_on_a_machine_of_one_region() -> None:
    """Of short rows, which the processor asks for longer than they are computed."""
    arch = replace(STENCILS, columns=8, regions=2, system=replace(BESIDE.system, ram_bytes=16384))
    shape, tile = (64, 120), (32, 30)
    photo = np.arange(64 * 120, dtype=np.uint16).reshape(shape[::-1])
    image, more = hl.ImageParam(hl.UInt(16), 2, "photo"), hl.Func("more")
    more[X, Y] = image[X, Y] + 1
    compiled = compile_halide(load(more), replace(STENCILS, columns=4), tile)
    cycles = []
    for machine, columns, region in ((arch, (4, 4), 0), (replace(arch, columns=4, regions=1), (), None)):
        frames, stored = Frames(compiled.walk, {"photo": photo}, shape, tile), list[dict[str, np.ndarray]]()
        work = Job("more", compiled.program, frames.transactions(loops_of_transactions(arch.glb)), frames.bounds(), region)
        ran = system.run_jobs([work], [lambda blocks, stored=stored: stored.append(dict(blocks))], machine, lambda stage: None,
                              columns=columns)
        np.testing.assert_array_equal(frames.picture(stored), photo + 1)
        cycles.append(ran.left(0) - ran.spans(0, "configure")[0][1])
    # With one region the first launch starts with the configuration, and words of the first ones come meanwhile.
    assert cycles[0] < 1.3 * cycles[1], cycles
