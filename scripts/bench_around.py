"""Rows of `bench.py` about what is around the array: its configuration, what follows what, and who has which columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module

import bench_lying
import bench_outside
import bench_protection
import bench_regions
import numpy as np
import skimage.data
from bench_pictures import picture, pipeline_of
from bench_row import Given, Left, Row

import sardonyx.halide
from sardonyx.apps.dense import camera as camera_pipeline
from sardonyx.apps.dense import matrix_product
from sardonyx.compiler.backend.image import applied, deciding, image, registers
from sardonyx.compiler.einsum import compile_einsum
from sardonyx.compiler.halide import compile_halide
from sardonyx.compiler.lang.kernel import load_kernel
from sardonyx.hw.arch import presets
from sardonyx.outcome import silent
from sardonyx.picture_job import PictureJob, Wanted
from sardonyx.runtime import host
from sardonyx.runtime.data.images import images
from sardonyx.runtime.held import Held
from sardonyx.runtime.host import execute
from sardonyx.runtime.plan import launches, loops_of_transactions, prepare
from sardonyx.runtime.region import Region
from sardonyx.runtime.scheduler import Scheduler
from sardonyx.runtime.streamed import streamed as stream
from sardonyx.sim.rtl import simulator


def system(given: Given) -> list[Row | Left]:
    """What is around the array, but for the energy of its global buffer."""
    return [*reconfiguration(), *following(), *bench_outside.outside(given), *bench_lying.lying(given), *bench_lying.pictures(),
            *bench_lying.products(), *sharing(), bench_regions.beside_reconfiguration(), *bench_protection.protection(given)]


def following() -> list[Row]:
    """Cycles between the starts of two tiles of one launch, against what a tile takes."""
    arch, photo = presets.get("small"), skimage.data.camera()
    blur = import_module("sardonyx.apps.dense.gaussian").build()
    alone, three = (picture(blur, {"photo": photo[:64, :62 * tiles + 2]}, "small", tile=(62, 62)) for tiles in (1, 3))
    assert three.report["launches"] == 1, "the tiles are of one launch"
    apart = (three.cycles - alone.cycles) / 2
    over = apart - alone.cycles
    rows = [Row("gaussian on `small`, tiles of 64 x 64 pixels in, one launch: cycles from start to start; words of a tile; a "
                "tile alone from start to done; between that and the next start",
                f"{apart:,.0f}; {64 * 64:,}; {alone.cycles:,}; {over:.0f}",
                "<= 16 cycles of overhead", over <= 16, "a round trip to the host")]
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
    # What no way down pairs of columns is faster than, whatever takes it.
    busiest = max(Counter((where >> 24) // arch.glb.columns_per_tile for where in wanted["gaussian"]).values())
    rows = list[Row]()
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
        rows.append(Row("configuration of `onyx`, all words one by one: words; those of the busiest GLB tile; cycles",
                        f"{len(wanted['gaussian']):,}; {words:,}; {cycles:,}", f"<= {busiest + 40:,} cycles",
                        cycles <= busiest + 40, "1,416", cycles / 1_416))
        for before, after in (("gaussian", "harris"), ("harris", "spmspm"), ("spmspm", "spmv"), ("spmv", "gaussian"),
                              ("gaussian", "spmspm")):
            if after != "harris":
                streamed(image(programs[before], arch), before)
            words, cycles = streamed(image(programs[after], arch, held), after)
            rows.append(Row(f"the same, {before} -> {after}, by what differs: words of the busiest tile; cycles",
                            f"{words:,}; {cycles:,}", "<= 500 cycles", cycles <= 500))
    return rows


def sharing() -> list[Row]:
    """The camera pipeline on every frame and a matrix product beside every tenth: on columns as they are needed, against fixed
    halves."""
    arch = replace(presets.get("onyx"), regions=2)
    matrix, rows = (np.arange(64 * count, dtype=np.int16).reshape(count, 64) for count in (64, 256))
    photo = camera_pipeline.mosaic(skimage.data.astronaut())
    product = matrix_product.build(64)

    def job(program: object, inputs: Mapping[str, np.ndarray], columns: int, lanes: int | None,
            tile: tuple[int, int] | None = None) -> PictureJob:
        """A program for so many columns, in tiles of these sides; None: in those chosen for words over the bus."""
        found = sardonyx.halide.prepared(program, inputs, None, {}, silent)
        return found.job(Wanted(found.size, tile, lanes, replace(arch, columns=columns, regions=1), 0), silent)

    def frames(job: PictureJob, count: int) -> Callable[[Region], list[int]]:
        """Configure a region and compute frames, whose words stay in the global buffer: static programs do not look at them;
        nor are registers written that hold what they should, as `host.run` does it. Gives the cycles of each launch."""
        def work(region: Region) -> list[int]:
            program, cycles, before, known = job.compiled.program, list[int](), 0, Held(region.arch)
            execute(region, known.changes(prepare(program, region.arch)), program)
            for _ in range(count):
                given = job.data.transactions(loops_of_transactions(region.arch.glb))
                for launch in launches(program, region.arch, given, job.data.bounds()):
                    for commands in (launch.starts, launch.ends):
                        execute(region, known.changes(commands), program)
                    now = region.read_register("cycles")
                    cycles.append(now - before * launch.joins)
                    before = now
            return cycles

        return work

    def compared(job: PictureJob) -> Callable[[Region], list[int]]:
        """The same for one frame, whose words are brought and read; all elements are compared with NumPy."""
        def work(region: Region) -> list[int]:
            cycles, most = list[int](), loops_of_transactions(region.arch.glb)
            for data in job.parts():
                for found in host.run(region, job.compiled.program, data.transactions(most), data.bounds(), overlapped=False):
                    cycles.append(found.cycles)
                    for stored in found.stored:
                        data.take(stored)
            job.check()
            return cycles

        return work

    # As many lanes as have room, and the tiles of the fewest points: no word comes over the bus.
    whole, half = (job(camera_pipeline.build(), {"photo": photo}, columns, lanes, tile)
                   for columns, lanes, tile in ((32, 5, (505, 504)), (16, 2, (504, 168))))
    beside = job(product, {"weights": matrix, "rows": rows}, 16, None)
    needed, halves = ((32, whole, 9), (16, half, 1), (16, beside, 1)), ((16, half, 10), (16, beside, 1))

    def done(work: Callable[[PictureJob, int], Callable[[Region], list[int]]],
             jobs: Sequence[tuple[int, PictureJob, int]]) -> tuple[int, list[tuple[int | None, list[int]]]]:
        """Cycles of all jobs, and of each the column where it began and the cycles of its launches."""
        with simulator.whole_machine(arch).start() as machine:
            began = machine.cycles
            with Scheduler(machine) as scheduler:
                given = [scheduler.submit(columns, work(each, count)) for columns, each, count in jobs]
            return machine.cycles - began, [(each.first, each.result()) for each in given]

    _, checked = done(lambda each, _: compared(each), needed)
    spent = []
    for jobs, one in ((needed, checked), (halves, checked[1:])):
        cycles, ran = done(frames, jobs)
        assert ran == [(first, each * count) for (first, each), (*_, count) in zip(one, jobs, strict=True)], \
            "each frame ran where one was compared, in launches of as many cycles"
        spent.append(cycles)
    return [Row("camera pipeline on 10 frames of 512 x 512, a product of 256 x 64 x 64 beside one: cycles on fixed halves of "
                "`onyx`; on columns as they are needed; ratio",
                f"{spent[1]:,}; {spent[0]:,}; {spent[1] / spent[0]:.2f}; all elements of each program equal to NumPy's where "
                "it runs", ">= 1.76",
                spent[1] >= 1.76 * spent[0], "1.76, 58.7 : 33.3 frames/s", spent[1] / spent[0] / 1.76)]
