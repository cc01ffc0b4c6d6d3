"""What open ASIC flows need beside the Verilog: constraints (SDC) and configurations of OpenROAD's flow scripts (ORFS).

Output:  ``sardonyx.sdc`` and ``<module>.mk`` for the machine and for each kind and parity of tile, to be used as
         ``make -C OpenROAD-flow-scripts/flow DESIGN_CONFIG=$PWD/tile_pe_odd.mk``. SRAMs are black boxes until a platform has
         macros: docs/asic.md says where they go. ``latches.v`` and ``latches.tcl``, for Yosys, make words latches.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from pathlib import Path

from ...hw.arch.cgra import Arch
from ...hw.interconnect.stage import PARITIES
from .synthesis import GATE, LATCH_RULES, LATCH_STEPS, read_design

SDC, LATCHES = "sardonyx.sdc", "latches.tcl"
TOP = "sardonyx"
CORE_UTILIZATION = 50   # percent of a place that cells fill
_SKY130_TIMES = 20      # gates of 130 nm against those of 7 nm, roughly


def period_ps(arch: Arch) -> int:
    """What the description says a hop costs: out of a core, through the boxes of an even tile, into the next core."""
    return arch.timing.pe + arch.timing.switch_box + arch.timing.connection_box


def sdc() -> str:
    """Constraints for the machine and for its tiles: one clock, half a period at each side of the border, what never moves."""
    return """\
# Constraints of the machine and of its tiles: one clock, synchronous reset, active high.
#
# CLOCK_PERIOD, in the library's unit of time, comes from the configuration of the flow.
set clk_period $::env(CLOCK_PERIOD)
create_clock -name clk -period $clk_period [get_ports clk]

# Half a period belongs to the outside: an output of one tile is an input of the next. Reset comes from a register.
set inputs {}
foreach port [all_inputs] {
  if {[get_property $port full_name] ne "clk"} { lappend inputs $port }
}
set_input_delay [expr {$clk_period / 2.0}] -clock clk $inputs
set outputs {}
foreach port [all_outputs] {
  if {[get_property $port full_name] ne "s_clk"} { lappend outputs $port }
}
set_output_delay [expr {$clk_period / 2.0}] -clock clk $outputs

# The row of a tile is tied outside of it.
foreach name {tile_y cut} {
  set ports [get_ports -quiet "${name}*"]
  if {[llength $ports] > 0} { set_false_path -from $ports }
}

# Configuration is written while no program runs, and a flush precedes each run: what it selects in a tile is at rest by then.
# Reading it back is none of these paths: that ends in the registers of the channel. The same holds for which region a column is
# of, as long as nothing goes on there. Flat and hierarchical names.
foreach {from to} {
  *registers.cfg* *tile_logic.* */registers/cfg* */tile_logic/* *owners.owner* *tile_logic.* */owners/owner* */tile_logic/*
} {
  set selected [get_cells -quiet $from]
  set moved [get_cells -quiet $to]
  if {[llength $selected] > 0 && [llength $moved] > 0} { set_false_path -from $selected -to $moved }
}
"""


def latches() -> str:
    """What Yosys does between elaboration and synthesis, so that words are latches."""
    def word(each: str) -> str:
        # Tcl would take the names of cells for variables; the rules stand beside this file.
        return "$rules" if each == LATCH_RULES.name else f"{{{each}}}" if "$" in each else each

    steps = "\n".join(f"yosys {' '.join(map(word, step.split()))}" for step in ("proc", "opt", "memory -nomap", *LATCH_STEPS))
    return f"""\
# Words of configuration, register files and FIFOs become latches, as {LATCH_RULES.name} says: source this after `hierarchy`.
# OpenROAD's flow scripts do where SYNTH_CANONICALIZE_TCL is the path of this file.
if {{![info exists ::env(CLKGATE_MAP_FILE)]}} {{
  error "CLKGATE_MAP_FILE is not set: give a file with the clock gate of the platform as module {GATE} (CK, E, GCK)"
}}
set rules [file join [file dirname [info script]] {LATCH_RULES.name}]
{steps}
# `hierarchy` has removed it, as nothing used it.
yosys read_verilog -overwrite $::env(CLKGATE_MAP_FILE)
"""


def config_mk(top: str, files: Iterable[str], period: int) -> str:
    """The configuration of ORFS for one module, from the files of it and those below."""
    sources = " \\\n  ".join(f"$(HERE){name}" for name in files)
    return f"""\
# OpenROAD-flow-scripts: make DESIGN_CONFIG=this file. The period is that of the delays in arch.json, without wires.
HERE := $(dir $(abspath $(lastword $(MAKEFILE_LIST))))

export DESIGN_NAME = {top}
export PLATFORM ?= asap7
export VERILOG_FILES = {sources}
export SDC_FILE = $(HERE){SDC}
# asap7 counts picoseconds, the others nanoseconds.
export CLOCK_PERIOD ?= $(if $(filter asap7,$(PLATFORM)),{period},{period * _SKY130_TIMES / 1000:g})
export CORE_UTILIZATION ?= {CORE_UTILIZATION}
export PLACE_DENSITY_LB_ADDON ?= 0.10
"""


def _tiles(form: str) -> tuple[str, ...]:
    return tuple(f"{form}_{kind}_{parity}" for kind, parity in product(("pe", "mem", "io"), PARITIES))


MODULES = (TOP, *_tiles("tile"))
"""The modules that are hardened by themselves, where tiles do not abut."""
ABUTTED = (TOP, *_tiles("abutted"))
"""The same where they do."""
NAMES = (SDC, LATCHES, LATCH_RULES.name, *(f"{name}.mk" for name in dict.fromkeys(MODULES + ABUTTED)))


def flow_files(arch: Arch, folder: Path) -> dict[str, str]:
    """Every file by its name, for a machine whose Verilog is in a folder; one without MEM tiles has no files for them."""
    there = [name for name in (ABUTTED if arch.feed_through else MODULES) if (folder / f"{name}.sv").exists()]
    made = {SDC: sdc(), LATCHES: latches(), LATCH_RULES.name: LATCH_RULES.read_text()}
    for name in there:
        files = (f"{module}.sv" for module in read_design(folder, name).modules)
        made[f"{name}.mk"] = config_mk(name, files, period_ps(arch))
    return made
