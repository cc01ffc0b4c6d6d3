"""cocotb tests of a primitive on its emitted Verilog: tokens in, tokens out. Run by test_cocotb.py."""

from typing import Any

import cocotb
from cocotb.clock import Clock

from sardonyx.cocotb import TokenSink, TokenSource, reset, stalls, stream
from sardonyx.hw.arch.primitive import REDUCER
from sardonyx.hw.arch.token import show_stream


async def run(dut: Any, val: str, crd: str, expected: str, seed: "int | None" = None) -> None:
    """Stream tokens in and compare what comes out."""
    pauses = [None if seed is None else stalls(3 * seed + n) for n in range(3)]
    values, coordinates = (TokenSource(stream(dut, name), pause) for name, pause in zip(("val", "crd"), pauses))
    sums = TokenSink(stream(dut, "val_o"), pauses[2])
    dut.cfg.value = REDUCER.config.encode(guided=bool(crd))
    await reset(dut)
    cocotb.start_soon(values.send(val))
    cocotb.start_soon(coordinates.send(crd))
    assert show_stream(await sums.receive_until_done()) == expected


@cocotb.test(timeout_time=100, timeout_unit="us")
async def each_fiber_is_summed(dut: Any) -> None:
    Clock(dut.clk, 10, "ns").start()
    await run(dut, "1 2 3 S0 4 S1 D", "", "6 4 S0 D")


@cocotb.test(timeout_time=100, timeout_unit="us")
async def an_empty_fiber_of_a_coordinate_sums_to_0(dut: Any) -> None:
    Clock(dut.clk, 10, "ns").start()
    await run(dut, "1 2 S0 S0 5 S2 D", "0 3 7 S1 D", "3 0 5 S1 D")


@cocotb.test(timeout_time=200, timeout_unit="us")
async def stalls_do_not_change_the_tokens(dut: Any) -> None:
    Clock(dut.clk, 10, "ns").start()
    for seed in range(3):
        await run(dut, "9 1 S0 3 S1 S0 65535 2 S2 D", "0 1 S0 4 6 S1 D", "10 3 S0 0 1 S1 D", seed)
