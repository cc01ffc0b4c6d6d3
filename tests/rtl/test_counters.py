"""Performance counters in generated Verilog, against what moves and waits in a VCD of the same run."""

import struct
from dataclasses import replace

import numpy as np
import pytest
from machines import KERNELS, LEAST
from one_piece import traced_machine
from waveform import Vcd

import sardonyx
import sardonyx.counters
import sardonyx.halide
from sardonyx.compiler.einsum import compile_einsum
from sardonyx.compiler.ir.mapped import LOAD
from sardonyx.compiler.lang.einsum import parse
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.counters import EVENTS, Counts
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.interconnect import Interconnect
from sardonyx.hw.arch.primitive import LEVEL, Flow
from sardonyx.hw.arch.tile import DATA, MEM
from sardonyx.programs import shipped
from sardonyx.runtime import counters, host
from sardonyx.runtime.plan import prepare
from sardonyx.sim import engines
from sardonyx.sim.engines import Run
from sardonyx.sim.model.counters import added, counted
from sardonyx.sim.rtl import simulator

# No more than a vector's way through the array takes, four MEM tiles, as a VCD needs the machine in one piece.
ARCH = replace(LEAST, name="counting", columns=2, rows=2, mem_every=1, counter_bits=12, interconnect=Interconnect(2),
               glb=replace(LEAST.glb, bank_bytes=2048),
               mem=replace(MEM, primitives=(LEVEL,), sram_lines=128, multiplier_tree=False))
COPY = "x(i) = b(i)"


def levels(name, coordinates):
    words = np.array([2, 0, len(coordinates), len(coordinates), *coordinates], np.uint16)
    return {f"{name}0": words, f"{name}_vals": np.array([len(coordinates), *(n + 1 for n in coordinates)], np.uint16)}


def watched(vcd, site, launches):
    """The counts of a tile, from the cycles of every launch in a VCD."""
    core = next(at for at in vcd.signals if at[-3:] == (f"x{site[0]}_y{site[1]}", "tile_logic", "core"))
    moved, waits = [], []
    for port in ARCH.tiles[site].ports:
        at, name = ((*core, f"fifo_{port.name}"), "o") if port.flow is Flow.IN else (core, port.name)
        (valid,), (ready,) = (np.array(vcd.series_of(at, f"{name}__{part}"), bool) for part in ("valid", "ready"))
        moved.append(valid & ready)
        if port.flow is Flow.OUT:
            waits.append(valid & ~ready)
    (flush,) = vcd.series_of(core[:-2], "flush")
    ends = np.flatnonzero(np.diff(np.array(flush, int)) == -1) + 1
    assert len(ends) == launches and ARCH.tiles[site].inputs(DATA)
    return added((counted(np.array(moved).T[first:last], np.array(waits).any(0)[first:last])
                  for first, last in zip(ends, [*ends[1:], len(flush)], strict=True)), ARCH.counter_bits)


def test_counts_are_what_moves_and_waits_in_a_vcd(tmp_path, monkeypatch):
    compiled = compile_einsum(parse(COPY), ARCH)
    sizes = (40, 40, 40, 0, 1, 7, 30)
    data, bounds = [levels("b", range(size)) for size in sizes], {"x0": 44, "x_vals": 41}
    monkeypatch.chdir(tmp_path)
    with traced_machine(ARCH).start() as machine:
        sites = [*compiled.placement.tiles.values()]
        host.execute(machine, prepare(compiled.program, ARCH), compiled.program)
        counters.clear(machine, sites)
        # From before the first launch on, also between launches.
        machine._send(struct.pack("<cB", b"N", 1))
        machine._counting = False
        outcomes = [outcome for one in (data, data[3:])
                    for outcome in host.run(machine, compiled.program, one, bounds, prepared=True)]
        machine._send(struct.pack("<cB", b"N", 0))
        found = counters.read(machine, sites)
        counters.clear(machine, sites[:1])
        assert counters.read(machine, sites[:2]) == {sites[0]: Counts(), sites[1]: found[sites[1]]}
    assert [[int(each["x_vals"][0]) for each in one.stored] for one in outcomes] == [[*sizes], [*sizes[3:]]]
    vcd = Vcd(tmp_path / "trace.vcd")
    assert found == {site: watched(vcd, site, 2) for site in sites}
    assert all(any(getattr(each, event) for each in found.values()) for event in EVENTS)


def test_a_report_has_the_counts_of_the_tiles_of_a_program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(simulator, "whole_machine", lambda arch, cache: traced_machine(arch))
    result = sardonyx.einsum(COPY, b=np.arange(1, 6), arch=ARCH, engine="rtl", counters=True, tile=5)
    blocks = {each["block"]: each for each in result.report["counters"]}
    assert sum(map(blocks.__contains__, ("values_b", "write_x_vals", "scan_b_i", "write_x_i"))) == 4
    assert blocks["values_b"]["primitive"] == "level"
    ends = [each for each in blocks.values() if each["primitive"] == "io"]
    # Segments, coordinates and values behind their lengths are loaded, all but the segments stored.
    assert sum(each["tokens"] for each in ends) == 3 + 2 * (6 + 6)
    assert all(0 < each["busy"] <= each["busy"] + each["starved"] + each["blocked"] <= result.cycles + 20
               for each in blocks.values())
    agree(sardonyx.einsum(COPY, b=np.arange(1, 6), arch=ARCH, engine="tokens", counters=True, tile=5), result)
    lines = sardonyx.counters.text(result.report["counters"]).splitlines()
    assert lines[0].split() == ["tile", "block", "primitive", *EVENTS] and len(lines) == 1 + len(blocks) + 2


def agree(model, hardware):
    """The events of the token model and of hardware: as many tokens at every tile. What waits in a tile enters and leaves in
    different cycles there, so it is busy for longer, up to a cycle for each token. It may be so for less where tokens meet that
    come apart in the model, whose FIFOs always have room, so that nothing is blocked; and at an IO tile, where the model counts
    load and store each on its own."""
    for one, other in zip(model.report["counters"], hardware.report["counters"], strict=True):
        assert (one["block"], one["tokens"]) == (other["block"], other["tokens"]) and one["blocked"] == 0
        least = one["busy"] / 2 if one["primitive"] == "io" else 0.95 * one["busy"] - 2
        assert least <= other["busy"] <= other["tokens"], one["block"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["spmspm", "matmul_kij", "matmul_ikj", "mat_elemadd", "residual", "mattransmul"])
def test_the_token_model_counts_the_events_of_kernels_as_their_verilog_does(name):
    arch = replace(KERNELS, name="counting kernels", counter_bits=32)
    agree(*(sardonyx.kernel(name, engine=engine, arch=arch, counters=True, size=24, tile=12, seed=3)
            for engine in ("tokens", "rtl")))


@pytest.mark.parametrize("named,message", [
    ({"arch": LEAST}, "machine 'least': it has no performance counters\n"
                      "  try: give counter_bits=32 in its description, for 32 bits each; engine tokens counts without"),
    ({"engine": "golden"}, "counters: engine golden reads no counters of tiles\n"
                           "  try: choose rtl or rtl-full, or tokens for those of a model"),
    ({"counters": 1}, "counters: it is 1, which is neither true nor false\n  try: give True or False")])
def test_counters_that_are_not_there_are_not_read(named, message):
    with pytest.raises(UserError) as error:
        sardonyx.einsum(COPY, b=np.arange(3), **{"arch": ARCH, "engine": "rtl", "counters": True, **named})
    assert str(error.value) == message


def test_counts_of_two_runs_add_up_as_far_as_a_register_goes():
    most = (1 << 32) - 1
    assert Counts(1, 2, 3, most) + Counts(4, 5, 6, 1) == Counts(5, 7, 9, most)
    one, other = Run(counts={(0, 1): Counts(1)}), Run(counts={(0, 1): Counts(2), (1, 1): Counts(3)})
    assert (one + other).counts == {(0, 1): Counts(3), (1, 1): Counts(3)}


GAUSSIAN = shipped("gaussian")
PHOTO = np.random.default_rng(0).integers(0, 255, (20, 26)).astype(np.uint8)


def check_static(result):
    """Words of loads and stores, and of all else in every cycle."""
    rows = result.report["counters"]
    ends = {each["block"]: each for each in rows if each["primitive"] == "io"}
    assert ends["photo"]["tokens"] == 20 * 26 and ends["photo"]["busy"] + ends["photo"]["starved"] <= result.cycles
    assert (ends["blur"]["tokens"], ends["blur"]["busy"] + ends["blur"]["starved"]) == (18 * 24, result.cycles)
    inside = [each for each in rows if each["primitive"] != "io"]
    assert inside and all(each["busy"] == result.cycles and each["tokens"] % result.cycles == 0 and
                          2 <= each["tokens"] // result.cycles <= 4 and not each["starved"] + each["blocked"]
                          for each in inside)


def test_of_static_streams_words_that_move_in_every_cycle_are_counted(monkeypatch):
    words = engines.run

    def run(engine, compiled, data, take, *_):
        words(engines.TOKENS, compiled, data, take)
        (load,) = (compiled.placement.tiles[each.block] for each in compiled.graph.streams if each.direction == LOAD)
        return Run(700, 1, placed=18 * 24, counts={load: Counts(520, 520)})

    monkeypatch.setattr(engines, "run", run)
    arch = replace(presets.get("small"), counter_bits=32)
    check_static(sardonyx.halide.run(GAUSSIAN, inputs={"photo": PHOTO}, arch=arch, counters=True))


@pytest.mark.slow
def test_loads_of_a_static_program_are_counted_in_verilog():
    arch = replace(presets.get("small"), name="counting", counter_bits=32)
    check_static(sardonyx.halide.run(GAUSSIAN, inputs={"photo": PHOTO}, arch=arch, counters=True))


@pytest.mark.parametrize("engine", ["tokens", "fabric"])
def test_a_program_of_pictures_has_nothing_to_count_without_a_clock(engine):
    with pytest.raises(UserError) as error:
        sardonyx.halide.run(GAUSSIAN, inputs={"photo": PHOTO}, engine=engine, counters=True)
    assert str(error.value) == (f"counters: engine {engine} runs programs of pictures without a clock, so that it has no "
                                "cycles to count\n  try: choose rtl or rtl-full")
