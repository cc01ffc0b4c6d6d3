"""The first run of Yosys on a machine compiles it: alone."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from sardonyx.cache import Cache
from sardonyx.hw import yosys


def test_the_first_run_on_a_machine_is_alone_and_happens_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    began, running, most = [], [], []
    both = threading.Barrier(2)

    def run(command: "list[str]", **_: Any) -> "CompletedProcess[str]":
        began.append(command[3:])
        running.append(command)
        most.append((command[3:], len(running)))
        time.sleep(0.05)
        running.remove(command)
        return CompletedProcess(command, 0, stdout="done")

    def first(name: str) -> str:
        both.wait()
        return yosys.run_yosys([name], tmp_path)

    monkeypatch.setattr(yosys, "home", lambda: Cache(tmp_path / "cache"))
    monkeypatch.setattr(yosys.subprocess, "run", run)
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(first, ("one", "two"))) == ["done", "done"]
    assert began[0] == ["-V"] and sorted(began[1:]) == [["one"], ["two"]]
    assert (["-V"], 1) in most
    yosys.run_yosys(["three"], tmp_path)
    assert began[3:] == [["three"]]


def test_what_fails_says_what_yosys_said(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"yosys failed:\n.*No such command: nonsense"):
        yosys.run_yosys(["-q", "-p", "nonsense"], tmp_path)
