"""Launches in one run, in Verilog: queued while one computes, by firmware and by a host in Python, with the words of each."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from machines import LEAST, copier, mirrored
from riscv import needs_compiler

from sardonyx.hw.arch.system import System
from sardonyx.runtime import host
from sardonyx.runtime.firmware import Job
from sardonyx.sim import system
from sardonyx.sim.rtl import simulator

# Two of the least machine, with banks whose thirds hold a launch.
PART = replace(LEAST, name="chained part", glb=replace(LEAST.glb, bank_bytes=16384))
ARCH = replace(PART, name="chained", columns=4, regions=2, system=System(processor=True, ram_bytes=16384, serial_cycles=4))
COPY, MIRROR = copier(PART), mirrored(PART)
NOTED = 50


def blocks(words: int, seed: int, most: int = 400) -> "list[np.ndarray]":
    """So many words in blocks, some of which are empty."""
    draw, found = np.random.default_rng(seed), [np.array([0], np.uint16)]
    while sum(map(len, found)) < words:
        size = int(draw.integers(0, most)) * int(draw.integers(0, 4) > 0)
        found.append(np.array([size, *draw.integers(0, 1 << 16, size)], np.uint16))
    return found


def job(program: object, given: "Sequence[np.ndarray]", region: "int | None" = None) -> Job:
    return Job("copy", program, [{"a_vals": each} for each in given], {"b_vals": 400}, region)     # type: ignore[arg-type]


def run(*jobs: Job) -> "tuple[system.Ran, list[list[list[int]]]]":
    found: list[list[list[int]]] = [[] for _ in jobs]
    return system.run_jobs(jobs, [lambda stored, each=each: each.append(stored["b_vals"].tolist()) for each in found], ARCH,
                           lambda stage: None, columns=(2, 2)), found


@needs_compiler
# With the last three, launches of one region ended before the processor came to them, and it never went on with the other one.
@pytest.mark.parametrize("seed", [0, 1, 2, 20, 46, 61])
def test_two_regions_have_their_words_though_the_processor_is_late_for_both(seed: int) -> None:
    given = [blocks(size, 10 * seed + number) for number, size in enumerate((12_000, 1, 5_000, 20_000))]
    jobs = [job(COPY, given[0], 0), job(MIRROR, given[1], 0), job(COPY, given[2]), job(MIRROR, given[3], 1)]
    ran, found = run(*jobs)
    ran.check()
    assert found == [[each.tolist() for each in one] for one in given], f"seed {seed}"
    for number in range(4):
        chained = list(ran.spans(number, "start"))
        assert len(chained) == len(ran.firmware.launches[number]) and all(start < end for start, end in chained)
        # The processor notes a little late that words of a configuration are on their way, behind which the first one begins.
        assert sum(end - start for start, end in chained) + NOTED >= ran.machine_cycles(number)


@needs_compiler
@pytest.mark.parametrize("at", [0, 2000, 9000])
def test_what_stops_in_the_middle_of_a_chain_stops_nothing_else(at: int) -> None:
    """A block says that it has more words than come."""
    good, bad = blocks(4000, 1), blocks(at, 2)
    bad += [np.array([9, 1], np.uint16), *blocks(9000 - at, 3)][:None if at < 9000 else 1]
    ran, found = run(job(COPY, bad, 0), job(MIRROR, good, 0), job(COPY, good, 1))
    assert [ran.stopped(number) is None for number in range(3)] == [False, True, True]
    assert found[1:] == [[each.tolist() for each in good]] * 2


def test_a_host_in_python_queues_launches_as_well() -> None:
    given = blocks(8000, 5)
    with simulator.whole_machine(PART).start(check=True) as machine:
        outcomes = list(host.run(machine, COPY, [{"a_vals": each} for each in given], {"b_vals": 400}, chained=True))
        found = [stored["b_vals"].tolist() for outcome in outcomes for stored in outcome.stored]
        assert found == [each.tolist() for each in given]
        assert len(outcomes) > 4 and sum(outcome.cycles for outcome in outcomes) == machine.read_register("cycles")
        assert machine.read_register("hold") == machine.read_register("queued") == 0
        with pytest.raises(AssertionError, match="nothing moved"):
            list(host.run(machine, COPY, [{"a_vals": np.array([9, 1], np.uint16)}, *[{"a_vals": each} for each in given]],
                          {"b_vals": 400}, chained=True))
        again = list(host.run(machine, COPY, [{"a_vals": given[1]}], {"b_vals": 400}))
        assert again[0].stored[0]["b_vals"].tolist() == given[1].tolist(), "a run that was held open is no matter"


@needs_compiler
def test_the_array_sees_no_end_between_launches() -> None:
    """A copy takes a cycle a word, if the processor is in time."""
    given = [np.array([399, *range(seed, seed + 399)], np.uint16) for seed in range(60)]
    ran, found = run(job(COPY, given, 0))
    words, cycles = sum(map(len, given)), ran.machine_cycles(0)
    assert found == [[each.tolist() for each in given]] and len(ran.firmware.launches[0]) > 10
    assert words < cycles < words + 1000, "of which most pass before the second launch is queued"
    assert ran.left(0) - ran.spans(0, "configure")[-1][1] < 1.12 * words
