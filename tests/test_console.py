"""What the command line tells: stages, results, mistakes, faults, and a full disk."""

import json
import re
import subprocess
import sys
import threading
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


def test_an_interrupt_while_the_command_line_is_loaded_is_not_a_traceback() -> None:
    script = ("import sys\n"
              "class Stopped:\n"
              "    def find_spec(self, name, *_):\n"
              "        if name == 'sardonyx.cli': raise KeyboardInterrupt\n"
              "sys.meta_path.insert(0, Stopped())\n"
              "from sardonyx.__main__ import main\n"
              "sys.exit(main())")
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (found.returncode, found.stdout, found.stderr) == (130, "", "sardonyx: interrupted\n")


def test_an_interrupt_says_how_far_the_command_was(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def demo(*_: object, progress: "Callable[[str], None]", **__: object) -> None:
        progress("simulating 2021 sub-tiles, 546 done in 20,114 cycles, about 20 s left")
        raise KeyboardInterrupt

    monkeypatch.setattr(api, "demo", demo)
    assert main([*PRODUCT]) == 130
    assert re.fullmatch(r"sardonyx: interrupted after \d+\.\d s: simulating 2021 sub-tiles, 546 done in 20,114 cycles, "
                        r"about 20 s left, for \d+\.\d s\n", capsys.readouterr().err)


class Clock:
    """The seconds of a console, as a test sets them, and the lines that it prints."""

    def __init__(self) -> None:
        self.now, self.lines = 0.0, list[str]()

    def monotonic(self) -> float:
        return self.now

    def write(self, text: str, _: object) -> None:
        self.lines.append(text)

    def told(self, *lines: str) -> None:
        """Wait for the thread that watches, which looks ten times a second."""
        end = time.monotonic() + 60
        while not {*lines} <= {*self.lines}:
            assert time.monotonic() < end, f"{lines} are not in {self.lines}"
            time.sleep(0.01)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(console_module, "time", clock)
    monkeypatch.setattr(console_module, "write", clock.write)
    return clock


def test_only_stages_longer_than_the_patience_are_printed(clock: Clock) -> None:
    with Console() as console:
        console.progress("parsing")
        clock.now = console_module.PATIENCE_S - 0.1
        console.progress("placing")
        clock.now += 2.4
        clock.told("  placing ... 2 s")
        clock.now += 1
        console.end("look at it")
    assert clock.lines == ["  placing ... 2 s", "  placing: 3.4 s", "done in 5.3 s; next: look at it"]


def test_a_stage_that_lasts_is_told_again(clock: Clock) -> None:
    with Console() as console:
        console.progress("placing")
        for clock.now in (3, 19, 35):
            clock.told(f"  placing ... {clock.now} s")
    assert clock.lines == ["  placing ... 3 s", "  placing ... 19 s", "  placing ... 35 s"]


def test_a_stage_that_counts_is_one_stage(clock: Clock) -> None:
    with Console() as console:
        for done in range(5):
            console.progress(f"simulating 5 tiles, {done} done")
            clock.now += 0.8
            if done == 2:
                clock.told("  simulating 5 tiles, 2 done ... 2 s")
        console.progress("checking")
    assert clock.lines == ["  simulating 5 tiles, 2 done ... 2 s", "  simulating 5 tiles, 4 done: 4.0 s"]


def test_work_beside_gives_its_result_or_raises_what_kept_it_from_one() -> None:
    with Console() as console:
        sums, fault = console.beside(lambda: 1 + 1), console.beside(failing(UserError("no room", "out")))
        assert sums() == 2
        with pytest.raises(UserError, match="no room"):
            fault()


def test_work_beside_has_a_stage_of_its_own_and_who_waits_for_it_has_ended_theirs(clock: Clock) -> None:
    begun = threading.Event()
    with Console() as console:
        def blur() -> None:
            console.progress("blur")
            begun.set()
            clock.told("  product: 2.5 s")
            clock.now = 4
        console.progress("product")
        wait = console.beside(blur)
        begun.wait()
        clock.now = 2.5
        clock.told("  product ... 2 s", "  blur ... 2 s")
        wait()
        clock.told("  blur: 4.0 s")
        clock.now = 9
        console.end()
    assert {*clock.lines[:2]} == {"  product ... 2 s", "  blur ... 2 s"}
    assert clock.lines[2:] == ["  product: 2.5 s", "  blur: 4.0 s", "done in 9.0 s"]


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
