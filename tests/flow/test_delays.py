"""Between which ports of which modules delays are measured."""

import re
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from sardonyx.flow.asic.delays import delays, named
from sardonyx.flow.asic.library import Library
from sardonyx.hw.arch.presets import PRESETS
from sardonyx.hw.emit import emit
from sardonyx.hw.emitted import Port
from sardonyx.hw.tile.tile import Tile


def test_the_delay_of_a_glb_tile_ends_at_its_streams_to_the_array_only() -> None:
    there = [Port("config0__valid", "output", 1), Port("config0__addr", "output", 24), Port("g2f0__payload", "output", 17),
             Port("g2f0__valid", "output", 1), Port("g2f0__ready", "input", 1), Port("g2f1__valid", "output", 1),
             Port("f2g0__ready", "output", 1), Port("busy", "output", 1), Port("east__valid", "output", 1)]
    assert named(there, "output", "array") == "[get_ports {g2f0__payload* g2f0__valid* g2f1__valid*}]"


def test_delays_of_boxes_lie_between_words_on_tracks_and_at_cores() -> None:
    there = [Port("n_data_i_payload", "input", 85), Port("n_data_i_valid", "input", 5), Port("n_data_o_ready", "input", 5),
             Port("res0__payload", "input", 17), Port("cfg", "input", 60), Port("e_data_o_payload", "output", 85),
             Port("data0__valid", "output", 1), Port("res0__ready", "output", 1)]
    assert named(there, "input", "both") == "[get_ports {n_data_i_payload* n_data_i_valid* res0__payload*}]"
    assert named(there, "output", "tracks") == "[get_ports {e_data_o_payload*}]"
    assert named(there, "output", "core") == "[get_ports {data0__valid*}]"
    assert named(there, "input", "both", ("valid",)) == "[get_ports {n_data_i_valid*}]"


def test_predicates_leave_a_core_beside_words() -> None:
    there = [Port("res0__payload", "output", 17), Port("res0__valid", "output", 1), Port("bit__payload", "output", 1),
             Port("bit__valid", "output", 1), Port("bit0__ready", "output", 1), Port("fault", "output", 1)]
    assert named(there, "output", "words", ("payload",)) == "[get_ports {res0__payload*}]"
    assert named(there, "output", "bits", ("payload",)) == "[get_ports {bit__payload*}]"
    assert named(there, "output", "core", ("valid",)) == "[get_ports {res0__valid* bit__valid*}]"


DOCUMENT = (Path(__file__).parents[2] / "docs" / "silicon.md").read_text()


def test_a_description_holds_no_delay_shorter_than_what_was_measured() -> None:
    table = DOCUMENT.partition("<!-- delays: begin -->")[2].partition("<!-- delays: end -->")[0]
    rows = {field: (int(measured), int(held)) for field, measured, held in re.findall(r"`(\w+)` \| (\d+) \| (\d+)", table)}
    added = ("protection", "wall", "walled")
    assert {field: held for field, (_, held) in rows.items()} == {
        field: held for field, held in asdict(PRESETS["onyx"].timing).items() if field not in added}
    assert all(measured <= held for measured, held in rows.values()), rows


def test_a_description_holds_nothing_shorter_for_power_domains_and_walls_than_what_was_measured() -> None:
    held = PRESETS["onyx"].timing
    hops = DOCUMENT.partition("<!-- hops: begin -->")[2].partition("<!-- hops: end -->")[0]
    more = [int(each) for each in re.findall(r"\| \d+ \((.\d+)\) \| \d+ \(.\d+\) \|$", hops, re.MULTILINE)]
    assert len(more) == 5 and max(more) <= held.protection
    walls = DOCUMENT.partition("<!-- walls: begin -->")[2].partition("<!-- walls: end -->")[0]
    found = re.search(r"track to a track \| \d+ \| \d+ \((.\d+)\) \|\n.*wall \| - \| (\d+) \|", walls)
    assert found and int(found[1]) <= held.wall and int(found[2]) <= held.walled


def test_a_description_holds_no_inside_of_a_tile_shorter_than_that_of_the_whole_tile_was_measured() -> None:
    table = DOCUMENT.partition("<!-- paths: begin -->")[2].partition("<!-- paths: end -->")[0]
    inside = {name: int(ps) for name, ps in re.findall(r"^\| (\w+) \| (\d+)", table, re.MULTILINE)}
    held = PRESETS["onyx"].timing
    tiles = {"pe": ("pe_odd", "pe_even", "row"), "mem": ("mem_odd", "mem_even"), "io": ("glb", "io_odd", "io_even")}
    for kind, names in tiles.items():
        assert max(inside[name] for name in names) <= held.inside(kind), kind


@pytest.mark.opensta
def test_a_hop_is_measured_whether_its_column_can_be_stalled_or_not(library: Library, tmp_path: Path) -> None:
    found = []
    for column_stall in (False, True):
        arch, folder = replace(PRESETS["tiny"], column_stall=column_stall), tmp_path / str(column_stall)
        emit(Tile(arch, arch.pe, parity=1), folder)
        found.append(delays(folder, library, ("register",))["register"].ps)
    assert all(30 < ps < 100 for ps in found), found
