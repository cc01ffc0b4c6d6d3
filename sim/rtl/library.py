"""The tile library: every module of a machine that simulation needs, compiled once, so that a new program builds nothing.

Each kind and parity of tile, what stands beside a column, the GLB tile and the shell are built by Verilator one by one from the
Verilog that `hw.emit` writes. One executable holds them all and joins instances of them by a list of wires (`stitch`). Programs
are configured over the buses, as in hardware.

Input:   Arch.
Output:  `Model`, kept in the cache. Modules are kept too, so that machines of other sizes share them.
Errors:  as of `verilator`.
Cost:    onyx, cold, on two cores: 45 s. A machine of other sizes shares the tiles.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from amaranth.lib import wiring

from ...cache import Cache, home
from ...hw import emit
from ...hw.arch.cgra import Arch
from ...hw.arch.glb import ENABLE
from ...hw.arch.mask import Mask
from ...hw.arch.timing import Timing
from ...hw.column import Column
from ...hw.connectivity import reports
from ...hw.glb.tile import GlbTile
from ...hw.kept import identity
from ...hw.soc.crossing import HostSide, MachineSide
from ...hw.soc.host import Host
from ...hw.soc.shell import Shell
from ...hw.tile.tile import Tile
from . import activity, verilator

HERE = Path(__file__).parent
HARNESS, SYSTEM = HERE / "machine.cpp", HERE / "system.cpp"
KIND = HERE / "kind.h"
# What main programs include, `STITCHED` by another name.
STITCHED = HERE / "stitched.h"
HEADERS = (KIND, STITCHED, *(HERE / f"{name}.h" for name in ("wires", "counted", "pipe", "outside")))
COUNTED = HERE / "activity.py"
# The package that the processor's Verilog comes from.
PROCESSOR = "pythondata-cpu-picorv32"
OPTIMIZE = 1
# Arrays as Verilator declares them, and how many elements make one a memory.
_ARRAY = re.compile(r"VlUnpacked<[^<>]*, (\d+)> (\w+);")
_MEMORY = 64
# The function with which Verilator checks that inputs have no bits beyond their width.
_CHECKS = re.compile(r"^void \w+___eval_debug_assertions\(.*?^}$", re.M | re.S)
# Ports as Verilator declares them: VL_IN8(&name,msb,lsb) up to 64 bits, VL_INW(&name,msb,lsb,words) beyond.
_PORT = re.compile(r"VL_(?:IN|OUT)(?:8|16|64|W)?\(&(\w+),")


def modules(arch: Arch) -> list[wiring.Component]:
    """The modules of a machine, each once, the shell last."""
    arch = simulated(arch)
    tiles = {(spec, x + y & 1): None for (x, y), spec in arch.tiles.items()}
    return [*(Tile(arch, *kind) for kind in tiles), *beside_tiles(arch)]


def beside_tiles(arch: Arch) -> list[wiring.Component]:
    """The modules of a machine that are not tiles, the shell last."""
    arch = simulated(arch)
    return [Column(arch.rows + 1, arch.config_rows, reports(arch), arch.column_stall), GlbTile(arch.glb), Shell(arch)]


def simulated(arch: Arch) -> Arch:
    """The machine of which modules are made: what is joined has one clock, so gated parts are those with enables, which do the
    same in every cycle."""
    return replace(arch, glb=replace(arch.glb, clock_gates=ENABLE))


def library_model(arch: Arch, cache: Path | None = None, counting: bool = False) -> verilator.Model:
    """The executable of a machine; its arguments are those of `machine.cpp` and a list of wires.

    counting: it counts what moves (`activity`), which takes a build of its own and twice the time.
    """
    store = Cache(cache) if cache else home()
    name = f"counting-{digest(arch, COUNTED.read_text())}" if counting else f"library-{digest(arch)}"
    if found := store.find("tiles", name):
        return verilator.Model(found / "model", 0.0)
    began = time.perf_counter()

    def make(folder: Path) -> None:
        link(folder, built(modules(arch), store, counting), store)

    return verilator.Model(store.once("tiles", name, make) / "model", time.perf_counter() - began)


def system_model(arch: Arch, cache: Path | None = None) -> verilator.Model:
    """The executable of a machine and the host in front of it; its arguments are those of `system.cpp` and a list of wires."""
    store = Cache(cache) if cache else home()
    began = time.perf_counter()

    def make(folder: Path) -> None:
        crossing = [HostSide(regions=arch.regions), MachineSide(regions=arch.regions)] if arch.system.own_clock else []
        link(folder, built([*modules(arch), *crossing, Host(arch.system, arch.regions)], store), store, SYSTEM)

    name = f"system-{digest(arch, SYSTEM.read_text(), importlib.metadata.version(PROCESSOR))}"
    if found := store.find("tiles", name):
        return verilator.Model(found / "model", 0.0)
    return verilator.Model(store.once("tiles", name, make) / "model", time.perf_counter() - began)


def digest(arch: Arch, *parts: str) -> str:
    """What identifies an executable of modules of a machine, and of what else decides it."""
    sources = [path.read_text() for path in (HARNESS, *HEADERS, Path(__file__))]
    # All that a description says of modules; its fingerprint says what their cycles show, which is less.
    described = identity(replace(arch, name="any", timing=Timing(), feed_through=False, avoid=Mask()))
    assert described is not None, "a machine has operations of the table only"
    return verilator.build_digest(described, *parts, *sources)


def built(components: Iterable[wiring.Component], store: Cache, counting: bool = False) -> list[Path]:
    """The folders of compiled modules, in order: objects and Verilog of each; counting: see `library_model`."""
    components = list(components)
    with tempfile.TemporaryDirectory() as work, ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        pool.submit(verilator.prepare, store)   # while Amaranth works on one core
        files = emit.emit_each(components, Path(work), store)
        return list(pool.map(lambda each: compiled(each[-1].stem, each, store, counting), files))


def link(folder: Path, parts: Sequence[Path], store: Cache, harness: Path = HARNESS) -> None:
    """Make the executable ``model`` of the folders of modules, and a folder of their Verilog beside it."""
    main = _main(store, harness) / "main.o"
    verilator.link([main, *(file for part in parts for file in sorted(part.glob("*.o")))], folder / "model", store)
    (folder / "verilog").mkdir()
    for part in parts:
        for file in (part / "verilog").iterdir():
            shutil.copy(file, folder / "verilog")


def _main(store: Cache, harness: Path) -> Path:
    """The folder of the compiled main program of all machines."""
    def make(folder: Path) -> None:
        (folder / "simulation.h").write_text(f'#include "{STITCHED}"\n')
        verilator.compile_source(harness, folder / "main.o", (folder, HERE), optimize=OPTIMIZE)

    sources = [path.read_text() for path in (harness, *HEADERS)]
    return store.once("modules", f"main-{verilator.build_digest(str(OPTIMIZE), *sources)}", make)


def compiled(name: str, files: Sequence[Path], store: Cache, counting: bool = False) -> Path:
    """The folder of a compiled module called `name` in Verilog files; counting: see `library_model`."""
    modules = {file.stem: file.read_text() for file in files} if counting else {}
    kept, counted = activity.control(modules.items()), list(activity.sources(name, modules)) if counting else []
    texts = (f"{file.name}\0{file.read_text()}" for file in files)

    def make(folder: Path) -> None:
        verilog, generated = folder / "verilog", folder / "generated"
        verilog.mkdir()
        for file in files:
            shutil.copy(file, verilog)
        named = [verilog / file.name for file in files]
        if counting:
            named = [folder / "kept.vlt", *named]
            named[0].write_text(kept)
        verilator.verilate(named, name, generated)
        code = "".join(file.read_text() for file in sorted(generated.glob("*___024root__*.cpp"))
                       if not file.name.endswith("__Slow.cpp"))
        header, state = ((generated / f"V{name}{part}.h").read_text() for part in ("", "___024root"))
        own = _adapter(name, header, state, code, counted)
        objects = verilator.compile_generated(generated, name, own, optimize=OPTIMIZE, cache=store)
        for file in objects:
            shutil.move(file, folder / file.name)
        shutil.rmtree(generated)

    how = [kept, *map(str, counted)] if counting else []
    key = verilator.build_digest(name, *texts, KIND.read_text(), Path(__file__).read_text(), *how)
    return store.once("modules", f"{name}-{key}", make)


def _adapter(name: str, header: str, state: str, code: str, counted: Sequence[activity.Source | activity.Memory]) -> str:
    """The C++ that makes a module a `Kind`.

    It calls the two functions of which Verilator's `eval` consists, one for what follows inputs and one for a clock edge: so a
    part settles only where an input changed, and an edge costs half.
    """
    root = f"V{name}___024root"
    assert f"{root}___eval_act(" not in code, "what reacts to a clock within a time step has no place in a synchronous design"
    settles, clocks = (f"{root}___eval_{region}(" in code for region in ("ico", "nba"))
    # What folding has left of a tile may neither read an input nor write an output after the first time.
    live = set(re.findall(r"\w+", _CHECKS.sub("", code)))
    ports = "\n".join(f'    kind.ports["{port.replace("___05F", "__")}"] = {{{{offsetof({root}, {port}), '
                      f"sizeof({root}::{port})}}, {str(port in live).lower()}}};" for port in _PORT.findall(header))
    settle = f"""
        (({root}*)state)->__VicoTriggered[0U] = 1U;
        {root}___eval_ico(({root}*)state);
    """ if settles else ""
    memories = "\n".join(f"    kind.memories.push_back({{offsetof({root}, {array}), sizeof({root}::{array})}});"
                         for count, array in _ARRAY.findall(state) if int(count) > _MEMORY)
    clock = f"""[](void* state) {{
        (({root}*)state)->__VnbaTriggered[0U] = 1U;
        {root}___eval_nba(({root}*)state);
        (({root}*)state)->__VnbaTriggered[0U] = 0U;
    }}""" if clocks else "nullptr"
    return f"""#include "{KIND}"
#include "V{name}.h"
#include "{root}.h"
{f"void {root}___eval_ico({root}*);" if settles else ""}
{f"void {root}___eval_nba({root}*);" if clocks else ""}

static void* make() {{
    static VerilatedContext context;
    auto* model = new V{name}(&context, "{name}");
    model->eval();
    return model->rootp;
}}

static const bool registered = [] {{
    Kind& kind = kinds()["{name}"];
    kind.bytes = sizeof({root});
{ports}
{memories}
{_counted(root, counted)}
    kind.make = make;
    kind.settle = [](void* state) {{{settle}}};
    kind.clock = {clock};
    return true;
}}();
"""


def _counted(root: str, counted: Sequence[activity.Source | activity.Memory]) -> str:
    """The lines of the adapter that say what is counted."""
    def place(member: str) -> str:
        return f"{{offsetof({root}, {member}), sizeof({root}::{member})}}"

    numbers = {module: number for number, module in enumerate(dict.fromkeys(each.module for each in counted))}
    lines = [f'    kind.modules.push_back("{module}");' for module in numbers]
    for each in counted:
        number = numbers[each.module]
        if isinstance(each, activity.Source):
            lines.append(f"    kind.sources.push_back({{{place(each.member)}, {number}, {each.words}, {each.width}}});")
        else:
            lines.append(f"    kind.accessed.push_back({{{place(each.enable)}, {place(each.write)}, {number}}});")
    return "\n".join(lines)
