"""Build the whole machine for simulation: specialised to a program, or reconfigurable.

Models are cached by what decides their Verilog: the machine's description, the program's configuration and the sources of
the generator. A model that is there is used without generating anything.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from ...compiler.ir.program import Program
from ...hw import emit
from ...hw.arch.cgra import Arch
from ...hw.configuration import packed
from ...hw.kept import generator
from ...hw.soc.top import Sardonyx
from . import verilator

HARNESS = Path(__file__).parent / "machine.cpp"
FOLDED = Path(__file__).with_name("folded.h").read_text()
TOP = Sardonyx.module_name


# The pass of Verilator that makes a specialised machine twice as fast takes time in the square of its constants, because each
# replacement by 0 visits all that read a 0. A blur in 4 lanes on `onyx` is built in 83 s without it and in 149 s with it, in
# one lane in 36 s and 20 s. Above so many tiles it is left out.
MOST_TILES = 40
QUICK = ("-fno-dfg-peephole",)


def specialised(program: Program, arch: Arch) -> dict[tuple[int, int], int]:
    """The configuration of every used tile as the number that its ``cfg`` port takes."""
    spaces = {site: arch.config_map(arch.tiles[site].kind) for site in program.config}
    return {site: packed(spaces[site], spaces[site].encode(values)) for site, values in sorted(program.config.items())}


def machine_model(arch: Arch, program: Program | None = None, cache: Path | None = None) -> verilator.Model:
    """The model of a machine specialised to a program, or of the reconfigurable machine in one piece."""
    constants = None if program is None else specialised(program, arch)

    def verilog(folder: Path) -> list[Path]:
        return emit.emit(Sardonyx(arch, constants), folder)

    return verilator.build_keyed(_key(arch, constants), verilog, HARNESS, TOP, includes={"simulation.h": FOLDED},
                                 flags=_flags(program), cache=cache)


def is_built(arch: Arch, program: Program, cache: Path | None = None) -> bool:
    """Whether the model of a program is in the cache."""
    return verilator.find_keyed(_key(arch, specialised(program, arch)), HARNESS, TOP, includes={"simulation.h": FOLDED},
                                flags=_flags(program), cache=cache) is not None


def _flags(program: Program | None) -> tuple[str, ...]:
    # Unused tiles are gone from a specialised machine, so it is small enough to be optimised in earnest.
    return QUICK if program is not None and len(program.config) > MOST_TILES else ()


def _key(arch: Arch, constants: Mapping[tuple[int, int], int] | None) -> str:
    text = f"{arch.fingerprint:016x} {constants} {generator()}"
    return hashlib.sha256(text.encode()).hexdigest()
