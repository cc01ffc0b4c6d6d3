"""A buffer gathers elements by the coordinates of one operand in the rows that another one finds."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiled_products import csr

from sardonyx import spatial as sp
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.private_buffer import Bank, Level, Loop, PrivateBuffer
from sardonyx.hw.arch.token import MAYBE, stop
from sardonyx.hw.spatial.buffer.associative_bank import AssociativeBank
from sardonyx.hw.spatial.buffer.gather_bank import GatherBank
from sardonyx.runtime.data import fibers
from sardonyx.runtime.data.private_buffers import filled
from sardonyx.runtime.spatial_commands import Program
from sardonyx.sim.model import private_buffer as model
from sardonyx.sim.rtl.bench import Bench

i, j, k, n = sp.indices("i j k n")
A, B, D, E = sp.inputs("A B D E", dtype="int8")
MASKED = sp.functionality("C(i,j) = A(i,k) * B(k,j) * D(i,j)", dtype="int8")
BY_ROWS = sp.Transform([[0, 0, 1], [1, 0, 0], [1, 1, 1]])
ROWS_OF_A, MASK = sp.skip(k, where=A(i, k) == 0), sp.skip(j, where=D(i, j) == 0)
CSR, S0 = sp.Buffer("dense", "compressed", words=32), stop(0)
KINDS = {"dense": sp.Buffer("dense", "dense", words=16), "turned": sp.Buffer("dense", "dense", words=16, order=(1, 0)),
         "shared": sp.Buffer("dense", "dense", words=32, operations=3),
         "compressed": sp.Buffer("dense", "compressed", words=16),
         "lists": sp.Buffer("linked list", "bitvector", words=32, order=(1, 0), operations=2)}
DESIGNS = (*KINDS, "both", "either", "batch")
stalls = st.none() | st.integers(1, 1 << 30)


@cache
def design(name: str) -> sp.Design:
    """Products row by row of which a mask says where they are wanted: B in each format; where two masks meet, or either has an
    element; and of a batch with a bank for each of two products."""
    bounds = {"i": 2, "j": 5, "k": 3}
    if name == "batch":
        batch = sp.functionality("C(n,i,j) = A(n,i,k) * B(j,n,k) * D(n,i,j)", dtype="int8")
        rows = sp.Transform([[1, 0, 0, 0], [0, 0, 0, 1], [0, 1, 0, 0], [1, 1, 1, 1]])
        return sp.Design(batch, rows, {"n": 2, "i": 1, "j": 5, "k": 3},
                         sparsity=[sp.skip(k, where=A(n, i, k) == 0), sp.skip(j, where=D(n, i, j) == 0)],
                         buffers={"B": sp.Buffer("dense", "dense", "dense", words=16, order=(1, 0, 2), banks=2)})
    if name in ("both", "either"):
        masks = {"both": "D(i,j) * E(i,j)", "either": "(D(i,j) + E(i,j))"}[name]
        with_two = sp.functionality(f"C(i,j) = A(i,k) * B(k,j) * {masks}", dtype="int8")
        mask = (D(i, j) == 0) | (E(i, j) == 0) if name == "both" else (D(i, j) == 0) & (E(i, j) == 0)
        return sp.Design(with_two, BY_ROWS, bounds, sparsity=[ROWS_OF_A, sp.skip(j, where=mask)],
                         buffers={"B": KINDS["dense"], "E": CSR})
    return sp.Design(MASKED, BY_ROWS, bounds, sparsity=[ROWS_OF_A, MASK], buffers={"A": CSR, "B": KINDS[name], "D": CSR},
                     name="masked")


def operands(array: sp.Design, operations: int, seed: int) -> "dict[str, np.ndarray]":
    """From empty to dense, with rows of A and of masks that have no element."""
    random, found = np.random.default_rng(seed), array.random(operations, seed)
    for name in found.keys() - {"B"}:
        found[name] *= random.random((*found[name].shape[:-1], 1)) < 0.8
    of_b, = (each for each in array.private if each.tensor == "B")
    found["B"] = np.repeat(found["B"], of_b.banks[0].operations, axis=0)[:operations]
    return found


@pytest.mark.parametrize("name", DESIGNS)
@settings(max_examples=8)
@given(operations=st.integers(1, 7), seed=st.integers(0, 1 << 30))
def test_elements_in_rows_that_are_found_are_the_very_ones_that_ports_take(name: str, operations: int, seed: int) -> None:
    array = design(name)
    words = operands(array, operations, seed)
    assert array.elastic is not None
    golden = fibers.fed(array.elastic, words)
    of_b, = (each for each in array.private if each.tensor == "B")
    given = model.given(of_b, filled(of_b, words["B"]), operations, golden)
    assert given == {port: golden[port] for port in given} and len(given) == 6
    assert array.run("tokens", **words).report["operations"] == operations


@pytest.mark.parametrize("name", [name if name in ("shared", "either") else pytest.param(name, marks=pytest.mark.slow)
                                  for name in DESIGNS])
@settings(max_examples=12)
@given(operations=st.integers(1, 7), seed=st.integers(0, 1 << 30), stalls=stalls)
def test_a_masked_product_is_exact_whatever_stalls(name: str, operations: int, seed: int, stalls: "int | None") -> None:
    array = design(name)
    words = operands(array, operations, seed)
    cycles = array.run("rtl", stalls, **words).cycles
    assert stalls is not None or cycles == array.run("tokens", **words).cycles


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dense", "lists"])
def test_200_masked_products_are_exact(name: str) -> None:
    array = design(name)
    for seed in range(1, 201):
        array.run("rtl", seed, **operands(array, 4, seed))


@pytest.mark.slow
def test_a_masked_product_goes_from_memory_to_memory() -> None:
    """A and the mask in CSR, B with its zeros; results are where the mask has elements."""
    array = design("dense")
    accelerator = replace(array, buffers={**array.buffers, "C": sp.Buffer("dense", "compressed", words=32)}).accelerator()
    random, memory = np.random.default_rng(1), bytearray(0x800)
    a, b, mask = (random.integers(-128, 128, shape) * (random.random(shape) < density)
                  for shape, density in (((2, 3), 0.5), ((3, 5), 1), ((2, 5), 0.6)))
    program = Program(accelerator.kind)
    for base, matrix, name in ((0x100, a, "A"), (0x300, mask, "D")):
        places = base, base + 0x80, base + 0x100
        for at, words in zip(places, csr(matrix), strict=True):
            memory[at:at + words.nbytes] = words.tobytes()
        program.arrays(f"{name}_values", places, 0)
    memory[0x500:0x500 + b.size] = b.astype(np.int8).tobytes()
    program.move("B", 0x500, (5, 1), (3, 5), 0)
    program.arrays("C_values", (0x600, 0x680, 0x700), 2)
    program.wait()
    found, _ = accelerator.run(program, bytes(memory))
    assert np.array_equal(np.frombuffer(found, np.int32, 3, 0x600), csr(mask)[0])
    assert np.array_equal(np.frombuffer(found, np.uint16, np.count_nonzero(mask), 0x680), csr(mask)[1])
    assert np.array_equal(np.frombuffer(found, np.int32, np.count_nonzero(mask), 0x700), ((a @ b) * mask)[mask != 0])


# Two ports, each of which may find one of two rows: port 0 the last two of three.
BANK = Bank(8, (Level("dense", 3), Level("dense", 4)), 16, 0, 0, (), 2, "fiber", True, 4, bases=(4, 0),
            chosen=(Loop(2, 4, 0),))
SEARCHED = replace(BANK, levels=(Level("dense", 3), Level("compressed", 4)))
FILLS = {GatherBank: {"values": [12, *range(1, 13)]},
         AssociativeBank: {"level": [4, 0, 1, 1, 2, 2, 1, 3], "values": [2, 6, 12]}}


@cache
def bench(kind: "type[GatherBank]") -> Bench:
    return Bench(kind(BANK if kind is GatherBank else SEARCHED, "found_rows"))


@pytest.mark.parametrize("kind,values", [(GatherBank, [10, 12]), (AssociativeBank, [0, 12])])
def test_a_port_gets_elements_of_its_row_and_zeros_of_none(kind: "type[GatherBank]", values: "list[int]") -> None:
    asked = {"ask0": [1, 3, S0], "row0": [1], "ask1": [0, 1, S0], "row1": [MAYBE]}
    for each in (None, 5):
        found = bench(kind).run(FILLS[kind] | asked, stalls=each)
        assert found.outputs["o0"] == [1 << 8 | values[0], 3 << 8 | values[1], S0 << 8]
        assert found.outputs["o1"] == [0 << 8, 1 << 8, S0 << 8] and not found.status["fault"] and not found.left


def test_a_row_beyond_the_last_is_a_fault_and_one_that_is_not_known_is_waited_for() -> None:
    asked = {"ask0": [1, S0], "ask1": [2, S0]}
    assert bench(GatherBank).run(FILLS[GatherBank] | asked | {"row0": [0], "row1": [2]}).status["fault"]
    found = bench(GatherBank).run(FILLS[GatherBank] | asked | {"row1": [0]})
    assert not found.outputs["o0"] and found.outputs["o1"] == [2 << 8 | 3, S0 << 8] and not found.status["fault"]


def test_explain_says_who_finds_rows_and_who_elements() -> None:
    text = design("compressed").explain().text
    assert ("6 ports gather elements by the coordinates of D_0_0, D_0_1 in the rows that A_0_0, A_1_0, A_2_0, A_0_1, A_1_1, "
            "A_2_1 find") in text
    assert ("6 ports ask for what D_0_0, D_0_1, A_0_0, A_1_0, A_2_0, A_0_1, A_1_1, A_2_1 find, each in turn, by 16 "
            "comparators") in text


@pytest.mark.parametrize("changed,said", [
    ({"bases": ()}, "chosen but no port asks for a fiber"),
    ({"chosen": (Loop(3, 4, 0),) * 2}, "chosen but fibers are whole, or it is not one loop"),
    ({"whole": True, "loops": (Loop(4, 1, 0), Loop(3, 4, 0))}, "chosen but fibers are whole, or it is not one loop"),
])
def test_a_bank_that_finds_no_rows_is_refused(changed: "dict[str, object]", said: str) -> None:
    with pytest.raises(UserError) as refused:
        replace(BANK, **changed)        # type: ignore[arg-type]
    assert said in refused.value.what


def test_rows_of_ports_that_nobody_finds_are_refused() -> None:
    PrivateBuffer("B", (0, 1), 0, (BANK,), (("b0", "b1"),), (0,), (("d0", "d1"),), chosen=(("a0", "a1"),))
    with pytest.raises(UserError, match="chosen does not have a port for each sink of a bank whose rows are found"):
        PrivateBuffer("B", (0, 1), 0, (BANK,), (("b0", "b1"),), (0,), (("d0", "d1"),))


def test_where_work_moves_rows_and_elements_are_not_both_found() -> None:
    array = design("dense")
    moves = replace(array, balance=[sp.work_queue(i, where=j >= 2)])
    with pytest.raises(UserError) as refused:
        moves.hardware()
    assert str(refused.value) == ("buffers: B: which fibers of B ports take is found by words, and work moves\n"
                                  "  try: leave out the balance or the buffer")
    for remedied in (array, replace(moves, buffers={name: array.buffers[name] for name in "AD"})):
        remedied.run("tokens", **operands(array, 3, 1))
