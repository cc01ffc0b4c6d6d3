"""The dump folder: what was written here may be written again, what others made stays as it is."""

import functools
import json
import os

import numpy as np
import pytest
from machines import LEAST

import sardonyx
from sardonyx import emission, halide, search, spatial
from sardonyx.board import build_board
from sardonyx.cocotb import runner
from sardonyx.dump import LIST, Dump, check_file
from sardonyx.hw.arch.errors import UserError


def run(folder, **options):
    vector = np.arange(4)
    return sardonyx.einsum("x(i) = b(i) * c(i)", b=vector, c=vector, engine="tokens", dump=folder, **options)


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_dump_lists_what_it_wrote_and_may_be_written_again(tmp_path):
    run(tmp_path)
    names = [line.split("  ")[1] for line in (tmp_path / LIST).read_text().splitlines()]
    assert sorted([*names, LIST]) == sorted(contents(tmp_path))
    first = contents(tmp_path)
    run(tmp_path)
    assert contents(tmp_path) == first
    run(tmp_path, seed=5)
    assert contents(tmp_path) != first


def test_files_of_others_beside_a_dump_stay(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    run(tmp_path)
    run(tmp_path, seed=5)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_verilog_of_a_machine_overwrites_nothing_of_others(tmp_path, monkeypatch):
    machine, out = tmp_path / "least.json", tmp_path / "out"
    machine.write_text(json.dumps(LEAST.to_json()))
    first = emission.emit_arch(str(machine), out).report
    made = contents(out)
    assert {"sardonyx.f", "registers.md", "sardonyx.h", LIST} <= set(made)
    assert first["modules"] == sum(name.endswith(".sv") for name in made)
    emission.emit_arch(str(machine), out)
    assert contents(out) == made
    (out / "registers.md").write_text("mine")
    # Refused before the generator runs.
    monkeypatch.setattr(emission.emit, "emit", None)
    with pytest.raises(UserError, match=r"sardonyx did not write registers\.md, or the contents have changed since"):
        emission.emit_arch(str(machine), out)
    assert contents(out) == made | {"registers.md": b"mine"}


@pytest.mark.parametrize("name", ["verilog/notes.txt", "verilog/deep/notes.txt", "1_sam.txt", "app.bits", "unroutable.svg"])
def test_a_file_that_a_dump_would_overwrite_is_refused_before_anything_is_written(tmp_path, name):
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("mine")
    with pytest.raises(UserError) as error:
        run(tmp_path)
    assert str(error.value) == (f"folder {tmp_path}: sardonyx did not write {name}, or the contents have changed since\n"
                                "  try: name another folder, or move these files away")
    assert contents(tmp_path) == {name: b"mine"}


def test_a_stage_that_was_edited_is_not_overwritten(tmp_path):
    run(tmp_path)
    edited = tmp_path / "program.json"
    edited.write_text(edited.read_text() + "// mine\n")
    before = contents(tmp_path)
    with pytest.raises(UserError, match=r"did not write program\.json, or the contents have changed"):
        run(tmp_path)
    assert contents(tmp_path) == before


def test_a_folder_in_the_place_of_a_file_and_a_file_in_that_of_verilog_are_refused(tmp_path):
    (tmp_path / "1_sam.txt").mkdir()
    (tmp_path / "verilog").write_text("mine")
    with pytest.raises(UserError, match=r"did not write 1_sam\.txt, verilog, or"):
        run(tmp_path)


def test_verilog_is_copied_without_removing_anything(tmp_path):
    built, dump = tmp_path / "built", Dump(tmp_path / "d")
    built.mkdir()
    for name in ("A.sv", "B.sv"):
        (built / name).write_text(f"module {name}")
    assert dump.keep(built) == tmp_path / "d" / "verilog"
    (built / "A.sv").unlink()
    (built / "B.sv").write_text("module B, another")
    dump.check([], "verilog")
    dump.keep(built)
    assert (tmp_path / "d" / "verilog" / "A.sv").read_text() == "module A.sv"
    assert (tmp_path / "d" / "verilog" / "B.sv").read_text() == "module B, another"
    for name in ("x.txt", "y.txt", "z.txt", "zz.txt"):
        (tmp_path / "d" / "verilog" / name).write_text("mine")
    with pytest.raises(UserError, match=r"did not write verilog/x\.txt, verilog/y\.txt, verilog/z\.txt and 1 more, or"):
        dump.check([], "verilog")


def test_a_list_that_is_none_is_refused(tmp_path):
    (tmp_path / LIST).write_text("mine\n")
    with pytest.raises(UserError) as error:
        run(tmp_path)
    assert str(error.value) == (f"{tmp_path / LIST}: it is no list of what sardonyx wrote\n"
                                "  try: name another folder, or move it away")


ARRAY = spatial.Design(spatial.functionality("C(i,j) = A(i,k) * B(k,j)"), spatial.Transform([[0, 0, 1], [1, 0, 0], [1, 1, 1]]),
                       bounds={"i": 2, "j": 2, "k": 2})
FOLDERS = {
    "dump": run, "out of a machine": lambda out: emission.emit_arch("tiny", out), "out of an array": ARRAY.verilog,
    "out of a board": lambda out: build_board("ulx3s-85f", out), "out of a demo": halide.demo,
    "out of a bench": lambda out: runner.run([], "bench", out=out),
}
FILES = {"path of a picture": ARRAY.picture,
         "picture of a search": lambda path: spatial.search(ARRAY.functionality, ARRAY.bounds, picture=path),
         "graph of a program": lambda path: sardonyx.api.explain_program("x(i) = b(i)", graph=path)}


def refusal(write, where):
    with pytest.raises(UserError) as error:
        write(where)
    return str(error.value)


def tells_where_no_folder_can_be(write, argument, tmp_path, missing, ending=""):
    (tmp_path / "file").write_text("mine")
    assert refusal(write, missing) == (f"{argument}: /proc/x cannot be made: No such file or directory\n"
                                       "  try: name a folder that can be written")
    assert refusal(write, tmp_path / "file" / f"x{ending}") == (f"{argument}: {tmp_path / 'file'} is a file\n"
                                                       "  try: name a folder, which need not be there")


@pytest.mark.parametrize("name", FOLDERS)
def test_every_writer_of_a_folder_tells_where_none_can_be(name, tmp_path):
    write, argument = FOLDERS[name], name.split()[0]
    tells_where_no_folder_can_be(write, argument, tmp_path, "/proc/x")
    for no_path, said in ((3, "3"), ("", "''"), ("a\0b", r"'a\x00b'")):
        assert refusal(write, no_path) == (f"{argument}: it is {said}, which is no path\n"
                                           "  try: name a folder, which need not be there")


@pytest.mark.parametrize("name", FILES)
def test_every_writer_of_a_file_tells_where_none_can_be(name, tmp_path):
    write, argument = FILES[name], name.split()[0]
    ending = ".gv" if argument == "graph" else ".svg"
    tells_where_no_folder_can_be(write, argument, tmp_path, f"/proc/x/y{ending}", ending)
    assert refusal(write, "/") == f"{argument}: / is a folder\n  try: name a file in it"


@pytest.mark.parametrize("file", ["array", "array.png", "array.SVG", ".svg"])
def test_a_file_is_called_what_is_in_it(file, tmp_path):
    assert refusal(ARRAY.picture, tmp_path / file) == (f"path: '{file}' does not end in .svg, as such a file does\n"
                                                       f"  try: name it '{file.partition('.')[0] or '.svg'}.svg'")
    assert not [*tmp_path.iterdir()]
    said = refusal(FILES["graph of a program"], "spmv.dot.txt")
    assert said.startswith("graph: 'spmv.dot.txt' does not end in .gv or .dot, as such a file does")


@pytest.mark.parametrize("file,said", [(LIST, f"'{LIST}'"), ("a\nb.svg", r"'a\nb.svg'"), ("\udcff.svg", r"'\udcff.svg'")])
def test_a_file_whose_name_the_list_of_files_cannot_have_is_refused_and_the_list_stays(tmp_path, file, said):
    ARRAY.picture(tmp_path / "array.svg")
    before = contents(tmp_path)
    assert refusal(ARRAY.picture, tmp_path / file) == (f"path: no file of ours is called {said}\n"
                                                       "  try: choose another name")
    assert contents(tmp_path) == before
    assert refusal(ARRAY.picture, tmp_path / "new" / file).startswith("path: no file of ours is called")
    assert not (tmp_path / "new").exists()


def test_a_picture_that_would_overwrite_what_is_not_ours_is_refused_before_the_search(tmp_path, monkeypatch):
    (tmp_path / "plot.svg").write_text("mine")
    monkeypatch.setattr(search, "try_transforms", None)
    assert "sardonyx did not write plot.svg" in refusal(FILES["picture of a search"], tmp_path / "plot.svg")


def test_a_folder_in_which_nothing_can_be_written_is_told():
    assert refusal(ARRAY.verilog, "/proc") == ("folder /proc: it cannot be written: No such file or directory\n"
                                               "  try: name a folder that can be written")


def test_a_file_that_cannot_be_written_is_told_before_the_run(tmp_path, monkeypatch):
    check = functools.partial(check_file, what="the result")
    (tmp_path / "file.npy").write_text("mine")
    for path in ("file.npy", "new.npy", "deep/er/new.npy"):
        check(tmp_path / path)
    for path, why in (("", "Is a directory"), ("file.npy/new.npy", "Not a directory"), ("a" * 300, "File name too long")):
        assert refusal(check, tmp_path / path) == (
            f"{tmp_path / path}: cannot write the result: {why}\n  try: name a file that can be written")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    for path in ("file.npy", "new.npy"):
        assert "cannot write the result: Permission denied" in refusal(check, tmp_path / path)
