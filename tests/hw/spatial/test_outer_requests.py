"""Requests of an outer product tell an error that lasts once, and another one again."""

from typing import Any

from amaranth.sim import Simulator

from sardonyx.hw.arch import command
from sardonyx.hw.arch.outer_product import OuterProduct
from sardonyx.hw.spatial.outer.requests import OuterRequests


def errors(happened: str, clear: str) -> str:
    """The error in each cycle, a digit each."""
    requests = OuterRequests(OuterProduct("outer_requests", lanes=2, ports=1, rows=16, pairs=32, queue=16))
    found: list[str] = []

    async def testbench(context: Any) -> None:
        for what, forget in zip(happened, clear, strict=True):
            context.set(requests.happened, int(what))
            context.set(requests.clear, int(forget))
            found.append(f"{context.get(requests.error)}")
            await context.tick()

    simulator = Simulator(requests)
    simulator.add_clock(1e-9)
    simulator.add_testbench(testbench)
    simulator.run()
    return "".join(found)


def test_an_error_that_was_cleared_is_not_told_again_while_the_array_still_has_it() -> None:
    bus, tensors = f"{command.BUS}", f"{command.TENSORS}"
    assert errors(happened=f"0{bus * 6}0", clear="00001000") == f"00{bus * 3}000"
    # Of the next product, and in the cycle in which the one before is cleared.
    assert errors(happened=f"{bus * 3}0{tensors * 3}0", clear="00001000") == f"0{bus * 4}{tensors * 3}"
