"""Runs of the dense controllers of a MEM tile, alone and against their model."""

import functools
from dataclasses import replace

import numpy as np

from sardonyx.compiler.dense.map.affine import Pattern
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.buffer import READS, VALID
from sardonyx.hw.arch.primitive import BUFFER
from sardonyx.hw.arch.tile import MEM, TileSpec
from sardonyx.hw.memory.buffer import Buffer
from sardonyx.sim.model.cycles import buffer as model
from sardonyx.sim.rtl.bench import Bench

AMBER = presets.get("amber").mem
# Memories that fill within a test, with other numbers of lanes.
SMALL = replace(MEM, sram_lines=16, sram_lanes=4, extent_bits=8, write_loops=3)
SMALL_DEEP = replace(SMALL, sipo_lines=2)
SPECS = {"onyx": MEM, "amber": AMBER, "small": SMALL, "small_deep": SMALL_DEEP,
         "two_lanes": replace(SMALL, sram_lanes=2), "eight_lanes": replace(SMALL, sram_lanes=8, sipo_lines=2)}
LATENCY, DISTANCE = MEM.read_latency, MEM.write_to_read

Config = dict[str, int]


@functools.cache
def bench(spec: TileSpec) -> Bench:
    return Bench(Buffer(spec))


def words(seed: int, count: int) -> list[int]:
    return np.random.default_rng(seed).integers(0, 1 << 16, count).tolist()


def simulate(spec: TileSpec, config: Config, inputs: dict[str, list[int]], cycles: int) -> tuple[dict[str, np.ndarray], bool]:
    """What leaves each output in every cycle, and whether an overflow was reported."""
    result = bench(spec).run(inputs, spec.config(BUFFER).encode(**config), expect=dict.fromkeys((*READS, VALID), cycles))
    return {port: np.array(result.outputs[port][:cycles]) for port in (*READS, VALID)}, bool(result.status["overflow"])


def check(spec: TileSpec, config: Config, inputs: dict[str, list[int]], cycles: int) -> model.Result:
    """Run hardware and model, compare all that is due, and give the model's result."""
    expected = model.run(spec, config, inputs, cycles)
    found, overflow = simulate(spec, config, inputs, cycles)
    assert not overflow
    for port in READS:
        due = expected.words[port] != model.NOTHING
        np.testing.assert_array_equal(found[port][due], expected.words[port][due], port)
    np.testing.assert_array_equal(found[VALID], expected.valid)
    return expected


def ramp(spec: TileSpec, cycle: int, address: int = 0, words: int = 1 << 20) -> Pattern:
    """A word in every cycle, at successive addresses."""
    inner = min(words, 1 << spec.extent_bits)
    outer = max(1, min(words // inner, 1 << spec.extent_bits))
    return Pattern((inner, outer), (1, inner), (1, inner), cycle, address)
