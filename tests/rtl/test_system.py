"""The processor and what is beside it, in Verilog, with programs by hand: no compiler is needed.

Most of it with one clock for all, and with two; cycles are those of the processor's.
"""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from assembler import copy, image, store, wait_for_zero
from hypothesis import given, settings
from hypothesis import strategies as st
from machines import LEAST

from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.soc import CONTROLLER, named, offsets
from sardonyx.hw.arch.system import GLB_WINDOW, HOST, HOST_REGISTERS, MACHINE_REGISTERS, MORE_ROWS_BITS, WAITING, System
from sardonyx.sim.rtl.system import SimulatedSystem

RAM = 4096
ARCH = replace(LEAST, system=System(processor=True, ram_bytes=RAM, serial_cycles=4))
CROSSED = replace(ARCH, system=replace(ARCH.system, own_clock=True))
# Periods of the clocks of processor and machine: 500 and 970 MHz, as in the papers, the other way around, and one three times
# the other; None: there is one clock.
PERIODS = [None, (1, 1), (97, 50), (50, 97), (3, 1), (1, 3)]
each_clocking = pytest.mark.parametrize("periods", PERIODS, ids=str)
GLB = ARCH.glb_tiles * ARCH.glb.tile_bytes
HERE = {name: HOST_REGISTERS + offset for name, offset in offsets(HOST).items()}
FAULTS = named(HOST)["faults"]
RUNS = offsets(CONTROLLER)["runs"]
MACHINE_LIMIT = offsets(CONTROLLER)["cycle_limit"] - RUNS
# Memory outside beside the processor's; half of that memory is for words that move.
OUTSIDE, SCRATCH = 16384, RAM // 2
LIMIT = 200_000


def move(direction: str, source: int, destination: int, size: int, rows: int = 1,
         pitches: "tuple[int, int]" = (0, 0)) -> list[int]:
    further = {"move_more": rows - 1, "pitch_from": pitches[0], "pitch_to": pitches[1]}
    return [*store(HERE["move_from"], source), *store(HERE["move_to"], destination),
            *(word for name, value in further.items() if rows > 1 for word in store(HERE[name], value & 0xFFFFFFFF)),
            *store(HERE[f"move_{direction}"], size)]


def set_list(first: int, count: int) -> list[int]:
    return [*store(HERE["set_from"], first), *store(HERE["set_count"], count)]


WAIT = wait_for_zero(HERE["moves"])


def shown(register: str, slot: int) -> list[int]:
    """Keep a register of the host for `values`."""
    return copy(HERE[register], SCRATCH + 8 * slot)


def system_of(periods: "tuple[int, int] | None", *given: int, check: bool = False) -> SimulatedSystem:
    """A system of one clock or of two, with memory outside as given."""
    return SimulatedSystem(CROSSED if periods else ARCH, *given, check=check, periods=periods or (1, 1))


def run(*pieces: list[int], latency: int = 5, outside: "np.ndarray | None" = None,
        periods: "tuple[int, int] | None" = None) -> "tuple[np.ndarray, int, bytes]":
    """Memory outside after a program, in 64-bit words; cycles, and what the serial line said."""
    with system_of(periods, RAM + OUTSIDE, latency) as system:
        if outside is not None:
            system.write(RAM, outside.tobytes())
        system.write(0, image(*pieces))
        cycles = system.run(LIMIT)
        assert cycles is not None, "the processor stands still at the end of its program"
        return system.read(0, (RAM + OUTSIDE) // 2).view("<u8"), cycles, system.line


def values(*pieces: list[int], count: int, periods: "tuple[int, int] | None" = None) -> list[int]:
    """What a program has left in the first words of its own."""
    memory, _, _ = run(*pieces, WAIT, move("out", SCRATCH, RAM, SCRATCH), WAIT, periods=periods)
    return [int(word) & 0xFFFFFFFF for word in memory[RAM // 8:RAM // 8 + count]]


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


class Move(NamedTuple):
    """In bytes; pitches outside and on the chip, where the GLB is behind the scratch memory."""

    direction: str
    outside: int
    on_chip: int
    size: int
    rows: int
    pitches: "tuple[int, int]"

    @property
    def copies(self) -> "Iterator[tuple[slice, slice]]":
        """The bytes of each row, outside and on the chip."""
        for row in range(self.rows):
            yield tuple(slice(first + row * pitch, first + row * pitch + self.size)
                        for first, pitch in zip((self.outside, self.on_chip), self.pitches, strict=True))


@st.composite
def moves(draw: st.DrawFn) -> "list[Move]":
    found = []
    for _ in range(draw(st.integers(1, 2 * WAITING + 2))):
        scratch, rows = draw(st.booleans()), draw(st.sampled_from([1, 1, 2, 3, 7]))
        room = SCRATCH if scratch else GLB
        size = draw(st.one_of(st.integers(1, 3), st.integers(1, 3).map(lambda lines: 8 * lines),
                              st.integers(1, room // rows - 7)))
        # Rows on the chip may touch; outside they may overlap, and go back.
        pitches = tuple(8 * draw(lines) * (rows > 1)
                        for lines in (st.integers(-64, 64), st.integers(-(-size // 8), room // rows // 8)))
        reach = [(rows - 1) * pitch for pitch in pitches]
        first = draw(st.integers(0, room - size - reach[1])) + (0 if scratch else SCRATCH)
        # Both begin at the same byte of a word.
        outside = 8 * draw(st.integers(max(0, -reach[0]) // 8, (OUTSIDE - size - max(0, reach[0])) // 8 - 1)) + first % 8
        found.append(Move(draw(st.sampled_from(["in", "out"])), outside, first, size, rows, pitches))
    return found


def chip_address(byte: int) -> int:
    return SCRATCH + byte if byte < SCRATCH else GLB_WINDOW + byte - SCRATCH


@each_clocking
@settings(max_examples=8)
@given(moves=moves(), latency=st.sampled_from([1, 2, 13, 50]))
def test_moves_leave_what_copies_in_their_order_do(periods: "tuple[int, int] | None",
                                                   moves: "list[Move]", latency: int) -> None:
    outside = np.random.default_rng(latency).integers(0, 256, OUTSIDE, dtype=np.uint8)
    chip = np.zeros(SCRATCH + GLB, np.uint8)
    expected = outside.copy()
    program: list[list[int]] = [move("in", RAM, chip_address(0), SCRATCH), move("in", RAM, chip_address(SCRATCH), GLB)]
    chip[:SCRATCH], chip[SCRATCH:] = outside[:SCRATCH], outside[:GLB]
    before = "in"
    for each in moves:
        # Directions overtake each other; moves of one do not.
        program += [WAIT] * (each.direction != before)
        ends, pitches = (RAM + each.outside, chip_address(each.on_chip)), each.pitches
        for there, here in each.copies:
            if each.direction == "in":
                chip[here] = expected[there]
            else:
                expected[there] = chip[here]
        turn = 1 if each.direction == "in" else -1
        program.append(move(each.direction, *ends[::turn], each.size, each.rows, pitches[::turn]))
        before = each.direction
    memory, _, _ = run(*program, WAIT, latency=latency, outside=outside, periods=periods)
    assert len(image(*program, WAIT)) < SCRATCH, "the program is not where words move"
    assert np.array_equal(memory[RAM // 8:].view(np.uint8), expected)


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


@pytest.mark.parametrize("direction, ends", [("in", (RAM, GLB_WINDOW)), ("out", (GLB_WINDOW, RAM))])
@pytest.mark.parametrize("periods", [None, (1, 1), (3, 1)], ids=str)
def test_words_cross_as_fast_as_they_come(periods: "tuple[int, int] | None", direction: str, ends: "tuple[int, int]") -> None:
    """Over and over, so that what waits at the end of a transfer plays no part; a machine that is faster holds up nothing."""
    def cycles(count: int) -> int:
        start, end = values(shown("time", 0), *[move(direction, *ends, GLB)] * count, WAIT, shown("time", 1), count=2,
                            periods=periods)
        return end - start

    # The processor looks again in a few cycles.
    assert cycles(3) - cycles(1) <= 2 * GLB // 8 + 20


@pytest.mark.parametrize("direction, ends, pitches", [
    ("in", (RAM, GLB_WINDOW), (48, 32)), ("out", (GLB_WINDOW, RAM), (32, 48))])
@pytest.mark.parametrize("periods", [None, (3, 1)], ids=str)
def test_rows_cross_as_fast_as_a_run_of_their_words(periods: "tuple[int, int] | None", direction: str, ends: "tuple[int, int]",
                                                    pitches: "tuple[int, int]") -> None:
    """Of 4 words each: the processor asks for all of them at once."""
    rows = GLB // 32
    found = []
    for size, count in ((32, rows), (32 * rows, 1)):
        start, end = values(shown("time", 0), move(direction, *ends, size, count, pitches), WAIT, shown("time", 1), count=2,
                            periods=periods)
        found.append(end - start)
    # It sets three registers more, and looks again in a few cycles.
    assert found[0] - found[1] <= 60, found


def test_rows_are_those_of_one_transfer() -> None:
    """The next one has a row again."""
    kept, _, _ = run(move("in", RAM, SCRATCH, 8, 3, (8, 8)), move("in", RAM + 64, SCRATCH + 64, 8), WAIT,
                     move("out", SCRATCH, RAM + 256, 128), WAIT, outside=np.arange(1, 33, dtype=np.uint64))
    assert kept[RAM // 8 + 32:RAM // 8 + 48].tolist() == [1, 2, 3, *[0] * 5, 9, *[0] * 7]


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
