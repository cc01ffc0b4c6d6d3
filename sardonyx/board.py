"""A machine on a board: its bitstream or project as files, and the device that it then is."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from . import arguments
from .boards import route as tools
from .boards.device import SerialDevice, connect, open_port
from .boards.project import project
from .boards.targets import target
from .dump import Dump
from .hw.arch.cgra import Arch
from .outcome import Outcome, silent


def build_board(name: str, out: Path, arch: str | Arch = "fpga", *, until: str = "bitstream", seed: int = 1,
                progress: Callable[[str], None] = silent) -> Outcome:
    """Write the project of a machine for a board, and its bitstream if open tools make one for that board.

    name: of the board. until: what is made, ``project``, ``synthesis`` (counts cells) or ``bitstream``. seed: of the placement.
    """
    began = time.perf_counter()
    machine, board = arguments.machine(arch), target(name)
    folder = Dump.made(out)
    progress(f"generating the Verilog of '{machine.name}'")
    files = project(machine, board)
    folder.check([*files, *tools.PRODUCTS])
    folder.write(files)
    report: dict[str, object] = {
        "board": board.name, "arch": machine.name, "fingerprint": f"{machine.fingerprint:016x}", "clock_mhz": board.clock_mhz,
        "baud": board.baud, "project": str(out)}
    if until != "project":
        synthesis = tools.synthesise(files, board, progress)
        report |= {what: f"{used:,} of {most:,}, {100 * used / most:.0f} %" for what, (used, most) in synthesis.used.items()}
        report |= {"yosys": tools.yosys_version(), "synthesis_s": synthesis.seconds}
        if board.routed and until == "bitstream":
            routed = tools.route(synthesis, board, progress, seed)
            folder.write({each: (routed.folder / each).read_bytes() for each in tools.PRODUCTS})
            report |= {"fastest_mhz": routed.fastest_mhz, "bitstream": str(Path(out) / tools.BITSTREAM),
                       "floorplan": str(Path(out) / tools.FLOORPLAN), "nextpnr": tools.nextpnr_version(),
                       "place_and_route_s": routed.seconds}
    return Outcome(report | {"elapsed_s": round(time.perf_counter() - began, 1)})


def open_board(name: str, port: str, arch: str | Arch = "fpga", baud: int | None = None) -> SerialDevice:
    """The machine on a board at a serial port; UserError if it is another one, or does not answer.

    baud: if the board was built with another one than it has here.
    """
    return connect(arguments.machine(arch), open_port(port, baud or target(name).baud), port)
