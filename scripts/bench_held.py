"""Sparse products whose operands are all in the global buffer from the start, and whose results stay there.

    python scripts/bench_held.py west2021.mtx      the row of this matrix times itself

The launches are those of one run, as firmware has them, but each has a place of its own for every stream, so that nothing
moves between the first start and the last done but registers. They are compared with what the machine takes to compute alone:
the same transactions as one launch, which nobody has to follow with another one. Beside it stand the sum of what each launch
takes when it is started by itself, and cycles of the token model of `bench_steady`, that only computes and that also moves.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from bench_row import Row

from sardonyx import api, statements, together
from sardonyx.compiler.ir.program import Program
from sardonyx.compiler.ir.transfer import WORD_BYTES, check_room
from sardonyx.compiler.lang.einsum import parse
from sardonyx.compiler.sparse.fuse import alone
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.glb import LANES
from sardonyx.outcome import silent
from sardonyx.runtime import host
from sardonyx.runtime.commands import Command, Read, WriteMemory, WriteRegister
from sardonyx.runtime.data.blocks import Blocks, Bounded
from sardonyx.runtime.held import Held
from sardonyx.runtime.order import Phase, ordered
from sardonyx.runtime.place import Place
from sardonyx.runtime.plan import Launch, launches, prepare
from sardonyx.runtime.works import Transaction
from sardonyx.sim.model.tokens import fabric
from sardonyx.sim.model.tokens.computing import compute_cycles
from sardonyx.sim.rtl import simulator
from sardonyx.sim.rtl.machine import Machine
from sardonyx.tensor_job import TensorJob

MOST = 1.05
NAME = ("les_miserables times itself on `small` with queues, all words in the global buffer: launches; cycles from the first "
        "start to the last done in one run / of the same as one launch; to the sum of launches that are started one by one, to "
        "the token model that only computes, to that which also moves")


def product(matrix: Path | None, arch: Arch) -> TensorJob:
    """A matrix times itself, compiled; None: that of the demo."""
    operand, _ = api.demo_matrix(matrix)
    return statements.job_of(alone(parse(api.MATRIX_PRODUCT)), {"B": operand, "C": operand}, arch).compiles(silent, None)


def held(matrix: Path | None = None, what: str = NAME) -> tuple[Row, int]:
    """A matrix times itself, and the cycles of its transactions as one launch. Every word is compared with NumPy.

    what: the name of the row."""
    arch = together.demo_arch()
    job = product(matrix, arch)
    data, program = next(iter(job.parts())), job.compiled.program
    given = [*data.transactions(1)]
    found = [*launches(program, arch, given, data.bounds(), chained=True)]
    with simulator.whole_machine(arch).start() as machine:
        host.execute(machine, prepare(program, arch), program)
        each = sum(_by_itself(machine, program, found, given, data.bounds()))
        placed = [*apart(found, program, arch, given)]
        (whole,) = host.run_launches(machine, program, [joined(placed, program, arch)], prepared=True)
        cycles, stored = _in_one_run(machine, program, placed)
    for blocks, other in zip(stored, whole.stored, strict=True):
        assert all(np.array_equal(words, other[name]) for name, words in blocks.items()), "one launch stores the same"
        data.take(blocks)
    job.check()
    graph = job.compiled.unbalanced
    computes, moves = compute_cycles(graph, given), fabric.ideal_cycles(graph, given)
    said = ", ".join(f"{cycles / other:.3f} ({other:,})" for other in (each, computes, moves))
    return Row(what, f"{len(found)}; {cycles:,} / {whole.cycles:,} = {cycles / whole.cycles:.3f}; {said}", f"<= {MOST}",
               cycles <= MOST * whole.cycles), whole.cycles


def apart(found: Sequence[Launch], program: Program, arch: Arch, given: Sequence[Transaction]) -> Iterator[Launch]:
    """Launches of one run, each with streams behind those of the one before it in the same bank; UserError for no room."""
    place, at = Place(arch.glb, None), 0
    used = dict.fromkeys(program.transfers, 0)     # 16-bit words of the streams of launches before
    for launch in found:
        works = given[at:at + launch.transactions]
        at += launch.transactions
        # All blocks, also those that are alike, of which a launch has one.
        blocks = {each: np.concatenate([np.asarray(work[each.name]) for work in works]) for each in program.loads}
        sizes = {each: words.size for each, words in blocks.items()}
        sizes |= {each: sum(work.bounds()[each.name] for work in works if isinstance(work, Bounded)) for each in program.stores}
        starts = {each: place.start(each) + WORD_BYTES * words for each, words in used.items()}
        registers: dict[tuple[str, int | None], int] = {
            ("load_start", place.tile(each)): starts[each] for each in program.loads}
        registers |= {("load_extent0", place.tile(each)): sizes[each] - 1 for each in program.loads}
        registers |= {("load_extent1", place.tile(each)): 0 for each in program.loads}
        registers |= {("store_start", place.tile(each)): starts[each] for each in program.stores}
        registers |= {("store_limit", place.tile(each)): sizes[each] for each in program.stores}
        addresses = {each.name: place.tile(each) * arch.glb.tile_bytes + starts[each] for each in program.stores}
        yield replace(
            launch, starts=tuple(_set(each, registers) for each in launch.starts),
            loads=tuple(WriteMemory(place.tile(each) * arch.glb.tile_bytes + starts[each], words)
                        for each, words in blocks.items()),
            reads=tuple(replace(each, address=addresses[each.stream]) for each in launch.reads if isinstance(each, Read)))
        for each, words in sizes.items():
            used[each] += -(-words // LANES) * LANES
            check_room(f"all blocks of stream {each.name} take {used[each]} words", used[each], each)


def joined(found: Sequence[Launch], program: Program, arch: Arch) -> Launch:
    """Launches of one run that have places of their own (`apart`), as one: of elastic streams only the lengths are others."""
    first, last, place = found[0], found[-1], Place(arch.glb, None)
    brings = [each for each in first.loads if isinstance(each, WriteMemory)]
    words = [np.concatenate([_words(launch, at) for launch in found]) for at in range(len(brings))]
    count = sum(launch.transactions for launch in found)
    registers: dict[tuple[str, int | None], int] = {("hold", None): 0}
    registers |= {("cycle_limit", None): max(each.value for launch in found for each in launch.starts
                                             if isinstance(each, WriteRegister) and each.name == "cycle_limit")}
    registers |= {("load_extent0", place.tile(each)): words[at].size - 1 for at, each in enumerate(program.loads)}
    for each in program.stores:
        registers |= {("store_limit", place.tile(each)): each.room, ("store_sections", place.tile(each)): each.sections * count}
    return replace(first, loads=tuple(replace(bring, words=held) for bring, held in zip(brings, words, strict=True)),
                   starts=tuple(_set(each, registers) for each in first.starts), ends=last.ends, transactions=count,
                   goes_on=False)


def _words(launch: Launch, stream: int) -> np.ndarray:
    """The words of a load stream of a launch."""
    bring = launch.loads[stream]
    assert isinstance(bring, WriteMemory), "an elastic stream comes at once"
    return bring.words


def _set(command: Command, registers: Mapping[tuple[str, int | None], int]) -> Command:
    """A command with the value that its register has among these."""
    if not isinstance(command, WriteRegister):
        return command
    return replace(command, value=registers.get((command.name, command.glb_tile), command.value))


def _by_itself(machine: Machine, program: Program, found: Sequence[Launch], given: Sequence[Transaction],
               bounds: Mapping[str, int]) -> Iterator[int]:
    """Of each launch the cycles of its transactions in a run of their own, from start to done."""
    coming = iter(given)
    for launch in found:
        works = [*itertools.islice(coming, launch.transactions)]
        ran = [*host.run(machine, program, works, bounds, prepared=True)]
        assert len(ran) == 1, f"{launch.transactions} transactions take {len(ran)} launches"
        yield ran[0].cycles


def _in_one_run(machine: Machine, program: Program, found: Sequence[Launch]) -> tuple[int, list[Blocks]]:
    """Cycles of all launches from the first start to the last done, and what each transaction stored."""
    known = Held(machine.arch)
    host.execute(machine, itertools.chain.from_iterable(launch.loads for launch in found), program)
    counts: dict[Launch, dict[str, int]] = {launch: {} for launch in found}
    for phase, launch in ordered(found):
        if phase is Phase.STARTS:
            host.execute(machine, known.changes(launch.starts), program)
        elif phase is Phase.ENDS:
            host.execute(machine, launch.ends, program, counts=counts[launch])
    cycles = machine.read_register("cycles")
    return cycles, [blocks for launch in found for blocks in host.by_transaction(
        program, launch, host.execute(machine, launch.reads, counts=counts[launch]))]


def main() -> None:
    """Measure and print the row of a matrix."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("matrix", nargs="?", type=Path, help="a Matrix Market file; default: les_miserables")
    row, _ = held(parser.parse_args().matrix)
    print(f"{row.what}\n{row.measured}\n{row.budget}, {'met' if row.met else 'missed'}")


if __name__ == "__main__":
    main()
