"""What is written for open flows: Tcl reads the constraints, make the configurations, and they name what is there."""

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from sardonyx.emission import emit_arch
from sardonyx.flow.asic import constraints
from sardonyx.flow.asic.synthesis import GATE, read_design
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.system import System
from sardonyx.hw.yosys import YosysError, run_yosys

# A tool that knows three cells and four ports, and says what it is told.
STUBS = """
array set env {CLOCK_PERIOD 1000 HOST_CLOCK_PERIOD 1500}
proc get_ports {args} {
  if {[lindex $args end] in {clk host_clk}} { return [lindex $args end] }
  return [lsearch -all -inline -glob {clk rst tile_y[0] cut n_data_i_valid[0]} [lindex $args end]]
}
proc get_cells {args} {
  return [lsearch -all -inline -glob {{registers.cfg[7]$_DFF_} {tile_logic.core.a} {registers.rdata}} [lindex $args end]]
}
proc get_clocks {name} { return $name }
proc all_inputs {} { return {clk host_clk rst} }
proc all_outputs {} { return {active s_clk} }
proc get_property {object name} { return $object }
foreach name {create_clock set_input_delay set_output_delay set_false_path set_max_delay} {
  proc $name {args} "puts \\"$name \\$args\\""
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("tiny")
    emit_arch("tiny", made)
    return made


@pytest.mark.tcl
def test_tcl_reads_the_constraints(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "run.tcl").write_text(f"{STUBS}\nsource {folder / constraints.SDC}\n")
    done = subprocess.run(["tclsh", "run.tcl"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "create_clock -name clk -period 1000 clk",
        "set_input_delay 500.0 -clock clk {host_clk rst}",
        "set_output_delay 500.0 -clock clk active",
        "set_false_path -from {{tile_y[0]}}",
        "set_false_path -from cut",
        "set_false_path -from {{registers.cfg[7]$_DFF_}} -to tile_logic.core.a"]


@pytest.mark.tcl
def test_what_crosses_two_clocks_arrives_within_a_period_of_the_faster_one(tmp_path: Path) -> None:
    (tmp_path / constraints.SYSTEM_SDC).write_text(constraints.system_sdc())
    (tmp_path / "run.tcl").write_text(f"{STUBS}\nsource {constraints.SYSTEM_SDC}\n")
    done = subprocess.run(["tclsh", "run.tcl"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[:8] == [
        "create_clock -name clk -period 1000 clk",
        "create_clock -name host_clk -period 1500 host_clk",
        "set_input_delay 750.0 -clock host_clk rst",
        "set_output_delay 750.0 -clock host_clk active",
        "set_max_delay 1000 -ignore_clock_latency -from clk -to host_clk",
        "set_false_path -hold -from clk -to host_clk",
        "set_max_delay 1000 -ignore_clock_latency -from host_clk -to clk",
        "set_false_path -hold -from host_clk -to clk"]


def told(script: str, folder: Path) -> str:
    """What Yosys is told by a script in Tcl, as steps of its own."""
    (folder / "run.tcl").write_text(f"proc yosys {{args}} {{ puts $args }}\nsource {script}\n")
    said = subprocess.run(["tclsh", "run.tcl"], cwd=folder, capture_output=True, text=True, check=True,
                          env={**os.environ, "CLKGATE_MAP_FILE": "gate.v"}).stdout
    # As Tcl quotes them, and with paths of the folder.
    return said.replace("{", "").replace("}", "").replace(" ./", " ")


# Clock gates as platforms have them: some give a wire to who does not define the name.
CELL = "cell_of_platform cell (.CK(CK), .E(E), .GCK(GCK));"
HIDDEN = f"`ifdef {GATE}\n{CELL}\n`else\nassign GCK = CK;\n`endif"
# Of what is mapped by itself, what is not there behind the script and what is.
MADE = {"config_registers_pe": ("config_registers_pe/t:$*dff* config_registers_pe/t:$*DFF*E*",
                                "-min 600 config_registers_pe/t:$_DLATCH_P_"),
        "tile_io_odd": ("config_registers_io/t:$*DFFE* config_registers_io/t:$_DLATCH_*",
                        f"-min 1 config_registers_io/t:{GATE}", f"-min 2 fifo2_w17/t:{GATE}")}


def as_flow(top: str, body: str, folder: Path, place: Path) -> None:
    """Do what OpenROAD's flow scripts do, which begin a second time from what was written."""
    (place / "gate.v").write_text(f"module {GATE} (input CK, E, output GCK);\n{body}\nendmodule\n"
                                  "(* blackbox *) module cell_of_platform (input CK, E, output GCK); endmodule\n")
    shutil.copytree(folder, place, dirs_exist_ok=True)
    reads = "\n".join(f"read_verilog -defer -sv {name}.sv" for name in read_design(place, top).modules)
    none, *some = MADE[top]
    (place / "run.ys").write_text("\n".join([
        reads, "read_verilog -defer gate.v", f"hierarchy -check -top {top}", told("latches.tcl", place), "opt_clean -purge",
        "write_rtlil made.il", "design -reset", "read_rtlil made.il", f"hierarchy -check -top {top}",
        f"select -assert-none {none}", *(f"select -assert{each}" for each in some),
        f"select -assert-count 1 {GATE}/t:cell_of_platform"]) + "\n")
    run_yosys(["run.ys"], place)


@pytest.mark.tcl
@pytest.mark.parametrize("top,body", [("config_registers_pe", CELL), ("tile_io_odd", HIDDEN)], ids=["cell", "cell by its name"])
def test_yosys_makes_latches_of_words_and_gates_of_other_enables_as_tcl_tells_it(top: str, body: str, folder: Path,
                                                                                 tmp_path: Path) -> None:
    as_flow(top, body, folder, tmp_path)


@pytest.mark.tcl
def test_a_clock_gate_that_is_a_wire_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(YosysError, match=f"Assertion failed: .*{GATE}/c:"):
        as_flow("tile_io_odd", "assign GCK = CK;", folder, tmp_path)


@pytest.mark.tcl
def test_words_stay_flops_without_latches_and_need_no_clock_gate(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    steps = told("words.tcl", tmp_path)
    reads = "\n".join(f"read_verilog -sv {name}.sv" for name in read_design(tmp_path, "alu").modules)
    (tmp_path / "run.ys").write_text(f"{reads}\nhierarchy -check -top alu\n{steps}select -assert-none t:$mem* t:$_DLATCH_*\n"
                                     "select -assert-min 8 t:$dffe\n")
    run_yosys(["run.ys"], tmp_path)


@pytest.mark.tcl
def test_latches_without_a_clock_gate_are_refused(folder: Path) -> None:
    said = subprocess.run(["tclsh", constraints.LATCHES], cwd=folder, capture_output=True, text=True, check=False,
                          env={"PATH": os.environ["PATH"]})
    assert said.returncode == 1 and "CLKGATE_MAP_FILE is not set: give a file with the clock gate" in said.stderr


@pytest.mark.parametrize("module", [name for name in constraints.MODULES if name != constraints.SYSTEM])
def test_make_reads_a_configuration_that_names_files_of_the_folder(folder: Path, module: str, tmp_path: Path) -> None:
    show = "\n".join(f"\t@echo '$({name})'" for name in (
        "DESIGN_NAME", "VERILOG_FILES", "SDC_FILE", "CLOCK_PERIOD", "SYNTH_CANONICALIZE_TCL"))
    (tmp_path / "Makefile").write_text(f"include {folder / module}.mk\nshow:\n{show}\n")
    period = constraints.period_ps(presets.get("tiny"))
    for platform, clock_period in (("asap7", f"{period}"), ("sky130hd", f"{period / 50:g}")):
        # Nothing of a make that runs these tests.
        done = subprocess.run(["make", "-n", "show", f"PLATFORM={platform}"], cwd=tmp_path, capture_output=True, text=True,
                              check=True, env={"PATH": os.environ["PATH"]})
        name, files, sdc, clock, style = (line.removeprefix("echo '").removesuffix("'") for line in done.stdout.splitlines())
        assert (name, Path(sdc), clock) == (module, folder / constraints.SDC, clock_period)
        assert Path(style) == folder / constraints.LATCHES
        assert all(Path(file).is_file() for file in files.split())
        assert f"{module}.sv" in {Path(file).name for file in files.split()}
    if module == constraints.TOP:
        listed = {folder / line for line in (folder / "sardonyx.f").read_text().split()}
        assert {Path(file) for file in files.split()} == listed


def test_tiles_that_abut_are_hardened_with_what_goes_through_them(folder: Path, tmp_path: Path) -> None:
    machine = replace(presets.get("tiny"), feed_through=True)
    (folder / "abutted_pe_odd.sv").write_text("module abutted_pe_odd (\n  tile_pe_odd tile (\n")
    made = constraints.flow_files(machine, folder)
    assert [*made] == [constraints.SDC, constraints.LATCHES, constraints.WORDS, "latches.v", "reset_in_enable.v",
                      "sardonyx.mk", "abutted_pe_odd.mk"]
    assert "$(HERE)abutted_pe_odd.sv" in made["abutted_pe_odd.mk"] and "$(HERE)core_pe.sv" in made["abutted_pe_odd.mk"]


@pytest.mark.parametrize("own_clock", [False, True])
def test_a_system_has_a_configuration_and_with_two_clocks_constraints_of_its_own(own_clock: bool, tmp_path: Path) -> None:
    machine = replace(presets.get("tiny"), system=System(processor=True, own_clock=own_clock))
    (tmp_path / "sardonyx_system.sv").write_text("module sardonyx_system (\n  host host (\n")
    (tmp_path / "host.sv").write_text("module host (\n);\n  picorv32 #(\n    .STACKADDR(32'd8)\n  ) processor (\n")
    (tmp_path / "picorv32.sv").write_text("module picorv32 #(\n")
    made = constraints.flow_files(machine, tmp_path)
    assert (constraints.SYSTEM_SDC in made) == own_clock
    (tmp_path / "Makefile").write_text("include sardonyx_system.mk\nshow:\n"
                                       "\t@echo '$(notdir $(VERILOG_FILES) $(SDC_FILE)) $(CLOCK_PERIOD)'"
                                       " '$(HOST_CLOCK_PERIOD)'\n")
    (tmp_path / "sardonyx_system.mk").write_text(made["sardonyx_system.mk"])
    done = subprocess.run(["make", "show"], cwd=tmp_path, capture_output=True, text=True, check=True,
                          env={"PATH": os.environ["PATH"]})
    period = constraints.period_ps(machine)
    ends = [constraints.SYSTEM_SDC, str(period), str(2 * period)] if own_clock else [constraints.SDC, str(period)]
    assert done.stdout.split() == ["sardonyx_system.sv", "host.sv", "picorv32.sv", *ends]


def test_the_period_follows_the_delays_of_the_description() -> None:
    onyx = presets.get("onyx")
    assert constraints.period_ps(onyx) == onyx.timing.pe_inside + onyx.timing.setup
    for field, late in (("pe", ""), ("pe_bit", ""), ("pe_valid", "_valid")):
        times = replace(onyx.timing, **{field: 1000})
        boxes = sum(getattr(times, f"{box}{late}") for box in ("switch_box", "connection_box"))
        assert constraints.period_ps(replace(onyx, timing=times)) == 1000 + boxes + times.setup
    assert constraints.period_ps(replace(onyx, timing=replace(onyx.timing, boxes_inside=5000))) == 5000 + onyx.timing.setup
    far = replace(onyx, timing=replace(onyx.timing, protection=500, wall=70, walled=3000))
    hop = onyx.timing.pe_bit + onyx.timing.switch_box + onyx.timing.connection_box + onyx.timing.setup
    assert constraints.period_ps(far) == constraints.period_ps(onyx)
    assert constraints.period_ps(replace(far, power_domains=True)) == hop + 500
    assert constraints.period_ps(replace(far, regions=2)) == onyx.timing.pe_valid + 3000 + onyx.timing.setup
