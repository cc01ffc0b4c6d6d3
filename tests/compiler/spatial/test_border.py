"""Chains have the words of stationary operands, in lines that cost no time; others are told why they are none."""

import dataclasses

import pytest

from sardonyx import spatial as sp
from sardonyx.compiler.lang.recurrence import Recurrences
from sardonyx.compiler.spatial.border import chains
from sardonyx.hw.arch.spatial import Spatial

PRODUCT = sp.functionality("C(i,j) = A(i,k) * B(k,j)")
WEIGHTS, DEEP = [[0, 0, 1], [0, 1, 0], [1, 1, 1]], [[0, 0, 1], [0, 1, 0], [1, 2, 2]]


def array(rows: "list[list[int]]", i: int, j: int, k: int, product: Recurrences = PRODUCT) -> Spatial:
    return sp.Design(product, sp.Transform(rows), {"i": i, "j": j, "k": k}).spatial


def reasons(spatial: Spatial) -> "dict[str, str]":
    return chains(dataclasses.replace(spatial, chains=()))[1]


def test_weights_go_down_the_columns_of_the_longest_lines_from_where_the_wave_begins() -> None:
    spatial = array(WEIGHTS, 5, 2, 3)
    assert [(chain.name, chain.positions) for chain in spatial.chains] == [
        ("B_0_0", ((0, 0), (1, 0), (2, 0))), ("B_0_1", ((0, 1), (1, 1), (2, 1)))]
    assert {port.name for port in spatial.alone} == {"A_0_0", "A_1_0", "A_2_0"}
    assert reasons(spatial) == {"A": "a port takes more than one word in an operation"}


def test_a_line_that_takes_longer_than_an_operation_is_no_chain_but_a_shorter_one_is() -> None:
    assert {len(chain.positions) for chain in array(WEIGHTS, 3, 3, 4).chains} == {3}
    assert array(WEIGHTS, 3, 4, 4).chains == ()
    assert reasons(array(WEIGHTS, 3, 4, 4))["B"] == "lines of 4 PEs take more steps than the 3 between operations"


def test_a_wave_of_two_cycles_along_every_line_is_told() -> None:
    assert reasons(array(DEEP, 4, 4, 4))["B"] == "the wave takes more than a cycle from a PE to the next one"


def test_an_array_of_one_pe_has_no_chain() -> None:
    assert reasons(array(WEIGHTS, 4, 1, 1))["B"] == "no two PEs are in a line"


@pytest.mark.parametrize("rows,said", [
    ([[1, 0, -1], [0, 1, -1], [1, 1, 1]], "PEs take their words in different steps"),
    ([[1, 0, 0], [0, 1, 0], [1, 1, 1]], "a port takes more than one word in an operation"),
])
def test_operands_that_move_are_in_no_chain(rows: "list[list[int]]", said: str) -> None:
    spatial = array(rows, 4, 4, 4)
    assert not spatial.chains and reasons(spatial)["A"] == said


def test_what_explains_an_array_says_how_steps_pass_and_words_enter() -> None:
    text = sp.Design(PRODUCT, sp.Transform(WEIGHTS), {"i": 5, "j": 2, "k": 3}).explain().text
    assert ("a wave: each step is done 1 cycle later by (1, 0) and 1 cycle later by (0, 1)\n"
            "A enters at every port of its own: a port takes more than one word in an operation\n"
            "B enters by 2 chains of 3 PEs\n") in text
    text = sp.Design(PRODUCT, sp.Transform([[0, 0, 1], [1, 0, 0], [0, 1, 0]]), {"i": 2, "j": 2, "k": 2}).explain().text
    assert "no wave, all PEs do a step in the same cycle: values pass on within a step\n" in text
