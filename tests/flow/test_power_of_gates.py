"""The estimate of a tile against its gates: the netlist follows the words of a real run, cell by cell.

The values of inputs, registers and memory words come from a VCD of the machine in one piece; each cell's output follows them,
and what its changes take is OpenSTA's energy of that very cell. OpenSTA's own report for the activity of inputs and registers,
which it propagates by probabilities, stands beside it.
"""

import json
import re
import subprocess
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from one_piece import traced_machine
from vcd import Vcd

from sardonyx import api, halide, power
from sardonyx.flow.asic import energy, sram
from sardonyx.flow.asic.cells import cells
from sardonyx.flow.asic.library import Library, find_library
from sardonyx.flow.asic.power import rates
from sardonyx.flow.asic.synthesis import Design, mapped, read_design
from sardonyx.flow.asic.timing import find_sta
from sardonyx.flow.asic.toggles import Netlist, evaluate, netlist
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.glb import Glb
from sardonyx.sim.rtl import simulator

ARCH = Arch("halves", 4, 4, mem_every=2, glb=Glb(columns_per_tile=1, bank_bytes=16 * 1024))
FLOP = re.compile(r"(.+?)((?:\[\d+\])*)\$_\w+$")


def run(name: str) -> "api.Result":
    if name == "gaussian":
        photo = np.random.default_rng(0).integers(0, 256, (24, 24), np.uint8)
        return halide.run(import_module("sardonyx.apps.dense.gaussian").build(), inputs={"photo": photo}, arch=ARCH,
                          power="sky130hd")
    return api.kernel(name, size=200, density=0.5, arch=ARCH, power="sky130hd")


def driven(found: Netlist, module: dict, vcd: Vcd, scope: "tuple[str, ...]", library: Library) -> "dict[int, np.ndarray]":
    """The values of all that drives a netlist, packed, a bit a cycle."""
    def bits(at: "tuple[str, ...]", name: str, position: int) -> "np.ndarray":
        code = vcd.signals[at].get(name)
        assert code is not None, f"{name} is not in {'.'.join(at)}"
        return np.packbits(np.array([value >> position & 1 for value in vcd.series[code][1:]], np.uint8))

    values = {}
    for name, port in module["ports"].items():
        if port["direction"] == "input" and name != "clk":
            values |= {bit: bits(scope, name, position) for position, bit in enumerate(port["bits"])}
    kinds = cells(library)
    for name, each in found.cells.items():
        if kinds[each.kind].sequential:
            path, index = FLOP.match(name).groups()
            *below, signal = path.split(".")
            at, where = (*scope, *below), [int(part) for part in re.findall(r"\d+", index)] or [0]
            if len(where) == 2:
                signal, where = f"{signal}[{where[0]}]", where[1:]
            values[each.pins["Q"]] = bits(at, signal, where[0])
    for name, each in module["cells"].items():
        if sram.is_sram(each["type"]):
            values |= {bit: bits((*scope, *name.split(".")), "word", position)
                       for position, bit in enumerate(each["connections"]["word"])}
    return values


def propagated(design: Design, verilog: str, library: Library, moved: "dict[str, float]", folder: Path) -> float:
    """Watts of OpenSTA but for the clock, for changes a cycle of ports and flops by name."""
    tcl = energy.script(design.top, ["cells.lib", *(f"{name}.lib" for name in design.srams)], library, True)
    tcl = tcl.partition("set cells [get_cells *]")[0] + "\n".join([
        f"array set moved {{{' '.join(f'{{{name}}} {value}' for name, value in moved.items())}}}",
        "foreach still {1 0} {",
        "  foreach port $inputs { set name [get_property $port full_name]",
        "    set_power_activity -input_ports $port -activity [expr {$still ? 0 : $moved($name)}] -duty 0.5 }",
        "  foreach cell [get_cells *] { set name [get_property $cell full_name]; if {[info exists moved($name)]} {",
        "    foreach pin [get_pins -of_objects $cell] { if {[get_property $pin direction] eq \"output\"} {",
        "      sta::set_power_pin_activity $pin [expr {$still ? 0 : $moved($name)}] 0.5 } } } }",
        "  foreach cell [get_cells *] { catch { report_power -instances $cell -digits 9 } }", '  puts "== "', "}"]) + "\n"
    for name in design.srams:
        (folder / f"{name}.lib").write_text(sram.view(name, design.modules[name]))
    for name, text in {"cells.lib": library.text, "netlist.v": verilog, "run.tcl": tcl}.items():
        (folder / name).write_text(text)
    done = subprocess.run([find_sta(), "-no_splash", "-exit", "run.tcl"], cwd=folder, text=True, check=True,
                          capture_output=True)
    still, moving = ({name: float(internal) + float(switching) for internal, switching, _, name in energy.POWER.findall(part)}
                     for part in done.stdout.split("== ")[:2])
    return sum(moving[name] - still[name] for name in moving.keys() & still.keys())


@pytest.mark.slow
@pytest.mark.parametrize("program", ["vec_elemmul", "gaussian"])
def test_the_estimate_of_a_tile_is_near_that_of_its_gates(program: str, root: Path, tmp_path: Path,
                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    place = root.parent / "shared" / "data" / "liberty"
    if not place.exists():
        pytest.skip("../shared/data/liberty is not there")
    library = find_library(place, "sky130hd")
    activities = []
    report = power.report
    monkeypatch.setattr("sardonyx.power.report", lambda *given: activities.append(given[3]) or report(*given))
    run(program)
    counted = activities[0]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(simulator, "counting_machine", lambda arch, cache: traced_machine(arch))
    run(program)
    vcd = Vcd(tmp_path / "trace.vcd")
    cycles = counted.activity.cycles
    assert vcd.cycles == cycles + 1
    kinds = cells(library)
    for kind in ("pe", "mem"):
        tiles = [name for name, module in counted.activity.kinds.items() if module.startswith(f"tile_{kind}")]
        busiest = max(tiles, key=lambda name: sum(count.changes for count in counted.activity.counts[name].values()))
        design = read_design(counted.verilog, counted.activity.kinds[busiest])
        verilog, mapping = mapped(design, library)
        module = json.loads(mapping)["modules"][design.top]
        found = netlist(module, kinds)
        scope = next(at for at in vcd.signals if at[-1] == busiest)
        values = driven(found, module, vcd, scope, library)
        evaluate(found, kinds, values)

        def changes(bit: int, values: "dict[int, np.ndarray]" = values) -> int:
            series = np.unpackbits(values[bit])[:cycles + 1]
            return int(np.count_nonzero(series[1:] != series[:-1]))

        each = energy.cell_energies(design, verilog, library)
        moved = {name: sum(changes(cell.pins[pin]) for pin in kinds[cell.kind].outputs if pin in cell.pins)
                 for name, cell in found.cells.items()}
        gates = sum(count * each[name].change_fj for name, count in moved.items() if name in each)
        estimate = sum(count.changes * rates("sky130hd", name).change_fj
                       for name, count in counted.activity.counts[busiest].items() if not sram.is_sram(name))
        activity = {name: moved[name] / cycles for name, cell in found.cells.items() if kinds[cell.kind].sequential}
        activity |= {f"{name}[{position}]" if len(port["bits"]) > 1 else name: changes(bit) / cycles
                     for name, port in module["ports"].items() if port["direction"] == "input" and name != "clk"
                     for position, bit in enumerate(port["bits"])}
        sta = propagated(design, verilog, library, activity, tmp_path) * 1e6 * cycles
        said = (f"{program}, {busiest}: gates {gates / 1000:.0f} pJ, the estimate {estimate / gates:.2f} of it, "
                f"OpenSTA for the same activity {sta / gates:.2f}")
        assert 1 / 3 < estimate / gates < 3, said
