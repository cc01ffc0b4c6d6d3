"""cocotb test of reset on the Verilog of a machine: over the buses, with the tiles three registers away.

Run by test_cocotb.py.
"""

from dataclasses import replace
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from sardonyx.cocotb import reset
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.glb import Glb
from sardonyx.hw.arch.interconnect import Interconnect
from sardonyx.hw.arch.primitive import PASS_THROUGH
from sardonyx.hw.arch.soc import CONTROLLER, offsets
from sardonyx.hw.arch.tile import PE
from sardonyx.hw.configuration import word_bits

ARCH = Arch("column", 1, 5, mem_every=0, config_rows=2, pe=replace(PE, primitives=(PASS_THROUGH,)),
            interconnect=Interconnect(1), glb=Glb(columns_per_tile=1, bank_bytes=16))
AT = offsets(CONTROLLER)
ONES = [(1 << bits) - 1 for bits in word_bits(ARCH.config_map("pe"))]
LAST = ARCH.rows << 16


async def write(dut: Any, *registers: "tuple[str, int]") -> None:
    """Register after register without a cycle between them."""
    dut.s_axil_bready.value, dut.s_axil_wstrb.value = 1, 15
    for name, value in registers:
        dut.s_axil_awaddr.value, dut.s_axil_wdata.value = AT[name], value
        dut.s_axil_awvalid.value = dut.s_axil_wvalid.value = 1
        await RisingEdge(dut.clk)
    dut.s_axil_awvalid.value = dut.s_axil_wvalid.value = 0


async def read(dut: Any, address: int) -> int:
    """A word of configuration, which is there long before twenty cycles are over."""
    await write(dut, ("config_address", address), ("config_read", 1))
    for _ in range(20):
        await RisingEdge(dut.clk)
    dut.s_axil_araddr.value, dut.s_axil_arvalid.value, dut.s_axil_rready.value = AT["config_data"], 1, 1
    await RisingEdge(dut.clk)
    dut.s_axil_arvalid.value = 0
    while True:
        await RisingEdge(dut.clk)
        if dut.s_axil_rvalid.value:
            return int(dut.s_axil_rdata.value)


@cocotb.test(timeout_time=200, timeout_unit="us")
async def words_written_right_after_a_reset_of_one_cycle_stay_and_those_before_it_are_gone(dut: Any) -> None:
    Clock(dut.clk, 10, "ns").start()
    await reset(dut, [f"s_axil_{name}" for name in ("awvalid", "wvalid", "arvalid", "bready", "rready")]
                + [f"s_axi_{name}" for name in ("awvalid", "wvalid", "arvalid", "bready", "rready")])
    for register, word in enumerate(ONES):
        await write(dut, ("config_address", LAST | register), ("config_write", word))
    assert [await read(dut, LAST | register) for register in range(len(ONES))] == ONES
    dut.rst.value = 1
    await RisingEdge(dut.clk)
    dut.rst.value = 0
    await write(dut, ("config_address", LAST | 1), ("config_write", ONES[1]))
    for _ in range(8):
        await RisingEdge(dut.clk)
    assert [await read(dut, LAST | register) for register in range(len(ONES))] == [
        word if register == 1 else 0 for register, word in enumerate(ONES)]
