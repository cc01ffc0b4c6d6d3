"""Eight regions from firmware, in Verilog: programs in four have words and cycles as alone, beside random bitstreams."""

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from machines import BESIDE, PART, copier, mirrored
from riscv import needs_compiler

from sardonyx.compiler.backend.encode import address, decode_words
from sardonyx.compiler.ir.program import Program
from sardonyx.hw.configuration import word_bits
from sardonyx.runtime.firmware import Job
from sardonyx.sim import system

REGIONS = 8
ARCH = replace(BESIDE, name="many", columns=2 * REGIONS, regions=REGIONS, system=replace(BESIDE.system, ram_bytes=32768))
COPY, MIRROR = copier(PART), mirrored(PART)
VICTIMS = range(0, REGIONS, 2)


def hostile(draw: random.Random) -> Program:
    """A program whose bitstream is random words for every register of its tiles, but that primitives are some that there are:
    others are no program that a planner takes."""
    bits = {site: word_bits(PART.config_map(spec.kind)) for site, spec in PART.tiles.items()}
    words = {address(*site, register): draw.getrandbits(32) & (1 << bits[site][register]) - 1
             for site in PART.tiles for register in range(len(bits[site]))}
    config = decode_words(words, PART)
    modes = {site: {"core": {**values["core"], "mode": draw.randrange(1 + len(PART.tiles[site].primitives))}}
             for site, values in config.items() if "core" in values}
    return replace(COPY, config={site: {**values, **modes.get(site, {})} for site, values in config.items()})


def job(program: Program, region: int, seed: int, count: int) -> Job:
    draw = np.random.default_rng(seed)
    given = [np.array([size, *draw.integers(0, 1 << 16, size)], np.uint16) for size in draw.integers(1, 90, count)]
    return Job("copy", program, [{"a_vals": each} for each in given], {"b_vals": 90}, region)


def ran(jobs: Sequence[Job]) -> "tuple[system.Ran, list[list[list[int]]], list[list[int]]]":
    """What became of jobs, what each gave, and the cycles of its launches."""
    found: list[list[list[int]]] = [[] for _ in jobs]
    done = system.run_jobs(jobs, [lambda stored, each=each: each.append(stored["b_vals"].tolist()) for each in found], ARCH,
                           lambda stage: None, columns=[2] * REGIONS)
    marks = [*zip(done.firmware.layout.marks, done.report.cycles, strict=True)]
    return done, found, [[cycles for mark, cycles in marks if mark.job == number and mark.what == "end"]
                         for number in range(len(jobs))]


@needs_compiler
@pytest.mark.parametrize("seed", range(2))
def test_random_bitstreams_in_half_of_eight_regions_change_no_word_and_no_cycle_of_the_others(seed: int) -> None:
    """Two hostile programs after each other in each region between those that compute; some stop, others wait for ever."""
    draw = random.Random(seed)
    victims = [job((COPY, MIRROR)[region // 2 % 2], region, region, 60) for region in VICTIMS]
    others = [job(hostile(draw), region, region, 9) for region in range(REGIONS) if region not in VICTIMS for _ in range(2)]
    done, found, cycles = ran([*victims, *others])
    _, words, alone = ran(victims)
    count = len(victims)
    assert found[:count] == words == [[each["a_vals"].tolist() for each in one.transactions] for one in victims]
    assert cycles[:count] == alone and min(map(len, alone)) > 3
    assert all(done.stopped(number) is None for number in range(count))
    stopped = [number for number in range(count, len(done.report.jobs)) if done.stopped(number)]
    assert stopped, "random words are no program"
