"""Firmware that configures by packed words, where the machine reads such."""

import re
from dataclasses import replace

from copying import block
from machines import LEAST, copier, mirrored
from riscv import needs_compiler

from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.system import System
from sardonyx.runtime.firmware import Job
from sardonyx.sim import system

PLAIN = replace(LEAST, system=System(processor=True, ram_bytes=16384, serial_cycles=4))
PACKS = replace(PLAIN, glb=replace(PLAIN.glb, packed=True))


def switched(arch: Arch) -> "tuple[list[list[list[int]]], list[str]]":
    """What three programs store, of which each goes another way than the one before, and how configuration DMAs are told to."""
    programs = (("there", copier, [(5, 6, 7), ()]), ("back", mirrored, [(8, 9)]), ("again", copier, [(1,)]))
    jobs = [Job(name, make(arch), [{"a_vals": block(*words)} for words in given], {"b_vals": 4})
            for name, make, given in programs]
    found: list[list[list[int]]] = [[] for _ in jobs]
    takes = [lambda stored, each=each: each.append(stored["b_vals"].tolist()) for each in found]
    made = system.run_jobs(jobs, takes, arch, lambda stage: None).firmware
    return found, re.findall(r"GLB_CONFIG_CONTROL, (0x\w+)u", made.commands)


@needs_compiler
def test_programs_that_are_switched_by_packed_words_store_what_they_do_elsewhere() -> None:
    for arch, control in ((PACKS, "0x9"), (PLAIN, "0x1")):
        assert switched(arch) == ([[[3, 5, 6, 7], [0]], [[2, 8, 9]], [[1, 1]]], [control] * 3 * arch.glb_tiles)
