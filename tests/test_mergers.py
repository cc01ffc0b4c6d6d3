"""Mergers as a user meets them: in Python, as files, and on the command line."""

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

from sardonyx import designs
from sardonyx import spatial as sp
from sardonyx.cli import main
from sardonyx.hw.arch.errors import UserError

SMALL = sp.merger(ways=2, shape=(3, 4), lanes=2)
FIBERS = sp.merger(ways=4, shape=9, take=2)


def matrix(seed: int) -> scipy.sparse.csr_array:
    return scipy.sparse.csr_array(np.random.default_rng(seed).integers(0, 3, (3, 4)))


def test_arrays_and_sparse_arrays_are_merged_to_their_kind() -> None:
    parts = np.random.default_rng(0).integers(-9, 9, (5, 2, 3, 4))
    assert np.array_equal(SMALL.run("tokens", P=parts).value, parts.sum(axis=1))
    assert np.array_equal(SMALL.run("tokens", P=parts[0]).value, parts[0].sum(axis=0))
    assert np.array_equal(SMALL.run("golden", P=[parts[0, 0]]).value, parts[0, 0])
    assert np.array_equal(FIBERS.run("tokens", P=np.eye(9, dtype=int)[:4]).value, [1] * 4 + [0] * 5)
    one, other = matrix(1), matrix(2)
    assert np.array_equal(SMALL.run("tokens", P=[one, other]).value.toarray(), (one + other).toarray())
    first, second = SMALL.run("tokens", P=[[one, other], [one.tocoo()]]).value
    assert np.array_equal(second.toarray(), one.toarray()) and first.shape == (3, 4)


def test_of_what_is_there_it_may_be_the_largest_the_product_or_a_truth() -> None:
    parts = np.array([[[-5, 0, 2, 7], [0, 3, 0, 0], [0, 0, 0, 0]], [[0, 0, -3, 6], [4, 2, 0, 0], [0, 0, 0, 0]]])
    found = {reduction: sp.merger(ways=2, shape=(3, 4), lanes=2, reduction=reduction, name="met").run("tokens", P=parts)
             for reduction in ("max", "min", "mul", "both", "either")}
    assert {name: each.value[:2].tolist() for name, each in found.items()} == {
        "max": [[-5, 0, 2, 7], [4, 3, 0, 0]], "min": [[-5, 0, -3, 6], [4, 2, 0, 0]], "mul": [[-5, 0, -6, 42], [4, 6, 0, 0]],
        "both": [[1, 0, 1, 1], [1, 1, 0, 0]], "either": [[1, 0, 1, 1], [1, 1, 0, 0]]}
    assert all(each.report["reduction"] == name and each.report["elements_out"] == 5 for name, each in found.items())


def test_zeros_that_are_stored_are_there_but_for_a_sum() -> None:
    stored = scipy.sparse.coo_array(([0, 3], ([1, 2], [0, 3])), shape=(3, 4))
    other = scipy.sparse.coo_array(([-4, 5], ([1, 2], [0, 3])), shape=(3, 4))
    made = {reduction: sp.merger(ways=2, shape=(3, 4), reduction=reduction, name="met").run("tokens", P=[stored, other])
            for reduction in ("add", "max", "mul", "both")}
    assert {name: each.value.toarray()[[1, 2], [0, 3]].tolist() for name, each in made.items()} == {
        "add": [-4, 8], "max": [0, 5], "mul": [0, 15], "both": [0, 1]}
    assert made["max"].report["elements_in"] == made["add"].report["elements_in"] + 1


def test_entries_that_are_stored_twice_are_added_and_what_is_given_stays_as_it_was() -> None:
    twice = scipy.sparse.coo_array(([2, 3, 0], ([1, 1, 2], [0, 0, 3])), shape=(3, 4))
    result = SMALL.run("tokens", P=[twice])
    assert result.value.toarray()[1, 0] == 5 and result.report["elements_out"] == 1 and twice.nnz == 3


@pytest.mark.parametrize("shape,engine,stalls", [((1 << 32, 1 << 23), "tokens", None), ((1 << 32, 1 << 23), "rtl", 5),
                                                 ((1 << 23, 1 << 32), "tokens", None)])
def test_elements_have_up_to_64_bits(shape: "tuple[int, int]", engine: str, stalls: "int | None") -> None:
    random = np.random.default_rng(3)
    ends = [0, 0, 1, shape[0] - 1, shape[0] - 1], [0, shape[1] - 1, 1, shape[1] - 2, shape[1] - 1]
    matrices = [scipy.sparse.coo_array((np.append(random.integers(1, 9, 20), [1, 2, 3, 4, 5]),
                                        tuple(np.append(random.integers(0, extent, 20), each)
                                              for extent, each in zip(shape, ends))), shape=shape) for _ in range(2)]
    found = scipy.sparse.coo_array(sp.merger(2, shape, take=2, dtype="int8", name="long").run(engine, stalls, P=matrices).value)
    one, other, both = ({(int(row), int(column)): int(value) for row, column, value in zip(*each.coords, each.data)}
                        for each in (*matrices, found))
    assert len(both) == 45 and both == {at: one.get(at, 0) + other.get(at, 0) for at in one | other}


@pytest.mark.parametrize("made,said", [
    (lambda: sp.merger(3, 8), "ways is 3"), (lambda: sp.merger(2, 8, take=32), "take is 32"),
    (lambda: sp.merger(2, 8, lanes=0), "lanes is 0"), (lambda: sp.merger(2, (4, 1 << 33)), "columns is 8589934592"),
    (lambda: sp.merger(2, (4, "x")), "columns is 'x'"), (lambda: sp.merger(2, (4, 4, 4)), "it has 3 extents"),
    (lambda: sp.merger(2, 8, dtype="bf16"), "there is no dtype 'bf16'"), (lambda: sp.merger(2, 8, name="a b"), "name is 'a b'"),
    (lambda: sp.merger(2, 8, reduction="sub"), "there is no reduction 'sub'"),
    (lambda: sp.merger(2, 8, name="merge_node_k3_w8_max"), "merge_node_k3_w8_max is the name of a part"),
    (lambda: sp.merger(2, 8, name="merge_node_k3_w8"), "merge_node_k3_w8 is the name of a part"),
    (lambda: sp.merger(2, 8, name="endmodule"), "endmodule is a keyword of Verilog"),
    (lambda: sp.merger(2, (1 << 16, 1 << 16), dtype="int32"),
     "bits is 32, so that an element of 65,536 rows and 65,536 columns has 65 bits"),
    (lambda: sp.merger(64, 8, lanes=64, take=16), "ways is 64, which are 65,536 streams with 64 lanes that take 16"),
    (lambda: sp.merger(64, (1 << 14, 1 << 14)).random(), "random matrices with 17,179,869,184 elements"),
    (lambda: sp.merger(2, 8).random(0), "it is 0, but has to be 1 or more"),
    (lambda: sp.merger(2, 8).random(1 << 17), "131072 operations"),
    (lambda: SMALL.picture(), "it is a merger, of which there is no picture"),
    (lambda: SMALL.resized({"i": 4}), "a merger has no i"),
    (lambda: designs.design("row_sort"), "it is a merger, not an array"),
])
def test_what_is_no_merger_is_refused(made, said: str) -> None:     # type: ignore[no-untyped-def]
    with pytest.raises(UserError) as refused:
        made()
    assert said in refused.value.what and refused.value.fix


@pytest.mark.parametrize("options,said", [
    ({"A": 3}, "there is no input A"), ({"engine": "fabric"}, "there is no engine 'fabric'"),
    ({"engine": "tokens", "stalls": 3}, "engine tokens has no stalls"), ({"stalls": 0}, "it is 0, but has to be 1 or more"),
    ({"P": np.zeros((2, 4, 3), int)}, "it has the shape (2, 4, 3)"), ({"P": [[1, 2], [3]]}, "which is no array"),
    ({"P": np.zeros((3, 3, 4), int)}, "there are 3 partial matrices, and 2 ways"),
    ({"P": np.zeros((0, 2, 3, 4), int)}, "there are 0 operations"), ({"P": np.zeros((2, 3, 4))}, "matrix 0 holds float64"),
    ({"P": np.full((2, 3, 4), 1 << 15)}, "matrix 0 has values from 32768 to 32768"),
    ({"P": [matrix(1), matrix(1).T]}, "matrix 1 has the shape (4, 3)"), ({"P": "text"}, "it has the shape ()"),
    ({"P": [matrix(1), "text"]}, "matrix 1 holds <U4"), ({"P": [[matrix(1)], []]}, "there are 0 partial matrices, and 2 ways"),
    ({"P": [matrix(1) * 0.5]}, "matrix 0 holds float64"), ({"P": matrix(1)}, "it is one sparse matrix"),
])
def test_operands_and_options_that_do_not_fit_are_refused(options: "dict[str, object]", said: str) -> None:
    with pytest.raises(UserError) as refused:
        SMALL.run(**options)     # type: ignore[arg-type]
    assert said in refused.value.what + str(refused.value) and refused.value.fix


def test_the_verilog_says_how_its_words_are_made_up(tmp_path: Path) -> None:
    report = SMALL.verilog(tmp_path / "a").report
    names = {each.name for each in (tmp_path / "a").iterdir()}
    assert {"merger.sv", "merge_tree_2_1_k5_w16.sv", "merge_node_k5_w16.sv"} <= names
    assert report["nodes"] == 2 and report["comparators"] == 2
    word = json.loads((tmp_path / "a/merger.json").read_text())["word"]
    assert word == {"value": [0, 16], "column": [16, 2], "row": [18, 2], "end": [20, 1]}
    SMALL.verilog(tmp_path / "b")
    assert all((tmp_path / "b" / each.name).read_bytes() == each.read_bytes() for each in (tmp_path / "a").iterdir())


def test_the_command_line_lists_explains_and_runs_mergers(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["spatial", "list"]) == 0
    assert "merger_sparch" in capsys.readouterr().out
    assert main(["spatial", "explain", "merger_sparch"]) == 0
    assert "3 nodes and 408 comparators in all" in capsys.readouterr().out
    assert main(["spatial", "run", "merger_gamma", "--engine", "tokens", "--operations", "2", "--bound", "rows=9"]) == 0
    assert "operations        2" in capsys.readouterr().out
    assert main(["spatial", "explain", "row_largest"]) == 0
    assert "8 sorted fibers of 256 become one, of equal coordinates the largest" in capsys.readouterr().out
    assert main(["spatial", "run", "row_largest", "--engine", "tokens", "--operations", "3"]) == 0
    assert "reduction         max" in capsys.readouterr().out
    np.save(tmp_path / "p.npy", np.eye(256, dtype=np.int16)[:8])
    assert main(["spatial", "run", "row_sort", "--engine", "tokens", "--P", str(tmp_path / "p.npy")]) == 0
    assert "elements out      8" in capsys.readouterr().out


@pytest.mark.parametrize("words,said", [
    (["explain", "row_sort", "--bound", "q=3"], "bounds: a merger has no q"),
    (["explain", "row_sort", "--bound", "ways=3"], "merger 'row_sort': ways is 3"),
    (["explain", "row_sort", "--picture", "x.svg"], "row_sort: it is a merger, of which there is no picture"),
    (["search", "row_sort"], "row_sort: it is a merger, not an array"),
])
def test_mistakes_on_the_command_line_are_told(words: "list[str]", said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["spatial", *words]) == 2
    assert said in capsys.readouterr().err


def test_only_the_parting_tells_the_two_mergers_of_the_papers_apart() -> None:
    gamma, sparch = (designs.any_design(f"merger_{name}") for name in ("gamma", "sparch"))
    assert isinstance(gamma, sp.MergerDesign) and isinstance(sparch, sp.MergerDesign)
    one, other = vars(gamma.kind), vars(sparch.kind)
    assert {name for name in one if one[name] != other[name]} == {"name", "lanes", "take"}
