"""What stands beside the array, as it is measured."""

from collections import Counter
from pathlib import Path

import pytest

from sardonyx.flow.asic.beside import BESIDE, PROCESSOR, REGIONS, beside, design
from sardonyx.flow.asic.library import Library
from sardonyx.hw.emitted import instances


@pytest.mark.parametrize("name", BESIDE)
def test_each_is_a_module_with_all_that_is_in_it(name: str, tmp_path: Path) -> None:
    found = design(name, tmp_path)
    if name != PROCESSOR:
        assert {*found.modules} == {file.stem for file in (tmp_path / name).glob("*.sv")}
    parts = Counter(instances(found.modules[found.top]).values())
    if name.startswith("shell"):
        regions = int(name.removeprefix("shell_"))
        assert regions in REGIONS and parts["controller"] == regions and parts["owners"] == (regions > 1)
    if name == "host":
        assert parts["mover"] == 2 and found.is_box("picorv32"), "the processor is measured by itself"
        assert parts["picorv32"] == 1 and "#(" not in found.modules["host"], "OpenSTA reads no parameters of an instance"
    if name == PROCESSOR:
        assert ".ENABLE_DIV(1)" in found.modules[PROCESSOR] and "input [31:0] mem_rdata" in found.modules[PROCESSOR]


@pytest.mark.opensta
@pytest.mark.slow
@pytest.mark.parametrize("name", ["machine_side", "host"])
def test_what_stands_beside_the_array_has_its_area_and_its_paths(name: str, library: Library, tmp_path: Path) -> None:
    found = beside(name, library, tmp_path)
    words = found.area[name]
    assert 100 < words.flops < words.total == found.um2 and found.um2 > found.gated_um2
    assert 100 < found.worst["reg-reg"].ps < 1000 and 100 < found.least_ps < 1000
