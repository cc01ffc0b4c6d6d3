"""Projects for boards: their files, and what is refused."""

import dataclasses
import json
import time
from pathlib import Path

import pytest
from amaranth.hdl import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from sardonyx import board
from sardonyx.boards import route
from sardonyx.boards.targets import APART, TARGETS, target
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.column import Column
from sardonyx.hw.emit import emit, macro
from sardonyx.hw.yosys import YosysError, run_yosys

PINS = {"ulx3s-85f": ("top.lpf", 'LOCATE COMP "uart_0__rx__io" SITE "M1";'),
        "arty-a7-100": ("top.xdc", 'set_property LOC A9 [get_ports "uart_0__rx__io"]')}


@pytest.mark.parametrize("name", TARGETS)
def test_a_project_has_verilog_pins_and_scripts(name: str, tmp_path: Path) -> None:
    pytest.importorskip("amaranth_boards", reason="needs the extra sardonyx[board]")
    report = board.build_board(name, tmp_path, until="project").report
    assert report["fingerprint"] == f"{presets.get('fpga').fingerprint:016x}"
    file, line = PINS[name]
    assert line in (tmp_path / file).read_text().splitlines()
    text = "".join(path.read_text() for path in (tmp_path / "build_top.sh", *tmp_path.glob("top.[yt]*")))
    assert "serial_machine.sv" in text
    assert all((tmp_path / f"{each}.sv").exists() for each in ("bridge", "sardonyx", "shell"))
    assert str(Path(board.__file__).parent) not in "".join(path.read_text() for path in tmp_path.iterdir())
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    board.build_board(name, tmp_path, until="project")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_board_that_is_none_is_refused() -> None:
    with pytest.raises(UserError) as error:
        target("ulx3s")
    assert str(error.value) == ("there is no board 'ulx3s', do you mean 'ulx3s-85f'?\n"
                                "  try: choose one of ulx3s-85f, arty-a7-100")


class Columns(wiring.Component):
    """Two columns of three tiles that are told the same."""

    module_name = "columns"

    def __init__(self) -> None:
        super().__init__({"flush": In(1), "reset": In(1), "stall": In(1), "held": Out(8)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        held = []
        for x in range(2):
            m.submodules[f"column{x}"] = each = macro(Column(3, 1, (), True))
            m.d.comb += [each.flush.eq(self.flush), each.reset.eq(self.reset), each.stall.eq(self.stall)]
            held += [each.tiles_flush, each.tiles_stall, each.reset0, each.reset1]
        m.d.comb += self.held.eq(Cat(held))
        return m


def test_synthesis_makes_no_common_register_of_what_columns_and_rows_hold_alike(tmp_path: Path) -> None:
    emit(Columns(), tmp_path)
    read = "".join(f"read_verilog -sv {path.name}; " for path in tmp_path.glob("*.sv")) + "hierarchy -top columns; proc; "
    for kept, registers in (("", 4), (f"{APART}; ", 8)):
        run_yosys(["-q", "-p", f"{read}{kept}flatten; opt -full; clean; select -assert-count {registers} t:$dff"], tmp_path)
    with pytest.raises(YosysError, match="selection contains 0 elements"):
        run_yosys(["-q", "-p", f"{read}flatten; {APART}"], tmp_path)


def cells(monkeypatch: pytest.MonkeyPatch, folder: Path, **counts: int) -> None:
    """Let Yosys find so many cells."""
    def run(arguments: list[str], where: Path) -> str:
        (where / "cells.json").write_text(json.dumps({"design": {"num_cells_by_type": counts}}))
        return ""

    monkeypatch.setattr(route, "run_yosys", run)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))


def test_cells_are_counted_after_the_script_of_the_project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cells(monkeypatch, tmp_path, LUT4=3, CCU2C=2)
    made = route.synthesise({"top.ys": b"write_json top.json"}, target("ulx3s-85f"), print)     # no newline at its end
    assert (made.folder / "run.ys").read_text() == "write_json top.json\ntee -q -o cells.json stat -json\n"
    assert made.used["LUTs"] == (7, 83_640)


def test_a_machine_that_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cells(monkeypatch, tmp_path, LUT4=83_000, CCU2C=321, DP16KD=209)
    with pytest.raises(UserError) as error:
        route.synthesise({"top.ys": b""}, target("ulx3s-85f"), print)
    assert str(error.value) == ("board ulx3s-85f: the machine is too large: it needs 83,642 LUTs, has 83,640; 209 block RAMs, "
                                "has 208\n  try: describe a smaller one, from the description of preset fpga (sardonyx verilog "
                                "--preset fpga)")


def synthesised(monkeypatch: pytest.MonkeyPatch, folder: Path, script: str) -> route.Synthesis:
    """A netlist, and nextpnr and ecppack that are this shell script."""
    cells(monkeypatch, folder, LUT4=5)
    synthesis = route.synthesise({"top.ys": b"", "top.lpf": b""}, target("ulx3s-85f"), print)
    (synthesis.folder / "top.json").touch()
    monkeypatch.setattr(route, "nextpnr_version", lambda: script)
    monkeypatch.setattr(route, "_tool", lambda native, function: ["sh", "-c", script])
    return synthesis


def test_a_machine_that_cannot_be_routed_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = "echo 'Info: placing'; echo 'ERROR: Unable to place cell a'; exit 255"
    for said, words in ((script, "ERROR: Unable to place cell a"), ("exit 1", "it stopped without a word")):
        with pytest.raises(UserError) as error:
            route.route(synthesised(monkeypatch, tmp_path, said), target("ulx3s-85f"), print)
        assert str(error.value) == (f"board ulx3s-85f: nextpnr cannot place and route the machine: {words}\n"
                                    "  try: another seed (--seed), or describe a smaller machine")


def test_a_router_that_comes_to_no_end_is_stopped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    last = f"Info:     iter={route.ROUNDS + 1} wires=1022573 overused=138 overuse=139 archfail=NA"
    script = f"echo 'Info:     iter=9 wires=1 overused=900 overuse=9 archfail=NA\n{last}' > nextpnr.log; exec sleep 100"
    began = time.monotonic()
    with pytest.raises(UserError) as error:
        route.route(synthesised(monkeypatch, tmp_path, script), target("ulx3s-85f"), print)
    assert str(error.value) == (
        f"board ulx3s-85f: nextpnr cannot place and route the machine: after {route.ROUNDS + 1} rounds 138 wires are still in "
        "each other's way\n  try: another seed (--seed), or describe a smaller machine")
    assert time.monotonic() - began < 50, "the router is not waited for"


def test_a_machine_that_is_too_slow_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    report = json.dumps({"fmax": {"clk": {"achieved": 39.94}}})
    synthesis = synthesised(monkeypatch, tmp_path, f"touch nextpnr.log; echo '{report}' > report.json; "
                                                   "echo '{\"modules\": {}}' > routed.json")
    with pytest.raises(UserError) as error:
        route.route(synthesis, dataclasses.replace(target("ulx3s-85f"), clock_mhz=40), print)
    assert str(error.value) == ("board ulx3s-85f: the machine reaches 39.9 MHz, less than its clock of 40 MHz\n"
                                "  try: another seed (--seed), or describe a smaller machine")
    slower = dataclasses.replace(target("ulx3s-85f"), clock_mhz=20)
    assert route.route(synthesis, slower, print).fastest_mhz == 39.94


def test_a_clock_that_nextpnr_finds_no_net_for_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = "echo \"Warning: net 'clock' does not exist in design, ignoring clock constraint\" > nextpnr.log"
    with pytest.raises(AssertionError, match="has another name"):
        route.route(synthesised(monkeypatch, tmp_path, script), target("ulx3s-85f"), print)


def test_the_version_of_a_native_nextpnr_is_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(route.shutil, "which", lambda name: f"/bin/{name}")
    for said, version in (('"nextpnr-ecp5" -- Next Generation Place and Route (Version 0.11.1+x)\n', "0.11.1+x"),
                          ("nextpnr of my own\n", "nextpnr of my own")):
        monkeypatch.setattr(route, "_run", lambda command, folder, said=said: said)
        assert route.nextpnr_version() == version


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(__import__("sys").modules, "amaranth_boards.ulx3s", None)
    with pytest.raises(UserError) as error:
        board.build_board("ulx3s-85f", tmp_path)
    assert str(error.value).startswith("board ulx3s-85f: the package ") and str(error.value).endswith(
        "is missing\n  try: pip install 'sardonyx[board]'")
