from pathlib import Path

import pytest
from broken import EagerBoxes, HastyBoxes, HopefulBoxes, PlainBoxes
from forks import Fork
from prover import Verdict, cover, prove

from sardonyx.hw.interconnect.boxes import Boxes
from sardonyx.hw.interconnect.stage import EVEN, ODD

KINDS = [(fifo, parity) for fifo in ("split", "full", "inputs") for parity in (EVEN, ODD)]


@pytest.mark.parametrize(("fifo", "parity"), KINDS)
def test_every_branch_sees_every_word_once(fifo: str, parity: int, tmp_path: Path) -> None:
    assert prove(Fork(fifo, parity), tmp_path) == Verdict(True)


@pytest.mark.slow
@pytest.mark.parametrize(("fifo", "parity"), KINDS)
def test_every_branch_sees_every_word_once_with_two_tracks(fifo: str, parity: int, tmp_path: Path) -> None:
    assert prove(Fork(fifo, parity, tracks=2), tmp_path) == Verdict(True)


@pytest.mark.parametrize(("fifo", "parity"), KINDS)
def test_every_source_can_be_forked_to_all(fifo: str, parity: int, tmp_path: Path) -> None:
    assert cover(Fork(fifo, parity), tmp_path, 5)


def test_boxes_that_the_bugs_are_planted_in_are_right(tmp_path: Path) -> None:
    assert prove(Fork("split", EVEN, make=PlainBoxes), tmp_path, bound=4) == Verdict(True)


@pytest.mark.parametrize(("make", "found"), [
    (EagerBoxes, "e0 in order"), (EagerBoxes, "a has had each word once"), (HastyBoxes, "e0 in order"),
    (HastyBoxes, "b in order"), (HopefulBoxes, "n0 is offered what all can take"),
    (HopefulBoxes, "b is offered what all can take")])
def test_planted_bug_is_found(make: type[Boxes], found: str, tmp_path: Path) -> None:
    assert prove(Fork("split", EVEN, make=make), tmp_path, bound=8, only=found).failed == (found,)
