"""What transforms make of recurrences: how large arrays are, and refusals."""

from itertools import combinations

import pytest

from sardonyx import spatial as sp
from sardonyx.compiler.spatial.derive import derive
from sardonyx.compiler.spatial.project import project
from sardonyx.compiler.spatial.report import MOVES, PASSES, STAYS, facts, ways
from sardonyx.compiler.spatial.transform import Transform
from sardonyx.compiler.spatial.unroll import unroll
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.spatial import Spatial

PRODUCT = derive("C(i,j) = A(i,k) * B(k,j)")


def array(rows: list[list[int]], size: int = 4, **more: int) -> Spatial:
    return project(unroll(PRODUCT, {"i": size, "j": size, "k": size}), Transform(rows, **more))


# Of 4 x 4 x 4 products: determinant, PEs, wires, values kept, ports of A, B and C, steps.
TABLE = {
    "input-stationary": ([[0, 0, 1], [1, 0, 0], [1, 1, 1]], 1, 16, 24, 16, (16, 4, 4), 10),
    "weight-stationary": ([[0, 0, 1], [0, 1, 0], [1, 1, 1]], -1, 16, 24, 16, (4, 16, 4), 10),
    "output-stationary": ([[1, 0, 0], [0, 1, 0], [1, 1, 1]], 1, 16, 24, 16, (4, 4, 16), 10),
    "broadcast": ([[0, 0, 1], [1, 0, 0], [0, 1, 0]], 1, 16, 24, 16, (16, 4, 4), 4),
    "outer product": ([[0, 0, 1], [1, 0, 0], [1, 1, 0]], 1, 16, 24, 16, (16, 4, 4), 7),
    "deeper": ([[0, 0, 1], [1, 0, 0], [1, 1, 2]], 1, 16, 24, 16, (16, 4, 4), 13),
    "hexagonal": ([[1, 0, -1], [0, 1, -1], [1, 1, 1]], 3, 37, 90, 0, (16, 16, 16), 10),
    "hexagonal, of determinant 1": ([[2, 1, 0], [1, 1, 1], [0, 0, 1]], 1, 46, 111, 0, (16, 16, 16), 4),
}


@pytest.mark.parametrize("name", TABLE)
def test_a_product_has_the_pes_wires_ports_and_steps_of_the_table(name: str) -> None:
    rows, determinant, pes, wires, kept, ports, steps = TABLE[name]
    assert Transform(rows).determinant == determinant
    assert facts(array(rows)) == {"pes": pes, "wires": wires, "kept_in_pes": kept, "ports": dict(zip("ABC", ports)),
                                  "steps": steps, "interval": facts(array(rows))["interval"]}


@pytest.mark.parametrize("size", range(2, 9))
def test_sizes_follow_the_formulas_of_the_shapes(size: int) -> None:
    square = facts(array(TABLE["input-stationary"][0], size))
    assert (square["pes"], square["wires"], square["steps"], square["interval"]) == (size**2, 2 * size * (size - 1),
                                                                                   3 * size - 2, size)
    assert facts(array(TABLE["hexagonal"][0], size))["pes"] == 3 * size**2 - 3 * size + 1


def test_what_a_tensor_does_follows_from_its_distance() -> None:
    found = {way.variable: way for way in ways(unroll(PRODUCT, {"i": 4, "j": 4, "k": 4}), Transform(TABLE["deeper"][0]))}
    assert {name: (way.kind, way.registers) for name, way in found.items()} == {
        "a": (STAYS, 1), "b": (MOVES, 1), "c": (MOVES, 2)}
    broadcast = ways(unroll(PRODUCT, {"i": 4, "j": 4, "k": 4}), Transform(TABLE["broadcast"][0]))
    assert [way.kind for way in broadcast] == [STAYS, PASSES, PASSES]


def test_two_axes_of_time_are_the_digits_of_one() -> None:
    spatial = array([[1, 0, 0], [0, 1, 0], [0, 0, 1]], 3, time_axes=2)
    assert (len(spatial.cells), spatial.steps, spatial.interval) == (3, 9, 9)
    assert [cell.steps for cell in spatial.cells] == [frozenset(range(9))] * 3


@pytest.mark.parametrize("name", TABLE)
def test_no_pe_works_for_two_operations_at_once_and_ports_keep_their_order(name: str) -> None:
    spatial = array(TABLE[name][0])
    for cell in spatial.cells:
        assert all((a - b) % spatial.interval for a, b in combinations(cell.steps, 2))
    for port in (*spatial.inputs, *spatial.outputs):
        steps = [word.step for word in port.words]
        assert steps == sorted(set(steps)) and steps[-1] - steps[0] < spatial.interval


@pytest.mark.parametrize("rows,said", [
    ([[1, 0, 0], [0, 1, 0], [1, 1, -1]], "c of the point (0, 0, 1) before is computed 1 step after it is read"),
    ([[1, 0], [0, 1]], "it has 2 rows, but the indices are i, j, k"),
])
def test_a_transform_that_does_not_fit_is_refused(rows: list[list[int]], said: str) -> None:
    with pytest.raises(UserError) as refused:
        array(rows)
    assert (refused.value.what, refused.value.where) == (said, "transform")


def test_a_large_array_is_refused() -> None:
    with pytest.raises(UserError, match="the array has 4,225 PEs"):
        project(unroll(PRODUCT, {"i": 65, "j": 65, "k": 1}), Transform(TABLE["output-stationary"][0]))


def test_results_of_no_input_are_refused() -> None:
    i, j = sp.indices("i j")
    (x,), (X,) = sp.variables("x"), sp.outputs("X")
    design = sp.Design(sp.functionality(x(i, j).eq(3), X(i).eq(x(i, j.upper))), Transform([[1, 0], [0, 1]]), {"i": 2, "j": 2})
    with pytest.raises(UserError, match="the results depend on no input"):
        assert design.spatial


@pytest.mark.parametrize("rows,said", [
    ([], "the matrix is not square of 2..8: 0 rows of  entries"),
    ([[1]], "the matrix has one row, but an array has an axis of space and one of time"),
    ([[1, 0], [1, 0, 0]], "the matrix is not square of 2..8: 2 rows of 2, 3 entries"),
    ([[1, 2], [2, 4]], "the matrix is singular: two points would fall on one PE and step"),
    ([[1, 0], [0, 1025]], "entry 1025 is out of range"),
    ([[1, 0], [0, 1.5]], "1.5 is no whole number"),
    ([[1, 0], [0, True]], "True is no whole number"),
    (3, "it is no matrix"),
])
def test_a_matrix_that_is_no_transform_is_refused(rows: object, said: str) -> None:
    with pytest.raises(UserError) as refused:
        Transform(rows)     # type: ignore[arg-type]
    assert refused.value.what == said


@pytest.mark.parametrize("axes", [0, 3, -1])
def test_at_least_one_axis_is_space_and_one_is_time(axes: int) -> None:
    with pytest.raises(UserError, match="of 3 rows are time"):
        Transform([[1, 0, 0], [0, 1, 0], [0, 0, 1]], axes)
