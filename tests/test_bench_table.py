"""The table of `make bench`: what was measured takes its line's place, and no other line is lost."""

from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

import bench_commands
import bench_parts
import bench_spatial
import pytest
from bench_protection import AREA, HOP, protection
from bench_row import Given, Left, Row
from bench_table import HEAD, NOWHERE, merged
from hypothesis import given
from hypothesis import strategies as st
from performance import read_table

LINES = ("| speed | 1 | <= 2 | met |", "| by hand | 3, an old one | none given |  |", "| area | 5 | <= 4 | **missed** |")
TABLE = "\n".join((*HEAD, *LINES))
NAMES = st.text("abc", min_size=1, max_size=3)


def lines_of(text: str) -> list[str]:
    return text.splitlines()[len(HEAD):]


def test_what_was_measured_takes_the_place_of_its_line_and_stands_behind_what_it_was_measured_with_if_it_has_none() -> None:
    found = [Row("area", "3", "<= 4", True), Row("power", "7", "<= 8", True), Row("speed", "4", "<= 2", False)]
    assert lines_of(merged(TABLE, found, everything=False)) == [
        "| speed | 4 | <= 2 | **missed** |", LINES[1], "| area | 3 | <= 4 | met |", "| power | 7 | <= 8 | met |"]


def test_a_line_says_ours_to_the_papers_figure() -> None:
    row = Row("switch", "1,080", "<= 1,116", True, "1,416", 1080 / 1416)
    assert row.line() == "| switch | 1,080 | <= 1,116; paper: 1,416; 0.76 of it | met |"


def test_a_line_that_could_not_be_measured_keeps_what_it_had_and_says_why_until_it_is() -> None:
    left = Left("by hand", "needs DATA=folder")
    once = merged(TABLE, [left], everything=False)
    assert lines_of(once)[1] == "| by hand | 3, an old one (kept: needs DATA=folder) | none given |  |"
    assert merged(once, [left], everything=False) == once
    assert lines_of(merged(once, [Row("by hand", "4", "none given", None)], everything=False))[1] == \
        "| by hand | 4 | none given |  |"
    assert lines_of(merged("\n".join(HEAD), [left], everything=False)) == [
        "| by hand | not measured (kept: needs DATA=folder) |  |  |"]


def test_with_everything_measured_lines_that_nothing_was_found_for_stay_and_say_so() -> None:
    found = lines_of(merged(TABLE, [Row("speed", "2", "<= 2", True)], everything=True))
    assert found == ["| speed | 2 | <= 2 | met |", f"| by hand | 3, an old one (kept: {NOWHERE}) | none given |  |",
                     f"| area | 5 (kept: {NOWHERE}) | <= 4 | **missed** |"]


@given(st.lists(NAMES, unique=True), st.lists(NAMES, unique=True), st.booleans())
def test_no_line_is_ever_lost(before: list[str], now: list[str], everything: bool) -> None:
    rows = [Row(name, "2", "", None) if number % 2 else Left(name, "why") for number, name in enumerate(now)]
    table = "\n".join((*HEAD, *(f"| {name} | 1 |  |  |" for name in before)))
    found = [line.split(" | ")[0].removeprefix("| ") for line in lines_of(merged(table, rows, everything))]
    assert sorted(found) == sorted({*before, *now}) and [name for name in found if name in before] == before


def test_two_lines_of_one_name_are_refused() -> None:
    with pytest.raises(AssertionError, match=r"a line has a name of its own: \['speed'\]"):
        merged(TABLE, [Row("speed", "1", "", None)] * 2, everything=False)
    with pytest.raises(AssertionError, match="a line has a name of its own"):
        merged(f"{TABLE}\n{LINES[0]}", [], everything=False)


def test_the_lines_of_the_page_have_names_of_their_own_and_stay_as_they_are() -> None:
    table = read_table("bench")
    assert merged(table, [], everything=False) == table


def test_without_a_cell_library_boundary_protection_keeps_its_lines() -> None:
    assert [*protection(Given())] == [Left(each, "needs LIBERTY=folder") for each in (AREA, HOP)]
    table = read_table("bench")
    assert all(any(line.startswith(f"| {each} |") for line in table.splitlines()) for each in (AREA, HOP))


def test_arrays_in_cells_have_the_same_lines_with_a_library_and_without(monkeypatch: pytest.MonkeyPatch) -> None:
    three = 130.0, 100.0, 105.0     # 105 of 130 would be met everywhere
    family = SimpleNamespace(name="asap7")
    monkeypatch.setattr(bench_commands, "find_library", lambda place: SimpleNamespace(family=family))
    monkeypatch.setattr(bench_spatial, "silicon", lambda library: bench_spatial.Silicon(*[three] * 8))
    monkeypatch.setattr(bench_spatial, "energy_per_mac", lambda library, size: three)
    monkeypatch.setattr(bench_parts, "areas", lambda design, library, way: defaultdict(
        lambda: SimpleNamespace(total=7.0), {"merge_node": SimpleNamespace(total=2.0)}))
    monkeypatch.setattr(bench_parts, "emitted", lambda component: SimpleNamespace(top=component.module_name))
    monkeypatch.setattr(bench_parts, "netlist", lambda design, library: "")
    monkeypatch.setattr(bench_parts, "least_period", lambda design, netlist, library: 900.0)
    left, found = bench_commands.cells(None), bench_commands.cells(Path("library"))
    assert [each.what for each in left] == [each.what for each in found]
    assert [each.met for each in found] == [*[True] * 3, *[False] * 4, True, True, *[None] * 5, False, False, True]   # type: ignore[union-attr]
    unmeasured = merged("\n".join(HEAD), left, everything=True)
    assert all("| not measured (kept: needs LIBERTY=folder) |" in line for line in lines_of(unmeasured))
    assert "kept" not in merged(unmeasured, found, everything=True)
