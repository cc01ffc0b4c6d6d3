"""Vectors from memory to memory: fibers become vectors, results are NumPy's, and what is no fiber is told."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from riscv import needs_compiler
from simulators import run_cocotb
from vector_designs import BYTES, LIMIT, RAM, SMALL, accelerator, operands, two_operands

from sardonyx import designs
from sardonyx import spatial as sp
from sardonyx.hw.arch import command
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.vectored import NOWHERE, Vectored
from sardonyx.hw.spatial.convolve.buffered import BufferedVectors
from sardonyx.hw.spatial.convolve.former import Former
from sardonyx.runtime import spatial_firmware, spatial_vectors
from sardonyx.runtime.data.vector_arrays import Laid, laid
from sardonyx.runtime.spatial_commands import Program, check
from sardonyx.sim.model.cartesian import simulate
from sardonyx.sim.rtl.accelerator import SimulatedAccelerator
from sardonyx.sim.rtl.bench import Bench

ARRAY = SMALL.vectored
assert ARRAY is not None, "its elements meet in vectors"


@pytest.fixture(scope="module")
def simulated() -> "Iterator[SimulatedAccelerator]":
    with SimulatedAccelerator(accelerator().hardware(), BYTES, 20) as found:
        yield found


Fibers = list[list[tuple[int, int]]]


def words(array: Vectored, side: int, tensors: "list[Fibers]") -> "tuple[dict[str, list[int]], dict[str, list[int]]]":
    """What fills the former of a side with fibers of coordinates and values, and the vectors that it gives."""
    size, bits = ((array.kind.left, array.kind.left_bits), (array.kind.right, array.kind.right_bits))[side]
    value_bits = array.value_bits((array.left, array.right)[side])
    fills: dict[str, list[int]] = {"segments": [], "coordinates": [], "values": []}
    given: dict[str, list[int]] = {f"o{n}": [] for n in range(size)}
    total = 0
    for fibers in tensors:
        begins = total
        fills["segments"].append(total)
        for nth, fiber in enumerate(fibers):
            vectors = [fiber[at:at + size] for at in range(0, max(1, len(fiber)), size)]
            for vector in vectors:
                last = vector is vectors[-1]
                for at, to in zip(vector[::2], [*vector[1::2], (NOWHERE, 0)]):
                    fills["coordinates"].append(at[0] | to[0] << 16)
                    fills["values"].append(at[1] % (1 << value_bits) | to[1] % (1 << value_bits) << value_bits)
                    total += 1
                for n in range(size):
                    place, value = vector[n] if n < len(vector) else (0, 0)
                    marks = (n < len(vector)) | (last and nth == len(fibers) - 1) << 1 | last << 2
                    word = marks << bits + array.kind.place_bits
                    given[f"o{n}"].append(word | place << bits | value % (1 << bits) if marks & 1 else word)
            fills["segments"].append(total)
        if total == begins:     # of an empty tensor a pair comes that is none
            fills["coordinates"].append(1 << 20)
            fills["values"].append(99)
    return fills, given


@settings(max_examples=20)
@given(side=st.integers(0, 1), data=st.data(), stalls=st.none() | st.integers(1, 1 << 30))
def test_fibers_become_vectors(side: int, data: st.DataObject, stalls: "int | None") -> None:
    one = (ARRAY.left, ARRAY.right)[side]
    pairs = st.tuples(st.integers(0, one.reach(ARRAY.extents)), st.integers(-128, 127))
    tensors = data.draw(st.lists(st.lists(st.lists(pairs, max_size=7), min_size=3, max_size=3), max_size=3))
    fills, wanted = words(ARRAY, side, tensors)
    ran = Bench(Former(ARRAY, one)).run(fills, stalls=stalls)
    size, bits = len(wanted), (ARRAY.kind.left_bits, ARRAY.kind.right_bits)[side] + ARRAY.kind.place_bits
    # Of an element that is not there value and place do not matter.
    found = {name: [word if word >> bits & 1 else word >> bits << bits for word in ran.outputs[name]] for name in wanted}
    assert size and found == wanted and not ran.status["fault"] and not ran.left
    starts = fills["segments"][::4], fills["segments"][3::4]
    runs = [first | last - first << 32 for first, last in zip(*starts, strict=True)]
    assert ran.outputs["coordinates_run"] == ran.outputs["values_run"] == runs


@pytest.mark.parametrize("side,fiber", [(0, [(14, 1)]), (1, [(47, 1)]), (1, [(0, 1)] * 193)])
def test_a_place_out_of_reach_and_a_fiber_longer_than_is_held_are_told(side: int, fiber: "list[tuple[int, int]]") -> None:
    one = (ARRAY.left, ARRAY.right)[side]
    nearer = [(at - 1, value) for at, value in fiber[:192]] if fiber[0][0] else fiber[:192]
    for found, told in ((fiber, 1), (nearer, 0)):
        assert Bench(Former(ARRAY, one)).run(words(ARRAY, side, [[found, [], []]])[0]).status["fault"] == told


@pytest.mark.parametrize("nth,told", [(0, 0), (1, 1), (2, 0), (3, 1)])
def test_an_element_that_an_odd_vector_has_no_room_for_is_told(nth: int, told: int) -> None:
    # Of vectors of three the second and the fourth pair end one.
    fills = words(ARRAY, 1, [[[(1, 1)] * 6, [], []]])[0]
    fills["coordinates"][nth] = 1 | 1 << 16
    assert Bench(Former(ARRAY, ARRAY.right)).run(fills).status["fault"] == told


@pytest.mark.slow
@settings(max_examples=15)
@given(density=st.sampled_from((0, 0.1, 0.5, 1)), seed=st.integers(0, 1 << 30), size=st.sampled_from((1, 2)))
def test_results_in_memory_are_those_of_numpy(simulated: SimulatedAccelerator, density: float, seed: int, size: int) -> None:
    given = operands(SMALL, density, seed)
    place = laid(ARRAY, given, 0, size)
    simulated.write(0, place.content)
    program = spatial_vectors.vectors(accelerator().kind, place)
    assert simulated.run(program.words, LIMIT).status >> 16 & 15 == command.NONE
    found = np.frombuffer(simulated.read(0, len(place.content) + place.result_bytes)[len(place.content):],
                          (np.int16, np.int32)[size - 1])
    wanted = SMALL.run("golden", **given).value
    assert np.array_equal(found.reshape(wanted.shape), wanted.astype(found.dtype))


def read(array: Vectored, place: Laid) -> "tuple[dict[str, list[int]], dict[str, list[int]]]":
    """What fills formers, out of the arrays in memory, and the streams of an array."""
    fills: dict[str, list[int]] = {}
    streams: dict[str, list[int]] = {}
    for side, name, fed in zip(place.sides, ("left", "right"), zip(*place.tensors, strict=True), strict=True):
        tensors = []
        for tensor in fed:
            at, coordinates, values = side.addresses(tensor)
            segments = np.frombuffer(place.content, np.int32, side.fibers + 1, at)
            kind = {1: np.int8, 2: np.int16}[side.size]
            count = 2 * int(segments[-1])
            pairs = [*zip(np.frombuffer(place.content, np.uint16, count, coordinates).tolist(),
                          np.frombuffer(place.content, kind, count, values).tolist())]
            tensors.append([[pair for pair in pairs[2 * begin:2 * end] if pair[0] != NOWHERE]
                            for begin, end in pairwise(segments.tolist())])
        filled, vectors = words(array, name == "right", tensors)
        fills |= {f"{array.operands[name == 'right'].name}_{member}": found for member, found in filled.items()}
        streams |= {f"{name}{port[1:]}": found for port, found in vectors.items()}
    return fills, streams


@settings(max_examples=40)
@given(design=two_operands(), density=st.sampled_from((0.2, 1)), seed=st.integers(0, 1 << 30))
def test_what_lies_in_memory_is_any_result_of_two_operands(design: sp.Design, density: float, seed: int) -> None:
    array = design.vectored
    assert array is not None
    given = operands(design, density, seed)
    place = laid(array, given, 0, 2)
    outputs = simulate(array.kind, read(array, place)[1])
    # Of each part a row of words has one of every bank.
    sums = np.array([*outputs.values()]).reshape(array.kind.banks, len(place.sums), -1).transpose(1, 2, 0)
    found = np.concatenate([part.ravel()[:count] for part, count in zip(sums, place.sums, strict=True)])
    found = found.astype(np.uint32).astype(np.int32).reshape(2, *array.result.shape)
    assert np.array_equal(found, design.run("golden", **given).value)
    assert design.accelerator().kind.streams[0].elements == array.fibers + 1


@settings(max_examples=15)
@given(density=st.sampled_from((0, 0.1, 0.5, 1)), seed=st.integers(0, 1 << 30), stalls=st.none() | st.integers(1, 1 << 30))
def test_fibers_become_rows_of_sums(density: float, seed: int, stalls: "int | None") -> None:
    given = operands(SMALL, density, seed)
    place = laid(ARRAY, given, 0, 2)
    result, = accelerator().kind.rows
    ran = Bench(BufferedVectors(ARRAY, result)).run(read(ARRAY, place)[0], {"size": 2}, stalls=stalls, idle=500)
    sums = np.array(ran.outputs["output"], np.uint64).view(np.int32).reshape(len(place.sums), -1)
    found = np.concatenate([part[:count] for part, count in zip(sums, place.sums, strict=True)])
    wanted = SMALL.run("golden", **given).value
    assert np.array_equal(found.reshape(wanted.shape), wanted) and not ran.status["fault"] and not ran.left


def test_operands_that_parts_share_lie_in_memory_once() -> None:
    given = operands(SMALL, 1, 1)
    place = laid(ARRAY, {name: np.stack([each[0]] * 2) for name, each in given.items()}, 0, 2)
    # Two parts of each operation, by outputs, that is by weights.
    assert place.tensors == ((0, 0), (0, 1), (0, 0), (0, 1))


@pytest.mark.slow
@needs_compiler
def test_firmware_and_commands_leave_the_same_memory(simulated: SimulatedAccelerator) -> None:
    design = accelerator(ram_bytes=RAM)
    place = laid(ARRAY, operands(SMALL, 0.5, 1), RAM, 2)
    content = spatial_vectors.firmware(design.kind, place) + place.content[RAM:]
    size = len(content) + place.result_bytes
    simulated.write(0, content)
    simulated.run(spatial_vectors.vectors(accelerator().kind, place).words, LIMIT)
    by_commands = simulated.read(0, size)
    with SimulatedAccelerator(design.hardware(), BYTES, 20) as system:
        system.write(0, content)
        status = system.run([], LIMIT).status
        assert status & 1 == 0 and status >> 16 & 15 == command.NONE
        assert system.read(0, size) == by_commands != content + bytes(place.result_bytes)


@pytest.mark.slow
def test_commands_of_a_bus_that_stalls_leave_the_same_memory(tmp_path) -> None:
    run_cocotb(accelerator().hardware(), "cocotb_vectors", "verilator", tmp_path)


@pytest.mark.slow
def test_an_array_as_large_as_scnn_s_goes_from_memory_to_memory() -> None:
    design = designs.design("scnn")
    report = design.accelerator().compute(stored=1).report
    assert report["elements_checked"] == 32 * 9 * 9 and report["parts"] == 2


def segments(*starts: int, stream: str = "weights", coordinate: int = 0) -> "tuple[bytes, Program]":
    """Memory with segments and coordinates of a tensor, and a request for it."""
    program = Program(accelerator().kind)
    program.arrays(f"{stream}_values", (0, 64, 1024), 1)
    return np.array(starts, np.int32).tobytes().ljust(64, b"\0") + np.full(480, coordinate, np.uint16).tobytes(), program


def told(name: str, *words: int) -> "tuple[bytes, Program]":
    program = Program(accelerator().kind)
    program.command(name, *words)
    return b"", program


def told_size(size: int) -> "tuple[bytes, Program]":
    program = Program(accelerator().kind)
    program.arrays("image_values", (0, 64, 1024), size)
    return b"", program


WRONG: "dict[str, tuple[Callable[[], tuple[bytes, Program]], str]]" = {
    "a fiber longer than is held": (lambda: segments(0, 129, 129, 129), "more than have room"),
    "segments that fall": (lambda: segments(3, 1, 1, 1), "more than have room"),
    "a place of weights that there is not": (lambda: segments(0, 1, 1, 1, coordinate=99), "more than have room"),
    "a place of the image that there is not": (lambda: segments(0, 1, 1, 1, stream="image", coordinate=99), "more than have"),
    "values that are no pairs": (lambda: told_size(0), "a value that there is not"),
    "sums of several operations": (lambda: told("set_constant", command.PARTS, 2), "a value that there is not"),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", WRONG)
def test_what_is_no_fiber_is_told(what: str, simulated: SimulatedAccelerator) -> None:
    memory, program = WRONG[what][0]()
    simulated.write(0, memory.ljust(2048, b"\0"))
    with pytest.raises(UserError, match=WRONG[what][1]):
        check(simulated.run(program.words, LIMIT).status, "few")


@pytest.mark.slow
def test_what_waits_for_weights_is_given_up(simulated: SimulatedAccelerator) -> None:
    place = laid(ARRAY, operands(SMALL, 0.5, 3), 0, 2)
    alone = Program(accelerator().kind)
    alone.patience(500)
    alone.arrays("image_values", place.sides[0].addresses(0), place.sides[0].size)
    alone.request("output", place.results[0], [(64, 64, 1)], 2)
    alone.wait()
    simulated.write(0, place.content)
    assert simulated.run(alone.words, LIMIT).status >> 16 & 15 == command.HANG


@pytest.mark.slow
@needs_compiler
def test_of_an_image_whose_weights_are_not_in_memory_nothing_is_left_behind_the_error(tmp_path: Path) -> None:
    """In one program, as each run begins with a reset."""
    kind, given = accelerator(ram_bytes=RAM).kind, operands(SMALL, 0.5, 3)
    place = laid(ARRAY, given, RAM, 2)
    image, weights = place.sides
    spoilt, whole = Program(kind), spatial_vectors.vectors(kind, place)
    spoilt.arrays("image_values", image.addresses(0), image.size)
    spoilt.arrays("weights_values", (1 << 28, 1 << 28, 1 << 28), weights.size)
    first, second = ("\n".join(f"(void)SPATIAL_COMMAND({number}, {rs1}u, {rs2}u);" for number, rs1, rs2 in each.words)
                     for each in (spoilt, whole))
    source = tmp_path / "program.c"
    source.write_text(f"""#include "spatial.h"
__attribute__((section(".start"), used)) void _start(void)
{{
{first}
    if (spatial_fence() != {command.BUS}u)
        __asm__ volatile("j .");
    spatial_clear();
{second}
    (void)spatial_fence();
    __asm__ volatile("ebreak");
}}
""")
    content = spatial_firmware.compiled(kind, source, {}) + place.content[RAM:]
    with SimulatedAccelerator(accelerator(ram_bytes=RAM).hardware(), BYTES, 20) as system:
        system.write(0, content + bytes(place.result_bytes))
        assert system.run([], LIMIT).status >> 16 & 15 == command.NONE
        found = np.frombuffer(system.read(0, len(content) + place.result_bytes)[len(content):], np.int32)
    wanted = SMALL.run("golden", **given).value
    assert np.array_equal(found.reshape(wanted.shape), wanted)


def without_room(**changes: object) -> object:
    return replace(SMALL, **changes).accelerator().kind     # type: ignore[arg-type]


@pytest.mark.parametrize("make,said", [
    (lambda: SMALL.accelerator(ports=4),
     "accelerator 'few': dma has 4 ports, and vectors need coordinates and values of both operands at once, and sums\n"),
    (lambda: without_room(buffers={"weights": sp.Held(), "output": sp.Sums(banks=64, words=1024)}),
     "accelerator 'few': array has 65,536 sums, and a request moves 65,535 elements\n"),
    (lambda: without_room(bounds={**SMALL.bounds, "c": 5000}), "accelerator 'few': array has 5,000 fibers of an operand\n"),
    (lambda: accelerator().product([[1]], [[1]]), "few: requests bring its operands as fibers, part by part"),
    (lambda: accelerator().compute(image=np.full((3, 3, 4), 128)), "image: it has values from 128 to 128\n"),
    (lambda: accelerator().compute("tokens"), "there is no engine 'tokens'"),
    (lambda: accelerator().compute(stored=1),
     "stored: a row of 4 sums of 1 byte is no word of the bus\n  try: give 2 or 4"),
    (lambda: accelerator().compute(latency=0), "latency: it is 0, but has to be 1 or more\n"),
    (lambda: accelerator().compute(stored=3), "stored: it is 3\n  try: give 1, 2 or 4 bytes"),
    (lambda: designs.design("tiled_matmul").accelerator().compute(), "tiled_matmul: its operands are matrices, or req"),
])
def test_what_does_not_fit_is_refused(make: "Callable[[], object]", said: str) -> None:
    with pytest.raises(UserError) as error:
        make()
    assert str(error.value).startswith(said) and error.value.fix
