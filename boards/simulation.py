"""A board in simulation, as far as its pins: the Verilog that goes to synthesis, or the netlist of cells that comes from it.

A `SimulatedLine` is a `Line`: the host side is the same as with a board. The bits of the line are cycles of the simulation, so
boards to simulate have the fastest line there is (`fast`).

Input:   the files of a project, or the netlist for place and route of an ECP5. The machine gets the cycles of the board's
         oscillator as they are: nothing but cycles is looked at here.
Cost:    `fpga`, two slow cores: see tests/boards/test_simulation.py.
"""

from __future__ import annotations

import hashlib
import re
import struct
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from ..hw.soc.uart import LEAST_DIVISOR
from ..hw.yosys import run_yosys
from ..sim.rtl import verilator
from .project import TOP
from .targets import MHZ, Target

_HERE = Path(__file__).parent
PINS, LUTS, CELLS, HARNESS = (_HERE / name for name in ("pins.v", "luts.v", "ecp5.v", "line.cpp"))
# Longer than a run: `wait` is answered when it ends.
QUIET_CYCLES = 3_000_000
# Ports as Amaranth calls them, and as the harness does.
PORTS = {"clk25_0__io": "board_clk", "button_1__io": "board_reset", "uart_0__rx__io": "board_rx",
         "uart_0__tx__io": "board_tx"}
_TO_VERILOG = f"""delete t:$scopeinfo; techmap -map {PINS.name} t:IB t:OBZ t:TRELLIS_IO t:EHXPLLL; opt_clean -purge
cd {TOP}
{chr(10).join(f"rename {name} {short}" for name, short in PORTS.items())}
cd ..
write_verilog -noattr {TOP}.v
"""
# Cells by the models that Yosys has of them, so that they are simulated as expressions and not as modules.
_FROM_NETLIST = f"""read_json {TOP}.json
techmap -autoproc -map +/lattice/cells_sim_ecp5.v t:CCU2C t:TRELLIS_FF t:PFUMX t:L6MUX21
techmap -map {LUTS.name} t:LUT4
opt_expr; opt_dff; rename -hide w:* i:* %d o:* %d; rename -enumerate
"""


def fast(target: Target) -> Target:
    """The board with as few cycles a bit as its bridge can do."""
    return replace(target, name=f"{target.name}-fast", baud=target.clock_mhz * MHZ // LEAST_DIVISOR)


def of_project(files: Mapping[str, bytes], target: Target) -> verilator.Model:
    """The Verilog of a project as a simulation."""
    verilog = {name: content for name, content in files.items() if name.endswith(".sv")}
    design = {**verilog, f"{TOP}.il": files[f"{TOP}.il"]}
    return _model(design, f"read_rtlil {TOP}.il\nproc\n{_TO_VERILOG}", tuple(verilog), target)


def of_netlist(netlist: Path, target: Target) -> verilator.Model:
    """The netlist that synthesis made of a project (`boards/route.py`) as a simulation."""
    content = netlist.read_bytes()
    assert not re.search(rb'"INITVAL\w*": "[0x]*1', content), f"a memory in {netlist} begins with contents"
    return _model({f"{TOP}.json": content, CELLS.name: CELLS.read_bytes(), LUTS.name: LUTS.read_bytes()},
                  _FROM_NETLIST + _TO_VERILOG, (CELLS.name,), target)


def _model(files: Mapping[str, bytes], script: str, verilog: tuple[str, ...], target: Target) -> verilator.Model:
    """verilog: those of the files that are, beside what the script writes."""
    assert target.platform.startswith("amaranth_boards.ulx3s"), "the harness knows the names of these pins"
    key = hashlib.sha256(script.encode())
    for content in (*files.values(), PINS.read_bytes()):
        key.update(hashlib.sha256(content).digest())

    def make(folder: Path) -> list[Path]:
        folder.mkdir()
        for name, content in {**files, PINS.name: PINS.read_bytes()}.items():
            (folder / name).write_bytes(content)
        (folder / "run.ys").write_text(script)
        run_yosys(["-q", "run.ys"], folder)
        return [folder / name for name in (*verilog, f"{TOP}.v")]

    header = f"#define CYCLES_A_BIT {target.divisor}\n#define QUIET_CYCLES {QUIET_CYCLES}ull\n"
    # What synthesis writes is not meant to be read, so its style is not judged.
    return verilator.build_keyed(key.hexdigest(), make, HARNESS, TOP, includes={"line.h": header},
                                 flags=("-Wno-fatal", "-Wno-lint", "-Wno-style"))


class SimulatedLine:
    """The line to a simulated board. Use as a context manager, so that the process ends."""

    def __init__(self, model: verilator.Model) -> None:
        self._process = subprocess.Popen([str(model.executable)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE)

    def __enter__(self) -> SimulatedLine:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self._process.kill()
        self._process.communicate()

    def write(self, data: bytes) -> int:
        """Send bytes."""
        self._command(b"W" + struct.pack("<I", len(data)) + data)
        return len(data)

    def read(self, size: int = 1) -> bytes:
        """So many bytes; fewer if nothing comes for `QUIET_CYCLES`."""
        self._command(b"R" + struct.pack("<I", size))
        return self._take(*struct.unpack("<I", self._take(4)))

    @property
    def cycles(self) -> int:
        """Cycles simulated so far."""
        self._command(b"T")
        found: int = struct.unpack("<Q", self._take(8))[0]
        return found

    def _command(self, message: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(message)
        self._process.stdin.flush()

    def _take(self, count: int) -> bytes:
        assert self._process.stdout is not None and self._process.stderr is not None
        found = self._process.stdout.read(count)
        assert len(found) == count, f"the simulation ended: {self._process.stderr.read().decode().strip()}"
        return found
