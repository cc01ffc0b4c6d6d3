"""`make silicon`: what it measures for which names, and that it says what is missing and ends well."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from sardonyx.flow.asic import report
from sardonyx.hw.arch.errors import UserError


def silicon(root: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, str(root / "scripts" / "silicon.py"), *words], capture_output=True, text=True)


def test_without_a_library_it_says_so_and_ends_well(root: Path) -> None:
    done = silicon(root, "pe_odd")
    assert (done.returncode, done.stdout, done.stderr) == (
        0, "", "skipped: no cell library is given\n  try: make silicon LIBERTY=folder; docs/silicon.md says where some are\n")


def test_a_library_that_is_not_there_is_named(root: Path, tmp_path: Path) -> None:
    done = silicon(root, "--liberty", str(tmp_path), "--library", "sky130hd", "row")
    assert done.returncode == 2 and done.stderr.startswith(f"{tmp_path}: there is no cell library sky130hd\n")


def test_a_table_goes_between_its_markers_and_nowhere_else(tmp_path: Path) -> None:
    document = tmp_path / "silicon.md"
    document.write_text("before\n<!-- areas: begin -->\nold\n<!-- areas: end -->\nafter\n")
    report.put(document, "areas", report.table(("a", "b"), [("1", "2")]))
    assert document.read_text() == \
        "before\n<!-- areas: begin -->\n| a | b |\n| --- | --- |\n| 1 | 2 |\n<!-- areas: end -->\nafter\n"
    with pytest.raises(UserError) as error:
        report.put(document, "paths", "")
    assert str(error.value) == (f"{document}: there are no markers of the table 'paths'\n"
                                "  try: put <!-- paths: begin --> and <!-- paths: end --> where it belongs")


def test_every_table_has_its_place_in_the_document(root: Path) -> None:
    text = (root / "docs" / "silicon.md").read_text()
    for name in ("areas", "paths", "delays", "ratios", "beside", "beside paths", "domains", "hops", "walls", "gain", "power",
                 "energies sky130hd", "energies asap7"):
        assert text.count(f"<!-- {name}: begin -->") == text.count(f"<!-- {name}: end -->") == 1


def test_delays_of_a_hop_stand_beside_what_each_other_machine_adds() -> None:
    found = {name: {"switch_box": ps} for name, ps in (("onyx", 132.4), ("walls", 147.1), ("stall", 130.0))}
    assert report.hop_table(found) == (
        "| field of `Timing` | paper | without, ps | with walls, ps | with stall, ps |\n| --- | --- | --- | --- | --- |\n"
        "| `switch_box` | 30 ps in 16 nm | 132 | 147 (+15) | 130 (-2) |")


def test_delays_of_walls_stand_beside_those_without() -> None:
    assert report.wall_table({"onyx": {"track": 150.2}, "regions": {"track": 170.4, "walled": 199.6}}) == (
        "| in an even PE tile | without, ps | with walls, ps |\n| --- | --- | --- |\n"
        "| from a track to a track | 150 | 170 (+20) |\n| from a track to the register of what reached a wall | - | 200 |")


def test_programs_are_last_and_what_was_measured_stays_where_a_group_fails(root: Path, liberty: Path, tmp_path: Path,
                                                                            monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(root / "scripts"))
    script = importlib.import_module("silicon")
    document, told = tmp_path / "silicon.md", []
    document.write_text("".join(f"<!-- {name}: begin -->\n<!-- {name}: end -->\n" for name in ("areas", "beside", "power")))
    monkeypatch.setattr(script, "DOCUMENT", document)
    monkeypatch.setattr(script, "_components", lambda names, at: told.append(names) or {"areas": "measured"})
    monkeypatch.setattr(script, "_beside", lambda names, at: told.append(names) or {"beside": f"{1 / 0}"})
    monkeypatch.setattr(script, "emit_arch", lambda *machine: None)
    monkeypatch.setattr(sys, "argv", ["silicon.py", "--liberty", str(liberty), "--write", "power", "pe", "host", "glb"])
    with pytest.raises(ZeroDivisionError):
        script.main()
    assert told == [["pe_odd", "pe_even", "glb"], ["host"]]
    assert document.read_text().splitlines()[:4] == [
        "<!-- areas: begin -->", "measured", "<!-- areas: end -->", "<!-- beside: begin -->"]
    assert [each.family.name for each in script.each_library(liberty, script.find_library(liberty, "sky130hd"))] == [
        "sky130hd", "asap7"]
