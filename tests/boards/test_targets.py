"""What a board promises: the clock that its PLL makes, what place and route is asked for, bits of its line."""

import dataclasses
import re

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Module, Signal

from sardonyx.boards.project import project
from sardonyx.boards.targets import TARGETS, Target, target
from sardonyx.hw.arch import presets


def made_mhz(board: Target) -> tuple[float, float]:
    """The clock of the machine and the PLL's own, by what its manual says of the numbers that the PLL is given."""
    m = Module()
    oscillator, clock = Signal(name="oscillator"), Signal(name="clock")
    locked = board.pll(m, oscillator, clock)
    text = rtlil.convert(m, ports=[oscillator, clock, locked])
    given = {name: int(value) for name, value in re.findall(r"parameter (?:signed )?\\(\w+) (\d+)\n", text)}
    if "CLKFB_DIV" in given:        # ECP5: the clock itself is fed back
        made = 25 * given["CLKFB_DIV"] / given["CLKI_DIV"]
        return made, made * given["CLKOP_DIV"]
    own = 100 * given["CLKFBOUT_MULT"] / given["DIVCLK_DIVIDE"]
    return own / given["CLKOUT0_DIVIDE"], own


# What the PLLs' oscillators can do: Lattice FPGA-DS-02012, sysCLOCK PLL timing; AMD DS181, PLL of speed grade 1.
@pytest.mark.parametrize("name,slowest,fastest", [("ulx3s-85f", 400, 800), ("arty-a7-100", 800, 1600)])
def test_the_pll_makes_the_clock_that_is_promised(name: str, slowest: int, fastest: int) -> None:
    clock, own = made_mhz(target(name))
    assert clock == target(name).clock_mhz
    assert slowest <= own <= fastest


def test_bits_of_the_line_are_whole_cycles() -> None:
    assert {name: each.divisor for name, each in TARGETS.items()} == {"ulx3s-85f": 50, "arty-a7-100": 25}


@pytest.mark.parametrize("asked,lines", [(40, ['FREQUENCY NET "clk" 40 MHZ;']), (None, [])])
def test_place_and_route_is_asked_for_what_the_board_says(asked: int | None, lines: list[str]) -> None:
    pytest.importorskip("amaranth_boards", reason="needs the extra sardonyx[board]")
    board = dataclasses.replace(target("ulx3s-85f"), asked_mhz=asked)
    pins = project(presets.get("tiny"), board)["top.lpf"].decode()
    assert re.findall("FREQUENCY NET.*", pins) == lines
