"""Commands bring operands from memory, and results there, as in NumPy; what cannot be done is told and changes nothing."""

import contextlib
import dataclasses
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from accelerators import TILE, accelerator, operands
from hypothesis import given, settings
from hypothesis import strategies as st
from simulators import run_cocotb

from sardonyx import designs
from sardonyx import spatial as sp
from sardonyx.hw.arch import command
from sardonyx.hw.arch.command import BOTH, BUFFER, DESTINATION, MEMORY, SOURCE, region
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.spatial.accelerator import SpatialAccelerator
from sardonyx.hw.spatial.buffer.feeder import Feeder
from sardonyx.hw.spatial.buffer.result_buffer import ResultBank, ResultBuffer
from sardonyx.runtime.spatial_commands import Program, check
from sardonyx.runtime.spatial_products import Matrix, Repeat, by_columns, product
from sardonyx.sim.rtl.accelerator import SimulatedAccelerator
from sardonyx.sim.rtl.bench import Bench

A_AT, B_AT, C_AT, BYTES = 0, 1 << 12, 2 << 12, 3 << 12


@pytest.fixture(scope="module", params=[2, 4])
def simulated(request: pytest.FixtureRequest) -> "Iterator[tuple[int, SimulatedAccelerator]]":
    """With 4 ports each matrix may be one request, and it is counted why streams wait."""
    counters = request.param == 4
    kind = accelerator(request.param, counters=counters).kind
    with SimulatedAccelerator(SpatialAccelerator(kind), BYTES, 20, kind.stalls) as found:
        yield request.param, found


@settings(max_examples=25)
@given(shape=st.tuples(st.integers(1, 9), st.integers(1, 7), st.integers(1, 13)) | st.sampled_from(((6, 4, 8), (9, 2, 4))),
       gap=st.integers(0, 3), wide=st.booleans(), seed=st.integers(0, 1 << 30))
def test_a_product_of_any_shape_is_that_of_numpy(
        simulated: "tuple[int, SimulatedAccelerator]", shape: "tuple[int, int, int]", gap: int, wide: bool, seed: int) -> None:
    ports, system = simulated
    rows, columns, _ = shape
    places = []
    for matrix, at in zip(operands(shape, seed), (A_AT, B_AT)):
        # Rows are apart, and elements are bytes or words of 16 bits.
        lies = np.pad(matrix, ((0, 0), (0, gap)), constant_values=99).astype(np.int16 if wide else np.int8)
        system.write(at, lies.tobytes())
        places.append(Matrix(at, lies.shape[1], int(wide)))
    system.write(C_AT, bytes(BYTES - C_AT))
    program = product(accelerator(ports).kind, shape, *places, Matrix(C_AT, columns + gap, 2))
    check(system.run(program.words, 100_000).status, "tiled")
    found = np.frombuffer(system.read(C_AT, BYTES - C_AT), np.int32)
    wanted = np.zeros((rows, columns + gap), int)
    wanted[:, :columns] = np.matmul(*operands(shape, seed))
    assert np.array_equal(found[:wanted.size], wanted.ravel()) and not found[wanted.size:].any()


def test_a_run_tells_why_streams_waited(simulated: "tuple[int, SimulatedAccelerator]") -> None:
    ports, system = simulated
    for matrix, at in zip(operands((9, 2, 4), 1), (A_AT, B_AT)):
        system.write(at, matrix.astype(np.int8).tobytes())
    places = Matrix(A_AT, 4, 0), Matrix(B_AT, 2, 0), Matrix(C_AT, 2, 2)
    ended = system.run(product(accelerator(ports).kind, (9, 2, 4), *places).words, 100_000)
    report = ended.report
    waits = report.pop("waits", {})
    assert report == {"words_read": ended.words_read, "words_written": ended.words_written, "cycles": ended.cycles}
    if ports == 4:      # The first words come after 20 cycles.
        assert ended.cycles > waits["operand_late"] > 20 and ended.cycles > waits["result_late"] > 20, waits
        assert waits.keys() == command.STALLS.keys(), waits
    else:
        assert waits == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["matmul_input_stationary", "matmul_output_stationary", "matmul_broadcast", "matmul_deep"])
def test_the_same_commands_multiply_on_arrays_of_any_dataflow(name: str) -> None:
    tile = sp.Buffer("dense", "dense", words=16)
    design = dataclasses.replace(designs.design(name), bounds=TILE, buffers={"A": tile, "B": tile}).accelerator()
    assert design.product(*operands((5, 3, 7), 1)).report["elements_checked"] == 15


@pytest.mark.slow
def test_a_matrix_lies_by_columns_where_banks_are_chosen_by_them() -> None:
    buffers = {"A": sp.Buffer("dense", "dense", words=16, banks=2), "B": sp.Buffer("dense", "dense", words=16)}
    design = sp.Design(sp.functionality("C(i,j) = A(i,k) * B(k,j)", dtype="int8"),
                       sp.Transform([[0, 0, 1], [0, 1, 0], [1, 1, 1]]), {"i": 4, "j": 2, "k": 2}, buffers=buffers).accelerator()
    assert by_columns(design.kind, "A") and not by_columns(design.kind, "B")
    for shape in ((8, 4, 4), (5, 3, 7)):
        design.product(*operands(shape, 1))
    # Of a whole tile a bank takes one run of 4 bytes.
    assert design.product(*operands((4, 2, 2), 1)).report["words_read"] == 2 + 2


@pytest.mark.parametrize("image,kernel,stride", [
    ((6, 7, 3), (3, 3, 3), 1), ((7, 9, 2), (3, 3, 2), 2), ((5, 5, 4), (3, 3, 2), 1), ((4, 3, 1), (4, 1, 1), 3)])
def test_a_convolution_is_that_of_numpy(image: "tuple[int, ...]", kernel: "tuple[int, ...]", stride: int) -> None:
    random = np.random.default_rng(stride)
    rows, columns, outputs = kernel
    pixels, weights = (random.integers(-128, 128, shape) for shape in (image, (rows, columns, image[2], outputs)))
    for ports in (2, 4):
        found = accelerator(ports).convolution(pixels, weights, stride)
    for y, x in np.ndindex(found.value.shape[:2]):
        under = pixels[y * stride:y * stride + rows, x * stride:x * stride + columns]
        assert np.array_equal(found.value[y, x], np.tensordot(under, weights, 3))


def test_a_product_is_one_request_for_each_matrix_where_ports_and_shapes_allow_it() -> None:
    places = Matrix(0, 8, 0), Matrix(4096, 4, 0), Matrix(8192, 4, 2)
    issues = [[number for number, *_ in product(accelerator(ports).kind, (6, 4, 8), *places).words].count(command.ISSUE)
              for ports in (2, 4)]
    # A of 4 tiles twice, B of 4 tiles in two banks twice, and 4 of C; else A, two banks of B, C.
    assert issues == [8 + 2 * 8 + 4, 4]


@pytest.fixture(scope="module")
def with_lists() -> "Iterator[SimulatedAccelerator]":
    with SimulatedAccelerator(SpatialAccelerator(accelerator().kind), BYTES, 20) as found:
        yield found


@settings(max_examples=15)
@given(cuts=st.lists(st.integers(0, 12), max_size=5), extra=st.integers(0, 3), seed=st.integers(0, 1 << 30))
def test_an_operand_may_lie_scattered_in_a_list(
        with_lists: SimulatedAccelerator, cuts: "list[int]", extra: int, seed: int) -> None:
    random, (a, b) = np.random.default_rng(seed), operands((3, 2, 4), seed)
    parts = np.split(a.astype(np.int8).ravel(), sorted(cuts))
    nodes = (random.permutation(50)[:len(parts)] * 24 + 8).tolist()
    for node, following, part in zip(nodes, [*nodes[1:], 0], parts):
        with_lists.write(node, following.to_bytes(4, "little") + len(part).to_bytes(4, "little") + part.tobytes())
    with_lists.write(B_AT, b.astype(np.int8).tobytes())
    program = Program(accelerator().kind)
    program.gather("A_values", nodes[0], len(nodes) + extra, 0)
    program.move("B", B_AT, (2, 1), (4, 2), 0)
    program.move("C", C_AT, (2, 1), (3, 2), 2)
    program.wait()
    assert with_lists.run(program.words, 20_000).status >> 16 & 15 == command.NONE
    assert np.array_equal(np.frombuffer(with_lists.read(C_AT, 24), np.int32).reshape(3, 2), a @ b)


LIST = [("set_src_and_dst", region(MEMORY), region(BUFFER, 0)), ("set_axis_type", SOURCE | 1, command.LINKED_LIST)]


@pytest.mark.parametrize("given_,error", [
    ([*LIST, ("set_address", SOURCE, 4), ("issue", 0, 0)], command.SHAPE),
    ([LIST[0], ("set_axis_type", SOURCE, command.LINKED_LIST)], command.VALUE),
    ([("set_src_and_dst", region(BUFFER, 3), region(MEMORY)), ("set_axis_type", DESTINATION | 1, command.LINKED_LIST)],
     command.VALUE),
    # One node of those that the list has.
    ([*LIST, ("set_address", SOURCE, 8), ("issue", 0, 0), ("wait", 1, 0)], command.BUS),
])
def test_lists_that_cannot_be_are_told(
        given_: "list[tuple[str, int, int]]", error: int, with_lists: SimulatedAccelerator) -> None:
    with_lists.write(8, (16).to_bytes(4, "little") + bytes(28))
    program = Program(accelerator().kind)
    for each in given_:
        program.command(*each)
    assert with_lists.run(program.words, 20_000).status >> 16 & 15 == error


# A request, then what is wrong with it: by rs1 and rs2 of its commands.
GOOD = [("set_src_and_dst", region(MEMORY), region(BUFFER, 0)), ("set_span", BOTH, 12)]
WRONG = {
    "an unknown command": (None, command.UNKNOWN),
    "no request": ([("issue", 0, 0)], command.REGIONS),
    "memory to memory": ([("set_src_and_dst", region(MEMORY), region(MEMORY))], command.REGIONS),
    "a result that is filled": ([("set_src_and_dst", region(MEMORY), region(BUFFER, 3))], command.REGIONS),
    "an operand that is stored": ([("set_src_and_dst", region(BUFFER, 0), region(MEMORY))], command.REGIONS),
    "a stream that there is not": ([("set_src_and_dst", region(BUFFER, 4), region(MEMORY))], command.REGIONS),
    "an axis that there is not": ([*GOOD, ("set_span", BOTH | 6, 2)], command.VALUE),
    "a span of 17 bits": ([*GOOD, ("set_span", BOTH, 1 << 16)], command.VALUE),
    "a compressed axis": ([*GOOD, ("set_axis_type", BOTH, 1)], command.VALUE),
    "elements of 8 bytes": ([*GOOD, ("set_constant", command.ELEMENT, 3)], command.VALUE),
    "a constant that there is not": ([*GOOD, ("set_constant", 7, 1)], command.VALUE),
    "sums of no operation": ([("set_constant", command.PARTS, 0)], command.VALUE),
    "a stream to wait for": ([("wait", 32, 0)], command.VALUE),
    "words of 32 bits for an operand": ([*GOOD, ("set_constant", command.ELEMENT, 2), ("issue", 0, 0)], command.VALUE),
    "a span of 0": ([*GOOD, ("set_span", BOTH, 0), ("issue", 0, 0)], command.SHAPE),
    "more there than in all": ([*GOOD, ("set_span", SOURCE, 13), ("issue", 0, 0)], command.SHAPE),
    "an odd address of words": ([*GOOD, ("set_constant", command.ELEMENT, 1), ("set_address", SOURCE, 1), ("issue", 0, 0)],
                                command.SHAPE),
    "half a tensor": ([*GOOD, ("set_span", BOTH, 6), ("issue", 0, 0), ("wait", 1, 0)], command.TENSORS),
    "no memory": ([*GOOD, ("set_address", SOURCE, BYTES), ("issue", 0, 0), ("wait", 1, 0)], command.BUS),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_done_is_told_and_nothing_follows(name: str, simulated: "tuple[int, SimulatedAccelerator]") -> None:
    ports, system = simulated
    given, error = WRONG[name]
    made = Program(accelerator(ports).kind)
    for each in given or ():
        made.command(*each)
    words = made.words if given else [(99, 0, 0)]
    # A whole product behind it is dropped.
    system.write(0, bytes(BYTES))
    behind = product(accelerator(ports).kind, (3, 2, 4), Matrix(A_AT, 4, 0), Matrix(B_AT, 2, 0), Matrix(C_AT, 2, 2)).words
    system.write(C_AT, b"x" * 24)
    status = system.run([*words, *behind], 20_000).status
    assert status >> 16 & 15 == error
    assert error in (command.TENSORS, command.BUS) or status >> 20 & 127 == words[-1][0]
    assert system.read(C_AT, 24) == b"x" * 24
    with pytest.raises(UserError, match=command.ERRORS[error]):
        check(status, "tiled")


@pytest.mark.parametrize("simulator", ["verilator", pytest.param("icarus", marks=[pytest.mark.icarus, pytest.mark.slow])])
def test_commands_over_a_bus_under_random_stalls(simulator: str, tmp_path: Path) -> None:
    run_cocotb(SpatialAccelerator(accelerator(watchdog=True, counters=True).kind), "cocotb_accelerator", simulator, tmp_path)


word = st.integers(0, (1 << 32) - 1)
COMMAND = st.tuples(st.sampled_from([*(each.number for each in command.COMMANDS), 99]),
                    st.sampled_from((0, 1, BOTH, BOTH | 1, SOURCE | 2, region(MEMORY), region(BUFFER, 3), 16, 17)) | word,
                    st.sampled_from((0, 1, 2, 3, 12, region(MEMORY), *(region(BUFFER, n) for n in range(4)))) | word)


@settings(max_examples=25)
@given(words=st.lists(COMMAND, max_size=40))
def test_whatever_was_commanded_a_product_behind_a_reset_is_whole(
        with_lists: SimulatedAccelerator, words: "list[tuple[int, int, int]]") -> None:
    # Some wait for ever, for what is not computed.
    with contextlib.suppress(AssertionError):
        with_lists.run(words, 2000)
    a, b = operands((3, 2, 4), 1)
    for matrix, at in ((a, A_AT), (b, B_AT)):
        with_lists.write(at, matrix.astype(np.int8).tobytes())
    program = product(accelerator().kind, (3, 2, 4), Matrix(A_AT, 4, 0), Matrix(B_AT, 2, 0), Matrix(C_AT, 2, 2))
    assert with_lists.run(program.words, 20_000).status >> 16 & 15 == command.NONE
    assert np.array_equal(np.frombuffer(with_lists.read(C_AT, 24), np.int32).reshape(3, 2), a @ b)


stalls = st.none() | st.integers(1, 1 << 30)


@settings(max_examples=15)
@given(tensors=st.integers(0, 4), narrow=st.booleans(), stalls=stalls)
def test_a_feeder_puts_the_number_of_elements_before_each_tensor(tensors: int, narrow: bool, stalls: "int | None") -> None:
    elements = [0x1FE80 + each for each in range(5 * tensors)]
    found = Bench(Feeder(5)).run({"i": elements}, {"narrow": int(narrow)}, stalls)
    words = [0xFF80 + each if narrow else (0xFE80 + each) for each in range(5 * tensors)]
    assert found.outputs["o"] == [word for at in range(0, len(words), 5) for word in (5, *words[at:at + 5])]
    assert found.status["torn"] == 0
    assert Bench(Feeder(5)).run({"i": [*elements, 7]}).status["torn"] == 1


@settings(max_examples=15)
@given(words=st.sampled_from((1, 4)), parts=st.integers(1, 5), results=st.integers(0, 3), stalls=stalls)
def test_a_bank_adds_up_the_words_of_operations(words: int, parts: int, results: int, stalls: "int | None") -> None:
    given = np.random.default_rng(words + parts).integers(0, 1 << 16, (results, parts, words))
    found = Bench(ResultBank(words, 16)).run({"i": given.ravel().tolist()}, {"parts": parts}, stalls)
    assert found.outputs["o"] == (given.sum(axis=1) % (1 << 16)).ravel().tolist()


@settings(max_examples=10)
@given(results=st.integers(0, 3), stalls=stalls)
def test_a_result_leaves_in_the_order_of_its_dimensions(results: int, stalls: "int | None") -> None:
    result, = accelerator().kind.results
    given = np.arange(-6 * results, 0).reshape(results, TILE["i"], TILE["j"])
    found = Bench(ResultBuffer(result)).run({f"i{n}": (given[:, :, n].ravel() % (1 << 32)).tolist() for n in range(2)},
                                            {"parts": 1}, stalls)
    assert found.outputs["o"] == (given.ravel() % (1 << 32)).tolist()


def test_a_word_a_cycle_is_added_up() -> None:
    found = Bench(ResultBank(8, 16)).run({"i": [1] * 800}, {"parts": 10})
    assert found.stamps["i"][-1] == 799


def test_arrays_without_memory_on_all_sides_are_refused() -> None:
    _, j, k = sp.indices("i j k")
    _, B = sp.inputs("A B")
    product = sp.functionality("C(i,j) = A(i,k) * B(k,j)")
    stationary = sp.Transform([[0, 0, 1], [0, 1, 0], [1, 1, 1]])
    extents = {"i": 2, "j": 2, "k": 2}
    tile = sp.Buffer("dense", "dense", words=16)
    for made, told in (
            (lambda: sp.Design(product, stationary, extents, buffers={"A": tile}).accelerator(),
             "accelerator 'array': buffers has none for B\n  try: give each operand a private buffer"),
            (lambda: sp.Design(product, stationary, extents, sparsity=[sp.skip(j, where=B(k, j) == 0)]).accelerator(),
             "result C: ports of C give fibers\n  try: give it a buffer, as C=sp.Buffer('dense', 'compressed')"),
            (lambda: sp.Design(product, stationary, extents, buffers={"A": tile, "B": tile}, name="dma").accelerator(),
             "name: dma is the name of a part\n  try: choose another one")):
        with pytest.raises(UserError) as error:
            made()
        assert str(error.value) == told


def test_programs_that_no_command_can_hold_are_refused() -> None:
    program, kind = Program(accelerator().kind), accelerator().kind
    for made, told in (
            (lambda: program.command("jump"), "program: there is no command 'jump'\n  try: choose one of issue, "),
            (lambda: program.command("issue", 1 << 32),
             "program: rs1 of issue is 4294967296\n  try: give a whole number of 32 bits"),
            (lambda: program.parts(2.5), "program: rs2 of set_constant is 2.5\n  try: give a whole number of 32 bits"),
            (lambda: program.wait("D"), "program: there is no stream 'D'\n  try: choose one of A_values, B_bank0_values, "),
            (lambda: program.request("C", 0, [(2, 2, 1)] * 7, 0),
             "stream C: a request has 7 loops\n  try: use 6 or fewer, or a DMA with more"),
            (lambda: program.request("C", 0, [(0, 0, 1)], 0), "stream C: a loop has 0 iterations, 0 of them in memory\n"),
            (lambda: program.request("C", 0, [(2, 2, 1)], 3), "stream C: elements are of 2^3 bytes\n  try: give 0..2"),
            (lambda: Program(accelerator(4).kind).gather("A_values", 0, 1, 0),
             "accelerator 'tiled': its DMA follows no lists\n  try: give it lists"),
            (lambda: program.patience(1), "accelerator 'tiled': it has no watchdog\n  try: give it one, or set no patience"),
            (lambda: Program(accelerator(watchdog=True).kind).patience(-1), "program: a patience of -1 cycles\n"),
            (lambda: program.move("B_values", 0, (1, 1), (1, 1), 0), "program: there is no dense tensor 'B_values'\n"),
            (lambda: product(kind, (0, 1, 1), *[Matrix(0, 1, 0)] * 3), "product: a product of 0 x 1 x 1\n"),
            (lambda: product(dataclasses.replace(kind, buffers=tuple(dataclasses.replace(buffer, banks=tuple(
                dataclasses.replace(bank, operations=8) for bank in buffer.banks)) for buffer in kind.buffers)), (1, 1, 1),
                *[Matrix(0, 1, 0)] * 3),
             "tiled: the buffer of A keeps a tensor for 8 operations and that of C for 1, a product brings one for as many\n"),
            (lambda: accelerator().product([[1]], [[1, 2], [3, 4]]), "product: a row has 1 elements and a column 2\n"),
            (lambda: accelerator().product([[128]], [[1]]), "A: it has 128..128\n  try: give -128..127"),
            (lambda: accelerator().product([[0.5]], [[1]]), "A: it is "),
            (lambda: accelerator().convolution([[[1]]], [[[[1]], [[1]]]]),
             "convolution: a kernel of 1 x 2 on an image of 1 x 1, stride 1\n"),
            (lambda: accelerator().convolution([[[1]]], [[[[1], [1]]]]),
             "convolution: the image has 1 channels, the weights 2\n"),
            (lambda: product(kind, (1, 1, 65535), *[Matrix(0, 1, 0)] * 3, Repeat(9)), "product: a sum has 147,456 parts\n")):
        with pytest.raises(UserError) as error:
            made()
        assert str(error.value).startswith(told)


def test_a_command_is_shown_as_it_was_made() -> None:
    program = Program(accelerator().kind)
    program.request("C", 0x40, [(2, 1, 1), (3, 3, -7)], 2)
    program.wait("C")
    assert [command.shown(word) for word in program.words] == [
        "set_src_and_dst(stream 3, memory)", "set_constant(16, 2)", "set_address(dst, 0x40)", "set_span(dst, 0, 1)",
        "set_span(src, 0, 2)", "set_data_stride(dst, 0, 1)", "set_span(both, 1, 3)", "set_data_stride(dst, 1, -7)", "issue()",
        "wait(0x10)"]
    assert command.region(DESTINATION >> 31) == 1 << 16
    with pytest.raises(UserError, match="command 99 is unknown"):
        command.shown((99, 0, 0))
