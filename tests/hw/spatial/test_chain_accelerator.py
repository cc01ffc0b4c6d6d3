"""Tensors whose levels are behind each other come from memory by one request each, array after array."""

from collections.abc import Callable
from functools import cache
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from chained_levels import KINDS, design
from riscv import needs_compiler

from sardonyx import spatial as sp
from sardonyx.accelerators import AcceleratorDesign
from sardonyx.hw.arch import command
from sardonyx.hw.arch.chain import ChainedBank
from sardonyx.hw.arch.errors import UserError
from sardonyx.runtime import spatial_firmware
from sardonyx.runtime.data.chain_arrays import stacked
from sardonyx.runtime.spatial_commands import Program, check
from sardonyx.sim.rtl.accelerator import SimulatedAccelerator

i, j, r, c = sp.indices("i j r c")
A, x = sp.inputs("A x")
A_AT, C_AT, FIRST, BETWEEN, BYTES = 0xC00, 0xE00, 0x1000, 0x200, 0x4000
RAM = 2048      # in front of all, where there is a core


def bank(of: AcceleratorDesign, tensor: str = "B") -> ChainedBank:
    found, = (each.banks[0] for each in of.kind.buffers if each.tensor == tensor)
    assert isinstance(found, ChainedBank)
    return found


def program(of: AcceleratorDesign, a: np.ndarray, b: np.ndarray) -> "tuple[Program, bytes]":
    """The sum of the products of all pairs, with what memory holds."""
    memory = bytearray(BYTES)
    memory[A_AT:A_AT + 2 * a.size] = a.astype(np.int16).tobytes()
    arrays, begins = stacked(bank(of), b)
    places = [FIRST + BETWEEN * nth for nth in range(len(arrays))]
    for at, array in zip(places, arrays.values(), strict=True):
        memory[at:at + array.nbytes] = array.tobytes()
    commands, lead = Program(of.kind), next(iter(arrays.values())).itemsize
    commands.parts(len(a))
    commands.restart()
    for tile in range(len(a)):
        commands.move("A", A_AT + 2 * a[0].size * tile, (4, 1), (3, 4), 1)
        commands.arrays("B_values", (places[0] + lead * begins[tile], *places[1:]), 1)
    commands.request("C_values", C_AT, [(18, 18, 1)], 2)
    commands.wait()
    return commands, bytes(memory)


def operands(count: int, seed: int) -> "tuple[np.ndarray, np.ndarray]":
    random = np.random.default_rng(seed)
    a, b = random.integers(-99, 99, (count, 3, 4)), random.integers(-99, 99, (count, 4, 6))
    b *= random.random((count, 4, 1)) < random.random()
    return a, b * (random.random(b.shape) < random.random((count, 1, 1)) * 1.5)


@pytest.mark.parametrize("letters,ports", [(name, 4) if name == "bc" else pytest.param(name, ports, marks=pytest.mark.slow)
                                           for name in KINDS for ports in (4, 1)])
def test_sums_of_products_are_those_of_numpy(letters: str, ports: int) -> None:
    made = design(letters, ports)
    with SimulatedAccelerator(made.hardware(), BYTES, 20) as simulated:
        for seed in range(8):
            a, b = operands(1 + seed % 4, seed)
            commands, memory = program(made, a, b)
            simulated.write(0, memory)
            assert simulated.run(commands.words, 100_000).status >> 16 & 15 == command.NONE
            found = np.frombuffer(simulated.read(0, BYTES), np.int32, 18, C_AT).reshape(3, 6)
            assert np.array_equal(found, (a @ b).sum(axis=0)), seed


FIRMWARE = """#include "spatial.h"
#include "places.h"
__attribute__((section(".start"), used)) void _start(void)
{
    spatial_set_constant(SPATIAL_PARTS, TILES);
    spatial_set_constant(SPATIAL_RESTART, 0);
    for (uint32_t tile = 0; tile < TILES; ++tile) {
        spatial_set_src_and_dst(SPATIAL_MEMORY, SPATIAL_STREAM_A_VALUES);
        spatial_set_constant(SPATIAL_ELEMENT, 1);
        spatial_set_address(SPATIAL_FOR_SRC, A_AT + 2u * 12u * tile);
        spatial_set_span(SPATIAL_FOR_BOTH, 0, 12);
        spatial_set_data_stride(SPATIAL_FOR_SRC, 0, 1);
        spatial_issue();
        spatial_set_src_and_dst(SPATIAL_MEMORY, SPATIAL_STREAM_B_VALUES);
        spatial_set_constant(SPATIAL_ELEMENT, 1);
        spatial_set_axis_type(SPATIAL_FOR_BOTH, 0, SPATIAL_COMPRESSED);
        spatial_set_metadata_address(SPATIAL_FOR_SRC, 0, FIRST + 4u * tile);
        for (uint32_t array = 1; array < 4; ++array)
            spatial_set_metadata_address(SPATIAL_FOR_SRC, array, FIRST + array * BETWEEN);
        spatial_set_address(SPATIAL_FOR_SRC, FIRST + 4u * BETWEEN);
        spatial_issue();
    }
    spatial_set_src_and_dst(SPATIAL_STREAM_C_VALUES, SPATIAL_MEMORY);
    spatial_set_constant(SPATIAL_ELEMENT, 2);
    spatial_set_address(SPATIAL_FOR_DST, C_AT);
    spatial_set_span(SPATIAL_FOR_BOTH, 0, 18);
    spatial_set_data_stride(SPATIAL_FOR_DST, 0, 1);
    spatial_issue();
    (void)spatial_fence();
    __asm__ volatile("ebreak");
}
"""


@needs_compiler
def test_firmware_moves_a_chain_as_commands_do(tmp_path: Path) -> None:
    """Compressed above compressed; each tensor's segments of the outermost level are one further on."""
    (a, b), made = operands(5, 7), design("cc", ram_bytes=RAM)
    assert [b[nth].any(axis=1).all() for nth in range(5)].count(True) < 5 and b.any()
    source = tmp_path / "chain.c"
    source.write_text(FIRMWARE)
    places = {"TILES": len(a), "A_AT": A_AT, "C_AT": C_AT, "FIRST": FIRST, "BETWEEN": BETWEEN}
    firmware = spatial_firmware.compiled(made.kind, source, {
        "places.h": "".join(f"#define {name} {value:#x}u\n" for name, value in places.items())})
    _, memory = program(made, a, b)
    assert len(firmware) == RAM <= A_AT
    with SimulatedAccelerator(made.hardware(), BYTES, 20) as simulated:
        simulated.write(0, firmware + memory[RAM:])
        status = simulated.run([], 100_000).status
        assert status & 1 == 0 and status >> 16 & 15 == command.NONE
        found = np.frombuffer(simulated.read(0, BYTES), np.int32, 18, C_AT).reshape(3, 6)
    assert np.array_equal(found, (a @ b).sum(axis=0))


def one_by_one(of: AcceleratorDesign, order: "tuple[str, ...]", waited: str = "") -> "tuple[Program, bytes, np.ndarray]":
    """A product whose arrays of B are asked for each by a request of its own, in some order."""
    (a, b), arrays_of = operands(1, 3), bank(of)
    _, memory = program(of, a, b)
    arrays, _ = stacked(arrays_of, b)
    commands = Program(of.kind)
    commands.move("A", A_AT, (4, 1), (3, 4), 1)
    for name in order:
        array, at = arrays[name], FIRST + BETWEEN * [*arrays].index(name)
        counted = of.kind.streams[commands.index(f"B_{name}")].is_counted
        commands.request(f"B_{name}", at, [] if counted else [(len(array), len(array), 1)], array.itemsize.bit_length() - 1)
    if waited:
        commands.wait(waited)
    commands.request("C_values", C_AT, [(18, 18, 1)], 2)
    commands.wait()
    return commands, memory, (a @ b)[0]


@pytest.mark.parametrize("ports", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_arrays_of_a_chain_come_in_any_order(ports: int) -> None:
    """With one port segments of the outermost level go in front of what waits for them, whatever else is missing."""
    made, names = design("cc", ports), ("segments0", "coordinates0", "segments", "coordinates", "values")
    with SimulatedAccelerator(made.hardware(), BYTES, 20) as simulated:
        for order in permutations(names):
            commands, memory, wanted = one_by_one(made, order)
            simulated.write(0, memory)
            error = simulated.run(commands.words, 20_000).status >> 16 & 15
            assert error == command.NONE, order
            found = np.frombuffer(simulated.read(0, BYTES), np.int32, 18, C_AT).reshape(3, 6)
            assert np.array_equal(found, wanted), order


@pytest.mark.parametrize("order,waited,error", [
    (("segments", "coordinates0", "values", "coordinates"), "B_values", command.ORDER),
    (("segments0", "segments"), "B_segments", command.NONE),
    (("segments0", "coordinates0", "segments", "values"), "B_values", command.NONE),
    # Those of the next tensor, where the segments that count what waits were not asked for.
    (("values", "segments0", "segments0"), "B_segments0", command.ORDER),
    (("coordinates", "coordinates0", "segments0", "segments0"), "B_segments0", command.ORDER),
])
def test_a_wait_for_what_no_level_counts_is_refused(order: "tuple[str, ...]", waited: str, error: int) -> None:
    made = design("cc", 1)
    with SimulatedAccelerator(made.hardware(), BYTES, 20) as simulated:
        commands, memory, _ = one_by_one(made, order, waited)
        simulated.write(0, memory)
        # Behind it nothing else is asked for.
        until = next(nth for nth, word in enumerate(commands.words) if word[0] == command.BY_NAME["wait"].number) + 1
        assert simulated.run(commands.words[:until], 20_000).status >> 16 & 15 == error


@cache
def blocks(levels: "tuple[str, ...]" = ("dense", "compressed", "dense", "dense"), ports: int = 4) -> AcceleratorDesign:
    """Blocks of 2 x 3 of 2 x 3 elements, whose columns are scaled: by default block-CRS in and out."""
    scaled = sp.functionality("Y(i,j,r,c) = A(i,j,r,c) * x(j,c)")
    rows = sp.Transform([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    stored = sp.Buffer(*levels, words=64)
    return sp.Design(scaled, rows, {"i": 2, "j": 3, "r": 2, "c": 3}, sparsity=[sp.skip(c, where=A(i, j, r, c) == 0)],
                     buffers={"A": stored, "x": sp.Buffer("dense", "dense", words=16), "Y": stored},
                     name="blocks").accelerator(ports)


PANEL, DOWN = 9, 4      # columns and rows of a tile
INDPTR, INDICES, DATA, SIZE = 0x100, 0x4000, 0x8000, 0x30000


def block_crs(dense: np.ndarray) -> "scipy.sparse.bsr_array":
    """SciPy stores blocks in the order in which it finds them; here coordinates rise."""
    found = scipy.sparse.bsr_array(dense, blocksize=(2, 3))
    found.sort_indices()
    return found


def scaled_panel(matrix: "scipy.sparse.bsr_array", scale: np.ndarray) -> "scipy.sparse.bsr_array":
    """The columns of a panel of a matrix scaled, tile by tile, on the arrays of SciPy as they lie; back come such arrays."""
    made, memory, tiles = blocks(), bytearray(SIZE), matrix.shape[0] // DOWN
    for at, array in ((0, scale.astype(np.int16)), (INDPTR, matrix.indptr.astype(np.int32)),
                      (INDICES, matrix.indices.astype(np.int32)), (DATA, matrix.data.astype(np.int32))):
        assert at + array.nbytes <= SIZE // 2
        memory[at:at + array.nbytes] = array.tobytes()
    commands = Program(made.kind)
    for tile in range(tiles):
        lead = tile * 2 * 4
        commands.move("x", 0, (3, 1), (3, 3), 1)
        commands.arrays("A_values", (INDPTR + lead, INDICES, DATA), 1, (1, 2, 2))
        commands.arrays("Y_values", (SIZE // 2 + INDPTR + lead, SIZE // 2 + INDICES, SIZE // 2 + DATA), 2, (1, 2, 1))
    commands.wait()
    found, _ = made.run(commands, bytes(memory))
    indptr = np.frombuffer(found, np.int32, tiles * 2 + 1, SIZE // 2 + INDPTR)
    indices = np.frombuffer(found, np.int32, indptr[-1], SIZE // 2 + INDICES)
    values = np.frombuffer(found, np.int32, indptr[-1] * 6, SIZE // 2 + DATA).reshape(-1, 2, 3)
    # Nothing is written behind the last block.
    assert not any(found[SIZE // 2 + DATA + values.nbytes:])
    return scipy.sparse.bsr_array((values, indices, indptr), matrix.shape)


def test_blocks_of_scipy_come_and_go_as_they_lie() -> None:
    random, rows = np.random.default_rng(5), 7 * DOWN
    dense = random.integers(-99, 99, (rows, PANEL)) * (random.random((rows, PANEL)) < 0.5)
    dense *= np.kron(random.random((rows // 2, 3)) < 0.4, np.ones((2, 3), int))
    dense[DOWN:3 * DOWN] = 0
    matrix, scale = block_crs(dense), random.integers(1, 99, PANEL)
    found = scaled_panel(matrix, scale)
    assert np.array_equal(found.toarray(), dense * scale)
    assert np.array_equal(found.indptr, matrix.indptr) and np.array_equal(found.indices, matrix.indices)
    assert 0 < np.count_nonzero(matrix.data) < matrix.data.size


LISTED = "linked list", "bitvector", "linked list", "compressed"


class Scaled:
    """Tensors of blocks without zeros and what scales their columns, in memory, and their results behind `BYTES`."""

    def __init__(self, made: AcceleratorDesign, seed: int, count: int) -> None:
        random = np.random.default_rng(seed)
        self.made = made
        self.a, self.scale = random.integers(-99, 99, (count, 2, 3, 2, 3)), random.integers(1, 99, (3, 3))
        for shape, density in (((count, 2, 3, 2, 3), 0.5), ((count, 2, 3, 2, 1), 0.6), ((count, 2, 1, 1, 1), 0.7)):
            self.a *= random.random(shape) < density
        self.arrays, self.begins = stacked(bank(made, "A"), self.a)
        self.places = [0x100 + 0x400 * nth for nth in range(len(self.arrays))]
        self.lead = next(iter(self.arrays.values())).itemsize

    def operands(self, commands: Program, begin: int) -> None:
        commands.move("x", 0, (3, 1), (3, 3), 1)
        commands.arrays("A_values", (self.places[0] + self.lead * begin, *self.places[1:]), 1)

    def check(self, commands: Program) -> None:
        """Every array of the result but the values is that of the operand, as scales are not 0; not what no place of a node
        has."""
        memory = bytearray(2 * BYTES)
        memory[:self.scale.size * 2] = self.scale.astype(np.int16).tobytes()
        for at, array in zip(self.places, self.arrays.values(), strict=True):
            memory[at:at + array.nbytes] = array.tobytes()
        commands.wait()
        found, _ = self.made.run(commands, bytes(memory))
        for at, (name, array) in zip(self.places, self.arrays.items(), strict=True):
            wanted = (self.a * self.scale[:, None])[self.a != 0].astype(np.int32) if name == "values" else array
            got = np.frombuffer(found, wanted.dtype, len(wanted), BYTES + at)
            links = self.arrays.get(name.replace("coordinates", "links"))
            if links is not None and name.startswith("coordinates"):
                there = (np.arange(4) < (links >> 16)[:, None]).reshape(-1)
                got, wanted = got[there], wanted[there]
            assert np.array_equal(got, wanted), name


@pytest.mark.slow
@pytest.mark.parametrize("levels", [("compressed", "bitvector", "compressed", "compressed"), LISTED])
@pytest.mark.parametrize("seed", range(4))
def test_four_levels_without_zeros_come_and_go_on_one_port(levels: "tuple[str, ...]", seed: int) -> None:
    made = blocks(levels, 1)
    scaled, commands = Scaled(made, seed, 4), Program(made.kind)
    for begin in scaled.begins:
        scaled.operands(commands, begin)
        commands.arrays("Y_values", (BYTES + scaled.places[0] + scaled.lead * begin,
                                     *(BYTES + at for at in scaled.places[1:])), 2)
    scaled.check(commands)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_arrays_of_a_result_of_lists_leave_in_any_order(seed: int) -> None:
    """Each by a request of its own, on one port."""
    made = blocks(LISTED, 1)
    scaled, commands = Scaled(made, seed, 1), Program(made.kind)
    scaled.operands(commands, 0)
    names = [*scaled.arrays]
    for nth in np.random.default_rng(seed).permutation(len(names)):
        array = scaled.arrays[names[nth]]
        counted = made.kind.streams[commands.index(f"Y_{names[nth]}")].is_counted
        size = 2 if names[nth] == "values" else array.itemsize.bit_length() - 1
        commands.request(f"Y_{names[nth]}", BYTES + scaled.places[nth], [] if counted else [(len(array), len(array), 1)], size)
    scaled.check(commands)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bcsstk26", "west0497"])
def test_a_real_matrix_comes_back_as_blocks(name: str, shared: Callable[[str], Path]) -> None:
    """Of its upper left, panels of 9 columns that are not empty, scaled by 1; values are some that have 16 bits."""
    whole = scipy.sparse.csr_array(scipy.io.mmread(shared(f"matrices/{name}.mtx.gz")))[:400, :400].toarray()
    dense = np.sign(whole).astype(int) * (1 + np.abs(whole * 10).astype(int) % 99)
    panels = [panel for panel in range(0, 396, PANEL) if dense[:, panel:panel + PANEL].any()][:4]
    assert panels
    for panel in panels:
        part = dense[:, panel:panel + PANEL]
        matrix = block_crs(part)
        found = scaled_panel(matrix, np.ones(PANEL, int))
        assert np.array_equal(found.toarray(), part) and np.array_equal(found.indptr, matrix.indptr)


def test_more_than_has_room_and_what_falls_are_told() -> None:
    made = blocks()
    for segments, coordinates in (((0, 8, 8), range(8)), ((0, 2, 1), (0, 1)), ((0, 2, 2), (1, 0)), ((0, 1, 1), (3,))):
        memory = bytearray(BYTES)
        memory[0x1000:0x100C] = np.array(segments, np.int32).tobytes()
        memory[0x1100:0x1100 + 2 * len(coordinates)] = np.array(coordinates, np.uint16).tobytes()
        commands = Program(made.kind)
        commands.move("x", 0, (3, 1), (3, 3), 1)
        commands.arrays("A_values", (0x1000, 0x1100, 0x1200), 1)
        commands.arrays("Y_values", (0x2000, 0x2800, 0x3000), 2)
        commands.wait()
        with SimulatedAccelerator(made.hardware(), BYTES, 20) as simulated:
            simulated.write(0, bytes(memory))
            with pytest.raises(UserError, match="no whole number of tensors, or more than have room"):
                check(simulated.run(commands.words, 20_000).status, "blocks")


def test_levels_behind_each_other_go_on_from_0_alone() -> None:
    assert not design("cc").kind.chained and design("cl").kind.chained == ("B",)
    Program(design("cc").kind).restart(6)
    with pytest.raises(UserError) as refused:
        Program(blocks().kind).restart(6)
    assert str(refused.value) == ("accelerator 'blocks': it would go on behind 6 elements of every level of Y\n"
                                  "  try: restart from 0, and give addresses where arrays go on")
