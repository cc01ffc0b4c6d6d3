"""cocotb test of a tile on its emitted Verilog: configured over its channel, tokens from track to track.

Run by test_cocotb.py.
"""

import random
from typing import Any

import cocotb
from token_streams import CHANNEL, collect, configure, drive, reset, tracks

from sardonyx.hw.arch.op import BY_NAME
from sardonyx.hw.arch.presets import get
from sardonyx.hw.arch.token import parse_stream, show_stream

ARCH = get("tiny")
X, Y = 2, 2


def select(sink: str, source: str) -> int:
    """The select code with which a multiplexer of a PE takes a source."""
    return 1 + ARCH.interconnect.fanin(ARCH.pe, "data")[sink].index(source)


# Tracks 0 and 1 from the west go to the ALU, its result to track 3 to the east.
ADDER = {
    "core": {"mode": "alu"},
    "alu": {"op": BY_NAME["adc"].code, "stream_a": 1, "stream_b": 1},
    "cb_data": {"data0_sel": select("data0", "w_in0"), "data1_sel": select("data1", "w_in1")},
    "sb_data": {"e3_sel": select("e3", "res0")},
}


@cocotb.test(timeout_time=200, timeout_unit="us")
async def a_pe_adds_the_tokens_of_two_tracks(dut: Any) -> None:
    inputs = [f"{side}_{layer}_{end}" for side in ARCH.pe.sides for layer in ("data", "bit")
              for end in ("i_payload", "i_valid", "o_ready")]
    await reset(dut, [*inputs, "flush", *CHANNEL])
    await configure(dut, X, Y, ARCH.config_map("pe").encode(ADDER))
    west, east = tracks(dut, "w", "i"), tracks(dut, "e", "o")
    for stalls in (None, random.Random(1)):
        cocotb.start_soon(drive(west[0], parse_stream("1 2 S0 40000 S1 D"), stalls))
        cocotb.start_soon(drive(west[1], parse_stream("10 20 S0 30000 S1 D"), stalls))
        found = await collect(east[3], 6, stalls)
        assert show_stream(found) == "11 22 S0 4464 S1 D"
