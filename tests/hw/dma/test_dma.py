"""The DMA between a memory and streams, against NumPy."""

from dataclasses import replace
from pathlib import Path

import pytest
from cocotb_dma import DMA
from simulators import run_cocotb

from sardonyx.hw.arch.dma import Dma, Loop, Request
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.dma.dma import DmaEngine


@pytest.mark.parametrize("simulator", ["verilator", pytest.param("icarus", marks=[pytest.mark.icarus, pytest.mark.slow])])
def test_requests_move_elements_under_random_stalls(simulator: str, tmp_path: Path) -> None:
    run_cocotb(DmaEngine(DMA), "cocotb_dma", simulator, tmp_path)


@pytest.mark.parametrize("bus_bytes", [16, pytest.param(32, marks=pytest.mark.slow)])
def test_requests_move_elements_over_a_wider_bus(bus_bytes: int, tmp_path: Path) -> None:
    run_cocotb(DmaEngine(replace(DMA, lists=False, bus_bytes=bus_bytes)), "cocotb_dma_bus", "verilator", tmp_path)


@pytest.mark.parametrize("wrong,told", [
    (lambda: Dma(beats=64, room=32), "dma: room is 32 words, but a burst has 64\n  try: give 64 or more"),
    (lambda: Loop(2, 3, 1), "loop: there is 3 of 2 iterations\n  try: give 2 or less"),
    (lambda: Request(2, 2, False, (Loop(1, 1, 4),)),
     "request: base or a stride is no multiple of 4 bytes\n  try: align elements to their size"),
    (lambda: Request(4, 2, False, ()), "request: loops has 0\n  try: give 1..8"),
    (lambda: Request(4, 0, False, (Loop(1, 1, 0), Loop(9, 9, 0)), True),
     "request: linked needs a load, a loop for nodes, and a first node at a multiple of 8 bytes\n  try: give all three"),
    (lambda: Dma(loops=1, lists=True),
     "dma: loops is 1, but the nodes of lists are counted by one of their own\n  try: give 2 or more"),
    (lambda: Dma(bus_bytes=64), "dma: bus_bytes is 64\n  try: give a power of two 8..32"),
    (lambda: Dma(lists=True, bus_bytes=16), "dma: bus_bytes is 16, but lists have heads of 8 bytes, words of the bus\n"
     "  try: give 8, or leave out lists"),
    (lambda: replace(Dma(), ports=17), "dma: ports is 17\n  try: give a whole number 1..16"),
])
def test_what_does_not_fit_a_dma_is_told(wrong, told: str) -> None:
    with pytest.raises(UserError) as error:
        wrong()
    assert str(error.value) == told
