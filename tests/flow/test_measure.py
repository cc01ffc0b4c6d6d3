"""Small modules measured with the real library, where it and OpenSTA are; names that are none are refused."""

from dataclasses import replace
from pathlib import Path

import pytest

from sardonyx.flow.asic import measure
from sardonyx.flow.asic.library import Library
from sardonyx.flow.asic.synthesis import Registers, areas, netlist
from sardonyx.flow.asic.timing import least_period, worst_paths
from sardonyx.flow.baselines.weight_stationary import MacPe
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.glb import CELL, HYBRID, NONE, Glb
from sardonyx.hw.arith.register_file import RegisterFile
from sardonyx.hw.emit import emit
from sardonyx.hw.glb.tile import GlbTile
from sardonyx.hw.memory.sram import Sram
from sardonyx.hw.stream.fifo import Fifo2


@pytest.mark.opensta
def test_a_fifo_has_its_area_by_part_and_no_path_through_it(library: Library, tmp_path: Path) -> None:
    emit(Fifo2(17), tmp_path)
    found = measure.measure(measure.component(tmp_path, "fifo2_w17"), library)
    flops = found.area["fifo2_w17"].flops / 0.2916
    assert flops == pytest.approx(36) and 20 < found.um2 < 24
    assert found.gated_um2 < 0.8 * found.um2, "two words behind enables of their own"
    assert 50 < found.worst["reg-out"].ps < 200 and "in-out" not in found.worst
    assert found.worst["reg-reg"].points[0].pin.endswith("/CLK")
    assert 100 < found.least_ps < 2 * max(worst.ps for worst in found.worst.values())
    first, *_, last = measure.text("fifo", found)
    area = found.area["fifo2_w17"]
    assert first == (f"fifo: {area.total:.0f} um2, with clock gates {found.gated_um2:.0f}, "
                     f"with latches {found.latched_um2:.0f}; flops {area.flops:.0f}")
    assert last.endswith(f"({found.worst['reg-out'].points[-1].cell})")


@pytest.mark.opensta
def test_a_sum_in_the_tree_of_its_product_is_there_earlier_than_behind_a_product_of_its_own(
        library: Library, tmp_path: Path) -> None:
    emit(MacPe(8, 20), tmp_path)
    design = measure.component(tmp_path, "baseline_pe_8_20")
    alone, together = (least_period(design, netlist(design, library, booth=booth), library) for booth in (True, False))
    assert together < 0.95 * alone


@pytest.mark.opensta
def test_words_that_share_a_port_are_smaller_as_latches(library: Library, tmp_path: Path) -> None:
    emit(RegisterFile(16), tmp_path)
    design = measure.component(tmp_path, "register_file")
    flops, gated, latched = (areas(design, library, registers)["register_file"] for registers in Registers)
    latch = 0.2187
    assert latched.flops < gated.flops - 16 * 16 * 0.29, "the flops of the words are gone"
    assert latched.total < gated.total < flops.total < 460, "words are read by ANDs and ORs, of flops as of latches"
    assert gated.total - latched.total < 16 * 16 * latch, "a word is still there"


@pytest.mark.opensta
def test_clock_gates_of_parts_are_cells_and_paths_go_through_the_flops_behind_them(library: Library, tmp_path: Path) -> None:
    glb = Glb(columns_per_tile=1, bank_bytes=64, load_loops=1, store_loops=1)
    found = {}
    for gating in (NONE, HYBRID):
        emit(GlbTile(replace(glb, clock_gating=gating, clock_gates=CELL)), tmp_path / gating)
        found[gating] = measure.component(tmp_path / gating, "glb")
    plain, gated = (areas(design, library, Registers.LATCHES)["glb_tile"] for design in found.values())
    assert gated.flops == pytest.approx(plain.flops, abs=2) and gated.total == pytest.approx(plain.total, rel=0.05)
    cells = netlist(found[HYBRID], library)
    assert cells.count(f"{library.family.gate[0]} ") == 7
    paths = worst_paths(found[HYBRID], cells, library)
    assert paths["reg-reg"].ps > 200 and paths["reg-reg"].points[0].pin.endswith("/CLK")


def test_what_is_no_component_is_refused(tmp_path: Path) -> None:
    emit(Sram(512, 4), tmp_path)
    for name in ("pe_odd", "row", "nothing"):
        with pytest.raises(UserError) as error:
            measure.component(tmp_path, name)
        assert str(error.value) == (f"{tmp_path}: there is no module for '{name}'\n  try: choose among "
                                    f"{', '.join(measure.COMPONENTS)}, or name a module")


def test_a_design_is_a_module_and_those_below_it(tmp_path: Path) -> None:
    emit(Sram(512, 4), tmp_path)
    design = measure.component(tmp_path, "sram_512x4x16")
    assert design.srams == ["sram_512x4x16"] and list(design.modules) == ["sram_512x4x16"]
