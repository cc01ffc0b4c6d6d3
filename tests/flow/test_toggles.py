"""Changes of cells for changes of what drives them."""

import numpy as np
import pytest

from sardonyx.flow.asic.cells import Cell
from sardonyx.flow.asic.toggles import CHANGES, Netlist, changes, evaluate, netlist

KINDS = {"AND": Cell({"Y": "A & B"}, False, 0.0), "INV": Cell({"Y": "~A"}, False, 0.0), "TIE": Cell({"H": "1"}, False, 0.0),
         "FLOP": Cell({"Q": "IQ"}, True, 1.0)}


def cell(kind: str, **pins: int) -> "dict[str, object]":
    return {"type": kind, "connections": {pin: [bit] for pin, bit in pins.items()}, "port_directions": {}}


MODULE = {
    "ports": {"a": {"direction": "input", "bits": [2]}, "cfg": {"direction": "input", "bits": [3]},
              "clk": {"direction": "input", "bits": [4]}, "y": {"direction": "output", "bits": [5]}},
    "cells": {"follow": cell("INV", A=2, Y=6), "select": cell("AND", A=6, B=3, Y=5), "high": cell("TIE", H=7),
              "flop": cell("FLOP", D=5, CLK=4, Q=8),
              "box": {"type": "other", "connections": {"o": [9, 10]}, "port_directions": {"o": "output"}}}}


def test_inputs_flops_and_outputs_of_black_boxes_move_and_configuration_rests() -> None:
    found = netlist(MODULE, KINDS)
    assert (found.rest, found.moving) == ((3,), (2, 8, 9, 10))
    assert set(found.cells) == {"follow", "select", "high", "flop"}


def test_a_cell_changes_as_often_as_its_function_lets_it() -> None:
    moved, driven = changes(netlist(MODULE, KINDS), KINDS)
    assert driven == pytest.approx(4 * CHANGES, rel=0.1)
    assert moved["follow"] == pytest.approx(CHANGES, rel=0.15)
    # Half of the configurations let it through.
    assert moved["select"] == pytest.approx(CHANGES / 2, rel=0.25)
    assert moved["high"] == 0
    assert (moved, driven) == changes(netlist(MODULE, KINDS), KINDS)


def test_values_of_words_pass_through_the_cells() -> None:
    values = {2: np.array([0b00001111], np.uint8), 3: np.array([0b01010101], np.uint8)}
    found = Netlist({name: each for name, each in netlist(MODULE, KINDS).cells.items() if name != "flop"}, (), ())
    evaluate(found, KINDS, values)
    assert values[5][0] == 0b01010000 and values[7][0] == 0xFF
