"""Which transactions are in one launch where launches are in one run."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from machines import LEAST, copier

from sardonyx.compiler.ir.transfer import PLACES
from sardonyx.hw.arch.system import System
from sardonyx.runtime.batches import FIRST_WORDS, LAST_SHARES, LAST_WORDS, LAUNCH_LIMIT, WORDS, Batch, Runs
from sardonyx.runtime.commands import WriteRegister
from sardonyx.runtime.data.blocks import Bounded
from sardonyx.runtime.plan import launches

PART = replace(LEAST, name="part", glb=replace(LEAST.glb, bank_bytes=16384))
PROGRAM = copier(PART)
# Its streams are each alone in a GLB tile, and so have two of the places in each of two banks.
PLACE = PART.glb.bank_bytes // 2 // 2


def given(*sizes: int) -> "list[dict[str, np.ndarray]]":
    return [{"a_vals": np.array([size - 1, *range(size - 1)], np.uint16)} for size in sizes]


def chained(*sizes: int) -> "list[tuple[int, int | None]]":
    """Transactions of each launch, and in which half of the two banks."""
    made = launches(PROGRAM, PART, given(*sizes), {"b_vals": max(sizes)}, chained=True)
    return [(launch.transactions, start.value // (2 * PLACE)) for launch in made for start in launch.starts
            if isinstance(start, WriteRegister) and start.name == "load_start"]


def test_launches_are_in_two_banks_in_turn_larger_and_larger_and_then_a_smaller_one() -> None:
    assert (*FIRST_WORDS, LAST_WORDS, WORDS) == (512, 1024, 256, 2304) and LAST_SHARES == (3, 2) and WORDS <= PLACE
    assert chained(*[256] * 30) == [(2, 0), (4, 2), (9, 1), (9, 3), (6, 0)]
    assert chained(*[256] * 9) == [(2, 0), (4, 2), (3, 1)]
    assert chained(*[256] * 3) == [(1, 0), (2, 2)] and chained(256) == [(1, 0)]


def test_launches_are_larger_for_a_processor_with_a_clock_of_its_own() -> None:
    """Of half the rate: it takes as many of its cycles for each."""
    own = replace(PART, glb=replace(PART.glb, bank_bytes=65536), system=System(processor=True, own_clock=True))
    alike = replace(own, system=System(processor=True))
    blocks = given(*[256] * 200)
    counts = [[each.transactions for each in launches(copier(each), each, blocks, {"b_vals": 256}, chained=True)]
              for each in (own, alike)]
    assert counts[0][:6] == [6, 8, 12, 20, 32, 32] and counts[1][:6] == [2, 4, 9, 9, 9, 9]


def test_all_of_a_run_but_its_ends_join_and_go_on() -> None:
    made = list(launches(PROGRAM, PART, given(*[PLACE] * 4), {"b_vals": PLACE}, chained=True))
    assert [(each.joins, each.goes_on, each.apart) for each in made] == [
        (False, True, False), (True, True, True), (True, True, True), (True, False, True)]
    held = [[each.value for each in one.starts if isinstance(each, WriteRegister) and each.name == "hold"] for one in made]
    assert held == [[1], [], [], [0]]


def test_a_transaction_that_takes_more_than_a_place_is_a_run_of_its_own() -> None:
    made = list(launches(PROGRAM, PART, given(3, 3, PLACE + 1, 3), {"b_vals": PLACE + 1}, chained=True))
    assert [each.transactions for each in made] == [1, 1, 1, 1] and not any(each.joins for each in made)


def test_a_transaction_that_knows_its_bounds_takes_no_more_room() -> None:
    blocks = [Bounded(each, lambda: {"b_vals": 4}) for each in given(*[4] * 40)]
    known, unknown = (len(list(launches(PROGRAM, PART, each, {"b_vals": PLACE}, chained=True)))
                      for each in (blocks, given(*[4] * 40)))
    assert (known, unknown) == (1, 40)


@pytest.mark.parametrize("cycles, runs", [(LAUNCH_LIMIT, 2), (1, 1)])
def test_a_run_is_no_longer_than_a_register_counts(cycles: int, runs: int) -> None:
    found, joined = Runs(True), []
    for one, other in itertools.pairwise([*(Batch((), number % PLACES, PLACES) for number in range(100)), None]):
        assert one is not None
        joined.append(found.next(one, other, cycles)[0])
        assert found.cycles < 1 << 32
    assert joined.count(False) == runs


@pytest.mark.parametrize("queue, bank_bytes", [(False, 16384), (True, 8192)])
def test_only_machines_with_queues_and_large_banks_chain(queue: bool, bank_bytes: int) -> None:
    plain = replace(PART, glb=replace(PART.glb, queue=queue, bank_bytes=bank_bytes))
    made = list(launches(copier(plain), plain, given(*[99] * 100), {"b_vals": 99}, chained=True))
    assert len(made) > 1 and not any(each.joins or each.goes_on for each in made)
