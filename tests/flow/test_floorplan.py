"""The floorplan: as large as the areas of its table say, for machines of any size."""

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest

from sardonyx.flow.asic.floorplan import Area, areas, floorplan, svg
from sardonyx.hw.arch.presets import PRESETS

TABLE = """
| other | 1 | 2 | 3 | 4 | 5 | - |
<!-- areas: begin -->
| component | um2 | with clock gates | and latches | flops alone | SRAM, estimated | parts |
| --- | --- | --- | --- | --- | --- | --- |
| pe_odd | 2000 | 1900 | 1900 | 600 | - | core 1 |
| pe_even | 3000 | 2900 | 2900 | 600 | - | - |
| mem_odd | 3000 | 2000 | 2000 | 1000 | 1400 | - |
| mem_even | 3200 | 2000 | 2000 | 1000 | 1400 | - |
| io_odd | 100 | 90 | 90 | 50 | - | - |
| io_even | 200 | 180 | 180 | 50 | - | - |
| glb | 1300 | 1000 | 1000 | 500 | 44000 | - |
| controller | 200 | 190 | 190 | 90 | - | - |
| axi_data | 400 | 300 | 300 | 170 | - | - |
| axi_lite | 150 | 100 | 100 | 70 | - | - |
<!-- areas: end -->
"""


def test_areas_are_those_of_the_table_with_latches_odd_and_even_as_their_mean() -> None:
    found = areas(TABLE)
    assert found["pe"] == Area(2400, 0) and found["mem"] == Area(2000, 1400) and found["io"] == Area(135, 0)
    assert set(found) == {"pe", "mem", "io", "glb", "controller", "axi_data", "axi_lite"}
    assert found["mem"].placed == 2 * 2000 + 1400


@pytest.mark.parametrize("name", PRESETS)
def test_every_part_has_the_area_that_it_needs(name: str) -> None:
    arch, found = PRESETS[name], areas(TABLE)
    plan = floorplan(arch, found)
    assert plan.row ** 2 == pytest.approx(found["pe"].placed)
    for x, width in enumerate(plan.columns):
        assert width * plan.row == pytest.approx(found[arch.tiles[x, 1].kind].placed)
    assert sum(plan.columns) * plan.io == pytest.approx(arch.columns * found["io"].placed)
    assert sum(plan.columns) * plan.glb == pytest.approx(arch.glb_tiles * found["glb"].placed)


@pytest.mark.parametrize("arch", [*PRESETS.values(), replace(PRESETS["tiny"], mem_every=0, config_rows=1)],
                         ids=lambda arch: f"{arch.name} {arch.config_rows}")
def test_the_picture_is_a_drawing_within_its_borders(arch) -> None:
    root = ElementTree.fromstring(svg(arch, areas(TABLE)))
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    blocks = [each.attrib for each in root.iter() if each.tag.endswith("rect")]
    assert len(blocks) == 1 + arch.glb_tiles + 1 + arch.columns
    for block in blocks:
        assert 0 <= float(block["x"]) <= float(block["x"]) + float(block["width"]) < width
        assert 0 <= float(block["y"]) <= float(block["y"]) + float(block["height"]) < height
    cuts = next((each.attrib["d"] for each in root.iter() if "stroke-dasharray" in each.attrib), "")
    assert len(re.findall("M0,", cuts)) == (arch.rows - 1) // arch.config_rows
