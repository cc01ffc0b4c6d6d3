"""cocotb tests of whole programs on the Verilog of a machine, over its buses. Run by test_session.py."""

from typing import Any

import cocotb
import halide as hl
import numpy as np
import pytest
from cocotb.clock import Clock
from machines import BENCH

import sardonyx
import sardonyx.halide
from sardonyx.cocotb import Session, stalls
from sardonyx.compiler.einsum import compile_einsum
from sardonyx.compiler.lang.kernel import load_kernel


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_sparse_kernel_gives_its_checked_result_and_cycles(dut: Any) -> None:
    Clock(dut.clk, 10, "ns").start()
    session = await Session.open(dut, BENCH)
    b, c = (np.random.default_rng(seed).integers(0, 3, 40).astype(np.int16) for seed in range(2))
    result = await session.run(sardonyx.kernel, "vec_elemmul", b=b, c=c, tile=10)
    assert result.value.tolist() == (b * c).tolist()
    assert result.report["engine"] == "device" and result.report["words_checked"] > 0
    assert result.cycles is not None and result.cycles > 40


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_dense_program_gives_its_checked_result_after_a_sparse_one_and_with_stalled_buses(dut: Any) -> None:
    Clock(dut.clk, 10, "ns").start()
    session = await Session.open(dut, BENCH, stalls=lambda channel: stalls(channel, 0.2))
    sparse = await session.run(sardonyx.kernel, "vec_elemmul", size=9, density=0.7)
    x, y, photo, bright = hl.Var("x"), hl.Var("y"), hl.ImageParam(hl.UInt(8), 2, "photo"), hl.Func("bright")
    bright[x, y] = hl.u16(photo[x, y]) * 3 + 10
    picture = np.random.default_rng(1).integers(0, 256, (5, 7)).astype(np.uint8)
    dense = await session.run(sardonyx.halide.run, bright, inputs={"photo": picture})
    assert dense.value.tolist() == (picture.astype(np.uint16) * 3 + 10).tolist()
    assert dense.report["elements_checked"] == 35 and sparse.report["words_checked"] > 0


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def what_a_user_gets_wrong_is_told_and_the_machine_goes_on(dut: Any) -> None:
    Clock(dut.clk, 10, "ns").start()
    session = await Session.open(dut, BENCH)
    with pytest.raises(sardonyx.UserError, match="'vec_elemmull'"):
        await session.run(sardonyx.kernel, "vec_elemmull")
    await session.run(sardonyx.kernel, "vec_elemmul", size=3)


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def why_a_run_was_stopped_is_read_from_the_machine(dut: Any) -> None:
    Clock(dut.clk, 10, "ns").start()
    session, most = await Session.open(dut, BENCH), BENCH.mem.level_words
    compiled = await session.call(compile_einsum, load_kernel("vec_elemmul").einsum(), BENCH)
    level = np.array([2, 0, most + 76, most + 76, *range(most + 76)], np.uint16)
    values = np.array([most + 76, *[1] * (most + 76)], np.uint16)
    with pytest.raises(sardonyx.UserError, match=f"a level overflowed its buffer of {most} words in tile"):
        await session.launch(compiled.program, [{"b0": level, "b_vals": values, "c0": level, "c_vals": values}])
