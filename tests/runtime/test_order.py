"""What a host does, in which order."""

from dataclasses import replace

import pytest

from sardonyx.compiler.ir.transfer import PLACES
from sardonyx.hw.arch.glb import LANES
from sardonyx.runtime.batches import LEAST_CYCLES
from sardonyx.runtime.order import ordered
from sardonyx.runtime.plan import Launch

PHASES = ("loads", "starts", "ends", "reads")
PLAIN = Launch((), (), (), (), 1, 0, 0, 0, {}, 0, 0, apart=False)


def said(apart: "list[bool]", overlapped: bool = True, joins: "list[bool] | None" = None, lying: int = 0,
         ahead: bool = False) -> list[str]:
    joined = joins or [False] * len(apart)
    launches = [replace(PLAIN, apart=each, joins=both, goes_on=on, lying=lying)
                for each, both, on in zip(apart, joined, [*joined[1:], False])]
    numbers = {launch: number for number, launch in enumerate(launches, 1)}
    return [f"{phase.value} {numbers[launch]}" for phase, launch in ordered(launches, overlapped, ahead)]


def test_transfers_of_launches_with_places_of_their_own_are_beside_what_computes() -> None:
    assert said([False, True, True]) == ["loads 1", "starts 1", "loads 2", "ends 1", "starts 2", "reads 1", "loads 3", "ends 2",
                                         "starts 3", "reads 2", "ends 3", "reads 3"]


@pytest.mark.parametrize("apart, overlapped", [([False] * 3, True), ([False, True, True], False)])
def test_all_others_follow_each_other(apart: "list[bool]", overlapped: bool) -> None:
    assert said(apart, overlapped) == [f"{phase} {number}" for number in (1, 2, 3) for phase in PHASES]


def test_a_launch_that_takes_the_places_of_others_waits_for_their_words() -> None:
    assert said([False, True, False]) == ["loads 1", "starts 1", "loads 2", "ends 1", "starts 2", "reads 1", "ends 2",
                                          "reads 2", "loads 3", "starts 3", "ends 3", "reads 3"]


# Words that take a host longer than a launch.
LONG = LANES * LEAST_CYCLES + 1


def test_of_launches_in_one_run_one_is_queued_and_words_of_another_one_come_while_one_computes() -> None:
    assert said([False, True, True, True], joins=[False, True, True, True]) == [
        "loads 1", "starts 1", "loads 2", "starts 2", "loads 3", "ends 1", "reads 1", "starts 3", "loads 4", "ends 2",
        "reads 2", "starts 4", "ends 3", "reads 3", "ends 4", "reads 4"]


def test_words_of_the_second_launch_may_be_asked_for_before_the_first_one_starts() -> None:
    found = said([False, True, True, True], joins=[False, True, True, True], ahead=True)
    assert found[:6] == ["loads 1", "loads 2", "starts 1", "starts 2", "loads 3", "ends 1"]
    assert said([False, True], ahead=True) == said([False, True]), "where it is in the same run"


def test_words_that_take_long_are_asked_for_before_anyone_waits_for_those_in_front_of_them() -> None:
    assert said([False, True, True, True], joins=[False, True, True, True], lying=LONG) == [
        "loads 1", "loads 2", "starts 1", "loads 3", "starts 2", "ends 1", "reads 1", "loads 4", "starts 3", "ends 2",
        "reads 2", "starts 4", "ends 3", "reads 3", "ends 4", "reads 4"]


@pytest.mark.parametrize("lying", [0, LONG])
def test_places_of_a_run_are_written_when_what_was_in_them_has_ended(lying: int) -> None:
    found = said([False, *[True] * 9], joins=[False, *[True] * 9], lying=lying)
    assert sorted(found) == sorted(f"{phase} {number}" for phase in PHASES for number in range(1, 11))
    for number in range(1 + PLACES, 11):
        assert found.index(f"ends {number - PLACES}") < found.index(f"loads {number}") < found.index(f"starts {number}")
        assert found.index(f"reads {number - PLACES}") < found.index(f"starts {number}")


def test_a_run_of_its_own_begins_when_the_one_before_has_ended() -> None:
    assert said([False, True, True, True], joins=[False, True, False, True]) == [
        "loads 1", "starts 1", "loads 2", "starts 2", "ends 1", "reads 1", "loads 3", "ends 2", "starts 3", "reads 2",
        "loads 4", "starts 4", "ends 3", "reads 3", "ends 4", "reads 4"]


def test_without_launches_there_is_nothing_to_do() -> None:
    assert said([]) == []
