"""The processor and what is beside it, in Verilog, with programs by hand: no compiler is needed.

Most of it with one clock for all, and with two; cycles are those of the processor's.
"""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from assembler import copy, image, store, wait_for_zero
from by_hand import (
    ARCH,
    FAULTS,
    GLB,
    HERE,
    LIMIT,
    MACHINE_LIMIT,
    OUTSIDE,
    RAM,
    RUNS,
    SCRATCH,
    WAIT,
    each_clocking,
    move,
    run,
    set_list,
    shown,
    system_of,
    values,
)
from machines import LEAST

from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.system import GLB_WINDOW, HOST_REGISTERS, MACHINE_REGISTERS, MORE_ROWS_BITS, WAITING
from sardonyx.sim.rtl.system import SimulatedSystem


def test_the_processor_begins_with_what_memory_outside_holds_and_speaks() -> None:
    _, cycles, line = run(*(store(HERE["serial"], ord(letter)) for letter in "onyx"))
    assert line == b"onyx"
    assert cycles > RAM // 8


@pytest.mark.parametrize("latency", [1, 50])
def test_words_come_as_fast_as_the_bus_brings_them(latency: int) -> None:
    with SimulatedSystem(ARCH, RAM, latency) as system:
        system.write(0, image())
        system.run(LIMIT)
        (first, end), *_ = system.moves(outward=False)
    assert first < 10
    assert end - first == RAM // 8 + latency - 1


def test_without_its_memory_the_processor_does_not_begin() -> None:
    with SimulatedSystem(ARCH, RAM // 2) as system:
        system.write(0, image(store(HERE["serial"], ord("x"))))
        assert system.run(LIMIT) is not None
        assert system.line == b""


def test_a_program_that_does_not_end_is_stopped() -> None:
    with SimulatedSystem(ARCH, RAM) as system:
        system.write(0, image(store(HERE["time"], 0), wait_for_zero(RAM - 8)))
        system.write(RAM - 8, b"\1")
        assert system.run(5000) is None


@each_clocking
def test_a_system_runs_again(periods: "tuple[int, int] | None") -> None:
    """Also if it was stopped in the midst of transfers both ways; the machine is reset, too."""
    uses, there = copy(MACHINE_REGISTERS + RUNS, SCRATCH) + store(MACHINE_REGISTERS + RUNS, 77), RAM + 2 * GLB
    with system_of(periods, RAM + OUTSIDE) as system:
        for letter in "ab":
            system.write(0, image(uses, *[move("in", RAM, GLB_WINDOW, GLB), move("out", GLB_WINDOW, there, GLB)] * 3))
            assert system.run(RAM // 8 + 400) is None
            system.write(0, image(uses, store(HERE["serial"], ord(letter)), move("in", RAM, GLB_WINDOW, GLB), WAIT,
                                  move("out", SCRATCH, there, 8), move("out", GLB_WINDOW, there + 8, GLB), WAIT))
            words = np.arange(GLB // 8, dtype=np.uint64) * np.uint64(ord(letter))
            system.write(RAM, words.tobytes())
            assert system.run(LIMIT) is not None
            assert system.line == letter.encode()
            found = system.read(there, 4 + GLB // 2).view("<u8")
            assert found[0] & 0xFFFFFFFF == 0 and np.array_equal(found[1:], words)


@each_clocking
def test_the_registers_of_the_machine_are_those_of_its_description(periods: "tuple[int, int] | None") -> None:
    found = values(copy(MACHINE_REGISTERS, SCRATCH), copy(MACHINE_REGISTERS + 4, SCRATCH + 8),
                   store(MACHINE_REGISTERS + RUNS, 77), copy(MACHINE_REGISTERS + RUNS, SCRATCH + 16),
                   shown("faults", 3), count=4, periods=periods)
    assert found == [ARCH.fingerprint >> 32, ARCH.fingerprint & 0xFFFFFFFF, 77, 0]


@each_clocking
@pytest.mark.parametrize("skip", [0, 4])
def test_lists_of_registers_are_set_in_order(periods: "tuple[int, int] | None", skip: int) -> None:
    """Of two lists, from either half of a line on, while words come to the memory; what the processor reads waits for them."""
    pairs = [(RUNS, 1), (RUNS + MACHINE_LIMIT, 5), (RUNS, 77), (RUNS + MACHINE_LIMIT, 6), (RUNS, 78)]
    words = [0] * (skip // 4) + [word for at, value in pairs for word in (MACHINE_REGISTERS + at, value)]
    outside = np.zeros(OUTSIDE // 4, np.uint32)
    outside[:len(words)] = words
    there, kept = SCRATCH + 256, [SCRATCH + 8 * slot for slot in range(5)]
    memory, _, _ = run(move("in", RAM, there, 64), WAIT, move("in", RAM, SCRATCH + 1024, 1024), set_list(there + skip, 3),
                       copy(MACHINE_REGISTERS + RUNS, kept[0]), copy(MACHINE_REGISTERS + RUNS + MACHINE_LIMIT, kept[1]),
                       set_list(there + skip + 24, 2), set_list(there + skip + 8, 1), wait_for_zero(HERE["set_count"]),
                       copy(MACHINE_REGISTERS + RUNS, kept[2]), copy(MACHINE_REGISTERS + RUNS + MACHINE_LIMIT, kept[3]),
                       shown("faults", 4), WAIT, move("out", SCRATCH, RAM, 64), WAIT, outside=outside.view(np.uint64),
                       periods=periods)
    assert [int(word) & 0xFFFFFFFF for word in memory[RAM // 8:RAM // 8 + 5]] == [77, 5, 78, 5, 0]


@each_clocking
def test_lists_ask_for_transfers_and_no_access_of_the_processor_comes_between(periods: "tuple[int, int] | None") -> None:
    """Of more transfers than wait, with a register of the machine among them; behind the list it asks for one itself."""
    count, there, goes = WAITING + 3, RAM + 4096, RAM + 8192
    pairs = [pair for number in range(count) for pair in (
        (HERE["move_from"], RAM + 1024 + 256 * number), (HERE["move_to"], GLB_WINDOW + 256 * number), (HERE["move_in"], 256))]
    pairs.insert(4, (MACHINE_REGISTERS + RUNS, 77))
    outside = np.arange(OUTSIDE // 4, dtype=np.uint32)
    outside[:2 * len(pairs)] = np.array(pairs, np.uint32).reshape(-1)
    memory, _, _ = run(move("in", RAM, SCRATCH, 8 * len(pairs)), WAIT, set_list(SCRATCH, len(pairs)),
                       move("in", there, GLB_WINDOW + 256 * count, 64), WAIT, copy(MACHINE_REGISTERS + RUNS, SCRATCH),
                       shown("faults", 1), move("out", SCRATCH, RAM, 16), move("out", GLB_WINDOW, goes, 256 * count + 64), WAIT,
                       outside=outside.view(np.uint64), periods=periods)
    assert [int(word) & 0xFFFFFFFF for word in memory[RAM // 8:RAM // 8 + 2]] == [77, 0]
    found = memory[goes // 8:goes // 8 + 32 * count + 8].view(np.uint32)
    assert np.array_equal(found, [*range(256, 256 + 64 * count), *range(1024, 1024 + 16)])


def test_a_list_takes_few_cycles_a_register() -> None:
    """A processor takes some 25 for a pair of its memory."""
    took = []
    for count in (2, 32):
        outside = np.tile(np.array([MACHINE_REGISTERS + RUNS, 7], np.uint32), 32)
        memory, _, _ = run(move("in", RAM, SCRATCH + 256, 256), WAIT, shown("time", 0), set_list(SCRATCH + 256, count),
                           copy(MACHINE_REGISTERS + RUNS, SCRATCH + 64), shown("time", 1), move("out", SCRATCH, RAM, 128), WAIT,
                           outside=np.resize(outside.view(np.uint64), OUTSIDE // 8))
        took.append(int(memory[RAM // 8 + 1] - memory[RAM // 8]) & 0xFFFFFFFF)
    assert took[1] - took[0] <= 30 * 8, took


def wrong() -> "Iterator[tuple[str, list[int]]]":
    """Accesses that are refused, by the fault that they raise."""
    yield "register", store(MACHINE_REGISTERS + 0x800, 1)
    yield "register", copy(MACHINE_REGISTERS + 0x800, SCRATCH)
    yield "astray", copy(0x2000_0000, SCRATCH)
    yield "astray", store(RAM, 1)
    yield "astray", store(MACHINE_REGISTERS + 0x10000, 1)
    yield "astray", store(HOST_REGISTERS + 0x10000, 1)
    for source, destination, size in ((RAM + 1, 0x800, 8), (RAM, 0x804, 8), (RAM + 1, 0x801, 0x8000_0000), (RAM, 0x800, 0)):
        yield "move", move("in", source, destination, size)
    for rows, pitches in ((2, (4, 8)), (2, (8, 12)), ((1 << MORE_ROWS_BITS) + 1, (8, 8))):
        yield "move", move("in", RAM, SCRATCH, 8, rows, pitches)
    # What the memory holds at SCRATCH is no list, but of one pair of zeros.
    for first, count in ((SCRATCH, 0), (SCRATCH + 2, 1), (RAM, 1), (RAM - 4, 1), (RAM - 8, 2), (SCRATCH, 1 << 16),
                         (SCRATCH, 1)):
        yield "set", set_list(first, count)
    for address in (HERE["set_count"], HOST_REGISTERS + 0x10000, SCRATCH):
        yield "set", [*store(SCRATCH + 8, address), *store(SCRATCH + 12, 1), *set_list(SCRATCH + 8, 1)]
    yield "in", move("in", RAM + OUTSIDE, SCRATCH, 8)
    yield "in", move("in", RAM, GLB_WINDOW + GLB, 8)
    yield "out", move("out", SCRATCH, RAM + OUTSIDE, 8)
    yield "out", move("out", RAM, RAM, 8)


@pytest.mark.parametrize("name, access", [pytest.param(*each, id=f"{each[0]} {number}") for number, each in enumerate(wrong())])
@pytest.mark.parametrize("periods", [None, (97, 50)], ids=str)
def test_what_is_refused_is_told_until_it_is_cleared(periods: "tuple[int, int] | None", name: str, access: list[int]) -> None:
    bit = 1 << FAULTS.bits(name).start
    # A write is answered when the next access is done.
    found = values(access, copy(MACHINE_REGISTERS, SCRATCH + 64), WAIT, shown("faults", 1), store(HERE["faults"], bit),
                   shown("faults", 2), count=3, periods=periods)
    assert found[1:] == [bit, 0]
    assert found[0] == 0, "it reads 0, or brings nothing"


def test_time_is_that_since_reset() -> None:
    first, second = values(shown("time", 0), shown("time", 1), count=2)
    assert RAM // 8 < first < second < first + 200


@pytest.mark.parametrize("periods, cycles", [(None, 7), ((1, 1), 13)], ids=str)
def test_a_read_takes_a_cycle_in_memory_two_beside_it_and_more_in_the_machine(periods: "tuple[int, int] | None",
                                                                              cycles: int) -> None:
    """Told apart by what ten more of them take; the crossing takes three cycles each way."""
    kept = SCRATCH + 512
    took = []
    for source in (SCRATCH, HERE["time"], MACHINE_REGISTERS + RUNS):
        start, end = values(shown("time", 0), *[copy(source, kept)] * 10, shown("time", 1), count=2, periods=periods)
        took.append(end - start)
    in_memory, beside, in_machine = took
    assert (beside - in_memory, in_machine - in_memory) == (10 * (2 - 1), 10 * (cycles - 1))


def test_memory_outside_has_ends() -> None:
    with SimulatedSystem(ARCH, RAM) as system:
        for address, size in ((RAM, 8), (4, 8), (RAM - 8, 16)):
            with pytest.raises(UserError, match="memory outside has 4096 bytes"):
                system.write(address, bytes(size))
            with pytest.raises(UserError, match="memory outside has 4096 bytes"):
                system.read(address, size // 2)


@pytest.mark.parametrize("wrong", [{"latency": 0}, {"latency": 1.5}, {"memory_bytes": 12}, {"memory_bytes": 1 << 33}])
def test_a_memory_that_cannot_be_is_refused(wrong: "dict[str, int]") -> None:
    with pytest.raises(UserError, match=f"{next(iter(wrong))} is"):
        SimulatedSystem(ARCH, **wrong)


@pytest.mark.parametrize("periods, message", [
    ((0, 1), "simulated system: a period is 0\n  try: give whole numbers 1..2^32"),
    ((1,), "simulated system: there are 1 periods\n  try: give those of host and machine"),
    ((1, 1.5), "simulated system: a period is 1.5\n  try: give whole numbers 1..2^32"),
    ((97, 50), "machine 'least': periods 97 and 50 are of two clocks, the system has one\n"
               "  try: give equal periods, or a machine with system.own_clock")])
def test_clocks_that_cannot_be_are_refused(periods: "tuple[int, int]", message: str) -> None:
    with pytest.raises(UserError) as error:
        SimulatedSystem(ARCH, RAM, periods=periods)
    assert str(error.value) == message


def test_a_machine_without_a_processor_is_no_system() -> None:
    with pytest.raises(UserError, match="this machine has no processor"):
        SimulatedSystem(LEAST)


@each_clocking
def test_nothing_wakes_up_late(periods: "tuple[int, int] | None") -> None:
    """Evaluating what is asleep changes nothing."""
    words = list(itertools.chain(*(store(HERE["serial"], ord(letter)) for letter in "hi")))
    with system_of(periods, RAM, check=True) as system:
        system.write(0, image(words, move("in", 0, GLB_WINDOW, 64), move("out", GLB_WINDOW, 512, 64), WAIT))
        assert system.run(LIMIT) is not None
        assert system.line == b"hi"
