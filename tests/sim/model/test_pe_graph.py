from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from grids import on_grid
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.compiler.ir.dataflow import WORD_OPS, Operand, Ref, Stream, WordGraph, WordNode
from sardonyx.compiler.ir.pe_graph import Once, PeGraph, PeNode, verify_pes
from sardonyx.hw.arch.op import BY_NAME
from sardonyx.sim.model.pe_graph import MEANING, evaluate_pes, evaluate_words, stored

words = st.integers(0, 65535)


def stream(name: str, rank: int = 2) -> Stream:
    return Stream(name, (1,) * rank, (0,) * rank, (1,) * rank, (None,) * rank)


def graph(nodes: list[WordNode], result: Ref, rank: int = 2) -> WordGraph:
    names = [node.name for node in nodes if node.op == "input"]
    return WordGraph(("x", "y", "z")[:rank], tuple(nodes), {name: stream(name, rank) for name in names}, {"out": result},
                     {"out": stream("out", rank)})


def once(op: str, *operands: int, signed: bool = False, table: tuple[int, ...] = ()) -> int:
    """An operation on single words (or flags)."""
    inputs = [WordNode("input", name=f"i{at}") for at in range(len(operands))]
    node = WordNode(op, tuple(Ref(at, (0,)) for at in range(len(operands))), signed, table=table)
    whole = graph([*inputs, node], Ref(len(operands), (0,)), 1)
    found = evaluate_words(whole, {f"i{at}": np.array([word]) for at, word in enumerate(operands)})
    return int(found["out"].values[0])


def test_every_operation_has_a_meaning() -> None:
    assert {*MEANING, "lookup"} == set(WORD_OPS)


@pytest.mark.parametrize(("op", "operands", "signed", "result"), [
    ("add", (65535, 2), False, 1), ("sub", (0, 1), False, 65535), ("mul", (256, 257), False, 256),
    ("mul_middle", (65535, 65535), False, (65535 * 65535 >> 8) % 65536), ("mul_middle", (65535, 65535), True, 0),
    ("mul_middle", (65535, 1), True, 65535), ("mul_high", (65535, 65535), False, 65534), ("mul_high", (65535, 5), True, 65535),
    ("shl", (1, 15), False, 32768), ("shl", (1, 16), False, 0), ("shl", (1, 40000), False, 0),
    ("shr", (32768, 15), False, 1), ("shr", (32768, 15), True, 65535), ("shr", (32768, 99), True, 65535),
    ("shr", (9, 16), False, 0),
    ("and", (12, 10), False, 8), ("or", (12, 10), False, 14), ("xor", (12, 10), False, 6),
    ("abs", (65533,), False, 3), ("abs", (32768,), False, 32768),
    ("min", (65535, 1), False, 1), ("min", (65535, 1), True, 65535), ("max", (65535, 1), False, 65535),
    ("max", (65535, 1), True, 1),
    ("eq", (7, 7), False, 1), ("ne", (7, 7), False, 0), ("lt", (65535, 1), False, 0), ("lt", (65535, 1), True, 1),
    ("le", (5, 5), False, 1), ("select", (1, 8, 9), False, 8), ("select", (0, 8, 9), False, 9),
    ("bit_and", (1, 0), False, 0), ("bit_or", (1, 0), False, 1), ("bit_xor", (1, 1), False, 0), ("bit_not", (0,), False, 1),
    ("word", (1,), False, 1),
])
def test_operations_on_words(op: str, operands: tuple[int, ...], signed: bool, result: int) -> None:
    assert once(op, *operands, signed=signed) == result


@given(words, words, st.booleans())
def test_words_are_computed_as_by_a_pe(a: int, b: int, signed: bool) -> None:
    for op, pe in (("mul", "mult0"), ("mul_middle", "mult1"), ("mul_high", "mult2"), ("shl", "shl"), ("shr", "shr"),
                   ("and", "and"), ("or", "or"), ("xor", "xor"), ("add", "adc")):
        assert once(op, a, b, signed=signed) == BY_NAME[pe](a, b, signed=signed), op
    assert once("abs", a) == BY_NAME["abs"](a)


def test_a_lookup_is_an_entry_of_its_table() -> None:
    assert once("lookup", 2, table=(5, 6, 7)) == 7


def test_results_stand_where_all_operands_lie_inside() -> None:
    total = WordNode("add", (Ref(0, (0, 0)), Ref(0, (2, -1))))
    image = np.arange(20).reshape(4, 5)
    found = evaluate_words(graph([WordNode("input", name="a"), total], Ref(1, (0, 0))), {"a": image})["out"]
    assert found.origin == (0, 1) and found.end == (3, 4)
    np.testing.assert_array_equal(found.values, image[1:, :3] + image[:-1, 2:])


def test_a_result_beside_its_node_moves_the_region() -> None:
    image = np.arange(20).reshape(4, 5)
    found = evaluate_words(graph([WordNode("input", name="a")], Ref(0, (1, 2))), {"a": image})["out"]
    assert found.origin == (-1, -2)
    assert found.part((0, 0), (1, 1)).tolist() == [[image[2, 1]]]


@pytest.mark.parametrize("image", [np.array([[-1]]), np.array([[65536]]), np.array([1])])
def test_inputs_that_are_no_grid_of_words_fail(image: np.ndarray) -> None:
    with pytest.raises(AssertionError, match="a is no grid of words"):
        evaluate_words(graph([WordNode("input", name="a")], Ref(0, (0, 0))), {"a": image})


def test_a_grid_that_is_too_small_fails() -> None:
    operands: tuple[Operand, ...] = (Ref(0, (0, 0)), Ref(0, (2, 0)))
    nodes = [WordNode("input", name="a"), WordNode("add", operands)]
    with pytest.raises(AssertionError, match="no point"):
        evaluate_words(graph(nodes, Ref(1, (0, 0))), {"a": np.zeros((2, 2), int)})


def test_streams_scale_shift_and_divide() -> None:
    image = np.array([[10, 11, 12, 13, 14, 15]])
    every_second = replace(stream("a"), scale=(2, 1), shift=(1, 0))
    assert on_grid(every_second, image, (3, 1)).tolist() == [[11, 13, 15]]
    twice = replace(stream("a"), shift=(1, 0), divide=(2, 1))
    assert on_grid(twice, image, (6, 1)).tolist() == [[10, 11, 11, 12, 12, 13]]


def test_streams_take_a_plane_of_an_image() -> None:
    image = np.arange(24).reshape(2, 3, 4)
    assert on_grid(replace(stream("a"), plane=(None, None, 1)), image, (4, 3)).tolist() == image[1].tolist()
    assert on_grid(replace(stream("a"), plane=(2, None, None)), image, (3, 2)).tolist() == image[:, :, 2].tolist()


def test_negative_elements_are_words() -> None:
    assert on_grid(stream("a"), np.array([[-1, 5]], np.int8), (2, 1)).tolist() == [[65535, 5]]


def test_patterns_repeat_along_one_dimension() -> None:
    pattern = Stream("", (0, 1), (0, 0), (1, 2), (), pattern=(7, 8, 9))
    assert on_grid(pattern, None, (2, 7)).tolist() == [[each, each] for each in (7, 7, 8, 8, 9, 9, 7)]


def test_streams_may_begin_elsewhere_and_are_0_outside_the_image() -> None:
    assert on_grid(stream("a"), np.array([[10, 11, 12]]), (3, 2), origin=(-1, 0)).tolist() == [[0, 10, 11], [0, 0, 0]]


def test_a_grid_may_begin_elsewhere() -> None:
    copy = graph([WordNode("input", name="a")], Ref(0, (0, 0)))
    found = evaluate_words(copy, {"a": np.array([[7, 8]])}, origin=(-1, 2))["out"]
    assert (found.origin, found.end) == ((-1, 2), (1, 3))


def test_elements_of_a_result_are_those_of_its_scale() -> None:
    image = np.arange(24).reshape(4, 6)
    found = evaluate_words(graph([WordNode("input", name="a")], Ref(0, (0, 0))), {"a": image})["out"]
    assert stored(replace(stream("out"), scale=(2, 3)), found, (3, 2)).tolist() == [[0, 2, 4], [18, 20, 22]]
    with pytest.raises(AssertionError, match="do not hold elements"):
        stored(replace(stream("out"), scale=(2, 3)), found, (4, 2))


@given(st.integers(2, 7), st.integers(1, 5), st.integers(0, 9), st.data())
def test_words_at_one_x_of_a_row_are_joined_in_any_order(columns: int, rows: int, seed: int, data: st.DataObject) -> None:
    """Lane l gives the word of x = at[l] in x = l, and 0 beside it, so that a sum has one of each."""
    at = data.draw(st.lists(st.integers(0, columns - 1), min_size=2, max_size=columns))
    image = np.random.default_rng(seed).integers(0, 1 << 16, (rows, columns))
    nodes, total = [PeNode("input", name="a")], None
    for lane, x in enumerate(at):
        nodes.append(PeNode("adc", {"a": Once(0, (x - lane, 0), x=lane), "b": total or 0, "d": 0}))
        total = Ref(len(nodes) - 1, (0, 0))
    assert total is not None
    graph = verify_pes(PeGraph(("x", "y"), tuple(nodes), {"a": stream("a")}, {"out": total}, {"out": stream("out")}))
    found = stored(graph.outputs["out"], evaluate_pes(graph, {"a": image})["out"], (columns, rows))
    assert np.array_equal(found, np.pad(image[:, at], [(0, 0), (0, columns - len(at))]))
