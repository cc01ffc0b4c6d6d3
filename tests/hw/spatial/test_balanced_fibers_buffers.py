"""Balanced arrays whose PEs give fibers, behind private buffers of operands and in front of those of results."""

import dataclasses
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx import spatial as sp
from sardonyx.hw.arch import command
from sardonyx.runtime.data.private_buffers import filled
from sardonyx.runtime.spatial_commands import Program
from sardonyx.sim.rtl.accelerator import SimulatedAccelerator

i, j, k = sp.indices("i j k")
A, B = sp.inputs("A B")
LEVELS = {"c": "compressed", "l": "linked list"}
WORDS = sp.Buffer("dense", "dense", words=16)
MOVES = {"shift": sp.shift(k, by=-1, where=j >= 4), "queue of the first part": sp.work_queue(k, where=j < 6),
         "PEs": sp.shift(k, by=-1, where=(j >= 4) & (i < 1), grain="pe")}
# Where what may move is, and the buffers.
DESIGNS = {
    "all": ("shift", {"A": WORDS, "B": sp.Buffer("dense", "compressed", words=4096),
                      "C": sp.Buffer("dense", "compressed", words=32)}),
    "B": ("shift", {"B": sp.Buffer("dense", "compressed", words=4096)}),
    "lists": ("queue of the first part", {"B": sp.Buffer("dense", "linked list", words=64, node=2), "A": WORDS}),
    "of PEs": ("PEs", {"B": sp.Buffer("dense", "compressed", words=64, banks=3)}),
    "a result": ("PEs", {"C": sp.Buffer("dense", "bitvector", words=32)}),
    "a result without rows": ("queue of the first part", {"C": sp.Buffer("compressed", "compressed", words=32)}),
}


@cache
def design(name: str) -> sp.Design:
    moves, buffers = DESIGNS[name]
    return sp.Design(sp.functionality("C(i,j) = A(i,k) * B(k,j)"), sp.Transform([[0, 0, 1], [1, 0, 0], [1, 1, 1]]),
                     {"i": 2, "j": 9, "k": 3}, sparsity=[sp.skip(j, where=B(k, j) == 0)], balance=[MOVES[moves]],
                     buffers=buffers, name="balanced")


def operands(operations: int, seed: int) -> "dict[str, np.ndarray]":
    """Of B from empty to dense, with rows that are empty."""
    random = np.random.default_rng(seed)
    b, most = random.integers(-99, 99, (operations, 3, 9)), random.random((operations, 3, 1)) * 1.3
    b *= (random.random(b.shape) < most) & (random.random(most.shape) < 0.8)
    return {"A": random.integers(-99, 99, (operations, 2, 3)), "B": b}


@pytest.mark.parametrize("name", DESIGNS)
@settings(max_examples=10)
@given(operations=st.integers(1, 8), seed=st.integers(0, 1 << 30))
def test_the_model_is_exact(name: str, operations: int, seed: int) -> None:
    assert design(name).run("tokens", **operands(operations, seed)).report["operations"] == operations


@pytest.mark.parametrize("name", [name if not at else pytest.param(name, marks=pytest.mark.slow)
                                  for at, name in enumerate(DESIGNS)])
@settings(max_examples=8)
@given(operations=st.integers(1, 8), seed=st.integers(0, 1 << 30), stalls=st.none() | st.integers(1, 1 << 30))
def test_the_verilog_is_exact_in_as_many_cycles(name: str, operations: int, seed: int, stalls: "int | None") -> None:
    array, found = design(name), operands(operations, seed)
    ran = array.run("rtl", stalls, **found)
    assert stalls or ran.cycles == array.run("tokens", **found).cycles


@pytest.mark.parametrize("only", range(3))
def test_no_array_stands_still_where_one_row_has_all_work_and_one_bank_gives_to_all(only: int) -> None:
    for name in DESIGNS:
        words = operands(6, only)
        words["B"][:] = (np.arange(3) == only)[:, None]
        design(name).run("tokens", **words)


def test_two_ports_of_a_result_share_its_buffer() -> None:
    result, = design("all").written
    assert (result.ports, result.begins, result.fibers) == (("C_0", "C_0_moves", "C_1", "C_1_moves"), (0, 4), 2)
    first, = design("a result without rows").written
    assert first.ports == ("C_0_moves", "C_0", "C_1_moves", "C_1") and first.begins == (0, 6)
    alone = dataclasses.replace(design("all"), balance=[]).written[0]
    assert dataclasses.replace(result, ports=("C_0", "C_1"), begins=(0,)) == alone


@pytest.mark.slow
def test_commands_bring_both_parts_of_an_operand_and_take_the_sum_of_products() -> None:
    made, size, at = design("all").accelerator(), 0x2000, 0x100
    buffer, = (each for each in made.kind.buffers if each.tensor == "B")
    found, sizes = operands(3, 8), {"segments": np.int32, "coordinates": np.uint16, "values": np.int16}
    memory, commands = bytearray(size), Program(made.kind)
    commands.parts(3)
    for a, b in zip(*found.values(), strict=True):
        memory[at:at + 12] = a.astype(np.int16).tobytes()
        commands.move("A", at, (3, 1), (2, 3), 1)
        at += 0x40
        fills = filled(buffer, b[None])
        for bank in range(2):
            level, values = (fills[f"B_bank{bank}_{name}"] for name in ("level", "values"))
            arrays = {"segments": level[1:1 + level[0]], "coordinates": level[2 + level[0]:], "values": values[1:]}
            places = []
            for name, words in arrays.items():
                content = np.array(words).astype(sizes[name]).tobytes()
                memory[at:at + len(content)] = content
                places.append(at)
                at += 0x40
            commands.arrays(f"B_bank{bank}_values", places, 1)
    results = 0x1000, 0x1100, 0x1200
    commands.arrays("C_values", results, 2)
    commands.wait()
    with SimulatedAccelerator(made.hardware(), size, 20) as simulated:
        simulated.write(0, bytes(memory))
        assert simulated.run(commands.words, 100_000).status >> 16 & 15 == command.NONE
        gave = simulated.read(0, size)
    segments = np.frombuffer(gave, np.int32, 3, results[0])
    coordinates, values = (np.frombuffer(gave, kind, segments[-1], place)
                           for kind, place in zip((np.uint16, np.int32), results[1:]))
    total = np.zeros((2, 9), int)
    for row in range(2):
        total[row, coordinates[segments[row]:segments[row + 1]]] = values[segments[row]:segments[row + 1]]
    assert np.array_equal(total, (found["A"] @ found["B"]).sum(axis=0))
