"""Runs of a simulated machine: how they begin and end, descriptors that follow each other, interrupts."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from copies import LOAD, QUEUED, STORE, prepare, result, run
from machines import LEAST, copier

from sardonyx.compiler.backend.encode import address, words
from sardonyx.hw.arch.config import STATUS_REGISTER
from sardonyx.hw.arch.glb import CLOCK_GATES, HYBRID
from sardonyx.hw.arch.soc import (
    BUSY,
    ENDED_BITS,
    FINISHED,
    FLUSH_CYCLES,
    STORE_ENDED,
    STORE_LIMIT,
    WATCHDOG,
    glb_registers,
    named,
)
from sardonyx.sim.rtl import simulator
from sardonyx.sim.rtl.machine import Machine


@pytest.fixture
def copying() -> Iterator[Machine]:
    """A machine configured as a copier."""
    with simulator.whole_machine(LEAST).start() as machine:
        machine.configure(words(copier(LEAST), LEAST))
        yield machine


def test_runs_give_the_same_words_in_the_same_cycles(copying: Machine) -> None:
    block = [20, *range(1000, 1020)]
    cycles = set()
    for _ in range(3):
        prepare(copying, block)
        assert run(copying) == 1 << FINISHED
        assert result(copying) == block
        cycles.add(copying.read_register("cycles"))
    spent, = cycles
    assert len(block) < spent < len(block) + 20, "a word a cycle and the way through the array"


@pytest.mark.parametrize("form", CLOCK_GATES)
def test_a_machine_with_clock_gates_takes_the_same_program_and_does_the_same(copying: Machine, form: str) -> None:
    block, program = [9, *range(9)], words(copier(LEAST), LEAST)
    gated = replace(LEAST, glb=replace(LEAST.glb, clock_gating=HYBRID, clock_gates=form))
    prepare(copying, block)
    run(copying)
    with simulator.whole_machine(gated).start(check=True) as machine:
        machine.configure(program)
        prepare(machine, block)
        assert run(machine) == 1 << FINISHED
        assert result(machine) == result(copying) == block
        assert machine.read_register("cycles") == copying.read_register("cycles")


def test_the_interrupt_comes_only_for_enabled_events_and_until_cleared(copying: Machine) -> None:
    prepare(copying, [1, 5])
    copying.write_register("irq_enable", 1 << WATCHDOG)
    copying.write_register("control", 1)
    assert not copying.wait(1000)
    assert copying.read_register("status") == 1 << FINISHED
    copying.write_register("irq_enable", 1 << FINISHED)
    assert copying.wait(0)
    copying.write_register("irq_status", 1 << WATCHDOG)
    assert copying.wait(0)
    copying.write_register("irq_status", 1 << FINISHED)
    assert not copying.wait(1000)


def test_waiting_ends_at_the_limit_and_at_the_interrupt(copying: Machine) -> None:
    before = copying.cycles
    assert not copying.wait(123)
    assert copying.cycles == before + 123
    prepare(copying, [1, 5])
    copying.write_register("control", 1)
    before = copying.cycles
    assert copying.wait(10_000)
    assert FLUSH_CYCLES < copying.cycles - before < 50


def test_the_watchdog_ends_a_run_that_waits_and_the_next_start_flushes_it(copying: Machine) -> None:
    # The section promises more than is loaded.
    prepare(copying, [9, 1, 2], watchdog=60)
    before = copying.cycles
    assert run(copying) == 1 << WATCHDOG
    assert copying.cycles - before > 60
    # A load that nothing stores fills the array with tokens.
    prepare(copying, [100, *range(100)], watchdog=60)
    copying.write_register("store_control", 0, STORE)
    assert run(copying) == 1 << WATCHDOG
    assert copying.read_configuration(address(0, 1, STATUS_REGISTER)), "tokens wait in the pass-through"
    prepare(copying, [3, 7, 8, 9])
    assert run(copying) == 1 << FINISHED
    assert result(copying) == [3, 7, 8, 9]
    assert copying.read_configuration(address(0, 1, STATUS_REGISTER)) == 0


def queue(machine: Machine, block: "list[int]", at: int, repeat: int) -> None:
    """Write the registers of load and store, and queue them."""
    registers = named(glb_registers(LEAST.glb))
    machine.write_memory(at, np.array(block, np.uint16))
    for unit, tile, values in (("load", LOAD, {"extent0": len(block) - 1, "stride0": 2}),
                               ("store", STORE, {"limit": len(block), "sections": 1})):
        control = registers[f"{unit}_control"].word(enable=1, queued=1, repeat=repeat)
        for name, value in {"start": at, **values, "control": control}.items():
            machine.write_register(f"{unit}_{name}", value, tile)


def start_queued(machine: Machine) -> None:
    """Start, till what was queued is taken."""
    machine.write_register("control", 1)
    while any(machine.read_register(f"{unit}_control", tile) & QUEUED for unit, tile in (("load", LOAD), ("store", STORE))):
        pass


BLOCKS = [200, *range(200)], [30, *range(300, 330)]


def test_queued_descriptors_go_on_without_a_start_and_the_run_ends_with_the_last(copying: Machine) -> None:
    prepare(copying, [])
    queue(copying, BLOCKS[0], 0, repeat=30)
    start_queued(copying)
    queue(copying, BLOCKS[1], 512, repeat=2)
    assert copying.read_register("store_control", STORE) & QUEUED, "the first still runs"
    assert copying.wait(20000)
    assert copying.read_register("status") == 1 << FINISHED
    assert copying.read_register("cycles") < 31 * 201 + 3 * 31 + 50, "a word in every cycle"
    assert [copying.read_register(name, STORE) for name in ("store_words", "store_words_before")] == [31, 201]
    assert (copying.read_register("ended", LOAD), copying.read_register("ended", STORE)) == (2, 2 << ENDED_BITS)
    assert not copying.read_register("store_control", STORE) & QUEUED
    base = LEAST.glb.tile_bytes * STORE
    assert copying.read_memory(base, 201).tolist() == BLOCKS[0]
    assert copying.read_memory(base + 512, 31).tolist() == BLOCKS[1]


def test_the_end_of_each_descriptor_is_an_interrupt_while_the_next_one_runs(copying: Machine) -> None:
    prepare(copying, [])
    copying.write_register("irq_enable", 1 << STORE_ENDED)
    copying.write_register("irq_stores", 1 << STORE)
    queue(copying, BLOCKS[0], 0, repeat=3)
    start_queued(copying)
    base = LEAST.glb.tile_bytes * STORE
    blocks = [*BLOCKS, [100, *range(500, 600)]]
    for number, block in enumerate(blocks):
        at = 512 * (number % 2)
        if number < 2:
            queue(copying, blocks[number + 1], 512 - at, repeat=20)
        assert copying.wait(20_000)
        assert copying.read_register("irq_status") >> STORE_ENDED & 1
        assert copying.read_register("ended", STORE) >> ENDED_BITS == number + 1
        assert copying.read_register("status") == 1 << (BUSY if number < 2 else FINISHED)
        assert copying.read_memory(base + at, len(block)).tolist() == block, "all its words are there"
        copying.write_register("irq_status", 1 << STORE_ENDED)
    assert [copying.read_register(name) for name in ("loads_ended", "stores_ended")] == [1 << LOAD, 1 << STORE]
    assert not copying.wait(1000)


def test_a_store_beyond_its_limit_ends_the_run(copying: Machine) -> None:
    prepare(copying, [30, *range(30)], limit=10)
    copying.write_memory(LEAST.glb.tile_bytes * STORE, np.full(40, 0xAAAA, np.uint16))
    assert run(copying) == 1 << STORE_LIMIT
    assert result(copying) == [30, *range(9)]
    assert copying.read_memory(LEAST.glb.tile_bytes * STORE, 40).tolist()[10:] == [0xAAAA] * 30


def test_a_stop_ends_a_run_at_once(copying: Machine) -> None:
    prepare(copying, [9, 1, 2], watchdog=0)
    copying.write_register("control", 1)
    assert not copying.wait(300)
    assert copying.read_register("status") == 1 << BUSY
    copying.write_register("control", 2)
    assert copying.read_register("status") == 0
    assert not copying.wait(100)
    prepare(copying, [1, 4])
    assert run(copying) == 1 << FINISHED
    assert result(copying) == [1, 4]


def test_a_start_during_a_run_begins_a_new_one_with_what_is_enabled_now(copying: Machine) -> None:
    prepare(copying, [9, 1, 2], watchdog=0)
    copying.write_register("control", 1)
    assert not copying.wait(100)
    # Without the store, the load of three words ends in the registers of the array; the old store must not wait for more.
    copying.write_register("store_control", 0, STORE)
    assert run(copying) == 1 << FINISHED


def test_an_affine_load_and_store_turn_a_matrix(copying: Machine) -> None:
    rows, columns = 5, 7
    matrix = np.arange(100, 100 + rows * columns, dtype=np.uint16).reshape(rows, columns)
    prepare(copying, matrix.flatten().tolist())
    # Column by column out of row-major order: down a column, then back to the top of the next.
    for name, value in (("load_extent0", rows - 1), ("load_stride0", 2 * columns), ("load_extent1", columns - 1),
                        ("load_stride1", 2 - 2 * columns * (rows - 1))):
        copying.write_register(name, value, LOAD)
    for name, value in (("store_control", 3), ("store_extent0", rows * columns - 1), ("store_stride0", -2),
                        ("store_start", 2 * (rows * columns - 1))):
        copying.write_register(name, value, STORE)
    assert run(copying) == 1 << FINISHED
    assert result(copying) == matrix.T.flatten()[::-1].tolist()
