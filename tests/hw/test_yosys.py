"""The first run of Yosys on a machine compiles it: alone. The others run what was compiled, in this process."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import wasmtime

from sardonyx.cache import Cache
from sardonyx.hw import yosys
from sardonyx.hw.yosys import YosysError


class Code:
    """What Yosys was compiled to, without compiling it again."""

    def __init__(self, text: bytes) -> None:
        self.text = text

    def serialize(self) -> bytes:
        return self.text


def test_yosys_is_compiled_once_on_a_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The threads of a process wait for each other; `Cache.once` lets processes wait."""
    compiled = []
    both = threading.Barrier(2)
    yosys.run_yosys(["-V"], tmp_path)
    kept = yosys.home().find(yosys._PACKAGE, yosys._versions())
    assert kept is not None
    code = Code((kept / yosys._CODE).read_bytes())

    def compile_it(engine: wasmtime.Engine) -> Code:
        compiled.append(engine)
        return code

    def first(name: str) -> str:
        both.wait()
        return yosys.run_yosys(["-Q", "-p", f"log {name}"], tmp_path)

    monkeypatch.setattr(yosys, "home", lambda: Cache(tmp_path / "cache"))
    monkeypatch.setattr(yosys, "_compiled", compile_it)
    yosys._loaded.cache_clear()
    with ThreadPoolExecutor(2) as pool:
        said = list(pool.map(first, ("one", "two")))
    assert ["one" in text for text in said] == [True, False] and ["two" in text for text in said] == [False, True]
    yosys._loaded.cache_clear()         # as in another process
    yosys.run_yosys(["-V"], tmp_path)
    assert len(compiled) == 1


def test_what_another_processor_has_kept_is_compiled_for_this_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    yosys.run_yosys(["-V"], tmp_path)
    _, module = yosys._loaded()
    engine = yosys._loaded()[0].engine
    compiled = []

    def foreign(engine: wasmtime.Engine, path: str) -> wasmtime.Module:
        raise wasmtime.WasmtimeError("compiled for another processor")

    def compile_it(own: wasmtime.Engine) -> wasmtime.Module:
        compiled.append(own)
        return module

    yosys._loaded.cache_clear()
    monkeypatch.setattr(wasmtime, "Engine", lambda settings: engine)
    monkeypatch.setattr(wasmtime.Module, "deserialize_file", foreign)
    monkeypatch.setattr(yosys, "_compiled", compile_it)
    assert "Yosys" in yosys.run_yosys(["-V"], tmp_path)
    assert compiled == [engine]
    yosys._loaded.cache_clear()


def test_a_process_that_ran_yosys_ends_quietly(tmp_path: Path) -> None:
    script = "from pathlib import Path; from sardonyx.hw.yosys import run_yosys; run_yosys(['-V'], Path('.'))"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_runs_at_once_do_not_see_each_other(tmp_path: Path) -> None:
    def run(number: int) -> str:
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "in.v").write_text("module top; endmodule\n")
        yosys.run_yosys(["-q", "-p", f"read_verilog in.v; rename top name{number}; write_rtlil out.il"], folder)
        return (folder / "out.il").read_text()

    with ThreadPoolExecutor(4) as pool:
        for number, text in enumerate(pool.map(run, range(8))):
            assert f"module \\name{number}\n" in text


def test_what_fails_says_what_yosys_said(tmp_path: Path) -> None:
    with pytest.raises(YosysError, match=r"yosys failed:\n.*No such command: nonsense"):
        yosys.run_yosys(["-q", "-p", "nonsense"], tmp_path)
