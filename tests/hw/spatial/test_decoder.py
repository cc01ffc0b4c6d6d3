"""Behind an error a decoder begins anew, and tells what has happened meanwhile."""

from collections.abc import Sequence
from typing import Any

import pytest
import without_zeros
from accelerators import accelerator
from amaranth.sim import Simulator

from sardonyx.hw.arch import command
from sardonyx.hw.arch.command import BUS, HANG, NONE, REGIONS, SHAPE, TENSORS, UNKNOWN, VALUE, Word
from sardonyx.hw.arch.outer_product import OuterProduct
from sardonyx.hw.spatial.command.decoder import Decoder
from sardonyx.hw.spatial.outer.requests import OuterRequests

# What a cycle has: a command, or the number of an error that happens; and whether the error is cleared.
Cycle = tuple["Word | int", int]
WRONG: Word = (99, 0, 0)
ISSUE: Word = (command.ISSUE, 0, 0)
BEGUN: Word = (command.SET_SRC_AND_DST, command.region(command.MEMORY), command.region(command.BUFFER, 0))


def decoder() -> Decoder:
    return Decoder(accelerator(watchdog=True).kind)


def requests() -> OuterRequests:
    return OuterRequests(OuterProduct("outer_requests", lanes=2, ports=1, rows=16, pairs=32, queue=16))


def errors(made: "Decoder | OuterRequests", cycles: Sequence[Cycle]) -> "list[int]":
    """The error in the cycle behind each of these."""
    found: list[int] = []

    async def testbench(context: Any) -> None:
        if isinstance(made, Decoder):
            context.set(made.o.ready, 1)
        for what, clear in cycles:
            number, rs1, rs2 = (0, 0, 0) if isinstance(what, int) else what
            context.set(made.i.payload, {"number": number, "rs1": rs1, "rs2": rs2})
            context.set(made.i.valid, not isinstance(what, int))
            context.set(made.happened, what if isinstance(what, int) else 0)
            context.set(made.clear, clear)
            await context.tick()
            found.append(context.get(made.error))

    simulator = Simulator(made)
    simulator.add_clock(1e-9)
    simulator.add_testbench(testbench)
    simulator.run()
    return found


@pytest.mark.parametrize("make", [decoder, requests])
def test_a_request_that_was_begun_before_an_error_is_no_request_behind_it(make: Any) -> None:
    for error, told in ((WRONG, UNKNOWN), (BUS, BUS)):
        assert errors(make(), [(BEGUN, 0), (error, 0), (0, 1), (ISSUE, 0)]) == [0, told, 0, REGIONS]


def test_without_an_error_a_request_may_be_issued_again() -> None:
    assert errors(decoder(), [(BEGUN, 0), (ISSUE, 0), (ISSUE, 0)]) == [0, 0, 0]


@pytest.mark.parametrize("make", [decoder, requests])
@pytest.mark.parametrize("happens", [TENSORS, BUS])
def test_what_happens_behind_an_error_is_told_when_that_is_cleared(make: Any, happens: int) -> None:
    assert errors(make(), [(WRONG, 0), (happens, 0), (0, 0), (0, 1), (0, 1)]) == [UNKNOWN, UNKNOWN, UNKNOWN, happens, 0]
    assert errors(make(), [(WRONG, 0), (happens, 1), (0, 1)]) == [UNKNOWN, happens, 0]


def test_that_a_watchdog_bites_behind_an_error_is_told() -> None:
    assert errors(decoder(), [(WRONG, 0), (HANG, 0), (0, 1), (0, 1)]) == [UNKNOWN, UNKNOWN, HANG, 0]


@pytest.mark.parametrize("stride,array,error", [(8, 1, NONE), (3, 1, VALUE), (0, 1, VALUE), (16, 1, VALUE), (2, 2, VALUE)])
def test_elements_of_a_tensor_without_zeros_are_1_2_4_or_8_apart(stride: int, array: int, error: int) -> None:
    kind = without_zeros.accelerator().kind
    stream = [each.name for each in kind.streams].index("A_values")
    begun: Word = (command.SET_SRC_AND_DST, command.region(command.MEMORY), command.region(command.BUFFER, stream))
    typed: Word = (command.SET_AXIS_TYPE, command.BOTH, command.COMPRESSED)
    told: Word = (command.SET_METADATA_STRIDE, command.SOURCE | array << command.METADATA_LSB, stride)
    assert errors(Decoder(kind), [(begun, 0), (typed, 0), (told, 0)]) == [0, 0, error]
    valued: Word = (command.SET_STRIDE, command.SOURCE, stride)
    assert errors(Decoder(kind), [(begun, 0), (typed, 0), (valued, 0), (ISSUE, 0)])[-1] == (
        NONE if stride in (0, *command.PITCHES) else SHAPE)
