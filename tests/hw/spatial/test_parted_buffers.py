"""Buffers whose banks count coordinates, bitvectors and dense levels, give the parts of fibers where work moves."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx import spatial as sp
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.private_buffer import BITVECTOR, COMPRESSED, DENSE, FIBER, WORD, Bank, Level, Loop
from sardonyx.runtime.data.fibers import fed
from sardonyx.runtime.data.private_buffers import filled
from sardonyx.sim.model.private_buffer import given as given_words

i, j, k = sp.indices("i j k")
A, B = sp.inputs("A B")
ELEMENTS, WHOLE = sp.skip(k, where=A(i, k) == 0), sp.skip(k, where=A(i, ...) == 0)
# Levels of A, its skip, and the balance; parts begin at lines of 16 coordinates or not, and the first one may move.
BUFFERS = {
    "bitvectors": (("dense", "bitvector"), ELEMENTS, sp.shift(i, by=-1, where=k >= 19)),
    "bitvectors from a line on": (("dense", "bitvector"), ELEMENTS, sp.work_queue(i, where=k >= 16)),
    "bitvectors, the first part": (("dense", "bitvector"), ELEMENTS, sp.shift(i, to=0, where=k < 5)),
    "bitvectors of rows": (("compressed", "bitvector"), ELEMENTS, sp.shift(i, by=1, where=k >= 21)),
    "blocks": (("linked list", "dense"), ELEMENTS, sp.shift(i, by=-1, where=k >= 6)),
    "whole rows": (("compressed", "dense"), WHOLE, sp.shift(i, by=-1, where=k >= 30)),
    "whole rows, the first part": (("bitvector", "dense"), WHOLE, sp.work_queue(i, where=k < 9)),
}


def design(name: str, extent: int = 40) -> sp.Design:
    levels, skip, balance = BUFFERS[name]
    return sp.Design(sp.functionality("C(i,j) = A(i,k) * B(k,j)"), sp.Transform([[1, 0, 0], [0, 1, 0], [1, 1, 1]]),
                     {"i": 3, "j": 2, "k": extent}, sparsity=[skip], balance=[balance], name="parted",
                     buffers={"A": sp.Buffer(*levels, words=256)})


def operands(operations: int, seed: int, extent: int = 40) -> "dict[str, np.ndarray]":
    """With empty rows, and rows of which a part is empty."""
    random = np.random.default_rng(seed)
    a = random.integers(-99, 99, (operations, 3, extent)) * (random.random((operations, 3, extent)) < random.random(
        (operations, 3, 1)) * 1.2)
    a[..., :extent // 2] *= random.random((operations, 3, 1)) < 0.7
    a[..., extent // 2:] *= random.random((operations, 3, 1)) < 0.7
    return {"A": a, "B": random.integers(-99, 99, (operations, extent, 2))}


@pytest.mark.parametrize("name", BUFFERS)
@settings(max_examples=8)
@given(operations=st.integers(1, 5), seed=st.integers(0, 1 << 30))
def test_ports_get_the_parts_of_their_fibers(name: str, operations: int, seed: int) -> None:
    array, found = design(name), operands(operations, seed)
    buffer, = array.private
    assert array.elastic is not None and len(buffer.banks) == 2
    wanted = fed(array.elastic, found)
    gives = given_words(buffer, filled(buffer, found["A"]), operations)
    assert gives == {port: wanted[port] for port in gives} and len(gives) == len([each for each in wanted if each[0] == "A"])
    assert np.array_equal(array.run("tokens", **found).value, found["A"] @ found["B"])


@pytest.mark.parametrize("name", [name if name in ("bitvectors", "whole rows") else pytest.param(name, marks=pytest.mark.slow)
                                  for name in BUFFERS])
def test_so_does_the_verilog_in_as_many_cycles(name: str) -> None:
    array = design(name)
    for seed, stalls in ((1, None), (2, 9)):
        found = operands(6, seed)
        ran = array.run("rtl", stalls, **found)
        assert np.array_equal(ran.value, found["A"] @ found["B"])
        assert stalls or ran.cycles == array.run("tokens", **found).cycles


def test_a_bank_that_counts_from_a_coordinate_says_so() -> None:
    stays, moves = (bank for buffer in design("bitvectors").private for bank in buffer.banks)
    assert (stays.begin, stays.levels[-1].extent, moves.begin, moves.levels[-1].extent) == (0, 19, 19, 21)
    # Compressed coordinates are stored as they are.
    other = dataclasses.replace(design("bitvectors"), buffers={"A": sp.Buffer("dense", "compressed", words=128)})
    assert [bank.begin for buffer in other.private for bank in buffer.banks] == [0, 0]


@pytest.mark.parametrize("kind,form,extent", [(COMPRESSED, FIBER, 8), (DENSE, WORD, 8), (BITVECTOR, FIBER, (1 << 16) - 3)])
def test_a_bank_that_does_not_count_begins_at_0(kind: str, form: str, extent: int) -> None:
    with pytest.raises(UserError, match="begin is 4, but no fibers there have coordinates that are counted"):
        Bank(8, (Level(DENSE, 2), Level(kind, extent)), 16, 0, 0, (Loop(2, 1, 0),), 1, form, False, begin=4)
