"""What open ASIC flows need beside the Verilog: constraints (SDC) and configurations of OpenROAD's flow scripts (ORFS).

Output:  ``sardonyx.sdc`` and ``<module>.mk`` for the machine, for the system where there is a processor, and for each kind
         and parity of tile, to be used as ``make -C OpenROAD-flow-scripts/flow DESIGN_CONFIG=$PWD/tile_pe_odd.mk``; for a
         system with two clocks ``sardonyx_system.sdc``. SRAMs are black boxes until a platform has macros: docs/asic.md says
         where they go. ``latches.tcl``, for Yosys, makes words latches, as ``latches.v`` says, and clock gates of all other
         enables, with ``reset_in_enable.v``; every configuration has it unless told otherwise. ``words.tcl`` leaves flops.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from pathlib import Path

from ...hw.arch.cgra import Arch
from ...hw.arch.tile import LAYERS
from ...hw.interconnect.stage import PARITIES
from .synthesis import GATE, GATE_STEPS, LATCH_RULES, LATCH_STEPS, RESET_RULES, WORD_STEPS, read_design

SDC, SYSTEM_SDC, LATCHES, WORDS = "sardonyx.sdc", "sardonyx_system.sdc", "latches.tcl", "words.tcl"
TOP, SYSTEM = "sardonyx", "sardonyx_system"
_HOST_PERIODS = 2       # a host's clock is half as fast as the machine's, as in the papers
CORE_UTILIZATION = 50   # percent of a place that cells fill
_SKY130_TIMES = 20      # gates of 130 nm against those of 7 nm, roughly


def period_ps(arch: Arch) -> int:
    """The shortest period by the delays of the description: of what is inside of tiles, and out of a PE, through the boxes of
    an even tile, into the next core."""
    delays = arch.timing
    stages = [delays.through("sb"), delays.through("in")]
    entering, walls = delays.entering(arch.power_domains, arch.regions > 1), []
    hops = (sum(stage) + entering for layer in LAYERS for stage in zip(delays.leaving("pe", layer), *stages, strict=True))
    if arch.regions > 1:
        walls = [delays.pe_valid + delays.walled]
    return max(*hops, *walls, *map(delays.inside, ("pe", "mem", "io")), delays.boxes_inside) + delays.setup


def sdc() -> str:
    """Constraints for the machine and for its tiles: one clock, half a period at each side of the border, what never moves."""
    return f"""\
# Constraints of the machine and of its tiles: one clock, synchronous reset, active high.
#
# CLOCK_PERIOD, in the library's unit of time, comes from the configuration of the flow.
set clk_period $::env(CLOCK_PERIOD)
create_clock -name clk -period $clk_period [get_ports clk]
{_border("clk", ("clk",))}
# The row of a tile is tied outside of it.
foreach name {{tile_y cut}} {{
  set ports [get_ports -quiet "${{name}}*"]
  if {{[llength $ports] > 0}} {{ set_false_path -from $ports }}
}}
{_AT_REST}"""


def system_sdc() -> str:
    """Constraints for a system whose host has a clock of its own: what crosses arrives within a period of the faster clock."""
    return f"""\
# Constraints of the system: `clk` is the machine's clock, `host_clk` that of every other port; synchronous reset, active high.
#
# CLOCK_PERIOD and HOST_CLOCK_PERIOD, in the library's unit of time, come from the configuration of the flow.
set clk_period $::env(CLOCK_PERIOD)
set host_clk_period $::env(HOST_CLOCK_PERIOD)
create_clock -name clk -period $clk_period [get_ports clk]
create_clock -name host_clk -period $host_clk_period [get_ports host_clk]
{_border("host_clk", ("clk", "host_clk"))}
# All that crosses is a Gray count, which has to arrive as it left, a word that is at rest while its count crosses, or a bit:
# within a period of the faster clock, wherever the edges are. What catches it is a synchroniser, or waits for one.
set crossing [expr {{min($clk_period, $host_clk_period)}}]
foreach {{from to}} {{clk host_clk host_clk clk}} {{
  set_max_delay $crossing -ignore_clock_latency -from [get_clocks $from] -to [get_clocks $to]
  set_false_path -hold -from [get_clocks $from] -to [get_clocks $to]
}}
{_AT_REST}"""


def _border(clock: str, clocks: tuple[str, ...]) -> str:
    """Half a period of a clock on every port that is none."""
    return f"""
# Half a period belongs to the outside: an output of one tile is an input of the next. Reset comes from a register.
set inputs {{}}
foreach port [all_inputs] {{
  if {{[get_property $port full_name] ni {{{" ".join(clocks)}}}}} {{ lappend inputs $port }}
}}
set_input_delay [expr {{${clock}_period / 2.0}}] -clock {clock} $inputs
set outputs {{}}
foreach port [all_outputs] {{
  if {{[get_property $port full_name] ne "s_clk"}} {{ lappend outputs $port }}
}}
set_output_delay [expr {{${clock}_period / 2.0}}] -clock {clock} $outputs
"""


_AT_REST = """
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
    """What Yosys does between elaboration and synthesis, so that words are latches and other enables clock gates."""
    return f"""\
# Words of configuration, register files and FIFOs become latches, as {LATCH_RULES.name} says, and all other registers with an
# enable share clock gates: source this after `hierarchy`, as OpenROAD's flow scripts do with SYNTH_CANONICALIZE_TCL.
if {{![info exists ::env(CLKGATE_MAP_FILE)]}} {{
  error "CLKGATE_MAP_FILE is not set: give a file with the clock gate of the platform as module {GATE} (CK, E, GCK)"
}}
{_steps((*LATCH_STEPS, *GATE_STEPS))}
# `hierarchy` has removed it, as nothing used it. Some platforms have the cell only where its own name is defined, and else a
# wire, with which every word would be written in every cycle: so there has to be a cell in it.
yosys read_verilog -overwrite -D {GATE} $::env(CLKGATE_MAP_FILE)
yosys select -assert-min 1 {GATE}/c:*
"""


def words() -> str:
    """What Yosys does between elaboration and synthesis, so that memories of words are written and read as is small."""
    return f"""\
# Register files and FIFOs stay flops, but are read by ANDs and ORs, as {LATCH_RULES.name} says: source this after `hierarchy`,
# as OpenROAD's flow scripts do with SYNTH_CANONICALIZE_TCL.
{_steps(WORD_STEPS)}
"""


def _steps(steps: Iterable[str]) -> str:
    """Steps of Yosys for words that are words still, in Tcl, with the rules beside the file that has them."""
    rules = {LATCH_RULES.name: "rules", RESET_RULES.name: "resets"}

    def word(each: str) -> str:
        # Tcl would take the names of cells for variables.
        return f"${rules[each]}" if each in rules else f"{{{each}}}" if "$" in each else each

    every = ("proc", "opt", "memory -nomap", *steps)
    used = {word for step in every for word in step.split()}
    return "\n".join([*(f"set {variable} [file join [file dirname [info script]] {name}]"
                        for name, variable in rules.items() if name in used),
                      *(f"yosys {' '.join(map(word, step.split()))}" for step in every)])


def config_mk(top: str, files: Iterable[str], period: int, *, host_clock: bool = False) -> str:
    """The configuration of ORFS for one module, from the files of it and those below.

    period: ps, in ASAP7. host_clock: the module has a clock for the host, too.
    """
    sources = " \\\n  ".join(f"$(HERE){name}" for name in files)
    return f"""\
# OpenROAD-flow-scripts: make DESIGN_CONFIG=this file. The period is that of the delays in arch.json, without wires.
# Words are latches and enables clock gates, by {LATCHES}; SYNTH_CANONICALIZE_TCL=.../{WORDS} leaves flops with enables.
HERE := $(dir $(abspath $(lastword $(MAKEFILE_LIST))))

export DESIGN_NAME = {top}
export PLATFORM ?= asap7
export VERILOG_FILES = {sources}
export SDC_FILE = $(HERE){SYSTEM_SDC if host_clock else SDC}
export SYNTH_CANONICALIZE_TCL ?= $(HERE){LATCHES}
# asap7 counts picoseconds, the others nanoseconds.
export CLOCK_PERIOD ?= {_by_platform(period)}
{f"export HOST_CLOCK_PERIOD ?= {_by_platform(_HOST_PERIODS * period)}{chr(10)}" if host_clock else ""}\
export CORE_UTILIZATION ?= {CORE_UTILIZATION}
export PLACE_DENSITY_LB_ADDON ?= 0.10
"""


def _by_platform(period: int) -> str:
    return f"$(if $(filter asap7,$(PLATFORM)),{period},{period * _SKY130_TIMES / 1000:g})"


def _tiles(form: str) -> tuple[str, ...]:
    return tuple(f"{form}_{kind}_{parity}" for kind, parity in product(("pe", "mem", "io"), PARITIES))


MODULES = (SYSTEM, TOP, *_tiles("tile"))
"""The modules that are hardened by themselves, where tiles do not abut."""
ABUTTED = (SYSTEM, TOP, *_tiles("abutted"))
"""The same where they do."""
NAMES = (SDC, SYSTEM_SDC, LATCHES, WORDS, LATCH_RULES.name, RESET_RULES.name,
         *(f"{name}.mk" for name in dict.fromkeys(MODULES + ABUTTED)))


def flow_files(arch: Arch, folder: Path) -> dict[str, str]:
    """Every file by its name, for a machine whose Verilog is in a folder; one without MEM tiles has no files for them."""
    there = [name for name in (ABUTTED if arch.feed_through else MODULES) if (folder / f"{name}.sv").exists()]
    two_clocks = arch.system.processor and arch.system.own_clock
    made = {SDC: sdc(), **({SYSTEM_SDC: system_sdc()} if two_clocks else {}),
            LATCHES: latches(), WORDS: words(),
            **{rules.name: rules.read_text() for rules in (LATCH_RULES, RESET_RULES)}}
    for name in there:
        files = (f"{module}.sv" for module in read_design(folder, name).modules)
        made[f"{name}.mk"] = config_mk(name, files, period_ps(arch), host_clock=name == SYSTEM and two_clocks)
    return made
