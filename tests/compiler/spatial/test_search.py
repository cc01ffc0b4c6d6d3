"""The search of transforms: what no other array beats, and no more work than is said."""

from dataclasses import replace

import numpy as np
import pytest

from sardonyx import designs
from sardonyx import spatial as sp
from sardonyx.compiler.spatial import search as searching
from sardonyx.compiler.spatial.derive import derive
from sardonyx.compiler.spatial.elastic import elastic
from sardonyx.compiler.spatial.estimate import gates, path
from sardonyx.compiler.spatial.estimate_elastic import duration, elastic_gates
from sardonyx.compiler.spatial.pareto import pareto
from sardonyx.compiler.spatial.project import project
from sardonyx.compiler.spatial.prune import prune
from sardonyx.compiler.spatial.search import Search, search
from sardonyx.compiler.spatial.transform import Transform
from sardonyx.compiler.spatial.unroll import unroll
from sardonyx.hw.arch.errors import UserError

VECTOR = unroll(derive("x(i) = A(i,j) * B(j)"), {"i": 4, "j": 4})
PRODUCT = unroll(derive("C(i,j) = A(i,k) * B(k,j)"), {"i": 2, "j": 2, "k": 2})


def test_no_array_is_both_smaller_and_faster_than_one_of_the_best() -> None:
    found = search(VECTOR)
    assert found.best and found.left == 0
    for best in found.best:
        assert not [each for each in found.found if each.gates < best.gates and each.time < best.time]
    assert {each.transform for each in found.best} <= {each.transform for each in found.found}


def test_every_array_that_is_found_is_that_of_its_transform() -> None:
    for each in search(VECTOR).found:
        spatial = project(VECTOR, each.transform)
        assert (each.gates, each.pes, each.steps) == (gates(spatial), len(spatial.cells), spatial.steps)


def test_mirrored_arrays_are_tried_once() -> None:
    spaces = [frozenset(each.transform.space) for each in search(VECTOR).found]
    assert all(next(entry for entry in row if entry) > 0 for space in spaces for row in space)


def test_a_search_ends_where_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "MOST", 50)
    told = []
    found = search(PRODUCT, lambda at, count: told.append((at, count)))
    assert (found.tried, found.left, told[-1]) == (50, 1978, (49, 50))
    # The simplest come first, so the classic arrays are among the first few.
    assert Transform([[0, 0, 1], [0, 1, 0], [1, 1, 1]]) in {each.transform for each in found.found}


@pytest.mark.parametrize("text", ["C(i,j,k,l) = A(i,j,m) * B(m,k,l)", "X(a,b,c,d,e,f,g,h) = A(a,b,c,d) * B(e,f,g,h)"])
def test_many_indices_take_no_more_than_the_candidates_that_are_tried(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "MOST", 20)
    recurrences = derive(text)
    found = search(unroll(recurrences, dict.fromkeys(recurrences.indices, 1)))
    assert found.tried == 20 and found.left > 1_000_000


def test_candidates_are_each_there_once_and_counted() -> None:
    for count in (2, 3):
        every = list(searching._candidates(count))
        assert len(set(every)) == len(every) == searching._many(count)


def test_what_passes_within_a_step_makes_the_path_longer() -> None:
    chains = [path(project(PRODUCT, Transform([[0, 0, 1], [0, 1, 0], time]))) for time in ([1, 0, 0], [1, 1, 1])]
    assert chains[0] > chains[1]


def test_rules_of_one_operation_share_it() -> None:
    """A sum that begins with 0 in its PE has one multiplier, not one for each of its two rules."""
    stationary, moving = (gates(project(PRODUCT, Transform(rows))) for rows in (
        [[1, 0, 0], [0, 1, 0], [1, 1, 1]], [[0, 0, 1], [0, 1, 0], [1, 1, 1]]))
    assert stationary < 1.3 * moving


def test_a_plot_has_a_dot_for_every_array() -> None:
    found = search(VECTOR)
    assert pareto(found).count("<circle") == len(found.found)
    assert pareto(Search(found.found[:1], 1, 0)).count("<circle") == 1


i, j = sp.indices("i j")
(A,) = sp.inputs("A")
ROWS, COLUMNS = sp.skip(j, where=A(i, j) == 0), sp.skip(i, where=A(i, j) == 0)


def test_every_choice_of_skips_is_tried_but_those_that_contradict_each_other() -> None:
    found = search(VECTOR, skips=[ROWS, COLUMNS])
    assert {each.skips for each in found.found} == {(), (ROWS,), (COLUMNS,)}
    assert found.tried == 32 * 3 and found.left == 0
    by_rows = next(each for each in found.found if each.skips and each.skips[0].indices == ("j",))
    array = elastic(prune(VECTOR, by_rows.skips), by_rows.transform)
    assert (by_rows.gates, by_rows.pes) == (elastic_gates(array), sum(unit.name.startswith("pe_") for unit in array.units))
    assert (by_rows.steps, by_rows.interval) == duration(array, 0.1)


def test_sparse_arrays_are_the_fastest_where_little_is_left_and_not_where_all_is() -> None:
    long = unroll(derive("x(i) = A(i,j) * B(j)"), {"i": 2, "j": 24})
    assert [search(long, skips=[ROWS], density=density).found[0].skips for density in (0.05, 1.0)] == [(ROWS,), ()]


@pytest.mark.parametrize("name", ["sparse_csr_dense", "sparse_sum"])
def test_the_time_between_operations_is_estimated_within_a_tenth(name: str) -> None:
    design = replace(designs.design(name), bounds={"i": 1, "j": 64, "k": 3} if "csr" in name else {"i": 3, "j": 64})
    random = np.random.default_rng(3)
    given = {tensor: array if "csr" in name and tensor == "A" else
             random.integers(1, 99, array.shape) * (random.random(array.shape) < 0.25)
             for tensor, array in design.random(10).items()}
    given["A"][given["A"] == 0] = 0 if name == "sparse_sum" else 1
    cycles = design.run("tokens", **given).cycles
    assert design.elastic is not None and cycles is not None
    assert cycles / 10 == pytest.approx(duration(design.elastic, 0.25)[1], rel=0.1)


def test_more_skips_than_a_search_takes_are_refused() -> None:
    with pytest.raises(UserError, match="there are 5 skips"):
        search(VECTOR, skips=[ROWS] * 5)


def test_formats_of_operands_say_what_is_skipped() -> None:
    recurrences = derive("x(i) = A(i,j) * B(j)")
    assert sp.stored(recurrences, {"A": "ds"}) == [ROWS] and sp.stored(recurrences, {"A": "ds10"}) == [COLUMNS]
    for formats, said in (({"C": "ds"}, "there is no such input"), ({"A": "ss"}, "it is not a letter d for each"),
                          ({"A": "ds11"}, "it is not a letter d for each"), ({"B": "ds"}, "it is not a letter d for each")):
        with pytest.raises(UserError) as refused:
            sp.stored(recurrences, formats)
        assert refused.value.what.startswith(said) and refused.value.fix
