"""cocotb test of a MEM tile on its Verilog or its netlist: configured over its channel, a level written and scanned.

Run by test_gates.py.
"""

import random
from typing import Any

import cocotb
from token_streams import CHANNEL, collect, configure, drive, reset, tracks

from sardonyx.hw.arch.presets import get
from sardonyx.hw.arch.token import parse_stream, show_stream

ARCH = get("tiny")
X, Y = 3, 1


def select(sink: str, source: str) -> int:
    """The select code with which a multiplexer of a MEM tile takes a source."""
    return 1 + ARCH.interconnect.fanin(ARCH.mem, "data")[sink].index(source)


# References on track 0 from the west, coordinates to write on track 1; what is scanned goes to track 3 to the east.
LEVEL = {
    "core": {"mode": "level"},
    "level": {"input": "stream", "output": "scan"},
    "cb_data": {"in0_sel": select("in0", "w_in0"), "in1_sel": select("in1", "w_in1")},
    "sb_data": {"e3_sel": select("e3", "out0")},
}


@cocotb.test(timeout_time=200, timeout_unit="us")
async def a_mem_scans_the_level_that_it_was_given(dut: Any) -> None:
    inputs = [f"{side}_{layer}_{end}" for side in ARCH.mem.sides for layer in ("data", "bit")
              for end in ("i_payload", "i_valid", "o_ready")]
    await reset(dut, [*inputs, "flush", *CHANNEL])
    await configure(dut, X, Y, ARCH.config_map("mem").encode(LEVEL))
    west, east = tracks(dut, "w", "i"), tracks(dut, "e", "o")
    for stalls in (None, random.Random(1)):
        cocotb.start_soon(drive(west[1], parse_stream("4 7 S0 S0 9 S1 D"), stalls))
        cocotb.start_soon(drive(west[0], parse_stream("2 0 S0 D"), stalls))
        found = await collect(east[3], 6, stalls)
        assert show_stream(found) == "9 S0 4 7 S1 D"
