"""In which order firmware does what comes between two launches that are not in one run."""

import functools
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from machines import BESIDE, LEAST, PART, copier
from riscv import needs_compiler

import sardonyx.halide
from sardonyx import together
from sardonyx.apps.dense import gaussian
from sardonyx.compiler.ir.program import Program
from sardonyx.compiler.ir.transfer import STORE, region
from sardonyx.hw.arch.system import System
from sardonyx.picture_job import Wanted
from sardonyx.runtime.firmware import Firmware, Job, firmware
from sardonyx.runtime.plan import loops_of_transactions
from sardonyx.runtime.works import Transaction
from sardonyx.sim import system

ARCH = replace(LEAST, glb=replace(LEAST.glb, queue=False, bank_bytes=16384),
               system=System(processor=True, ram_bytes=16384, serial_cycles=4))
PROGRAM = copier(ARCH)
BLOCKS = [np.array([2000, *range(number, number + 2000)], np.uint16) for number in range(7)]


def job() -> Job:
    return Job("copy", PROGRAM, [{"a_vals": each} for each in BLOCKS], {"b_vals": 2001})


def commands(made: Firmware) -> "list[str]":
    """What commands of launches there are: an end, a count, a start, words that are taken, and what is waited for."""
    return re.findall(r"WAIT\(1u|COUNT\(|CONTROL, 0x1u|TAKE_COUNTED|TAKE_MEANWHILE|TAKEN(?:_BUT\(\d+u)?", made.commands)


def test_words_of_a_launch_are_counted_before_the_next_one_starts_and_taken_behind_that() -> None:
    """It waits for none of them: its places are others. Those of the last launch go while they are stored."""
    text = " ".join(commands(firmware([job()], ARCH, 1 << 20)))
    assert text.count("WAIT(1u COUNT( CONTROL, 0x1u TAKE_COUNTED TAKE") == 3
    assert text.endswith("TAKE_MEANWHILE TAKEN")


def test_a_small_memory_of_the_processor_has_words_taken_when_they_are_all_there() -> None:
    """It has no room for what takes them before."""
    small = replace(ARCH, system=replace(ARCH.system, ram_bytes=4096))
    found = commands(firmware([job()], small, 1 << 20))
    assert "TAKE_MEANWHILE" not in found and found[-3:] == ["COUNT(", "TAKE_COUNTED", "TAKEN"]


@needs_compiler
def test_the_next_launch_starts_soon_and_words_go_while_it_computes() -> None:
    found: list[list[int]] = []
    ran = system.run_jobs([job()], [lambda stored: found.append(stored["b_vals"].tolist())], ARCH, lambda stage: None)
    assert found == [each.tolist() for each in BLOCKS]
    spans = ran.spans(0, "start")
    gaps = [later[0] - former[1] for former, later in itertools.pairwise(spans)]
    assert len(gaps) == 3 and max(gaps) < 400, "of two launches 1,000 lines go"
    assert all(any(begun < first and end < ended for first, end in ran.taken if end - first > 400)
               for begun, ended in spans[1:-1])
    assert ran.left(0) - spans[-1][1] < 400


@pytest.mark.parametrize("region", [None, 1])
def test_a_region_of_several_begins_with_its_configuration_and_has_words_taken_meanwhile(region: "int | None") -> None:
    """As the only one does."""
    given = [{"a_vals": np.array([3, 1, 2, number], np.uint16)} for number in range(4)]
    text = firmware([Job("copy", copier(PART), given, {"b_vals": 4}, region)], BESIDE, 1 << 20, (2, 2)).commands
    assert "CONTROL, 0x5u" in text and "TAKE_MEANWHILE(1u" in text


@needs_compiler
def test_rows_of_the_last_tile_go_while_it_is_computed() -> None:
    """All of them take 1,326 beats and more: lines of which a row has a part count for it."""
    photo = np.random.default_rng(0).integers(0, 256, (206, 206), dtype=np.uint8)
    arch = together.demo_arch()
    picture = sardonyx.halide.prepared(gaussian.build(), {"photo": photo}, None, {}, lambda stage: None)
    ran, _ = together.run({"blur": picture.job(Wanted(picture.size, (102, 51), 1, arch, 0), lambda stage: None)}, arch)
    assert ran.firmware.commands.count("WAIT_STORED") == 3
    assert ran.left(0) - ran.spans(0, "start")[-1][1] < 1000


@functools.cache
def in_lanes() -> tuple[Program, Sequence[Transaction], Mapping[str, int]]:
    """A blur in four lanes, of 12 launches in one run; a tile computes little longer than its rows go."""
    arch = together.demo_arch()
    photo = np.zeros((182, 514), np.uint8)
    picture = sardonyx.halide.prepared(gaussian.build(), {"photo": photo}, None, {}, lambda stage: None)
    made = picture.job(Wanted(picture.size, (256, 30), 4, arch, 0), lambda stage: None)
    part = next(iter(made.parts()))
    return made.compiled.program, [*part.transactions(loops_of_transactions(arch.glb))], part.bounds()


@functools.cache
def of_lanes(ram_bytes: int) -> str:
    """Its commands for a memory of the processor, of which the program knows nothing."""
    arch = together.demo_arch()
    arch = replace(arch, system=replace(arch.system, ram_bytes=ram_bytes))
    return firmware([Job("blur", *in_lanes())], arch, 1 << 22).commands


def test_rows_of_a_tile_that_would_be_in_the_way_of_the_last_one_go_while_it_is_computed() -> None:
    """In halves, before words of the launch after the next one are all asked for; of the tile before the last one in thirds."""
    text = of_lanes(65536)
    pieces = re.findall(r"WAIT_STORED\((\d+)u\)", text)
    assert [int(each) // 64 for each in pieces] == [15] * 10 + [10, 20, 7, 15, 22]
    assert re.search(r"BRING_ROWS\(\d+u\), TO_GLB\([^)]*\),\n    WAIT_STORED.*\n    TAKE_ROWS.*\n    BRING_ROWS", text)


def test_lists_that_come_again_and_shapes_of_transfers_are_in_the_memory_of_the_processor() -> None:
    """A launch that is like others takes 30 words of commands, and there is one list in each of these."""
    text = of_lanes(65536)
    assert text.count("ROWS(") == text.count("BRING_ROWS(") + text.count("TAKE_ROWS(")
    middle = text.split("end 5 */")[1].split("end 6 */")[0]
    assert middle.count("AGAIN(8u") == 2 and "SARDONYX_GLB(" not in middle
    words = re.sub(r"/\*.*?\*/|\([^()]*\)", "", middle).count(",")
    assert words <= 30


def test_a_small_memory_of_the_processor_has_all_commands_as_they_are() -> None:
    text = of_lanes(4096)
    assert "AGAIN(" not in text and "WAIT_STORED" not in text and "_ROWS(0u)" in text


def test_rows_that_go_early_are_counted_by_the_first_tile_of_a_chain_wherever_they_lie() -> None:
    """The other tiles' counts are of what was there before: rows that are not stored would go."""
    arch = together.demo_arch()
    arch = replace(arch, glb=replace(arch.glb, ring=2))
    photo = np.random.default_rng(0).integers(0, 256, (206, 206), dtype=np.uint8)
    picture = sardonyx.halide.prepared(gaussian.build(), {"photo": photo}, None, {}, lambda stage: None)
    made = picture.job(Wanted(picture.size, (102, 51), 1, arch, 0), lambda stage: None)
    part = next(iter(made.parts()))
    program = made.compiled.program
    places = [region(each.direction, arch.glb, 2, alone=True) for each in program.transfers]
    program = replace(program, transfers=tuple(
        replace(each, column=4 if each.direction == STORE else 6, tiles=2, bank=at.bank, address=at.address, room=at.room)
        for each, at in zip(program.transfers, places, strict=True)))
    text = firmware([Job("blur", program, part.transactions(loops_of_transactions(arch.glb)), {})], arch, 1 << 22).commands
    first, *_ = re.findall(r"WAIT_STORED\(\d+u\), STORED\((\d+)u, 0u\),[^W]*?TAKE_ROWS\(\d+u\), FROM_GLB\((0x\w+)u", text)
    assert int(first[1], 16) // arch.glb.tile_bytes == 5 and first[0] == "4"
    assert set(re.findall(r"STORED\((\d+)u, 0u", text)) == {"4"}
