"""Tiles folded to a program: modules of a tile library whose configuration is a constant, so that a tile is what it does.

A tile of a program is a tenth of the code of one that could do anything, and tiles that it does not use are left out. Each
configuration of a kind and parity is compiled once; the rest of the machine, and how it is joined, is the tile library's. There
is no configuration network, except for the contents of memories.

Input:   Arch, Program.
Output:  `Model`, kept in the cache, and every tile too, so that programs share those of equal configuration.
Errors:  as of `verilator`.
Cost:    a tile a second on one core.
"""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count
from pathlib import Path

from ...cache import Cache, home
from ...compiler.ir.program import Program
from ...hw import emit
from ...hw.arch.cgra import Arch
from ...hw.arch.tile import TileSpec
from ...hw.component import module_name, ports
from ...hw.configuration import MemoryWindow, packed
from ...hw.connectivity import Site
from ...hw.tile.tile import TileLogic
from . import library, verilator


def configurations(program: Program, arch: Arch) -> dict[Site, int]:
    """The configuration of every used tile as the number that its ``cfg`` port takes."""
    spaces = {site: arch.config_map(arch.tiles[site].kind) for site in program.config}
    return {site: packed(spaces[site], spaces[site].encode(values)) for site, values in sorted(program.config.items())}


def folded_name(logic: str, number: int) -> str:
    """The module of a tile with one configuration."""
    return f"{logic}_{hashlib.sha256(f'{number:x}'.encode()).hexdigest()[:16]}"


def folded_model(arch: Arch, program: Program, cache: Path | None = None) -> verilator.Model:
    """The executable of a machine with the tiles of a program; its arguments are those of `library.library_model`."""
    store = Cache(cache) if cache else home()
    began = time.perf_counter()
    configuration = configurations(program, arch)

    def make(folder: Path) -> None:
        memories = {(spec.sram_lines, spec.sram_lanes): None for spec in arch.tiles.values() if spec.has_memory}
        rest = [*(MemoryWindow(*memory) for memory in memories), *library.beside_tiles(arch)]
        library.link(folder, [*_tiles(arch, configuration, store), *library.built(rest, store)], store)

    made = store.once("models", _name(arch, configuration), make)
    return verilator.Model(made / "model", time.perf_counter() - began)


def is_built(arch: Arch, program: Program, cache: Path | None = None) -> bool:
    """Whether the model of a program is in the cache."""
    store = Cache(cache) if cache else home()
    return store.find("models", _name(arch, configurations(program, arch))) is not None


def _name(arch: Arch, configuration: Mapping[Site, int]) -> str:
    return f"folded-{library.digest(arch, str(configuration), Path(__file__).read_text())}"


def _tiles(arch: Arch, configuration: Mapping[Site, int], store: Cache) -> list[Path]:
    """The folders of the compiled tiles of a program, each once."""
    numbers: dict[tuple[TileSpec, int], set[int]] = {}
    for (x, y), number in configuration.items():
        numbers.setdefault((arch.tiles[x, y], x + y & 1), set()).add(number)
    tiles = [TileLogic(library.simulated(arch), *kind) for kind in numbers]
    with tempfile.TemporaryDirectory() as work, ThreadPoolExecutor(cpu_count() or 1) as pool:
        files = emit.emit_each(tiles, Path(work), store)
        jobs = [_folded(tile, each, number) for tile, each, configured in zip(tiles, files, numbers.values(), strict=True)
                for number in sorted(configured)]
        return list(pool.map(lambda job: library.compiled(job[-1].stem, job, store), jobs))


def _folded(tile: TileLogic, files: Sequence[Path], number: int) -> list[Path]:
    """The files of a tile, and one with a module around it that has its ports but ``cfg``, which is a number."""
    found = ports(tile)
    width = len(found.pop("cfg")[0])
    flows = [*(("input", 1, name) for name in ("clk", "rst")),
             *((direction.value, len(value), name) for name, (value, direction) in found.items())]
    logic = module_name(tile)
    name = folded_name(logic, number)
    lines = [f"module {name}(", ",\n".join(f"  {flow} [{bits - 1}:0] {port}" for flow, bits, port in flows), ");",
             f"  {logic} tile (", *(f"    .{port}({port})," for _, _, port in flows), f"    .cfg({width}'h{number:x})", "  );",
             "endmodule"]
    own = files[-1].with_name(f"{name}.sv")
    own.write_text("\n".join(lines) + "\n")
    return [*files, own]
