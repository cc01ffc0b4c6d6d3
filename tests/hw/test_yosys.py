"""The first run of Yosys on a machine compiles it: alone. The others run what was compiled, in this process."""

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import wasmtime

from sardonyx.cache import Cache
from sardonyx.hw import yosys


def test_the_first_run_on_a_machine_is_alone_and_happens_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The threads of a process wait for each other; `Cache.once` lets processes wait."""
    began, most = [], []
    both = threading.Barrier(2)
    real = subprocess.run

    def run(command: "list[str]", **options: Any) -> "subprocess.CompletedProcess[str]":
        began.append(command[3:])
        time.sleep(0.05)
        most.append(len(began))
        return real(command, **options)

    def first(name: str) -> str:
        both.wait()
        return yosys.run_yosys(["-Q", "-p", f"log {name}"], tmp_path)

    yosys._loaded.cache_clear()
    monkeypatch.setattr(yosys, "home", lambda: Cache(tmp_path / "cache"))
    monkeypatch.setattr(yosys.subprocess, "run", run)
    with ThreadPoolExecutor(2) as pool:
        said = list(pool.map(first, ("one", "two")))
    assert ["one" in text for text in said] == [True, False] and ["two" in text for text in said] == [False, True]
    assert began == [["-V"]] and most == [1]
    yosys._loaded.cache_clear()         # as in another process
    yosys.run_yosys(["-V"], tmp_path)
    assert began == [["-V"]]


def test_what_yowasp_has_not_kept_is_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    began = []
    real = wasmtime.Module.deserialize_file

    def load(engine: wasmtime.Engine, path: str) -> wasmtime.Module:
        if not began:
            raise wasmtime.WasmtimeError("cut short")
        return real(engine, path)

    yosys._loaded.cache_clear()
    monkeypatch.setattr(yosys, "_compile", lambda: began.append("-V"))
    monkeypatch.setattr(wasmtime.Module, "deserialize_file", load)
    assert "Yosys" in yosys.run_yosys(["-V"], tmp_path)
    assert began == ["-V"]


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
    with pytest.raises(AssertionError, match=r"yosys failed:\n.*No such command: nonsense"):
        yosys.run_yosys(["-q", "-p", "nonsense"], tmp_path)
