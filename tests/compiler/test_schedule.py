"""Schedules: text and value are the same, and what has no effect is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.compiler.lang.schedule import Schedule, parse_schedule, scheduled
from sardonyx.hw.arch.errors import UserError

names = st.text("abcij", min_size=1, max_size=3)
schedules = st.builds(
    lambda orders, edges, copies, fused: Schedule(tuple({frozenset(o): tuple(o) for o in orders}.values()), edges, copies,
                                                  tuple(fused)),
    st.lists(st.lists(names, min_size=1, max_size=3, unique=True), max_size=2), st.dictionaries(names, st.integers(1, 99)),
    st.none() | st.tuples(names, st.integers(1, 9)), st.lists(names, max_size=3, unique=True))


@given(schedules)
def test_the_text_of_a_schedule_is_read_as_the_schedule(schedule):
    assert parse_schedule(str(schedule)) == schedule


def test_a_schedule_is_built_step_by_step():
    built = Schedule().reorder("k", "i", "j").split("i", 32).parallelize("i", 4).fuse("T", "U")
    assert built == parse_schedule(" reorder(k, i,j)split( i,32 )\nparallelize(i,4) fuse(T,U)")
    assert str(built) == "reorder(k,i,j) split(i,32) parallelize(i,4) fuse(T,U)" and built and not Schedule()


def test_schedules_are_values():
    built = Schedule().split("i", np.int64(32)).split("j", 4).parallelize("i", np.uint8(2))
    same = Schedule([], {"j": 4, "i": 32}, ["i", 2])
    assert built == same and hash(built) == hash(same) and {built: 1}[same] == 1
    assert [type(number) for number in (*built.edges.values(), built.copies[1])] == [int] * 3
    assert Schedule(orders=[["k", "i"]], fused=["T"]) == Schedule().reorder("k", "i").fuse("T")
    edges = {"i": 3}
    kept = Schedule(edges=edges)
    edges["i"] = 0
    assert kept.edges == {"i": 3}


LONG = "x" * 3000


@pytest.mark.parametrize("named,what", [
    ({"edges": {"i": 0}}, "split(i,0): the number is not in 1 to 65536"),
    ({"edges": {"i": True}}, "split(i,True): this is no whole number"),
    ({"edges": {"i": np.True_}}, "split(i,of type bool"), ({"edges": {"i": 3.0}}, "split(i,3.0): this is no whole number"),
    ({"edges": {"i": 10 ** 5000}}, "split(i,an integer of 16610 bits): the number is not in 1 to 65536"),
    ({"edges": {3: 3}}, "split(3,3) names '3', which is no name"), ({"edges": [("i", 3)]}, "edges: of type list is no mapping"),
    ({"edges": {LONG + "-": 3}}, f"split({'x' * 30} ... {'x' * 29}-,3) names"),
    ({"copies": ("i", 0)}, "parallelize(i,0): the number is not in 1 to 65536"),
    ({"copies": ("i", "4")}, "parallelize(i,4): this is no whole number"), ({"copies": "i4"}, "copies: i4 is no tuple"),
    ({"copies": ("i",)}, "copies has 1 parts"), ({"copies": ("i-", 4)}, "parallelize(i-,4) names 'i-', which is no name"),
    ({"orders": "ij"}, "orders: ij is no tuple"), ({"orders": ("ij",)}, "reorder: ij is no tuple"), ({"orders": ((),)},
     "reorder() names nothing"), ({"orders": (("i", "i"),)}, "reorder(i,i) names something twice"),
    ({"orders": (("i", "j"), ("j", "i"))}, "the loops of i and j are ordered twice"),
    ({"fused": "T"}, "fused: T is no tuple"), ({"fused": ("T", "T")}, "fuse(T,T) names something twice"),
    ({"fused": (None,)}, "fuse(None) names 'None', which is no name")])
def test_a_value_that_is_no_schedule_is_refused(named, what):
    with pytest.raises(UserError) as error:
        Schedule(**named)
    assert str(error.value).startswith(f"schedule: {what}") and error.value.fix and len(str(error.value)) < 400


@pytest.mark.parametrize("number", [True, 3.5, "3", None])
def test_what_is_no_number_is_refused_step_by_step(number):
    for directive in (Schedule().split, Schedule().parallelize):
        with pytest.raises(UserError, match="this is no whole number"):
            directive("i", number)


@pytest.mark.parametrize("text,column,what", [
    ("splot(i,3)", 1, "there is no directive splot"), ("fuse(T) 3", 9, "a directive was expected here"),
    ("fuse(T) x", 9, "there is no directive x"), ("split(i,8", 10, "')' was expected here"),
    ("split i,8", 7, "'(' was expected here"), ("split(i,8) split", 17, "'(' was expected here"),
    ("split(i,8))", 11, "a directive was expected here"), ("fuse(T reorder(i,j)", 15, "')' was expected here"),
    ("split(i)", 1, "split takes an index and a number"), ("split(i,0)", 1, "split(i,0): the number is not in 1 to 65536"),
    ("split(i,3) split(i,4)", 12, "index i is split twice"), ("reorder(i,i)", 1, "reorder(i,i) names something twice"),
    ("reorder(i,j) reorder(j,i)", 14, "the loops of i and j are ordered twice"), ("fuse(T) fuse(T)", 9, "T is fused twice"),
    ("parallelize(i,2) parallelize(j,2)", 18, "the program is parallelized twice"),
    ("fuse()", 1, "fuse() names '', which is no name"), ("fuse(3)", 1, "fuse(3) names '3', which is no name")])
def test_a_text_that_is_no_schedule_is_refused_with_its_place(text, column, what):
    with pytest.raises(UserError) as error:
        parse_schedule(text)
    assert str(error.value).startswith(f"schedule, column {column}: {what}\n")


def test_loops_are_those_of_the_statement_with_these_indices():
    program = scheduled("T(i,j) = B(i,k) * C(k,j); x(i) = T(i,j)", parse_schedule("reorder(i,k,j)"))
    assert [each.order for each in program.statements] == [("i", "k", "j"), ("i", "j")]
    assert scheduled("X(i,j) = B(j,i)", parse_schedule("reorder(j,i)")).result.order == ("j", "i")


@pytest.mark.parametrize("text,schedule,message", [
    ("x(i) = b(i)", "reorder(i,j)", "no statement has the index variables i, j and no others"),
    ("T(i,j) = B(i,j); X(i,j) = T(i,j); y(i) = X(i,j)", "reorder(i,k)", "name those of one: i, j$"),
    ("x(i) = b(i)", "fuse(x)", "x is not computed by one statement for another"),
    ("T(i) = b(i); x(i) = T(i)", "fuse(b)", "b is not computed by one statement for another")])
def test_what_a_program_does_not_have_is_refused(text, schedule, message):
    with pytest.raises(UserError, match=message):
        scheduled(text, parse_schedule(schedule))


def test_loops_are_ordered_in_one_place():
    with pytest.raises(UserError, match="loops have an order and are reordered"):
        scheduled("x(i) = B(i,j)", parse_schedule("reorder(j,i)"), "ji")
