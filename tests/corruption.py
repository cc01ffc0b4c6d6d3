"""Tiles that corrupt: what leaves the switched domain of a tile that is off is unknown, and so is what it keeps.

The module `TileLogic` of each kind and parity gets a module of its ports around it. While ``power.on`` is 0 nothing that enters
reaches what is inside, and nothing inside is seen: both are replaced by X, or by random bits that change every cycle where a
simulator knows two states.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from sardonyx.cache import home
from sardonyx.hw import emit
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.tile import POWER
from sardonyx.hw.emitted import ports
from sardonyx.hw.tile.tile import logic_name
from sardonyx.sim.rtl import library, stitch
from sardonyx.sim.rtl.simulator import Simulator
from sardonyx.sim.rtl.verilator import Model

UNKNOWN, RANDOM = "unknown", "random"


def corrupted(files: Sequence[Path], arch: Arch, what: str) -> list[Path]:
    """The files of a machine, or of a part of it, with such tiles; those that change are written anew in place."""
    logics = {logic_name(spec, x + y & 1): spec.kind for (x, y), spec in arch.tiles.items()}
    found = []
    for file in files:
        if file.stem in logics:
            layout = arch.config_map(logics[file.stem]).layout
            at = layout[POWER.name].offset + POWER.layout["on"].offset
            text = file.read_text()
            inside = text.replace(f"module {file.stem} (", f"module {file.stem}_inside (")
            assert inside != text, "the module is called as its file"
            (file.parent / f"{file.stem}_inside.sv").write_text(inside)
            file.write_text(_around(file.stem, text, at, what))
            found.append(file.parent / f"{file.stem}_inside.sv")
        found.append(file)
    return found


def _around(name: str, text: str, at: int, what: str) -> str:
    """A module with the ports of one, which it hides while bit `at` of its configuration is 0."""
    heads, lines, pins, low = [], [], [".clk(clk)"], 0
    for port in ports(text):
        heads.append(f"  {port.flow} wire [{port.bits - 1}:0] {port.name}")
        if port.name == "clk":
            continue
        inner, unknown = f"inside_{port.name}", f"unknown[{low} +: {port.bits}]"
        seen, hidden = (inner, port.name) if port.flow == "input" else (port.name, inner)
        declared = f"  wire [{port.bits - 1}:0] {inner}"
        lines += [f"{declared};", f"  assign {seen} = on ? {hidden} : {unknown};"]
        pins.append(f".{port.name}({inner})")
        low += port.bits
    words = -(-low // 32)
    source = {UNKNOWN: f"  wire [{32 * words - 1}:0] unknown = {{{32 * words}{{1'bx}}}};",
              RANDOM: f"  reg [{32 * words - 1}:0] unknown;\n"
                      f"  always @(posedge clk) unknown <= {{{', '.join(['$urandom'] * words)}}};"}[what]
    joined = ",\n".join(heads)
    return "\n".join([f"module {name} (\n{joined}\n);", f"  wire on = cfg[{at}];", source, *lines,
                      f"  {name}_inside logic_inside ({', '.join(pins)});", "endmodule", ""])


def corrupting_machine(arch: Arch) -> Simulator:
    """A machine of a tile library whose tiles corrupt, with random bits."""
    store = home()

    def make(folder: Path) -> None:
        components = library.modules(arch)
        with tempfile.TemporaryDirectory() as work:
            each = [corrupted(files, arch, RANDOM) for files in _apart(components, Path(work))]
            library.link(folder, [library.compiled(files[-1].stem, files, store) for files in each], store)

    name = f"corrupting-{library.digest(arch, Path(__file__).read_text())}"
    return Simulator(arch, Model(store.once("tiles", name, make) / "model", 0.0), stitch.wire_list(arch), "corrupting")


def _apart(components: Sequence[object], work: Path) -> list[list[Path]]:
    """The files of each component in a folder of its own: parts that they share are written anew in each."""
    return [emit.emit(component, work / str(number)) for number, component in enumerate(components)]  # type: ignore[arg-type]
