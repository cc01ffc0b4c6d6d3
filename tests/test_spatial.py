"""Spatial arrays as a user meets them: in Python, as files, and on the command line."""

import dataclasses
import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from mutations import try_to_read

import sardonyx
from sardonyx import component_files, designs
from sardonyx import spatial as sp
from sardonyx.cli import main
from sardonyx.hw.arch.errors import UserError

PRODUCT = sp.functionality("C(i,j) = A(i,k) * B(k,j)")
STATIONARY = sp.Transform([[0, 0, 1], [1, 0, 0], [1, 1, 1]])
# A product with another index, and one whose recurrences are written by hand.
OTHERS = ("matmul_cube", "matmul_output_stationary")
SMALL = sp.Design(PRODUCT, STATIONARY, {"i": 2, "j": 3, "k": 2})
ROWS = [sp.skip(sp.indices("j")[0], where=sp.inputs("B")[0](*sp.indices("k j")) == 0)]
ONES = {"A": np.ones((2, 2), int), "B": np.ones((2, 3), int)}


def test_only_the_transform_tells_designs_of_a_product_apart() -> None:
    names = [name for name in designs.names() if name.startswith("matmul_") and name not in OTHERS]
    assert len(names) == 5
    texts = [re.sub(r'""".*?"""|Transform\(.*?\]\)|name="\w+"', "", Path(
        f"{sardonyx.__path__[0]}/apps/spatial/{name}.py").read_text(), flags=re.S) for name in names]
    assert len(set(texts)) == 1


def test_only_the_skips_tell_sparse_designs_of_a_product_apart() -> None:
    names = [name for name in designs.names() if name.startswith("sparse_") and name != "sparse_sum"]
    assert len(names) == 4
    texts = [re.sub(r'""".*?"""|sparsity=\[.*\]|name="\w+"', "", Path(
        f"{sardonyx.__path__[0]}/apps/spatial/{name}.py").read_text(), flags=re.S) for name in names]
    assert len(set(texts)) == 1
    for name in names:
        assert designs.design(name).run("tokens").report["elements_checked"] == 128


@pytest.mark.parametrize("engine,stalls", [("tokens", None), ("rtl", None), ("rtl", 5)])
def test_a_diagonal_matrix_takes_the_pes_of_the_diagonal_alone(engine: str, stalls: "int | None") -> None:
    design, random = designs.design("sparse_diagonal"), np.random.default_rng(1)
    a = np.stack([np.diag(row) for row in random.integers(-99, 99, (6, 4))])
    b = random.integers(-99, 99, (6, 4, 32))
    result = design.run(engine, stalls, A=a, B=b)
    assert np.array_equal(result.value, a @ b) and result.report["pes"] == 4
    assert design.run("tokens").report["elements_checked"] == 128
    with pytest.raises(UserError) as refused:
        design.run("golden", A=np.ones((4, 4), int))
    assert refused.value.what == "A(0, 1) is not 0, but is skipped: skip i and k where i != k"


def test_200_random_diagonal_matrices_with_zeros_on_them_are_exact() -> None:
    design = dataclasses.replace(designs.design("sparse_diagonal"), bounds={"i": 4, "j": 3, "k": 4})
    given, random = design.random(200, 7), np.random.default_rng(7)
    given["A"] *= random.random(given["A"].shape) < random.random((200, 1, 1)) * 1.2
    assert design.run("tokens", **given).report["operations"] == 200


def test_five_concerns_are_enough_for_a_design_of_four_points_an_index(tmp_path: Path) -> None:
    j, k, b = *sp.indices("j k"), *sp.inputs("B")
    design = sp.Design(functionality=PRODUCT, dataflow=STATIONARY, sparsity=[sp.skip(j, where=b(k, j) == 0)], balance=[],
                       buffers={"B": sp.Buffer("dense", "compressed", words=4096)})
    assert design.bounds == {"i": 4, "j": 4, "k": 4} == dataclasses.replace(design, name="other").bounds
    design.verilog(tmp_path / "is")
    design.picture(tmp_path / "is.svg")
    x, y = np.arange(16).reshape(4, 4), np.diag([3, 0, -1, 2])
    assert np.array_equal(design.run("tokens", A=x, B=y).value, x @ y)


def test_recurrences_by_hand_are_those_of_the_statement() -> None:
    by_hand = designs.design("matmul_output_stationary").functionality
    assert set(by_hand.assignments) == set(PRODUCT.assignments)
    assert dict(by_hand.declared) == dict(PRODUCT.declared)


@pytest.mark.parametrize("engine", ["golden", "tokens"])
def test_an_operand_without_an_axis_for_operations_is_the_same_for_all(engine: str) -> None:
    a = np.arange(12).reshape(3, 2, 2)
    result = SMALL.run(engine, A=a, B=ONES["B"])
    assert np.array_equal(result.value, a @ ONES["B"])
    assert SMALL.run(engine, **ONES).value.shape == (2, 3)


def test_random_operands_stay_for_as_many_operations_as_a_buffer_says() -> None:
    kept = sp.Design(PRODUCT, STATIONARY, {"i": 2, "j": 3, "k": 2}, buffers={"A": sp.Buffer("dense", "dense", operations=2)})
    given = kept.random(5, 1)
    assert given["A"].shape == (5, 2, 2) and np.array_equal(given["A"][0:4:2], given["A"][1:4:2])
    assert not np.array_equal(given["A"][0], given["A"][2]) and not np.array_equal(given["B"][0], given["B"][1])
    assert kept.run("tokens", **given).value.shape == (5, 2, 3)


@pytest.mark.parametrize("kind", [scipy.sparse.csr_array, scipy.sparse.coo_matrix])
def test_operands_may_be_sparse_arrays(kind: type) -> None:
    a, b = np.array([[[0, 3], [0, 0]], [[1, 0], [-2, 5]]]), np.array([[0, 7, 0], [4, 0, 0]])
    assert np.array_equal(SMALL.run("tokens", A=kind(a[0]), B=kind(b)).value, a[0] @ b)
    assert np.array_equal(SMALL.run("tokens", A=[kind(each) for each in a], B=b).value, a @ b)


@pytest.mark.parametrize("operands,said", [
    ({"A": scipy.sparse.csr_array((1 << 30, 1 << 30), dtype=int)}, "it has the shape (1073741824, 1073741824)"),
    ({"A": [scipy.sparse.csr_array((2, 3), dtype=int)]}, "it has the shape (2, 3)"),
    ({"A": scipy.sparse.csr_array((2, 2))}, "it holds float64"), ({"A": []}, "it has the shape (0,)"),
    ({"D": 3}, "there is no input D"), ({"A": np.ones((3, 2))}, "it holds float64"),
    ({"A": np.ones((3, 2), int)}, "it has the shape (3, 2)"), ({"A": [[1, 2], [3]]}, "which is no array"),
    ({"A": np.full((2, 2), 1 << 15)}, "it has values from 32768 to 32768"),
    ({"A": np.ones((2, 2, 2), int), "B": np.ones((3, 2, 3), int)}, "the operands are of 2 (A) and 3 (B) operations"),
    ({"A": np.ones((0, 2, 2), int)}, "the operands are of 0 operations"), ({"A": "text"}, "it holds <U4"),
    ({"engine": "fabric"}, "there is no engine 'fabric'"), ({"engine": "tokens", "stalls": 3}, "engine tokens has no stalls"),
    ({"stalls": 0}, "it is 0, but has to be 1 or more"),
])
def test_operands_and_options_that_do_not_fit_are_refused(operands: "dict[str, object]", said: str) -> None:
    with pytest.raises(UserError) as refused:
        SMALL.run(**operands)     # type: ignore[arg-type]
    assert said in refused.value.what and refused.value.fix


@pytest.mark.parametrize("lengths,said", [
    ([3, 4], "it is 4, but has to be 3 or less"), ([0, 3], "it is 0, but has to be 1 or more"),
    ([3], "1 length of 2 operations"), ([3, 1.5], "it is 1.5, which is no whole number"),
])
def test_lengths_that_do_not_fit_are_refused(lengths: "list[int]", said: str) -> None:
    design = sp.Design(PRODUCT, STATIONARY, {"i": 2, "j": 3, "k": 2}, short=True)
    given = {"A": np.ones((2, 2, 2), int), "B": ONES["B"]}
    with pytest.raises(UserError) as refused:
        design.run("tokens", lengths=lengths, **given)
    assert said in refused.value.what
    with pytest.raises(UserError, match="operations of this array all have the same length"):
        SMALL.run("tokens", lengths=[3, 3], **given)
    assert design.run("tokens", lengths=[1, 3], **given).value.sum(axis=(1, 2)).tolist() == [4, 12]


@pytest.mark.parametrize("made,said", [
    (lambda: sp.Design(PRODUCT, sp.Transform([[1, 0, 0], [0, 1, 0], [1, 1, 1]]), {"i": 2, "j": 2, "k": 2}, short=True).spatial,
     "its operations cannot end early: their last step differs, or they overlap"),
    (lambda: sp.Design(PRODUCT, STATIONARY, {"i": 2, "j": 2, "k": 2}, sparsity=ROWS, short=True).pruned,
     "under skips by values an array is elastic: its operations end with their fibers, which are as long as values make them"),
    (lambda: sp.Design(PRODUCT, STATIONARY, {"i": 2, "j": 2, "k": 2}, sparsity=ROWS, clock_gate=True).run(),
     "under skips by values an array is elastic: each PE waits by itself, so that no clock stops for all of them"),
    (lambda: sp.Design("C = A", STATIONARY, {}), "which is no Recurrences"),
    (lambda: sp.Design(PRODUCT, [[1]], {}), "which is no Transform"),
    (lambda: sp.Design(PRODUCT, STATIONARY, [4]), "which is no Mapping"),
    (lambda: sp.Design(PRODUCT, STATIONARY, {}).spatial, "index i has no bound"),
    (lambda: sp.Design(PRODUCT, sp.Lanes(sp.indices("k")[0], sp.indices("i j"), lanes=2, ports=1)), "there are none"),
    (lambda: sp.Design(PRODUCT, STATIONARY, {}, name="fifo2_w16"), "fifo2_w16 is the name of a part"),
    (lambda: sp.Design(PRODUCT, STATIONARY, {}, name="module"), "module is a keyword of Verilog"),
    (lambda: sp.Design(PRODUCT, STATIONARY, {}, sparsity=["k"]), "which is no list of skips"),
    (lambda: sp.skip(sp.indices("j")[0]), "there is none"),
    (lambda: sp.optimistic_skip(sp.indices("j")[0], keep=2, of=4), "there is none"),
    (lambda: sp.shift(sp.indices("i")[0], by=-1), "there is none"),
    (lambda: sp.shift(sp.indices("i")[0]), "it has neither `by` nor `to`"),
    (lambda: sp.indices("i j i"), "i is named twice"), (lambda: sp.inputs("A A"), "A is named twice"),
    (lambda: sp.search(PRODUCT, 4), "which is no Mapping"),
    (lambda: sp.search("x(i) = A(i,j)", {}), "which is no Recurrences"),
    (lambda: sp.search(sp.functionality("x(i) = A(i)"), {"i": 3}), "there is one index"),
    (lambda: sp.Design(PRODUCT, STATIONARY, {"i": 2, "j": 2, "k": 2}, name="a b").spatial, "name is 'a b'"),
    (lambda: sp.Design(PRODUCT, STATIONARY, {}, short="no"), "it is 'no', which is neither true nor false"),
    (lambda: sp.Design(PRODUCT, STATIONARY, {}, clock_gate=np.zeros(2)), "which is neither true nor false"),
    (lambda: sp.variables("x", dtype=np.zeros(2)), "there is no dtype array([0., 0.])"),
    (lambda: sp.Buffer("dense", np.zeros(2)), "there is no level array([0., 0.])"),
    (lambda: sp.Buffer("dense", order=np.zeros(2)), "order is of type ndarray"),
])
def test_what_is_no_concern_of_a_design_is_refused(made, said: str) -> None:     # type: ignore[no-untyped-def]
    with pytest.raises(UserError) as refused:
        made()
    assert said in refused.value.what


def test_the_verilog_is_the_same_every_time_no_design_is_called_like_a_part_and_files_of_others_stay(tmp_path: Path) -> None:
    for name in ("a", "b"):
        SMALL.verilog(tmp_path / name)
    files = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert {"array.sv", "array.f", "array.json", "array.svg", "lint.vlt"} <= set(files)
    assert all((tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes() for name in files)
    for part in (name.removesuffix(".sv") for name in files if name.endswith(".sv") and not name.startswith("array")):
        with pytest.raises(UserError, match=f"{part} is the name of a part"):
            dataclasses.replace(SMALL, name=part)
    ports = json.loads((tmp_path / "a/array.json").read_text())["inputs"]
    assert [word["element"] for word in ports[0]["words"]] == [[0, 0]]
    (tmp_path / "a/array.sv").write_text("mine")
    with pytest.raises(UserError, match=r"did not write array\.sv"):
        SMALL.verilog(tmp_path / "a")
    assert (tmp_path / "a/array.sv").read_text() == "mine"


def test_a_picture_has_every_pe_and_way(tmp_path: Path) -> None:
    drawn = SMALL.picture(tmp_path / "array.svg")
    assert (tmp_path / "array.svg").read_text() == drawn
    assert drawn.count("<rect") == 1 + len(SMALL.spatial.cells)
    assert "b moves by (0, 1) in 1 step" in drawn and "a stays in its PE for 1 step" in drawn


def test_a_picture_of_an_array_that_waits_for_coordinates_says_no_steps() -> None:
    drawn = sp.Design(PRODUCT, STATIONARY, SMALL.bounds, sparsity=ROWS).picture()
    assert "4 PEs  ·  wait for coordinates: no step is known in advance" in drawn
    assert 'class="mid span"' in SMALL.picture() and 'class="mid span"' not in drawn and "steps for" not in drawn


def test_names_of_ports_in_a_picture_do_not_touch() -> None:
    found = re.findall(r'<text x="(\d+)" y="(\d+)" class="quiet mid">([^<]+)', designs.design("sparse_sum").picture())
    assert {name for *_, name in found} == {"A, B", "C"} and len(found) == 8
    for one, other in itertools.combinations(found, 2):
        apart = abs(int(one[0]) - int(other[0])) - 3.5 * len(one[2] + other[2])     # a letter has some 7 pixels
        assert apart > 0 or abs(int(one[1]) - int(other[1])) >= 11, (one, other)


def test_the_command_line_lists_explains_and_runs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["spatial", "list"]) == 0
    assert all(name in capsys.readouterr().out for name in ("matmul_hexagonal",))
    assert main(["spatial", "explain", "matmul_hexagonal", "--picture", str(tmp_path / "hex.svg")]) == 0
    assert "37 PEs, 90 wires between them" in capsys.readouterr().out
    assert main(["spatial", "run", "sparse_gustavson", "--engine", "tokens", "--operations", "3", "--bound", "j=5"]) == 0
    assert "elements checked      60" in capsys.readouterr().out
    assert main(["spatial", "run", "matmul_deep", "--engine", "tokens", "--operations", "3", "--bound", "i=2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["report"]["elements_checked"] == 24
    np.save(tmp_path / "x.npy", np.arange(16, dtype=np.int16))
    assert main(["spatial", "run", "fir_filter", "--engine", "tokens", "--X", str(tmp_path / "x.npy")]) == 0


def test_the_command_line_reads_matrices_and_tensors_of_text(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    matrix, tensor, real = (tmp_path / name for name in ("b.mtx", "b.tns", "real.mtx"))
    matrix.write_text("%%MatrixMarket matrix coordinate integer general\n4 32 2\n1 3 -7\n4 32 5\n")
    tensor.write_text("1 1 3 -7\n2 4 32 5\n")
    real.write_text("%%MatrixMarket matrix coordinate real general\n4 32 1\n1 3 0.4\n")
    run = ["spatial", "run", "sparse_csr_dense", "--engine", "tokens", "--json", "--B"]
    for file, more, count in ((matrix, [], 1), (tensor, [], 2), (real, ["--values", "round"], 1)):
        assert main([*run, str(file), *more]) == 0
        assert json.loads(capsys.readouterr().out)["report"]["operations"] == count
    assert main([*run, str(real)]) == 2
    assert "value 0.4 at (1, 3) is not an integer" in capsys.readouterr().err
    assert main([*run, str(matrix), "--bound", "j=5"]) == 2
    assert "B: it has the shape (4, 32)" in capsys.readouterr().err
    tensor.write_text("1 1 1 1\n9000 9000 9000 1\n")
    assert main([*run, str(tensor)]) == 2
    assert "it has the shape 9000 x 9000 x 9000" in capsys.readouterr().err
    real.write_text("%%MatrixMarket matrix coordinate pattern general\n32 1 2\n3 1\n32 1\n")
    assert main(["spatial", "run", "outerspace", "--engine", "tokens", "--json", "--A", str(matrix), "--B", str(real)]) == 0
    assert json.loads(capsys.readouterr().out)["report"]["partial_products"] == 2


def test_a_search_without_bounds_takes_those_of_a_design_without() -> None:
    statement = sp.functionality("x(i) = A(i,j)")
    assert sp.search(statement).report == sp.search(statement, {"i": 4, "j": 4}).report


def test_the_command_line_searches_statements_and_designs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    plot = tmp_path / "plot.svg"
    assert main(["spatial", "search", "x(i) = A(i,j) * B(j)", "--bound", "i=3", "--picture", str(plot), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)["report"]
    assert report["tried"] == 32 and report["best"][0]["pes"] == 3
    assert plot.read_text().startswith("<svg")
    assert main(["spatial", "search", "x(i) = A(i,j) * B(j)", "--sparse", "A=ds", "--bound", "j=16", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["report"]["best"][0]["skips"] == ["skip j where A(i, j) == 0"]
    assert main(["spatial", "soc", "tiled_matmul", "--no-core", "--ports", "1", "--out", str(tmp_path / "soc"),
                 "--product", "3x9x4", "--bound", "i=2", "--bound", "j=2", "--bound", "k=2"]) == 0
    assert "elements checked" in capsys.readouterr().out
    assert {"tiled_matmul.sv", "tiled_matmul.f", "spatial.h", "accelerator.json"} <= {
        path.name for path in (tmp_path / "soc").iterdir()}
    assert main(["spatial", "search", "longest_common", "--bound", "i=3", "--bound", "j=3"]) == 0
    assert "of 32 transforms fit" in capsys.readouterr().out


@pytest.mark.parametrize("words,said", [
    (["search", "C(i,j) = A(i,k)"], "an index of the result is on no tensor of the right side"),
    (["search", "x(i) = A(i,j)", "--sparse", "A=ds", "--sparse", "A=ds"], "--sparse: an operand has two formats"),
    (["search", "x(i) = A(i,j)", "--sparse", "A=ss"], "it is not a letter d for each dimension but the last"),
    (["search", "x(i) = A(i,j)", "--sparse", "A=ds", "--density", "0"], "density: it is 0.0"),
    (["explain", "matmul_hexagon"], "matmul_hexagon: there is no design of this name\n  try: use matmul_hexagonal"),
    (["explain", "none.py"], "none.py: no such file"),
    (["soc", "tiled_matmull"], "tiled_matmull: there is no design of this name\n  try: use tiled_matmul"),
    (["soc", "tiled_matmul"], "there is nothing to do\n  try: give --out DIR, --product RxCxT or, of vectors, --operations N"),
    (["soc", "tiled_matmul", "--product", "3x4x5", "--stored", "3"], "stored: it is 3\n  try: give 1, 2 or 4 bytes"),
    (["soc", "tiled_matmul", "--product", "3x4"], "'3x4' is no shape of a product: write 20x12x16"),
    (["soc", "tiled_matmul", "--product", "0x3x4"], "product: a product of 0 x 3 x 4\n  try: give whole numbers 1..65535"),
    (["soc", "tiled_matmul", "--product", "99999x3x4"],
     "product: a product of 99999 x 3 x 4\n  try: give whole numbers 1..65535"),
    (["soc", "tiled_matmul", "--product", "9999x9999x9999"],
     "product: random matrices with 299,940,003 elements\n  try: use 1,048,576 or fewer, or give matrices in Python"),
    (["soc", "matmul_deep", "--product", "3x4x5"], "buffers has none for A, B\n  try: give each operand a private buffer"),
    (["soc", "tiled_matmul", "--ports", "17", "--product", "1x1x1"], "dma: ports is 17\n  try: give a whole number 1..16"),
    (["soc", "outerspace", "--ports", "4", "--product", "3x4x5"],
     "--ports: an outer product has no such choice\n  try: give --bound ports=N"),
    (["soc", "outerspace", "--bound", "rows=17", "--product", "3x4x5"], "rows is 17"),
    (["soc", "scnn", "--product", "3x4x5"], "scnn: requests bring its operands as fibers, part by part, not as matrices"),
    (["run", "matmul_deep", "--operations", "999999999"], "--operations: 999999999 operations"),
    (["run", "matmul_deep", "--bound", "i"], "'i' is not an index and an extent: write i=8"),
    (["run", "matmul_deep", "--bound", "q=8", "--engine", "tokens"], "bounds: there is no index q"),
    (["run", "matmul_deep", "--bound", "i=8", "--bound", "i=9"], "--bound: an index has two bounds"),
])
def test_mistakes_on_the_command_line_are_told(words: "list[str]", said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["spatial", *words]) == 2
    assert said in capsys.readouterr().err


def test_where_nothing_can_be_written_is_told_before_verilog_is_made(
        tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(component_files.emit, "emit", None)
    (tmp_path / "a file").touch()
    (tmp_path / "array.json").write_text("not ours")
    for out, said in ((tmp_path / "a file", "a file is a file\n  try: name a folder, which need not be there"),
                      (tmp_path, "sardonyx did not write array.json, or the contents have changed since")):
        assert main(["spatial", "verilog", "matmul_deep", "--out", str(out)]) == 2
        assert said in capsys.readouterr().err


@pytest.mark.parametrize("text,said", [
    ("design = 3", "it has no `design` that is a sardonyx.spatial.Design"), ("x = (", "SyntaxError"),
    ("\nx = 1 / 0", "mine.py:2: ZeroDivisionError: division by zero"), ("raise SystemExit(3)", "it ends Python"),
    ("raise GeneratorExit('now')", "mine.py:1: GeneratorExit: now"),
    ("from sardonyx import spatial as sp\nsp.indices('3')", "is no name"), ("\0", "mine.py: SyntaxError"),
])
def test_a_file_without_a_design_is_told(text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                         monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(text)
    assert main(["spatial", "explain", "mine.py"]) == 2
    assert said in capsys.readouterr().err


def test_damaged_files_of_designs_are_read_or_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    text = Path(designs.shipped.__path__[0], "fir_filter.py").read_bytes()

    def read(content: bytes) -> object:
        file.write_bytes(content)
        return designs.any_design(str(file))

    assert sum(try_to_read(read, text, seed) for seed in range(150)) > 5
