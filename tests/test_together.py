"""Several programs on one system, and what the demo of it writes; the timeline as text and picture."""

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
from checks import check_icarus
from machines import BESIDE, LEAST, PART, copier, mirrored
from riscv import needs_compiler
from test_system_memories import TABLES

from sardonyx import emission, halide, timeline, together
from sardonyx.apps.dense import box
from sardonyx.cli import main
from sardonyx.compiler.ir.program import Program
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.lint import LINT
from sardonyx.picture_job import Wanted
from sardonyx.runtime.region import part
from sardonyx.sim.rtl import verilator
from sardonyx.timeline import LETTERS, Row

ROWS = [Row("one", ((0, 50), (75, 76))), Row("<two>", ())]


def test_a_timeline_has_a_letter_for_as_many_cycles_each() -> None:
    one, two, scale = timeline.text(ROWS, 100).splitlines()
    half = LETTERS // 2
    assert one == f"one   {'#' * half}{'.' * (LETTERS // 4)}#{'.' * (LETTERS // 4 - 1)}"
    assert two == f"<two> {'.' * LETTERS}"
    assert scale.endswith(" 100 cycles") and len(scale) == len(one)


def test_a_timeline_as_a_picture_has_every_span_and_says_its_cycles() -> None:
    root = ElementTree.fromstring(timeline.picture(ROWS, 100))
    titles = [each.text for each in root.iter("{http://www.w3.org/2000/svg}title")]
    assert titles == ["0 to 50", "75 to 76"]


def test_spans_shorter_than_a_letter_are_seen() -> None:
    assert "-" in timeline.text([Row("x", ((500_000, 500_001),))], 1_000_000)


class Copies:
    """A job that copies blocks."""

    checks = "words"

    def __init__(self, program: Program, *blocks: "list[int]") -> None:
        self.compiled = SimpleNamespace(program=program)
        self._given, self._taken = [[len(each), *each] for each in blocks], []

    def parts(self) -> "Iterator[Copies]":
        yield self

    def transactions(self, most: int) -> "list[dict[str, np.ndarray]]":
        return [{"a_vals": np.array(each, np.uint16)} for each in self._given]

    def bounds(self) -> "dict[str, int]":
        return {"b_vals": max(map(len, self._given))}

    def take(self, stored: "dict[str, np.ndarray]") -> None:
        self._taken.append(stored["b_vals"].tolist())

    def check(self) -> "tuple[None, int]":
        assert self._taken == self._given
        return None, sum(map(len, self._taken))

    def facts(self) -> "dict[str, object]":
        return {"blocks": len(self._given)}


@needs_compiler
def test_jobs_run_in_regions_and_reports_say_in_which() -> None:
    copy, mirror = copier(PART), mirrored(PART)
    jobs = {"one": Copies(copy, [1, 2, 3], []), "two": Copies(mirror, [4]), "three": Copies(copy, [5, 6])}
    ran, reports = together.run(jobs, BESIDE, columns=[2, 2], regions={"two": 1, "three": 1})
    assert [report["region"] for report in reports.values()] == ["0, columns 0..1", "1, columns 2..3", "1, columns 2..3"]
    assert [report["words_checked"] for report in reports.values()] == [5, 2, 3]
    assert ran.left(1) < ran.spans(2, "configure")[0][0]


@needs_compiler
def test_jobs_without_a_region_take_the_first_that_is_free_and_what_stops_one_is_raised_when_all_others_are_checked() -> None:
    copy, mirror = copier(PART), mirrored(PART)
    jobs = {"one": Copies(copy, *[[*range(90)]] * 20), "two": Copies(mirror, [4]), "three": Copies(copy, [5, 6])}
    _, reports = together.run(jobs, BESIDE, columns=[2, 2])
    assert [report["region"] for report in reports.values()] == ["0, columns 0..1", "1, columns 2..3", "1, columns 2..3"]
    short, other = Copies(copy, [1]), Copies(mirror, [1, 2, 3])
    short.transactions = lambda most: [{"a_vals": np.array([5, 1], np.uint16)}]     # type: ignore[method-assign]
    with pytest.raises(AssertionError) as error:
        together.run({"short": short, "other": other}, BESIDE, columns=[2, 2])
    assert str(error.value) == ("program 'short' was stopped, and 1 others are done and right: "
                                "the firmware stopped at status 0x208 of region 0")
    other.check()


@needs_compiler
def test_pictures_come_row_by_row_into_two_regions_at_once() -> None:
    """More rows than the system DMA takes transfers, so a queue is left amid them; every element is compared. Launches of each
    are in one run."""
    arch = replace(TABLES, columns=4, rows=5, mem_every=2, glb=replace(TABLES.glb, queue=True, kept_bytes=0, ring=1))
    half, draw = part(arch, 2), np.random.default_rng(0)
    jobs = {}
    for name, size in (("west", (90, 111)), ("east", (79, 120))):
        photo = draw.integers(0, 256, size, dtype=np.uint8)
        picture = halide.prepared(box.build(), {"photo": photo}, None, {}, lambda stage: None)
        jobs[name] = picture.job(Wanted(picture.size, (40, 40), None, half, 0), lambda stage: None)
    ran, reports = together.run(jobs, arch, columns=[2, 2], regions={"east": 1})
    assert sum(map(int, re.findall(r"ROWS\((\d)u, 41u", ran.firmware.commands))) >= 12
    assert [report["elements_checked"] for report in reports.values()] == [89 * 110, 78 * 119]
    assert all(each.joins for job in ran.firmware.launches for each, _ in job[1:])
    # What the bus has brought and taken beside that are commands, configurations and notes.
    for spans, least in zip((ran.brought, ran.taken), zip(ran.beats(0), ran.beats(1), strict=True), strict=True):
        went = sum(end - first for first, end in spans)
        assert 0.5 * went < sum(least) <= went


def test_a_region_for_no_job_is_refused() -> None:
    with pytest.raises(UserError) as error:
        together.run({"one": Copies(copier(PART), [1])}, BESIDE, columns=[2, 2], regions={"two": 1})
    assert str(error.value) == "regions: there is no job 'two' to have a region\n  try: name one of one"


@needs_compiler
@pytest.mark.slow
def test_the_demo_runs_two_programs_and_writes_what_it_says(tmp_path: Path) -> None:
    report = together.demo(tmp_path).report
    assert report["serial_line"].startswith("done in ")
    for name, kind in (("product", "words_checked"), ("blur", "elements_checked")):
        assert report[name][kind] > 0 and report[name]["cycles"] < report[name]["cycles_with_transfers"]
    assert all((tmp_path / name).is_file() for name in (together.PICTURE, together.COMMANDS))
    assert list((tmp_path / "verilog").glob("picorv32.sv"))


@pytest.fixture(scope="module")
def emitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file list of the Verilog of a whole system, of a description without a processor, as `verilog --soc` has it."""
    folder = tmp_path_factory.mktemp("system")
    return Path(str(emission.emit_arch(LEAST, folder, soc=True).report["file_list"]))


def test_a_whole_system_is_emitted(emitted: Path) -> None:
    """And its file list names each file that it needs, the top last."""
    folder, files = emitted.parent, emitted.read_text().split()
    assert files[-1] == "sardonyx_system.sv" and {"picorv32.sv", "host.sv", "sardonyx.sv"} <= set(files)
    assert all((folder / name).is_file() for name in files)
    assert "SARDONYX_HOST_MOVE_IN" in (folder / "sardonyx.h").read_text()
    assert "move_in" in (folder / "registers.md").read_text()
    assert "m_axi_araddr" in (folder / "ports.md").read_text()


@pytest.mark.parametrize("preset", ["tiny", pytest.param("onyx", marks=pytest.mark.slow)])
def test_the_command_writes_the_system_of_a_preset(preset: str, tmp_path: Path) -> None:
    """As a value of its description, with which the same files come."""
    for number, words in enumerate((f"--preset {preset} --soc", f"--arch {tmp_path / 'mine.json'}")):
        assert main(["verilog", *words.split(), "--out", str(tmp_path / str(number))]) == 0
        (tmp_path / "mine.json").write_bytes((tmp_path / str(number) / "arch.json").read_bytes())
    one, other = ({path.name: path.read_bytes() for path in (tmp_path / number).iterdir()} for number in ("0", "1"))
    assert json.loads(one["arch.json"])["system"]["processor"] is True
    files = one["sardonyx_system.f"].decode().split()
    assert files[-1] == "sardonyx_system.sv" and {"picorv32.sv", "host.sv", "sardonyx.sv"} <= set(files) <= set(one)
    assert one == other


def test_a_whole_system_passes_lint_with_the_waivers_beside_it(emitted: Path) -> None:
    tools = verilator.tools()
    command = [*tools.verilator, "--lint-only", "-Wall", "-F", str(emitted), str(emitted.parent / LINT)]
    run = subprocess.run(command, env=tools.environment, capture_output=True, text=True)
    assert run.returncode == 0 and not run.stderr and "%" not in run.stdout, run.stdout + run.stderr


@pytest.mark.icarus
def test_icarus_takes_a_whole_system_without_a_word(emitted: Path) -> None:
    """And with no block that it runs for bits that the block does not read."""
    check_icarus([emitted.parent / name for name in emitted.read_text().split()], "sardonyx_system")
