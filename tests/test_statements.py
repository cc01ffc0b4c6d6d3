"""Programs of several statements in Python: in turn, fused, and with schedules that have effect or are refused."""

import json

import numpy as np
import pytest
import scipy.sparse

import sardonyx
from sardonyx import api
from sardonyx.hw.arch.errors import UserError

RANDOM = np.random.default_rng(8)
A = scipy.sparse.csr_array(RANDOM.integers(-3, 4, (12, 12)) * (RANDOM.random((12, 12)) < 0.3))
X = RANDOM.integers(-3, 4, 12)
TWICE = "y(i) = A(i,j) * x(j); z(i) = A(i,j) * y(j)"
THRICE = f"{TWICE}; w(i) = A(i,j) * z(j)"
MIXED = "T(i,j) = A(i,k) * A(k,j); U(i,j) = A(i,j) * T(i,j); x(i) = U(i,j)"


@pytest.mark.parametrize("engine", ["golden", "tokens", "fabric"])
@pytest.mark.parametrize("schedule", [None, "fuse(y)", "fuse(z)", "fuse(y,z)"])
def test_the_result_is_that_of_the_last_statement_whatever_is_fused(engine, schedule):
    result = sardonyx.einsum(THRICE, A=A, x=X, engine=engine, schedule=schedule, arch="onyx")
    assert (result.value == A @ (A @ (A @ X))).all()


def test_a_report_has_those_of_the_programs_that_run_in_turn():
    result = sardonyx.einsum(THRICE, A=A, x=X, engine="tokens")
    assert [*result.report["statements"]] == ["y", "z", "w"]
    part = sardonyx.einsum(THRICE, A=A, x=X, engine="tokens", schedule=sardonyx.Schedule().fuse("z"))
    assert [*part.report["statements"]] == ["y", "w"]
    assert part.report["statements"]["w"]["fused"] == {"z": "MEM tiles"}
    whole = sardonyx.einsum(THRICE, A=A, x=X, engine="tokens", schedule="fuse(y,z)", arch="onyx")
    assert "statements" not in whole.report and whole.report["fused"] == {"y": "MEM tiles", "z": "MEM tiles"}
    assert whole.report["as_one"] == "w(i) = A(i,j) * A(j,j2) * A(j2,j3) * x(j3)" and whole.report["sub_tiles"] == 1


def test_matrices_and_numbers_go_from_statement_to_statement():
    square = A @ A
    assert (sardonyx.einsum(MIXED, A=A, engine="tokens").value == (A * square).sum(1)).all()
    assert (sardonyx.einsum(MIXED, A=A, engine="tokens", schedule="fuse(T,U)", arch="onyx").value == (A * square).sum(1)).all()
    scaled = sardonyx.einsum("t = A(i,j); X(i,j) = t * A(i,j)", A=A, engine="tokens")
    assert (scaled.value != A * int(A.sum())).nnz == 0


def test_values_of_intermediates_wrap_as_those_of_results():
    b = np.array([200, 300])
    for schedule in (None, "fuse(T)"):
        found = sardonyx.einsum("T(i) = b(i) * b(i); x(i) = relu(T(i))", b=b, engine="tokens", schedule=schedule).value
        assert found.tolist() == [0, 90000 - 65536], "40000 is negative in 16 bits"


def test_stages_of_each_program_are_in_a_folder_of_its_own(tmp_path):
    sardonyx.einsum(TWICE, A=A, x=X, engine="tokens", dump=tmp_path)
    assert (tmp_path / "y" / "1_sam.txt").exists() and (tmp_path / "z" / "program.json").exists()
    sardonyx.einsum(TWICE, A=A, x=X, engine="tokens", dump=tmp_path / "one", schedule="fuse(y)")
    assert "KeptScanner" in (tmp_path / "one" / "1_sam.txt").read_text()
    names = {node["name"] for node in json.loads((tmp_path / "one" / "1_sam.json").read_text())["nodes"]}
    assert {"keep_y_j", "keep_y_vals"} <= names


def test_a_schedule_is_the_loops_edges_and_copies_that_are_given_otherwise():
    product = "X(i,j) = B(i,k) * C(k,j)"
    said = sardonyx.einsum(product, B=A, C=A, engine="tokens", arch="onyx",
                           schedule="reorder(i,k,j) split(i,4) parallelize(i,2)")
    given = sardonyx.einsum(product, B=A, C=A, engine="tokens", arch="onyx", order="ikj", tile={"i": 4}, unroll=2)
    same = ("sub_tiles", "tile_edge", "copies", "tiles_used", "words_checked")
    assert {name: said.report[name] for name in same} == {name: given.report[name] for name in same}
    assert said.report["tile_edge"]["i"] == 4 and said.report["copies"] == 2


def test_an_edge_is_for_the_statements_that_have_its_index():
    report = sardonyx.einsum("T(i,j) = A(i,k) * A(k,j); x(i) = T(i,j)", A=A, engine="tokens", schedule="split(k,5)").report
    assert report["statements"]["T"]["tile_edge"]["k"] == 5 and "k" not in report["statements"]["x"]["tile_edge"]


def test_kernels_of_several_statements_run_fused_or_not():
    fused = sardonyx.kernel("spmv_iter", engine="tokens", arch="onyx", size=9)
    assert [*fused.report["fused"].values()] == ["MEM tiles"] * 3
    apart = sardonyx.kernel("spmv_iter", engine="tokens", size=9, schedule="")
    assert [*apart.report["statements"]] == ["a", "b", "c", "y"] and (apart.value == fused.value).all()
    assert "spmv_iter" in api.kernels().text


def refusal(*arguments, engine="tokens", **named):
    with pytest.raises(UserError) as error:
        sardonyx.einsum(*arguments, engine=engine, **named)
    return str(error.value)


@pytest.mark.parametrize("engine", ["golden", "tokens"])
@pytest.mark.parametrize("named,expected", [
    ({"tile": 3, "schedule": "split(i,3)"}, "sub-tiles have an edge and are split"),
    ({"unroll": 2, "schedule": "parallelize(i,2)"}, "the program has copies and is parallelized"),
    ({"order": "ij;ij", "schedule": "reorder(j,i)"}, "loops have an order and are reordered"),
    ({"schedule": "split(q,3)"}, "there is no index q"), ({"schedule": "fuse(y) split(q,3)"}, "there is no index q"),
    ({"schedule": "parallelize(q,3)"}, "there is no index q"),
    ({"schedule": "fuse(y) parallelize(q,3)"}, "there is no index q"),
    ({"schedule": "fuse(y)", "tile": {"q" * 3000: 3}}, f"there is no index {'q' * 30} ... "),
    ({"schedule": "fuse(z)"}, "z is not computed by one statement for another\n  try: name one of y, or leave z out"),
    ({"schedule": "fuse(y,z)"}, "z is not computed by one statement for another\n  try: leave z out"),
    ({"schedule": "split(i,12) parallelize(i,2)"},
     "index i is one tile of 12, so that copies would share nothing\n  try: split(i,6) or smaller"),
    ({"schedule": "fuse(y) split(i,12) parallelize(i,2)"},
     "index i is one tile of 12, so that copies would share nothing\n  try: split(i,6) or smaller"),
    ({"schedule": "fuse(y) parallelize(j2,2)"}, "index j2 is one tile of 12, so that copies would share nothing\n"
     "  try: parallelize and split i or j, or do not fuse y, or leave out parallelize"),
    ({"schedule": "fuse(y) split(j2,3)"}, "index j2, of 12, is summed for what MEM tiles keep, so that it cannot be cut"),
    ({"schedule": "fuse(y) split(j2,3)", "formats": {"y": "d"}}, "y is kept dense, but loop j meets only what is stored of"),
    ({"formats": {"A": "q" * 2000}}, f"format {'q' * 30} ... {'q' * 30} of A(i,j): it is not a letter d or s"),
    ({"formats": {"b" * 2000: "s"}}, f"formats: there is a format for {'b' * 30} ... {'b' * 30} but no such tensor"),
    ({"schedule": 5}, "schedule: it is of type int, which is no text")])
def test_what_a_schedule_cannot_do_is_refused_by_all_engines(named, expected, engine):
    text = refusal(TWICE, A=A, x=X, engine=engine, **named)
    assert expected in text and len(text) < 1000


def test_copies_that_a_machine_has_no_room_for_are_refused_for_it_alone():
    named = {"A": A, "x": X, "schedule": "split(i,3) parallelize(i,99)"}
    assert refusal(TWICE, **named).startswith(
        "99 copies of the program: they are too many for 'small': at most 64 are told apart\n"
        "  try: use one, or a larger machine")
    assert (sardonyx.einsum(TWICE, engine="golden", **named).value == A @ (A @ X)).all()


def test_what_is_said_of_an_index_of_a_fused_part_has_effect_there():
    report = sardonyx.einsum("T(i,j) = A(i,k) * A(k,j); U(i,j) = T(i,j) * A(i,j); x(i) = U(i,j)", A=A, engine="tokens",
                             schedule="fuse(T) split(k,5)", arch="onyx").report["statements"]
    assert report["U"]["tile_edge"]["k"] == 5 and "k" not in report["x"]["tile_edge"]


def test_what_a_file_says_is_fused_has_to_be_there(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('expression = "T(i) = b(i); x(i) = T(i)"\nfuse = ["Q"]\n')
    with pytest.raises(UserError, match="Q is not computed by one statement for another"):
        sardonyx.kernel(str(file), engine="golden")


def test_a_fused_program_has_one_result():
    text = "T(i) = b(i) + c(i); U(i) = T(i) * b(i); V(i) = T(i) * c(i); x(i) = U(i) + V(i)"
    b = np.arange(4)
    assert refusal(text, b=b, c=b, schedule="fuse(T)") == (
        f"{text}: U and V would leave the array from one fused program, which gives one result\n"
        "  try: fuse U as well, or do not fuse T")
    fused = sardonyx.einsum(text, b=b, c=b, engine="tokens", schedule="fuse(T,U,V)", arch="onyx")
    assert (fused.value == 2 * (b + b) * b).all()
    assert "V and x would leave" in refusal(text, b=b, c=b, schedule="fuse(T,U)")


def test_operands_of_programs_are_checked():
    assert "x" in refusal(TWICE, A=A)
    assert "y is computed by a statement" in refusal(TWICE, A=A, x=X, y=X)
    assert "index j runs to 12 in A(i,j) but to 11 in x(j)" in refusal(TWICE, A=A, x=X[:11])


def test_a_program_of_several_statements_is_explained_as_it_is_fused():
    told = api.explain_program(TWICE, schedule="fuse(y)", A=A, x=X)
    assert told.report["fused"] == {"y": "MEM tiles"} and told.report["tiles"]["mem"] == 12 and told.report["tiles"]["io"] == 5
    with pytest.raises(UserError, match="it runs as 2 programs, one after the other"):
        api.explain_program(TWICE)
    with pytest.raises(UserError, match=r"^split\(i,3\): a split cuts operands, and there are none\n  try: give the operands"):
        api.explain_program(TWICE, schedule="fuse(y) split(i,3)")
    with pytest.raises(UserError, match="y stays in MEM tiles, for which the public tools have no node"):
        api.explain_program(TWICE, schedule="fuse(y)", graph="g.gv")
    apart = "x(i) = b(i) - A(i,j) * d(j)"
    assert api.explain_program(apart, order="ji").report["sums_apart"] == {
        "x.sum1": "x.sum1(i) = A(i,j) * d(j), loops j i, in MEM tiles"}
    with pytest.raises(UserError) as error:
        api.explain_program(apart, order="ji", graph="g.gv")
    assert str(error.value) == ("g.gv: the sum A(i,j) * d(j) stays in MEM tiles, for which the public tools have no node\n"
                                "  try: use loop order i j")
    streams = "T(i,j) = C(i,k) * D(k,j); X(i,j) = B(i,j) * T(i,j)"
    assert api.explain_program(streams, schedule="fuse(T)", arch="onyx").report["fused"] == {"T": "streams"}


MANY = scipy.sparse.coo_array((np.array([1, 2]), (np.array([0, (1 << 40) - 1]), np.array([0, 5]))), shape=(1 << 40, 8))


@pytest.mark.parametrize("engine", ["golden", "tokens"])
@pytest.mark.parametrize("statement,said", [
    ("X(i,j) = B(i,j)",
     "result X of 1,099,511,627,776 x 8: a matrix with a word for each of its 1,099,511,627,776 rows takes 8,192 GB, more than "
     "16\n  try: number the coordinates that have nonzeros from 0 on, or compute the result in parts, or transpose it"),
    ("x(i) = B(i,j)",
     "result x of 1,099,511,627,776: an array of all elements takes 2,048 GB, more than 16\n"
     "  try: number the coordinates that have nonzeros from 0 on, or compute the result in parts")])
def test_a_result_that_no_memory_holds_is_refused_before_anything_runs(engine: str, statement: str, said: str) -> None:
    with pytest.raises(UserError) as error:
        sardonyx.einsum(statement, B=MANY, engine=engine)
    assert str(error.value) == said


@pytest.mark.parametrize("statement", ["X(j,i) = B(i,j)", "x(j) = B(i,j)", "x = B(i,j)"])
def test_an_operand_of_as_many_rows_gives_other_results(statement: str) -> None:
    found, right = (sardonyx.einsum(statement, B=MANY, engine=engine).value for engine in ("tokens", "golden"))
    assert np.sum(found) == np.sum(right) == 3
