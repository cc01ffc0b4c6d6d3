"""Tuning: what it finds runs as it says, within its budget, in one process or several, and again after a stop."""

import json
import shlex
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import scipy.io
from hypothesis import given, settings
from hypothesis import strategies as st

import sardonyx
from sardonyx import tuning
from sardonyx.cli import main
from sardonyx.compiler.lang.einsum import Einsum
from sardonyx.compiler.sparse.search import Search
from sardonyx.hw.arch.errors import UserError
from sardonyx.spread import installed_version
from sardonyx.tensors.values import random_tensor, to_value

PRODUCT = "X(i,j) = B(i,k) * C(k,j)"
OPERANDS = {"B": to_value(random_tensor((9, 5), 0.3, 1)), "C": to_value(random_tensor((5, 8), 0.4, 2))}


def tuned(budget: int = 10, **how: Any) -> "dict[str, Any]":
    return dict(sardonyx.tune(PRODUCT, budget=budget, **{"jobs": 1, **OPERANDS, **how}).report)


def test_the_best_point_runs_as_the_report_says_and_is_no_worse_than_the_default() -> None:
    found = tuned()
    assert [each["cycles"] for each in found["points"]] == sorted(each["cycles"] for each in found["points"])
    assert found["cycles"] == found["points"][0]["cycles"] <= tuned(4, order="ijk", formats={"B": "ss", "C": "ss10"})["cycles"]
    run = sardonyx.einsum(PRODUCT, schedule=found["schedule"], formats=found["formats"], engine="tokens", **OPERANDS)
    assert run.report["tile_edge"] == found["points"][0]["edges"]
    assert found["command"] == (f"sardonyx run einsum '{PRODUCT}' --B B.mtx --C C.mtx --arch small --schedule "
                                f"'{found['schedule']}' --locate auto --dispatch order --unroll 1")


def test_an_order_and_formats_that_are_given_are_kept() -> None:
    found = tuned(order="kij", formats={"B": "ss10", "C": "ss"})
    assert found["programs"] == 1
    assert {(each["order"], *sorted(each["formats"].items())) for each in found["points"]} == {
        ("k i j", ("B", "ss10"), ("C", "ss"))}


class Counting:
    """Counts what is looked at, and stops the run at some number."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, stop: int = -1) -> None:
        self.count, look = 0, tuning.Task.look

        def counted(task: tuning.Task, point: tuning.Point, engine: str) -> tuning.Found:
            if self.count == stop:
                raise KeyboardInterrupt
            self.count += 1
            return look(task, point, engine)

        monkeypatch.setattr(tuning.Task, "look", counted)


@pytest.mark.parametrize("budget", [1, 7])
def test_no_more_is_looked_at_than_the_budget_allows(budget: int, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counting(monkeypatch)
    found = tuned(budget)
    assert found["programs"] <= budget and found["looked_at"] <= budget and counted.count <= 2 * budget


def test_a_run_that_was_stopped_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state, whole = tmp_path / "kept" / "tuned.jsonl", tuned(6)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        Counting(patch, stop=5)
        tuned(6, state=state)
    state.write_text(state.read_text() + '["half a li')
    with monkeypatch.context() as patch:
        counted = Counting(patch)
        assert tuned(6, state=state) == whole
    again = Counting(monkeypatch)
    assert tuned(6, state=state) == whole and again.count == 0 < counted.count


@cache
def kept() -> "tuple[bytes, dict[str, Any]]":
    """A file of results, and the report."""
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder) / "tuned.jsonl"
        whole = tuned(2, state=state)
        return state.read_bytes(), whole


@settings(max_examples=15)
@given(at=st.floats(0, 1), kind=st.sampled_from(["flip", "cut", "repeat"]), bit=st.integers(0, 7))
def test_what_a_damaged_file_of_results_no_more_says_is_looked_at_again(at: float, kind: str, bit: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        state, (text, whole) = Path(folder) / "tuned.jsonl", kept()
        place = int(at * (len(text) - 1))
        damaged = {"flip": text[:place] + bytes([text[place] ^ 1 << bit]) + text[place + 1:], "cut": text[:place],
                   "repeat": text[:place] + text[place // 2:]}[kind]
        state.write_bytes(damaged)
        try:
            assert tuned(2, state=state) == whole
        except UserError as refused:
            assert refused.fix and state.read_bytes() == damaged


@pytest.mark.parametrize("was,becomes", [(b'"cycles": ', b'"cycles": 9'), (b'["i", ', b'["i", 1e999'), (b'["i", ', b'["i", -')])
def test_numbers_that_were_changed_in_a_file_of_results_are_not_believed(was: bytes, becomes: bytes, tmp_path: Path) -> None:
    text, whole = kept()
    (state := tmp_path / "tuned.jsonl").write_bytes(text.replace(was, becomes))
    assert was in text and tuned(2, state=state) == whole


def test_several_processes_find_what_one_does() -> None:
    assert tuned(6, jobs=2) == tuned(6)


def test_what_does_not_fit_the_machine_is_left_out_or_refused() -> None:
    # Accumulators of two indices at most, and none here.
    found = tuned(arch="fpga")
    assert all(each["order"].index("k") > max(map(each["order"].index, "ij")) for each in found["points"]
               if each["edges"]["k"] > 1)
    with pytest.raises(UserError, match=r"^x\(i\) = B.*: none of 1 programs fits: the program is too large for 'tiny'"):
        sardonyx.tune("x(i) = B(i,j) * C(i,j) * D(i,j) * E(i,j)", arch="tiny", budget=1, jobs=1,
                      **{name: to_value(random_tensor((5, 6), 0.5, seed)) for seed, name in enumerate("BCDE")})


def test_the_command_prints_the_table_and_as_json_the_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, matrix in OPERANDS.items():
        scipy.io.mmwrite(tmp_path / f"{name}.mtx", matrix)
    words = ["tune", PRODUCT, "--budget", "3", "--jobs", "1", "--B", str(tmp_path / "B.mtx"), "--C", str(tmp_path / "C.mtx")]
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["cycles", "order", "edges", "formats"] and lines[-1].strip().startswith("sardonyx run einsum")
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["report"]["command"] == lines[-1].strip()
    assert main([*words, "--engine", "golden"]) == main(["tune", PRODUCT, "--budget", "3"]) == 2


def test_the_command_of_the_best_point_has_what_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                          capsys: pytest.CaptureFixture[str]) -> None:
    """It runs as it stands: a machine of a file, and values that would be refused without the option."""
    monkeypatch.chdir(tmp_path)
    scipy.io.mmwrite("B.mtx", OPERANDS["B"] * 0.3)
    scipy.io.mmwrite("C.mtx", OPERANDS["C"])
    Path("mine.json").write_text(json.dumps({**sardonyx.get_arch("small").to_json(), "name": "other"}))
    assert main(["tune", PRODUCT, "--budget", "1", "--jobs", "1", "--B", "B.mtx", "--C", "C.mtx", "--arch", "mine.json",
                 "--values", "small", "--seed", "3"]) == 0
    command = capsys.readouterr().out.splitlines()[-1].strip()
    assert "--arch mine.json --values small --seed 3" in command
    assert main([*shlex.split(command)[1:], "--engine", "golden"]) == 0


@pytest.mark.parametrize("how,message", [
    ({"engine": "tokens"}, "there is no engine to tune on 'tokens'\n  try: choose one of estimate, rtl, rtl-full"),
    ({"budget": 0}, "budget: it is 0, but has to be 1 or more\n  try: give a whole number, 1 or more"),
    ({"jobs": 1000}, "jobs: it is 1000, but has to be 256 or less\n  try: give a whole number from 1 to 256"),
    ({"D": 3}, f"{PRODUCT}: operand D is not in the program\n  try: give B, C"),
])
def test_what_makes_no_sense_is_refused(how: "dict[str, Any]", message: str) -> None:
    with pytest.raises(UserError) as error:
        tuned(**how)
    assert str(error.value) == message


def test_several_statements_and_results_of_something_else_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="it has 2 statements\n  try: tune one of them"):
        sardonyx.tune("y(i) = B(i,j) * x(j); z(i) = B(i,j) * y(j)", B=OPERANDS["B"], x=OPERANDS["B"])
    state = tmp_path / "tuned.jsonl"
    another = {"task": "another", "version": installed_version()}
    state.write_text(json.dumps(another) + "\n")
    with pytest.raises(UserError, match="the file is of another program, other operands or another machine"):
        tuned(state=state)
    assert state.read_text() == json.dumps(another) + "\n"
    with pytest.raises(UserError, match="results cannot be kept in it: Is a directory"):
        tuned(state=tmp_path)


def test_of_more_orders_than_the_budget_those_of_the_fewest_expected_cycles_are_estimated() -> None:
    data = {"A": random_tensor((30, 30), 0.1, 1), "B": random_tensor((30, 30), 0.1, 2), "D": random_tensor((30, 30), 0.1, 3)}
    text, values = "X(i,j) = relu(A(i,k) * B(k,j)) + D(i,j)", {name: to_value(tensor) for name, tensor in data.items()}
    every = sardonyx.tune(text, **values, arch="onyx", budget=6, jobs=1).report
    few = sardonyx.tune(text, **values, arch="onyx", budget=4, jobs=1).report
    assert every["programs"] == 6 and few["programs"] == 4
    # The sum has its loop around others, and MEM tiles keep it.
    assert few["points"][0]["order"] == every["points"][0]["order"] and few["points"][0]["order"][-1] != "k"
    run = sardonyx.einsum(text, schedule=few["schedule"], formats=few["formats"], engine="tokens", arch="onyx", **values)
    assert list(run.report["sums_apart"])


def test_orders_that_sub_tiles_settle_are_tried() -> None:
    values = {"B": to_value(random_tensor((3, 4, 5), 0.5, 1)), "C": to_value(random_tensor((5, 2), 0.5, 2))}
    found = sardonyx.tune("X(i,j,l) = B(i,j,k) * C(k,l)", **values, budget=30, jobs=1, formats={"B": "sss", "C": "ss"}).report
    assert found["programs"] == 24


def test_of_many_orders_it_is_told_how_many_were_compared() -> None:
    told: list[str] = []
    tuned(2, progress=told.append)
    assert [each for each in told if each.startswith("comparing")] == [f"comparing loop orders: {n} of 5" for n in range(1, 6)]


def test_orders_are_tried_as_they_come_where_the_default_one_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(statement: Einsum, *_: object) -> Search:
        raise UserError("it does not fit", statement.text, "another order")

    monkeypatch.setattr(tuning, "search", refused)
    assert tuned(2)["programs"] == 2
