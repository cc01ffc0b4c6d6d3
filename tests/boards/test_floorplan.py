"""The picture of what stands where."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

from sardonyx.boards.floorplan import draw, part, places


def test_cells_belong_to_parts_by_their_names() -> None:
    assert part("serial_machine.machine.array.x1_y2.tile_logic.core.level_LUT4_Z_7") == "tile 1,2"
    assert part("serial_machine.machine.glb3.load.q_LUT4_Z") == "glb 3"
    assert part("serial_machine.bridge.word_TRELLIS_FF_Q") == part("uart_0__rx__io") == "shell, bridge"


def test_a_place_shows_the_part_of_most_of_its_cells(tmp_path: Path) -> None:
    cells = {f"m.x0_y1.a{n}": "X2/Y3/SLICEA.LUT4_0" for n in range(2)} | {"m.glb0.b": "X2/Y3/SLICEB.LUT4_1",
                                                                         "m.glb0.c": "X3/Y3/SLICEA.FF0", "n": ""}
    netlist = tmp_path / "routed.json"
    netlist.write_text(json.dumps({"modules": {"top": {"cells": {
        name: {"attributes": {"NEXTPNR_BEL": bel}} for name, bel in cells.items()}}}}))
    assert places(netlist) == {(2, 3): "tile 0,1", (3, 3): "glb 0"}


def test_a_full_fpga_is_a_small_picture() -> None:
    found = {(x, y): f"tile {x // 32},{y // 30}" if (x * y) % 7 else "glb 0" for x in range(126) for y in range(95)}
    text = draw(found)
    assert len(text) < 300_000
    assert len(ET.fromstring(text).findall("{*}text")) == len(set(found.values()))
    assert draw(found) == text and draw({}).startswith("<svg")
