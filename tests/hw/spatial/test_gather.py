"""A buffer gathers the elements whose coordinates another operand finds, however often and whenever they are asked for."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx import spatial as sp
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.private_buffer import Bank, Level, PrivateBuffer
from sardonyx.hw.arch.token import stop
from sardonyx.hw.spatial.buffer.gather_bank import GatherBank
from sardonyx.runtime.data import fibers
from sardonyx.runtime.data.private_buffers import filled
from sardonyx.runtime.spatial_commands import Program
from sardonyx.sim.model import private_buffer as model
from sardonyx.sim.rtl.bench import Bench

i, j, k = sp.indices("i j k")
A, B = sp.inputs("A B", dtype="int8")
PRODUCT = sp.functionality("C(i,j) = A(i,k) * B(k,j)", dtype="int8")
OUTPUT = sp.Transform([[1, 0, 0], [0, 1, 0], [1, 1, 1]])
ROWS_OF_A, COLUMNS_OF_B = sp.skip(k, where=A(i, k) == 0), sp.skip(k, where=B(k, j) == 0)
CSR = sp.Buffer("dense", "compressed", words=64)
COLUMNS = sp.Buffer("dense", "dense", words=64, order=(1, 0), operations=2)
# Three ports, two of which read the same row of two, for two operations.
BANK = Bank(8, (Level("dense", 2), Level("dense", 7)), 16, 0, 0, (), 3, "fiber", True, 4, 2, bases=(7, 0, 7))
BUFFER = PrivateBuffer("B", (0, 1), 0, (BANK,), (("b0", "b1", "b2"),), (0,), (("a0", "a1", "a2"),))
stalls = st.none() | st.integers(1, 1 << 30)


@cache
def design(banks: int = 1) -> sp.Design:
    return sp.Design(PRODUCT, OUTPUT, {"i": 3, "j": 2, "k": 16}, sparsity=[ROWS_OF_A], name="gathered",
                     buffers={"A": CSR, "B": sp.Buffer("dense", "dense", words=32, order=(1, 0), operations=4, banks=banks)})


@cache
def bench() -> Bench:
    return Bench(GatherBank(BANK, "gather"))


def coordinates(random: np.random.Generator, operations: int) -> "list[tuple[int, int]]":
    """Fibers of rising coordinates, some of them empty, with values that do not count."""
    return [(int(crd), 0) for _ in range(operations)
            for crd in (*np.flatnonzero(random.random(7) < random.choice((0, 0.5, 1))), stop(0))]


@settings(max_examples=15)
@given(tensors=st.integers(1, 4), stalls=stalls, seed=st.integers(0, 1 << 30))
def test_each_port_gets_the_elements_at_the_coordinates_that_it_asks_for(
        tensors: int, stalls: "int | None", seed: int) -> None:
    random = np.random.default_rng(seed)
    fills = filled(BUFFER, np.repeat(random.integers(-128, 128, (tensors, 2, 7)), 2, axis=0))
    asked = {name: coordinates(random, 2 * tensors) for name in BUFFER.asks[0]}
    found = bench().run({"values": fills["B_values"]} | {f"ask{n}": [crd for crd, _ in asked[name]]
                                                         for n, name in enumerate(asked)}, stalls=stalls)
    assert not found.status["fault"] and not found.left
    for n, (name, pairs) in enumerate(model.given(BUFFER, fills, 2 * tensors, asked).items()):
        assert name == f"b{n}"
        assert found.outputs[f"o{n}"] == [crd << 8 | value % 256 for crd, value in pairs]


def test_a_bank_gives_an_element_a_cycle() -> None:
    tensors, pairs = 10, 3 * 2 * 8
    fills = filled(BUFFER, np.ones((2 * tensors, 2, 7), int))
    asked = [*range(7), stop(0)] * 2 * tensors
    found = bench().run({"values": fills["B_values"]} | {f"ask{n}": asked for n in range(3)})
    # Before, once, a tensor is filled in; between two of them what is under way leaves.
    assert found.cycles <= tensors * (pairs + 4) + 40


def test_a_coordinate_beyond_the_last_is_a_fault() -> None:
    fills = filled(BUFFER, np.ones((2, 2, 7), int))
    assert bench().run({"values": fills["B_values"], "ask0": [7, stop(0)]}).status["fault"]


@settings(max_examples=10)
@given(banks=st.sampled_from((1, 2)), operations=st.integers(1, 9), seed=st.integers(0, 1 << 30))
def test_gathered_words_are_the_very_ones_that_ports_take(banks: int, operations: int, seed: int) -> None:
    array = design(banks)
    words = _operands(array, operations, seed)
    golden = fibers.fed(array.elastic, words)
    of_a, of_b = array.private
    given = model.given(of_b, filled(of_b, words["B"]), operations, model.given(of_a, filled(of_a, words["A"]), operations))
    assert given == {name: golden[name] for name in given} and len(given) == 6


@settings(max_examples=8)
@given(operations=st.integers(1, 9), stalls=stalls, seed=st.integers(0, 1 << 30))
def test_a_sparse_matrix_times_a_dense_one_is_exact_whatever_stalls(operations: int, stalls: "int | None", seed: int) -> None:
    array = design()
    array.run("rtl", stalls, **_operands(array, operations, seed))


def _operands(array: sp.Design, operations: int, seed: int) -> "dict[str, np.ndarray]":
    random, found = np.random.default_rng(seed), array.random(operations, seed)
    found["A"] *= random.random((operations, 3, 1)) < 0.8
    return found


@cache
def balanced(kind: str, grain: str = "row") -> sp.Design:
    """A row may take work of the next one, all PEs together or each on its own; B is asked for by what each has."""
    rows = {"row": 3, "pe": 2}[grain]
    return sp.Design(PRODUCT, OUTPUT, {"i": rows, "j": 2, "k": 8}, sparsity=[ROWS_OF_A], name="balanced",
                     balance=[sp.shift(i, by=-1, where=k >= 4, grain=grain)],
                     buffers={"B": sp.Buffer("dense", kind, words=16, order=(1, 0))})


@pytest.mark.parametrize("kind,grain", [("dense", "row"), ("dense", "pe"),
                                        pytest.param("compressed", "row", marks=pytest.mark.slow)])
@settings(max_examples=4)
@given(operations=st.integers(1, 9), stalls=stalls, seed=st.integers(0, 1 << 30))
def test_rows_and_pes_that_take_each_others_work_gather_what_belongs_to_it(
        kind: str, grain: str, operations: int, stalls: "int | None", seed: int) -> None:
    array = balanced(kind, grain)
    operand = array.random(operations, seed)
    operand["A"] *= np.random.default_rng(seed).random((*operand["A"].shape[:2], 2)).repeat(4, axis=2) < 0.6
    array.run("tokens", **operand)
    array.run("rtl", stalls, **operand)


def test_no_row_takes_work_whose_elements_no_bank_has_yet() -> None:
    """With stalls of this seed a row is free for the next operation before its work of this one has come; then it would stand
    still for ever, as a bank gives nothing of the next tensor before all ports have had what they ask of this one."""
    array = balanced("dense")
    operand = array.random(9, 14)
    operand["A"][:], operand["A"][:, :, :4] = 1, 0
    array.run("rtl", 14, **operand)


def test_no_pe_waits_for_the_work_of_another_one() -> None:
    """With stalls of this seed the PEs of a row do not do the same work at the same time."""
    array = balanced("dense", "pe")
    operand = array.random(9, 5)
    operand["A"][:] = 1
    array.run("rtl", 5, **operand)


@pytest.mark.parametrize("grain", ["row", "pe"])
def test_a_port_asks_by_the_fiber_of_its_own_pe(grain: str) -> None:
    buffer, = balanced("dense", grain).private
    column = {"row": "0", "pe": "{j}"}[grain]
    assert dict(zip(buffer.sinks[0], buffer.asks[0])) == {
        f"B_{row}_{j}{moves}": f"A_{row}_{column.format(j=j)}{moves}"
        for row in range({"row": 3, "pe": 2}[grain]) for j in range(2) for moves in ("", "_moves")}


@pytest.mark.slow
def test_a_sparse_matrix_times_a_dense_one_goes_from_memory_to_memory() -> None:
    """Of 12 x 16 a tile of three rows at a time, all with the same two columns of 16."""
    random, accelerator = np.random.default_rng(1), design().accelerator()
    a = random.integers(-128, 128, (12, 16)) * (random.random((12, 16)) < 0.3)
    b = random.integers(-128, 128, (16, 2)).astype(np.int8)
    rows = scipy.sparse.csr_array(a)
    memory = bytearray(0x800)
    for at, each in ((0x100, rows.indptr.astype(np.int32)), (0x200, rows.indices.astype(np.uint16)),
                     (0x400, rows.data.astype(np.int8)), (0x500, b)):
        memory[at:at + each.nbytes] = each.tobytes()
    program = Program(accelerator.kind)
    program.move("B", 0x500, (2, 1), b.shape, 0)
    for tile in range(4):
        program.arrays("A_values", (0x100 + 3 * tile * 4, 0x200, 0x400), 0)
        program.move("C", 0x600 + 6 * tile * 4, (2, 1), (3, 2), 2)
    program.wait()
    found, _ = accelerator.run(program, bytes(memory))
    assert np.array_equal(np.frombuffer(found, np.int32, 24, 0x600).reshape(12, 2), a @ b)


@pytest.mark.parametrize("asks", [(), ((),), (("a0", "a1"),), (("a0", "a1", "a2"), ()), (("a0", "a1", "a2"), ("a0",))])
def test_each_port_of_each_bank_asks(asks: "tuple[tuple[str, ...], ...]") -> None:
    for banks in ((BANK,), (BANK, BANK)):
        with pytest.raises(UserError, match="asks does not have a port for each sink of a bank that gathers"):
            replace(BUFFER, banks=banks, sinks=BUFFER.sinks * len(banks), asks=asks)
    assert replace(BUFFER, banks=(BANK, BANK), sinks=BUFFER.sinks * 2, asks=BUFFER.asks * 2)


def test_explain_says_by_whose_coordinates() -> None:
    assert design(2).explain().text.splitlines()[-8].endswith(
        "2 banks of 32 words, twice: 6 ports gather elements by the coordinates of A_0_0, A_1_0, A_2_0")


@pytest.mark.parametrize("changed,said", [
    ({"buffers": {"B": sp.Buffer("dense", "compressed", words=512, order=(1, 0))}},
     "its last level is compressed, whose elements are found by comparing, 256 in a bank, which has 512 words; "
     "give 256 words or fewer, or make it dense"),
    ({"buffers": {"B": sp.Buffer("dense", "dense", words=64, order=(1, 0), wide=True)}},
     "it is wide, which buffers of one bank and of arrays in step can be; leave out wide"),
])
def test_what_is_not_gathered_is_refused_with_a_remedy(changed: "dict[str, object]", said: str) -> None:
    with pytest.raises(UserError) as refused:
        sp.Design(PRODUCT, OUTPUT, {"i": 3, "j": 2, "k": 16}, sparsity=[ROWS_OF_A], **changed).hardware()  # type: ignore[arg-type]
    assert refused.value.where == "buffers: B" and f"{refused.value.what}; {refused.value.fix}" == said


D = sp.inputs("D", dtype="int8")[0]
KEPT = sp.functionality("C(i,j) = A(i,k) * B(k,j) * D(i,j)", dtype="int8")


@pytest.mark.parametrize("grain", ["row", "pe"])
def test_beside_words_that_rows_keep_elements_are_gathered_where_work_moves(grain: str) -> None:
    array = sp.Design(KEPT, OUTPUT, {"i": 2, "j": 3, "k": 4}, sparsity=[ROWS_OF_A], buffers={
        "B": sp.Buffer("dense", "dense", words=64, order=(1, 0))}, balance=[sp.work_queue(i, where=k >= 2, grain=grain)])
    array.run("tokens", **array.random(20, 1))


def test_fibers_that_words_find_are_not_given_where_work_moves() -> None:
    changes = {"balance": [sp.work_queue(k, where=j >= 2)], "buffers": {"B": sp.Buffer("dense", "compressed", words=64)}}

    def run(**more: object) -> None:
        array = sp.Design(PRODUCT, sp.Transform([[0, 0, 1], [1, 0, 0], [1, 1, 1]]), {"i": 2, "j": 4, "k": 4},
                          sparsity=[ROWS_OF_A, sp.skip(j, where=B(k, j) == 0)], **more)     # type: ignore[arg-type]
        array.run("tokens", **array.random(4, 1))
    with pytest.raises(UserError) as refused:
        run(**changes)
    assert str(refused.value) == ("buffers: B: which fibers of B ports take is found by words, and work moves\n"
                                  "  try: leave out the balance or the buffer")
    for each in changes:
        run(**{each: changes[each]})


@pytest.mark.parametrize("levels,banks", [(("dense", "dense"), 1), (("dense", "bitvector"), 2)])
@pytest.mark.parametrize("engine", ["tokens", pytest.param("rtl", marks=pytest.mark.slow)])
def test_elements_are_gathered_behind_the_finder_where_fibers_leave_through_mergers(
        levels: "tuple[str, str]", banks: int, engine: str) -> None:
    array = sp.Design(sp.functionality("C(i,j) = A(i,k) * B(k,j) * D(i,k)", dtype="int8"),
                      sp.Transform([[0, 0, 1], [0, 1, 0], [1, 1, 1]]), {"i": 7, "j": 2, "k": 2},
                      sparsity=[sp.skip(i, where=A(i, k) == 0)], balance=[sp.shift(k, to=1, where=i >= 2)],
                      buffers={"D": sp.Buffer(*levels, words=64, banks=banks)})
    buffer, = array.private
    assert [[port.replace("A", "D") for port in ports] for ports in buffer.asks] == [[*ports] for ports in buffer.sinks]
    operands = array.random(5, 1)
    ran = array.run(engine, **operands)
    assert ran.cycles == array.run("tokens", **operands).cycles
