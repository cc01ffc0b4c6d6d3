"""The papers' comparisons: pairs of machines of which the second has what the first lacks, and what is compared of them.

Sources: Onyx JSSC III-D (SplitFIFO), V-B and VI-A (sparse tiles, specialised operations, controllers of the MEM tile);
IEEE Micro, Hardware Overhead (what copies need to share links).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ...hw import emit
from ...hw.arch.cgra import Arch
from ...hw.arch.glb import CELL
from ...hw.arch.interconnect import Interconnect
from ...hw.arch.presets import get
from ...hw.arch.primitive import ALU, BUFFER, DIVIDER, LEVEL, SCATTER, SHARING_PRIMITIVES
from ...hw.arch.tile import PE
from ...hw.tile.tile import Tile
from . import sram
from .delays import HOP, delays, through_tile
from .library import Library
from .synthesis import ModuleArea, Registers, areas, read_design

_AMBER, _ONYX = get("amber"), get("onyx")
# Amber's operations have two operands.
_PLAIN = replace(PE, ops=tuple(op for op in PE.ops if "c" not in op.operands))
_STATIC = Interconnect(fifo="none")
# The papers have no accumulator in a MEM tile: they make one of several tiles; nor a locator, nor levels read as they arrive.
_SPARSE = replace(_ONYX.mem, primitives=(LEVEL, BUFFER), locate=False, early=False)

VARIANTS: Mapping[str, Arch] = {
    "onyx": _ONYX,
    "sparse MEM": replace(_ONYX, mem=_SPARSE),
    "no locators": replace(_ONYX, mem=replace(_ONYX.mem, locate=False)),
    "power domains": replace(_ONYX, power_domains=True),
    "regions": replace(_ONYX, regions=4),
    "shared links": replace(_ONYX, pe=replace(_ONYX.pe, primitives=(*_ONYX.pe.primitives, *SHARING_PRIMITIVES))),
    "dividers": replace(_ONYX, pe=replace(_ONYX.pe, primitives=(*_ONYX.pe.primitives, DIVIDER))),
    "whole levels": replace(_ONYX, mem=replace(_ONYX.mem, early=False)),
    "scatter": replace(_ONYX, mem=replace(_ONYX.mem, primitives=(*_ONYX.mem.primitives, SCATTER))),
    "column stall": replace(_ONYX, column_stall=True),
    "column stall, clock gates": replace(_ONYX, column_stall=True, glb=replace(_ONYX.glb, clock_gates=CELL)),
    "counters": replace(_ONYX, counter_bits=32),
    "two-entry FIFOs": replace(_ONYX, interconnect=Interconnect(fifo="full")),
    "dense PE": replace(_AMBER, pe=replace(_PLAIN, primitives=(ALU,))),
    "plain PE": replace(_ONYX, pe=_PLAIN),
    "dense MEM": replace(_ONYX, mem=replace(_ONYX.mem, primitives=(BUFFER,)), interconnect=_STATIC),
    "dense MEM, controllers of amber": replace(_AMBER, interconnect=_STATIC),
    "sparse MEM, controllers of amber": replace(_ONYX, mem=replace(_AMBER.mem, primitives=_SPARSE.primitives)),
}

@dataclass(frozen=True)
class Comparison:
    """A claim of the papers.

    Parameters
    ----------
    name, claim : str     Name on the command line; what is said to change, and where.
    paper : str           The papers' figure.
    before, after : str   Of `VARIANTS`.
    kind : str            Kind of tile.
    part : str            ``tile``, ``tile with SRAM``, or ``boxes`` of both layers.
    """

    name: str
    claim: str
    paper: str
    before: str
    after: str
    kind: str
    part: str


COMPARISONS = (
    Comparison("split_fifo", "SplitFIFO against two-entry FIFOs (JSSC III-D)", "-13 %",
               "two-entry FIFOs", "onyx", "pe", "boxes"),
    Comparison("pe_sparse", "PE with sparse primitives and ready/valid against a dense PE (VI-A)", "+37 %",
               "dense PE", "plain PE", "pe", "tile"),
    Comparison("pe_specialised", "PE with operations of three operands against the PE before (VI-A)", "+17 %",
               "plain PE", "onyx", "pe", "tile"),
    Comparison("pe_sharing", "PE with filter, arbiter and dispatcher against the PE before (Micro: an arbiter)", "+0.86 %",
               "onyx", "shared links", "pe", "tile"),
    Comparison("pe_divide", "PE with a divider of integers against the PE before (no paper has one)", "",
               "onyx", "dividers", "pe", "tile"),
    Comparison("mem_locate", "MEM with locators for dense levels against the MEM before (no paper says what one takes)", "",
               "no locators", "onyx", "mem", "tile with SRAM"),
    Comparison("mem_early", "MEM whose levels are read while they arrive against the MEM before (no paper has one)", "",
               "whole levels", "onyx", "mem", "tile with SRAM"),
    Comparison("mem_scatter", "MEM that scatters values into dense levels against the MEM before (no paper has one)", "",
               "onyx", "scatter", "mem", "tile with SRAM"),
    Comparison("mem_sparse", "MEM with sparse primitives and ready/valid against a dense MEM (VI-A)", "+27 %",
               "dense MEM", "sparse MEM", "mem", "tile with SRAM"),
    Comparison("mem_controllers", "controllers of `onyx` against those of `amber`, dense MEM (VI-A)", "-19 %",
               "dense MEM, controllers of amber", "dense MEM", "mem", "tile with SRAM"),
    Comparison("mem_controllers_sparse", "the same in a MEM with sparse primitives (V-B)", "-24 %",
               "sparse MEM, controllers of amber", "sparse MEM", "mem", "tile with SRAM"),
)
DOMAINS = (
    Comparison("domains_pe", "boundary protection and switch of a PE (Amber JSSC III-A)", "< +1 %",
               "onyx", "power domains", "pe", "tile"),
    Comparison("domains_mem", "the same of a MEM", "< +1 %", "onyx", "power domains", "mem", "tile with SRAM"),
    Comparison("walls_pe", "walls between regions, PE (no paper has them)", "", "onyx", "regions", "pe", "tile"),
    Comparison("walls_mem", "the same of a MEM", "", "onyx", "regions", "mem", "tile with SRAM"),
    Comparison("stall_pe", "columns that can be stalled, by enables, PE (no paper has it)", "", "onyx", "column stall", "pe",
               "tile"),
    Comparison("stall_mem", "the same of a MEM", "", "onyx", "column stall", "mem", "tile with SRAM"),
    Comparison("stall_gate_pe", "the same, by a clock gate a tile, PE", "", "onyx", "column stall, clock gates", "pe", "tile"),
    Comparison("stall_gate_mem", "the same of a MEM", "", "onyx", "column stall, clock gates", "mem", "tile with SRAM"),
    Comparison("counters_pe", "performance counters of 32 bits, PE (no paper has them)", "", "onyx", "counters", "pe", "tile"),
    Comparison("counters_mem", "the same of a MEM", "", "onyx", "counters", "mem", "tile with SRAM"),
)


def with_options(arch: Arch) -> tuple[Arch, Arch]:
    """A machine with all at once that presets lack, of which the energies are to be known, too, and one that can be stalled.

    The second one has modules of the first one with enables, and what only it has. Tiles do not abut: simulation joins others.
    """
    options = replace(
        arch, power_domains=True, regions=4, counter_bits=32, memory_readback=True,
        pe=replace(arch.pe, primitives=(*arch.pe.primitives, *SHARING_PRIMITIVES, DIVIDER), reduce_max=True),
        mem=replace(arch.mem, primitives=(*arch.mem.primitives, SCATTER)),
        glb=replace(arch.glb, ring=8, queue=True, numbered=True, listed=True, packed=True, kept_bytes=1024))
    return options, replace(options, column_stall=True)


@dataclass(frozen=True)
class Change:
    """um2 before and after, the mean of odd and even tiles."""

    before: float
    after: float

    def __str__(self) -> str:
        return f"{100 * (self.after / self.before - 1):+.1f} %, {self.before:.0f} to {self.after:.0f}"


def compare(each: Comparison, library: Library, folder: Path, registers: Registers) -> Change:
    """What a claim comes to with registers made in one way on both sides; Verilog is written below the folder."""
    return Change(*(_um2(variant, each, library, folder / variant.replace(" ", "_"), registers)
                    for variant in (each.before, each.after)))


def hops(library: Library, folder: Path) -> dict[str, dict[str, float]]:
    """The delays of a hop in picoseconds: of `onyx`, with power domains, with columns that can be stalled by enables.

    Verilog is written below the folder.
    """
    found: dict[str, dict[str, float]] = {}
    for variant in ("onyx", "power domains", "column stall"):
        _emitted(variant, "pe", folder / variant.replace(" ", "_"))
        each = delays(folder / variant.replace(" ", "_"), library, HOP)
        found[variant] = {field: worst.ps for field, worst in each.items()}
    return found


def walls(library: Library, folder: Path) -> dict[str, dict[str, float]]:
    """What walls between regions delay, in picoseconds: of `onyx`, and with four regions.

    Verilog is written below the folder.
    """
    found: dict[str, dict[str, float]] = {}
    for variant in ("onyx", "regions"):
        place = folder / variant
        _emitted(variant, "pe", place)
        found[variant] = {name: worst.ps for name, worst in through_tile(place, library).items()}
    return found


def _emitted(variant: str, kind: str, folder: Path) -> None:
    arch = VARIANTS[variant]
    emit.emit_each([Tile(arch, getattr(arch, kind), parity) for parity in (0, 1)], folder)


def _um2(variant: str, each: Comparison, library: Library, folder: Path, registers: Registers) -> float:
    _emitted(variant, each.kind, folder)
    both = []
    for parity in ("even", "odd"):
        design = read_design(folder, f"tile_{each.kind}_{parity}")
        found = areas(design, library, registers)
        memory = sum(sram.area(name, library.family.name) for name in design.srams)
        both.append(_boxes(found) if each.part == "boxes" else
                    found[design.top].total + (memory if each.part == "tile with SRAM" else 0.0))
    return sum(both) / len(both)


def _boxes(found: Mapping[str, ModuleArea]) -> float:
    return sum(area.total for name, area in found.items() if name.startswith("boxes_"))
