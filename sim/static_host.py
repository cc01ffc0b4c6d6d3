"""Host side of a statically scheduled run: images into the global buffer, DMA settings, start, interrupt, words back.

A launch computes one tile. Loads read the first bank of their GLB tile and stores write the last, so that the two never ask
for one bank in one cycle: a static stream cannot wait.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..compiler.ir.program import Program
from ..hw.arch.errors import UserError
from ..hw.arch.soc import STORE_STATIC
from ..runtime.data.load_loops import Reads
from .host import LAUNCH_LIMIT, Outcome, clear, load, start
from .rtl.machine import Machine


def run(machine: Machine, program: Program, tiles: Sequence[Mapping[str, Reads]], counts: Mapping[str, int],
        configurable: bool = True, progress: Callable[[int, int], None] | None = None) -> Outcome:
    """Run tiles on a configured machine, in order.

    tiles: every load stream by name. counts: words that every store stream gives a tile.
    Raises UserError for a tile that does not fit a bank, AssertionError with the waiting tiles when nothing moves any more.
    """
    clear(machine)
    results: list[dict[str, np.ndarray]] = []
    cycles = 0
    for tile in tiles:
        found, spent = _launch(machine, program, tile, counts, configurable)
        results.append(found)
        cycles += spent
        if progress:
            progress(len(results), len(tiles))
    return Outcome(results, cycles, len(tiles))


def _launch(machine: Machine, program: Program, reads: Mapping[str, Reads], counts: Mapping[str, int],
            configurable: bool) -> tuple[dict[str, np.ndarray], int]:
    glb = machine.arch.glb
    assert glb.banks > 1, "static streams need a bank for loads and one for stores"
    split = glb.bank_bytes * (glb.banks - 1)
    room = glb.bank_bytes // 2
    for binding in program.bindings:
        needed = len(reads[binding.tensor].held) if binding.direction == "load" else counts[binding.tensor]
        if needed > room:
            raise UserError(f"stream {binding.tensor} takes {needed} words a tile but a bank of the global buffer holds {room}",
                            fix="use a smaller tile")
    for binding in program.loads:
        load(machine, binding, reads[binding.tensor])
    for binding in program.stores:
        tile, column = divmod(binding.column, glb.columns_per_tile)
        for name, value in (("store_control", 1 | 1 << STORE_STATIC | column << 8), ("store_start", split),
                            ("store_limit", counts[binding.tensor]), ("store_extent0", counts[binding.tensor] - 1),
                            ("store_stride0", 2)):
            machine.write_register(name, value, tile)
    # Its loops end, and the watchdog sees when nothing comes any more.
    cycles = start(machine, program, configurable, LAUNCH_LIMIT)
    found = {b.tensor: machine.read_memory(b.column // glb.columns_per_tile * glb.tile_bytes + split, counts[b.tensor])
             for b in program.stores}
    return found, cycles
