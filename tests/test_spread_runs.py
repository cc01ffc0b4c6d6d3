"""Runs in parts: words and cycles as in one, on several processes, and again after a stop."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import scipy.io
from hypothesis import given, settings
from hypothesis import strategies as st

import sardonyx
from sardonyx.cli import main
from sardonyx.execute import Result
from sardonyx.hw.arch.errors import UserError
from sardonyx.sim import parts
from sardonyx.tensors.values import random_tensor, to_value

PRODUCT = "X(i,j) = B(i,k) * C(k,j)"
LARGE: "dict[str, Any]" = {"B": to_value(random_tensor((300, 300), 0.03, 1)), "C": to_value(random_tensor((300, 300), 0.03, 2))}
SMALL: "dict[str, Any]" = {"B": to_value(random_tensor((24, 20), 0.2, 1)), "C": to_value(random_tensor((20, 28), 0.2, 2)),
                           "tile": 4, "order": "ijk"}


def tokens(**how: Any) -> Result:
    return sardonyx.einsum(PRODUCT, **{"engine": "tokens", **SMALL, **how})


def test_launches_in_parts_take_the_cycles_of_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    # One row of the result that may have many words makes launches of few sub-tiles.
    operands = {name: to_value(random_tensor((60, 60), 0.15, seed)).tolil() for seed, name in enumerate("BC", 1)}
    operands["B"][:, 7], operands["C"][7] = 2, 3
    monkeypatch.setattr(parts, "LEAST_LAUNCHES", 2)
    monkeypatch.setattr(parts, "LEAST_CYCLES", 1)
    whole, cut = sardonyx.einsum(PRODUCT, **operands), sardonyx.einsum(PRODUCT, jobs=2, **operands)
    assert cut.report["spread"] == {"parts": 4, "kept": 0, "processes": 2} and "spread" not in whole.report
    assert [cut.report[each] for each in ("cycles", "launches", "words_checked", "tokens_per_cycle", "bottleneck")] == [
        whole.report[each] for each in ("cycles", "launches", "words_checked", "tokens_per_cycle", "bottleneck")]
    assert (cut.value != whole.value).nnz == 0 and int(str(whole.report["launches"])) == 7


@pytest.mark.slow
@pytest.mark.parametrize("how", [{"without": "pipelining", "tile": 60}, {"arch": "sparse", "unroll": 2, "dispatch": "dynamic"},
                                 {"arch": "onyx", "unroll": 2, "dispatch": "expected", "tile": 60,
                                  "without": "pipelining"}])
def test_other_ways_to_launch_take_the_same_cycles_too(how: "dict[str, Any]", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "LEAST_LAUNCHES", 1)
    monkeypatch.setattr(parts, "LEAST_CYCLES", 1)
    whole, cut = sardonyx.einsum(PRODUCT, **{**LARGE, **how}), sardonyx.einsum(PRODUCT, jobs=2, **{**LARGE, **how})
    assert cut.cycles == whole.cycles and (cut.value != whole.value).nnz == 0 and cut.report["spread"]["parts"] > 1


@pytest.mark.parametrize("engine", ["tokens", "fabric"])
@pytest.mark.parametrize("jobs", [1, 3])
def test_parts_of_models_give_the_words_of_one_run(engine: str, jobs: int) -> None:
    whole, cut = tokens(engine=engine), tokens(engine=engine, jobs=jobs)
    assert (cut.value != whole.value).nnz == 0 and cut.report["words_checked"] == whole.report["words_checked"]
    assert cut.report["spread"] == {"parts": 12, "kept": 0, "processes": jobs}


def test_kernels_and_several_statements_run_in_parts() -> None:
    assert sardonyx.kernel("spmspm", engine="tokens", jobs=1, tile=4).report["spread"]["parts"] > 1
    text, operands = "T(i,j) = B(i,k) * C(k,j); X(i,j) = T(i,j) + B(i,j)", {
        "B": SMALL["B"], "C": to_value(random_tensor((20, 20), 0.2, 3))}
    found = sardonyx.einsum(text, engine="tokens", tile=3, jobs=1, **operands).report["statements"]
    assert [*found] == ["T", "X"] and all(each["spread"]["parts"] > 1 for each in found.values())


def test_a_run_that_was_stopped_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state, run, count = tmp_path / "kept" / "run.jsonl", parts.run, 0

    def stopping(shared: parts.Shared, part: parts.Part) -> parts.Done:
        nonlocal count
        count += 1
        if count == 6:
            raise KeyboardInterrupt
        return run(shared, part)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(parts, "run", stopping)
        tokens(state=state)
    state.write_text(state.read_text() + '["half a li')
    again = tokens(state=state)
    assert again.report["spread"] == {"parts": 12, "kept": 5, "processes": 1}
    assert (again.value != tokens().value).nnz == 0
    assert tokens(state=state).report["spread"]["kept"] == 12
    # Another program, order or engine is another run, in the same file.
    others: tuple[dict[str, Any], ...] = {"order": "ikj"}, {"engine": "fabric"}
    assert [tokens(state=state, **how).report["spread"]["kept"] for how in others] == [0, 0]


@pytest.mark.slow
def test_a_run_that_was_killed_goes_on_and_leaves_no_process(tmp_path: Path) -> None:
    for name in "BC":
        scipy.io.mmwrite(tmp_path / f"{name}.mtx", LARGE[name])
    state = tmp_path / "run.jsonl"
    words = ["run", "einsum", PRODUCT, "--B", str(tmp_path / "B.mtx"), "--C", str(tmp_path / "C.mtx"), "--order", "ijk",
             "--tile", "30", "--engine", "tokens", "--jobs", "2", "--state", str(state)]
    child = subprocess.Popen([sys.executable, "-m", "sardonyx", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while child.poll() is None and (not state.exists() or state.read_text().count("\n") < 4):
        time.sleep(0.05)
    workers = Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    assert main([*words, "--json"]) == 0
    found = sardonyx.einsum(PRODUCT, order="ijk", tile=30, engine="tokens", state=state, **{name: LARGE[name] for name in "BC"})
    assert found.report["spread"]["kept"] == found.report["spread"]["parts"] > 3
    time.sleep(2)
    assert workers and not [each for each in workers if Path(f"/proc/{each}").exists()]


@cache
def kept() -> bytes:
    """A file of parts."""
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder) / "run.jsonl"
        tokens(state=state)
        return state.read_bytes()


@settings(max_examples=8, deadline=None)
@given(at=st.floats(0, 1), kind=st.sampled_from(["flip", "cut", "repeat"]), bit=st.integers(0, 7))
def test_parts_that_a_damaged_file_no_more_says_are_run_again(at: float, kind: str, bit: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        state, text = Path(folder) / "run.jsonl", kept()
        place = int(at * (len(text) - 1))
        damaged = {"flip": text[:place] + bytes([text[place] ^ 1 << bit]) + text[place + 1:], "cut": text[:place],
                   "repeat": text[:place] + text[place // 2:]}[kind]
        state.write_bytes(damaged)
        try:
            assert tokens(state=state).report["words_checked"] == tokens().report["words_checked"]
        except UserError as refused:
            assert refused.fix and state.read_bytes() == damaged


@pytest.mark.parametrize("change", [
    lambda found: found["run"].pop("launches"), lambda found: found["run"].update(more=1), lambda found: found.pop("names"),
    lambda found: found.update(lengths=3), lambda found: found.update(lengths=["a"]), lambda found: found.update(words="a")])
def test_parts_that_another_version_kept_in_another_form_are_run_again(tmp_path: Path, change: Callable[[Any], object]) -> None:
    head, *lines = kept().decode().splitlines()
    for at in (0, 3):
        key, found = json.loads(lines[at].rpartition(" ")[0])
        change(found)
        said = json.dumps([key, found])
        lines[at] = f"{said} {zlib.crc32(said.encode()):08x}"
    (state := tmp_path / "run.jsonl").write_text("\n".join([head, *lines, ""]))
    again = tokens(state=state)
    assert again.report["spread"] == {"parts": 12, "kept": 10, "processes": 1}
    assert (again.value != tokens().value).nnz == 0 and tokens(state=state).report["spread"]["kept"] == 12


@pytest.mark.parametrize("how,message", [
    ({"engine": "golden", "jobs": 2}, "jobs: a run on engine golden is not cut into parts\n"
     "  try: choose one of tokens, fabric, rtl, rtl-full"),
    ({"engine": "rtl", "power": "asap7", "state": "kept"}, "state: what moves is read from one simulation of a whole run\n"
     "  try: leave out state, or power"),
    ({"counters": True, "jobs": 2}, "jobs: counters are read from one simulation of a whole run\n"
     "  try: leave out jobs, or counters"),
    ({"jobs": 0}, "jobs: it is 0, but has to be 1 or more\n  try: give a whole number, 1 or more"),
    ({"cluster": 7}, "cluster: it is of type int, which is no text\n  try: give a text"),
    ({"state": 7}, "state: it is 7, which is no path\n  try: name a file, which need not be there"),
])
def test_what_is_not_cut_into_parts_is_refused(how: "dict[str, Any]", message: str) -> None:
    with pytest.raises(UserError) as error:
        tokens(**how)
    assert str(error.value) == message


def test_a_file_of_something_else_is_left_as_it_is(tmp_path: Path) -> None:
    (state := tmp_path / "B.mtx").write_text("%%MatrixMarket\n")
    with pytest.raises(UserError) as error:
        tokens(state=state)
    assert str(error.value) == (f"{state}: the file does not keep parts of runs, or its first line is damaged\n"
                                "  try: name another file")
    assert state.read_text() == "%%MatrixMarket\n"


def test_the_command_says_how_a_run_was_spread(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "kernel", "spmspm", "--engine", "tokens", "--tile", "4"]
    assert main([*words, "--jobs", "2"]) == 0
    assert "parts 6, kept 0, processes 2" in capsys.readouterr().out
    assert main([*words, "--jobs", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["report"]["spread"]["processes"] == 1
