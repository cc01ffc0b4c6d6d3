"""Synthesised tiles pass their cocotb tests in Icarus, cell by cell, in four states and without initial values."""

import os
import subprocess
from pathlib import Path

import pytest

from sardonyx.cocotb.runner import run
from sardonyx.flow.asic import constraints
from sardonyx.flow.asic.gates import cell_models
from sardonyx.flow.asic.library import Library
from sardonyx.flow.asic.synthesis import GATE, Design, Registers, latch_cells, netlist, read_design
from sardonyx.hw.arch.presets import get
from sardonyx.hw.emit import emit
from sardonyx.hw.tile.tile import Tile
from sardonyx.hw.yosys import run_yosys

SCRIPT = "script"


def by_script(design: Design, library: Library, folder: Path) -> str:
    """The cells of a tile by the script that configurations of OpenROAD's flow scripts name, and steps as theirs."""
    folder.mkdir()
    family = library.family
    kind, clock, enable, gated, *tied = family.gate
    pins = f".{clock}(CK), .{enable}(E), .{gated}(GCK)" + "".join(f", .{pin}(1'b0)" for pin in tied)
    texts = {**{f"{name}.sv": text for name, text in design.modules.items()}, constraints.LATCHES: constraints.latches(),
             **{rules.name: rules.read_text() for rules in (constraints.LATCH_RULES, constraints.RESET_RULES)},
             "gate.v": f"module {GATE} (input CK, E, output GCK);\n{kind} gate ({pins});\nendmodule\n",
             "cells.lib": library.text, "latch_cells.v": latch_cells(library),
             "told.tcl": f"proc yosys {{args}} {{ puts $args }}\nsource {constraints.LATCHES}\n",
             "abc.constr": f"set_driving_cell {family.driver}\nset_load {family.load}\n"}
    for name, text in texts.items():
        (folder / name).write_text(text)
    told = subprocess.run(["tclsh", "told.tcl"], cwd=folder, capture_output=True, text=True, check=True,
                          env={**os.environ, "CLKGATE_MAP_FILE": "gate.v"}).stdout
    flops, cells = (" ".join(f"-dont_use {each}" for each in unused) for unused in (family.flops_unused, family.cells_unused))
    (folder / "run.ys").write_text("\n".join([
        "read_liberty -lib cells.lib",
        *(f"read_verilog -sv {'-lib ' if name in design.srams else ''}{name}.sv" for name in design.modules),
        f"hierarchy -check -top {design.top}", told.replace("{", "").replace("}", "").replace(" ./", " "),
        f"synth -flatten -top {design.top}", "techmap -map latch_cells.v", f"dfflibmap {flops} -liberty cells.lib",
        f"abc -liberty cells.lib -constr abc.constr {cells}", "setundef -zero", "splitnets",
        f"hilomap -singleton -hicell {' '.join(family.high)} -locell {' '.join(family.low)}", "opt_clean -purge",
        "write_verilog -noattr -noexpr -nohex -nodec netlist.v"]) + "\n")
    run_yosys(["run.ys"], folder)
    return (folder / "netlist.v").read_text()


@pytest.mark.slow
@pytest.mark.icarus
@pytest.mark.parametrize("way", [Registers.ENABLES.value, Registers.LATCHES.value, SCRIPT])
@pytest.mark.parametrize("kind,tests", [("pe", "cocotb_tile"), ("mem", "cocotb_mem")])
def test_a_tile_of_cells_passes_the_test_of_the_tile(kind: str, tests: str, way: str, library: Library, tmp_path: Path) -> None:
    tiny = get("tiny")
    emit(Tile(tiny, getattr(tiny, kind), 0), tmp_path / "verilog")
    design = read_design(tmp_path / "verilog", f"tile_{kind}_even")
    cells = by_script(design, library, tmp_path / SCRIPT) if way == SCRIPT else netlist(design, library, Registers(way))
    files = {"cells.v": cell_models(cells, library), "netlist.v": cells,
             **{f"{name}.sv": design.modules[name] for name in design.srams}}
    assert not any("initial" in text for text in files.values()), "registers and memories begin unknown"
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    run([tmp_path / name for name in files], tests, out=tmp_path, top=design.top, simulator="icarus")
