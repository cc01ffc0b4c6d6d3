"""Explain, and the picture, say which PEs of a balanced array may give work, and which may take it."""

import dataclasses
import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sardonyx import spatial as sp
from sardonyx.compiler.lang.balance import Balance
from sardonyx.compiler.spatial.exchange import exchange, spans

i, j, k = sp.indices("i j k")
A, B = sp.inputs("A B")
ALONE = sp.Design(sp.functionality("C(i,j) = A(i,k) * B(k,j)"), sp.Transform([[1, 0, 0], [0, 1, 0], [1, 1, 1]]),
                  {"i": 4, "j": 3, "k": 8}, sparsity=[sp.skip(k, where=A(i, k) == 0)])
FIRST = dataclasses.replace(ALONE, balance=[sp.shift(i, to=0, where=(k >= 4) & (j < 2), grain="pe")])


def test_who_gives_and_who_takes() -> None:
    assert FIRST.elastic is not None
    found = exchange(FIRST.elastic, FIRST.spatial)
    assert found.gives == {(row, column) for row in (1, 2, 3) for column in (0, 1)} and found.takes == {(0, 0), (0, 1)}
    assert [found.of(at) for at in ((1, 1), (0, 1), (2, 2))] == [("gives",), ("takes",), ()]


@pytest.mark.parametrize("balance,said", [
    ([sp.shift(i, by=-1, where=k >= 4)], "PEs (1..3, 0..2) may give work, (0..2, 0..2) may take it"),
    ([sp.work_queue(i, where=(k >= 4) & (i != 1))], "PEs (0, 0..2), (2..3, 0..2) may give work, (0..3, 0..2) may take it"),
    ([sp.shift(i, to=0, where=(k >= 4) & (i > j), grain="pe")],
     "PEs (1, 0), (2, 0..1), (3, 0..2) may give work, (0, 0..2) may take it"),
    ([sp.shift(i, to=0, where=(k >= 4) & (i > 2)), sp.shift(i, by=-1, where=(k >= 4) & (i == 2))],
     "PEs (2..3, 0..2) may give work, (0..1, 0..2) may take it"),
])
def test_explain_says_so(balance: "list[Balance]", said: str) -> None:
    found = dataclasses.replace(ALONE, balance=balance).explain()
    assert found.text.splitlines()[-1] == said
    assert {"gives", "takes"} <= found.report.keys() and not {"gives", "takes"} & ALONE.explain().report.keys()


def test_the_picture_does_at_each_pe() -> None:
    words = re.findall(r'class="mid span">([^<]*)<', FIRST.picture())
    assert words.count("gives") == 6 and words.count("takes") == 2 and len(words) == 8
    assert 'class="mid span"' not in ALONE.picture() and "whether it may give work" not in ALONE.picture()


def test_the_picture_is_as_wide_as_the_line_on_top() -> None:
    drawn = dataclasses.replace(ALONE, balance=[sp.shift(i, by=-1, where=k >= 4)]).picture()
    width, = re.findall(r'<svg [^>]* width="([0-9]+)"', drawn)
    facts, *notes = re.findall(r'"quiet">([^<]*)<', drawn)
    assert "whether it may give work" in facts and all(len(note) < len(facts) for note in notes) and int(width) > 6 * len(facts)
    assert set(re.findall(r'class="mid span">([^<]*)<', drawn)) == {"gives", "takes", "gives/takes"}


@given(st.sets(st.tuples(*[st.integers(0, 3)] * 3)))
def test_boxes_are_all_positions_and_no_other_one(positions: "set[tuple[int, ...]]") -> None:
    found = []
    for box in re.findall(r"\(([^)]*)\)", spans(positions)):
        sides = [[int(each) for each in side.split("..")] for side in box.split(", ")]
        found += itertools.product(*(range(side[0], side[-1] + 1) for side in sides))
    assert sorted(found) == sorted(positions)
