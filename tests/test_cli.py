"""The command line: what it takes, and what it passes on."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from sardonyx import api, emission, explained
from sardonyx.cache import home
from sardonyx.cli import main, parser
from sardonyx.cli.parser import Parser

EINSUM = "X(i,j) = B(i,k) * C(k,j)"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the files that the examples name."""
    monkeypatch.chdir(tmp_path)
    for name in ("a.mtx", "b.mtx", "v.npy", "signal.npy", "app.bits", "mine.json"):
        Path(name).write_text("")
    return tmp_path


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> "dict[str, Any]":
    """Replaces the Python interface; remembers the name and arguments of the last call."""
    last: dict[str, Any] = {}

    def stand_in(name: str) -> Callable[..., api.Result]:
        def call(*args: Any, **named: Any) -> api.Result:
            last.clear()
            last.update(named, name=name, args=args)
            return api.Result({"cycles": 1234, "out": Path("x")}, value=1, cycles=1234)
        return call

    for name in ("einsum", "kernel", "kernels", "demo", "save", "explain_program"):
        monkeypatch.setattr(api, name, stand_in(name))
    for name in ("explain_arch", "explain_bitstream", "explain_register", "explain_outputs"):
        monkeypatch.setattr(explained, name, stand_in(name))
    monkeypatch.setattr(emission, "emit_arch", stand_in("emit_arch"))
    return last


def parsers(one: Parser) -> "list[Parser]":
    """A parser and all below it."""
    below = [child for action in one._actions if isinstance(action.choices, dict)
             for child in action.choices.values()]
    return [one, *(found for child in below for found in parsers(child))]


def test_every_help_has_examples_and_each_of_them_parses(
        files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for one in parsers(parser()):
        assert one.examples, one.prog
        for line in one.examples:
            assert line.startswith("sardonyx ")
            parser().parse_args(shlex.split(line)[1:])
        with pytest.raises(SystemExit) as leaving:
            main([*one.prog.split()[1:], "--help"])
        assert leaving.value.code == 0
        assert one.examples[0] in capsys.readouterr().out


def test_every_command_has_json() -> None:
    leaves = [one for one in parsers(parser()) if one.get_default("body")]
    assert len(leaves) == 26
    assert all("--json" in one.format_help() and "--debug" in one.format_help() for one in leaves)


@pytest.mark.parametrize("words", [
    ["--B", "a.mtx", EINSUM, "--alpha", "-3", "--C=b.mtx", "--order", "ijk", "--format", "C=ss10"],
    [EINSUM, "--format=C=ss10", "--order=ijk", "--C", "b.mtx", "--B", "a.mtx", "--alpha=-3"],
])
def test_unknown_options_are_operands_wherever_they_stand(
        words: "list[str]", files: Path, called: "dict[str, Any]") -> None:
    assert main(["run", "einsum", *words]) == 0
    assert called["name"] == "einsum" and called["args"] == (EINSUM,)
    assert (called["B"], called["C"], called["alpha"]) == (Path("a.mtx"), Path("b.mtx"), -3)
    assert (called["order"], called["formats"], called["engine"]) == ("ijk", {"C": "ss10"}, "rtl")


def test_options_reach_the_python_interface(files: Path, called: "dict[str, Any]") -> None:
    words = "run kernel spmspm --engine tokens --size 5 --density .5 --tile 8 --seed 3 --dump d"
    assert main(words.split()) == 0
    assert called["args"] == ("spmspm",)
    assert (called["engine"], called["size"], called["density"]) == ("tokens", 5, 0.5)
    assert (called["tile"], called["seed"], called["dump"], called["values"]) == (8, 3, Path("d"), "exact")
    assert main("run kernel --list".split()) == 0
    assert called["name"] == "kernels"
    assert main("run demo --matrix a.mtx".split()) == 0
    assert called["args"] == (Path("a.mtx"),) and called["out"] == Path("out/demo")
    assert main("verilog --arch mine.json --out v".split()) == 0
    assert called["args"] == ("mine.json", Path("v"))
    assert main("verilog --out v".split()) == 0
    assert called["args"] == ("small", Path("v")) and not called["soc"]
    assert main("verilog --preset onyx --soc --out v".split()) == 0
    assert called["args"] == ("onyx", Path("v")) and called["soc"]
    assert main("explain register 0x10 --arch onyx".split()) == 0
    assert called["args"] == ("0x10",) and called["arch"] == "onyx"
    assert main("explain outputs mine.json".split()) == 0
    assert called["args"] == ("mine.json",)
    assert main("explain outputs".split()) == 0
    assert called["args"] == ("small",)


def test_result_is_saved_where_asked(files: Path, called: "dict[str, Any]") -> None:
    assert main(["run", "einsum", EINSUM, "--B", "a.mtx", "--out", "x.mtx"]) == 0
    assert called["name"] == "save" and called["args"][1] == Path("x.mtx")


@pytest.mark.parametrize("words,message", [
    ("run einsum E --B c.mtx",
     "sardonyx: --B c.mtx: no such file\n  try: give a file (.mtx, .tns, .npy), or a number for a scalar\n"),
    ("run einsum E --B .",
     "sardonyx: --B .: this is a folder\n  try: give a file (.mtx, .tns, .npy), or a number for a scalar\n"),
    ("run einsum E --B /dev/null",
     "sardonyx: --B /dev/null: this is a device or a pipe\n"
     "  try: give a file (.mtx, .tns, .npy), or a number for a scalar\n"),
    ("run einsum E --enigne rtl",
     "sardonyx: --enigne rtl: no such file\n"
     "  try: give a file (.mtx, .tns, .npy), or a number for a scalar; if no tensor is meant, --engine\n"),
    ("run einsum E --B",
     "sardonyx run einsum: option --B is not known, and as a tensor it needs a file or a number\n"
     "  try: sardonyx run einsum --help\n"),
    ("run einsum E --B a.mtx --B b.mtx",
     "sardonyx run einsum: tensor B is given twice\n  try: sardonyx run einsum --help\n"),
    ("run einsum E --progress 1",
     "sardonyx: --progress: a tensor cannot be called 'progress'\n  try: rename it in the expression\n"),
    ("run einsum E --format C=xy",
     "sardonyx run einsum: argument --format: 'C=xy' is not a format: "
     "write tensor=levels and mode order, as C=ss10\n  try: sardonyx run einsum --help\n"),
    ("run einsum E --format C=ss --format C=dd",
     "sardonyx: --format: a tensor has two formats\n  try: give --format once a tensor\n"),
    ("run einsum E --tile 0",
     "sardonyx run einsum: argument --tile: '0' is not a whole number of at least 1 and at most 18 digits\n"
     "  try: sardonyx run einsum --help\n"),
    (f"run kernel spmv --size {'9' * 5000}",
     f"sardonyx run kernel: argument --size: '{'9' * 30} ... {'9' * 30}' is not a whole number of at least 1 and at most 18 "
     "digits\n  try: sardonyx run kernel --help\n"),
    ("run kernel spmv --size 99999999999", "sardonyx: size: it is 99999999999, but has to be 2147483647 or less\n"
                                           "  try: give a whole number from 1 to 2147483647\n"),
    (f"run einsum E --b {'9' * 5000}",
     f"sardonyx: --b {'9' * 30} ... {'9' * 30}: no such file\n"
     "  try: give a file (.mtx, .tns, .npy), or a number for a scalar; if no tensor is meant, --jobs\n"),
    ("run kernel", "sardonyx run kernel: no kernel is named\n  try: sardonyx run kernel --list\n"),
    ("run kernel k --density 2",
     "sardonyx run kernel: argument --density: '2' is not a number from 0 to 1\n"
     "  try: sardonyx run kernel --help\n"),
    ("run demo --B 3", "sardonyx run demo: there is no option --B\n  try: sardonyx run demo --help\n"),
    ("run demo a.mtx", "sardonyx run demo: there is nothing that 'a.mtx' could be\n  try: sardonyx run demo --help\n"),
    ("run image gaussian --inptu p.png", "sardonyx run image: there is no option --inptu\n  try: use --input\n"),
    ("run image gaussian --order ijk",
     "sardonyx run image: there is no option --order here: 'sardonyx run einsum' has it\n"
     "  try: leave it out, or see sardonyx run image --help\n"),
    ("run graph m.gv --B a.mtx --order ijk",
     "sardonyx run graph: there is no option --order here: 'sardonyx run einsum' has it\n"
     "  try: leave it out, or see sardonyx run graph --help\n"),
    ("tune x(i)=b(i) --b v.npy --schedule split(i,3)",
     "sardonyx tune: there is no option --schedule here: 'sardonyx run einsum' has it\n"
     "  try: leave it out, or see sardonyx tune --help\n"),
    ("run einsum x(i)=b(i) --b v.npy --size 3",
     "sardonyx run einsum: there is no option --size here: 'sardonyx run kernel' has it\n"
     "  try: leave it out, or see sardonyx run einsum --help\n"),
    ("run einsum x(i)=size(i) --size v.npy",
     "sardonyx: --size: a tensor cannot be called 'size'\n  try: rename it in the expression\n"),
    ("run kernel spmv --engine tocens", "sardonyx run kernel: there is no 'tocens' for --engine\n  try: use tokens\n"),
    ("run kernel spmv --dispatch fast",
     "sardonyx run kernel: there is no 'fast' for --dispatch\n  try: choose one of order, sorted, expected, dynamic\n"),
    ("tune kernel mat_vecmul_ij", "sardonyx tune: mat_vecmul_ij is a kernel, and this takes an expression\n"
                                  "  try: sardonyx tune 'x(i) = B(i,j) * c(j)' --B FILE --c FILE\n"),
    ("run einsum spmspm", "sardonyx run einsum: spmspm is a kernel, and this takes an expression\n"
                          "  try: sardonyx run einsum 'X(i,j) = B(i,k) * C(k,j)' --B FILE --C FILE\n"),
    ("rnu", "sardonyx: there is no 'rnu' for COMMAND\n  try: use run\n"),
    ("cache remove", "sardonyx cache: there is no 'remove' for ACTION\n  try: choose one of show, clear\n"),
    ("tune einsum x(i)=b(i) --b v.npy", "sardonyx: x(i)=b(i): the expression is 'einsum' already\n  try: leave out 'einsum'\n"),
    ("run einsum x(i)=b(i) --b v.npy --out x.mtx",
     "sardonyx: x.mtx: only a matrix is written as Matrix Market\n  try: give a file name that ends in .npy\n"),
    ("run kernel spmspm --out x.npy",
     "sardonyx: x.npy: a matrix is written as Matrix Market\n  try: give a file name that ends in .mtx\n"),
    ("", "sardonyx: the following arguments are required: COMMAND\n  try: sardonyx --help\n"),
    ("verilog --preset small --arch mine.json --out v",
     "sardonyx verilog: argument --arch: not allowed with argument --preset\n"
     "  try: sardonyx verilog --help\n"),
])
def test_a_mistake_in_the_command_line_leaves_with_2(
        words: str, message: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words.split()) == 2
    assert capsys.readouterr() == ("", message)


@pytest.mark.parametrize("name", ["tile", "seed", "engine", "values", "format", "order", "arch", "out", "dump", "json"])
def test_a_tensor_called_like_an_option_is_to_be_renamed(name: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expression = f"x(i) = {name}(i)"
    assert main(["run", "einsum", expression, f"--{name}", "v.npy"]) == 2
    assert capsys.readouterr().err == (f"sardonyx: {expression}: tensor {name} is called like an option, so that no operand "
                                       "reaches it\n  try: rename it in the expression\n")


def test_options_of_other_commands_are_names_of_tensors(files: Path, called: "dict[str, Any]") -> None:
    assert main(["run", "einsum", "x(i) = list(i) * b(i)", "--list", "v.npy", "--b", "v.npy", "--tile", "3"]) == 0
    assert called["list"] == Path("v.npy") and called["tile"] == 3


@pytest.mark.parametrize("words", ["a.mtx", "--B a.mtx b.mtx", "a.mtx --tile 3"])
def test_an_operand_without_a_name_is_refused(words: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "einsum", EINSUM, *words.split()]) == 2
    name = words.split()[-1] if words.startswith("--") else "a.mtx"
    assert capsys.readouterr().err == (f"sardonyx: {name}: an operand has no name\n"
                                       "  try: give it by the name of its tensor, as --B FILE\n")


@pytest.mark.parametrize("words,said", [
    (("run", "einsum", "x(i) = b(i)", "--b", "v.npy", "--dump", ""), "argument --dump: '' is no path"),
    (("run", "einsum", "x(i) = b(i)", "--b", "v.npy", "--out", ""), "argument --out: '' is no path"),
    (("run", "kernel", "spmv", "--state="), "argument --state: '' is no path"),
    (("run", "image", "gaussian", "--input", "photo="), "argument --input: '' is no path"),
    (("run", "image", ""), "there is no program ''"),
    (("run", "graph", ""), "argument FILE: '' is no path"),
    (("explain", "program", "x(i) = b(i)", "--graph", ""), "argument --graph: '' is no path"),
    (("explain", "arch", ""), "there is no preset ''"),
    (("verilog", "--out", ""), "argument --out: '' is no path"),
    (("verilog", "--arch", "", "--out", "v"), "there is no preset ''"),
])
def test_a_place_that_is_an_empty_word_is_not_the_folder_here(words: "tuple[str, ...]", said: str, files: Path,
                                                              capsys: pytest.CaptureFixture[str]) -> None:
    """As of a variable of a shell that is not set."""
    before = sorted(files.rglob("*"))
    assert main(words) == 2
    assert said in capsys.readouterr().err and sorted(files.rglob("*")) == before


@pytest.mark.parametrize("name", ["x.txt", "x", "x.mtx.gz"])
def test_the_kind_of_the_result_is_checked_before_the_run(name: str, files: Path, called: "dict[str, Any]",
                                                          capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "einsum", "x(i) = b(i)", "--b", "v.npy", "--out", name]) == 2
    assert "ends in .mtx (a matrix) or .npy (a vector or tensor)" in capsys.readouterr().err
    assert not called


@pytest.mark.parametrize("words", ["run einsum x(i)=b(i) --b v.npy --out v.npy/x.npy",
                                   "run kernel spmspm --out v.npy/x.mtx",
                                   "run image gaussian --input v.png --engine tokens --output v.npy/x.png"])
def test_a_result_that_could_not_be_written_is_told_before_the_run(words: str, files: Path, called: "dict[str, Any]",
                                                                   capsys: pytest.CaptureFixture[str]) -> None:
    Image.new("L", (9, 9)).save("v.png")
    assert main(words.split()) == 2
    said = capsys.readouterr().err
    assert f"{words.split()[-1]}: cannot write the " in said and not called
    assert said.endswith(": Not a directory\n  try: name a file that can be written\n")


def test_a_command_that_fails_early_says_nothing_of_hardware_that_it_does_not_use(files: Path) -> None:
    found = subprocess.run([sys.executable, "-m", "sardonyx", "verilog", "--preset", "tiny", "--out", "v"], capture_output=True,
                           text=True, env={**os.environ, "XDG_CACHE_HOME": str(files / "v.npy")})
    assert (found.returncode, found.stderr) == (
        2, f"sardonyx: {files / 'v.npy' / 'sardonyx'}: cannot write the cache folder: Not a directory\n"
           "  try: set XDG_CACHE_HOME to a folder you may write to\n")


def test_result_goes_to_stdout_and_time_and_next_step_to_stderr(
        called: "dict[str, Any]", capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "kernel", "spmv", "--engine", "golden"]) == 0
    out, err = capsys.readouterr()
    assert out == "cycles  1,234\nout     x\n"
    assert re.fullmatch(r"done in \d+\.\d s; next: --engine rtl runs .*\n", err)
    assert main(["run", "kernel", "spmv", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["ok"] is True and answer["report"] == {"cycles": 1234, "out": "x"}


def test_module_and_command_are_the_same() -> None:
    command = subprocess.run([sys.executable, "-m", "sardonyx", "--version"], capture_output=True, text=True)
    assert re.fullmatch(r"sardonyx \d+\.\d+\.\d+\n", command.stdout)


def test_the_cache_is_shown_and_cleared(
        capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    store = home()
    for kind, name, size in (("models", "one", 10), ("models", "two", 20), ("native", "three", 5)):
        store.once(kind, name, lambda folder, size=size: (folder / "file").write_bytes(b"x" * size))
    (store.folder / "mine.txt").write_text("years")
    assert main(["cache", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["report"] == {
        "folder": str(store.folder), "bytes": 35, "bound_bytes": 4_000_000_000, "entries": 3,
        "kinds": {"models": {"entries": 2, "bytes": 30}, "native": {"entries": 1, "bytes": 5}}}
    assert main(["cache"]) == 0
    assert capsys.readouterr().out == (
        f"folder       {store.folder}\nbytes        35\nbound bytes  4,000,000,000\nentries      3\n"
        "kinds        models entries 2, bytes 30, native entries 1, bytes 5\n")
    assert main(["cache", "clear", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["report"] == {
        "folder": str(store.folder), "removed": 3, "removed_bytes": 35, "in_use": 0}
    assert store.entries() == [] and (store.folder / "mine.txt").exists()


@pytest.mark.parametrize("module,heavy", [
    ("emission", ("scipy", "halide", "skimage", "networkx", "pydot", "sardonyx.sim", "sardonyx.api")),
    ("api", ("halide", "skimage", "networkx", "pydot", "pyparsing"))])
def test_what_only_others_need_is_not_imported(module: str, heavy: "tuple[str, ...]") -> None:
    code = f"import sys, sardonyx.cli, sardonyx.{module}; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
