"""Runs of the program of `copier` on a simulated machine, whose registers are written by hand."""

import numpy as np
from machines import LEAST

from sardonyx.hw.arch.soc import glb_registers, named
from sardonyx.sim.rtl.machine import Machine

LOAD, STORE = 0, 1      # GLB tiles of the copier
QUEUED = named(glb_registers(LEAST.glb))["load_control"].word(queued=1)


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
