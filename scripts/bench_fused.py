"""Fused statements against the same ones in turn, in the generated Verilog of `onyx` with `glb.packed`, or with queues, too.

In turn, each statement is a program and a launch of its own, on one machine: the host configures the array, writes operands,
reads the result, cuts it into sub-tiles again and writes them. Edges are chosen for each program. Either way a machine begins
after reset, no register is written that holds the word, and the host goes on before what it writes is answered, over both
buses at once. Cycles are counted twice: from start to done, and all that are simulated from reset to the last word that is
read, with what the host does over the buses (configuration, operands, results). What the host computes in between (cutting) is
processor time of the simulating machine and stands apart. Both ways, programs leave out indices of which sub-tiles have one
coordinate (`narrow.py`), as they do for users.

With queues (`Glb.queue`) the fused program begins with a portion of its words, where that takes fewer cycles (`portions.py`).
In turn each statement is a launch all of whose words are there; beside that what it takes where hosts overlap as much, which
begin with a portion of the words, too, or have the words of a statement in several launches of one run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sardonyx import api
from sardonyx.compiler.einsum import compile_fused
from sardonyx.compiler.ir.transfer import WORD_BYTES
from sardonyx.compiler.lang.einsum import Einsum
from sardonyx.compiler.lang.kernel import load_kernel
from sardonyx.compiler.lang.program import Program, parse_program
from sardonyx.compiler.sparse.fuse import Fused, alone, fuse
from sardonyx.compiler.sparse.fused_tiling import sharing, tile_fused
from sardonyx.compiler.sparse.lanes import lanes_of
from sardonyx.compiler.sparse.looked_up import looked_up
from sardonyx.compiler.sparse.parts import with_parts
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.errors import UserError
from sardonyx.runtime import host
from sardonyx.runtime.data.sub_tiles import Work
from sardonyx.runtime.held import Held
from sardonyx.sim.golden import einsum as golden
from sardonyx.sim.rtl import simulator
from sardonyx.sim.rtl.machine import Machine
from sardonyx.statements import MOST_LANES
from sardonyx.tensor_job import TensorJob
from sardonyx.tensors.coordinates import Coo
from sardonyx.tensors.values import random_tensor

# Matrices by extent and nonzeros. Fused, their rows are dealt to the number of lanes or parts that takes the fewest of all
# cycles, as each has to be configured; in turn there is one copy.
ITERATED = {"of 256 x 256 and more": ((256, 2000), (512, 4000), (1000, 6500)), "smaller": ((30, 180), (64, 400), (128, 900))}
LANES = range(1, MOST_LANES + 1)
# Of MTTKRP: extent, share of nonzeros of the matrices, and of the tensor.
SWEEPS = ((10, 1.0, (0.005, 0.01, 0.05, 0.2)), (100, 0.1, (1e-5, 1e-4, 1e-3)))


@dataclass(frozen=True)
class Spent:
    """Cycles from start to done; all cycles, buses included; launches; processor time of the host in seconds; lines of 64 bits
    that are written, and read."""

    cycles: int = 0
    simulated: int = 0
    launches: int = 0
    host_s: float = 0.0
    lines: int = 0

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.cycles + other.cycles, self.simulated + other.simulated, self.launches + other.launches,
                     self.host_s + other.host_s, self.lines + other.lines)


@dataclass(frozen=True)
class Compared:
    """What a program took fused, in so many lanes or parts, and in turn.

    whole : Spent        Fused in as many, with all words there when it starts.
    overlapped : Spent   In turn, where the host overlaps as much as it can.
    """

    what: str
    fused: Spent
    apart: Spent
    lanes: int
    whole: Spent
    overlapped: Spent

    @property
    def ratio(self) -> float:
        """Of cycles from start to done, all words there."""
        return self.apart.cycles / self.whole.cycles

    @property
    def with_host(self) -> float:
        """Of all cycles."""
        return self.apart.simulated / self.fused.simulated

    @property
    def overlapping(self) -> float:
        """Of all cycles, where the host overlaps as much in turn."""
        return self.overlapped.simulated / self.fused.simulated

    @property
    def bound(self) -> float:
        """Of all cycles, if the fused one took no more than its lines on the bus."""
        return self.apart.simulated / self.fused.lines


def compare(what: str, program: Program, data: Mapping[str, Coo], arch: Arch, lanes: Iterable[int] = (1,)) -> Compared:
    """Run a program both ways, every word checked; lanes: of the sums of the fused one, or parts, of which those are taken with
    the fewest of all cycles."""
    value, apart = _in_turn(program, data, arch)
    ways: tuple[Mapping[str, Any], ...] = ({"early": ()}, {"chained": True}) if arch.glb.queue else ()
    overlapped = min([apart, *(_in_turn(program, data, arch, **how)[1] for how in ways)], key=lambda found: found.simulated)
    found = {(count, early): spent for early in {False, arch.glb.queue}
             for spent, count in _fused(program, data, arch, lanes, value, early)}
    count, early = min(found, key=lambda key: found[key].simulated)
    return Compared(what, found[count, early], apart, count, found[count, False], overlapped)


def _in_turn(program: Program, data: Mapping[str, Coo], arch: Arch, **how: Any) -> tuple[Coo, Spent]:
    """The result, and what the statements took one by one; how: as of `host.run`."""
    known, spent = dict(data), Spent()
    with simulator.whole_machine(arch).start(posts=True) as machine:
        held = Held(arch, after_reset=True)
        for each in program.statements:
            value, one = _run(alone(each), {name: known[name] for name in each.tensors}, (each,), machine, held, **how)
            known[each.result.tensor], spent = value, spent + one
    return known[program.result.result.tensor], spent


def _fused(program: Program, data: Mapping[str, Coo], arch: Arch, lanes: Iterable[int], right: Coo, early: bool
           ) -> Iterator[tuple[Spent, int]]:
    """What the fused program took in each number of lanes that a machine has room for. early: it begins with a portion."""
    for count in lanes:
        together = with_parts(replace(fuse(program.statements, program.formats), lanes=count), data, arch.mem.level_words)
        # The operands, or the streams of so many lanes, may have no room.
        with suppress(UserError), simulator.whole_machine(arch).start(posts=True) as machine:
            value, spent = _run(together, data, program.statements, machine, Held(arch, after_reset=True),
                                early=looked_up(together) if early else None)
            assert value == right, "both ways give the same"
            yield spent, count


def _run(program: Fused, data: Mapping[str, Coo], statements: Sequence[Einsum], machine: Machine, held: Held, **how: Any
         ) -> tuple[Coo, Spent]:
    began, before, lines, arch = time.process_time(), machine.cycles, machine.lines, machine.arch
    work = Work(tile_fused(program, data, arch.mem.level_words, None, arch.glb.bank_bytes // WORD_BYTES, narrow=True),
                lanes_of(program))
    cutting = time.process_time() - began
    made = sharing(program, work.tiling) if program.nest.kept else alone(work.tiling.einsum)
    compiled = compile_fused(made, arch)
    job = TensorJob(compiled, data, work, program.einsum,
                    answer=golden.evaluate_all(statements, data)[statements[-1].result.tensor])
    found = Spent(host_s=cutting)
    for outcome in host.run(machine, compiled.program, job.transactions(1), job.bounds(), held=held, **how):
        for stored in outcome.stored:
            job.take(stored)
        found += Spent(outcome.cycles, launches=1)
    job.check()
    return job.whole(), found + Spent(simulated=machine.cycles - before, lines=machine.lines - lines)


def spmv_iter(sizes: Sequence[tuple[int, int]], arch: Arch) -> list[Compared]:
    """Four products of a matrix with a vector, by extent and nonzeros."""
    found = []
    for size, nnz in sizes:
        kernel = load_kernel("spmv_iter")
        data = {"A": random_tensor((size, size), nnz / size ** 2, 1), "x": random_tensor((size,), 1.0, 2)}
        program = api.located(kernel.program(), "auto", arch)
        found.append(compare(f"{size} x {size}, {data['A'].nnz} nonzeros", program, data, arch, LANES))
    return found


def mttkrp(extent: int, factors: float, shares: Sequence[float], arch: Arch) -> list[Compared]:
    """MTTKRP of a cube with two square factors, by the share of nonzeros of the cube."""
    program = parse_program(load_kernel("mttkrp_statements").expression, "klj; iklj")
    found = []
    for share in shares:
        data = {"B": _scattered(extent, max(1, round(share * extent ** 3)), 1),
                **{name: random_tensor((extent, extent), factors, seed) for name, seed in (("C", 2), ("D", 3))}}
        found.append(compare(f"{share:.3%}", program, data, arch))
    return found


def _scattered(extent: int, count: int, seed: int) -> Coo:
    """So many nonzeros at random places of a cube."""
    random = np.random.default_rng(seed)
    places = random.choice(extent ** 3, count, replace=False)
    coords = np.stack(np.unravel_index(places, (extent,) * 3), axis=1)
    return Coo.make((extent,) * 3, coords, random.integers(1, 5, count))


def told(found: Sequence[Compared], ratio: Callable[[Compared], float]) -> str:
    """Each ratio by what it is of."""
    return ", ".join(f"{each.what}: {ratio(each):.1f}x" for each in found)


