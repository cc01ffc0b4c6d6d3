"""Cells as their library describes them."""

from pathlib import Path

import pytest

from sardonyx.flow.asic.cells import Cell, cells, volts
from sardonyx.flow.asic.library import FAMILIES, Library

LIBERTY = """\
library (few) {
  capacitive_load_unit (1, pf);
  nom_voltage : 1.80;
  cell ("nor") {
    area : 1;
    pin ("A") { direction : input; capacitance : 0.001; }
    pin ("Y") {
      direction : output;
      function : "(!A & !B) + C";
      timing () { related_pin : "A"; }
    }
  }
  cell (flop) {
    ff (IQ, IQN) { clocked_on : CLK; next_state : D; }
    pin (CLK) {
      clock : true;
      capacitance : 0.0015;
    }
    pin (D) {
      capacitance : 0.002;
    }
    pin (Q) {
      function : "IQ";
    }
  }
}
"""


def library(folder: Path, text: str) -> Library:
    (folder / "few.lib").write_text(text)
    return Library(FAMILIES[0], folder / "few.lib")


def test_functions_are_expressions_of_pins_and_flops_have_a_clock(tmp_path: Path) -> None:
    given = library(tmp_path, LIBERTY.replace("{ direction : input; capacitance", "{\n capacitance").replace(
        "ff (IQ", "\n ff (IQ"))
    assert volts(given) == 1.8
    assert cells(given) == {"nor": Cell({"Y": "(~A & ~B) | C"}, False, 0.0), "flop": Cell({"Q": "IQ"}, True, 1.5)}


def test_a_function_in_another_way_of_writing_is_no_expression(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="A' is written in a way that the known libraries do not use"):
        cells(library(tmp_path, LIBERTY.replace("(!A & !B) + C", "A'")))
