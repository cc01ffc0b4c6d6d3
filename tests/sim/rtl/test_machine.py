import random
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from machines import BESIDE, KERNELS, LEAST, copier
from stencil_machine import STENCILS

from sardonyx.compiler.backend.encode import address, words
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.config import STATUS_REGISTER
from sardonyx.hw.arch.glb import CLOCK_GATES, HYBRID
from sardonyx.hw.arch.presets import get
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
from sardonyx.hw.configuration import word_bits
from sardonyx.runtime.held import Held
from sardonyx.sim.rtl import machine as rtl_machine
from sardonyx.sim.rtl import simulator
from sardonyx.sim.rtl.machine import Machine

LOAD, STORE = 0, 1      # GLB tiles of the copier


@pytest.fixture
def machine() -> Iterator[Machine]:
    with simulator.whole_machine(LEAST).start() as running:
        yield running


@pytest.fixture
def copying(machine: Machine) -> Machine:
    """A machine configured as a copier."""
    machine.configure(words(copier(LEAST), LEAST))
    return machine


def prepare(machine: Machine, block: "list[int]", watchdog: int = 500, sections: int = 1, limit: int = 200) -> None:
    """A load of a block from column 0 and a store of its sections from column 1."""
    machine.write_memory(0, np.array(block, np.uint16))
    for name, value in (("load_control", 1), ("load_extent0", len(block) - 1), ("load_stride0", 2)):
        machine.write_register(name, value, LOAD)
    for name, value in (("store_control", 1), ("store_limit", limit), ("store_sections", sections)):
        machine.write_register(name, value, STORE)
    machine.write_register("watchdog_limit", watchdog)
    machine.write_register("irq_enable", 0xFFFFFFFF)


def run(machine: Machine) -> int:
    """Run to the interrupt; the status. Clears the events."""
    machine.write_register("control", 1)
    assert machine.wait(5000)
    status = machine.read_register("status")
    assert machine.read_register("irq_status") == status
    machine.write_register("irq_status", 0xFFFFFFFF)
    assert not machine.wait(0)
    return status


def result(machine: Machine) -> list[int]:
    return machine.read_memory(LEAST.glb.tile_bytes * STORE, machine.read_register("store_words", STORE)).tolist()


def test_the_machine_says_what_it_is(machine: Machine) -> None:
    assert machine.read_register("fingerprint_high") << 32 | machine.read_register("fingerprint_low") == LEAST.fingerprint
    assert machine.read_register("shape") == 2 | 1 << 9 | 2 << 18 | 1 << 27


def test_after_reset_registers_hold_what_a_host_counts_on(machine: Machine) -> None:
    for (name, tile), value in Held(LEAST, after_reset=True).values.items():
        assert machine.read_register(name, tile) == value, f"{name} of {tile}"


def test_memory_is_read_as_written_at_every_length(machine: Machine) -> None:
    draw = np.random.default_rng(1)
    size = LEAST.glb_tiles * LEAST.glb.tile_bytes // 2
    for count in (1, 3, 4, 5, 255, size):
        data = draw.integers(0, 1 << 16, count).astype(np.uint16)
        at = 8 * int(draw.integers(0, (size - count) // 4 + 1))
        machine.write_memory(at, data)
        np.testing.assert_array_equal(machine.read_memory(at, count), data)
    filled = machine.read_memory(0, 4)
    machine.write_memory(0, np.array([1], np.uint16))
    assert machine.read_memory(0, 4).tolist() == [1, 0, 0, 0] != filled.tolist()


def test_memory_is_read_as_written_across_borders_that_no_burst_may_cross() -> None:
    words = np.random.default_rng(2).integers(0, 1 << 16, 8000).astype(np.uint16)
    with simulator.whole_machine(KERNELS).start() as machine:
        for at in (4096 - 8, 4096 - 1000, 8):
            machine.write_memory(at, words)
            np.testing.assert_array_equal(machine.read_memory(at, len(words)), words)


def test_a_fault_on_the_bus_is_named(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    beyond = 1 << 20
    monkeypatch.setattr(rtl_machine, "register_address", lambda *_: 0xFF00)
    for access, text in (
            (lambda: machine.write_memory(beyond, np.zeros(4, np.uint16)), "a burst to 0x100000 was answered with 2"),
            (lambda: machine.read_memory(beyond, 4), "a burst from 0x100000 was answered with 2"),
            (lambda: machine.write_register("load_start", 1, 0), "write of register load_start was answered with 2"),
            (lambda: machine.read_register("load_start", 0), "read of register load_start was answered with 2")):
        with pytest.raises(AssertionError) as report:
            access()
        assert str(report.value) == text
    monkeypatch.undo()
    assert machine.read_register("status") == 0, "the machine runs on"


def test_a_host_that_posts_writes_a_register_in_each_cycle_and_waits_before_all_else(monkeypatch: pytest.MonkeyPatch) -> None:
    with simulator.whole_machine(LEAST).start(posts=True) as posting:
        before = posting.cycles
        for number in range(20):
            posting.write_register("load_start", 8 * number, LOAD)
        assert posting.cycles - before == 20 + 4, "one by one they take 100"
        posting.write_register("load_start", 24, LOAD)
        assert posting.read_register("load_start", LOAD) == 24
        before = posting.cycles
        posting.write_register("control", 0)
        posting.write_register("load_start", 24, LOAD)
        assert posting.cycles - before == 5 + 5, "a start takes what registers hold some cycles later"
        posting.configure(words(copier(LEAST), LEAST))
        prepare(posting, [3, 5, 6, 7])
        posting.write_register("load_start", 0, LOAD)
        assert run(posting) >> FINISHED & 1 and result(posting) == [3, 5, 6, 7]
        monkeypatch.setattr(rtl_machine, "register_address", lambda *_: 0xFF00)
        posting.write_register("load_start", 1, LOAD)
        posting.write_register("load_stride0", 1, LOAD)
        with pytest.raises(AssertionError, match="write of register load_start or load_stride0 was answered with 2"):
            posting.wait(1)


def test_a_host_that_posts_bursts_has_no_cycle_between_them_and_writes_registers_beside_them() -> None:
    places, words_of = range(0, 5 * 64, 64), [np.arange(32, dtype=np.uint16) + 100 * number for number in range(5)]
    with simulator.whole_machine(LEAST).start(posts=True) as posting, simulator.whole_machine(LEAST).start() as waiting:
        for machine, expected in ((posting, 5 * 8 + 3), (waiting, 5 * (8 + 3) + 20 * 5)):
            before = machine.cycles
            for place, each in zip(places, words_of, strict=True):
                machine.write_memory(place, each)
            for number in range(20):
                machine.write_register("load_start", 8 * number, LOAD)
            assert machine.cycles - before == expected
            assert [machine.read_memory(place, 32).tolist() for place in places] == [each.tolist() for each in words_of]
            assert machine.read_register("load_start", LOAD) == 8 * 19
        # A start finds the words of all bursts.
        posting.configure(words(copier(LEAST), LEAST))
        prepare(posting, [3, 5, 6, 7])
        posting.write_register("load_start", 0, LOAD)
        assert run(posting) >> FINISHED & 1 and result(posting) == [3, 5, 6, 7]
        posting.write_memory(1 << 20, words_of[0])
        with pytest.raises(AssertionError, match="a burst to 0x100000 was answered with 2"):
            posting.read_register("status")


def test_a_host_that_posts_queues_nothing_before_the_words_are_there() -> None:
    """Registers take fewer cycles than the bursts that were asked for before them."""
    with simulator.whole_machine(LEAST).start(posts=True) as posting:
        posting.configure(words(copier(LEAST), LEAST))
        prepare(posting, [3, 5, 6, 7])
        posting.write_register("hold", 1)
        posting.write_register("control", 1)
        for _ in range(4):
            posting.write_memory(LEAST.glb.tile_bytes * STORE + 512, np.zeros(256, np.uint16))
        posting.write_memory(64, np.array([3, 1, 2, 9], np.uint16))
        posting.write_register("load_start", 64, LOAD)
        posting.write_register("store_start", 64, STORE)
        posting.write_register("store_control", 1 | QUEUED, STORE)
        posting.write_register("load_control", 1 | QUEUED, LOAD)
        posting.write_register("hold", 0)
        assert posting.wait(5000) and posting.read_register("status") >> FINISHED & 1
        assert [posting.read_memory(LEAST.glb.tile_bytes * STORE + place, 4).tolist() for place in (0, 64)] == [
            [3, 5, 6, 7], [3, 1, 2, 9]]


@pytest.mark.parametrize("name", ["control", "group"])
def test_a_host_that_posts_waits_for_bursts_before_a_command_and_then_for_that(name: str) -> None:
    class Told(Machine):
        def __init__(self) -> None:
            self.arch, self._posts, self._posted, self._bursts = BESIDE, True, [], []
            self.told: list[tuple[list[str], int]] = []

        def _write(self) -> None:
            self.told.append(([each for each, _, _ in self._posted], len(self._bursts)))
            self._posted, self._bursts = [], []

    posting = Told()
    posting.write_register("load_start", 8, LOAD)
    posting.write_memory(8, np.zeros(4, np.uint16))
    posting.write_register(name, 1)
    assert posting.told == [(["load_start"], 1), ([name], 0)]


def test_what_is_posted_last_is_written_before_the_machine_closes_and_what_is_refused_is_told() -> None:
    library = simulator.whole_machine(LEAST)
    refused = "write of register claim was answered with 2"
    with pytest.raises(AssertionError, match=refused), library.start(posts=True) as posting:
        posting.write_register("claim", 1)
    assert posting._process.poll() is not None, "it has ended in any case"
    with pytest.raises(ValueError, match="what the host met first"), library.start(posts=True) as posting:
        posting.write_register("claim", 1)
        raise ValueError("what the host met first")


def test_a_dead_simulation_is_named(machine: Machine) -> None:
    machine._process.kill()
    with pytest.raises(AssertionError) as report:
        machine.read_register("status")
    assert str(report.value).startswith("the simulation ended: ")


def check_configuration(arch: Arch, machine: Machine, seed: int) -> None:
    """Write random words to all registers of all tiles, in random order, and read them back."""
    draw = random.Random(seed)
    bits = {site: word_bits(arch.config_map(spec.kind)) for site, spec in arch.tiles.items()}
    places = [(site, register) for site in arch.tiles for register in range(len(bits[site]))]
    values = {place: draw.getrandbits(32) for place in draw.sample(places, len(places))}
    machine.configure([(address(*site, register), value) for (site, register), value in values.items()])
    for site, register in draw.sample(places, len(places)):
        expected = values[site, register] & (1 << bits[site][register]) - 1
        assert machine.read_configuration(address(*site, register)) == expected, (site, register)
    for site in arch.tiles:
        assert machine.read_configuration(address(*site, len(bits[site]))) == 0, "there is no such register"
    x, y = arch.columns - 1, arch.rows
    for where in (address(arch.columns, 0, 0), address(0, arch.rows + 1, 0), address(255, 255, 0), address(x, 254, 0)):
        machine.configure([(where, 0xFFFFFFFF)])
        assert machine.read_configuration(where) == 0, "there is no such tile"
    assert machine.read_configuration(address(x, y, 0)) == values[(x, y), 0] & (1 << bits[x, y][0]) - 1


def test_every_configuration_register_is_read_as_written(machine: Machine) -> None:
    check_configuration(LEAST, machine, 1)


@pytest.mark.parametrize("arch", [KERNELS, STENCILS, pytest.param(get("tiny"), marks=pytest.mark.slow)],
                         ids=lambda arch: str(arch.name))
def test_every_configuration_register_of_all_primitives_is_read_as_written(arch: Arch) -> None:
    with simulator.whole_machine(arch).start() as machine:
        assert machine.read_register("fingerprint_high") << 32 | machine.read_register("fingerprint_low") == arch.fingerprint
        check_configuration(arch, machine, 2)


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


QUEUED = named(glb_registers(LEAST.glb))["load_control"].word(queued=1)
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
