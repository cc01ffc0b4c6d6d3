"""cocotb tests of sources and sinks on a module of wires, whose stream `o` is what is driven at `i`. Run by test_drivers.py."""

from itertools import chain, repeat
from typing import Any

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from cocotb.utils import get_sim_time

from sardonyx.cocotb import ProtocolError, TokenSink, TokenSource, reset, stalls, stream, watch
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.token import DONE, parse_stream, stop

# Steps of the simulation, of 1 ps.
CYCLE = 10_000
TOKENS = "1 2 S0 40000 N S1 D"


async def times(dut: Any, source: "Any" = None, sink: "Any" = None) -> "list[int]":
    """The cycles after reset in which tokens arrive."""
    giver, taker = TokenSource(stream(dut, "i"), source), TokenSink(stream(dut, "o"), sink)
    await reset(dut)
    began, found, words = get_sim_time("step"), [], []
    cocotb.start_soon(giver.send(TOKENS))
    for _ in TOKENS.split():
        words += await taker.receive(1)
        found.append((get_sim_time("step") - began) // CYCLE)
    assert words == parse_stream(TOKENS)
    return found


@cocotb.test(timeout_time=10, timeout_unit="us")
async def without_stalls_tokens_move_back_to_back(dut: Any) -> None:
    Clock(dut.clk, 10, "ns").start()
    assert await times(dut) == [1, 2, 3, 4, 5, 6, 7]


@cocotb.test(timeout_time=10, timeout_unit="us")
async def stalls_delay_as_they_say_and_end_when_they_do(dut: Any) -> None:
    Clock(dut.clk, 10, "ns").start()
    assert await times(dut, iter([True, False, True, True, False])) == [2, 5, 6, 7, 8, 9, 10]
    assert await times(dut, sink=chain([True, True, False], repeat(False))) == [3, 4, 5, 6, 7, 8, 9]


@cocotb.test(timeout_time=50, timeout_unit="us")
async def stalls_are_those_of_their_seed(dut: Any) -> None:
    Clock(dut.clk, 10, "ns").start()
    found = [await times(dut, stalls(seed, 0.5), stalls(10 + seed, 0.5)) for seed in (1, 1, 2)]
    assert found[0] == found[1] != found[2]
    assert found[0] != [1, 2, 3, 4, 5, 6, 7]


@cocotb.test(timeout_time=10, timeout_unit="us")
async def what_is_sent_at_once_arrives_in_order(dut: Any) -> None:
    Clock(dut.clk, 10, "ns").start()
    source, sink = TokenSource(stream(dut, "i")), TokenSink(stream(dut, "o"))
    await reset(dut)
    for tokens in ("1 D", [2, stop(0), DONE], "-2 D"):
        cocotb.start_soon(source.send(tokens))
    assert [await sink.receive_until_done() for _ in range(3)] == [[1, DONE], [2, stop(0), DONE], [65534, DONE]]


@cocotb.test(timeout_time=10, timeout_unit="us")
async def what_is_no_token_is_refused_before_anything_is_given(dut: Any) -> None:
    Clock(dut.clk, 10, "ns").start()
    source = TokenSource(stream(dut, "i"))
    await reset(dut)
    for tokens, text in (("1 S300", "'S300' is not a token\n  try: write an integer -32768..65535, S0..S255, D or N"),
                         ([1, 1 << 17], "stream i: token ?0x20000 does not fit 17 bits\n  try: give words 0..131071, or a text "
                                        "as '1 S0 D'"),
                         ([-1], "stream i: token -1 does not fit 17 bits\n  try: give words 0..131071, or a text as '1 S0 D'")):
        with pytest.raises(UserError) as error:
            await source.send(tokens)
        assert str(error.value) == text
        assert not dut.i__valid.value
    with pytest.raises(UserError, match="module wires: there is no port 'data__payload'"):
        stream(dut, "data")


async def break_offer(dut: Any, valid: int, payload: int) -> None:
    """Offer token 5 for two cycles, and then something else."""
    await ClockCycles(dut.clk, 3)
    dut.i__payload.value, dut.i__valid.value = 5, 1
    await ClockCycles(dut.clk, 2)
    dut.i__payload.value, dut.i__valid.value = payload, valid


@cocotb.test(timeout_time=10, timeout_unit="us")
async def an_offer_that_is_withdrawn_or_changed_is_told(dut: Any) -> None:
    Clock(dut.clk, 10, "ns").start()
    for valid, payload, text in ((0, 5, "stream o: 5 waited to be taken and was withdrawn"),
                                 (1, stop(1), "stream o: 5 waited to be taken and became S1")):
        await reset(dut, ["i__valid", "o__ready"])
        cocotb.start_soon(break_offer(dut, valid, payload))
        with pytest.raises(ProtocolError) as error:
            await watch(stream(dut, "o"))
        assert str(error.value) == text


@cocotb.test(timeout_time=10, timeout_unit="us", expect_error=ProtocolError)
async def a_sink_that_receives_nothing_reports_a_withdrawn_offer(dut: Any) -> None:
    Clock(dut.clk, 10, "ns").start()
    TokenSink(stream(dut, "o"))
    await reset(dut, ["i__valid"])
    await break_offer(dut, 0, 5)
    await ClockCycles(dut.clk, 3)


@cocotb.test(timeout_time=10, timeout_unit="us", expect_error=ProtocolError)
async def a_sink_that_pauses_reports_a_changed_payload(dut: Any) -> None:
    Clock(dut.clk, 10, "ns").start()
    sink = TokenSink(stream(dut, "o"), repeat(True))
    await reset(dut, ["i__valid"])
    cocotb.start_soon(break_offer(dut, 1, 6))
    await sink.receive(1)


@cocotb.test(timeout_time=10, timeout_unit="us")
async def a_reset_takes_an_offer_back_and_a_taken_one_may_be_followed_by_any(dut: Any) -> None:
    Clock(dut.clk, 10, "ns").start()
    source, sink = TokenSource(stream(dut, "i")), TokenSink(stream(dut, "o"))
    await reset(dut)
    sending = cocotb.start_soon(source.send("5 6 D"))
    await ClockCycles(dut.clk, 3)
    sending.cancel()
    dut.rst.value = 1
    dut.i__valid.value = 0
    await RisingEdge(dut.clk)
    dut.rst.value = 0
    cocotb.start_soon(source.send("7 8 D"))
    assert await sink.receive(3) == [7, 8, DONE]
