"""Buffers give words in orders that are no loop nest, as hexagonal arrays take them, by a table."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import pytest
from amaranth.sim import Simulator
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx import spatial as sp
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.private_buffer import Bank, Level, Loop, Run
from sardonyx.hw.memory.table import Table
from sardonyx.hw.spatial.buffer.run_table import RunTable
from sardonyx.runtime.data import ports
from sardonyx.runtime.data.private_buffers import filled
from sardonyx.sim.model import private_buffer as model

i, j, k = sp.indices("i j k")
PRODUCT = sp.functionality("C(i,j) = A(i,k) * B(k,j)", dtype="int8")
DENSE = sp.Buffer("dense", "dense", words=16)
BANK = Bank(8, (Level("dense", 2), Level("dense", 2)), 16, 0, 0, (), 2, "word", False,
            table=(Run(0, 0, 2, 3, 1), Run(1, 0, 2, 1, 1)))
# A port takes one word in an operation, or three, of which seven may wait, as a launch takes words of another operation.
DESIGNS = {"hexagonal": ([[1, 0, -1], [0, 1, -1], [1, 1, 1]], "AB", 2),
           "overlapping": ([[0, 1, 0], [-1, 1, 0], [2, 2, 1]], "A", 7)}


@cache
def design(name: str) -> sp.Design:
    rows, buffered, _ = DESIGNS[name]
    return sp.Design(PRODUCT, sp.Transform(rows), {"i": 3, "j": 3, "k": 3}, name="tabled",
                     buffers=dict.fromkeys(buffered, DENSE))


@pytest.mark.parametrize("name", DESIGNS)
@settings(max_examples=6)
@given(operations=st.integers(1, 6), seed=st.integers(0, 1 << 30))
def test_a_buffer_gives_the_very_words_that_ports_take(name: str, operations: int, seed: int) -> None:
    array = design(name)
    operand = array.random(operations, seed)
    golden = ports.fed(array.spatial, operand)
    for buffer in array.private:
        assert buffer.banks[0].table and buffer.banks[0].depth == DESIGNS[name][2]
        for port, pairs in model.given(buffer, filled(buffer, operand[buffer.tensor]), operations).items():
            assert [value for _, value in pairs] == golden[port]
    array.run("tokens", **operand)


@pytest.mark.parametrize("name", ["hexagonal", pytest.param("overlapping", marks=pytest.mark.slow)])
@settings(max_examples=8)
@given(operations=st.integers(1, 9), seed=st.integers(0, 1 << 30), stalls=st.none() | st.integers(1, 1 << 30))
def test_the_verilog_of_an_array_whose_order_is_no_nest_is_exact_whatever_stalls(
        name: str, operations: int, seed: int, stalls: "int | None") -> None:
    array = design(name)
    array.run("rtl", stalls, **array.random(operations, seed))


def test_an_order_of_more_than_1024_steps_is_a_table_of_its_runs() -> None:
    """A launch takes a word of each row of A, so that the runs are as many as launches, whatever the rows."""
    array = sp.Design(PRODUCT, sp.Transform(DESIGNS["overlapping"][0]), {"i": 3, "j": 1, "k": 400},
                      buffers={"A": sp.Buffer("dense", "dense", words=2048)})
    table, = (bank.table for bank in array.private[0].banks)
    assert sum(run.extent for run in table) == 3 * 400 and 390 < len(table) < 410
    operand = array.random(2, 1)
    golden = ports.fed(array.spatial, operand)
    given_words = model.given(array.private[0], filled(array.private[0], operand["A"]), 2)
    assert {port: [value for _, value in pairs] for port, pairs in given_words.items()} == {
        port: golden[port] for port in given_words}


@pytest.mark.parametrize("size", [3, 8, 12])
def test_a_hexagonal_array_of_n_rows_takes_2n_less_1_runs(size: int) -> None:
    array = sp.Design(PRODUCT, sp.Transform(DESIGNS["hexagonal"][0]), dict.fromkeys("ijk", size),
                      buffers=dict.fromkeys("AB", sp.Buffer("dense", "dense", words=256)))
    assert [len(bank.table) for buffer in array.private for bank in buffer.banks] == [2 * size - 1] * 2


@pytest.mark.parametrize("numbers", [(3, 1, 5), (2,), (0, 7, 7, 1, 2)])
def test_a_table_gives_its_numbers_over_and_over(numbers: "tuple[int, ...]") -> None:
    _gives(Table(numbers, 3), numbers)


@pytest.mark.parametrize("runs", [((3, 2, 1), (0, 2, 5)), ((2, 1, 0),), ((7, 8, -1),), ((1, 1, 0), (6, 3, -3), (4, 1, 0))])
def test_a_table_of_runs_gives_all_of_each(runs: "tuple[tuple[int, int, int], ...]") -> None:
    _gives(RunTable(runs, 3), [first + n * stride for first, extent, stride in runs for n in range(extent)])


def _gives(table: "Table | RunTable", numbers: Sequence[int]) -> None:
    found = list[tuple[int, bool]]()

    async def steps(context) -> None:       # type: ignore[no-untyped-def]
        for cycle in range(4 * len(numbers) + 3):
            context.set(table.step, cycle % 3 != 1)
            if context.get(table.valid) and cycle % 3 != 1:
                found.append((context.get(table.number), bool(context.get(table.last))))
            await context.tick()

    simulator = Simulator(table)
    simulator.add_clock(1e-9)
    simulator.add_testbench(steps)
    simulator.run()
    wanted = [(number, at == len(numbers) - 1) for at, number in enumerate(numbers)] * 4
    assert found == wanted[:len(found)] and len(found) > 2 * len(numbers)


@pytest.mark.parametrize("numbers", [(), (8,), (-1, 2)])
def test_a_table_of_other_numbers_is_refused(numbers: "tuple[int, ...]") -> None:
    with pytest.raises(ValueError, match="a table has one number or more, of 3 bits"):
        Table(numbers, 3)


@pytest.mark.parametrize("runs", [(), ((7, 2, 1),), ((1, 3, -1),), ((1, 0, 0),)])
def test_a_table_of_other_runs_is_refused(runs: "tuple[tuple[int, int, int], ...]") -> None:
    with pytest.raises(ValueError, match="a table has one run or more, of numbers of 3 bits"):
        RunTable(runs, 3)


@pytest.mark.parametrize("changed", [
    {"loops": (Loop(2, 1, 1),)}, {"first": 1}, {"first_sink": 1}, {"form": "fiber"}, {"table": (Run(0, 0),) * 1025}])
def test_a_table_beside_another_request_is_refused(changed: "dict[str, object]") -> None:
    with pytest.raises(UserError, match="runs beside another request, or along a dense fiber"):
        replace(BANK, **changed)        # type: ignore[arg-type]


@pytest.mark.parametrize("run", [Run(15, 0, 2, 1, 0), Run(0, 2), Run(0, 0, 2, -1, 0), Run(0, 1, 2, 0, 1)])
def test_runs_that_leave_the_bank_are_refused(run: Run) -> None:
    with pytest.raises(UserError, match="table leaves 16 words or 2 sinks"):
        replace(BANK, table=(run,))
