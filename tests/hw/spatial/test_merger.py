"""Mergers give what merging means, in their model and in generated Verilog, whatever stalls, in as many cycles."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx.hw.arch.merger import Merger
from sardonyx.hw.arch.reduction import ALL, ANY, LARGEST, REDUCTIONS, SMALLEST, TIMES
from sardonyx.runtime.data.merged import Fiber, collected, dealt
from sardonyx.sim.golden.merger import merged
from sardonyx.sim.spatial import RanMerger, run_merger_rtl, run_merger_tokens

ROWS, FLAT = Merger("merger", 4, 7, 5, 2, 1, 8), Merger("merger", 2, 3, 11, 1, 4, 8)
BOTH, ONE = Merger("merger", 4, 13, 5, 2, 2, 8), Merger("merger", 2, 1, 1, 1, 2, 1)
# Verilog is made of the first two in every run of the tests.
KINDS = [ROWS, FLAT, *(pytest.param(kind, marks=pytest.mark.slow) for kind in (
    BOTH, ONE, Merger("merger", 64, 3, 5, 1, 1, 8), Merger("merger", 8, 64, 64, 32, 1), Merger("merger", 4, 64, 64, 1, 16),
    Merger("merger", 2, 1, 97, 1, 8, 32)))]
# Of nodes of one and of several elements, and of trees with registers between nodes.
MET = [Merger("merger", 4, 7, 5, 2, 1, 8, LARGEST), Merger("merger", 2, 3, 11, 1, 4, 8, TIMES),
       *(pytest.param(kind, marks=pytest.mark.slow) for kind in (
           Merger("merger", 8, 5, 5, 1, 1, 32, TIMES), Merger("merger", 4, 5, 5, 2, 2, 16, SMALLEST),
           Merger("merger", 8, 5, 5, 1, 1, 8, ANY), Merger("merger", 2, 5, 5, 1, 4, 1, ALL),
           Merger("merger", 4, 1, 64, 1, 2, 8, ANY)))]


def operations(kind: Merger, count: int, seed: int) -> "list[list[Fiber]]":
    """Fibers from empty to dense, with empty rows and columns, and ways that have nothing."""
    random = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        there = random.random((kind.ways, kind.rows, kind.columns)) < random.random((kind.ways, 1, 1)) * 1.2
        there &= random.random((kind.ways, kind.rows, 1)) < 0.8
        there &= (random.random((1, 1, kind.columns)) < 0.9) & (random.random((kind.ways, 1, 1)) < 0.9)
        coordinates = [np.flatnonzero(way) for way in there]
        most = 1 << kind.bits - 1
        found.append([(each, random.integers(-most, most, len(each))) for each in coordinates])
    return found


def check(kind: Merger, given: "list[list[Fiber]]", ran: RanMerger) -> None:
    for fibers, (coordinates, values) in zip(given, collected(kind, ran.lanes, len(given)), strict=True):
        wanted = merged(fibers, kind.bits, kind.reduction)
        assert coordinates.tolist() == wanted[0].tolist() and values.tolist() == wanted[1].tolist()


@pytest.mark.parametrize("kind", [ROWS, FLAT, BOTH, ONE, Merger("merger", 16, 5, 5, 4, 8)])
def test_the_model_is_exact_on_200_random_operations(kind: Merger) -> None:
    given = operations(kind, 200, 1)
    check(kind, given, run_merger_tokens(kind, dealt(kind, given)))


@pytest.mark.parametrize("kind", KINDS)
def test_the_verilog_is_exact_on_200_random_operations_in_the_cycles_of_the_model(kind: Merger) -> None:
    given = operations(kind, 200, 2)
    lanes = dealt(kind, given)
    rtl, model = run_merger_rtl(kind, lanes), run_merger_tokens(kind, lanes)
    check(kind, given, rtl)
    assert (rtl.lanes, rtl.cycles) == (model.lanes, model.cycles)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=8)
@given(count=st.integers(1, 9), stalls=st.integers(1, 1 << 30), seed=st.integers(0, 1 << 30))
def test_every_element_of_the_verilog_is_right_whatever_stalls(kind: Merger, count: int, stalls: int, seed: int) -> None:
    given = operations(kind, count, seed)
    check(kind, given, run_merger_rtl(kind, dealt(kind, given), stalls))


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("take,bits", [(1, 8), (1, 16), (4, 8), (4, 32)])
def test_every_reduction_is_exact_in_the_model_in_the_cycles_of_a_sum(reduction: str, take: int, bits: int) -> None:
    kind = Merger("merger", 8, 5, 7, 1, take, bits, reduction)
    given_ = operations(kind, 40, 4)
    ran = run_merger_tokens(kind, dealt(kind, given_))
    check(kind, given_, ran)
    assert ran.cycles == run_merger_tokens(Merger("merger", 8, 5, 7, 1, take, bits), dealt(kind, given_)).cycles


@pytest.mark.parametrize("kind", MET)
@settings(max_examples=5)
@given(stalls=st.none() | st.integers(1, 1 << 30), seed=st.integers(0, 1 << 30))
def test_so_it_is_in_verilog_whatever_stalls(kind: Merger, stalls: "int | None", seed: int) -> None:
    given_ = operations(kind, 9, seed)
    lanes = dealt(kind, given_)
    rtl, model = run_merger_rtl(kind, lanes, stalls), run_merger_tokens(kind, lanes)
    check(kind, given_, rtl)
    assert rtl.lanes == model.lanes and (stalls is not None or rtl.cycles == model.cycles)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [ROWS, FLAT, BOTH])
def test_200_seeds_of_stalls_change_no_element(kind: Merger) -> None:
    for seed in range(1, 201):
        given = operations(kind, 3, seed)
        check(kind, given, run_merger_rtl(kind, dealt(kind, given), seed))


@pytest.mark.parametrize("kind", [ROWS, Merger("merger", 32, 9, 11, 2, 1, 8)])
def test_a_lane_takes_a_cycle_for_each_element_and_end_after_what_is_held(kind: Merger) -> None:
    given = operations(kind, 20, 3)
    found = [merged(fibers, 8)[0] // kind.columns for fibers in given]
    busiest = max(20 + sum(int(np.sum(rows % 2 == lane)) for rows in found) for lane in range(2))
    assert run_merger_tokens(kind, dealt(kind, given)).cycles == busiest + kind.latency


@pytest.mark.parametrize("ways,held", [(2, (0, 2)), (4, (0, 0, 2)), (8, (0, 1, 0, 2)), (64, (0, 0, 1, 0, 1, 0, 2))])
def test_a_lane_holds_elements_behind_every_second_level(ways: int, held: "tuple[int, ...]") -> None:
    kind, flat = Merger("merger", ways, 8, 8), Merger("merger", ways, 8, 8, take=2)
    assert tuple(kind.places(level) for level in range(kind.levels + 1)) == held
    assert kind.latency == len(held) // 2 and {flat.places(level) for level in range(flat.levels + 1)} == {2}


@pytest.mark.parametrize("apart", [1, 2])
def test_a_flat_merger_takes_many_elements_a_cycle_wherever_they_come_from(apart: int) -> None:
    kind = Merger("merger", 2, 1, 4096, 1, 4)
    # Neighbours come from both ways, or all of one way before all of the other.
    first, second = (np.arange(0, 800, 2), np.arange(1, 800, 2)) if apart == 1 else (np.arange(400), np.arange(400, 800))
    fibers = [(each, np.ones(400, np.int64)) for each in (first, second)]
    assert run_merger_tokens(kind, dealt(kind, [fibers])).cycles <= 800 / 4 * 1.02 + 3
