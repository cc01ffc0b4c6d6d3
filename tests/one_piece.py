"""A machine that Verilator builds in one piece from all its Verilog, for comparison with those that are stitched together."""

import hashlib
from pathlib import Path

from sardonyx.compiler.ir.program import Program
from sardonyx.hw import emit
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.kept import identity
from sardonyx.hw.soc.top import Sardonyx
from sardonyx.sim.rtl import verilator
from sardonyx.sim.rtl.folding import configurations
from sardonyx.sim.rtl.library import HARNESS
from sardonyx.sim.rtl.simulator import Simulator

HEADER = Path(__file__).with_suffix(".h").read_text()


def machine_in_one_piece(arch: Arch, program: "Program | None" = None) -> Simulator:
    """The machine under the configuration of a program, or the reconfigurable one."""
    constants = None if program is None else configurations(program, arch)
    key = hashlib.sha256(f"{identity(arch)} {constants}".encode()).hexdigest()
    model = verilator.build_keyed(key, lambda folder: emit.emit(Sardonyx(arch, constants), folder), HARNESS,
                                  Sardonyx.module_name, includes={"simulation.h": HEADER})
    return Simulator(arch, model, None, "in one piece", configurable=program is None)


def traced_machine(arch: Arch) -> Simulator:
    """The reconfigurable one, which writes ``trace.vcd`` into the working directory, of the cycles that are to be counted."""
    key = hashlib.sha256(f"{identity(arch)} traced".encode()).hexdigest()
    header = f"#define TRACED\n{HEADER}\n#include \"verilated_vcd_c.cpp\"\n"
    model = verilator.build_keyed(key, lambda folder: emit.emit(Sardonyx(arch), folder), HARNESS, Sardonyx.module_name,
                                  includes={"simulation.h": header}, optimize=0, flags=("--trace-vcd",))
    return Simulator(arch, model, None, "in one piece, traced", counting=True)
