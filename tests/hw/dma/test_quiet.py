"""A bus is quiet in the cycles in which nothing is offered and no burst waits for words or its answer."""

from typing import Any

import pytest
from amaranth.sim import Simulator

from sardonyx.hw.dma.quiet import Quiet


@pytest.mark.parametrize("signals,quiet", [
    ({}, "11111111"),
    # A burst that is taken, and its last word three cycles later.
    ({"arvalid": "01000000", "arready": "01000000", "rvalid": "00111000", "rlast": "00001000"}, "10000111"),
    # One that is offered twice before it is taken.
    ({"arvalid": "01100000", "arready": "00100000", "rvalid": "00010000", "rlast": "00010000"}, "10001111"),
    # Two that are written, whose answers come later than their words; the first word before its address.
    ({"awvalid": "00110000", "awready": "00110000", "wvalid": "01100000", "bvalid": "00001010"}, "10000001"),
])
def test_a_bus_is_quiet_when_nothing_is_offered_or_waited_for(signals: "dict[str, str]", quiet: str) -> None:
    watched, found = Quiet(), ""

    async def testbench(context: Any) -> None:
        nonlocal found
        for cycle in range(len(quiet)):
            for name, digits in signals.items():
                context.set(getattr(watched, f"m_axi_{name}"), int(digits[cycle]))
            found += str(context.get(watched.quiet))
            await context.tick()

    simulator = Simulator(watched)
    simulator.add_clock(1e-9)
    simulator.add_testbench(testbench)
    simulator.run()
    assert found == quiet
