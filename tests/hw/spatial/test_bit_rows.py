"""A bitvector level gives its fibers in any order, and a level without fibers of nothing gives these, too."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx.hw.arch.token import DONE, MAYBE, stop
from sardonyx.hw.spatial.buffer.absent import Absent
from sardonyx.hw.spatial.buffer.bit_rows import BitRows
from sardonyx.sim.rtl.bench import Bench

FIBERS, EXTENT, ACROSS = 3, 40, 3
stalls = st.none() | st.integers(1, 1 << 30)
numbers = st.lists(st.sampled_from([*range(FIBERS), MAYBE]), max_size=6)


@cache
def bench(fibers: int = FIBERS, extent: int = EXTENT) -> Bench:
    return Bench(BitRows(fibers, extent))


@cache
def around() -> Bench:
    return Bench(Absent())


def test_places_of_values_are_counted_over_all_fibers() -> None:
    found = bench(2, 20).run({"fill": [4, 5, 0, 0, 2], "ref": [1, MAYBE, 0, DONE]})
    assert found.outputs["crd"] == [17, stop(0), stop(0), 0, 2, stop(0), DONE]
    assert found.outputs["ref_o"] == [2, stop(0), stop(0), 0, 1, stop(0), DONE]
    assert not found.status["fault"] and not found.left


@settings(max_examples=25)
@given(asked=st.lists(numbers, min_size=1, max_size=4), density=st.sampled_from([0, 0.1, 0.5, 1]), seed=st.integers(0, 1 << 30),
       stalls=stalls)
def test_fibers_are_read_in_any_order_again_or_not_at_all(asked: "list[list[int]]", density: float, seed: int,
                                                         stalls: "int | None") -> None:
    random = np.random.default_rng(seed)
    fill, refs, crds, places = list[int](), list[int](), list[int](), list[int]()
    for of_one in asked:
        there = random.random((FIBERS, EXTENT)) < density
        padded = np.zeros((FIBERS, 16 * ACROSS), bool)
        padded[:, :EXTENT] = there
        fill += [FIBERS * ACROSS, *(int(word @ (1 << np.arange(16))) for word in padded.reshape(-1, 16))]
        refs += [*of_one, DONE]
        for fiber in of_one:
            crd = [] if fiber == MAYBE else np.flatnonzero(there[fiber]).tolist()
            first = 0 if fiber == MAYBE else int(there[:fiber].sum())
            crds += [*crd, stop(0)]
            places += [*range(first, first + len(crd)), stop(0)]
        crds.append(DONE)
        places.append(DONE)
    found = bench().run({"fill": fill, "ref": refs}, stalls=stalls)
    assert found.outputs["crd"] == crds and found.outputs["ref_o"] == places
    assert not found.status["fault"] and not found.left


def test_a_bit_is_a_cycle_and_so_is_a_word_without_one() -> None:
    """50 fibers of 5 set bits, all in their last word."""
    found = bench().run({"fill": [9, *[0, 0, 0x1f] * 3], "ref": [1] * 50})
    assert found.cycles <= 50 * (2 + 2 + 5 + 1) + 25


@pytest.mark.parametrize("streams", [{"fill": [8, *[0] * 8], "ref": [0]}, {"fill": [9, *[0] * 9], "ref": [3]},
                                     {"fill": [9, *[0] * 9], "ref": [stop(0)]}])
def test_another_length_and_a_fiber_that_there_is_not_are_faults(streams: "dict[str, list[int]]") -> None:
    assert bench().run(streams).status["fault"]


@pytest.mark.parametrize("fibers,extent", [(0, 4), (1, 0), (1 << 12, 300)])
def test_levels_that_there_are_not_are_refused(fibers: int, extent: int) -> None:
    with pytest.raises(ValueError, match=f"there is no level of {fibers} fibers of {extent} bits"):
        BitRows(fibers, extent)


@settings(max_examples=15)
@given(asked=numbers, seed=st.integers(0, 1 << 30), stalls=stalls)
def test_fibers_of_nothing_stand_where_they_are_asked_for(asked: "list[int]", seed: int, stalls: "int | None") -> None:
    random = np.random.default_rng(seed)
    given_, made = list[int](), list[int]()
    for fiber in asked:
        found = [] if fiber == MAYBE else random.integers(0, 9, random.integers(0, 4)).tolist()
        made += [*found, stop(0)]
        given_ += [] if fiber == MAYBE else [*found, stop(0)]
    ran = around().run({"ref": [*asked, DONE], "crd_i": [*given_, DONE], "ref_i": [*given_, DONE]}, stalls=stalls)
    assert ran.outputs["asks"] == [*(each for each in asked if each != MAYBE), DONE]
    assert ran.outputs["crd"] == ran.outputs["ref_o"] == [*made, DONE] and not ran.left
