"""Regions from firmware, in Verilog: programs side by side, with words and cycles as alone, one switched beside another."""

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from machines import BESIDE, LEAST, PART, copier, mirrored
from riscv import FOUND, each_compiler, needs_compiler

from sardonyx.compiler.ir.program import Program
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.tables import header
from sardonyx.runtime import toolchain
from sardonyx.runtime.firmware import Job, firmware
from sardonyx.sim import system

OWN = replace(BESIDE, system=replace(BESIDE.system, own_clock=True))
COPY, MIRROR = copier(PART), mirrored(PART)
COLUMNS = (2, 2)
MEMORY = 1 << 20
Blocks = list[np.ndarray]


def blocks(count: int, seed: int, most: int = 30) -> Blocks:
    draw = np.random.default_rng(seed)
    return [np.array([size, *draw.integers(0, 1 << 16, size)], np.uint16) for size in draw.integers(1, most, count)]


def job(program: Program, given: Blocks, region: int) -> Job:
    return Job("copy", program, [{"a_vals": each} for each in given], {"b_vals": max(map(len, given))}, region)


def run(jobs: "Sequence[tuple[Program, Blocks, int]]", arch: Arch = BESIDE, latency: int = 50,
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


def test_a_region_is_claimed_by_the_first_of_its_own_commands() -> None:
    """Not by those of another, which may be pages behind."""
    wide = replace(BESIDE, name="wide", columns=32, regions=16, system=replace(BESIDE.system, ram_bytes=8192))
    jobs = [job(copier(PART), blocks(1, 0), region) for region in range(16)]
    pages = firmware(jobs, wide, MEMORY, columns=(2,) * 16).commands.split("FOLLOWED_BY")[1:]
    firsts = [re.findall(r"SET\((.*)\)", page)[0] for page in pages[:16]]
    assert firsts == [f"SARDONYX_REGION({number}) + SARDONYX_CLAIM, {3 << 2 * number:#x}u" for number in range(16)]


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


@needs_compiler
def test_what_stops_is_told_with_its_region() -> None:
    short = Job("short", COPY, [{"a_vals": np.array([5, 1], np.uint16)}], {"b_vals": 6}, 1)
    with pytest.raises(AssertionError, match=r"stopped at status 0x208 of region 1, faults 0x0 of the host"):
        system.run_jobs([job(*FIRST), short], [lambda stored: None] * 2, BESIDE, lambda stage: None, columns=COLUMNS)


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
