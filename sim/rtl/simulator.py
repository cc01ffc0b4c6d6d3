"""Which simulation runs a program in generated Verilog: the tile library or a machine folded to the program.

The library is built once for a machine, takes any program at once and is configured over its buses; a folded machine, one build
for each program, has its configuration as constants and is several times as fast. It is built where the cycles to come are so
many that they end not much later with it, because it is there for the next run, and used where it is in the cache.

    39 tiles, 70,000 cycles:       library 5 s; folded 29 s to build and 1 s
    39 tiles, 5,000,000 cycles:    library 5 min; folded 1.5 min

Both are the same modules, and give the same words in the same cycles.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...compiler.ir.program import ELASTIC, STATIC, Program
from ...hw.arch.cgra import Arch
from . import folding, library, stitch, verilator
from .machine import Machine

LIBRARY, FOLDED = "tile library", "folded"

# Measured on two slow cores, with SpMSpM of 39 tiles and a blur of 11: tiles times cycles in a second (those of an elastic
# program wait half of the time, those of a static one never do), and seconds of a build.
LIBRARY_TILE_CYCLES = {ELASTIC: 600_000, STATIC: 300_000}
FOLDED_TILE_CYCLES = {ELASTIC: 3_000_000, STATIC: 2_000_000}
FOLDED_BUILD_S, FOLDED_BUILD_S_PER_TILE = 2.0, 0.7
# A build that ends up to so many times later than the library is still worth it: it is there for the next run.
PATIENCE = 1.5


@dataclass(frozen=True)
class Simulator:
    """A built simulation of a machine.

    Parameters
    ----------
    arch : Arch
    model : Model
    wires : str | None    The wire list of a stitched machine.
    why : str             For the report: which form it is, and why.
    configurable : bool   It has its configuration network.
    counting : bool       It counts what moves, see `activity`.
    """

    arch: Arch
    model: verilator.Model
    wires: str | None
    why: str
    configurable: bool = True
    counting: bool = False

    def start(self, check: bool = False, posts: bool = False) -> Machine:
        """Start it; `check` and `posts` as of `Machine`."""
        return Machine(self.arch, self.model.executable, self.wires, check, self.counting, posts)


def whole_machine(arch: Arch, cache: Path | None = None, why: str = "") -> Simulator:
    """The machine with its configuration registers and network, from the tile library."""
    model = library.library_model(arch, cache)
    return Simulator(arch, model, stitch.wire_list(arch), why or f"{LIBRARY}: all {len(arch.tiles)} tiles")


def counting_machine(arch: Arch, cache: Path | None = None) -> Simulator:
    """The machine as of `whole_machine`, which counts what moves in all its tiles, those that a program does not use too."""
    why = f"{LIBRARY}: all {len(arch.tiles)} tiles, built to count what moves"
    return Simulator(arch, library.library_model(arch, cache, counting=True), stitch.wire_list(arch), why, counting=True)


def folded(arch: Arch, program: Program, cache: Path | None = None, why: str = FOLDED) -> Simulator:
    """The tiles of a program, folded to it."""
    model = folding.folded_model(arch, program, cache)
    return Simulator(arch, model, stitch.wire_list(arch, folding.configurations(program, arch)), why, configurable=False)


def for_program(arch: Arch, program: Program, cycles: int | None = None, cache: Path | None = None) -> Simulator:
    """The simulation with which `cycles` of a program end sooner, see `PATIENCE`; None counts as none."""
    if folding.is_built(arch, program, cache):
        return folded(arch, program, cache, f"{FOLDED}: it was built for this program before")
    tiles, number = len(program.config), cycles or 0
    # The build of the library does not count: it is for every program to come.
    library_s = number * tiles / LIBRARY_TILE_CYCLES[program.mode]
    folded_s = FOLDED_BUILD_S + FOLDED_BUILD_S_PER_TILE * tiles + number * tiles / FOLDED_TILE_CYCLES[program.mode]
    expected = f"about {number:,} cycles of {tiles} tiles are" if cycles else f"{tiles} tiles are"
    if PATIENCE * library_s <= folded_s:
        return whole_machine(arch, cache, f"{LIBRARY}: {expected} done sooner than a build for the program")
    return folded(arch, program, cache, f"{FOLDED}: {expected} worth a build for the program")
