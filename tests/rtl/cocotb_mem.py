"""cocotb test of a MEM tile on its Verilog or its netlist: configured over its channel, a level written and scanned.

Run by test_gates.py.
"""

from typing import Any

import cocotb
from cocotb.clock import Clock

from sardonyx.cocotb import TileDriver, TokenSink, TokenSource, stalls
from sardonyx.hw.arch.presets import get
from sardonyx.hw.arch.token import show_stream


@cocotb.test(timeout_time=200, timeout_unit="us")
async def a_mem_scans_the_level_that_it_was_given(dut: Any) -> None:
    Clock(dut.clk, 10, "ns").start()
    tile = TileDriver(dut, get("tiny"), (3, 1))
    await tile.reset()
    # References on track 0 from the west, coordinates to write on track 1; what is scanned goes to track 3 to the east.
    await tile.configure({
        "core": {"mode": "level"},
        "level": {"input": "stream", "output": "scan"},
        "cb_data": {"in0_sel": tile.select("in0", "w_in0"), "in1_sel": tile.select("in1", "w_in1")},
        "sb_data": {"e3_sel": tile.select("e3", "out0")}})
    for seed in (None, 1):
        pauses = [None if seed is None else stalls(seed + n) for n in range(3)]
        coordinates, references = (TokenSource(tile.tracks.entering("w", 1 - n), pauses[n]) for n in range(2))
        scanned = TokenSink(tile.tracks.leaving("e", 3), pauses[2])
        cocotb.start_soon(coordinates.send("4 7 S0 S0 9 S1 D"))
        cocotb.start_soon(references.send("2 0 S0 D"))
        assert show_stream(await scanned.receive_until_done()) == "9 S0 4 7 S1 D"
