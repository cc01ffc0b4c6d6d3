"""The engines: five ways to run a compiled program on transactions, all giving the same words.

``golden`` NumPy; ``tokens`` the mapped graph on the token model; ``fabric`` the decoded bitstream on the routing graph;
``rtl`` generated Verilog specialised to the bitstream; ``rtl-full`` generated Verilog, configured over its buses.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..compiler.backend.encode import contents, decode, encode, words
from ..compiler.ir.program import Program
from ..compiler.pipeline import Compiled
from ..hw.arch.cgra import Arch
from ..runtime.data.sub_tiles import Blocks, Work
from . import host
from .model.tokens import fabric
from .rtl import folding as cosim
from .rtl.machine import Machine

GOLDEN, TOKENS, FABRIC, RTL, RTL_FULL = "golden", "tokens", "fabric", "rtl", "rtl-full"


@dataclass(frozen=True)
class Run:
    """What an engine found.

    Parameters
    ----------
    blocks : list             Per item the blocks of the store streams.
    cycles : int | None       Cycles of the generated Verilog, from start to done, summed over launches.
    build_s, simulate_s       Seconds spent on building the simulation and in it.
    simulated : int           Cycles simulated, bus traffic included.
    verilog : Path | None     Folder of the Verilog that ran.
    """

    blocks: Sequence[Blocks]
    cycles: int | None = None
    launches: int = 0
    build_s: float = 0.0
    simulate_s: float = 0.0
    simulated: int = 0
    verilog: Path | None = None


def run(engine: str, compiled: Compiled, work: Work, progress: Callable[[str], None] = lambda stage: None) -> Run:
    """Run a compiled program on every item of the work."""
    if engine == GOLDEN:
        return Run(list(work.expected()))
    transactions = list(work.transactions())
    if engine == TOKENS:
        progress(f"running {len(work)} sub-tiles on the token model")
        return Run(fabric.run_graph(compiled.graph, transactions))
    program = decode(encode(compiled.program, compiled.arch), compiled.arch)
    if engine == FABRIC:
        progress(f"running {len(work)} sub-tiles on the decoded bitstream")
        return Run(fabric.run_program(program, compiled.arch, transactions))
    return _verilog(engine == RTL_FULL, program, compiled, work, transactions, progress)


def _verilog(full: bool, program: Program, compiled: Compiled, work: Work, transactions: Sequence[Blocks],
             progress: Callable[[str], None]) -> Run:
    return simulate(program, compiled.arch, transactions, full=full, bounds=work.bounds(), progress=progress)


def simulate(program: Program, arch: Arch, transactions: Sequence[Blocks], *, full: bool,
             bounds: Mapping[str, int] | None = None, cache: Path | None = None,
             progress: Callable[[str], None] = lambda stage: None) -> Run:
    """Run transactions in generated Verilog: specialised to the program, or (`full`) configured over its buses.

    bounds: see `host.run`. cache: folder of built models; default: the user's cache folder.
    """
    total = len(transactions)

    def drive(machine: Machine) -> host.Outcome:
        progress(f"simulating {total} sub-tiles")
        return host.run(machine, program, transactions, bounds, configurable=full,
                        progress=lambda done, _: progress(f"simulating {total} sub-tiles, {done} done"))

    return in_verilog(program, arch, drive, full=full, cache=cache, progress=progress)


def in_verilog(program: Program, arch: Arch, drive: Callable[[Machine], host.Outcome], *, full: bool, cache: Path | None = None,
               progress: Callable[[str], None] = lambda stage: None) -> Run:
    """Build a machine (as in `simulate`), configure it for a program, and let `drive` run it."""
    kind = "reconfigurable Verilog" if full else "Verilog specialised to the program"
    progress(f"generating and building the {kind} of '{arch.name}'")
    model = cosim.machine_model(arch, None if full else program, cache)
    begin = time.perf_counter()
    with Machine(arch, model.executable) as machine:
        prints = (machine.read_register("fingerprint_high") << 32) | machine.read_register("fingerprint_low")
        assert prints == program.fingerprint, f"the simulated machine is {prints:016x}, not {program.fingerprint:016x}"
        # A specialised machine has its settings, but no contents of memories.
        machine.configure(words(program, arch) if full else contents(program))
        outcome = drive(machine)
        simulated = machine.cycles
    seconds = time.perf_counter() - begin
    return Run(outcome.blocks, outcome.cycles, outcome.launches, model.build_s, seconds, simulated,
               model.executable.parent / "verilog")


def differences(found: Sequence[Blocks], expected: Sequence[Blocks]) -> tuple[int, list[str]]:
    """Words compared, and a sentence for every block that differs from what it should be."""
    compared, wrong = 0, []
    for item, (one, other) in enumerate(zip(found, expected, strict=True)):
        for name, block in other.items():
            compared += len(block)
            if not np.array_equal(one[name], block):
                wrong.append(f"block {name} of sub-tile {item} is {one[name].tolist()[:24]}, should be {block.tolist()[:24]}")
    return compared, wrong
