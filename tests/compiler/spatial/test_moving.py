"""Conditions on time part the work of a balance, those on places of PEs say whose it is; others are refused with a remedy."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sardonyx import spatial as sp
from sardonyx.compiler.lang.balance import Balance
from sardonyx.compiler.spatial.moving import Moving, Spot, moving, spots
from sardonyx.hw.arch.elastic import MOST_EXTENT
from sardonyx.hw.arch.errors import UserError
from sardonyx.sparsity import Condition

i, j, k, m = sp.indices("i j k m")
A, = sp.inputs("A")
EXTENTS = {"i": 4, "j": 3, "k": 9}
PLACES = [dict(zip("ij", at)) for at in itertools.product(range(4), range(3))]
EVERY = frozenset(itertools.product(range(4), ((0,), (1,), (2,))))


def moved(balance: Balance, found: "tuple[str, ...]" = ()) -> Moving:
    return moving(balance, EXTENTS, "k", found, [*zip(spots(balance, "ij", PLACES), PLACES)])


def apart(where: Condition) -> Moving:
    return moved(sp.work_queue(i, where=where, grain="pe"))


@pytest.mark.parametrize("where,begin,end", [
    (k >= 4, 4, MOST_EXTENT), (k > 3, 4, MOST_EXTENT), (k < 4, 0, 4), (k <= 3, 0, 4), (k == 8, 8, MOST_EXTENT), (k == 0, 0, 1),
    (k != 0, 1, MOST_EXTENT), ((k >= 4) & (k < 9), 4, MOST_EXTENT), ((k > 1) & (k >= 4), 4, MOST_EXTENT),
    ((k > 5) | (k == 5), 5, MOST_EXTENT),
])
def test_what_moves_is_the_first_part_of_time_or_its_last_one(where: Condition, begin: int, end: int) -> None:
    found = apart(where)
    assert (found.begin, found.end, found.givers) == (begin, end, EVERY)
    # What stays is the other part.
    assert found.stays == ((0, begin) if begin else (end, MOST_EXTENT))


@given(low=st.integers(0, 3), high=st.integers(0, 3), column=st.integers(0, 2))
def test_conditions_on_places_say_who_may_give_work(low: int, high: int, column: int) -> None:
    where = (k >= 4) & (i >= low) & (i <= high) & (j <= column)
    wanted = frozenset((row, (at,)) for row in range(low, high + 1) for at in range(column + 1))
    if wanted:
        assert apart(where).givers == wanted
    else:
        with pytest.raises(UserError, match="no PE has places for which"):
            apart(where)


def test_conditions_on_places_may_compare_them_and_be_several() -> None:
    assert apart((k >= 4) & (i > j)).givers == {spot for spot in EVERY if spot[0] > spot[1][0]}
    assert apart((k >= 4) & ((i == 0) | (j == 2))).givers == {spot for spot in EVERY if spot[0] == 0 or spot[1] == (2,)}


def test_a_row_that_works_together_is_told_by_its_index() -> None:
    assert moved(sp.shift(i, to=0, where=(k >= 4) & (i != 1))).givers == {(0, ()), (2, ()), (3, ())}


WITHIN = "all PEs of a row take work together, and j < 2 holds for some of them"
PIECES = "k is 0..8, and what moves of it is neither its first part nor its last one, so that what stays is in pieces"


@pytest.mark.parametrize("where,what,fix", [
    (j < 2, "work is parted along k, which is time, and it has no condition on that", "give one, as k >= 4"),
    (k >= 9, "k is 0..8: of a row no work may move", "give a number 1..8"),
    (k < 9, "k is 0..8: of a row all work may move", "give a number 1..8"),
    (k > 8, "k is 0..8: of a row no work may move", "give a number, as k >= 4"),
    (k <= 8, "k is 0..8: of a row all work may move", "give a number, as k >= 4"),
    ((k >= 4) & (k < 4), "k is 0..8: of a row no work may move", "give a number, as k >= 4"),
    ((k >= 4) & (k < 8), PIECES, "give one number, as k >= 4"), (k != 4, PIECES, "give one number, as k >= 1"),
    (k >= j, "j <= k is of k, which is time, and of others, so that each PE would part its work elsewhere",
     "compare k with a number, as k >= 4"),
    ((k >= 4) & (m < 2), "there is no index m", "compare i, j, k"),
    ((k >= 4) & (j < 2), WITHIN, 'balance each PE on its own, with grain="pe"'),
    ((k >= 4) & (i > 3), "no PE has places for which 3 < i holds",
     "leave conditions on indices of PEs out, or give another number"),
])
def test_other_conditions_are_refused_with_a_remedy(where: Condition, what: str, fix: str) -> None:
    balance = sp.work_queue(i, where=where)
    with pytest.raises(UserError) as refused:
        moved(balance)
    assert (refused.value.what, refused.value.where, refused.value.fix) == (what, str(balance), fix)


def test_an_index_of_positions_is_none_of_places() -> None:
    with pytest.raises(UserError) as refused:
        moved(sp.work_queue(i, where=(k >= 4) & (j < 2), grain="pe"), ("j", "k"))
    assert refused.value.what == "j is found by values: its places in space are positions, not coordinates"
    assert refused.value.fix == "compare i"


def test_rows_are_places_of_an_index_of_pes() -> None:
    found: list[Spot] = spots(sp.shift(j, by=1, where=k >= 4), "ij", PLACES)
    assert found == [(place["j"], ()) for place in PLACES]
    with pytest.raises(UserError) as refused:
        spots(sp.shift(k, by=1, where=k >= 4), "ij", PLACES)
    assert (refused.value.what, refused.value.fix) == ("k is no index of PEs", "balance i or j")


@pytest.mark.parametrize("number", range(1, 9))
def test_every_number_that_is_to_be_given_helps(number: int) -> None:
    assert apart(k >= number).begin == number and apart(k < number).end == number
