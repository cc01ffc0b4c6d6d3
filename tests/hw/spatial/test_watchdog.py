"""A watchdog bites behind as many cycles as it has patience in which something waits, nothing moves and the bus is quiet."""

from typing import Any

import pytest
from amaranth.sim import Simulator

from sardonyx.hw.spatial.command.watchdog import Watchdog


def bites(patience: int, **signals: str) -> "list[int]":
    """The cycles in which it bites; signals: one digit a cycle, `busy` and `quiet` 1 throughout where not given."""
    watchdog = Watchdog()
    found: list[int] = []
    count = max(map(len, signals.values()))

    async def testbench(context: Any) -> None:
        context.set(watchdog.patience, patience)
        for cycle in range(count):
            for name, digits in {"busy": "1" * count, "quiet": "1" * count, **signals}.items():
                context.set(getattr(watchdog, name), int(digits[cycle]))
            if context.get(watchdog.bites):
                found.append(cycle)
            await context.tick()

    simulator = Simulator(watchdog)
    simulator.add_clock(1e-9)
    simulator.add_testbench(testbench)
    simulator.run()
    return found


@pytest.mark.parametrize("patience,found", [(0, []), (1, [2, 4, 6, 8]), (2, [3, 6, 9]), (5, [6]), (9, [])])
def test_it_bites_behind_as_many_cycles_without_a_move_and_then_counts_again(patience: int, found: "list[int]") -> None:
    assert bites(patience, moves="1000000000") == found


def test_what_moves_or_is_under_way_on_the_bus_or_nothing_that_waits_begins_the_count_again() -> None:
    assert bites(2, moves="1001000000") == [6, 9]
    assert bites(2, moves="1000000000", busy="1101111111") == [5, 8]
    assert bites(2, moves="1000000000", quiet="1000011111") == [7]
