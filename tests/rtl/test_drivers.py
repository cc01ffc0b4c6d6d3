"""The drivers of `sardonyx.cocotb` themselves: what they check, refuse and repeat."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from machines import LEAST, copier

from sardonyx.cache import Cache
from sardonyx.cocotb import TileDriver, runner, stalls
from sardonyx.cocotb.runner import run
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.presets import get

WIRES = """module wires(input clk, input rst, input [16:0] i__payload, input i__valid, output i__ready,
    output [16:0] o__payload, output o__valid, input o__ready);
assign o__payload = i__payload, o__valid = i__valid, i__ready = o__ready;
endmodule
"""
TINY = get("tiny")


@pytest.mark.parametrize("simulator", ["verilator", pytest.param("icarus", marks=pytest.mark.icarus)])
def test_sources_and_sinks_keep_and_check_the_contract_of_streams(simulator: str, tmp_path: Path) -> None:
    (tmp_path / "wires.sv").write_text(WIRES)
    run([tmp_path / "wires.sv"], "cocotb_streams", out=tmp_path, top="wires", simulator=simulator)


def test_a_bench_that_fails_is_told_with_its_log_and_waves_are_recorded(tmp_path: Path) -> None:
    (tmp_path / "wires.sv").write_text(WIRES)
    with pytest.raises(AssertionError, match=r"(?s)^1 of 1 tests failed:\n.*it_fails"):
        run([tmp_path / "wires.sv"], "cocotb_failing", out=tmp_path, top="wires", waves=True)
    assert "o__payload" in (tmp_path / "dump.vcd").read_text()
    with pytest.raises(AssertionError, match=r"(?s)^the simulation ended without results:\n.*No tests were discovered"):
        run([tmp_path / "wires.sv"], "json", out=tmp_path, top="wires", waves=True)


def test_what_no_design_decides_is_compiled_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    built = []

    def build(files: "list[Path]", top: str, simulator: str, waves: bool, folder: Path) -> None:
        built.append((top, waves, os.environ["MAKEFLAGS"].endswith(runner._WITH_RUNTIME)))
        (folder / "build").mkdir(exist_ok=True)
        (folder / "build" / "verilated.o").touch()

    (tmp_path / "wires.sv").write_text(WIRES)
    runner.tools()      # asks the compiler, which is not to be asked below
    monkeypatch.setattr(runner, "_build", build)
    monkeypatch.setattr(runner, "home", lambda: Cache(tmp_path / "cache"))
    monkeypatch.setattr(runner.subprocess, "run", lambda command, check: command[command.index("-o") + 1].touch())
    with runner._environment("verilator"):
        for top, waves in (("one", False), ("two", False), ("one", True)):
            runner._built([tmp_path / "wires.sv"], top, "verilator", waves)
            os.environ["MAKEFLAGS"] = runner._MAKEFLAGS     # as every run begins
    assert built == [("nothing", False, False), ("one", False, True), ("two", False, True),
                     ("nothing", True, False), ("one", True, True)]


@pytest.fixture
def icarus_of_version(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """An Icarus on PATH that tells a version; builds are empty folders in a cache of their own."""
    monkeypatch.setattr(runner, "_build", lambda files, top, simulator, waves, folder: (folder / "build").mkdir())
    monkeypatch.setattr(runner, "home", lambda: Cache(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)

    def install(version: str) -> None:
        (tmp_path / "bin").mkdir(exist_ok=True)
        program = tmp_path / "bin" / "iverilog"
        program.write_text(f"#!/bin/sh\necho 'Icarus Verilog version {version} (stable) ()'\nexit 1\n")
        program.chmod(0o755)

    return install


def test_files_may_have_other_bytes_than_utf_8_and_decide_the_build_by_them(icarus_of_version: Callable[[str], None],
                                                                            tmp_path: Path) -> None:
    """Such as names in comments of a macro of someone else."""
    icarus_of_version("11.0")
    built = []
    for comment in (b"// caf\xe9\n", b"// caf\xe8\n", b"// caf\xe9\n"):
        (tmp_path / "wires.sv").write_bytes(comment + WIRES.encode())
        built.append(runner._built([tmp_path / "wires.sv"], "wires", "icarus", False))
    assert built[0] == built[2] != built[1]


def test_a_simulation_of_another_version_of_icarus_is_another_one(icarus_of_version: Callable[[str], None],
                                                                  tmp_path: Path) -> None:
    """It would not run what the other has compiled."""
    (tmp_path / "wires.sv").write_text(WIRES)
    built = []
    for version in ("11.0", "12.0", "11.0"):
        icarus_of_version(version)
        built.append(runner._built([tmp_path / "wires.sv"], "wires", "icarus", False))
    assert built[0] == built[2] != built[1]


def test_what_the_runner_cannot_build_is_told(tmp_path: Path) -> None:
    verilog = tmp_path / "verilog"
    verilog.mkdir()
    (verilog / "wires.sv").write_text(WIRES)
    (verilog / "sardonyx.f").write_text("wires.sv\n")
    for call, text in (
            (lambda: run(tmp_path, "bench", out=tmp_path, simulator="modelsim"),
             "there is no simulator 'modelsim'\n  try: choose one of verilator, icarus"),
            (lambda: run(tmp_path, "cocotb_nothing", out=tmp_path),
             "bench: there is no module 'cocotb_nothing'\n"
             "  try: name one that Python finds, as 'cocotb_nothing' where cocotb_nothing.py is beside the script"),
            (lambda: run(tmp_path, "cocotb_streams.py", out=tmp_path),
             "bench: there is no module 'cocotb_streams.py'\n"
             "  try: name one that Python finds, as 'cocotb_streams' where cocotb_streams.py is beside the script"),
            (lambda: run(verilog, "cocotb_streams", out=tmp_path, top="wire"),
             f"{verilog}: there is no module wire\n  try: choose wires"),
            (lambda: run(tmp_path, "cocotb_streams", out=tmp_path),
             f"{tmp_path}: there is no sardonyx.f, which names the files of the Verilog\n"
             "  try: write it with `sardonyx verilog --out FOLDER`, and give that folder")):
        with pytest.raises(UserError) as error:
            call()
        assert str(error.value) == text
    (tmp_path / "wires.sv").write_text(WIRES.replace("endmodule", ""))
    with pytest.raises(AssertionError, match=r"(?s)^the simulation was not built:\n.*syntax error"):
        run([tmp_path / "wires.sv"], "cocotb_streams", out=tmp_path, top="wires")


def refusal(call) -> str:
    with pytest.raises(UserError) as error:
        call()
    return str(error.value)


def test_tracks_that_do_not_exist_are_refused() -> None:
    tracks = TileDriver(None, TINY, (0, 0)).tracks
    assert refusal(lambda: tracks.entering("n", 0)) == "io tile of 'tiny': there is no side 'n'\n  try: choose one of s"
    assert refusal(lambda: tracks.leaving("s", 5)) == (
        "io tile of 'tiny': there is no track 5\n  try: choose one of 0, 1, 2, 3, 4")
    assert refusal(lambda: tracks.entering("s", 0, "word")) == (
        "io tile of 'tiny': there is no layer 'word'\n  try: choose one of data, bit")
    assert refusal(lambda: TileDriver(None, get("amber"), (0, 1))) == (
        "machine 'amber': tracks without FIFOs are words without valid and ready, no streams\n"
        "  try: drive the payloads cycle by cycle, or describe another interconnect.fifo")
    assert refusal(lambda: TileDriver(None, TINY, (4, 1))) == (
        "machine 'tiny': there is no tile at (4, 1)\n  try: give x of 0..3 and y of 0..4, row 0 being the IO tiles")


def test_ways_that_do_not_exist_in_a_tile_are_refused() -> None:
    tile = TileDriver(None, TINY, (0, 1))
    assert tile.select("data0", "w_in0") > 0
    assert refusal(lambda: tile.select("data9", "w_in0")).startswith(
        "data layer of a pe tile of 'tiny': there is no sink 'data9'\n  try: choose one of n0, ")
    assert refusal(lambda: tile.select("e3", "e_in0")).startswith(
        "data layer of a pe tile of 'tiny': there is no source 'e_in0' of 'e3'\n  try: choose one of ")


def test_configurations_that_do_not_fit_a_tile_are_refused() -> None:
    def configure(given, arch=LEAST, site=(0, 1)):
        return refusal(lambda: TileDriver(None, arch, site).configure(given).send(None))

    program, registers = copier(LEAST), LEAST.config_map("pe").words
    assert configure(replace(program, fingerprint=5)) == (
        f"tile (0, 1): the program is for machine {5:016x}, 'least' is {LEAST.fingerprint:016x}\n  try: compile it for 'least'")
    unused = replace(program, config={site: each for site, each in program.config.items() if site != (0, 1)})
    assert configure(unused) == ("tile (0, 1): the program does not use the tile\n"
                                 "  try: drive one of the pe tiles that it uses: (1, 1)")
    assert configure([0] * (registers + 1)) == (
        f"tile (0, 1): {registers + 1} words, and the tile has {registers} registers\n  try: give the words from register 0 on")
    assert "there is no configuration set 'alu'" in configure({"alu": {}})


def test_stalls_keep_their_rate_and_have_one() -> None:
    drawn = stalls(3, 0.25)
    assert 200 < sum(next(drawn) for _ in range(1000)) < 300
    assert not any(next(never) for never in [stalls(3, 0)] for _ in range(100))
    assert refusal(lambda: stalls(3, 1)) == ("stalls: a rate of 1 is no share of the cycles after which something still moves\n"
                                             "  try: give a number from 0 to below 1")


@pytest.mark.parametrize("missing,told", [("cocotb", "cocotb"), ("cocotbext.axi", "cocotbext-axi")])
def test_a_missing_package_is_named_and_the_rest_goes_without(missing: str, told: str) -> None:
    script = f"import sys; sys.modules[{missing!r}] = None; import sardonyx, sardonyx.api; import sardonyx.cocotb"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.endswith(f"ImportError: sardonyx.cocotb needs the package {told}, which is missing\n"
                                "  try: pip install 'sardonyx[cocotb]'\n")
