"""Matrix products: what the loops of the DMAs read and store is the product, of any size, and words come and go as they lie."""

from dataclasses import replace

import numpy as np
import pytest
from dma_model import run_model
from hypothesis import event, given
from hypothesis import strategies as st

from sardonyx.compiler.dense.map.grid import walk
from sardonyx.compiler.dense.map.product import Factor, Product, graph, joins
from sardonyx.compiler.dense.map.weights import Weights, alike, neighbours, on_end
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.cgra import Arch
from sardonyx.runtime.commands import Box
from sardonyx.runtime.data.load_loops import joined
from sardonyx.runtime.data.products import Products
from sardonyx.runtime.data.stack import Stack, stacked
from sardonyx.runtime.host import Outcome
from sardonyx.runtime.plan import loops_of_transactions

ONYX = presets.get("onyx")
# Banks of 256 words, and room for 16 streams.
TIGHT = replace(ONYX, glb=replace(ONYX.glb, bank_bytes=512))
WORDS = np.iinfo(np.int16)


def noise(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(WORDS.min, WORDS.max + 1, shape)


def ran(left: np.ndarray, right: np.ndarray, lanes: int, products: int, rows: int, carry: "np.ndarray | None" = None,
        steps: int = 0, arch: Arch = ONYX, weights: "Weights | None" = None) -> "tuple[np.ndarray, list[Outcome]]":
    """One run; steps: of a row, as many as there are terms for if none are given."""
    terms = left.shape[1]
    steps = steps or -(-terms // products)
    weights = weights or alike(lanes, steps)
    walked = walk(graph(Product("out", Factor("a", False), Factor("b", False), 0, terms, "r", products), weights, products,
                        carry is not None, arch.pe.ops), (lanes if joins(lanes, steps) else 1, rows))
    data = Products(walked, left, right, "out", lanes, rows, products * steps, weights, carry)
    found = run_model(arch, walked, data.transactions(loops_of_transactions(arch.glb)))
    return data.picture(each for one in found for each in one.stored), found


@given(st.integers(1, 9), st.integers(1, 13), st.integers(1, 17), st.integers(1, 3), st.integers(1, 3), st.integers(1, 6),
       st.booleans(), st.booleans())
def test_what_is_read_and_stored_by_loops_is_the_product(columns: int, height: int, terms: int, lanes: int, products: int,
                                                         rows: int, carries: bool, tight: bool) -> None:
    """Of one column, row and term, of numbers that tiles do not divide, with and without sums of a run before."""
    left, right = noise(1, columns, terms), noise(2, height, terms)
    carry = noise(3, height, columns).astype(np.uint16) if carries else None
    found, outcomes = ran(left, right, lanes, products, rows, carry, arch=TIGHT if tight else ONYX)
    event(f"launches: {len(outcomes) > 1}, tile by tile: {any(each.tiled for each in outcomes)}")
    exact = right @ left.T + (0 if carry is None else carry)
    assert np.array_equal(found, exact.astype(np.uint16))
    if not tight:
        assert all((each.tiled, each.arranged) == (0, 0) for each in outcomes)


@given(st.integers(1, 19), st.integers(1, 13), st.integers(1, 40), st.integers(1, 9), st.integers(1, 3), st.integers(1, 6),
       st.tuples(st.booleans(), st.booleans()), st.booleans())
def test_factors_are_read_as_they_lie(columns: int, height: int, terms: int, lanes: int, products: int, rows: int,
                                      turned: "tuple[bool, bool]", carries: bool) -> None:
    """Of left, of right, both or neither terms are below each other; numbers that lines do not divide."""
    steps = -(-terms // products)
    rows = -(-rows // 4) * 4 if turned[1] else rows
    lanes = -(-lanes // 4) * 4 if turned[0] else lanes
    weights = (alike(lanes, steps, turned[0]) if turned[0] == turned[1] else
               (neighbours if turned[0] else on_end)(lanes, steps, products, steps + 8))
    event(f"{turned}: {'none' if weights is None else weights.beside}")
    # Turned on purpose: what is read has to be where NumPy has it.
    left, right = (noise(1, terms, size).T if down else noise(1, size, terms)
                   for size, down in zip((columns, height), turned, strict=True))
    carry = noise(3, height, columns).astype(np.uint16) if carries else None
    found, outcomes = ran(left, right, lanes, products, rows, carry, weights=weights)
    assert np.array_equal(found, (right @ left.T + (0 if carry is None else carry)).astype(np.uint16))
    assert all((each.tiled, each.arranged) == (0, 0) for each in outcomes)


@pytest.mark.parametrize(("steps", "weights", "shapes"), [
    # Four lanes and 3 rows of 16, of 10 points in lines of 12; columns of both; four terms of each lane below each other.
    (16, neighbours(4, 16, 1, 16), [(16, 4), (3, 16)]),
    (10, neighbours(4, 10, 1, 10), [(5, 4), (5, 4), (3, 12)]),
    (10, alike(4, 10, True), [(10, 4), (10, 4)]),
    (16, on_end(4, 16, 1, 16), [(4, 4, 4), (16, 4)]),
    (10, on_end(4, 10, 1, 12), [(3, 3, 4), (1, 3, 4), (10, 4)])], ids=["whole", "lines", "columns", "on end", "on end, a part"])
def test_boxes_are_parts_of_factors_that_nobody_has_turned(steps: int, weights: Weights,
                                                           shapes: "list[tuple[int, ...]]") -> None:
    own = {"left": noise(1, *((steps, 4) if weights.left else (4, steps))).astype(np.uint16),
           "right": noise(2, *((steps, 3) if weights.right else (3, steps))).astype(np.uint16)}
    walked = walk(graph(Product("out", Factor("a", weights.left), Factor("b", weights.right), 0, steps, "r", 1), weights, 1,
                        False, ONYX.pe.ops), (4, 3))
    left, right = own["left"].T if weights.left else own["left"], own["right"].T if weights.right else own["right"]
    tile, = Products(walked, left, right, "out", 4, 3, steps, weights).transactions(7)
    stack = tile["rows.0"]
    assert isinstance(stack, Stack)
    assert [each.shape for each in stack.boxes] == shapes
    *lefts, last = stack.boxes
    for name, boxes in (("left", lefts), ("right", [last])):
        height, width = own[name].shape
        assert all(np.array_equal(each.image.reshape(len(each.image), -1)[:height, :width], own[name]) for each in boxes)
        assert len({id(each.image) for each in boxes}) == 1


def test_which_words_come_and_go_as_they_lie() -> None:
    """Rows of terms are filled up to lines; a column of tiles is one of a row of the result."""
    _, (one,) = ran(noise(1, 8, 10), noise(2, 6, 10), lanes=2, products=1, rows=6)
    assert (one.lying, one.arranged) == (4 * (2 + 6) * 12, 0)
    assert (one.placed, one.tiled) == (2 * 6 * 4, 0)
    # Two rows of tiles in a launch, and two columns of three.
    for columns, height in ((8, 6), (4, 9)):
        _, outcomes = ran(noise(1, columns, 10), noise(2, height, 10), lanes=2, products=1, rows=3)
        assert len(outcomes) == 2 and all((each.arranged, each.tiled) == (0, 0) for each in outcomes)
    # Terms of two streams, ten and ten: those of the second one begin within a line.
    _, (one,) = ran(noise(1, 8, 20), noise(2, 6, 20), lanes=2, products=2, rows=6)
    assert (one.lying, one.arranged) == (2 * 4 * (2 + 6) * 12, 0)
    # Sums of the run before: rows of the result and of the steps of no lane, with two in front in which weights come.
    _, (one,) = ran(noise(1, 8, 10), noise(2, 6, 10), 2, 1, 6, np.zeros((6, 8), np.uint16))
    assert (one.lying, one.arranged) == (4 * (2 + 6) * 12 + (2 + 6) * (8 + 8), 0)


def test_a_launch_of_several_ends_with_a_row_of_tiles() -> None:
    """A half of a bank holds six tiles; a row has four."""
    _, outcomes = ran(noise(1, 4, 4), noise(2, 16, 4), lanes=1, products=1, rows=4, arch=TIGHT)
    assert [len(each.stored) for each in outcomes] == [4, 4, 4, 4]
    assert all(each.tiled == 0 and each.placed == 4 * 4 for each in outcomes)


def box(image: np.ndarray, first: int, count: int) -> Box:
    return Box(image, (first, 0), (count, image.shape[1]))


def stack(*boxes: Box, columns: int = 16, most: int = 7, first: int = 0) -> Stack:
    """Some words of the rows of boxes."""
    deep = sum(each.shape[0] for each in boxes)
    at = tuple(16 * sum(each.shape[0] for each in boxes[:place]) for place in range(len(boxes)))
    return Stack(boxes, at, 16 * deep, joined([[(columns, 1)], [(deep, 1)]], [16, deep]), most, first)


def test_the_streams_of_a_launch_are_stacks_of_one_shape_that_have_room() -> None:
    weights, rows = np.arange(8 * 16).reshape(8, 16), np.arange(1000, 1000 + 60 * 16).reshape(60, 16)
    one, two = (stack(box(weights, 4 * at, 4), box(rows, 0, 60)) for at in range(2))
    found = stacked([one, two], 2 * 64 * 16)
    assert found is not None and found[1] == 64 * 16 and found[0].loops == ((64 * 16, 1),)
    assert found[0].size == 2 * 64 * 16
    assert found[0].words.tolist() == one.words.tolist() == one.apart.words.tolist()
    assert stacked([one, two], 2 * 64 * 16 - 1) is None
    assert stacked([one, stack(box(weights, 0, 3), box(rows, 0, 60))], 1 << 20) is None
    inner = stack(*one.boxes, columns=9, first=3)
    found = stacked([inner], 1 << 20)
    assert found is not None and found[0].words.tolist() == inner.words.tolist() == [
        word for image in (weights[:4], rows) for row in image for word in row[3:12].tolist()]
    narrow = stack(*one.boxes, columns=15, most=1)
    assert stacked([narrow], 1 << 20) is None, "a loop for words, one for rows"
    assert narrow.apart.words.tolist() == narrow.words.tolist() and len(narrow.words) == narrow.count == 64 * 15


def test_boxes_stand_beside_each_other_in_the_rows_of_a_stream() -> None:
    """Columns of both: 4 and 8 of each of three rows."""
    left, right = np.arange(3 * 8).reshape(3, 8), np.arange(100, 100 + 3 * 16).reshape(3, 16)
    both = Stack((Box(left, (0, 4), (3, 4), 12), Box(right, (0, 8), (3, 8), 12)), (0, 4), 36, ((3, 12), (12, 1)), 7)
    found = stacked([both, both], 72)
    assert found is not None and found[0].at == (0, 4, 36, 40) and found[0].size == 72
    assert both.words.tolist() == np.concatenate((left[:, 4:], right[:, 8:]), axis=1).T.reshape(-1).tolist()
