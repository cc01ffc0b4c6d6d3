"""Host side of a run: streams into the global buffer, DMA settings, start, interrupt, results back.

A transaction is one sub-tile of work: a block for every load stream in, a block from every store stream out.
Transactions are laid one behind the other in the global buffer and run in one launch, as many as fit ("tile pipelining",
IEEE Micro): the next one's operands are written while the current one computes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..compiler.backend.encode import address
from ..compiler.dense.map.affine import recurrence
from ..compiler.ir.program import Binding, Program
from ..hw.arch.cgra import Arch
from ..hw.arch.config import STATUS_REGISTER
from ..hw.arch.errors import UserError
from ..hw.arch.primitive import Flow
from ..hw.arch.soc import FINISHED, OVERFLOW, STORE_LIMIT, STORE_LOST, WATCHDOG
from ..runtime.data.load_loops import Reads, in_order
from .rtl.machine import Machine

Blocks = Mapping[str, np.ndarray]

# Without any movement for so long a run is stuck: the longest wait of a correct program is that for a level to be
# filled by the load DMA of a busy GLB tile, far below it.
WATCHDOG_CYCLES = 20_000
# A launch that has not ended by then is a fault of the simulation itself; the watchdog ends all others.
LAUNCH_LIMIT = 50_000_000


@dataclass(frozen=True)
class Outcome:
    """Result blocks by transaction and stream name, cycles from start to done summed over launches, and launches."""

    blocks: list[dict[str, np.ndarray]]
    cycles: int
    launches: int


def run(machine: Machine, program: Program, transactions: Iterable[Blocks], bounds: Mapping[str, int] | None = None,
        configurable: bool = True, progress: Callable[[int, int], None] | None = None) -> Outcome:
    """Run transactions on a configured machine, in order.

    bounds: most 16-bit words a block of a store stream can have, by name; by default what the level buffers hold.
    configurable: the machine has its configuration network, so that tiles can be asked where tokens wait.
    progress: called with transactions done and all after each launch.

    Raises UserError when a level overflows, and AssertionError with the waiting tiles when nothing moves any more.
    """
    arch, work = machine.arch, list(transactions)
    half = arch.mem.level_words
    most = {b.name: (bounds or {}).get(b.name, b.sections * (half + 1)) for b in program.stores}
    results: list[dict[str, np.ndarray]] = []
    cycles = launches = 0
    clear(machine)
    for batch in _batches(work, program, arch, most):
        found, spent = _launch(machine, program, batch, configurable)
        results += found
        cycles += spent
        launches += 1
        if progress:
            progress(len(results), len(work))
    return Outcome(results, cycles, launches)


def _batches(work: Sequence[Blocks], program: Program, arch: Arch, most: Mapping[str, int]) -> Iterable[Sequence[Blocks]]:
    """Runs of transactions whose streams fit their banks: loads in the first, stores in the last bank of a GLB tile."""
    room = arch.glb.bank_bytes // 2 if arch.glb.banks > 1 else arch.glb.bank_bytes // 4
    begin, used = 0, dict.fromkeys((b.name for b in program.bindings), 0)
    for number, blocks in enumerate(work):
        need = {b.name: len(blocks[b.name]) for b in program.loads} | dict(most)
        for name, words in need.items():
            if words > room:
                raise UserError(f"a block of stream {name} takes {words} words but a bank of the global buffer holds {room}",
                                fix="use a smaller tile")
        if number > begin and any(used[name] + words > room for name, words in need.items()):
            yield work[begin:number]
            begin, used = number, dict.fromkeys(used, 0)
        for name, words in need.items():
            used[name] += words
    if begin < len(work):
        yield work[begin:]


def _launch(machine: Machine, program: Program, batch: Sequence[Blocks],
            configurable: bool) -> tuple[list[dict[str, np.ndarray]], int]:
    glb = machine.arch.glb
    split = glb.bank_bytes * (glb.banks - 1) if glb.banks > 1 else glb.bank_bytes // 2
    for binding in program.loads:
        load(machine, binding, in_order(np.concatenate([blocks[binding.name] for blocks in batch])))
    for binding in program.stores:
        tile, column = divmod(binding.column, glb.columns_per_tile)
        for name, value in (("store_control", 1 | column << 8), ("store_start", split),
                            ("store_limit", (glb.tile_bytes - split) // 2),
                            ("store_sections", binding.sections * len(batch))):
            machine.write_register(name, value, tile)
    cycles = start(machine, program, configurable)
    results: list[dict[str, np.ndarray]] = [{} for _ in batch]
    for binding in program.stores:
        tile = binding.column // glb.columns_per_tile
        words = machine.read_memory(tile * glb.tile_bytes + split, machine.read_register("store_words", tile))
        for result, block in zip(results, split_blocks(words, binding, len(batch)), strict=True):
            result[binding.name] = block
    return results, cycles


def load(machine: Machine, binding: Binding, reads: Reads) -> None:
    """Put the words of a load stream at the start of its GLB tile, and set the loops that read them."""
    glb = machine.arch.glb
    tile, column = divmod(binding.column, glb.columns_per_tile)
    machine.write_memory(tile * glb.tile_bytes, reads.held)
    machine.write_register("load_control", 1 | column << 8, tile)
    machine.write_register("load_start", 0, tile)
    extents, strides = zip(*reads.loops, strict=True)
    for level, (extent, delta) in enumerate(zip(extents, recurrence(extents, strides), strict=True)):
        machine.write_register(f"load_extent{level}", extent - 1, tile)
        machine.write_register(f"load_stride{level}", 2 * delta, tile)
    for level in range(len(extents), glb.load_loops):
        machine.write_register(f"load_extent{level}", 0, tile)


def start(machine: Machine, program: Program, configurable: bool) -> int:
    """Start a run and wait for its end; returns its cycles, raises what `explain` says if it was stopped."""
    machine.write_register("watchdog_limit", WATCHDOG_CYCLES)
    machine.write_register("irq_status", 0xFFFFFFFF)
    machine.write_register("irq_enable", 0xFFFFFFFF)
    machine.write_register("control", 1)
    assert machine.wait(LAUNCH_LIMIT), "no interrupt: neither the run nor its watchdog ended"
    status = machine.read_register("status")
    if not status >> FINISHED & 1:
        explain(machine, program, status, configurable)
    return machine.read_register("cycles")


def clear(machine: Machine) -> None:
    """Disable every stream that an earlier run may have left on."""
    for tile in range(machine.arch.glb_tiles):
        for name in ("load_control", "store_control"):
            machine.write_register(name, 0, tile)


def split_blocks(words: np.ndarray, binding: Binding, count: int) -> list[np.ndarray]:
    """The blocks of `count` transactions in what a store stream wrote; lengths in the words say where each ends."""
    blocks, at = [], 0
    for _ in range(count):
        begin = at
        for _ in range(binding.sections):
            at += 1 + int(words[at])
        blocks.append(words[begin:at])
    assert at == len(words), f"stream {binding.name} stored {len(words)} words, its lengths say {at}"
    return blocks


def explain(machine: Machine, program: Program, status: int, configurable: bool) -> None:
    """Say why a run was stopped, from the status registers."""
    names = {(int(x), int(y)): name for site, name in program.source.get("names", {}).items() for x, y in [site.split(",")]}
    if status >> OVERFLOW & 1:
        column = machine.read_register("overflow_column")
        full = [site for site in names if site[0] == column and machine.arch.tiles[site].kind == "mem"
                and (not configurable or machine.read_configuration(address(*site, STATUS_REGISTER)) >> 31)]
        where = " or ".join(f"tile ({x}, {y}), '{names[x, y]}'" for x, y in full) or f"column {column}"
        raise UserError(f"a level overflowed its buffer of {machine.arch.mem.level_words} words in {where}",
                        fix="use a smaller tile")
    if status >> STORE_LIMIT & 1:
        raise UserError("a result is larger than its bank of the global buffer", fix="use a smaller tile")
    assert not status >> STORE_LOST & 1, "a static store found its bank busy and lost a word: no load may use its bank"
    assert status >> WATCHDOG & 1, f"the run ended with status {status:#x}"
    waiting = []
    if configurable:
        for site, name in names.items():
            held = machine.read_configuration(address(*site, STATUS_REGISTER))
            if held:
                waiting.append(f"tile {site} '{name}' holds tokens: {show_status(machine.arch, site, held)}")
        if not waiting:
            waiting.append("no tile holds tokens: a block ended before the lengths in it said")
    else:
        waiting.append("run it with engine rtl-full to see which tiles hold tokens")
    raise AssertionError(f"nothing moved for {WATCHDOG_CYCLES} cycles\n  " + "\n  ".join(waiting))


def show_status(arch: Arch, site: tuple[int, int], held: int) -> str:
    """A tile's status word in words: the inputs that hold tokens and the outputs that wait to be taken."""
    ports = arch.tiles[site].ports
    ins = [p.name for p in ports if p.flow is Flow.IN]
    outs = [p.name for p in ports if p.flow is Flow.OUT]
    full = [name for i, name in enumerate(ins) if held >> i & 1]
    stuck = [name for i, name in enumerate(outs) if held >> (len(ins) + i) & 1]
    return "; ".join(part for part in (f"inputs {', '.join(full)}" if full else "",
                                       f"waiting outputs {', '.join(stuck)}" if stuck else "",
                                       "overflow" if held >> 31 else "") if part)
