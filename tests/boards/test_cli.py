"""The commands `sardonyx board build` and `sardonyx board run`."""

import json
from pathlib import Path
from typing import Any

import pytest

from sardonyx import api, board, halide
from sardonyx.boards.device import SerialDevice
from sardonyx.cli import main
from sardonyx.hw.arch import presets
from sardonyx.outcome import Outcome


def test_build_reports_what_it_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("amaranth_boards", reason="needs the extra sardonyx[board]")
    assert main(["board", "build", "ulx3s-85f", "--out", str(tmp_path), "--until", "project", "--json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["report"]["baud"] == 1_000_000
    assert said.err.splitlines()[-1].endswith(f"next: run build_top.sh in {tmp_path}")


@pytest.mark.parametrize("words,message", [
    ("board build ulx3 --out o",
     "sardonyx: there is no board 'ulx3', do you mean 'ulx3s-85f'?\n  try: choose one of ulx3s-85f, arty-a7-100\n"),
    ("board build ulx3s-85f --out o --arch huge",
     "sardonyx: there is no preset 'huge'\n"
     "  try: choose one of tiny, small, sparse, fpga, amber, onyx, or give a .json file\n"),
    ("board run nowhere --port p kernel spmv",
     "sardonyx: there is no board 'nowhere'\n  try: choose one of ulx3s-85f, arty-a7-100\n"),
    ("board run ulx3s-85f kernel spmv",
     "sardonyx board run: the following arguments are required: --port\n  try: sardonyx board run --help\n"),
])
def test_mistakes_end_with_code_2(words: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                  capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words.split()) == 2
    assert capsys.readouterr().err == message
    assert not list(tmp_path.iterdir())


def test_programs_run_on_the_device_at_the_port(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    opened: list[tuple[Any, ...]] = []
    device = SerialDevice(presets.get("fpga"), line=None)   # type: ignore[arg-type]

    def open_board(*how: Any) -> SerialDevice:
        opened.append(how)
        return device

    called: dict[str, Any] = {}

    def program(*_: Any, **options: Any) -> Outcome:
        called.update(options)
        return Outcome({})

    monkeypatch.setattr(board, "open_board", open_board)
    monkeypatch.setattr(api, "kernel", program)
    monkeypatch.setattr(api, "einsum", program)
    monkeypatch.setattr(halide, "run_files", program)
    start = "board run ulx3s-85f --port p --baud 9600".split()
    (tmp_path / "b.npy").touch()
    for words in (["kernel", "vec_elemmul", "--size", "9"], ["einsum", "x(i) = b(i)", "--b", str(tmp_path / "b.npy")],
                  ["image", "binomial", "--arch", "mine.json"]):
        called.clear()
        assert main([*start, *words]) == 0
        assert called["engine"] is device and called["arch"] == opened[-1][2]
    assert opened == [("ulx3s-85f", "p", "fpga", 9600)] * 2 + [("ulx3s-85f", "p", "mine.json", 9600)]
