"""Matrix products: what the loops of the DMAs read and store is the product, of any size, and words come and go as they lie."""

from dataclasses import replace

import numpy as np
from dma_model import run_model
from hypothesis import event, given
from hypothesis import strategies as st

from sardonyx.compiler.dense.map.grid import walk
from sardonyx.compiler.dense.map.product import Factor, Product, graph
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.cgra import Arch
from sardonyx.runtime.commands import Box
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
        steps: int = 0, arch: Arch = ONYX) -> "tuple[np.ndarray, list[Outcome]]":
    """One run; steps: of a row, as many as there are terms for if none are given."""
    terms = left.shape[1]
    steps = steps or -(-terms // products)
    product = Product("out", Factor("a", False), Factor("b", False), 0, terms, "r", products)
    walked = walk(graph(product, lanes, products, steps, carry is not None, arch.pe.ops), (1, rows))
    data = Products(walked, left, right, "out", lanes, rows, products * steps, carry)
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
        assert all(each.tiled == 0 and (each.arranged == 0 or carries) for each in outcomes)


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
    # Sums of the run before.
    _, (one,) = ran(noise(1, 8, 10), noise(2, 6, 10), 2, 1, 6, np.zeros((6, 8), np.uint16))
    assert (one.lying, one.arranged) == (4 * (2 + 6) * 12, 2 * 4 * (2 + 6) * 10)


def test_a_launch_of_several_ends_with_a_row_of_tiles() -> None:
    """A half of a bank holds six tiles; a row has four."""
    _, outcomes = ran(noise(1, 4, 4), noise(2, 16, 4), lanes=1, products=1, rows=4, arch=TIGHT)
    assert [len(each.stored) for each in outcomes] == [4, 4, 4, 4]
    assert all(each.tiled == 0 and each.placed == 4 * 4 for each in outcomes)


def box(image: np.ndarray, first: int, count: int) -> Box:
    return Box(image, (first, 0), (count, image.shape[1]))


def test_the_streams_of_a_launch_are_stacks_of_one_shape_that_have_room() -> None:
    weights, rows = np.arange(8 * 16).reshape(8, 16), np.arange(1000, 1000 + 60 * 16).reshape(60, 16)
    one, two = (Stack((box(weights, 4 * at, 4), box(rows, 0, 60)), 16, 7) for at in range(2))
    found = stacked([one, two], 2 * 64 * 16)
    assert found is not None and found[1] == 64 * 16 and found[0].loops == ((64 * 16, 1),)
    assert found[0].size == 2 * 64 * 16
    assert found[0].words.tolist() == one.words.tolist() == one.apart.words.tolist()
    assert stacked([one, two], 2 * 64 * 16 - 1) is None
    assert stacked([one, Stack((box(weights, 0, 3), box(rows, 0, 60)), 16, 7)], 1 << 20) is None
    inner = Stack(one.boxes, 9, 7, 3)
    found = stacked([inner], 1 << 20)
    assert found is not None and found[0].words.tolist() == inner.words.tolist() == [
        word for image in (weights[:4], rows) for row in image for word in row[3:12].tolist()]
    narrow = Stack(one.boxes, 15, 1)
    assert stacked([narrow], 1 << 20) is None, "a loop for words, one for rows"
    assert narrow.apart.words.tolist() == narrow.words.tolist() and len(narrow.words) == narrow.count == 64 * 15
