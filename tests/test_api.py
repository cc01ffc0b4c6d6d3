"""The Python interface: values of every kind, engines without hardware, files, refusals."""

import dataclasses
import json

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from machines import LEAST

import sardonyx
from sardonyx import api, explained
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.errors import UserError

RANDOM = np.random.default_rng(5)
B = scipy.sparse.csr_array(RANDOM.integers(-3, 4, (23, 17)) * (RANDOM.random((23, 17)) < 0.3))
C = scipy.sparse.csr_array(RANDOM.integers(-3, 4, (17, 19)) * (RANDOM.random((17, 19)) < 0.3))


@pytest.mark.parametrize("engine", ["golden", "tokens", "fabric"])
def test_a_matrix_product_is_scipys(engine):
    result = sardonyx.einsum("X(i,j) = B(i,k) * C(k,j)", B=B, C=C, order="ijk", formats={"C": "ss10"}, engine=engine)
    assert (result.value != B @ C).nnz == 0
    assert scipy.sparse.issparse(result.value) and result.cycles is None


def test_results_are_scalars_vectors_and_tensors_too():
    cube = RANDOM.integers(-2, 3, (4, 5, 6))
    assert sardonyx.einsum("x = B(i,j,k) * C(i,j,k)", B=cube, C=cube, engine="tokens").value == (cube * cube).sum()
    vector = sardonyx.einsum("x(i) = B(i,j) * c(j)", B=B, c=np.arange(17), engine="tokens").value
    assert (vector == B @ np.arange(17)).all()
    assert (sardonyx.einsum("X(i,j,k) = B(i,j,k) + B(i,j,k)", B=cube, engine="tokens").value == 2 * cube).all()


def test_the_report_says_what_is_not_cut_and_what_the_host_does_instead():
    whole = sardonyx.einsum("X(i,j) = relu(B(i,k) * C(k,j) - 1)", B=B, C=C, engine="fabric", tile=5)
    cut = sardonyx.einsum("X(i,j) = relu(B(i,k) * C(k,j) - 1)", B=B, C=C, engine="fabric", tile={"k": 5})
    expected = np.maximum((B @ C).toarray() - 1, 0)
    assert (whole.value.toarray() == expected).all() and (cut.value.toarray() == expected).all()
    assert whole.report["not_cut"] == "k, summed inside a function" and "by_the_host" not in whole.report
    assert cut.report["by_the_host"] == "relu(X(i,j) - 1), where sub-tiles are added" and "not_cut" not in cut.report
    told = api.explain_program("X(i,j) = relu(B(i,k) * C(k,j))", B=B, C=C).report
    assert told["by_the_host"] == "relu(X(i,j)), where sub-tiles are added" and told["tiles"]["pe"] > 0


@pytest.mark.parametrize("tile", [None, 7])
def test_results_of_dense_levels_are_arrays_and_those_of_dense_rows_are_sparse(tile):
    rows = sardonyx.einsum("X(i,j) = B(i,k) * C(k,j)", B=B, C=C, formats={"X": "ds"}, engine="fabric", tile=tile)
    assert (rows.value != B @ C).nnz == 0
    dense = sardonyx.einsum("X(i,j) = B(i,k) * C(k,j)", B=B, C=C, formats={"X": "dd"}, engine="fabric", tile=tile)
    assert type(dense.value) is np.ndarray and (dense.value == (B @ C).toarray()).all()
    assert (sardonyx.einsum("X(i,j) = B(i,j)", B=B, formats={"X": "dd"}, engine="golden").value == B.toarray()).all()


def test_values_wrap_at_16_bits():
    large = np.array([30000, -30000])
    assert sardonyx.einsum("x(i) = b(i) + b(i)", b=large, engine="tokens").value.tolist() == [-5536, 5536]


def test_a_tensor_may_be_used_twice():
    square = scipy.sparse.csr_array(RANDOM.integers(-2, 3, (30, 30)) * (RANDOM.random((30, 30)) < 0.2))
    result = sardonyx.einsum("X(i,j) = B(i,k) * B(k,j)", B=square, engine="tokens", tile=11)
    assert (result.value != square @ square).nnz == 0


def test_an_empty_operand_gives_an_empty_result():
    result = sardonyx.einsum("X(i,j) = B(i,k) * C(k,j)", B=B * 0, C=C, engine="tokens")
    assert result.value.nnz == 0 and result.value.shape == (23, 19)


def test_files_are_operands_and_results(tmp_path):
    scipy.io.mmwrite(tmp_path / "b.mtx", B.astype(np.int64))
    scipy.io.mmwrite(tmp_path / "c.mtx", C.astype(np.int64))
    result = api.einsum("X(i,j) = B(i,k) * C(k,j)", B=tmp_path / "b.mtx", C=tmp_path / "c.mtx", engine="golden")
    api.save(result, tmp_path / "x.mtx")
    assert (scipy.io.mmread(tmp_path / "x.mtx") != B @ C).nnz == 0


def test_a_kernel_runs_on_random_operands_by_name():
    assert api.kernel("sddmm", engine="fabric", arch="onyx", size=9, density=0.5).report["words_checked"] > 0


@pytest.mark.parametrize("arguments,message", [
    ({"B": B, "engine": "fpga"},
     "there is no engine 'fpga'\n  try: choose one of golden, tokens, fabric, rtl, rtl-full, rtl-system"),
    ({"B": B * 0.5},
     "B: value -1.5 at (0, 2) is not an integer (and 78 more)\n"
     "  try: scale and round the values (of a file: --values round, in Python values='round')"),
    ({"B": B, "arch": "huge"},
     "there is no preset 'huge'\n  try: choose one of tiny, small, sparse, fpga, amber, onyx, or give a .json file"),
    ({"B": B, "arch": 5}, "arch: it is of type int, which is no machine\n"
                          "  try: name one of tiny, small, sparse, fpga, amber, onyx or a .json file, or give an Arch"),
    ({"B": B, "tile": 2.5}, "tile: it is 2.5, which is no whole number\n  try: give a whole number, 1 or more"),
    ({"B": B, "tile": {"i": 0}}, "tile['i']: it is 0, but has to be 1 or more\n  try: give a whole number, 1 or more"),
    ({"B": B, "seed": "a"}, "seed: it is 'a', which is no whole number\n  try: give a whole number, 0 or more"),
    ({"B": B, "values": "bogus"}, "there is no way to take values 'bogus'\n  try: choose one of exact, round, small"),
    ({"B": B, "engine": "golden", "dump": "new"},
     "dump: engine golden compiles nothing that could be written\n  try: choose another engine"),
    ({"B": B, "engine": "tokens", "power": "sky130hd"},
     "power: engine tokens has no switching to count\n  try: choose rtl or rtl-full"),
    ({"B": B, "power": "gf180"}, "there is no cell library 'gf180'\n  try: choose one of sky130hd, asap7"),
    ({"B": np.ma.array([[1, 2]], mask=[[0, 1]])},
     "B is masked\n  try: say what masked elements are, as with array.filled(0)"),
    ({"B": B, "order": 3}, "order: it is 3, which is no loop order\n  try: give a text, such as 'ijk'"),
    ({"B": B, "order": [0, 1]}, "order: it is [0, 1], which is no loop order\n  try: give a text, such as 'ijk'"),
    ({"B": B, "formats": "B"}, "formats: it is of type str, which says no names\n"
                               "  try: give a dictionary, formats={'name': ...}"),
    ({"B": B, "formats": {"B": 5}}, "formats: it holds 'B': 5, which is no format of a tensor\n"
                                    "  try: give texts, as formats={'B': 'ss10'}"),
    ({"B": B, "progress": None}, "progress: it is None, which is no function\n"
                                 "  try: give a function of a text, or leave it out"),
    ({"B": B, "engin": "tokens"}, "X(i,j) = B(i,j): operand engin is not in the program\n  try: give B, or the option engine"),
    ({"B": B, "dump": 5}, "dump: it is 5, which is no path\n  try: name a folder, which need not be there"),
    ({"B": B, "dump": "a\0b"}, "dump: it is 'a\\x00b', which is no path\n  try: name a folder, which need not be there"),
    ({"B": B, "dump": "/proc/x"}, "dump: /proc/x cannot be made: No such file or directory\n"
                                  "  try: name a folder that can be written"),
    ({"B": B, "tile": 10 ** 20}, "tile: it is 100000000000000000000, but has to be 2147483647 or less\n"
                                 "  try: give a whole number from 1 to 2147483647"),
    ({"B": B, "seed": 10 ** 5000}, "seed: it is a very long int, but has to be 9223372036854775807 or less\n"
                                   "  try: give a whole number from 0 to 9223372036854775807"),
    ({"B": B, "order": np.array(3)}, "order: it is array(3), which is no loop order\n  try: give a text, such as 'ijk'"),
    ({"B": "b\0.mtx"}, "'b\\x00.mtx': this is no path: it holds a NUL\n  try: give the path of a file"),
])
def test_what_does_not_fit_is_refused(arguments, message):
    with pytest.raises(UserError) as error:
        sardonyx.einsum("X(i,j) = B(i,j)", **arguments)
    assert str(error.value) == message


def test_an_expression_is_a_text_and_a_kernel_has_a_density():
    with pytest.raises(UserError, match="expression: it is of type int, which is no text"):
        sardonyx.einsum(5)
    with pytest.raises(UserError, match="density: it is 2, which is no share"):
        api.kernel("spmv", density=2)
    with pytest.raises(UserError, match="density: it is a very long int, which is no share"):
        api.kernel("spmv", density=10 ** 5000)


def test_a_file_that_is_no_text_is_no_bitstream(tmp_path):
    (tmp_path / "app.bits").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="not a bitstream"):
        explained.explain_bitstream(tmp_path / "app.bits")


def test_tensors_may_be_called_as_the_arguments_of_python_are():
    result = sardonyx.einsum("x(i) = expression(i) * name(i)", expression=np.array([1, 2]), name=np.array([3, 4]),
                             engine="golden")
    assert result.value.tolist() == [3, 8]


@pytest.mark.parametrize("name,value", [("order", np.arange(3)), ("tile", 5), ("seed", np.arange(3)), ("dump", np.arange(3)),
                                        ("engine", np.arange(3)), ("arch", "a.npy"), ("power", "asap7")])
def test_a_tensor_that_is_called_like_an_option_is_to_be_renamed(name, value):
    with pytest.raises(UserError) as error:
        sardonyx.einsum(f"x(i) = {name}(i) * b(i)", **{name: value, "b": np.arange(3)})
    assert str(error.value) == (f"x(i) = {name}(i) * b(i): tensor {name} is called like an option, so that no operand reaches "
                                "it\n  try: rename it in the expression")


def test_an_index_may_be_called_like_an_option():
    assert sardonyx.einsum("x(seed) = b(seed)", b=np.arange(3), engine="golden").value.tolist() == [0, 1, 2]


def test_operands_have_names():
    for operands, count in (((B,), "an operand has"), ((B, C), "2 operands have")):
        with pytest.raises(UserError) as error:
            sardonyx.einsum("X(i,j) = B(i,k) * C(k,j)", *operands)
        assert str(error.value) == (f"X(i,j) = B(i,k) * C(k,j): {count} no name\n"
                                    "  try: give each by the name of its tensor, as B=...")


def test_numbers_of_numpy_are_whole_numbers():
    assert sardonyx.einsum("X(i,j) = B(i,j)", B=B, engine="tokens", tile=np.int64(5), seed=np.uint8(3)).report["tile_edge"] == {
        "i": 5, "j": 5}


def test_a_format_of_a_kernel_that_is_given_leaves_the_others(tmp_path):
    api.kernel("sddmm", engine="tokens", arch="onyx", formats={"B": "ds01"}, without="narrowing", dump=tmp_path)
    assert "B=ds01  C=dd01  D=dd10" in (tmp_path / "1_sam.txt").read_text()


@pytest.mark.parametrize("name", ["folder", "file/x.mtx"])
def test_a_result_that_cannot_be_written_is_said(name, tmp_path):
    result = sardonyx.einsum("X(i,j) = B(i,j)", B=B, engine="golden")
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.mtx").mkdir()
    target = tmp_path / ("folder.mtx" if name == "folder" else name)
    with pytest.raises(UserError, match="cannot write the result"):
        api.save(result, target)
    with pytest.raises(UserError, match="a matrix is written as Matrix Market"):
        api.save(result, tmp_path / "x.npy")
    api.save(result, tmp_path / "new" / "x.mtx")
    assert (scipy.io.mmread(tmp_path / "new" / "x.mtx") != B).nnz == 0


def test_an_unroutable_program_leaves_its_picture(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    raw = sardonyx.get_arch("small").to_json()
    raw["interconnect"]["tracks"] = 1
    (tmp_path / "narrow.json").write_text(json.dumps(raw))
    with pytest.raises(UserError) as error:
        sardonyx.einsum("X(i,j) = B(i,k) * C(k,j)", B=B, C=C, arch="narrow.json", engine="tokens", tile=2, dump=tmp_path / "d")
    assert f"the picture is {tmp_path / 'd' / 'unroutable.svg'}" in str(error.value)
    assert (tmp_path / "d" / "unroutable.svg").read_text().startswith("<svg")


def test_an_unroutable_program_overwrites_no_picture_of_others(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    raw = sardonyx.get_arch("small").to_json()
    raw["interconnect"]["tracks"] = 1
    (tmp_path / "narrow.json").write_text(json.dumps(raw))
    for place, said in (("", "the picture is out/unroutable.svg"),
                        ("mine", "its picture is written if a folder is given as dump")):
        if place:
            (tmp_path / "out" / "unroutable.svg").write_text(place)
        with pytest.raises(UserError) as error:
            sardonyx.einsum("X(i,j) = B(i,k) * C(k,j)", B=B, C=C, arch="narrow.json", engine="tokens", tile=2)
        assert str(error.value).endswith(said)
    assert (tmp_path / "out" / "unroutable.svg").read_text() == "mine"


@pytest.mark.parametrize("engine", ["tokens", "fabric"])
def test_reports_say_which_period_the_timing_allows(engine):
    report = sardonyx.einsum("X(i,j) = B(i,j)", B=B, engine=engine, without="narrowing").report
    assert report["period_ns"] == api.explain_program("X(i,j) = B(i,j)").report["period_ns"] > 0.5


def test_every_operand_is_encoded_once(monkeypatch):
    from sardonyx.runtime.data import sub_tiles
    made = []
    encode = sub_tiles.encode
    monkeypatch.setattr(sub_tiles, "encode", lambda tiles: (made.append(tiles.access.slot), encode(tiles))[1])
    assert sardonyx.einsum("X(i,j) = B(i,k) * C(k,j)", B=B, C=C, engine="tokens", tile=6).report["sub_tiles"] == 44
    assert made == ["B", "C"]


def test_explanations_name_what_was_asked_for(tmp_path):
    assert "reducer" in str(explained.explain_arch("onyx").report["pe"])
    assert set(explained.explain_arch().report) == {"tiny", "small", "sparse", "fpga", "amber", "onyx"}
    assert explained.explain_register("status").report["address"] == "0x0010"
    assert explained.explain_register("0x10").report["name"] == "controller.status"
    assert api.explain_program("x(i) = b(i) * c(i)").report["tiles"]["mem"] == 6
    sardonyx.einsum("x(i) = b(i) * c(i)", b=np.arange(4), c=np.arange(4), engine="tokens", tile=4, dump=tmp_path)
    assert "intersect_i" in explained.explain_bitstream(tmp_path / "app.bits").text


@pytest.mark.parametrize("text", ["x(i) = b(i) * c(i)", "x(i) = b(i) + c(i)"])
def test_tiles_that_are_used_are_counted_as_in_the_picture(text, tmp_path):
    """Of these programs a load and a store are in one IO tile."""
    report = sardonyx.einsum(text, b=np.arange(4), c=np.arange(4), engine="tokens", tile=4, without="narrowing",
                             dump=tmp_path).report
    used, picture = report["tiles_used"], (tmp_path / "array.svg").read_text()
    assert f"IO {used['io']} of 8<" in picture and f"MEM {used['mem']} of 16<" in picture
    assert f"PE {used['pe'] + report['slack_tiles']} of 48<" in picture
    assert used == api.explain_program(text).report["tiles"]


def test_an_explanation_lists_every_output_of_every_module():
    found = explained.explain_outputs(LEAST)
    around = {"column_2", "glb_tile", "shell", "controller", "axi_lite", "axi_data"}
    assert set(found.report) == around | {f"tile_{kind}_{parity}" for kind in ("pe", "io") for parity in ("even", "odd")}
    assert found.report["tile_pe_odd"]["active"] == {"source": "register", "follows": (), "reasons": ()}
    assert "\n    e_bit_o_valid follows n_bit_i_valid, e_bit_i_valid" in found.text
    assert "\ncolumn_2\n  registers: " in found.text


@pytest.mark.parametrize("names,told", [
    ("irq g0_on g1_on g2_on irq2", "irq g0..2_on irq2"), ("a a1 a2 a3", "a a1..3"), ("w7 w8 w9", "w7..9"),
    ("g0_on g1_on", "g0_on g1_on"), ("g0 g2 g4", "g0 g2 g4"), ("g2 g1 g0", "g2 g1 g0"), ("g00 g01 g02", "g00 g01 g02"),
    ("c0_r0 c1_r0 c2_r0 c0_r1", "c0..2_r0 c0_r1"), ("{} {}1", "{} {}1"), ("", "")])
def test_outputs_that_differ_in_a_number_that_counts_are_told_as_one(names, told):
    assert explained.folded(names.split()) == told.split()


def test_an_explanation_says_how_operands_are_cut():
    report = api.explain_program("x(i) = B(i,j) * c(j)", B=np.eye(6, dtype=int), c=np.arange(6), tile=3).report
    assert report["work"] == "2 sub-tiles of i 3, j 3: 0.0 MB to load, about 75 cycles"
    with pytest.raises(UserError) as error:
        api.explain_program("x(i) = B(i,j) * c(j)", tile=3)
    assert str(error.value) == "tile: a tile cuts operands, and there are none\n  try: give the operands, or no tile"


def test_an_unknown_register_is_refused_with_the_names():
    with pytest.raises(UserError) as error:
        explained.explain_register("sttus")
    assert str(error.value).startswith("there is no register 'sttus'\n  try: name one of ")


def test_copies_without_work_are_reported_too():
    result = sardonyx.einsum("x(i) = b(i)", b=np.zeros(3, int), unroll=2, arch="onyx", engine="tokens")
    assert (result.report["copies"], result.report["rounds"], np.count_nonzero(result.value)) == (2, 0, 0)


def test_dense_levels_are_located_as_the_machine_can_and_the_user_says():
    small = presets.get("small")
    unable = dataclasses.replace(small, name="unable", mem=dataclasses.replace(small.mem, locate=False))
    located = {(arch.name, how): api.explain_program(
        "X(i,j) = B(i,k) * C(k,j)", formats={"B": "dd01", "C": "ss10"}, arch=arch, locate=how).text.count("Locator(")
        for arch in (small, unable) for how in ("auto", "none", "outermost", "all") if arch is small or how != "all"}
    assert located == {("unable", "auto"): 0, ("unable", "none"): 0, ("unable", "outermost"): 0,
                       ("small", "auto"): 1, ("small", "none"): 0, ("small", "outermost"): 0, ("small", "all"): 1}
    value = sardonyx.kernel("spmm_ijk", engine="tokens", size=7, seed=2).value
    assert (sardonyx.kernel("spmm_ijk", engine="fabric", size=7, seed=2, tile=7, arch=unable).value != value).nnz == 0
    with pytest.raises(UserError) as refusal:
        sardonyx.kernel("spmm_ijk", engine="tokens", size=7, tile=7, locate="all", arch=unable)
    assert str(refusal.value) == ("the program locates coordinates in dense levels, which the MEM tiles of 'unable' cannot\n"
                                  "  try: locate in outermost levels only (--locate outermost), or set mem.locate in the "
                                  "machine's description")
