"""Graphs of others through the Python interface and the command line, with operands of every kind."""

import json

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from drawings_elementwise import ELEMMUL, SCALED
from drawings_sums import MATMUL, SPMV, SPMV_DROP
from machines import KERNELS

import sardonyx
from sardonyx.api import explain_program
from sardonyx.cli import main
from sardonyx.compiler.ir.sam_dot import to_dot
from sardonyx.compiler.lang.einsum import parse
from sardonyx.compiler.sparse.lower import lower
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.errors import UserError
from sardonyx.tensors import values as tensors
from sardonyx.tensors.fibertree import Format, build
from sardonyx.tensors.level_files import written

B = np.array([[1, 0, -2, 0], [0, 0, 0, 0], [0, 3, 0, 4]])
C = np.array([[0, 5], [6, 0], [0, -1], [2, 2]])
HALF = presets.get("small").mem.level_words


@pytest.fixture
def folder(tmp_path):
    """A product of matrices in a file, with an operand of two kinds."""
    (tmp_path / "matmul.gv").write_text(MATMUL.text)
    data = tmp_path / "data"
    data.mkdir()
    scipy.io.mmwrite(data / "B.mtx", scipy.sparse.coo_array(B))
    for name, text in written("C", build(tensors.to_coo(C, "C"), Format("ss", (1, 0)))).items():
        (data / name).write_text(text)
    return tmp_path


def run(path, **options):
    return sardonyx.graph(path, **{"engine": "tokens", **options})


def refusal(*arguments, **options):
    with pytest.raises(UserError) as found:
        run(*arguments, **options)
    return str(found.value)


def test_a_graph_runs_on_files_and_on_arrays(folder):
    result = run(folder / "matmul.gv", folder=folder / "data", statement=MATMUL.statement)
    assert result.value.toarray().tolist() == (B @ C).tolist()
    assert result.report["checked_against"] == "NumPy: X(i,j) = B(i,k) * C(k,j)"
    assert result.report["result"] == "3 x 2, 3 nonzeros: (0, 1) 7, (2, 0) 26, (2, 1) 8"
    other = run(folder / "matmul.gv", folder=folder / "data", engine="fabric", B=2 * B)
    assert other.value.toarray().tolist() == (2 * B @ C).tolist()
    assert other.report["checked_against"] == "the token model only; --statement compares with NumPy"


def test_a_graph_runs_around_tiles_that_are_avoided(folder):
    found = run(folder / "matmul.gv", folder=folder / "data", engine="fabric", avoid="2-5,2-4", dump=folder / "out")
    assert np.array_equal(found.value.toarray(), B @ C)
    assert "<title>pe (2, 2): avoided</title>" in (folder / "out" / "array.svg").read_text()


def test_a_graph_runs_in_generated_verilog(folder):
    result = run(folder / "matmul.gv", folder=folder / "data", statement=MATMUL.statement, engine="rtl", arch=KERNELS)
    assert result.value.toarray().tolist() == (B @ C).tolist() and 50 < result.cycles < 500


def test_a_dense_result_and_a_scalar_are_files_too(tmp_path):
    (tmp_path / "scaled.gv").write_text(SCALED.text)
    (tmp_path / "tensor_b_mode_vals").write_text("2\n")
    np.save(tmp_path / "c.npy", np.array([1, 0, -3]))
    result = run(tmp_path / "scaled.gv", folder=tmp_path, out=tmp_path / "out")
    assert result.value.tolist() == [6, 0, -18]
    assert (tmp_path / "out/tensor_x_mode_vals").read_text() == "6\n0\n-18\n"
    assert sorted(path.name for path in (tmp_path / "out").glob("tensor*")) == ["tensor_x_mode_shape", "tensor_x_mode_vals"]
    np.save(tmp_path / "b.npy", 2)
    assert "tensor b is there more than once: b.npy, tensor_b_mode_vals" in refusal(tmp_path / "scaled.gv", folder=tmp_path)


def test_a_result_is_written_again_but_over_no_file_of_the_user(folder):
    out = folder / "out"
    for _ in range(2):
        run(folder / "matmul.gv", folder=folder / "data", out=out)
    assert (out / "tensor_X_mode_0_crd").read_text() == "0\n2\n"
    assert (out / "tensor_X_mode_shape").read_text() == "3\n2\n"
    (out / "tensor_X_mode_0_crd").write_text("mine\n")
    assert refusal(folder / "matmul.gv", folder=folder / "data", out=out) == (
        f"folder {out}: sardonyx did not write tensor_X_mode_0_crd, or the contents have changed since\n"
        "  try: name another folder, or move these files away")
    assert (out / "tensor_X_mode_0_crd").read_text() == "mine\n"


def test_an_operand_that_is_missing_or_unknown_or_there_twice_is_refused(folder):
    graph, data = folder / "matmul.gv", folder / "data"
    assert refusal(graph, B=B) == "operands: tensor C has no operand\n  try: give it by name, or a folder that has it"
    assert refusal(graph, folder=data, D=B) == "matmul.gv: the graph reads no tensor D\n  try: name one of B, C"
    np.save(data / "C.npy", C)
    assert refusal(graph, folder=data) == (f"{data}: tensor C is there more than once: C.npy, tensor_C_mode_0_crd\n"
                                           "  try: leave one of them there")
    (data / "B.mtx").unlink()
    assert refusal(graph, folder=data) == (f"{data}: there is no tensor B\n"
                                           "  try: put B.mtx, B.tns or B.npy there, or tensor_B_mode_vals and its like")


def test_operands_that_contradict_each_other_are_refused(folder):
    graph = folder / "matmul.gv"
    assert refusal(graph, B=B, C=B) == ("matmul.gv: index k has 4 coordinates in B and 3 in C\n"
                                        "  try: give operands whose shapes agree")
    assert refusal(graph, B=B[0], C=C) == ("operand B: it has 1 dimensions, but its format in matmul.gv 2\n"
                                           "  try: give a tensor of that many")


def test_a_statement_that_the_graph_does_not_compute_is_refused(folder):
    graph = folder / "matmul.gv"
    assert refusal(graph, B=B, C=C, statement="X(i,j) = 2 * B(i,k) * C(k,j)") == (
        "matmul.gv: 3 elements are not those of X(i,j) = 2 * B(i,k) * C(k,j): at (0, 1) the graph gives 7, and NumPy 14\n"
        "  try: correct the graph, or give the statement that it computes")
    assert refusal(graph, B=B, C=C, statement="X(i,j) = D(i,k) * C(k,j)") == (
        "X(i,j) = D(i,k) * C(k,j): the statement has tensor D, which the graph does not read\n"
        "  try: name operands of the graph: B, C")
    assert refusal(graph, B=B, C=C, statement="x(i) = B(i,k) * C(k,j)") == (
        "matmul.gv: the statement gives a result of 3, and the graph of 3 x 2\n  try: give the statement of this graph")


def test_what_does_not_fit_a_level_buffer_is_refused_with_its_size(tmp_path):
    (tmp_path / "elemmul.gv").write_text(ELEMMUL.text)
    side = HALF + 1
    long = scipy.sparse.coo_array((np.ones(side, int), (np.zeros(side, int), np.arange(side))), shape=(2, side))
    assert refusal(tmp_path / "elemmul.gv", B=long, C=long) == (
        f"operand B, 2 x {side}, {side:,} nonzeros: level 1 (mode 1) of B needs {side:,} words but half a level buffer holds "
        f"{HALF:,}\n  try: give smaller operands, or write the statement: `sardonyx run einsum` cuts them into sub-tiles")
    (tmp_path / "outer.gv").write_text(to_dot(lower(parse("X(i,j) = b(i) * c(j)"))))
    ones = np.ones(int(HALF ** 0.5) + 1, int)
    assert f"X1 of the result needs {len(ones) ** 2:,} words but half a level buffer holds {HALF:,}" in \
        refusal(tmp_path / "outer.gv", b=ones, c=ones)


def test_streams_that_run_out_of_step_are_told_at_their_node(tmp_path):
    """Behind a dropper the sums of no rows at all are a stream without a stop."""
    edges = SPMV_DROP.edges.replace("10 0 val", "10 7 val").replace("9 1 crd outer-i", "9 7 crd outer-i")
    text = SPMV_DROP._replace(nodes=SPMV_DROP.nodes + "7 crddrop i val mode=0\n",
                              edges=edges + "7 0 val inner-val\n7 1 crd outer-i\n").text
    (tmp_path / "spmv.gv").write_text(text)
    assert run(tmp_path / "spmv.gv", B=B, c=np.array([1, 0, 1, 0])).value.tolist() == [-1, 0, 0]
    assert refusal(tmp_path / "spmv.gv", B=B, c=np.zeros(4, int)) == (
        "spmv.gv: the streams of the graph do not go together on these operands: crddrop_7 (dropper): the streams are out of "
        "step: outer shows S0, inner shows D\n"
        "  try: compare it with the graph of the statement: sardonyx explain program EXPR --graph FILE")


def test_an_engine_that_computes_statements_runs_no_graph(folder):
    assert refusal(folder / "matmul.gv", folder=folder / "data", engine="golden") == (
        "engine: engine golden computes statements, not graphs\n"
        "  try: choose tokens, fabric or rtl; statement compares with NumPy")
    assert "missing.gv: cannot be read: No such file or directory" in refusal(folder / "missing.gv")


def test_the_graph_of_a_statement_is_written_and_run_on_the_command_line(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    assert main(["explain", "program", SPMV.statement, "--graph", "out/spmv.gv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["report"]["graph"] == "out/spmv.gv"
    np.save("c.npy", np.array([1, 2, 3, 4]))
    assert main(["run", "graph", "out/spmv.gv", "--operands", "data", "--c", "c.npy", "--engine", "tokens",
                 "--statement", SPMV.statement, "--out", "result"]) == 0
    assert "3, 2 nonzeros: (0) -5, (2) 22" in capsys.readouterr().out
    assert (folder / "result/tensor_x_mode_vals").read_text() == "-5\n22\n"
    (folder / "out/spmv.gv").write_text("mine")
    assert main(["explain", "program", SPMV.statement, "--graph", "out/spmv.gv"]) == 2
    assert (folder / "out/spmv.gv").read_text() == "mine"


def test_what_stays_in_mem_tiles_and_a_diagonal_have_no_graph_of_the_public_tools(tmp_path):
    with pytest.raises(UserError) as error:
        explain_program("X(i,j) = B(i,k) * C(k,j)", formats={"X": "ds"}, order="kij", graph=tmp_path / "x.gv")
    with pytest.raises(UserError, match=r"B\(i,i\) is a diagonal, for which graphs of the public tools have no operand"):
        explain_program("x(i) = B(i,i)", graph=tmp_path / "x.gv")
    assert str(error.value) == (f"{tmp_path / 'x.gv'}: sums around dense levels of X stay in MEM tiles, for which the public "
                                "tools have no node\n  try: give X compressed levels, or an order in which its loops are "
                                "outside of the sums")
    assert not (tmp_path / "x.gv").exists()


@pytest.mark.parametrize("text,form,engine", [("x(i) = B(i,j) * c(j)", "d", "rtl"), ("X(i,j) = B(i,j)", "ds", "fabric"),
                                              ("X(i,j) = B(i,j) - D(i,j)", "dd", "tokens")])
def test_a_graph_counts_the_outermost_levels_of_a_result_that_are_dense(text, form, engine, tmp_path):
    data = {"B": B, "c": np.array([2, 0, 1, -1]), "D": B[::-1]}
    data = {name: each for name, each in data.items() if f"{name}(" in text}
    explain_program(text, formats={text[0]: form}, graph=tmp_path / "x.gv")
    found = sardonyx.graph(tmp_path / "x.gv", engine=engine, arch=KERNELS, statement=text, out=tmp_path / "out", **data)
    right = B @ data["c"] if "c" in data else B - data.get("D", 0)
    assert np.array_equal(found.value if form == "d" else found.value.toarray(), right)
    assert not (tmp_path / "out" / f"tensor_{text[0]}_mode_0_crd").exists()
    sardonyx.graph(tmp_path / "x.gv", engine="tokens", statement=text, **{name: each * 0 for name, each in data.items()})


def test_a_result_that_is_read_or_lacks_coordinates_is_told(tmp_path):
    graph = tmp_path / "x.gv"
    explain_program("x(i) = b(i)", formats={"x": "d", "b": "d"}, graph=graph)
    text = graph.read_text()
    graph.write_text(text.replace("b=d0", "b=s0").replace('tensor="b" mode="0" format="dense"',
                                                          'tensor="b" mode="0" format="compressed"'))
    assert "the graph writes levels of x that do not belong together" in refusal(graph, b=np.array([1, 0, 2]))
    graph.write_text(text.replace('"b"', '"x"'))
    assert refusal(graph, b=np.array([1, 0, 2])) == (
        "x.gv: node 1 (arrayvals): it reads x, which the graph writes\n"
        "  try: read another tensor; of a result only dense levels are counted, with none above that is not dense")


SCATTERED = [("X(i,j) = B(i,j)", "sd", None), ("X(i,j) = B(i,j) + D(i,j)", "dd", None), ("x(i) = B(i,j)", "d", "ji"),
             ("X(i,j,k) = E(i,j,k)", "sdd", None), ("X(i,j,k) = E(i,j,k)", "ddd", None), ("X(i,j) = B(i,j)", "dd10", None),
             ("X(i,j) = B(i,k) * C(k,j)", "sd", "ikj"),
             ("X(i,j) = B(i,k) * C(k,j)", "dd", "kij"), ("X(i,j) = B(i,k) * C(k,j)", "dd01", "jki")]


@pytest.mark.parametrize("text,form,order", SCATTERED)
def test_a_graph_that_writes_values_at_their_places_gives_what_its_statement_gives(text, form, order, tmp_path):
    random = np.random.default_rng(len(text))
    data = {name: random.integers(-3, 4, shape) * (random.random(shape) < 0.4)
            for name, shape in (("B", (7, 5)), ("C", (5, 6)), ("D", (7, 5)), ("E", (4, 3, 5))) if f"{name}(" in text}
    explain_program(text, formats={text[0]: form}, order=order, arch="sparse", graph=tmp_path / "x.gv")
    found = sardonyx.graph(tmp_path / "x.gv", engine="tokens", statement=text, out=tmp_path / "out", **data)
    assert found.report["arch"] == "sparse" and (tmp_path / "out" / f"tensor_{text[0]}_mode_vals").exists()
    empty = {name: each * 0 for name, each in data.items()}
    sardonyx.graph(tmp_path / "x.gv", engine="fabric", statement=text, **empty)


@pytest.mark.parametrize("form,was,becomes,message", [
    ("dd10", "X=dd10", "X=sd10", "node 6 (fiberwrite): its places are in 2 dense levels, and X has 1\n"
     "  try: add a node of type position for each but the first"),
    ("dd", "  5 -> 6 ", "  4 -> 6 ", "node 6 (fiberwrite): its places are in 1 dense levels, and X has 2\n"
     "  try: add a node of type position for each but the first"),
    ("dd", "  4 -> 5 ", "  1 -> 5 ", "node 5 (position): its position is a reference of B, which is no result\n"
     "  try: take it from a locator of the result, or from another position"),
    ("dd", 'type="ref" comment="a"', 'type="crd" comment="a"', "node 4 (repeat): it gives no crd that an edge with comment 'a' "
     "could mean\n  try: write as comment of the edge whose stream it is, such as out-B, or outer-i and inner-j"),
    ("dd", "  4 -> 5 ", "  // ", "node 5 (position): it has inputs crd\n"
     "  try: give it one of type ref, the position outside, and one of type crd"),
    ("sd", "X=sd01", "X=ss01", "node 5 (fiberwrite): it writes values at places, and none of the innermost levels of X are "
     "dense, whose format is ss01\n  try: write 1 to 4 dense levels below compressed ones"),
    ("sd", "  2 -> 5 ", "  // ", "node 5 (fiberwrite): it has inputs crd\n"
     "  try: give it one of type crd or ref, the places, and one of type val")])
def test_places_that_cannot_be_read_are_told(form, was, becomes, message, tmp_path):
    path = tmp_path / "x.gv"
    explain_program("X(i,j) = B(i,j)", formats={"X": form}, arch="sparse", graph=path)
    text = path.read_text()
    assert was in text
    path.write_text(text.replace(was, becomes))
    with pytest.raises(UserError) as error:
        sardonyx.graph(path, B=np.eye(3, dtype=int), engine="tokens")
    assert str(error.value).partition(": ")[2] == message


def test_coordinates_are_multiplied_for_two_levels_alone(tmp_path):
    explain_program("X(i,j,k) = E(i,j,k)", formats={"X": "sdd"}, arch="sparse", graph=tmp_path / "x.gv")
    text = (tmp_path / "x.gv").read_text()
    turned = text.replace('comment="c"', 'comment="b"').replace('comment="a"', 'comment="c"').replace('"b"', '"a"')
    (tmp_path / "x.gv").write_text(turned)
    assert refusal(tmp_path / "x.gv", E=np.ones((2, 3, 4), int)) == (
        "x.gv: node 6 (position): it multiplies coordinates, as only the second of two dense levels does that are all of a "
        "result\n  try: store the result in the order of the loops")


def test_dense_levels_that_no_buffer_holds_are_told(tmp_path):
    explain_program("X(i,j) = B(i,j)", formats={"X": "dd"}, arch="sparse", graph=tmp_path / "x.gv")
    with pytest.raises(UserError) as error:
        sardonyx.graph(tmp_path / "x.gv", B=np.eye(50, dtype=int), engine="tokens")
    assert str(error.value) == ("x.gv: the dense levels of X have 2,500 values but half a level buffer holds 1,024\n"
                                "  try: give smaller operands, or write the statement: `sardonyx run einsum` cuts them into "
                                "sub-tiles")
