import functools
import json
import random
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import checks
import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from amaranth.sim import Simulator, SimulatorContext

from sardonyx.cache import Cache, home
from sardonyx.hw import emit
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.config import STATUS_REGISTER
from sardonyx.hw.arch.glb import Glb
from sardonyx.hw.arch.interconnect import Interconnect
from sardonyx.hw.arch.presets import PRESETS
from sardonyx.hw.arch.primitive import PASS_THROUGH
from sardonyx.hw.arch.tile import PE, TileSpec
from sardonyx.hw.array import Array
from sardonyx.hw.configuration import packed
from sardonyx.hw.emit_platform import EmitPlatform
from sardonyx.hw.interconnect import boxes
from sardonyx.hw.interconnect.stage import PassStage
from sardonyx.hw.tile.core import link_members
from sardonyx.hw.yosys import YosysError, run_yosys
from sardonyx.sim.rtl.bench import Bench, Case

Site = tuple[int, int]
Words = dict[Site, list[int]]


def mesh(columns: int, rows: int, tracks: int, fifo: str = "split") -> Arch:
    """A small machine whose cores can only pass tokens on."""
    passing = TileSpec("pe", PE.ports, (PASS_THROUGH,))
    return Arch("mesh", columns, rows, mem_every=0, pe=passing, interconnect=Interconnect(tracks, fifo=fifo),
                glb=Glb(columns_per_tile=1))


def random_program(arch: Arch, draw: random.Random) -> tuple[Words, dict[tuple[str, int], tuple[str, int]]]:
    """Random routing trees from g2f to f2g ports, some through cores: configuration words by tile, source by sink.

    Ports are (name, column).
    """
    graph, values, taken = arch.graph, {}, set()
    feeds: dict[tuple[str, int], tuple[str, int]] = {}
    for site in arch.tiles:
        values[site] = {name: {} for name in arch.config_map(arch.tiles[site].kind).sets}

    def steps(node: int) -> Iterator[int]:
        x, y, layer, kind, name = graph.nodes[node]
        if kind == "in" and name == "data0":
            yield graph.index[(x, y, layer, "out", "res0")]
        yield from graph.fanout_idx[graph.fanout_ptr[node]:graph.fanout_ptr[node + 1]]

    def walk(tree: list[int], goal: int) -> list[int]:
        """A path from a tree to a free node over free nodes, its first node in the tree; empty if there is none."""
        stack = [[node] for node in draw.sample(tree, len(tree))]
        seen = set(tree)
        while stack:
            path = stack.pop()
            if path[-1] == goal:
                return path
            ends = [node for node in map(int, steps(path[-1])) if node not in taken and node not in seen]
            seen.update(ends)
            stack += [[*path, node] for node in draw.sample(ends, len(ends))]
        return []

    for layer, give, take in (("data", "g2f", "f2g"), ("bit", "g2f_bit", "f2g_bit")):
        trees = [[graph.index[(x, 0, layer, "out", give)]] for x in range(arch.columns)]  # type: ignore[index]
        for x in draw.sample(range(arch.columns), arch.columns):
            column = draw.randrange(arch.columns)
            path = walk(trees[column], graph.index[(x, 0, layer, "in", take)])  # type: ignore[index]
            if path:
                feeds[take, x] = give, column
            taken.update(path)
            trees[column] += path[1:]
            for source, sink in pairwise(path):
                node = graph.nodes[sink]
                if node.kind == "out":
                    values[node.x, node.y]["core"]["mode"] = "pass_through"
                else:
                    box = ("cb" if node.kind == "in" else "sb") + "_" + layer
                    values[node.x, node.y][box][f"{node.name}_sel"] = graph.select(sink, source)
    return {site: arch.config_map(arch.tiles[site].kind).encode(each) for site, each in values.items()}, feeds


class Configurable(wiring.Component):
    """The specialised form of an array with its configuration as inputs ``cfg_x_y``: one model for any program."""

    module_name = "configurable"

    def __init__(self, arch: Arch) -> None:
        self.arch = arch
        members = {f"cfg_{x}_{y}": In(arch.config_map(spec.kind).layout.size) for (x, y), spec in arch.tiles.items()}
        self.streams = {f"{name.removeprefix('link_')}{x}": member for x in range(arch.columns)
                        for name, member in link_members(arch.io).items()}
        super().__init__(members | self.streams)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        program = {(x, y): getattr(self, f"cfg_{x}_{y}") for x, y in self.arch.tiles}
        m.submodules.array = array = Array(self.arch, program)
        for name in self.streams:
            wiring.connect(m, wiring.flipped(getattr(self, name)), getattr(array, name))
        return m


@functools.cache
def bench(fifo: str) -> Bench:
    return Bench(Configurable(mesh(3, 2, 2, fifo)))


@pytest.mark.parametrize("fifo", ["split", "full"])
def test_random_programs_deliver_every_stream(fifo: str) -> None:
    arch, draw = mesh(3, 2, 2, fifo), random.Random(fifo)
    cases, expected = [], []
    for number in range(60):
        words, feeds = random_program(arch, draw)
        inputs = {f"{name}{x}": [draw.randrange(1 << width) for _ in range(draw.randrange(30))]
                  for name, width in (("g2f", 17), ("g2f_bit", 1)) for x in range(arch.columns)}
        values = {f"cfg_{x}_{y}": packed(arch.config_map(spec.kind), words[x, y]) for (x, y), spec in arch.tiles.items()}
        cases.append(Case(inputs, values, stalls=number if number % 4 else None))
        expected.append({f"{take}{x}": inputs[f"{give}{column}"] for (take, x), (give, column) in feeds.items()})
    assert sum(map(len, expected)) > 200, "most ports are fed"
    for case, want, result in zip(cases, expected, bench(fifo).run_many(cases), strict=True):
        assert {name: tokens for name, tokens in result.outputs.items() if tokens} == {
            name: tokens for name, tokens in want.items() if tokens}
        assert not result.left
        if case.stalls is None:
            for name, tokens in case.inputs.items():
                assert result.stamps[name] == list(range(len(tokens))), "one token per cycle"


def simulate(array: Array, words: Words | None, seed: int, cycles: int = 120) -> tuple[list[Any], list[int]]:
    """Configure an array through its channels (if `words`), then run it; all it shows in each cycle, and read-back."""
    arch, trace, back = array.arch, [], []
    ports = [f"{name}{x}" for name in ("g2f", "g2f_bit") for x in range(arch.columns)]
    taken = [f"{name}{x}" for name in ("f2g", "f2g_bit") for x in range(arch.columns)]

    async def ask(sim: SimulatorContext, site: Site, register: int, data: int | None) -> None:
        channel = getattr(array, f"config{site[0]}")
        for signal, value in ((channel.valid, 1), (channel.write, data is not None), (channel.wdata, data or 0),
                              (channel.addr, site[0] << 24 | site[1] << 16 | register)):
            sim.set(signal, value)
        await sim.tick()
        sim.set(channel.valid, 0)

    async def drive(sim: SimulatorContext) -> None:
        for site, each in (words or {}).items():
            for register, word in enumerate(each):
                await ask(sim, site, register, word)
        await sim.tick().repeat(arch.rows + 3)
        sim.set(array.flush, 1)
        await sim.tick()
        sim.set(array.flush, 0)
        await sim.tick()
        draw = random.Random(seed)
        for _ in range(cycles):
            for name in ports:
                sim.set(getattr(array, name).valid, draw.random() < 0.7)
                payload = draw.randrange(1 << 17)
                sim.set(getattr(array, name).payload, payload & 1 if "bit" in name else array_token(payload))
            for name in taken:
                sim.set(getattr(array, name).ready, draw.random() < 0.7)
            sampled = [getattr(getattr(array, name), part) for name in taken for part in ("valid", "payload")]
            sampled += [getattr(array, name).ready for name in ports] + [array.active, array.overflow]
            _, _, *values = await sim.tick().sample(*sampled)
            trace.append([value.as_bits() if hasattr(value, "as_bits") else value for value in values])
        for site, each in (words or {}).items():
            for register in (*range(len(each)), STATUS_REGISTER):
                await ask(sim, site, register, None)
                channel = getattr(array, f"config{site[0]}")
                for _ in range(2 * arch.rows + 6):
                    _, _, valid, word = await sim.tick().sample(channel.rvalid, channel.rdata)
                    if valid:
                        back.append(word)

    simulator = Simulator(array)
    simulator.add_clock(1e-9)
    simulator.add_testbench(drive)
    simulator.run()
    return trace, back


def array_token(word: int) -> dict[str, int]:
    return {"data": word & 0xFFFF, "control": word >> 16}


def test_the_specialised_array_acts_as_the_reconfigurable_one_cycle_by_cycle() -> None:
    arch = mesh(3, 2, 1)
    words, used = next((words, used) for words, used in (
        (words, {site: each for site, each in words.items() if any(each)})
        for words, feeds in (random_program(arch, random.Random(seed)) for seed in range(100)) if len(feeds) == 6)
        if len(used) < len(words))      # every port is fed, and a tile is left out
    whole, back = simulate(Array(arch), words, 1)
    program = {site: packed(arch.config_map(arch.tiles[site].kind), each) for site, each in used.items()}
    special, _ = simulate(Array(arch, program), None, 1)
    assert special == whole
    assert any(row[-2] for row in whole), "something was active"
    expected = [word for site, each in words.items() for word in (*each, None)]
    assert len(back) == len(expected)
    assert all(want in (None, found) for want, found in zip(expected, back, strict=True))


def test_both_forms_contain_the_same_logic(tmp_path: Path) -> None:
    arch = mesh(2, 2, 2)
    program = dict.fromkeys(arch.tiles, 0)
    whole = {file.name: file.read_text() for file in emit.emit(Array(arch), tmp_path / "whole")}
    special = {file.name: file.read_text() for file in emit.emit(Array(arch, program), tmp_path / "special")}
    assert {"pe_even.sv", "pe_odd.sv", "io_even.sv", "io_odd.sv", "array.sv"} <= special.keys() < whole.keys()
    assert all(whole[name] == text for name, text in special.items() if name != "array.sv")
    ports = [re.findall(r"^  ((?:in|out)put .*?),?$", each["array.sv"], re.M) for each in (whole, special)]
    assert ports[0] and sorted(ports[0]) == sorted(ports[1])


@pytest.fixture(scope="module")
def converted() -> EmitPlatform:
    """The tiles that arrays of one interconnect share, converted once."""
    return EmitPlatform(home())


@pytest.mark.parametrize("name", ["tiny", "small"])
@pytest.mark.parametrize("special", [False, True], ids=["whole", "special"])
def test_the_emitted_array_has_instances_and_wires_only(name: str, special: bool, tmp_path: Path,
                                                        converted: EmitPlatform) -> None:
    arch = PRESETS[name]
    converted.modules.pop("array", None)
    converted.add(Array(arch, dict.fromkeys(arch.tiles, 0) if special else None))
    emit.write(converted, tmp_path)
    statistics = run_yosys(["-q", "-p", "read_verilog -sv array.sv; tee -o found.json stat -json"], tmp_path)
    assert not statistics
    found = json.loads((tmp_path / "found.json").read_text())["modules"]["\\array"]
    assert not found["num_processes"] and not found["num_memories"], "no always block"
    kinds = found["num_cells_by_type"]
    assert not [kind for kind in kinds if kind.startswith("$")], "no operator"
    tiles = sum(count for kind, count in kinds.items() if re.fullmatch(r"(tile_)?(pe|mem|io)_(even|odd)", kind))
    assert tiles == len(arch.tiles)


def check_flat(folder: Path, files: list[Path]) -> None:
    """Flatten an emitted array and look for loops, floating and doubly driven wires."""
    reads = "".join(f"read_verilog -sv {file.name}; " for file in files)
    run_yosys(["-q", "-p", f"{reads}hierarchy -check -top array; proc; flatten; opt_clean; check -assert"], folder)


@pytest.mark.parametrize("fifo", ["split", "full", "none"])
def test_the_flattened_array_has_no_combinational_loop(tmp_path: Path, fifo: str) -> None:
    check_flat(tmp_path, emit.emit(Array(mesh(3, 3, 2, fifo)), tmp_path))


def test_a_planted_loop_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boxes, "stage", lambda interconnect, parity, width, shares: PassStage(width, shares))
    files = emit.emit(Array(mesh(2, 2, 2)), tmp_path, Cache(tmp_path / "cache"))
    with pytest.raises(YosysError, match="loop"):
        check_flat(tmp_path, files)
    with pytest.raises(AssertionError, match="UNOPTFLAT"):
        checks.lint(files, "array")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tiny", "amber", "onyx"])
def test_presets_are_loop_free_and_small(name: str, tmp_path: Path) -> None:
    files = emit.emit(Array(PRESETS[name]), tmp_path)
    assert sum(file.stat().st_size for file in files) < 10_000_000
    assert len(files) <= 80
    checks.check_yosys(files, "array")
    if name == "tiny":
        check_flat(tmp_path, files)
        checks.lint(files, "array")
