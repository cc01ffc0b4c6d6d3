"""What the command line tells: stages, results, mistakes, faults, and a full disk."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sardonyx import api, designs, halide
from sardonyx.cli import console as console_module
from sardonyx.cli import main
from sardonyx.cli.console import Console, table
from sardonyx.hw.arch.errors import UserError

PRODUCT = ["run", "demo", "--matrix", "a.mtx"]


def failing(fault: BaseException) -> "Callable[..., Any]":
    def call(*_: Any, **__: Any) -> Any:
        raise fault
    return call


def test_a_user_error_is_a_message_and_json(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(api, "demo", failing(UserError("row 9 is not in 1..8", "a.mtx:3", "check the sizes")))
    assert main([*PRODUCT, "--json"]) == 2
    out, err = capsys.readouterr()
    assert err == "sardonyx: a.mtx:3: row 9 is not in 1..8\n  try: check the sizes\n"
    assert json.loads(out) == {"ok": False, "error": {"what": "row 9 is not in 1..8", "where": "a.mtx:3",
                                                      "fix": "check the sizes"}}


def test_a_file_that_cannot_be_used_is_the_users_mistake(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(api, "demo", failing(PermissionError(13, "Permission denied", "/etc/out")))
    assert main([*PRODUCT]) == 2
    assert capsys.readouterr().err == "sardonyx: /etc/out: permission denied\n  try: name another file or folder\n"


def test_memory_that_does_not_suffice_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(api, "demo", failing(MemoryError("Unable to allocate 9 TiB")))
    assert main([*PRODUCT]) == 2
    assert capsys.readouterr().err == (
        "sardonyx: not enough memory: Unable to allocate 9 TiB\n"
        "  try: use smaller operands, or fewer indices that run over everything\n")


def test_a_fault_of_ours_says_so_and_shows_its_trace_only_when_asked(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(api, "demo", failing(AssertionError("two nets share a mux")))
    assert main([*PRODUCT]) == 1
    err = capsys.readouterr().err
    assert err.startswith("sardonyx: internal fault: AssertionError: two nets share a mux\n")
    assert "Please open an issue" in err and "Traceback" not in err
    assert main([*PRODUCT, "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_an_interrupt_is_not_a_traceback(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(api, "demo", failing(KeyboardInterrupt()))
    assert main([*PRODUCT]) == 130
    assert re.fullmatch(r"sardonyx: interrupted after \d+\.\d s\n", capsys.readouterr().err)


def test_an_interrupt_says_how_far_the_command_was(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def demo(*_: object, progress: "Callable[[str], None]", **__: object) -> None:
        progress("simulating 2021 sub-tiles, 546 done in 20,114 cycles, about 20 s left")
        raise KeyboardInterrupt

    monkeypatch.setattr(api, "demo", demo)
    assert main([*PRODUCT]) == 130
    assert re.fullmatch(r"sardonyx: interrupted after \d+\.\d s: simulating 2021 sub-tiles, 546 done in 20,114 cycles, "
                        r"about 20 s left, for \d+\.\d s\n", capsys.readouterr().err)


def test_only_stages_longer_than_the_patience_are_printed(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(console_module, "PATIENCE_S", 0.3)
    with Console() as console:
        console.progress("parsing")
        console.progress("placing")
        time.sleep(0.7)
        console.end("look at it")
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert re.fullmatch(r"  placing \.\.\. \d s", lines[0])
    assert re.fullmatch(r"  placing: \d\.\d s", lines[1])
    assert re.fullmatch(r"done in \d\.\d s; next: look at it", lines[2])


def test_a_stage_that_counts_is_one_stage(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(console_module, "PATIENCE_S", 0.2)
    with Console() as console:
        for done in range(5):
            console.progress(f"simulating 5 tiles, {done} done")
            time.sleep(0.1)
        console.progress("checking")
    lines = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"  simulating 5 tiles, [1-4] done \.\.\. \d s", lines[0])
    assert re.fullmatch(r"  simulating 5 tiles, 4 done: \d\.\d s", lines[1])
    assert len(lines) == 2


def test_work_beside_gives_its_result_or_raises_what_kept_it_from_one() -> None:
    with Console() as console:
        sums, fault = console.beside(lambda: 1 + 1), console.beside(failing(UserError("no room", "out")))
        assert sums() == 2
        with pytest.raises(UserError, match="no room"):
            fault()


def test_work_beside_has_a_stage_of_its_own_and_who_waits_for_it_has_ended_theirs(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(console_module, "PATIENCE_S", 0.2)
    with Console() as console:
        def blur() -> None:
            console.progress("blur")
            time.sleep(1)
        console.progress("product")
        wait = console.beside(blur)
        time.sleep(0.5)
        wait()
        time.sleep(0.5)
        console.end()
    lines = capsys.readouterr().err.splitlines()
    assert {*lines[:2]} == {"  product ... 0 s", "  blur ... 0 s"}
    assert re.fullmatch(r"  product: 0\.[5-9] s", lines[2]) and re.fullmatch(r"  blur: 1\.\d s", lines[3])


def test_all_programs_of_the_demo_are_told(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    monkeypatch.setattr(api, "demo", lambda **_: api.Outcome({"scipy": "equal"}))
    monkeypatch.setattr(halide, "demo", lambda *_, **__: api.Outcome({"halide": "equal"}))
    monkeypatch.setattr(designs, "demo", lambda *_, **__: api.Outcome({"numpy": "equal"}))
    assert main(["run", "demo", "--out", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "scipy  equal\n\nhalide  equal\n\nnumpy  equal\n"
    monkeypatch.setattr(halide, "demo", failing(UserError("no room", "out")))
    assert main(["run", "demo", "--out", str(tmp_path)]) == 2


def test_table_formats_each_kind_of_value() -> None:
    report = {"cycles_per_s": 31415.9, "rate": 0.5, "checked": True, "tiles": {"pe": 3, "mem": 2},
              "none": None, "levels": ["s", "d"]}
    assert table(report).splitlines() == [
        "cycles per s  31,416", "rate          0.5", "checked       yes", "tiles         pe 3, mem 2",
        "none          -", "levels        s, d"]


def test_a_reader_that_leaves_early_sees_no_error() -> None:
    found = subprocess.run([f"{sys.executable} -m sardonyx explain register status --json | true"], shell=True,
                           capture_output=True, text=True)
    assert found.stderr == ""


@pytest.mark.parametrize("arguments,code", [("doctor --json", 2), ("doctor", 2), ("--help", 2), ("--version", 2),
                                            ("run demo --no --json", 2)])
def test_a_full_disk_is_said_in_one_message(arguments: str, code: int) -> None:
    command = f"{sys.executable} -m sardonyx {arguments}"
    found = subprocess.run([f"{command} > /dev/full"], shell=True, capture_output=True, text=True)
    assert found.returncode == code
    if "--no" not in arguments:
        assert found.stderr == ("sardonyx: standard output: the result cannot be written: No space left on device\n"
                                "  try: send it where there is room\n")
    assert "Traceback" not in found.stderr and "Exception ignored" not in found.stderr
    silent = subprocess.run([f"{command} 2> /dev/full"], shell=True, capture_output=True, text=True)
    assert silent.returncode == (2 if "--no" in arguments else 0)


def test_a_broken_pipe_to_a_simulator_is_not_success(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(api, "demo", failing(BrokenPipeError(32, "Broken pipe")))
    assert main([*PRODUCT]) == 1
    assert "internal fault: BrokenPipeError" in capsys.readouterr().err
