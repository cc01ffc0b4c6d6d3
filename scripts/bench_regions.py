"""A row of `bench.py`: what a region computes while another one is configured again and again.

Two halves of `small`: in one the kernel `vec_elemmul` runs; in the other a host streams the configurations of two programs in
turn out of the global buffer, and waits for each. Words and cycles of every launch are compared with those that
the region has alone.

Source: Amber JSSC IV (partial reconfiguration while others run).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from bench_row import Row

from sardonyx.compiler.backend.image import image
from sardonyx.compiler.einsum import compile_einsum
from sardonyx.compiler.ir.program import Program
from sardonyx.compiler.lang.kernel import load_kernel
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.soc import CONFIGURED, CONFIGURING, CONTROLLER, named
from sardonyx.runtime.data.images import images
from sardonyx.runtime.region import Region, part
from sardonyx.runtime.session import Session
from sardonyx.sim.rtl import simulator

TIMES = 1_000
LAUNCHES = 40
# What one configuration has in the banks lies so far from the other one's.
APART = 1 << 14


def beside_reconfiguration(times: int = TIMES) -> Row:
    """Runs of a region while the other one is configured so many times; AssertionError where a word or a cycle differs."""
    whole = replace(presets.get("small"), regions=2)
    half = part(whole, whole.glb_tiles // 2)
    program, other = (compile_einsum(load_kernel(name).einsum(), half).program for name in ("vec_elemmul", "vec_elemadd"))
    values = np.array([200, *range(200)], np.uint16)
    level = np.concatenate((np.array([2, 0, 200], np.uint16), values))
    works = [{"b0": level, "b_vals": values, "c0": level, "c_vals": values}] * LAUNCHES
    bounds = {"x0": len(level), "x_vals": len(values)}
    with simulator.whole_machine(whole).start() as machine, Session(machine, [half.columns] * 2) as session:

        def ran() -> tuple[list[dict[str, list[int]]], list[int]]:
            """Words and cycles of the launches."""
            found = session.wait(0)
            return ([{name: words.tolist() for name, words in blocks.items()} for one in found for blocks in one.stored],
                    [one.cycles for one in found])

        session.load(0, program)
        session.run(0, works, bounds)
        alone, done, runs = ran(), 0, 0
        streams = _streams(session.regions[1], (program, other), half)
        while done < times:
            session.run(0, works, bounds)
            while session.busy(0) and done < times:
                _configure(session.regions[1], streams[done % 2])
                done += 1
            assert ran() == alone, f"words or cycles differ after {done} configurations"
            runs += 1
    return Row("a region of half of `small` while the other half is configured 1,000 times: words and cycles of each run; "
               "runs", f"equal to alone, {sum(alone[1]):,} cycles; {runs}", "equal to alone", True)


def _streams(region: Region, programs: tuple[Program, Program], arch: Arch) -> list[list[tuple[int, int, int]]]:
    """Bring what configures a region for each program to the banks: tile, first byte and lines of each."""
    found = list[list[tuple[int, int, int]]]()
    for number, program in enumerate(programs):
        streams, = images(image(program, arch), arch)
        for tile, lines in streams.items():
            region.write_memory(tile * arch.glb.tile_bytes + number * APART, lines.view("<u2"))
        found.append([(tile, number * APART, len(lines)) for tile, lines in streams.items()])
    return found


def _configure(region: Region, streams: list[tuple[int, int, int]]) -> None:
    """Configure a region out of its banks, and wait for the end."""
    for tile in range(region.arch.glb_tiles):
        region.write_register("config_control", 0, tile)
    for tile, first, lines in streams:
        for name, value in (("config_control", 1), ("config_start", first), ("config_words", lines)):
            region.write_register(name, value, tile)
    region.write_register("control", named(CONTROLLER)["control"].word(configure=1))
    while region.read_register("status") >> CONFIGURING & 1:
        pass
    assert region.read_register("status") >> CONFIGURED & 1, "all words have gone down"


if __name__ == "__main__":
    print(beside_reconfiguration().line())
