"""A machine as files: its Verilog, its description, the register and port tables, a C header.

Imports nothing that only programs need (SciPy, Halide, engines), so that a machine that was emitted before is there at once.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from . import arguments
from .dump import Dump
from .flow.asic import constraints, upf
from .hw import emit, tables
from .hw.arch.cgra import Arch, with_processor
from .hw.soc.system import SardonyxSystem
from .hw.soc.top import Sardonyx
from .outcome import Outcome, silent

# The description, the tables, and the header for firmware, in the order in which they are made.
DOCUMENTS = ("arch.json", "registers.md", "ports.md", "sardonyx.h")


def emit_arch(arch: str | Arch, out: Path, *, soc: bool = False, progress: Callable[[str], None] = silent) -> Outcome:
    """Write the Verilog, tables and header of a preset or a description file.

    soc: with a processor in front, also where the description has none.

    Files: one .sv per module and ``sardonyx.f`` in dependency order, with a processor ``sardonyx_system.f``; arch.json,
    registers.md, ports.md, sardonyx.h; for ASIC flows sardonyx.sdc, with two clocks sardonyx_system.sdc, too, and a .mk for
    the machine, the system and each tile (`flow.asic.constraints`); with power domains a .upf (`flow.asic.upf`).
    """
    began = time.perf_counter()
    machine = arguments.machine(arch)
    if soc:
        machine = with_processor(machine)
    # Before the hardware and its Verilog, which take a while.
    folder = Dump.made(out)
    folder.check((*DOCUMENTS, *constraints.NAMES, *upf.NAMES))
    top: Sardonyx | SardonyxSystem = SardonyxSystem(machine) if machine.system.processor else Sardonyx(machine)
    documents = dict(zip(DOCUMENTS, (json.dumps(machine.to_json(), indent=1) + "\n", tables.registers(machine),
                                     tables.ports(machine, top_ports(top)), tables.header(machine)), strict=True))
    progress(f"generating the Verilog of '{machine.name}'")
    with tempfile.TemporaryDirectory() as made:
        files = emit.emit(top, Path(made))
        size = sum(file.stat().st_size for file in files)
        written: dict[str, str | bytes] = {path.name: path.read_bytes() for path in sorted(Path(made).iterdir())}
        documents |= constraints.flow_files(machine, Path(made))
        documents |= upf.power_intent(machine, {file.stem: file.read_text() for file in files})
        folder.write({**written, **documents})
    return Outcome({"arch": machine.name, "fingerprint": f"{machine.fingerprint:016x}", "modules": len(files),
                    "verilog_bytes": size, "file_list": str(Path(out) / f"{top.module_name}.f"), "documents": sorted(documents),
                    "elapsed_s": round(time.perf_counter() - began, 2)})


def top_ports(top: Sardonyx | SardonyxSystem) -> list[tuple[str, str, int]]:
    """Name, direction and bits of every port of the top module, clock and reset first."""
    ports = [(name, str(member.flow.name).lower(), member.shape) for name, member in top.signature.members.items()]
    return [("clk", "in", 1), ("rst", "in", 1), *((name, flow, int(bits)) for name, flow, bits in ports)]
