import random
from collections.abc import Iterator

import numpy as np
import pytest
from copies import LOAD, QUEUED, STORE, prepare, result, run
from machines import BESIDE, KERNELS, LEAST, copier
from stencil_machine import STENCILS

from sardonyx.compiler.backend.encode import address, words
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.presets import get
from sardonyx.hw.arch.soc import (
    FINISHED,
)
from sardonyx.hw.configuration import word_bits
from sardonyx.runtime.held import Held
from sardonyx.sim.rtl import machine as rtl_machine
from sardonyx.sim.rtl import simulator
from sardonyx.sim.rtl.machine import Machine


@pytest.fixture
def machine() -> Iterator[Machine]:
    with simulator.whole_machine(LEAST).start() as running:
        yield running


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
