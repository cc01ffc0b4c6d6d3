"""Files that nobody can read, whoever it is: links to themselves, and paths that go through a file."""

from pathlib import Path

import pytest

from sardonyx.cli import main

GRAPH = """digraph SAM {
  comment="x=s0,b=s0"
  1 [type="fiberlookup" index="i" tensor="b" mode="0" format="compressed" root="true"]
  2 [type="arrayvals" tensor="b"]
  3 [type="fiberwrite" index="i" tensor="x" mode="0" format="compressed"]
  4 [type="fiberwrite" tensor="x" mode="vals"]
  1 -> 2 [type="ref"]
  1 -> 3 [type="crd"]
  2 -> 4 [type="val"]
}
"""
COMMANDS = {
    "a matrix": ("run einsum X(i,j)=B(i,j) --B {}.mtx", "no such file"),
    "a packed matrix": ("run einsum X(i,j)=B(i,j) --B {}.mtx.gz", "no such file"),
    "an array": ("run einsum x(i)=b(i) --b {}.npy", "no such file"),
    "a graph": ("run graph {}.gv --operands .", "cannot be read: "),
    "operands of a graph": ("run graph mine.gv --operands {}", "there is no such folder"),
    "an expression": ("run kernel {}.toml", "cannot be read: "),
    "a machine": ("explain arch {}.json", "cannot read the machine description: "),
    "a bitstream": ("explain bitstream {}.bits", "cannot be read: "),
    "a Halide program": ("run image {}.hlpipe --input mine.png", "cannot be read: "),
    "a picture": ("run image gaussian --input {}.png", "cannot read the picture: "),
    "a design": ("spatial explain {}.py", "no such file"),
    "what is kept": ("run kernel spmv --engine tokens --tile 4 --state {}.jsonl", "results cannot be kept in it: "),
    "the list of a folder": ("run kernel spmv --engine tokens --dump {}", "cannot be "),
    "a result": ("run kernel spmv --engine tokens --out {}.npy", "cannot write the result: "),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.gv").write_text(GRAPH)
    for ending in ("", ".mtx", ".mtx.gz", ".npy", ".gv", ".toml", ".json", ".bits", ".hlpipe", ".png", ".py", ".jsonl"):
        (tmp_path / f"loop{ending}").symlink_to(f"loop{ending}")
    # The list of what is written in a folder is a link to itself.
    (tmp_path / "listed").mkdir()
    (tmp_path / "listed" / "sardonyx.sha256").symlink_to("sardonyx.sha256")
    return tmp_path


@pytest.mark.parametrize("place", ["loop", "mine.gv/loop"])
@pytest.mark.parametrize("what", COMMANDS)
def test_what_nobody_can_read_is_told_in_one_message(what: str, place: str, folder: Path,
                                                     capsys: pytest.CaptureFixture[str]) -> None:
    words, message = COMMANDS[what]
    if what == "the list of a folder" and place != "loop":
        message = "mine.gv is a file"
    before = sorted(folder.rglob("*"))
    assert main(words.replace("{}", place).split()) == 2
    said, error = capsys.readouterr()
    assert (said, error.count("\n")) == ("", 2) and message in error and "\n  try: " in error
    assert sorted(folder.rglob("*")) == before


def test_a_folder_whose_list_nobody_can_read_is_left_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "kernel", "spmv", "--engine", "tokens", "--dump", "listed"]) == 2
    assert capsys.readouterr().err.startswith("sardonyx: folder listed: it cannot be ")
    assert [path.name for path in (folder / "listed").iterdir()] == ["sardonyx.sha256"]
