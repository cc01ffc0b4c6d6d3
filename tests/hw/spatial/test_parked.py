"""Requests for elements that others count wait aside, whichever of both is asked for first; what never comes is told."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from simulators import run_cocotb
from without_zeros import A_AT, B_AT, BYTES, C_AT, accelerator, matrices, placed

from sardonyx.hw.arch.errors import UserError
from sardonyx.runtime.spatial_commands import Program, check
from sardonyx.sim.rtl.accelerator import SimulatedAccelerator

LIMIT = 5_000


@pytest.fixture(scope="module", params=[pytest.param(1, marks=pytest.mark.slow), 4])
def simulated(request: pytest.FixtureRequest) -> "Iterator[SimulatedAccelerator]":
    with SimulatedAccelerator(accelerator(ports=request.param).hardware(), BYTES, 20) as found:
        yield found


def program(*streams: str) -> Program:
    """Requests for streams in this order, one tensor each."""
    found = Program(accelerator().kind)
    for name in streams:
        place = {"A": A_AT, "B": B_AT}[name[0]]
        array = name[2:]
        loops = [(3, 3, 1)] if array == "segments" else []
        found.request(name, getattr(place, array), loops, {"segments": 2, "coordinates": 1, "values": place.size}[array])
    return found


def result(given: Program, simulated: SimulatedAccelerator) -> None:
    """Run a program that brings operands, and compare the sums of the rows of its result."""
    a, b = matrices((2, 6, 2), 0.7, 3)
    simulated.write(0, placed(accelerator(), a, b))
    given.arrays("C_values", (C_AT.segments, C_AT.coordinates, C_AT.values), 2)
    given.wait()
    check(simulated.run(given.words, LIMIT).status, "without_zeros")
    memory = simulated.read(0, BYTES)
    segments = np.frombuffer(memory, np.int32, 3, C_AT.segments)
    values = np.frombuffer(memory, np.int32, segments[-1], C_AT.values)
    assert [values[begin:end].sum() for begin, end in pairwise(segments)] == (a @ b).sum(1).tolist()


@pytest.mark.parametrize("order", [("coordinates", "segments", "values"), ("values", "coordinates", "segments")])
def test_what_is_counted_may_be_asked_for_before_what_counts_it(
        simulated: SimulatedAccelerator, order: "tuple[str, ...]") -> None:
    given = program(*(f"A_{each}" for each in order))
    given.words += program(*(f"B_{each}" for each in order)).words
    result(given, simulated)


def test_other_lists_go_on_while_one_waits_for_its_number() -> None:
    with SimulatedAccelerator(accelerator().hardware(), BYTES, 20) as simulated:
        given = program("A_coordinates", "A_values", "B_segments", "B_coordinates", "B_values")
        given.wait("B_values")
        given.words += program("A_segments").words
        result(given, simulated)


def test_a_wait_for_what_nothing_counts_is_refused(simulated: SimulatedAccelerator) -> None:
    for last in ("wait", "parts", "A_coordinates"):
        given = program("A_coordinates")
        if last == "wait":
            given.wait()
        elif last == "parts":
            given.parts(1)
        else:
            given.words += program(last).words
        with pytest.raises(UserError, match="whose number was not asked for"):
            check(simulated.run(given.words, LIMIT).status, "without_zeros")


def test_an_error_is_cleared_without_a_reset(tmp_path: Path) -> None:
    run_cocotb(accelerator(watchdog=True).hardware(), "cocotb_without_zeros", "verilator", tmp_path)


@pytest.mark.slow
def test_the_only_port_is_not_taken_by_others_for_good() -> None:
    given = program("A_coordinates", "B_segments", "A_segments")
    with (SimulatedAccelerator(accelerator(ports=1).hardware(), BYTES, 20) as alone,
          pytest.raises(UserError, match="whose number was not asked for")):
        check(alone.run(given.words, LIMIT).status, "without_zeros")
