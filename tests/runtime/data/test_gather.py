"""What the host gathers is what the golden model computes, which shares the operations of the language with it alone."""

from collections.abc import Callable
from typing import Any

import halide as hl
import numpy as np
import pytest
from halide_programs import X, Y, image, load, noise

from sardonyx.compiler.dense.front.lower import lower
from sardonyx.compiler.lang.halide.pipeline import Access, Func, Type, Variable
from sardonyx.runtime.data.gather import gather
from sardonyx.sim.golden.halide import realize

PICTURE = noise("uint8", (6, 9))
EDGES = hl.BoundaryConditions


@pytest.mark.parametrize("edge", [
    lambda a: EDGES.repeat_edge(a, [(0, 9), (0, 6)]), lambda a: EDGES.constant_exterior(a, 200, [(0, 9), (0, 6)]),
    lambda a: EDGES.repeat_image(a, [(0, 9), (0, 6)]), lambda a: EDGES.mirror_interior(a, [(0, 9), (0, 6)])])
def test_a_boundary_condition_is_the_same_word_by_word_and_in_numpy(edge: Callable[[Any], hl.Func]) -> None:
    func = hl.Func("moved")
    func[X, Y] = edge(image("a", "uint8"))[X - 2, Y - 1]
    pipeline = load(func)
    whole = realize(pipeline, {"a": PICTURE}, (8, 13))
    gathered, = lower(pipeline).gathered.values()
    columns, rows = np.array([0, 0, 3, 12, 7]), np.array([5, 2, 7, 0])
    found = gather(gathered, {"a": PICTURE}, {}, (columns - 2, rows - 1))
    assert np.array_equal(found, whole[np.ix_(rows, columns)])


def test_an_image_begins_where_it_says_and_goes_on_at_its_edges() -> None:
    word = Type("uint", 8)
    func = Func("gathered", ("x", "y"), (word,), (Access(word, "a", (Variable("x"), Variable("y"))),), (), {}, {})
    found = gather(func, {"a": PICTURE}, {"a": (-1, 2)}, (np.arange(-3, 3), np.array([2, 30])))
    assert found.tolist() == [PICTURE[0, [0, 0, 0, 1, 2, 3]].tolist(), PICTURE[5, [0, 0, 0, 1, 2, 3]].tolist()]
