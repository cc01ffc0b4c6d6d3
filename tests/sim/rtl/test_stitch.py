"""The tile library gives what the machine in one piece gives, and the order in which it settles is proved of the netlists."""

import functools
import json
import os
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from machines import BESIDE, LEAST, copier
from one_piece import machine_in_one_piece

from sardonyx.cache import Cache
from sardonyx.compiler.backend.encode import words
from sardonyx.hw import emit
from sardonyx.hw.arch.interconnect import Interconnect
from sardonyx.hw.arch.presets import get
from sardonyx.hw.arch.timing import Timing
from sardonyx.hw.column import Column
from sardonyx.hw.component import module_name
from sardonyx.hw.configuration import MemoryWindow
from sardonyx.hw.connectivity import Wire, reports
from sardonyx.hw.glb.tile import GlbTile
from sardonyx.hw.paths import early_inputs
from sardonyx.hw.soc.shell import Shell
from sardonyx.hw.tile.tile import Tile, TileLogic
from sardonyx.hw.yosys import run_yosys
from sardonyx.sim import engines
from sardonyx.sim.rtl import library, simulator, stitch
from sardonyx.sim.rtl.folding import configurations
from sardonyx.sim.rtl.machine import Machine

# Trees of multipliers are most of its logic, and stand between registers.
TINY = get("tiny")
SMALLER = replace(TINY, interconnect=Interconnect(2), pe=replace(TINY.pe, multiplier_tree=False),
                  mem=replace(TINY.mem, multiplier_tree=False))
SETTINGS = ("cfg", "tile_y")


@functools.cache
def followed(component, folder: Path) -> "dict[str, set[str]]":
    """The inputs that each output of a module follows in the same cycle, by walking its netlist from register to register."""
    top = module_name(component)
    files = emit.emit(component, folder)
    reads = "".join(f"read_verilog -sv {file.name}; " for file in files)
    run_yosys(["-q", "-p", f"{reads} hierarchy -check -top {top}; proc; flatten; opt_clean; memory_dff; memory_collect; "
                                "write_json found.json"], folder)
    module = json.loads((folder / "found.json").read_text())["modules"][top]
    drivers: dict[int, list[int]] = {}
    for cell in module["cells"].values():
        flows = cell["port_directions"]
        kind = cell["type"]
        if kind in ("$dff", "$dffe", "$sdff", "$sdffe", "$sdffce", "$check"):
            continue
        assert kind.startswith("$") and "latch" not in kind, kind
        sources = [bit for port, bits in cell["connections"].items() if flows[port] == "input" for bit in bits]
        if kind.startswith("$mem"):
            clocked = set(cell["parameters"]["RD_CLK_ENABLE"]) == {"1"}
            sources = [] if clocked else cell["connections"]["RD_ADDR"]
        for port, bits in cell["connections"].items():
            if flows[port] == "output":
                drivers |= {bit: sources for bit in bits if isinstance(bit, int)}
    inputs = {bit: name for name, port in module["ports"].items() if port["direction"] == "input" for bit in port["bits"]}
    found = {}
    for name, port in module["ports"].items():
        if port["direction"] != "output":
            continue
        waiting, seen = [bit for bit in port["bits"] if isinstance(bit, int)], set()
        while waiting:
            bit = waiting.pop()
            if bit not in seen:
                seen.add(bit)
                waiting += [each for each in drivers.get(bit, ()) if isinstance(each, int)]
        found[name] = {inputs[bit] for bit in seen if bit in inputs}
    return found


MACHINES = {"split": SMALLER, "full": replace(SMALLER, interconnect=Interconnect(2, fifo="full")),
            "none": replace(SMALLER, interconnect=Interconnect(2, fifo="none")),
            "domains": replace(LEAST, power_domains=True),
            "stalls": replace(LEAST, column_stall=True, mem_every=2)}


@pytest.mark.parametrize("name,registers", [("split", False), ("domains", True), ("stalls", False),
                                            pytest.param("split", True, marks=pytest.mark.slow),
                                            pytest.param("full", False, marks=pytest.mark.slow),
                                            pytest.param("none", False, marks=pytest.mark.slow)])
def test_outputs_of_tiles_follow_early_inputs_only_and_these_come_from_registers(name, registers, tmp_path):
    arch = MACHINES[name]
    wires = [wire for wire in stitch.wires(arch, arch.tiles, registers) if isinstance(wire, Wire)]
    wired = {wire.source.port for wire in wires}
    through, early = {}, {}
    for spec, parity in {(spec, x + y & 1) for (x, y), spec in arch.tiles.items()}:
        component = (Tile if registers else TileLogic)(arch, spec, parity)
        found = followed(component, tmp_path / f"{spec.kind}{parity}")
        allowed = early[spec.kind, parity] = set(early_inputs(arch, spec, parity, registers))
        for output, inputs in found.items():
            assert output not in wired or inputs - allowed - set(SETTINGS) == set(), (spec.kind, parity, output)
        through[spec.kind, parity] = {output for output, inputs in found.items() if inputs - set(SETTINGS)}
    for name, component in (("shell", Shell(arch)), ("glb", GlbTile(arch.glb))):
        through[name] = {output for output, inputs in followed(component, tmp_path / name).items() if inputs}
    column = followed(Column(arch.rows + 1, arch.config_rows, reports(arch), arch.column_stall), tmp_path / "column")
    assert column["tiles_flush"] == column.get("tiles_stall", set()) == set()
    through["column"] = {output for output, inputs in column.items() if inputs}

    def kind(instance):
        if not instance.startswith("x"):
            return instance.rstrip("0123456789")
        x, y = (int(part[1:]) for part in instance.split("_"))
        return arch.tiles[x, y].kind, x + y & 1

    for wire in wires:
        if wire.sink.port in early.get(kind(wire.sink.instance), ()):
            assert wire.source.port not in through[kind(wire.source.instance)], wire


def test_shell_and_global_buffer_settle_in_two_rounds(tmp_path):
    """The shell takes what GLB tiles report in the second one, and answers nothing in the same cycle."""
    found = followed(Shell(LEAST), tmp_path)
    assert "glb0_stop" in found and not any(each.startswith("glb") for inputs in found.values() for each in inputs)


def test_what_fills_memories_comes_last(tmp_path):
    assert all(followed(MemoryWindow(4, 4), tmp_path).values()), "outputs follow the shell, and only tiles read them"


BOUNDS = {"b_vals": 41}


def blocks(count: int, seed: int) -> "list[dict[str, np.ndarray]]":
    """Blocks of one section, one of them empty."""
    rng = random.Random(seed)
    lengths = [0, 1, *(rng.randrange(40) for _ in range(count - 2))]
    return [{"a_vals": np.array([n, *(rng.randrange(1 << 16) for _ in range(n))], np.uint16)} for n in lengths]


@pytest.mark.parametrize("form", ["folded", "whole"])
def test_words_and_cycles_are_those_of_the_machine_in_one_piece(form):
    """With everything that is asleep evaluated too, and every cycle settled once more."""
    program = copier(LEAST)
    whole = form == "whole"
    stitched = simulator.whole_machine(LEAST) if whole else simulator.folded(LEAST, program)
    found = []
    for each in (stitched, machine_in_one_piece(LEAST, None if whole else program)):
        stored = []
        run = engines.run_on(each, program, blocks(30, 5), stored.append, bounds=BOUNDS, check=each is stitched)
        found.append((run.cycles, [block["b_vals"].tolist() for block in stored]))
    assert found[0] == found[1]
    assert found[0][1] == [block["a_vals"].tolist() for block in blocks(30, 5)]


def test_tracks_without_registers_settle_to_what_the_machine_in_one_piece_gives():
    """Along whole routes: no word waits for a clock on its way, and it takes no cycle."""
    found = []
    for fifo in ("split", "inputs"):
        arch = replace(LEAST, interconnect=replace(LEAST.interconnect, fifo=fifo))
        program = copier(arch)
        for each in (simulator.folded(arch, program), machine_in_one_piece(arch, program)):
            stored = []
            run = engines.run_on(each, program, blocks(30, 5), stored.append, bounds=BOUNDS, check=each.wires is not None)
            found.append((run.cycles, [block["b_vals"].tolist() for block in stored]))
    split, _, stitched, whole = found
    assert stitched == whole and stitched[0] < split[0] and stitched[1] == split[1]


@pytest.mark.slow
def test_tiles_that_abut_give_the_same_words_in_the_same_cycles_as_others_side_by_side():
    """Stitched they are not: one simulation and one bitstream serve both."""
    arch = replace(LEAST, rows=3, config_rows=1)
    program, abutting = copier(arch), replace(arch, feed_through=True)
    assert abutting.fingerprint == arch.fingerprint
    found = []
    for each in (simulator.whole_machine(abutting), machine_in_one_piece(abutting)):
        stored = []
        run = engines.run_on(each, program, blocks(30, 5), stored.append, bounds=BOUNDS)
        with each.start() as machine:
            machine.configure(words(program, arch))
            back = [machine.read_configuration(where) for where, _ in words(program, arch)]
        found.append((run.cycles, machine.arch.rows, back, [block["b_vals"].tolist() for block in stored]))
    assert found[0] == found[1]
    assert found[0][2] == [word for _, word in words(program, arch)]


def test_a_configuration_is_read_back_through_the_stitched_channels():
    program = copier(LEAST)
    with simulator.whole_machine(LEAST).start(check=True) as machine:
        settings = words(program, LEAST)
        machine.configure(settings)
        assert [machine.read_configuration(where) for where, _ in settings] == [word for _, word in settings]


@pytest.mark.parametrize("change,message", [
    (("part x0_y0 tile_io_even", "part x0_y0 tile_io_odder"), "the library has no module tile_io_odder"),
    (("wire x0_y1 n_data_o_payload", "wire x0_y1 n_data_o_pay"), "part x0_y1 has no port n_data_o_pay"),
    (("set x0_y0 tile_y", "set x9_y0 tile_y"), "there is no part x9_y0"),
    (("kind tile_io_even", "sort tile_io_even"), "'sort' is no line of a wire list"),
])
def test_a_wire_list_that_does_not_fit_the_library_is_refused(change, message):
    made = simulator.whole_machine(LEAST)
    assert change[0] in made.wires
    with pytest.raises(AssertionError, match=message):
        with Machine(LEAST, made.model.executable, made.wires.replace(*change)) as machine:
            machine.read_register("status")


def test_a_tile_that_settles_too_late_is_noticed():
    """The check sees it when no input counts as early."""
    made = simulator.whole_machine(LEAST)
    text = made.wires
    for kind in ("tile_pe_even", "tile_pe_odd", "tile_io_even", "tile_io_odd"):
        line = next((line for line in text.splitlines() if line.startswith(f"kind {kind} ")), None)
        if line:
            text = text.replace(line, f"kind {kind} 0 0")
    with pytest.raises(AssertionError, match="had not settled"):
        engines.run_on(replace(made, wires=text), copier(LEAST), blocks(8, 1), print, bounds=BOUNDS, check=True)


def test_the_library_is_chosen_for_few_cycles_and_a_build_for_many(monkeypatch):
    chosen = []
    monkeypatch.setattr(simulator, "whole_machine", lambda arch, cache, why: chosen.append(why))
    monkeypatch.setattr(simulator, "folded", lambda arch, program, cache, why: chosen.append(why))
    monkeypatch.setattr(simulator.folding, "is_built", lambda *arguments: False)
    program = copier(LEAST)
    assert len(configurations(program, LEAST)) == 4
    for cycles in (None, 1000, 10**9):
        simulator.for_program(LEAST, program, cycles)
    monkeypatch.setattr(simulator.folding, "is_built", lambda *arguments: True)
    simulator.for_program(LEAST, program, 1000)
    assert chosen == [
        "tile library: 4 tiles are done sooner than a build for the program",
        "tile library: about 1,000 cycles of 4 tiles are done sooner than a build for the program",
        "folded: about 1,000,000,000 cycles of 4 tiles are worth a build for the program",
        "folded: it was built for this program before"]


def test_a_library_in_the_cache_is_used():
    first = simulator.whole_machine(LEAST)
    assert os.access(first.model.executable, os.X_OK)
    assert simulator.whole_machine(LEAST).model.build_s == 0
    assert (first.model.executable.parent / "verilog" / "shell.sv").exists()


@pytest.mark.parametrize("change,same", [
    ({"name": "another", "timing": Timing(pe=1), "feed_through": True}, True), ({"operand_isolation": False}, False),
    ({"config_readback": False}, False), ({"pe": replace(get("tiny").pe, multiplier_tree=False)}, False),
    ({"config_rows": 3}, False), ({"power_domains": True}, False), ({"memory_readback": True}, False),
    ({"column_stall": True}, False), ({"counter_bits": 8}, False)],
    ids=["not in a module", "isolation", "readback", "multiplier", "channel", "domains", "memory readback", "stalls",
         "counters"])
def test_the_library_of_a_machine_stands_for_another_only_if_its_modules_do(change, same):
    assert (library.digest(get("tiny")) == library.digest(replace(get("tiny"), **change))) == same


@pytest.mark.parametrize("asked,change,is_same", [
    (lambda: library.library_model(LEAST, counting=True), "source", False),
    (lambda: library.library_model(LEAST), "source", True),
    (lambda: library.system_model(BESIDE), "processor", False)], ids=["what is counted", "nothing is counted", "processor"])
def test_a_model_is_another_one_where_what_decides_it_is_another(asked, change, is_same, monkeypatch):
    names, read = [], Path.read_text
    monkeypatch.setattr(library.Cache, "find", lambda store, folder, name: names.append(name) or Path("there"))
    asked()
    if change == "source":
        monkeypatch.setattr(Path, "read_text", lambda path, *given: read(path, *given) + "#" * (path.name == "activity.py"))
    else:
        monkeypatch.setattr(library.importlib.metadata, "version", lambda package: "0.0.1")
    asked()
    assert (names[0] == names[1]) == is_same


def test_machines_share_the_main_program_and_systems_have_another(tmp_path, monkeypatch):
    compiled = []
    monkeypatch.setattr(library.verilator, "compile_source", lambda source, target, *_, **__: compiled.append(source))
    monkeypatch.setattr(library.verilator, "link", lambda objects, executable, _: executable.write_text(str(objects[0])))

    def main_of(name: str, *harness: Path) -> str:
        folder, part = tmp_path / name, tmp_path / f"part of {name}"
        folder.mkdir()
        (part / "verilog").mkdir(parents=True)
        library.link(folder, [part], Cache(tmp_path / "cache"), *harness)
        return (folder / "model").read_text()

    assert main_of("a machine") == main_of("another") != main_of("a system", library.SYSTEM)
    assert compiled == [library.HARNESS, library.SYSTEM]
