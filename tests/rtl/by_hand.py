"""A small system, and programs by hand for its processor: no compiler is needed."""

from dataclasses import replace

import numpy as np
import pytest
from assembler import copy, image, store, wait_for_zero
from machines import LEAST

from sardonyx.hw.arch.soc import CONTROLLER, named, offsets
from sardonyx.hw.arch.system import HOST, HOST_REGISTERS, System
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
