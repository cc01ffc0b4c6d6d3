"""Buffers of rows give rows in their order, whatever stalls; accelerators of them multiply as NumPy does."""

import dataclasses
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from accelerators import of_rows
from hypothesis import given, settings
from hypothesis import strategies as st
from riscv import needs_compiler

from sardonyx import designs
from sardonyx import spatial as sp
from sardonyx.hw.arch import command
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.private_buffer import Bank, Level, Loop, PrivateBuffer
from sardonyx.hw.spatial.buffer.wide_bank import WideBank
from sardonyx.runtime import spatial_firmware
from sardonyx.runtime.data.private_buffers import filled
from sardonyx.runtime.spatial_commands import Program, check
from sardonyx.runtime.spatial_products import Matrix, Repeat, convolution, product
from sardonyx.sim.model import private_buffer as model
from sardonyx.sim.rtl.accelerator import SimulatedAccelerator
from sardonyx.sim.rtl.bench import Bench

A_AT, B_AT, C_AT, BYTES = 0, 1 << 12, 2 << 12, 4 << 12
stalls = st.none() | st.integers(1, 1 << 30)
ROWS = (Level("dense", 5), Level("dense", 4))
BANK = Bank(16, ROWS, 32, 16, 0, (Loop(4, 1, 1), Loop(5, -4, 0)), 4, "word", False, 2, 3, wide=True)
SHORT = Bank(16, ROWS, 32, 0, 0, (Loop(4, 1, 1), Loop(5, 4, 0)), 4, "word", False, 2, 3, wide=True, short=True)


@cache
def bench(bank: Bank) -> Bench:
    return Bench(WideBank(bank, "bank"))


@settings(max_examples=20)
@given(tensors=st.integers(1, 6), shared=st.integers(1, 3), stalls=stalls, seed=st.integers(0, 1 << 30))
def test_a_bank_of_rows_gives_them_to_all_ports_in_the_order_of_its_request(
        tensors: int, shared: int, stalls: "int | None", seed: int) -> None:
    bank = dataclasses.replace(BANK, operations=shared)
    array = np.random.default_rng(seed).integers(-1 << 15, 1 << 15, (tensors, 5, 4))
    buffer = PrivateBuffer("B", (0, 1), 0, (bank,), (tuple("abcd"),))
    fills = filled(buffer, np.repeat(array, shared, axis=0))
    found = bench(BANK).run({"values": fills["B_values"]}, {"shared": shared - 1}, stalls)
    wanted = model.given(buffer, fills, shared * tensors)
    for at, sink in enumerate("abcd"):
        assert found.outputs[f"o{at}"] == [value % (1 << 16) for _, value in wanted[sink]]
    assert not found.status["torn"]


@settings(max_examples=15)
@given(tensors=st.integers(1, 5), shared=st.integers(1, 3), launches=st.integers(1, 5), stalls=stalls)
def test_a_short_bank_has_as_many_rows_as_launches_and_says_so(
        tensors: int, shared: int, launches: int, stalls: "int | None") -> None:
    array = np.random.default_rng(launches).integers(0, 1 << 16, (tensors, launches, 4))
    words = np.ascontiguousarray(array.astype("<u2")).reshape(-1).view("<u8").tolist()
    found = bench(SHORT).run({"values": words}, {"shared": shared - 1, "launches": launches}, stalls)
    rows = np.repeat(array, shared, axis=0).reshape(-1, 4)
    assert [found.outputs[f"o{at}"] for at in range(4)] == rows.T.tolist()
    assert found.outputs["length"] == [launches] * shared * tensors


def test_a_row_a_cycle_leaves_while_the_next_tensor_is_filled_in() -> None:
    tensors = 20
    found = bench(BANK).run({"values": [1] * 5 * tensors}, {"shared": 1})
    # Before, once, a tensor is filled in.
    assert len(found.outputs["o3"]) == 10 * tensors and found.cycles <= 10 * tensors + 5 + 3
    assert bench(BANK).run({"values": [1] * 7}).status["torn"]


def of_width(count: int) -> sp.Design:
    """Products of 16 bits, so many in rows of twice as many bytes."""
    # Weights enter by chains while rows go, of which there have to be as many.
    rows = count + 2
    words = 1 << (rows * count - 1).bit_length()
    buffer, shared = (sp.Buffer("dense", "dense", words=words, operations=n, wide=True) for n in (1, 3))
    return sp.Design(sp.functionality("C(i,j) = A(i,k) * B(k,j)", dtype="int16"),
                     sp.Transform([[0, 0, 1], [0, 1, 0], [1, 1, 1]]), {"i": rows, "j": count, "k": count}, short=True,
                     name=f"wider_{count}", buffers={"A": shared, "B": buffer, "C": shared})


@pytest.fixture(scope="module")
def wider() -> sp.Design:
    return of_width(8)


@pytest.mark.parametrize("shape", [(1, 8, 8), (5, 27, 16), (13, 48, 19)])
@pytest.mark.parametrize("aligned", [False, True])
def test_products_over_a_bus_of_16_bytes_are_those_of_numpy(wider: sp.Design, shape: "tuple[int, int, int]",
                                                            aligned: bool) -> None:
    made = wider.accelerator(ports=3, bus_bytes=16)
    # `product` compares; sums are stored in 2 and 4 bytes.
    for stored in (2, 4):
        made.product(*made.random(*shape), stored=stored, aligned=aligned)


def test_a_wider_bus_brings_a_row_of_weights_a_cycle(wider: sp.Design) -> None:
    cycles = {bus_bytes: wider.accelerator(ports=3, bus_bytes=bus_bytes) for bus_bytes in (8, 16)}
    found = {bus_bytes: made.product(*made.random(1, 160, 160), stored=2, aligned=True).cycles or 0
             for bus_bytes, made in cycles.items()}
    # 400 tiles of 8 rows, each two words or one.
    assert found[8] > 6400 > 3200 < found[16] < 0.6 * found[8]


@pytest.mark.slow
def test_a_bus_of_32_bytes_brings_rows_of_as_many() -> None:
    """Sums are compared; a row of weights comes in a cycle."""
    made = of_width(16).accelerator(ports=3, bus_bytes=32)
    for shape, aligned in (((1, 16, 16), False), ((5, 27, 33), False), ((13, 48, 19), True)):
        for stored in (2, 4):
            made.product(*made.random(*shape), stored=stored, aligned=aligned)
    # 400 tiles of 16 rows, each a word.
    assert 6400 < (made.product(*made.random(1, 320, 320), stored=2, aligned=True).cycles or 0) < 6400 * 1.15


@needs_compiler
@pytest.mark.parametrize("bus_bytes", [16, pytest.param(32, marks=pytest.mark.slow)])
def test_a_core_commands_an_accelerator_on_a_wider_bus(bus_bytes: int) -> None:
    made = of_width(bus_bytes // 2).accelerator(ports=4, ram_bytes=1 << 13, bus_bytes=bus_bytes)
    made.product(*made.random(7, 16, 24), stored=2)


def test_a_bus_that_is_wider_than_rows_is_refused() -> None:
    kind = of_rows().kind
    with pytest.raises(UserError) as error:
        dataclasses.replace(kind, dma=dataclasses.replace(kind.dma, bus_bytes=16))
    assert str(error.value) == ("accelerator 'of_rows': dma has a bus of 16 bytes, but a row of A has at most 8, no whole "
                                "number of its words\n  try: give bus_bytes 8 or fewer")


@pytest.mark.parametrize("word_bits,rows", [(64, 5), (64, 1), (32, 5)])
def test_tensors_follow_each_other_without_a_gap_where_words_come_as_fast_as_rows_go(word_bits: int, rows: int) -> None:
    tensors, words = 20, rows * 64 // word_bits
    short = Bench(WideBank(dataclasses.replace(SHORT, operations=1), f"bank_of_{word_bits}", word_bits))
    found = short.run({"values": [*range(tensors * words)]}, {"launches": rows})
    # Before, once, a tensor is filled in; a row is on its way for a cycle.
    assert len(found.outputs["o3"]) == rows * tensors and found.cycles <= (tensors + 1) * words + 3


@pytest.fixture(scope="module")
def simulated() -> "Iterator[SimulatedAccelerator]":
    with SimulatedAccelerator(of_rows().hardware(), BYTES, 20) as found:
        yield found


def operands(shape: "tuple[int, int, int]", seed: int) -> "tuple[np.ndarray, np.ndarray]":
    random, (rows, columns, terms) = np.random.default_rng(seed), shape
    return random.integers(-1 << 15, 1 << 15, (rows, terms)), random.integers(-1 << 15, 1 << 15, (terms, columns))


@settings(max_examples=25)
@given(shape=st.tuples(st.integers(1, 20), st.integers(1, 30), st.sampled_from((1, 4, 7, 8, 12))), gap=st.integers(0, 3),
       size=st.sampled_from((1, 2)), seed=st.integers(0, 1 << 30))
def test_a_product_of_any_shape_is_that_of_numpy(
        simulated: SimulatedAccelerator, shape: "tuple[int, int, int]", gap: int, size: int, seed: int) -> None:
    places = []
    for matrix, at in zip(operands(shape, seed), (A_AT, B_AT)):
        lies = np.pad(matrix, ((0, 0), (0, gap)), constant_values=99).astype(np.int16)
        simulated.write(at, lies.tobytes())
        places.append(Matrix(at, lies.shape[1], 1))
    simulated.write(C_AT, bytes(BYTES - C_AT))
    program = product(of_rows().kind, shape, *places, Matrix(C_AT, shape[1] + gap, size))
    check(simulated.run(program.words, 100_000).status, "of_rows")
    wanted = np.zeros((shape[0], shape[1] + gap), int)
    wanted[:, :shape[1]] = np.matmul(*operands(shape, seed))
    kind = np.int32 if size == 2 else np.int16
    assert simulated.read(C_AT, wanted.size << size) == wanted.astype(kind).tobytes()
    assert not any(simulated.read(C_AT + (wanted.size << size) // 8 * 8 + 8, 64))


def test_edges_are_requests_of_their_own_and_operations_as_long_as_divides_rows_best() -> None:
    places = Matrix(0, 8, 1), Matrix(4096, 30, 1), Matrix(8192, 30, 2)
    made = [command.shown(word) for word in product(of_rows().kind, (14, 30, 8), *places).words]
    # Rows in 2 x 5 and 4, columns in 2 x 3 tiles, 1 tile and 2 columns.
    assert made.count("issue()") == 2 * 3 * 3
    assert {each for each in made if each.startswith(("set_constant(18", "set_constant(19"))} == {
        "set_constant(18, 5)", "set_constant(18, 4)", "set_constant(19, 3)", "set_constant(19, 1)"}


def test_a_convolution_is_that_of_numpy() -> None:
    random = np.random.default_rng(1)
    for image, stride, issues in (((6, 9, 4), 1, 12), ((6, 9, 4), 2, 6), ((7, 4, 4), 1, 12), ((9, 5, 4), 2, 6)):
        pixels, weights = random.integers(-99, 99, image), random.integers(-99, 99, (3, 3, 4, 6))
        of_rows().convolution(pixels, weights, stride, stored=2)
        # 4 of the 6 outputs are a tile. 7 columns of results are 4 and 3 operations' rows; of 2 columns three rows are one
        # operation, and the other two, or two and two.
        made = product(of_rows().kind, *convolution(image, (3, 3, 6), stride, (0, 4096, 8192), (1, 1, 1))).words
        assert [number for number, *_ in made].count(command.ISSUE) == issues


def test_a_large_product_takes_about_the_cycles_of_its_words() -> None:
    # A word of the bus in each of 9,216 cycles, in which all PEs would be busy, too.
    found = of_rows().product(*operands((96, 24, 64), 1), stored=2)
    assert found.report["words_read"] == 96 * 24 * 64 // 16 and found.cycles <= 1.25 * found.report["words_read"]


@pytest.mark.slow
def test_256_pes_behind_a_bus_of_8_bytes_a_cycle_are_busy_but_at_both_ends() -> None:
    random, (rows, columns, terms) = np.random.default_rng(1), (392, 64, 64)
    a, b = random.integers(-128, 128, (rows, terms)), random.integers(-128, 128, (terms, columns))
    found = designs.design("gemmini").accelerator(ports=3).product(a, b, stored=1)
    # Commands and the first tile before, the last one behind.
    assert found.cycles is not None and found.cycles <= rows * columns * terms // 256 + 1200


def test_what_is_no_row_is_told(simulated: SimulatedAccelerator) -> None:
    program = Program(of_rows().kind)
    for tensor, size, loops, error in (
            ("A_values", 1, [(4, 4, 1), (3, 3, 4)], command.TENSORS), ("A_values", 1, [(23, 23, 1)], command.TENSORS),
            ("A_values", 0, [(24, 24, 1)], command.VALUE), ("C", 0, [(24, 24, 1)], command.VALUE)):
        program = Program(of_rows().kind)
        program.request(tensor, 0, loops, size)
        program.wait()
        assert simulated.run(program.words, 20_000).status >> 16 & 15 == error
    for which, value in ((18, 0), (18, 7), (19, 0), (19, 4)):
        program = Program(of_rows().kind)
        program.command("set_constant", which, value)
        assert simulated.run(program.words, 20_000).status >> 16 & 15 == command.VALUE


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("shape", [(14, 30, 7), (3, 4, 4)])
def test_firmware_leaves_the_memory_that_commands_leave(shape: "tuple[int, int, int]", simulated: SimulatedAccelerator) -> None:
    ram = 4096
    places = Matrix(ram, shape[2], 1), Matrix(ram + 1024, shape[1], 1), Matrix(ram + 2048, shape[1], 2)
    content = bytearray(np.random.default_rng(3).integers(0, 256, BYTES, np.uint8).tobytes())
    content[:ram] = spatial_firmware.product(of_rows(ram).kind, shape, *places)
    with SimulatedAccelerator(of_rows(ram).hardware(), BYTES, 20) as with_core:
        with_core.write(0, bytes(content))
        assert with_core.run([], 400_000).status >> 16 & 15 == command.NONE
        found = with_core.read(0, BYTES)
    simulated.write(0, bytes(content))
    simulated.run(product(of_rows().kind, shape, *places).words, 400_000)
    assert found == simulated.read(0, BYTES) != bytes(content)


def _design(**buffers: sp.Buffer) -> sp.Design:
    return sp.Design(sp.functionality("C(i,j) = A(i,k) * B(k,j)", dtype="int16"),
                     sp.Transform([[0, 0, 1], [0, 1, 0], [1, 1, 1]]), {"i": 6, "j": 4, "k": 4}, buffers=buffers)


def _wide(**more: object) -> sp.Buffer:
    return sp.Buffer("dense", "dense", words=32, wide=True, **more)


WIDE = _wide()
OF_BYTES = sp.functionality("C(i,j) = A(i,k) * B(k,j)", dtype="int8")


@pytest.mark.parametrize("made,told", [
    (lambda: _design(A=_wide(order=(1, 0))).private,
     "buffers: A: its 4 ports do not take a row of 6 elements of A at once\n"
     "  try: choose another order of levels, or leave out wide"),
    (lambda: _design(A=_wide(banks=4)).private,
     "buffers: A: it is wide, which buffers of one bank and of arrays in step can be\n  try: leave out wide"),
    (lambda: _design(A=_wide(operations=2), B=_wide(operations=3)).private,
     "buffers: rows of A and B serve 2 and 3 operations, and one number says for all how many share a tensor\n"
     "  try: give them the same operations"),
    (lambda: dataclasses.replace(_design(A=WIDE), functionality=OF_BYTES).private,
     "buffers: A: a row of A has 32 bits\n  try: make it whole words of 64, or leave out wide"),
    (lambda: _design(A=WIDE, B=WIDE, C=_wide(order=(1, 0))).accelerator(),
     "buffers: C: C leaves as dense levels in the order 0, 1\n  try: give as many dense levels in this order"),
    (lambda: _design(A=WIDE, B=WIDE, C=_wide(operations=6)).accelerator(),
     "buffers: C: 6 operations have 36 words of a port, and a bank 32\n  try: give it more words, or fewer operations"),
    (lambda: _design(A=WIDE, B=WIDE, C=_wide(banks=4)).accelerator(),
     "buffers: C: a result has a bank for each port, not 4\n  try: leave banks out"),
    (lambda: dataclasses.replace(_design(A=WIDE, B=WIDE), short=True).accelerator(),
     "accelerator 'array': array has operations that end early, which rows can alone\n"
     "  try: make buffers and results wide, or leave out short"),
    (lambda: Program(_design(A=WIDE, B=WIDE).accelerator().kind).launches(1),
     "accelerator 'array': operations of 1 launches\n  try: make its array short"),
    (lambda: Program(of_rows().kind).shared(4), "accelerator 'of_rows': 4 operations share a tensor\n  try: give 1..3"),
    (lambda: product(_design(A=_wide(operations=2), B=WIDE).accelerator().kind, (6, 4, 4),
                     *[Matrix(0, 4, 1)] * 3, Repeat()),
     "array: the buffer of A keeps a tensor for 2 operations and that of C for 1, a product brings one for as many\n"
     "  try: give A and C the same operations, and B none, or write the program"),
])
def test_what_has_no_rows_is_refused(made, told: str) -> None:
    with pytest.raises(UserError) as error:
        made()
    assert str(error.value) == told


def test_a_buffer_of_a_result_is_told_and_refused_where_no_accelerator_could_have_it() -> None:
    gemmini = designs.design("gemmini")
    assert gemmini.explain().text.endswith("words for each of 16 ports, which give a row at once")
    small = dataclasses.replace(gemmini, buffers={**gemmini.buffers, "C": sp.Buffer("dense", "dense", words=16, wide=True)})
    with pytest.raises(UserError) as refused:
        small.run("golden")
    assert str(refused.value).startswith("buffers: C: 1 operations have 98 words of a port, and a bank 16")
