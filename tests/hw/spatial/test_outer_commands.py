"""An outer product does commands: products one behind the other, whose memory is that of firmware; what is none is told."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from riscv import needs_compiler

from sardonyx import spatial as sp
from sardonyx.hw.arch import command
from sardonyx.hw.arch.cartesian import LEFT, RIGHT
from sardonyx.hw.arch.command import BOTH, BUFFER, DESTINATION, MEMORY, SOURCE, Word, region
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.logic import Apply, Feed
from sardonyx.hw.arch.outer_product import MULTIPLY, OuterProduct
from sardonyx.hw.component import decided_by
from sardonyx.hw.kept import identity
from sardonyx.hw.spatial.accelerator import SpatialAccelerator
from sardonyx.hw.spatial.system import SpatialSystem
from sardonyx.runtime import spatial_firmware, spatial_outer
from sardonyx.runtime.data.outer_product import Laid, laid, rows
from sardonyx.sim.rtl.accelerator import SimulatedAccelerator

# Two lanes that share a port; a row of the result has up to 15 elements.
KIND = OuterProduct("outer_commands", lanes=2, ports=1, rows=16, pairs=32, queue=16)
RAM, BYTES, LIMIT = 4096, 1 << 16, 200_000


@pytest.fixture(scope="module")
def simulated() -> "Iterator[SimulatedAccelerator]":
    with SimulatedAccelerator(SpatialAccelerator(KIND), BYTES, 20) as found:
        yield found


def given(kind: OuterProduct, shape: "tuple[int, int, int]" = (7, 9, 8), seed: int = 1) -> "tuple[Laid, np.ndarray]":
    """Operands in memory, and their product."""
    random, (height, terms, width) = np.random.default_rng(seed), shape
    a, b = (random.integers(-99, 99, size) * (random.random(size) < 0.4) for size in ((height, terms), (terms, width)))
    return laid(kind, scipy.sparse.csc_array(a), scipy.sparse.csr_array(b), height * width), a @ b


def test_products_follow_each_other(simulated: SimulatedAccelerator) -> None:
    for times in (1, 3):
        place, wanted = given(KIND)
        simulated.write(0, place.content)
        status = simulated.run(spatial_outer.product(KIND, place) * times, LIMIT).status
        assert status & 1 == 0 and status >> 16 & 15 == command.NONE
        assert np.array_equal(rows(simulated.read(0, len(place.content)), place, wanted.shape).toarray(), wanted)


@needs_compiler
def test_firmware_and_commands_leave_the_same_memory(simulated: SimulatedAccelerator) -> None:
    kind = replace(KIND, ram_bytes=RAM)
    place, wanted = given(kind)
    content = spatial_outer.firmware(kind, place) + place.content[RAM:]
    simulated.write(0, content)
    simulated.run(spatial_outer.product(KIND, place), LIMIT)
    by_commands = simulated.read(0, len(content))
    assert np.array_equal(rows(by_commands, place, wanted.shape).toarray(), wanted)
    with SimulatedAccelerator(SpatialSystem(kind), BYTES, 20) as system:
        system.write(0, content)
        status = system.run([], LIMIT).status
        assert status & 1 == 0 and status >> 16 & 15 == command.NONE
        assert system.read(0, len(content)) == by_commands != content


@needs_compiler
def test_a_request_behind_an_error_of_the_cores_memory_stays(tmp_path: Path) -> None:
    kind, source = replace(KIND, ram_bytes=RAM), tmp_path / "program.c"
    source.write_text("""#include "spatial.h"
static inline void ask(uint32_t stream, uint32_t axis, uint32_t address)
{
    spatial_set_src_and_dst(SPATIAL_MEMORY, stream);
    spatial_set_constant(SPATIAL_ELEMENT, 2);
    spatial_set_address(SPATIAL_FOR_SRC, address);
    spatial_set_span(SPATIAL_FOR_BOTH, axis, 4);
    if (axis)
        spatial_set_axis_type(SPATIAL_FOR_BOTH, 0, SPATIAL_COMPRESSED);
    spatial_issue();
}
__attribute__((section(".start"), used)) void _start(void)
{
    ask(SPATIAL_STREAM_RAM, 0, 0x10000000u);
    if (spatial_fence() != 6u)
        __asm__ volatile("j .");
    spatial_clear();
    ask(SPATIAL_STREAM_A, 1, 0);
    spatial_wait(SPATIAL_WAIT_A);
    /* B and C were not asked for. */
    (void)spatial_fence();
    __asm__ volatile("ebreak");
}
""")
    with SimulatedAccelerator(SpatialSystem(kind), BYTES, 20) as system:
        system.write(0, spatial_firmware.compiled(kind, source, {}))
        assert system.run([], LIMIT).status >> 16 & 15 == command.ORDER


def changed(number: int, rs1: int, value: int) -> "list[Word]":
    """The commands of a product, of which one has another value."""
    place, _ = given(KIND)
    found = [(word[0], word[1], value) if word[:2] == (number, rs1) else word for word in spatial_outer.product(KIND, place)]
    assert found != spatial_outer.product(KIND, place)
    return found


A_SIDES = command.SET_SRC_AND_DST, region(MEMORY), region(BUFFER, 0)
WRONG = {
    "an unknown command": ([(99, 0, 0)], command.UNKNOWN),
    "no request": ([(command.ISSUE, 0, 0)], command.REGIONS),
    "a result that is filled": ([(command.SET_SRC_AND_DST, region(MEMORY), region(BUFFER, 2))], command.REGIONS),
    "an operand that is stored": ([(command.SET_SRC_AND_DST, region(BUFFER, 0), region(MEMORY))], command.REGIONS),
    "a stream that there is not": ([(command.SET_SRC_AND_DST, region(MEMORY), region(BUFFER, 3))], command.REGIONS),
    "bytes": ([A_SIDES, (command.SET_CONSTANT, command.ELEMENT, 0)], command.VALUE),
    "lists of an operand": ([A_SIDES, (command.SET_AXIS_TYPE, BOTH, command.LINKED_LIST)], command.VALUE),
    "an array that there is not": ([A_SIDES, (command.SET_METADATA_ADDRESS, SOURCE | 1 << 16, 0)], command.VALUE),
    "strides": ([A_SIDES, (command.SET_STRIDE, SOURCE, 1)], command.VALUE),
    "no type": ([A_SIDES, (command.SET_CONSTANT, command.ELEMENT, 2), (command.SET_SPAN, BOTH | 1, 9), (command.ISSUE, 0, 0)],
                command.VALUE),
    "operands of different terms": (changed(command.SET_SPAN, BOTH | 1, 3)[:7] + changed(command.SET_ADDRESS, SOURCE, 0)[7:],
                                    command.SHAPE),
    "no fibers": (changed(command.SET_SPAN, BOTH | 1, 0), command.SHAPE),
    "nodes that are not aligned": (changed(command.SET_METADATA_ADDRESS, DESTINATION, 4), command.SHAPE),
    "a wait for what is not asked for": ([*changed(command.SET_ADDRESS, SOURCE, 0)[:7], (command.WAIT, 2, 0)], command.ORDER),
    "another request of a stream that waits for others": ([*changed(command.SET_ADDRESS, SOURCE, 0)[:7], (command.ISSUE, 0, 0)],
                                                          command.ORDER),
    "a wait for a stream that there is not": ([(command.WAIT, 16, 0)], command.VALUE),
    "no room for nodes": (changed(command.SET_METADATA_ADDRESS, DESTINATION | 1 << 16, 64), command.TENSORS),
    "more rows than there are": (changed(command.SET_SPAN, BOTH | 1, 17), command.TENSORS),
    "no memory": (changed(command.SET_ADDRESS, SOURCE, BYTES), command.BUS),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_done_is_told(name: str, simulated: SimulatedAccelerator) -> None:
    words, error = WRONG[name]
    simulated.write(0, given(KIND)[0].content)
    status = simulated.run(words, LIMIT).status
    assert status >> 16 & 15 == error
    if error not in (command.TENSORS, command.BUS):
        assert status >> 20 & 127 == next(word[0] for word in reversed(words) if word[0] == status >> 20 & 127)


def test_a_product_by_commands_is_scipys() -> None:
    design = sp.OuterProductDesign(replace(KIND, queue=0)).accelerator()
    assert design.kind == KIND
    found = design.run(**design.matrices(9, 13, 11, seed=3))
    assert found.report["commands"] == len(spatial_outer.product(KIND, given(KIND)[0]))
    with pytest.raises(UserError, match="random matrices with 2,000,000 elements"):
        design.matrices(1000, 1000, 1000)


def test_more_rows_than_a_span_holds_are_refused() -> None:
    place, _ = given(KIND)
    with pytest.raises(UserError, match="the product has 70,000 terms, and a span of a command up to 65,535"):
        spatial_outer.product(KIND, replace(place, job={**place.job, "terms": 70_000}))
    with pytest.raises(UserError, match="for a core whose commands nothing takes"):
        replace(KIND, queue=0, ram_bytes=RAM)


@pytest.mark.parametrize("change", [
    {"node": 4}, {"phases": MULTIPLY}, {"takes_columns": False}, {"takes_rows": False},
    {"value": Apply("max", (Feed(LEFT, 0), Feed(RIGHT, 0)))}], ids=lambda change: next(iter(change)))
@pytest.mark.parametrize("top", [SpatialAccelerator, SpatialSystem])
def test_machines_of_one_name_are_kept_apart(top: Any, change: "dict[str, Any]") -> None:
    one = replace(KIND, ram_bytes=RAM)
    assert identity(decided_by(top(one))) != identity(decided_by(top(replace(one, **change))))
