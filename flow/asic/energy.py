"""The energy of the modules of a machine in a cell library: of a clock cycle, of a bit that changes, of time.

Each module is mapped alone, without the modules in it. OpenSTA says for each cell what a change of its output takes, with the
cells that it drives, and for a flop what each clock cycle takes. How many cells change with a bit of the module is found with
random words (`toggles`). So the energy of a change is a mean over configurations and states, and its product with the changes
that simulation counts (`sim.rtl.activity`) an estimate. Cells change at most once: glitches are not in it.

Output:  `Energy` by module.
Cost:    a module some seconds, the ALU half a minute; kept in the cache by what `synthesis` hashes.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...hw.emitted import instances, ports
from ...hw.enabled import ENABLED
from ...hw.soc.around import ARRAY
from . import sram
from .cells import cells, volts
from .constraints import TOP
from .library import Library
from .power import Rates
from .synthesis import PERIOD_PS, Design, mapped
from .timing import find_sta, linked
from .toggles import changes, netlist

_FJ_PER_WATT = 1e15 * PERIOD_PS * 1e-12     # of a cycle
POWER = re.compile(r"^ *([0-9.e+-]+) +([0-9.e+-]+) +([0-9.e+-]+) +[0-9.e+-]+ (\S+)$", re.MULTILINE)
_RATE = re.compile(r"^@ (input|output) ([0-9.e+-]+) \S+ \S+ (\S+)/(\w+)$", re.MULTILINE)
_MARK = "== "
# Less is nothing: OpenSTA's sums of what does not move are not exactly 0, and such an error by few changes a second is large.
_STILL_WATT, _STILL_RATE = 1e-12, 1e4


@dataclass(frozen=True)
class Energy:
    """A module without those in it.

    Parameters
    ----------
    flops : int          Its flops.
    clock_fj : float     All of them, a cycle.
    change_fj : float    A change of a bit: of an input, a register, an output of a module in it.
    leakage_nw : float
    """

    flops: int
    clock_fj: float
    change_fj: float
    leakage_nw: float

    @property
    def rates(self) -> Rates:
        return Rates(self.clock_fj / max(1, self.flops), self.change_fj, self.leakage_nw)


@dataclass(frozen=True)
class CellEnergy:
    """An instance of a cell: a cycle in which nothing but its clock moves, a change of an output, leakage."""

    cycle_fj: float
    change_fj: float
    leakage_nw: float


def alone(modules: Mapping[str, str], top: str) -> Design:
    """A module of which the inner ones are black boxes."""
    inner = dict.fromkeys(instances(modules[top]).values())
    return Design(top, {name: modules[name] for name in (top, *inner)}, frozenset(inner))


def energy(design: Design, library: Library) -> Energy:
    """What a module takes; `design` as of `alone`."""
    verilog, mapping = mapped(design, library)
    kinds = cells(library)
    module = netlist(json.loads(mapping)["modules"][design.top], kinds)
    each = cell_energies(design, verilog, library)
    flops = {name: clock_ff for name, found in module.cells.items() if (clock_ff := kinds[found.kind].clock_ff)}
    clock = sum(each[name].cycle_fj + clock_ff * volts(library) ** 2 for name, clock_ff in flops.items())
    moved, driven = changes(module, kinds)
    # Of cells at the end of long chains OpenSTA has no power, see `script`.
    switched = sum(count * each[name].change_fj for name, count in moved.items() if name in each)
    return Energy(len(flops), clock, switched / driven if driven else 0.0, sum(found.leakage_nw for found in each.values()))


def cell_energies(design: Design, verilog: str, library: Library) -> dict[str, CellEnergy]:
    """What OpenSTA says of every instance of a netlist."""
    program = find_sta()
    boxes = [name for name in design.modules if design.is_box(name)]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name in boxes:
            (folder / f"{name}.lib").write_text(sram.view(name, design.modules[name]))
        (folder / "cells.lib").write_text(library.text)
        (folder / "netlist.v").write_text(verilog)
        libraries = ["cells.lib", *(f"{name}.lib" for name in boxes)]
        clocked = any(port.name == "clk" for port in ports(design.modules[design.top]))
        (folder / "run.tcl").write_text(script(design.top, libraries, library, clocked))
        done = subprocess.run([program, "-no_splash", "-exit", "run.tcl"], cwd=folder, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    return read_report(linked(done.stdout, design.top))


def script(top: str, libraries: Sequence[str], library: Library, clocked: bool) -> str:
    """What OpenSTA does, in its language, Tcl: powers while nothing but the clock moves, and while everything does."""
    return "\n".join([
        *(f"read_liberty {name}" for name in libraries), "read_verilog netlist.v", f"link_design {top}",
        f"create_clock -name clk -period {PERIOD_PS / library.picoseconds} {'[get_ports clk]' if clocked else ''}",
        "set inputs {}",
        'foreach port [all_inputs] { if {[get_property $port full_name] ne "clk"} { lappend inputs $port } }',
        # Without them OpenSTA does not follow what enters.
        "set_input_delay 0 -clock clk $inputs", f"set_load {library.family.load} [all_outputs]",
        "set cells [get_cells *]", "foreach changes {0 1} {", f'  puts "{_MARK}$changes"',
        "  foreach port $inputs { set_power_activity -input_ports $port -activity $changes -duty 0.5 }",
        "  foreach cell $cells {", "    foreach pin [get_pins -of_objects $cell] {",
        # Because `set_power_activity -pins` of OpenSTA 2.0.17 calls what it does not have.
        '      if {[get_property $pin direction] eq "output"} { sta::set_power_pin_activity $pin $changes 0.5 }',
        "    }", "  }",
        # It fails at the end of long chains, where nothing ever changes: such a cell takes nothing here.
        "  foreach cell $cells { catch { report_power -instances $cell -digits 9 } }", "}",
        "foreach cell $cells {", "  foreach pin [get_pins -of_objects $cell] {",
        '    puts "@ [get_property $pin direction] [get_property $pin activity] [get_property $pin full_name]"', "  }", "}",
        f'puts "{_MARK}end"']) + "\n"


def read_report(text: str) -> dict[str, CellEnergy]:
    """The energies of every instance in what OpenSTA wrote: a change is one of an output and, in a flop, of an input."""
    assert text.rstrip().endswith(f"{_MARK}end"), f"sta failed:\n{text[-10_000:]}"
    _, idle, busy, _ = f"\n{text}".split(f"\n{_MARK}")
    still = {name: float(internal) + float(switching) for internal, switching, _, name in POWER.findall(idle)}
    rates: dict[str, dict[str, list[float]]] = {}
    for flow, rate, name, pin in _RATE.findall(busy):
        if (flow, pin) != ("input", "CLK"):
            rates.setdefault(name, {"input": [], "output": []})[flow].append(float(rate))
    found = {}
    for internal, switching, leakage, name in POWER.findall(busy):
        clock, flows = still.get(name, 0.0), rates[name]
        rate = sum(flows["output"])
        if clock > _STILL_WATT:
            rate = (rate + sum(flows["input"]) / len(flows["input"])) / 2
        power = float(internal) + float(switching) - clock
        found[name] = CellEnergy(clock * _FJ_PER_WATT, power / rate * 1e15 if rate > _STILL_RATE else 0.0, float(leakage) * 1e9)
    return found


def measured(folder: Path, library: Library, say: Callable[[str], None], known: Container[str] = ()) -> dict[str, Energy]:
    """Every module of a machine that was written to a folder, but SRAMs, what only joins tiles, and those that are known, with
    enables or without."""
    modules = {file.stem: file.read_text() for file in sorted(folder.glob("*.sv"))}
    found = {}
    for name in modules:
        if not sram.is_sram(name) and name.removesuffix(ENABLED) not in known and name not in (ARRAY, TOP):
            found[name] = each = energy(alone(modules, name), library)
            say(f"{name}: {each.flops} flops, {each.clock_fj:.0f} fJ a cycle; {each.change_fj:.2f} fJ a change; "
                f"leakage {each.leakage_nw:.3g} nW")
    return found
