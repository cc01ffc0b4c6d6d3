"""The static ALU and its register file as generated Verilog, against the cycle-exact model and in time."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import ClockDomain, Module, ResetSignal, Signal
from amaranth.sim import Simulator, SimulatorContext
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sardonyx.hw.arch.op import BY_NAME, CONDITIONS
from sardonyx.hw.arch.primitive import ALU
from sardonyx.hw.arch.register_file import CYCLE_BITS, FIELDS, MODES, OPERANDS, SCHEDULE_FIELDS, SOURCES, WRITES
from sardonyx.hw.arch.tile import PE, TileSpec
from sardonyx.hw.arith.alu import Alu
from sardonyx.hw.arith.delay_lines import DelayLines
from sardonyx.hw.arith.register_file import RegisterFile
from sardonyx.sim.model.cycles.static_alu import run
from sardonyx.sim.rtl.bench import Bench, Case

CYCLES = 120
# The largest gap between two words of a schedule.
MOST = (1 << CYCLE_BITS) - 1
PORTS = ("a", "b", "c", "d", "e", "f")
SMALL, NONE = (dataclasses.replace(PE, register_words=words) for words in (4, 0))
LINES, SMALL_LINES = (dataclasses.replace(PE, register_words=words, register_schedules=False) for words in (32, 4))


@functools.cache
def bench(spec: TileSpec) -> Bench:
    """The ALU without FIFOs, so that the word at position t of an input is there in cycle t."""
    return Bench(Alu(spec))


def verilog(configs: list[Mapping[str, Any]], inputs: Mapping[str, Any], cycles: int = CYCLES,
            spec: TileSpec = PE) -> list[tuple[list[int], list[int]]]:
    """`res` and `p` in cycles 0..cycles-1 of each configuration."""
    codes = [spec.config(ALU).encode(static=1, **config) for config in configs]
    results = bench(spec).run_many([Case(inputs, code, expect={"res": cycles, "p": cycles}) for code in codes])
    for result in results:
        assert result.stamps["res"][:cycles] == result.stamps["p"][:cycles] == list(range(cycles))
        assert all(result.stamps[port][:cycles] == list(range(cycles)) for port in inputs)
    return [(result.outputs["res"][:cycles], result.outputs["p"][:cycles]) for result in results]


def arriving(seed: int, cycles: int = CYCLES) -> dict[str, list[int]]:
    """Random words at every port; few values, so that conditions hold now and then."""
    draw = np.random.default_rng(seed)
    words = np.where(draw.random((3, cycles)) < 0.5, draw.integers(0, 1 << 16, (3, cycles)), draw.integers(0, 3, (3, cycles)))
    return dict(zip(PORTS, np.concatenate([words, draw.integers(0, 2, (3, cycles))]).tolist(), strict=True))


def check(config: Mapping[str, Any], seed: int = 0, spec: TileSpec = PE) -> None:
    inputs = arriving(seed)
    config = {name: value for name, value in config.items() if name in spec.config(ALU).fields}
    res, p = run(config, inputs, CYCLES, spec.register_words, spec.register_schedules)
    assert verilog([config], inputs, spec=spec) == [(res.tolist(), p.tolist())]


@st.composite
def schedules(draw: st.DrawFn, port: str) -> dict[str, int]:
    """A schedule that does something in the cycles looked at, most of the time."""
    extents = draw(st.tuples(*[st.integers(0, 9)] * 2))
    gaps = draw(st.tuples(*[st.integers(0, 4) | st.integers(0, MOST)] * 2))
    address, *deltas = draw(st.tuples(*[st.integers(0, 31)] * 3))
    loops = {f"{port}_{part}{loop}": each[loop] for loop in range(2)
             for part, each in (("extent", extents), ("gap", gaps), ("delta", deltas))}
    return {**loops, f"{port}_on": draw(st.integers(0, 4)) > 0, f"{port}_cycle": draw(st.integers(0, 20)),
            f"{port}_address": address}


@st.composite
def configurations(draw: st.DrawFn) -> dict[str, Any]:
    config: dict[str, Any] = {
        "op": BY_NAME[draw(st.sampled_from(["adc", "taa", "muladd", "crop", "sel", "xor", "tss"]))].code,
        "cond": draw(st.sampled_from(CONDITIONS)).code, "lut": draw(st.integers(0, 255)), "signed": draw(st.integers(0, 1))}
    for port in PORTS:
        config |= {f"stream_{port}": draw(st.integers(0, 1)), f"const_{port}": draw(st.integers(0, 1))}
    for port in OPERANDS:
        config[f"operand_{port}"] = draw(st.sampled_from(SOURCES))
    for n in range(2):
        config |= {f"mode{n}": draw(st.sampled_from(MODES)), f"write{n}": draw(st.sampled_from(WRITES)),
                   f"base{n}": draw(st.integers(0, 31)), f"depth{n}": draw(st.integers(0, 31))}
        config |= draw(schedules(f"wr{n}")) | draw(schedules(f"rd{n}"))
    return config


@settings(max_examples=150)
@example({"op": BY_NAME["adc"].code, "stream_a": 1, "operand_b": "channel0", "mode0": "delay", "write0": "a", "depth0": 31}, 1)
@example({"op": BY_NAME["adc"].code, "stream_a": 1, "operand_b": "channel1", "mode1": "delay", "write1": "res"}, 2)
@given(config=configurations(), seed=st.integers(0, 99))
def test_results_are_those_of_the_model_in_every_cycle(config: dict[str, Any], seed: int) -> None:
    check(config, seed)


@settings(max_examples=20)
@given(config=configurations(), seed=st.integers(0, 99))
def test_a_smaller_register_file_wraps_as_the_model_says(config: dict[str, Any], seed: int) -> None:
    check(config, seed, SMALL)


@settings(max_examples=60)
@given(config=configurations(), seed=st.integers(0, 99), spec=st.sampled_from([LINES, SMALL_LINES]))
def test_delay_lines_without_schedules_are_those_of_the_model(config: dict[str, Any], seed: int, spec: TileSpec) -> None:
    check(config, seed, spec)


@pytest.mark.parametrize("spec", [PE, LINES], ids=["register file", "delay lines"])
def test_every_delay_comes_from_every_operand_and_the_result(spec: TileSpec) -> None:
    inputs = arriving(5)
    names = [(n, source, depth) for n in range(2) for source in WRITES for depth in (0, 1, 7, 30, 31)]
    configs = [{"op": BY_NAME["adc"].code, "stream_a": 1, "operand_b": f"channel{n}", f"mode{n}": "delay", f"write{n}": source,
                f"depth{n}": depth, f"base{n}": 9} for n, source, depth in names]
    for (_, source, depth), (res, _) in zip(names, verilog(configs, inputs, spec=spec), strict=True):
        # Operand b is late: the channel is added in the cycle of the result.
        # In cycle 0 nothing is written.
        past = np.array([0] * (depth + 2) + (res if source == "res" else inputs[source])[1:])[2:CYCLES]
        assert res == [0, 0, *((np.array(inputs["a"][:-2]) + past) % (1 << 16)).tolist()], (source, depth)


def test_a_schedule_longer_than_its_counters_keeps_its_cycles() -> None:
    # One word in 2**12 cycles, two of them: the second is shown more than 2**12 cycles after the first.
    config = {"op": BY_NAME["adc"].code, "operand_a": "channel0", "write0": "b", "wr0_on": 1, "wr0_cycle": 3, "wr0_extent0": 1,
              "wr0_gap0": MOST, "rd0_on": 1}
    cycles = MOST + 11
    words = [t % 1000 for t in range(cycles)]
    (res, _), = verilog([config], {"b": words}, cycles)
    assert res == [0] * 5 + [3] * (MOST + 1) + [words[4 + MOST]] * 5 == run(config, {"b": words}, cycles)[0].tolist()


def test_control_bits_play_no_part() -> None:
    words = [0x10000 | word for word in (0x005, 0x100, 0x200, 0x300)]
    config = {"op": BY_NAME["adc"].code, "stream_a": 1, "stream_b": 1}
    (res, _), = verilog([config], {"a": [*words, 0, 0], "b": [1, 2, 0x10003, 4, 0, 0]}, 6)
    assert res == [0, 0, 0x006, 0x102, 0x203, 0x304]


def test_valid_and_ready_play_no_part() -> None:
    alu = Alu(PE)

    async def drive(sim: SimulatorContext) -> None:
        config = {"op": BY_NAME["adc"].code, "stream_a": 1, "stream_d": 1, "operand_b": "channel0", "mode0": "delay",
                  "depth0": 2}
        sim.set(alu.cfg.as_value(), ALU.config.encode(static=1, **config))
        draw, before, results = np.random.default_rng(1), [0], [0, 0]
        for cycle in range(50):
            a, d = int(draw.integers(0, 1 << 16)), int(draw.integers(0, 2))
            sim.set(alu.a.payload.data, a)
            sim.set(alu.d.payload, d)
            for signal in (alu.a.valid, alu.b.valid, alu.d.valid, alu.res.ready, alu.p.ready):
                sim.set(signal, int(draw.integers(0, 2)))
            assert sim.get(alu.res.payload.data) == results[cycle]
            assert sim.get(alu.res.payload.control) == 0
            assert sim.get(alu.res.valid) == sim.get(alu.p.valid) == sim.get(alu.a.ready) == sim.get(alu.f.ready) == 1
            # The delay line of three words meets the a of the cycle before in the cycle of the result.
            results.append((a + before[-1] + d) % (1 << 16))
            before.append(a if cycle else 0)    # nothing is written in cycle 0
            await sim.tick()

    simulate(alu, drive)


def test_flush_empties_the_register_file_and_restarts_its_schedules() -> None:
    registers, m, reset = RegisterFile(32), Module(), Signal()
    m.domains.sync = ClockDomain()
    m.submodules.registers = registers
    m.d.comb += ResetSignal().eq(reset)

    async def drive(sim: SimulatorContext) -> None:
        sim.set(registers.enable, 1)
        values = {"mode1": 1, "depth1": 15, "base1": 1, "write1": 1, "wr0_on": 1, "wr0_cycle": 2, "rd0_on": 1, "rd0_cycle": 4}
        for name, value in values.items():
            sim.set(registers.cfg[name], value)
        for a in (7, 9):
            sim.set(reset, 1)
            await sim.tick()
            sim.set(reset, 0)
            sim.set(registers.a, a)
            sim.set(registers.b, 1)
            shown = []
            for _ in range(40):
                shown.append((sim.get(registers.next0), sim.get(registers.next1)))
                await sim.tick()
            assert shown == [(0 if t < 2 else a, 0 if t < 16 else 1) for t in range(40)]

    simulate(m, drive)


def simulate(design: Any, drive: Any) -> None:
    simulator = Simulator(design)
    simulator.add_clock(1e-9)
    simulator.add_testbench(drive)
    simulator.run()


def test_not_static_the_register_file_is_out_of_the_way() -> None:
    config = {"op": BY_NAME["adc"].code, "stream_a": 1, "const_b": 3, "operand_b": "channel0", "operand_a": "channel1",
              "mode0": "delay", "write0": "a", "mode1": "delay", "write1": "res"}
    result = bench(PE).run({"a": [1, 2, 0x10000, 3]}, ALU.config.encode(**config))
    assert result.outputs["res"] == [4, 5, 0x10000, 6]


def test_without_schedules_there_are_no_fields_for_them() -> None:
    assert set(LINES.config(ALU).fields) == set(ALU.config.fields) - {field.name for field in SCHEDULE_FIELDS}


def test_without_register_file_there_are_no_fields_for_one() -> None:
    assert set(NONE.config(ALU).fields) == set(ALU.config.fields) - {field.name for field in FIELDS}
    inputs = arriving(8)
    config = {"op": BY_NAME["taa"].code, "stream_a": 1, "const_b": 3, "stream_c": 1}
    assert verilog([config], inputs, spec=NONE)[0][0] == run(config, inputs, CYCLES, 0)[0].tolist()


@pytest.mark.parametrize("kind,name", [(RegisterFile, "register file"), (DelayLines, "delay line")])
@pytest.mark.parametrize("words", [1, 3, 64])
def test_other_sizes_are_refused(words: int, kind: type, name: str) -> None:
    # Amaranth would complain that it is not used.
    refused = type("Refused", (kind,), {"_MustUse__silence": True})
    with pytest.raises(ValueError, match=f"^a {name} has 2, 4, 8, 16 or 32 words, not {words}$"):
        refused(words)
