"""Firmware of a program whose streams are not in step: each goes on with the next launch when it has ended with one."""

from dataclasses import replace

import numpy as np
import pytest
from machines import LEAST, copier
from riscv import needs_compiler

from sardonyx.compiler.ir.mapped import LOAD, STORE, Stream
from sardonyx.compiler.ir.program import Program
from sardonyx.compiler.ir.transfer import transfers
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.system import System
from sardonyx.runtime.firmware import Job
from sardonyx.sim import system

ARCH = replace(LEAST, columns=4, glb=replace(LEAST.glb, bank_bytes=16384),
               system=System(processor=True, ram_bytes=65536, serial_cycles=4))


def copiers(arch: Arch) -> Program:
    """A program that copies blocks from column 0 to column 1, and others from column 2 to column 3."""
    one = copier(arch)
    streams = [Stream(name, way, f"{name}_vals", 1) for name, way in (("a", LOAD), ("b", STORE), ("c", LOAD), ("d", STORE))]
    return replace(one, config=one.config | {(x + 2, y): values for (x, y), values in one.config.items()},
                   transfers=transfers([(each, column) for column, each in enumerate(streams)], arch))


@needs_compiler
@pytest.mark.parametrize("first", [0, 1])
def test_words_of_the_next_launch_are_not_taken_for_those_of_one_that_another_stream_is_still_at(first: int) -> None:
    few, many = (np.array([size, *range(size)], np.uint16) for size in (20, 3000))
    blocks = [(few, many), (many, few), (few, many), (many, few)][first:first + 3]
    program = copiers(ARCH)
    found: list[list[list[int]]] = []
    loads, stores = ([each.name for each in streams] for streams in (program.loads, program.stores))
    ran = system.run_jobs([Job("copies", program, [dict(zip(loads, each, strict=True)) for each in blocks],
                               dict.fromkeys(stores, 3001))],
                          [lambda stored: found.append([stored[name].tolist() for name in stores])], ARCH, lambda line: None)
    assert len(ran.firmware.launches[0]) == 3 and ran.firmware.streams == 2
    assert found == [[one.tolist(), other.tolist()] for one, other in blocks]
