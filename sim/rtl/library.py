"""The tile library: every module of a machine that simulation needs, compiled once, so that a new program builds nothing.

Each kind and parity of tile, what stands beside a column, and the shell are built by Verilator one by one from the Verilog that
`hw.emit` writes. One executable holds them all and joins instances of them by a list of wires (`stitch`).

Two forms: tiles whose configuration is an input, for programs; and tiles with configuration registers, for the whole machine.

Input:   Arch.
Output:  `Model`, kept in the cache. Modules are kept too, so that machines of other sizes share them.
Errors:  as of `verilator`.
Cost:    onyx, cold, on two slow cores: 77 s; the other form of it 31 s more. A machine of other sizes shares the tiles.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from amaranth.lib import wiring

from ...cache import Cache, home
from ...hw import emit
from ...hw.arch.cgra import Arch
from ...hw.column import Column
from ...hw.configuration import MemoryWindow
from ...hw.kept import generator
from ...hw.soc.shell import Shell
from ...hw.tile.tile import Tile, TileLogic
from . import verilator
from .folding import HARNESS

HERE = Path(__file__).parent
KIND, STITCHED = HERE / "kind.h", HERE / "stitched.h"
OPTIMIZE = 1
# Ports as Verilator declares them: VL_IN8(&name,msb,lsb) up to 64 bits, VL_INW(&name,msb,lsb,words) beyond.
_PORT = re.compile(r"VL_(?:IN|OUT)(?:8|16|64|W)?\(&(\w+),")


def modules(arch: Arch, registers: bool) -> dict[str, wiring.Component]:
    """The modules of a library by name, the shell last; registers: tiles have configuration registers."""
    found: dict[str, wiring.Component] = {}
    for (x, y), spec in arch.tiles.items():
        name = f"{spec.kind} {x + y & 1}"
        if name not in found:
            found[name] = (Tile if registers else TileLogic)(arch, spec, x + y & 1)
            if spec.has_memory and not registers:
                found["window"] = MemoryWindow(spec.sram_lines, spec.sram_lanes)
    found["column"] = Column(arch.rows + 1)
    found["shell"] = Shell(arch)
    return {emit.module_name(component): component for component in found.values()}


def library_model(arch: Arch, registers: bool, cache: Path | None = None) -> verilator.Model:
    """The executable of a machine's library; its arguments are those of `machine.cpp` and a list of wires."""
    store = Cache(cache) if cache else home()
    name = _name(arch, registers)
    if found := store.find("tiles", name):
        return verilator.Model(found / "model", 0.0)
    began = time.perf_counter()

    def make(folder: Path) -> None:
        (folder / "simulation.h").write_text(f'#include "{STITCHED}"\n')
        parts = modules(arch, registers)
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            built = dict(zip(parts, pool.map(lambda part: _module(part, store), parts.values()), strict=True))
        main = folder / "main.o"
        verilator.compile_source(HARNESS, main, (folder, HERE, built["shell"]), optimize=OPTIMIZE)
        objects = [file for module in built.values() for file in sorted(module.glob("*.o"))]
        verilator.link([main, *objects], folder / "model", store)
        main.unlink()
        (folder / "verilog").mkdir()
        for module in built.values():
            for file in (module / "verilog").iterdir():
                shutil.copy(file, folder / "verilog")

    return verilator.Model(store.once("tiles", name, make) / "model", time.perf_counter() - began)


def _name(arch: Arch, registers: bool) -> str:
    sources = [path.read_text() for path in (HARNESS, KIND, STITCHED, Path(__file__))]
    return "-".join(("whole" if registers else "tiles",
                     verilator.build_digest(f"{arch.fingerprint:016x}", generator(), *sources)))


def _module(component: wiring.Component, store: Cache) -> Path:
    """The folder of a compiled module: its objects, headers and Verilog."""
    name = emit.module_name(component)
    with tempfile.TemporaryDirectory() as work:
        files = emit.emit(component, Path(work), store)
        text = "\0".join(file.read_text() for file in files)
        digest = verilator.build_digest(name, text, KIND.read_text(), Path(__file__).read_text())

        def make(folder: Path) -> None:
            verilog = folder / "verilog"
            shutil.copytree(work, verilog)
            generated = folder / "generated"
            verilator.verilate([verilog / file.name for file in files], name, generated)
            code = "".join(file.read_text() for file in sorted(generated.glob("*.cpp")))
            own = _adapter(name, (generated / f"V{name}.h").read_text(), code)
            objects = verilator.compile_generated(generated, name, own, optimize=OPTIMIZE, cache=store)
            for file in (*objects, *generated.glob("*.h")):
                shutil.move(file, folder / file.name)
            shutil.rmtree(generated)

        return store.once("modules", f"{name}-{digest}", make)


def _adapter(name: str, header: str, code: str) -> str:
    """The C++ that makes a module a `Kind`.

    It calls the two functions of which Verilator's `eval` consists, one for what follows inputs and one for a clock edge: so a
    part settles only where an input changed, and an edge costs half.
    """
    root = f"V{name}___024root"
    assert f"{root}___eval_act(" not in code, "what reacts to a clock within a time step has no place in a synchronous design"
    settles, clocks = (f"{root}___eval_{region}(" in code for region in ("ico", "nba"))
    assert settles, f"module {name} has outputs that follow inputs, its ready if nothing else"
    ports = "\n".join(f'    kind.ports["{port.replace("___05F", "__")}"] = {{offsetof({root}, {port}), '
                      f"sizeof({root}::{port})}};" for port in _PORT.findall(header))
    clock = f"""[](void* state) {{
        (({root}*)state)->__VnbaTriggered[0U] = 1U;
        {root}___eval_nba(({root}*)state);
        (({root}*)state)->__VnbaTriggered[0U] = 0U;
    }}""" if clocks else "nullptr"
    return f"""#include "{KIND}"
#include "V{name}.h"
#include "{root}.h"
void {root}___eval_ico({root}*);
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
    kind.make = make;
    kind.settle = [](void* state) {{
        (({root}*)state)->__VicoTriggered[0U] = 1U;
        {root}___eval_ico(({root}*)state);
    }};
    kind.clock = {clock};
    return true;
}}();
"""
