"""A phase of an outer product does commands, and firmware gives the same: what it leaves is NumPy's; what is none is told."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from riscv import needs_compiler

from sardonyx.hw.arch import command
from sardonyx.hw.arch.command import BOTH, BUFFER, DESTINATION, MEMORY, SOURCE, Word, region
from sardonyx.hw.arch.outer_product import MERGE, MULTIPLY, OuterProduct
from sardonyx.hw.spatial.accelerator import SpatialAccelerator
from sardonyx.hw.spatial.system import SpatialSystem
from sardonyx.runtime import spatial_outer
from sardonyx.runtime.data.outer_lists import laid_lists, lists
from sardonyx.runtime.data.outer_product import Laid, laid, rows
from sardonyx.runtime.spatial_header import header
from sardonyx.sim.rtl.accelerator import SimulatedAccelerator

# Two lanes that share a port; half of a lane's memory is 16 pairs, and a row of the result has up to 15.
MULTIPLIES = OuterProduct("phase_multiplies", lanes=2, ports=1, rows=16, pairs=32, queue=16, phases=MULTIPLY)
MERGES = OuterProduct("phase_merges", lanes=2, ports=1, rows=16, pairs=32, queue=16, phases=MERGE)
RAM, BYTES, LIMIT = 4096, 1 << 16, 200_000
Runs = list[list[list[list[int]]]]
Found = dict[OuterProduct, SimulatedAccelerator]


@pytest.fixture(scope="module")
def simulated() -> "Iterator[Found]":
    with (SimulatedAccelerator(SpatialAccelerator(MULTIPLIES), BYTES, 20) as one,
          SimulatedAccelerator(SpatialAccelerator(MERGES), BYTES, 20) as other):
        yield {MULTIPLIES: one, MERGES: other}


def given(kind: OuterProduct, seed: int = 1, height: int = 7) -> "tuple[Laid, object]":
    """Operands in memory, some rows and columns of which are empty, and what a phase makes of them: runs of lists, or rows."""
    random = np.random.default_rng(seed)
    a, b = (random.integers(-99, 99, size) * (random.random(size) < 0.4) for size in ((height, 9), (9, 8)))
    a[:, 2], b[4], a[height // 2] = 0, 0, 0
    runs = [[np.stack([np.flatnonzero(b[k]), a[row, k] * b[k, b[k] != 0]], 1) for k in np.flatnonzero(a[row]) if b[k].any()]
            for row in range(height)]
    if kind.phases == MERGE:
        return laid_lists(kind, runs, height * 8), (a @ b).tolist()
    return laid(kind, scipy.sparse.csc_array(a), scipy.sparse.csr_array(b), 0), sorted_runs(runs)


def sorted_runs(runs: "list[list[np.ndarray]]") -> Runs:
    return [sorted(run.tolist() for run in row) for row in runs]


def left(kind: OuterProduct, memory: bytes, place: Laid) -> object:
    """What a phase has left."""
    height = place.job["height"]
    if kind.phases == MERGE:
        return rows(memory, place, (height, 8)).toarray().tolist()
    return sorted_runs(lists(memory, place, height))


@pytest.mark.parametrize("kind", [MULTIPLIES, MERGES])
def test_phases_follow_each_other(kind: OuterProduct, simulated: Found) -> None:
    for seed, height, times in ((1, 7, 1), (2, 16, 1), (3, 1, 3)):
        place, wanted = given(kind, seed, height)
        simulated[kind].write(0, place.content)
        status = simulated[kind].run(spatial_outer.product(kind, place) * times, LIMIT).status
        assert status & 1 == 0 and status >> 16 & 15 == command.NONE
        assert left(kind, simulated[kind].read(0, len(place.content)), place) == wanted


def test_what_one_phase_leaves_the_other_one_takes_where_it_lies(simulated: Found) -> None:
    """Two accelerators on one memory: the table of first nodes of the first one is what the second one is asked to merge."""
    place, _ = given(MULTIPLIES, 5)
    _, wanted = given(MERGES, 5)
    simulated[MULTIPLIES].write(0, place.content)
    simulated[MULTIPLIES].run(spatial_outer.product(MULTIPLIES, place), LIMIT)
    between = simulated[MULTIPLIES].read(0, BYTES)
    job = {"lists": place.job["table"], "height": place.job["height"], "table": BYTES // 2, "free": BYTES // 2 + 64,
           "end": BYTES}
    simulated[MERGES].write(0, between)
    simulated[MERGES].run(spatial_outer.product(MERGES, Laid(b"", job)), LIMIT)
    assert rows(simulated[MERGES].read(0, BYTES), Laid(b"", job), (7, 8)).toarray().tolist() == wanted


@needs_compiler
@pytest.mark.parametrize("kind", [MULTIPLIES, MERGES])
def test_firmware_and_commands_leave_the_same_memory(kind: OuterProduct, simulated: Found) -> None:
    with_core = replace(kind, ram_bytes=RAM)
    place, wanted = given(with_core)
    content = spatial_outer.firmware(with_core, place) + place.content[RAM:]
    simulated[kind].write(0, content)
    simulated[kind].run(spatial_outer.product(kind, place), LIMIT)
    by_commands = simulated[kind].read(0, len(content))
    assert left(kind, by_commands, place) == wanted
    with SimulatedAccelerator(SpatialSystem(with_core), BYTES, 20) as system:
        system.write(0, content)
        status = system.run([], LIMIT).status
        assert status & 1 == 0 and status >> 16 & 15 == command.NONE
        assert system.read(0, len(content)) == by_commands != content


def test_headers_name_the_streams_of_a_phase() -> None:
    for kind, names in ((MULTIPLIES, ("A", "B", "P")), (MERGES, ("P", "C"))):
        assert tuple(each.name for each in kind.streams) == names
        for n, name in enumerate(names):
            assert f"#define SPATIAL_STREAM_{name} {region(BUFFER, n):#x}u\n#define" in header(kind)
        assert f"SPATIAL_STREAM_{'C' if kind is MULTIPLIES else 'A'} " not in header(kind)


P_SIDES = command.SET_SRC_AND_DST, region(MEMORY), region(BUFFER, 0)
WRONG = {
    "a result that is filled": ([(command.SET_SRC_AND_DST, region(MEMORY), region(BUFFER, 1))], command.REGIONS),
    "lists that are stored": ([(command.SET_SRC_AND_DST, region(BUFFER, 0), region(MEMORY))], command.REGIONS),
    "a stream that there is not": ([(command.SET_SRC_AND_DST, region(MEMORY), region(BUFFER, 2))], command.REGIONS),
    "fibers in place of lists": ([P_SIDES, (command.SET_AXIS_TYPE, BOTH, command.COMPRESSED)], command.VALUE),
    "segments of lists": ([P_SIDES, (command.SET_METADATA_ADDRESS, SOURCE, 0)], command.VALUE),
    "a wait for what is not asked for": ([(command.WAIT, 8, 0)], command.VALUE)}


def changed(nth: int, number: int, rs1: int, value: int) -> "list[Word]":
    """The commands of a merge, of which the nth that sets something sets another value."""
    words = spatial_outer.product(MERGES, given(MERGES)[0])
    at = [at for at, word in enumerate(words) if word[:2] == (number, rs1)][nth]
    return [*words[:at], (number, rs1, value), *words[at + 1:]]


LATE = {
    "lists of other rows than the result": (changed(1, command.SET_SPAN, BOTH | 1, 3), command.SHAPE),
    "nodes that are not aligned": (changed(0, command.SET_METADATA_ADDRESS, DESTINATION, 4), command.SHAPE),
    "no room for nodes": (changed(0, command.SET_METADATA_ADDRESS, DESTINATION | 1 << 16, 64), command.TENSORS),
    "more lists than there are": ([
        (word[0], word[1], 17) if word[0] == command.SET_SPAN else word
        for word in spatial_outer.product(MERGES, given(MERGES)[0])], command.TENSORS),
    "no memory": (changed(0, command.SET_ADDRESS, SOURCE, BYTES), command.BUS)}


@pytest.mark.parametrize("name", [*WRONG, *LATE])
def test_what_cannot_be_done_is_told(name: str, simulated: Found) -> None:
    words, error = (WRONG | LATE)[name]
    simulated[MERGES].write(0, given(MERGES)[0].content)
    status = simulated[MERGES].run(words, LIMIT).status
    assert status >> 16 & 15 == error
    assert error in (command.TENSORS, command.BUS) or status >> 20 & 127 == next(
        word[0] for word in reversed(words) if word[0] == status >> 20 & 127)
