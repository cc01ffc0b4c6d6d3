"""cocotb tests of a primitive on its emitted Verilog: tokens in, tokens out. Run by test_cocotb.py."""

import random
from typing import Any

import cocotb
from token_streams import collect, drive, reset, stream

from sardonyx.hw.arch.primitive import REDUCER
from sardonyx.hw.arch.token import parse_stream, show_stream

INPUTS = [f"{name}__{part}" for name, part in (("val", "payload"), ("val", "valid"), ("crd", "payload"), ("crd", "valid"),
                                               ("val_o", "ready"))]


async def run(dut: Any, val: str, crd: str, expected: str, stalls: "random.Random | None" = None) -> None:
    """Stream tokens in and compare what comes out."""
    await reset(dut, INPUTS)
    dut.cfg.value = REDUCER.config.encode(guided=bool(crd))
    cocotb.start_soon(drive(stream(dut, "val"), parse_stream(val), stalls))
    cocotb.start_soon(drive(stream(dut, "crd"), parse_stream(crd), stalls))
    found = await collect(stream(dut, "val_o"), len(expected.split()), stalls)
    assert show_stream(found) == expected


@cocotb.test(timeout_time=100, timeout_unit="us")
async def each_fiber_is_summed(dut: Any) -> None:
    await run(dut, "1 2 3 S0 4 S1 D", "", "6 4 S0 D")


@cocotb.test(timeout_time=100, timeout_unit="us")
async def an_empty_fiber_of_a_coordinate_sums_to_0(dut: Any) -> None:
    await run(dut, "1 2 S0 S0 5 S2 D", "0 3 7 S1 D", "3 0 5 S1 D")


@cocotb.test(timeout_time=200, timeout_unit="us")
async def stalls_do_not_change_the_tokens(dut: Any) -> None:
    for seed in range(3):
        await run(dut, "9 1 S0 3 S1 S0 65535 2 S2 D", "0 1 S0 4 6 S1 D", "10 3 S0 0 1 S1 D", random.Random(seed))
