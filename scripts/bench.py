"""Measure the budgets and write the table in docs/performance.md between its markers.

    make bench                      everything, about 15 minutes on 2 cores
    make bench ARGS="emit pnr"      only these

Each measurement runs in a process of its own with an empty cache of models, so that times are those of a first run.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path

import halide
import skimage.data
from bench_pnr import random_netlist

import sardonyx.halide
from sardonyx import api
from sardonyx.apps.dense import gaussian as gaussian_app
from sardonyx.compiler.backend.encode import encode
from sardonyx.compiler.backend.native import library
from sardonyx.compiler.backend.place import place, slots_of
from sardonyx.compiler.backend.route import route
from sardonyx.compiler.dense_pipeline import compile_halide
from sardonyx.compiler.lang.einsum import parse
from sardonyx.compiler.lang.halide.reader import read
from sardonyx.compiler.lang.kernel import kernel_names, load_kernel
from sardonyx.compiler.pipeline import compile_einsum
from sardonyx.compiler.sparse.tiling import tile
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.glb import Glb
from sardonyx.sim import engines, fabric
from sardonyx.sim.work import Work

DENSE = ("pointwise", "conv_3_3", "gaussian", "cascade", "box", "down_sample", "up_sample", "unsharp", "harris")
ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"


@dataclass(frozen=True)
class Row:
    """One line of the table: what, what was measured, the budget, and whether it is met."""

    what: str
    measured: str
    budget: str
    met: bool


def emit() -> list[Row]:
    """`make verilog PRESET=onyx` after set-up."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        done = subprocess.run([sys.executable, "-m", "sardonyx", "verilog", "--preset", "onyx", "--out", folder, "--json"],
                              capture_output=True, text=True, check=True)
        seconds = time.perf_counter() - began
    report = json.loads(done.stdout)["report"]
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024 / 1024
    size, modules = report["verilog_bytes"] / 1e6, report["modules"]
    return [Row("`make verilog PRESET=onyx`", f"{seconds:.0f} s, {memory:.2f} GB, {size:.1f} MB, {modules} modules",
                "<= 45 s, <= 1.5 GB, <= 10 MB, <= 60 modules",
                seconds <= 45 and memory <= 1.5 and size <= 10 and modules <= 60)]


def onyx_rtl() -> list[Row]:
    """SpMSpM in Verilog specialised to a program placed on onyx: build and speed."""
    with tempfile.TemporaryDirectory() as folder:
        run, _ = _spmspm("onyx", full=False, cache=Path(folder))
    speed, build = round(run.simulated / run.simulate_s), run.build_s
    return [Row("`rtl`, SpMSpM on `onyx`: build", f"{build:.0f} s", "<= 90 s, target 45 s", build <= 90),
            Row("`rtl`, SpMSpM on `onyx`: speed", f"{speed:,} cycles/s", ">= 30,000 cycles/s", speed >= 30_000)]


def small_rtl_full() -> list[Row]:
    """SpMSpM in the reconfigurable Verilog of small: build, speed, cached build."""
    with tempfile.TemporaryDirectory() as folder:
        first, _ = _spmspm("small", full=True, cache=Path(folder))
        again, _ = _spmspm("small", full=True, cache=Path(folder))
    speed = round(again.simulated / again.simulate_s)
    return [Row("`rtl-full` on `small`: build", f"{first.build_s:.0f} s; from the cache {again.build_s:.1f} s",
                "<= 150 s; from the cache in seconds", first.build_s <= 150 and again.build_s <= 10),
            Row("`rtl-full` on `small`: speed", f"{speed:,} cycles/s", ">= 5,000 cycles/s", speed >= 5_000)]


def _spmspm(arch_name: str, *, full: bool, cache: Path | None) -> tuple[engines.Run, int]:
    """The demo's product in Verilog, and the ideal cycles of its transactions."""
    arch, program = presets.get(arch_name), parse(api.MATRIX_PRODUCT)
    matrix, _ = api.demo_matrix(None)
    compiled = compile_einsum(program, arch)
    work = Work(tile(program, {"B": matrix, "C": matrix}, arch.mem.level_words))
    transactions = list(work.transactions())
    ideal = fabric.ideal_cycles(compiled.unbalanced, transactions)
    return engines.simulate(compiled.program, arch, transactions, full=full, bounds=work.bounds(), cache=cache), ideal


def compile_time() -> list[Row]:
    """Einsum to bitstream of every kernel on onyx, after imports."""
    slowest = (0.0, "")
    for name in kernel_names():
        arch = replace(presets.get("onyx"))     # a fresh one, without routing graph
        began = time.perf_counter()
        encode(compile_einsum(load_kernel(name).einsum(), arch).program, arch)
        slowest = max(slowest, (time.perf_counter() - began, name))
    return [Row("compile, slowest kernel on `onyx`", f"{slowest[0]:.2f} s ({slowest[1]})", "<= 5 s", slowest[0] <= 5)]


def pnr() -> list[Row]:
    """Place and route of a random netlist that fills 80 % of 16 x 16, one attempt."""
    arch = Arch("square", 16, 16, glb=Glb(columns_per_tile=1))
    kinds, nets = random_netlist(arch, {"pe": 154, "mem": 51}, 188, 325, seed=0)
    library()
    began = time.perf_counter()
    placement = place(kinds, nets, slots_of(arch))
    routing = route(arch.graph, nets, placement.tiles)
    seconds = time.perf_counter() - began
    return [Row("place and route, 205 blocks, 325 sinks on 16 x 16", f"{seconds:.2f} s, all of {len(routing.trees)} nets, "
                "one attempt", "<= 5 s, all routed, one attempt", seconds <= 5)]


def cycles() -> list[Row]:
    """Compute cycles of SpMSpM against the token model with unbounded FIFOs."""
    found, ideal = _spmspm("small", full=False, cache=None)
    assert found.cycles is not None, "the Verilog counts cycles"
    ratio = found.cycles / ideal
    return [Row("SpMSpM cycles against the token model, les_miserables", f"{found.cycles:,} / {ideal:,} = {ratio:.2f}",
                "<= 1.2", ratio <= 1.2)]


def dense() -> list[Row]:
    """The programs of apps/dense on onyx: tiles they take, time to compile."""
    rows, slowest = [], (0.0, "")
    onyx, found = presets.get("onyx"), {}
    for name in DENSE:
        program = import_module(f"sardonyx.apps.dense.{name}").build()
        pipeline = read(halide.serialize_pipeline(halide.Pipeline(program), get_params=False))
        began = time.perf_counter()
        found[name] = compile_halide(pipeline, onyx, (62, 62))
        slowest = max(slowest, (time.perf_counter() - began, name))
    for name, most in (("unsharp", 57), ("harris", 80)):
        pes = found[name].graph.count("pe")
        rows.append(Row(f"{name} on `onyx`: PEs", f"{pes}", f"<= {most}", pes <= most))
    return [*rows, Row("compile, slowest program of `apps/dense` on `onyx`", f"{slowest[0]:.1f} s ({slowest[1]})", "<= 10 s",
                       slowest[0] <= 10)]


def gaussian() -> list[Row]:
    """A 3 x 3 Gaussian blur on onyx in Verilog: one tile with one lane, and a picture with fourteen."""
    program, photo = gaussian_app.build(), skimage.data.camera()
    one = sardonyx.halide.run(program, inputs={"photo": photo[:64, :64]}, tile=(62, 62), arch="onyx")
    cycles, pes, mems = one.cycles, one.report["tiles_used"]["pe"], one.report["tiles_used"]["mem"]
    seconds = one.report["build_s"] + one.report["simulate_s"]
    wide = sardonyx.halide.run(program, inputs={"photo": photo}, tile=(518, 128), unroll=14, arch="onyx")
    rate = wide.report["elements_checked"] / wide.cycles
    return [Row("gaussian, 64 x 64 pixels in, one lane: cycles from start to done; tiles", f"{cycles:,}; {pes} PE, {mems} MEM",
                "<= 4,095 + 32 (depth of the pipeline); <= 12 PE, 2 MEM", cycles <= 4127 and pes <= 12 and mems <= 2),
            Row("the same: build of `rtl` on `onyx` and the tile", f"{seconds:.0f} s", "<= 90 s", seconds <= 90),
            Row("gaussian, 510 x 510, 14 lanes: pixels per cycle from start to done", f"{rate:.2f} ({rate / 14:.0%} of 14)",
                ">= 90 % of 14", rate >= 0.9 * 14)]


def size() -> list[Row]:
    """The installed environment."""
    files = (path for path in (ROOT / ".venv").rglob("*") if path.is_file() and not path.is_symlink())
    megabytes = sum(path.stat().st_size for path in files) / 1e6
    return [Row("installed `.venv`", f"{megabytes:.0f} MB", "<= 700 MB", megabytes <= 700)]


def tests() -> list[Row]:
    """`make test` with an empty cache of models."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        done = subprocess.run(["make", "test"], cwd=ROOT, env={**os.environ, "XDG_CACHE_HOME": folder}, check=False)
        minutes = (time.perf_counter() - began) / 60
    return [Row("`make test`", f"{minutes:.1f} min" + ("" if done.returncode == 0 else ", failing"), "<= 15 min",
                minutes <= 15 and done.returncode == 0)]


MEASUREMENTS: dict[str, Callable[[], list[Row]]] = {
    "emit": emit, "onyx_rtl": onyx_rtl, "small_rtl_full": small_rtl_full, "compile": compile_time, "pnr": pnr,
    "cycles": cycles, "dense": dense, "gaussian": gaussian, "size": size, "tests": tests}


def render(rows: list[Row]) -> str:
    """The table in Markdown."""
    lines = ["| what | measured | budget | |", "|---|---|---|---|"]
    lines += [f"| {r.what} | {r.measured} | {r.budget} | {'met' if r.met else '**missed**'} |" for r in rows]
    return "\n".join(lines)


def main() -> int:
    """Measure what was asked for; with everything measured, write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*MEASUREMENTS, []], help=f"of {', '.join(MEASUREMENTS)}; default: all")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps([vars(row) for row in MEASUREMENTS[options.names[0]]()]))
        return 0
    rows: list[Row] = []
    for name in options.names or MEASUREMENTS:
        print(f"measuring {name}", file=sys.stderr, flush=True)
        done = subprocess.run([sys.executable, __file__, name, "--one"], stdout=subprocess.PIPE, text=True, check=True)
        rows += [Row(**row) for row in json.loads(done.stdout.splitlines()[-1])]
    print(render(rows))
    if not options.names:
        head, _, rest = TABLE.read_text().partition(BEGIN)
        TABLE.write_text(f"{head}{BEGIN}\n{render(rows)}\n{END}{rest.partition(END)[2]}")
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
