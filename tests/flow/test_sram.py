"""SRAMs: their estimates."""

from pathlib import Path

import pytest

from sardonyx.flow.asic import sram
from sardonyx.hw.emit import emit
from sardonyx.hw.memory.sram import Sram


def test_area_grows_with_bits_from_a_memory_of_256_words_of_64() -> None:
    assert sram.area("sram_256x4x16", "asap7") == pytest.approx(687.971)
    assert round(sram.area("sram_512x4x16", "asap7")) == 1376
    assert sram.area("sram_512x4x16", "sky130hd") == 0


def test_an_access_takes_energy_by_the_bits_of_a_word_where_there_is_an_estimate() -> None:
    assert sram.access_fj("sram_512x4x16", "sky130hd", 2, 1) == 64 * (2 * 988 + 1018)
    assert sram.access_fj("sram_512x4x16", "asap7", 2, 1) == 0


def test_the_view_times_every_output_from_the_clock_and_sets_up_every_input(tmp_path: Path) -> None:
    [file] = emit(Sram(512, 4), tmp_path)
    view = sram.view("sram_512x4x16", file.read_text())
    assert view.count("timing_type : setup_rising") == 4 and view.count("timing_type : rising_edge") == 1
    assert view.count("{") == view.count("}")
