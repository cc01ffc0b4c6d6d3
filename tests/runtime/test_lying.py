"""Dense operands that lie in the global buffer, in plans: what comes, where it stays, and what loads read of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from machines import KERNELS

from sardonyx.compiler.ir.program import Program
from sardonyx.compiler.ir.transfer import Transfer
from sardonyx.compiler.lang.einsum import parse
from sardonyx.cutting import Plan
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.soc import glb_registers, named
from sardonyx.runtime.commands import Command, WriteMemory, WriteRegister
from sardonyx.runtime.plan import Launch, launches
from sardonyx.sim import parts
from sardonyx.sim.engines import words
from sardonyx.statements import alone, job_of
from sardonyx.tensor_job import TensorJob
from sardonyx.tensors.coordinates import Coo

QUEUE = replace(KERNELS, glb=replace(KERNELS.glb, queue=True))
# A bank has less than the operand.
TIGHT = replace(KERNELS, glb=replace(KERNELS.glb, bank_bytes=2048))
LONE = replace(KERNELS, glb=replace(KERNELS.glb, bank_bytes=8192))


class Memory:
    """The global buffer and its registers, as commands leave them."""

    def __init__(self, arch: Arch) -> None:
        self.arch = arch
        self.bytes = np.zeros(arch.glb_tiles * arch.glb.tile_bytes, np.uint8)
        self.registers: dict[tuple[str, int | None], int] = {}

    def do(self, commands: Iterable[Command]) -> None:
        for command in commands:
            match command:
                case WriteMemory(address, given):
                    new = np.frombuffer(given.astype("<u2").tobytes(), np.uint8)
                    self.bytes[address:address + len(new)] = new
                case WriteRegister(name, value, tile):
                    self.registers[name, tile] = value

    def loaded(self, each: Transfer) -> list[int]:
        """What a load gives: the golden meaning of its registers."""
        tile = each.column // self.arch.glb.columns_per_tile
        own = self.bytes[tile * self.arch.glb.tile_bytes:][:self.arch.glb.tile_bytes]
        control = named(glb_registers(self.arch.glb))["load_control"].bits("listed")
        first = self.registers["load_start", tile]
        if not self.registers["load_control", tile] >> control.start & 1:
            return self._walked(own, tile, first)
        found: list[int] = []
        while True:
            length, last, low, high = own[first:first + 8].view("<u2").tolist()
            found += [length, *self._walked(own, tile, low | high << 16)]
            if last & 1:
                return found
            first += 8

    def _walked(self, own: np.ndarray, tile: int, first: int) -> list[int]:
        loops = [(self.registers[f"load_extent{level}", tile], self.registers.get((f"load_stride{level}", tile), 0))
                 for level in range(self.arch.glb.load_loops)]
        left, found = [extent for extent, _ in loops], []
        while True:
            found.append(int(own[first:first + 2].view("<u2")[0]))
            level = next((at for at, each in enumerate(left) if each), None)
            if level is None:
                return found
            first += (loops[level][1] + (1 << 23)) % (1 << 24) - (1 << 23)
            left[:level + 1] = [*(extent for extent, _ in loops[:level]), left[level] - 1]


def coo(array: np.ndarray) -> Coo:
    places = np.argwhere(array)
    return Coo.make(array.shape, places, array[tuple(places.T)].astype(np.int64))


def product(arch: Arch, rows: int = 40, inner: int = 33, columns: int = 30, edge: int = 10) -> TensorJob:
    """Of a sparse matrix and a dense one, in sub-tiles of one edge."""
    draw = np.random.default_rng(3)
    left = np.where(draw.random((rows, inner)) < 0.1, draw.integers(1, 9, (rows, inner)), 0)
    einsum = parse("X(i,j) = A(i,k) * B(k,j)", "ikj", {"B": "dd"})
    data = {"A": coo(left), "B": coo(draw.integers(1, 9, (inner, columns)))}
    made = job_of(alone(einsum), data, arch, Plan(edge))
    return made.compiles(lambda *stage: None, None)


def planned(job: TensorJob, arch: Arch, bound: int | None = None, chained: bool = False) -> tuple[Program, list[Launch]]:
    """bound: words that a result may have, so that launches are many."""
    program = job.compiled.program
    bounds = dict(job.bounds()) if bound is None else dict.fromkeys(job.bounds(), bound)
    return program, [*launches(program, arch, job.transactions(1), bounds, chained=chained)]


@pytest.mark.parametrize("arch,chained", [(KERNELS, False), (QUEUE, True), (LONE, False)], ids=["halves", "queue", "small"])
def test_loads_read_the_words_of_every_sub_tile_and_an_operand_comes_once(arch: Arch, chained: bool) -> None:
    job = product(arch)
    program, found = planned(job, arch, arch.glb.bank_bytes // 16, chained)
    assert len(found) > 3 and any(each.joins for each in found) == chained
    memory, copied = Memory(arch), iter(job.work.transactions())
    for launch in found:
        memory.do(launch.loads)
        memory.do(launch.starts)
        given = [words(next(copied)) for _ in range(launch.transactions)]
        for each in program.loads:
            assert memory.loaded(each) == [int(word) for one in given for word in one[each.name]]
    assert sum(each.lying for each in found) == found[0].lying == 40 * 32
    assert [each.stays for each in found[1:]] == [found[1].stays] * (len(found) - 1)
    (stays,) = found[1].stays
    assert isinstance(stays, WriteMemory) and stays.box is not None and stays in found[0].loads and not found[0].stays


def test_an_operand_without_room_is_copied_sub_tile_by_sub_tile() -> None:
    for arch, told in ((LONE, None), (TIGHT, "B_vals: no room")):
        job = product(arch, inner=70, columns=40)
        assert any(each.lying for each in planned(job, arch)[1]) == (told is None)
        assert job.facts().get("copied") == told


def test_a_machine_without_lists_copies() -> None:
    arch = replace(KERNELS, glb=replace(KERNELS.glb, listed=False))
    job = product(arch)
    assert not any(each.lying or each.stays for each in planned(job, arch)[1]) and "copied" not in job.facts()


def test_what_few_sub_tiles_take_is_copied_and_the_report_says_so() -> None:
    job = product(KERNELS, rows=2, edge=33)
    assert not any(each.lying for each in planned(job, KERNELS)[1])
    assert job.facts()["copied"] == "B_vals: more words than its sub-tiles"


def test_without_a_second_loop_blocks_are_held_one_behind_the_other() -> None:
    arch = replace(KERNELS, glb=replace(KERNELS.glb, load_loops=1))
    job = product(arch)
    program, found = planned(job, arch)
    memory, copied = Memory(arch), job.work.transactions()
    for launch in found:
        memory.do(launch.loads)
        memory.do(launch.starts)
        given = [words(each) for each in islice(copied, launch.transactions)]
        for each in program.loads:
            assert memory.loaded(each) == [int(word) for one in given for word in one[each.name]]
    assert job.facts()["copied"] == "B_vals: no room"


def test_blocks_that_are_all_alike_are_held_once() -> None:
    """The extents of a dense level."""
    program, found = planned(product(KERNELS), KERNELS)
    (level,) = (each for each in program.loads if each.name == "B0")
    for launch in found:
        brought = [each.words.tolist() for each in launch.loads
                   if isinstance(each, WriteMemory) and each.address // KERNELS.glb.tile_bytes == level.column]
        assert brought == [[2, 0, 10, 0]] or launch.transactions == 1


def test_a_part_of_a_run_begins_with_the_operands_that_launches_before_it_brought() -> None:
    job = product(KERNELS)
    found = parts.cut(parts.Shared("rtl", job.compiled, 1 << 30), job, single=True)
    assert len(found) > 3
    for part in found:
        boxes = [sum(isinstance(each, WriteMemory) and each.box is not None for each in launch.loads)
                 for launch in part.launches]
        assert boxes == [1] + [0] * (len(boxes) - 1)
