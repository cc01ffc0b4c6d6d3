"""Matrices without zeros go from memory to memory by one request each, and what is none is told."""

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from riscv import needs_compiler
from without_zeros import A_AT, B_AT, BYTES, C_AT, RAM, accelerator, matrices, placed

from sardonyx.hw.arch import command
from sardonyx.hw.arch.command import BOTH, SOURCE
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.written import Written
from sardonyx.runtime import spatial_firmware, spatial_sparse
from sardonyx.runtime.data.blocked import Blocked, Cut, blocked, elements
from sardonyx.runtime.data.private_buffers import filled
from sardonyx.runtime.data.written import runs
from sardonyx.runtime.spatial_commands import Program, check
from sardonyx.sim.rtl.accelerator import SimulatedAccelerator


@pytest.fixture(scope="module")
def simulated() -> "Iterator[SimulatedAccelerator]":
    with SimulatedAccelerator(accelerator().hardware(), BYTES, 20) as found:
        yield found


@settings(max_examples=15)
@given(shape=st.tuples(st.integers(1, 5), st.integers(1, 9), st.integers(1, 5)), density=st.sampled_from((0, 0.2, 0.6, 1)),
       seed=st.integers(0, 1 << 30))
def test_a_product_of_matrices_without_zeros_is_that_of_numpy(
        simulated: SimulatedAccelerator, shape: "tuple[int, int, int]", density: float, seed: int) -> None:
    a, b = matrices(shape, density, seed)
    design = accelerator()
    simulated.write(0, placed(design, a, b))
    program = spatial_sparse.product(design.kind, shape, A_AT, B_AT, C_AT)
    assert simulated.run(program.words, 100_000).status >> 16 & 15 == command.NONE
    memory = simulated.read(0, BYTES)
    cut = spatial_sparse.tiled(design.kind, shape).cuts[2]
    segments = np.frombuffer(memory, np.int32, cut.tiles[0] * cut.tiles[1] * cut.fibers + 1, C_AT.segments)
    coordinates, values = (np.frombuffer(memory, kind, segments[-1], at) for kind, at in (
        (np.uint16, C_AT.coordinates), (np.int32, C_AT.values)))
    rows, columns, found = elements(cut, Blocked(segments, coordinates, values))
    assert np.array_equal(scipy.sparse.coo_array((found, (rows, columns)), (a @ b).shape).toarray(), a @ b)
    # Behind the last element nothing is written.
    assert not any(memory[C_AT.values + 4 * segments[-1]:])


@pytest.mark.slow
@pytest.mark.parametrize("ports", [1, 16])
def test_the_result_of_scipy_comes_of_any_number_of_ports(ports: int) -> None:
    a, b = (scipy.sparse.csr_array(each) for each in matrices((5, 13, 5), 0.4, 3))
    found = accelerator(ports=ports).product(a, b)
    assert (found.value != a @ b).nnz == 0 and found.report["nonzeros"] == found.value.nnz


@needs_compiler
def test_firmware_and_commands_leave_the_same_memory(simulated: SimulatedAccelerator) -> None:
    shape = 5, 9, 5
    a, b = matrices(shape, 0.5, 1)
    design = accelerator(ram_bytes=RAM)
    firmware = spatial_firmware.sparse_product(design.kind, shape, A_AT, B_AT, C_AT)
    content = firmware + placed(design, a, b)[RAM:]
    simulated.write(0, content)
    simulated.run(spatial_sparse.product(accelerator().kind, shape, A_AT, B_AT, C_AT).words, 100_000)
    by_commands = simulated.read(0, BYTES)
    with SimulatedAccelerator(design.hardware(), BYTES, 20) as system:
        system.write(0, content)
        status = system.run([], 400_000).status
        assert status & 1 == 0 and status >> 16 & 15 == command.NONE
        assert system.read(0, BYTES) == by_commands != content


@pytest.mark.parametrize("last", ["bitvector", pytest.param("linked list", marks=pytest.mark.slow)])
def test_results_in_other_formats_go_to_memory_and_bits_come_from_there(last: str) -> None:
    """Two tensors, of which the second one goes on behind the first."""
    (a, b), design = matrices((2, 6, 4), 0.7, 5), accelerator("compressed", 4, 0, 32, last)
    bits = last == "bitvector"
    memory = bytearray(placed(accelerator(), a, b))
    b_at: tuple[int, ...] = (B_AT.segments, B_AT.coordinates, B_AT.values)
    if bits:
        memory[B_AT.segments:B_AT.segments + 8] = np.array([sum(1 << int(crd) for crd in np.flatnonzero(row)) for row in b],
                                                           np.uint16).tobytes()
        b_at = B_AT.segments, B_AT.values
    arrays = [stream for stream in design.kind.streams if stream.is_result]
    addresses = [C_AT.segments + 0x100 * nth for nth in range(len(arrays))]
    program = Program(design.kind)
    for tile in range(2):
        program.arrays("A_values", (A_AT.segments + tile * 2 * 4, A_AT.coordinates, A_AT.values), 1)
        program.arrays("B_values", (b_at[0] + tile * 2 * (2 if bits else 4), *b_at[1:]), 1)
        if bits:
            lead = addresses[0] + tile * 2 * 2
            program.arrays("C_values", (lead, *addresses[1:]), 2)
    if not bits:
        program.arrays("C_values", addresses, 2)
    program.wait()
    found, _ = design.run(program, bytes(memory))
    sizes = {"bits": np.uint16, "heads": np.uint16, "coordinates": np.uint16, "links": np.uint32, "values": np.int32}
    kinds = [sizes[stream.name.removeprefix("C_")] for stream in arrays]
    parts = [a[:, 2 * tile:2 * tile + 2] @ b[2 * tile:2 * tile + 2] for tile in range(2)]
    # Every place that products are at is stored, whatever their sum.
    there = [(a[:, 2 * tile:2 * tile + 2] != 0).astype(int) @ (b[2 * tile:2 * tile + 2] != 0) for tile in range(2)]
    if bits:
        words = np.frombuffer(found, kinds[0], 4, addresses[0])
        assert words.tolist() == [sum(1 << int(crd) for crd in np.flatnonzero(row)) for each in there for row in each]
        values = np.concatenate([part[place != 0] for part, place in zip(parts, there)])
        assert np.array_equal(np.frombuffer(found, np.int32, len(values), addresses[1]), values)
        return
    heads = np.frombuffer(found, np.uint16, 3, addresses[0])
    counts = (heads[2], 2 * heads[2], 2 * heads[2])
    read = [heads, *(np.frombuffer(found, kind, count, at) for kind, count, at in zip(kinds[1:], counts, addresses[1:]))]
    result, = design.kind.results
    assert isinstance(result, Written)
    names = [stream.name.removeprefix("C_") for stream in arrays]
    for row, nodes in enumerate(runs(result, {name: words.tolist() for name, words in zip(names, read)})):
        # The elements of the first tensor in nodes of 2, then those of the second one.
        wanted = [(int(crd), int(part[row, crd])) for part, place in zip(parts, there) for crd in np.flatnonzero(place[row])]
        assert [pair for node in nodes for pair in node] == wanted


def test_linked_lists_come_by_commands() -> None:
    """Two tensors of A, whose nodes follow each other in memory, and a result that is the sum of both products."""
    (a, b), design = matrices((2, 6, 4), 0.7, 6), accelerator("linked list")
    memory, program = bytearray(placed(accelerator(), a, b)), Program(design.kind)
    places = [(A_AT.segments + 0x40 * nth, kind) for nth, kind in enumerate((np.uint16, np.uint16, np.uint16, np.int16))]
    ends = [at for at, _ in places]
    program.parts(2)
    for tile in range(2):
        fills = filled(design.kind.buffers[0], a[None, :, 2 * tile:2 * tile + 2])
        words = fills["A_lists"]
        arrays = [words[1:4], words[5:5 + words[4]], words[6 + words[4]:], fills["A_values"][1:]]
        for nth, (words, (_, kind)) in enumerate(zip(arrays, places, strict=True)):
            found = np.array(words).astype(kind).tobytes()
            memory[ends[nth]:ends[nth] + len(found)] = found
            ends[nth] += len(found)
        # Heads are named anew for each tensor, what they count goes on.
        program.arrays("A_values", (ends[0] - 6, *(at for at, _ in places[1:])), 1)
        program.arrays("B_values", (B_AT.segments + tile * 2 * 4, B_AT.coordinates, B_AT.values), 1)
    program.arrays("C_values", (C_AT.segments, C_AT.coordinates, C_AT.values), 2)
    program.wait()
    found, _ = design.run(program, bytes(memory))
    segments = np.frombuffer(found, np.int32, 3, C_AT.segments)
    coordinates, values = (np.frombuffer(found, kind, segments[-1], at) for kind, at in (
        (np.uint16, C_AT.coordinates), (np.int32, C_AT.values)))
    wanted = a @ b
    for row, (begin, end) in enumerate(pairwise(segments)):
        assert np.array_equal(wanted[row, coordinates[begin:end]], values[begin:end])
        assert np.count_nonzero(wanted[row]) == np.count_nonzero(values[begin:end])


def test_arrays_of_scipy_come_and_go_as_they_are() -> None:
    """Offsets of 64 bits, coordinates of 32 and values of 32: of each the low half, or the low 16 bits, count."""
    (a, b), design = matrices((2, 6, 4), 0.6, 8), accelerator()
    parts = scipy.sparse.csc_array(a), scipy.sparse.csr_array(b)
    memory, program = bytearray(BYTES), Program(design.kind)
    for place, of in zip((A_AT, B_AT), parts):
        for at, each in ((place.segments, of.indptr.astype(np.int64)), (place.coordinates, of.indices.astype(np.int32)),
                         (place.values, of.data.astype(np.int32))):
            memory[at:at + each.nbytes] = each.tobytes()
    program.parts(2)
    for tile in range(2):
        for name, place in (("A", A_AT), ("B", B_AT)):
            program.arrays(f"{name}_values", (place.segments + tile * 2 * 8, place.coordinates, place.values), 1, (2, 2, 2))
    program.arrays("C_values", (C_AT.segments, C_AT.coordinates, C_AT.values), 2, (2, 2, 1))
    program.wait()
    found, _ = design.run(program, bytes(memory))
    offsets = np.frombuffer(found, np.int64, 3, C_AT.segments)
    arrays = (np.frombuffer(found, np.int32, offsets[-1], at) for at in (C_AT.values, C_AT.coordinates))
    assert np.array_equal(scipy.sparse.csr_array((*arrays, offsets), (2, 6)).toarray(), a @ b)


@pytest.mark.parametrize("told,segments,said", [
    (lambda program: program.request("A_coordinates", A_AT.coordinates, [(2, 2, 1)], 1), (0, 1, 2), "spans of 0"),
    (lambda program: program.command("set_axis_type", BOTH, command.BITVECTOR), (0, 1, 2), "an axis, a constant or a value"),
    (lambda program: program.command("set_metadata_address", SOURCE | 2 << 16, 0), (0, 1, 2), "an axis, a constant or a value"),
    (lambda program: program.request("A_segments", A_AT.segments, [(2, 2, 1)], 2), (0, 1, 2), "no whole number of tensors"),
    (lambda program: program.arrays("A_values", (A_AT.segments, A_AT.coordinates, A_AT.values), 1), (2, 1, 3),
     "no whole number of tensors"),
    (lambda program: program.arrays("A_values", (A_AT.segments, A_AT.coordinates, A_AT.values), 1), (0, 1, 1 << 20),
     "no whole number of tensors"),
])
def test_what_is_no_tensor_without_zeros_is_told(told: "Callable[[Program], None]", segments: "tuple[int, ...]", said: str,
                                                 simulated: SimulatedAccelerator) -> None:
    simulated.write(0, bytes(A_AT.segments) + np.array(segments, np.int32).tobytes() + bytes(64))
    program = Program(accelerator().kind)
    stream = command.region(command.BUFFER, program.index("A_values"))
    program.command("set_src_and_dst", command.region(command.MEMORY), stream)
    told(program)
    with pytest.raises(UserError, match=said):
        check(simulated.run(program.words, 20_000).status, "without_zeros")


def test_a_result_that_has_no_room_is_told(simulated: SimulatedAccelerator) -> None:
    # Segments that name 17 coordinates of a buffer with room for 16.
    simulated.write(0, bytes(A_AT.segments) + np.array([0, 17, 17], np.int32).tobytes() + bytes(64))
    program = Program(accelerator().kind)
    program.arrays("A_values", (A_AT.segments, A_AT.coordinates, A_AT.values), 1)
    with pytest.raises(UserError, match="no whole number of tensors, or more than have room"):
        check(simulated.run(program.words, 20_000).status, "without_zeros")


def test_arrays_of_other_tensors_are_refused() -> None:
    program = Program(accelerator().kind)
    for stream, addresses, said in (("A_values", (0, 0), "give 3"), ("A_segments", (0,), "name the values of a tensor"),
                                    ("D", (0,), "there is no stream 'D'")):
        with pytest.raises(UserError) as refused:
            program.arrays(stream, addresses, 1)
        assert said in str(refused.value)
    with pytest.raises(UserError) as refused:
        spatial_sparse.tiled(accelerator("compressed", 4, 0, 32, "bitvector").kind, (2, 2, 2))
    assert str(refused.value) == (
        "without_zeros: a product without zeros has compressed buffers for A, B and C, one bank each\n"
        "  try: give these, as tiled_spgemm has them, or dense ones without skips by values, or run(program, memory)")
    with pytest.raises(UserError, match="give matrices that can be multiplied"):
        accelerator().product(np.ones((2, 3), int), np.ones((2, 3), int))
    with pytest.raises(UserError, match="sums without zeros are stored whole"):
        accelerator().product(np.ones((2, 3), int), np.ones((3, 2), int), stored=1)


@given(rows=st.integers(1, 9), columns=st.integers(1, 9), by_columns=st.booleans(), down=st.booleans(), seed=st.integers(0, 99))
def test_elements_are_those_that_were_cut(rows: int, columns: int, by_columns: bool, down: bool, seed: int) -> None:
    matrix = np.random.default_rng(seed).integers(0, 2, (rows, columns))
    cut = Cut((rows, columns), (2, 3), by_columns, down)
    at = np.nonzero(matrix)
    found = elements(cut, blocked(cut, *at, matrix[at]))
    assert np.array_equal(scipy.sparse.coo_array((found[2], found[:2]), matrix.shape).toarray(), matrix)
