"""Measure components of an emitted machine: area by part, for each way to make registers with an enable, and worst paths.

Input:   a folder that `sardonyx verilog` wrote, the name of a component, a library.
Output:  `Measurement`.
Cost:    a PE tile 3 minutes, the row of four 12 minutes; again, what the cache holds: seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ...hw.arch.errors import UserError
from . import sram
from .library import Library
from .row import ROW, TILES, row
from .synthesis import Design, ModuleArea, Registers, areas, netlist, read_design
from .timing import Worst, least_period, worst_paths

COMPONENTS: Mapping[str, str] = {
    **{f"{kind}_{parity}": f"tile_{kind}_{parity}" for kind in ("pe", "mem", "io") for parity in ("odd", "even")},
    "glb": "glb_tile", "controller": "controller", "axi_data": "axi_data", "axi_lite": "axi_lite", ROW: ROW}
"""The module of each."""


@dataclass(frozen=True)
class Measurement:
    """What was measured of a component.

    Parameters
    ----------
    design : Design
    area, gated, latched : {str: ModuleArea}    By module, for each of `Registers`. Empty for the row.
    sram_um2 : float                   Estimate for the SRAMs, which none has.
    worst : {str: Worst}               By kind of path, with multiplexers.
    least_ps : float                   The shortest period with latches, setup included; 0 if timing was not asked for.
    """

    design: Design
    area: Mapping[str, ModuleArea]
    gated: Mapping[str, ModuleArea]
    latched: Mapping[str, ModuleArea]
    sram_um2: float
    worst: Mapping[str, Worst]
    least_ps: float

    @property
    def um2(self) -> float:
        return self.area[self.design.top].total

    @property
    def gated_um2(self) -> float:
        return self.gated[self.design.top].total

    @property
    def latched_um2(self) -> float:
        return self.latched[self.design.top].total


def component(folder: Path, name: str) -> Design:
    """A component of a machine that was written to a folder."""
    top = COMPONENTS.get(name, name)
    if top == ROW:
        parts = [read_design(folder, tile) for tile in TILES if (folder / f"{tile}.sv").exists()]
        modules = {module: text for part in parts for module, text in part.modules.items()}
        if len(parts) == len(TILES):
            return Design(ROW, {**modules, ROW: row(modules)})
    elif (folder / f"{top}.sv").exists():
        return read_design(folder, top)
    raise UserError(f"there is no module for '{name}'", str(folder), f"choose among {', '.join(COMPONENTS)}, or name a module")


def measure(design: Design, library: Library, area: bool = True, timing: bool = True) -> Measurement:
    """All areas and the paths, or some of it; the row is measured for its paths alone."""
    area = area and design.top != ROW
    enables, gates, latches = (areas(design, library, registers) if area else {} for registers in Registers)
    return Measurement(
        design, enables, gates, latches,
        sum(sram.area(name, library.family.name) for name in design.srams) if area else 0.0,
        worst_paths(design, netlist(design, library), library) if timing else {},
        least_period(design, netlist(design, library, Registers.LATCHES), library) if timing else 0.0)


def text(name: str, found: Measurement, points: bool = True) -> Iterator[str]:
    """What was measured, as lines to read."""
    if found.area:
        top = found.area[found.design.top]
        memory = f", SRAM (estimate) {found.sram_um2:.0f}" if found.sram_um2 else ""
        yield (f"{name}: {found.um2:.0f} um2, with clock gates {found.gated_um2:.0f}, "
               f"with latches {found.latched_um2:.0f}; flops {top.flops:.0f}{memory}")
        yield from _parts(found, found.design.top, 1, 1)
    if found.worst:
        yield f"{name}: " + ", ".join(f"{kind} {worst.ps:.0f} ps" for kind, worst in found.worst.items())
        yield f"{name}: shortest period with latches {found.least_ps:.0f} ps, setup included"
    for worst in found.worst.values() if points else ():
        yield f"  {worst.kind}: {worst.ps:.0f} ps, setup {worst.setup_ps:.0f} ps"
        yield from (f"    {point.ps:8.1f}  {point.pin}  ({point.cell})" for point in worst.points)


def _parts(found: Measurement, module: str, count: int, depth: int) -> Iterator[str]:
    """The modules below one, the largest first: how many, of what size together, of which its own logic."""
    here = found.area[module]
    def size(name: str) -> float:
        return found.area[name].total * here.parts[name]
    for name in sorted((name for name in here.parts if name in found.area), key=size, reverse=True):
        number = count * here.parts[name]
        part = found.area[name]
        gated, latched = (other[name].total * number if name in other else 0.0 for other in (found.gated, found.latched))
        yield (f"{'  ' * depth}{number:3} {name}: {part.total * number:.1f} um2, own logic {part.own * number:.1f}, "
               f"flops {part.flops * number:.1f}; with clock gates {gated:.1f}, with latches {latched:.1f}")
        yield from _parts(found, name, number, depth + 1)
