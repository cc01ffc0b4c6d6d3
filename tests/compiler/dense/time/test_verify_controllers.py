"""The check of controllers: it walks as the hardware does, and every wrong field of a configuration is found and named."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from stencils import BLUR

from sardonyx.compiler.dense.map import affine
from sardonyx.compiler.dense.map.affine import Pattern, events, fields, replay
from sardonyx.compiler.dense.time.settle import settle
from sardonyx.compiler.dense.time.verify_controllers import (
    BUFFER_PORTS,
    REGISTER_PORTS,
    Kept,
    Meant,
    Port,
    Schedule,
    verify,
    walk,
)
from sardonyx.compiler.halide import CompiledDense, compile_pes
from sardonyx.compiler.ir.mapped import Block, MappedGraph, Pin
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.op import BY_NAME
from sardonyx.hw.arch.primitive import ALU, BUFFER
from sardonyx.hw.arch.register_file import LOOPS, OPERANDS, ScheduleSizes
from sardonyx.sim.model.cycles import static_alu

SMALL = presets.get("small")
SITES = {kind: next(site for site, tile in SMALL.tiles.items() if tile.kind == kind) for kind in ("pe", "mem")}
A, B = Pin("it", "data0"), Pin("it", "data1")
PRIMITIVES = {"pe": "alu", "mem": "buffer"}

Event = tuple[int, int]


def plainly(schedule: Schedule, most: int) -> list[Event]:
    """What `hw/memory/controller.py` does, clock by clock: registers and a countdown, no arrays."""
    found: list[Event] = []
    counts, left, address, ended, cycle = [0] * len(schedule.extents), schedule.cycle, schedule.address, not schedule.on, 0
    while not ended and len(found) < most:
        if left == 0:
            found.append((cycle, address))
            level = 0
            while level < len(counts) and counts[level] == schedule.extents[level]:
                counts[level] = 0
                level += 1
            ended = level == len(counts)
            if not ended:
                counts[level] += 1
                left, address = schedule.gaps[level], (address + schedule.deltas[level]) % schedule.size
        else:
            left -= 1
        cycle += 1
    return found


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    """Any settings, made by no compiler."""
    loops, size = draw(st.integers(1, 6)), 1 << draw(st.integers(0, 11))
    each = [tuple(draw(st.lists(st.integers(0, most), min_size=loops, max_size=loops))) for most in (3, 9, size - 1)]
    return Schedule(draw(st.booleans() | st.just(True)), draw(st.integers(0, 40)), draw(st.integers(0, size - 1)), *each, size)


@given(schedules(), st.integers(1, 300))
def test_a_walk_is_what_a_controller_does_clock_by_clock(schedule: Schedule, most: int) -> None:
    cycles, addresses = walk(schedule, most)
    assert list(zip(cycles.tolist(), addresses.tolist(), strict=True)) == plainly(schedule, most)


def test_a_walk_counts_as_far_as_the_fields_allow() -> None:
    full = Schedule(True, 65535, 2047, (2047,) * 6, (65535,) * 6, (2047,) * 6, 2048)
    cycles, addresses = walk(full, 4097)
    assert cycles.tolist() == [65535 + 65536 * word for word in range(4097)]
    assert addresses.tolist() == [(2047 - word) % 2048 for word in range(4097)]


def alone(kind: str, settings: Mapping[str, int | str], meant: Meant) -> None:
    """Check a program of one block, `it`."""
    mode = PRIMITIVES[kind]
    graph = MappedGraph({"it": Block("it", kind, mode, {})}, (), ())
    verify({SITES[kind]: {"core": {"mode": mode}, mode: settings}}, graph, {"it": SITES[kind]}, meant, SMALL)


def is_found(kind: str, settings: Mapping[str, int | str], meant: Meant) -> bool:
    """Whether the check finds a fault."""
    try:
        alone(kind, settings, meant)
    except AssertionError as error:
        assert re.match(rf"it on tile \({SITES[kind][0]}, {SITES[kind][1]}\), ", str(error))
        return True
    return False


@st.composite
def patterns(draw: st.DrawFn, loops: int) -> Pattern:
    """Up to so many loops, whose words come one after the other."""
    extents = draw(st.lists(st.integers(1, 4), max_size=loops))
    inner, cycles = 0, []
    for extent in extents:
        cycles.append(inner + draw(st.integers(1, 20)))
        inner += (extent - 1) * cycles[-1]
    addresses = [draw(st.integers(-3000, 3000)) for _ in extents]
    return Pattern(tuple(extents), tuple(cycles), tuple(addresses), draw(st.integers(0, 50)), draw(st.integers(-9, 5000)))


def changed(draw: st.DrawFn, settings: Mapping[str, int], port: str, widths: Mapping[str, int]) -> dict[str, int]:
    """The settings with one of a port's fields drawn anew; values far from others are found all the same, but walk long."""
    name = draw(st.sampled_from(sorted(name for name in widths if name.startswith(port) and not name.endswith("_replay"))))
    event(name.removeprefix(port))
    return {**settings, name: draw(st.integers(0, min(60, (1 << widths[name]) - 1)))}


def schedule(settings: Mapping[str, int], port: str, loops: int, size: int) -> Schedule:
    each = (tuple(settings.get(f"{port}_{part}{loop}", 0) for loop in range(loops)) for part in ("extent", "gap", "delta"))
    return Schedule(bool(settings[f"{port}_on"]), settings[f"{port}_cycle"], settings.get(f"{port}_address", 0), *each, size)


def follows(settings: Schedule, pattern: Pattern) -> bool:
    """Whether the words, walked clock by clock, are those of nested loops."""
    cycles, addresses = events(pattern)
    return plainly(settings, len(cycles) + 1) == list(zip(cycles.tolist(), (addresses % settings.size).tolist(), strict=True))


@given(st.data(), st.sampled_from(BUFFER_PORTS))
def test_a_port_that_follows_its_pattern_is_accepted_and_no_other(data: st.DataObject, port: str) -> None:
    pattern = data.draw(patterns(SMALL.mem.loops(port)))
    good = fields(SMALL.mem, port, pattern)
    meant = Meant({Port("it", port): pattern}, {})
    alone("mem", good, meant)
    widths = {name: field.bits for name, field in SMALL.mem.config(BUFFER).fields.items()}
    bad = changed(data.draw, good, port, widths)
    size = 1 if port == "valid" else SMALL.mem.buffer_words
    assert is_found("mem", bad, meant) == (not follows(schedule(bad, port, SMALL.mem.loops(port), size), pattern))


@given(st.data(), st.sampled_from(REGISTER_PORTS))
def test_a_schedule_of_a_register_file_is_accepted_only_if_it_follows_its_pattern(data: st.DataObject, port: str) -> None:
    pattern = data.draw(patterns(LOOPS))
    good = {f"mode{port[-1]}": 0, **fields(ScheduleSizes(SMALL.pe.register_words), port, pattern)}
    meant = Meant({Port("it", port): pattern}, {})
    alone("pe", good, meant)
    assert is_found("pe", {**good, f"mode{port[-1]}": "delay"}, meant)
    bad = changed(data.draw, good, port, {name: field.bits for name, field in ALU.config.fields.items()})
    assert is_found("pe", bad, meant) == (not follows(schedule(bad, port, LOOPS, SMALL.pe.register_words), pattern))


@given(patterns(2), st.integers(0, 40), st.integers(0, 9))
def test_a_write_port_may_walk_the_loops_of_a_read_port(pattern: Pattern, cycle: int, address: int) -> None:
    again = replace(pattern, cycle=cycle, address=address)
    settings = fields(SMALL.mem, "rd1", pattern) | replay(SMALL.mem, "wr1", cycle, address)
    meant = Meant({Port("it", "rd1"): pattern, Port("it", "wr1"): again}, {})
    alone("mem", settings, meant)
    single = len(events(pattern)[0]) == 1
    assert is_found("mem", {**settings, "wr1_replay": 0}, meant) == (not single)


@st.composite
def delays(draw: st.DrawFn) -> tuple[dict[str, int], dict[Pin, int]]:
    """Register files whose two delay lines keep a and b, some of them spoilt."""
    one, other = draw(st.integers(1, 9)), draw(st.integers(1, 9))
    settings = {"operand_a": 1, "mode0": 1, "write0": 0, "base0": draw(st.integers(0, 31)), "depth0": one - 1,
                "operand_b": 2, "mode1": 1, "write1": 1, "depth1": other}   # b is late
    settings["base1"] = (settings["base0"] + one) % 32
    if draw(st.booleans()):
        name = draw(st.sampled_from(sorted(settings)))
        settings[name] = draw(st.integers(0, {"operand": 2, "write": 3, "mode": 1}.get(name.rstrip("_ab01"), 12)))
    return settings, {A: one, B: other}


@given(delays())
def test_operands_wait_as_long_as_they_are_meant_to(case: tuple[dict[str, int], dict[Pin, int]]) -> None:
    """Judged by the meaning of a PE that subtracts: one operand counts cycles, the other is 0, and both change roles."""
    settings, waits = case
    cycles = 60
    count = np.arange(cycles)   # a delay line writes nothing in cycle 0
    right = True
    for operand, pin, sign in (("a", A, 1), ("b", B, -1)):
        config = {**settings, "op": BY_NAME["sbc"].code, "stream_a": 1, "stream_b": 1, "const_d": 1}
        shown, _ = static_alu.run(config, {operand: count}, cycles)
        later = waits[pin] + BY_NAME["sbc"].latency
        right &= bool(np.array_equal(shown[later:], (sign * count[:-later]).astype(np.uint16)))
    # A line that writes the result is wrong, even if it looked right to this PE.
    keeps_results = 3 in (settings["write0"], settings["write1"])
    event("right" if right else "wrong")
    assert is_found("pe", settings, Meant({}, waits)) == (not right or keeps_results)


def test_an_operand_comes_from_the_schedule_that_keeps_the_right_word() -> None:
    """Sums: b is the result of the cycle before, 0 at the start of a row of four."""
    write, read = Pattern((4, 3), (1, 4), (0, 0), 9, 1), Pattern((2, 3), (1, 4), (1, 0), 9, 0)
    settings = {"operand_b": "channel1", "mode1": "scheduled", "write1": "res",
                **fields(ScheduleSizes(32), "wr1", write), **fields(ScheduleSizes(32), "rd1", read)}
    meant = Meant({Port("it", "wr1"): write, Port("it", "rd1"): read}, {}, {B: Kept(1, "res")})
    alone("pe", settings, meant)
    told = []
    for name, value in (("operand_b", "port"), ("operand_b", "channel0"), ("operand_b", 3), ("operand_a", "channel1"),
                        ("write1", "b"), ("mode1", "delay"), ("rd1_delta0", 0), ("wr1_delta1", 1)):
        with pytest.raises(AssertionError) as error:
            alone("pe", {**settings, name: value}, meant)
        told.append(str(error.value).removeprefix(f"it on tile {SITES['pe']}, "))
    assert told == [
        "operand b: it is meant to come from channel1, but comes from port",
        "operand b: it is meant to come from channel1, but comes from channel0",
        "operand b: it is meant to come from channel1, but comes from source 3, which there is not",
        "operand a: it is meant to come from port, but comes from channel1",
        "operand b: channel1 is meant to keep res, but keeps b",
        "wr1: word 0 is meant in cycle 9 at address 1, but comes never",
        "rd1: word 1 is meant in cycle 10 at address 1, but comes in cycle 10 at address 0",
        "wr1: word 4 is meant in cycle 13 at address 1, but comes in cycle 13 at address 2"]


def test_nothing_else_is_written() -> None:
    """A line that nobody reads would take turns with words that are wanted."""
    with pytest.raises(AssertionError, match=r"^it on tile .*: channel1 writes words that nobody waits for$"):
        alone("pe", {"mode1": "delay"}, Meant({}, {}))


def test_no_register_of_a_delay_line_is_written_by_a_schedule() -> None:
    pattern = Pattern((3, 5), (1, 4), (1, 0), 20, 7)
    settings = {"operand_a": "channel0", "mode0": "delay", "write0": "a", "base0": 2, "depth0": 4, "write1": "res",
                **fields(ScheduleSizes(32), "wr1", pattern)}
    meant = Meant({Port("it", "wr1"): pattern}, {A: 4})
    alone("pe", settings, meant)
    with pytest.raises(AssertionError, match="operand a: channel0 shows in cycle 4 at address 7 a word that a schedule writes"):
        alone("pe", {**settings, "base0": 3}, meant)


@pytest.fixture(scope="module")
def blur() -> CompiledDense:
    compiled = compile_pes(BLUR, SMALL, (40, 4))
    assert compiled.static.lines
    return compiled


def spoilt(compiled: CompiledDense, block: str, name: str, value: int | str | None = None) -> str:
    """What the check says of a configuration with another value of one field, or with its lowest bit turned."""
    graph, meant = compiled.graph, settle(compiled.static, compiled.alignment, SMALL).meant
    config, tiles = compiled.program.config, compiled.placement.tiles
    verify(config, graph, tiles, meant, SMALL)
    mode = graph.blocks[block].primitive
    sets = config[tiles[block]]
    old = sets[mode]
    other = {**old, name: int(old[name]) ^ 1 if value is None else value}
    assert other != old, f"{name} is {value} anyway"
    with pytest.raises(AssertionError) as error:
        verify({**config, tiles[block]: {**sets, mode: other}}, graph, tiles, meant, SMALL)
    return str(error.value)


@pytest.mark.parametrize("name", ["rom", "wr1_on", *(
    f"{port}_{part}" for port in ("wr0", "rd0", "rd1")
    for part in ("on", "cycle", "address", "extent0", "extent1", "gap0", "delta0"))])
def test_every_field_of_a_delay_line_matters(blur: CompiledDense, name: str) -> None:
    line, ports = next(iter(blur.static.lines.items()))
    assert ports == ("out0", "out1")
    where = f"{line} on tile {blur.placement.tiles[line]}"
    assert spoilt(blur, line, name).startswith(where + (": a table" if name == "rom" else f", {name[:3]}: word "))


@pytest.mark.parametrize("name", ["on", "cycle", "extent0", "extent1", "extent2", "gap0", "gap1"])
def test_every_field_of_a_flag_matters(blur: CompiledDense, name: str) -> None:
    mem = next(iter(blur.static.valid.values()))
    assert f"{mem} on tile {blur.placement.tiles[mem]}, valid: word " in spoilt(blur, mem, f"valid_{name}")


@pytest.mark.parametrize(("name", "value"), [("operand", "port"), ("mode", "scheduled"), ("write", "res"), ("depth", None)])
def test_every_field_of_a_waiting_operand_matters(blur: CompiledDense, name: str, value: str | None) -> None:
    sink = next(sink for sink, wait in blur.alignment.waits.items() if wait)
    settings = blur.graph.blocks[sink.block].config
    operand, source = next((each, str(settings[f"operand_{each}"])) for each in OPERANDS if f"operand_{each}" in settings)
    field = f"operand_{operand}" if name == "operand" else f"{name}{source[-1]}"
    assert f", operand {operand}: " in spoilt(blur, sink.block, field, value)


def test_a_compiler_that_forgets_the_return_of_inner_loops_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(affine, "recurrence", lambda extents, strides: strides)
    with pytest.raises(AssertionError, match=r" on tile \(\d+, \d+\), valid: word 40 is meant in cycle \d+, but comes"):
        compile_pes(BLUR, SMALL, (40, 4))


def test_a_fault_is_told_with_words_cycles_and_addresses() -> None:
    pattern = Pattern((3, 2), (1, 5), (1, 64), 10, 0)
    meant = Meant({Port("it", "rd0"): pattern}, {})
    good = fields(SMALL.mem, "rd0", pattern)
    told = []
    for name, value in (("rd0_delta1", 63), ("rd0_gap1", 3), ("rd0_extent1", 0), ("rd0_extent2", 1), ("rd0_on", 0),
                        ("valid_on", 1)):
        with pytest.raises(AssertionError) as error:
            alone("mem", {**good, name: value}, meant)
        told.append(str(error.value).removeprefix(f"it on tile {SITES['mem']}, "))
    assert told == [
        "rd0: word 3 is meant in cycle 15 at address 64, but comes in cycle 15 at address 65",
        "rd0: word 3 is meant in cycle 15 at address 64, but comes in cycle 16 at address 64",
        "rd0: word 3 is meant in cycle 15 at address 64, but comes never",
        "rd0: word 6 is meant never, but comes in cycle 18 at address 66",
        "rd0: word 0 is meant in cycle 10 at address 0, but comes never",
        "valid: word 0 is meant never, but comes in cycle 0"]
    waits = Meant({}, {A: 2})     # a PE takes it from the register file in its second cycle
    line = {"operand_a": "channel0", "mode0": "delay", "write0": "a", "base0": 4, "depth0": 2}
    told = []
    for name, value in (("depth0", 3), ("write0", 1), ("operand_a", 2), ("operand_b", 1)):
        with pytest.raises(AssertionError) as error:
            alone("pe", {**line, name: value}, waits)
        told.append(str(error.value).removeprefix(f"it on tile {SITES['pe']}, "))
    assert told == [
        "operand a: word 0 is meant for cycle 3, but channel0 shows in cycle 3 at address 7 one that was never written",
        "operand a: word 0 is meant for cycle 3, but channel0 shows in cycle 3 at address 4 word 0 of b",
        "operand a: it is meant to wait 2 cycles, but comes from channel1",
        "operand b: it is meant to come from port, but comes from channel0"]


def test_only_operands_of_pes_are_meant_to_wait() -> None:
    for pin in (Pin("it", "bit0"), Pin("nothing", "data0")):
        with pytest.raises(AssertionError, match=rf"^{pin.block}\.{pin.port} has no register file$"):
            alone("pe", {}, Meant({}, {pin: 1}))


def test_what_is_meant_is_meant_for_a_controller() -> None:
    pattern = Pattern((2,), (1,), (1,), 0, 0)
    for name in ("it", "nothing"):
        with pytest.raises(AssertionError, match=f"^words are meant for valid of {name}, which has no such controller$"):
            alone("pe", {}, Meant({Port(name, "valid"): pattern}, {}))
