import random

import numpy as np
import pytest

from sardonyx.hw.arch.errors import UserError
from sardonyx.tensors import values as tensors
from sardonyx.tensors.coordinates import Coo
from sardonyx.tensors.fibertree import Format, build
from sardonyx.tensors.level_files import read_levels, written

COLUMNS = Format("ss", (1, 0))


def put(folder, files):
    for name, text in files.items():
        (folder / name).write_text(text)


@pytest.mark.parametrize("form,shape", [("s0", (7,)), ("ss01", (4, 6)), ("ss10", (4, 6)), ("ds01", (4, 6)), ("dd10", (3, 5)),
                                        ("sds201", (3, 4, 5)), ("sss012", (1, 1, 1))])
def test_files_are_read_back_as_the_tensor_that_was_written(tmp_path, form, shape):
    parsed = Format(form[:len(shape)], tuple(map(int, form[len(shape):])))
    for seed, density in enumerate((0.4, 0.0, 1.0)):
        tensor = tensors.random_tensor(shape, density, seed)
        put(tmp_path, written("B", build(tensor, parsed)))
        assert read_levels(tmp_path, "B", parsed) == tensor


def test_a_scalar_needs_no_shape_and_a_dense_level_no_arrays(tmp_path):
    (tmp_path / "tensor_b_mode_vals").write_text("-7\n")
    assert read_levels(tmp_path, "b", Format("", ())) == Coo.make((), np.zeros((1, 0)), [-7])
    put(tmp_path, {"tensor_c_mode_shape": "3\n", "tensor_c_mode_vals": "0\n5.0\n-2\n"})
    assert tensors.to_array(read_levels(tmp_path, "c", Format("d", (0,)))).tolist() == [0, 5, -2]


def test_a_pattern_needs_no_values(tmp_path):
    put(tmp_path, {"tensor_b_mode_shape": "4", "tensor_b_mode_0_seg": "0 \n2", "tensor_b_mode_0_crd": "1\n3"})
    assert tensors.to_array(read_levels(tmp_path, "b", Format("s", (0,)), pattern=True)).tolist() == [0, 1, 0, 1]


def test_values_are_taken_as_those_of_other_files(tmp_path):
    put(tmp_path, {"tensor_b_mode_shape": "4", "tensor_b_mode_0_seg": "0\n2", "tensor_b_mode_0_crd": "1\n3",
                   "tensor_b_mode_vals": "0.25\n2.5"})
    with pytest.raises(UserError, match=r"value 0.25 at \(1\) is not an integer"):
        read_levels(tmp_path, "b", Format("s", (0,)))
    assert tensors.to_array(read_levels(tmp_path, "b", Format("s", (0,)), "round")).tolist() == [0, 1, 0, 2]


RIGHT = {"tensor_B_mode_shape": "3\n4\n", "tensor_B_mode_1_seg": "0\n2\n", "tensor_B_mode_1_crd": "0\n3\n",
         "tensor_B_mode_0_seg": "0\n2\n3\n", "tensor_B_mode_0_crd": "0\n2\n1\n", "tensor_B_mode_vals": "5\n6\n7\n"}


@pytest.mark.parametrize("file,text,message", [
    ("tensor_B_mode_shape", "3\n", "{0}: there are 1 extents, but tensor B has 2 modes\n  try: write one a line"),
    ("tensor_B_mode_shape", "3\nx4\n", "{0}:2: 'x4' is no whole number from 0\n  try: write one number a line"),
    ("tensor_B_mode_shape", "3\n9999999999\n", "{0}:2: 9999999999 is more than 2147483647\n  try: write smaller numbers"),
    ("tensor_B_mode_0_seg", "0\n3\n", "{0}: there are 2 segments, but 2 positions above need 3\n"
                                      "  try: write where each begins, and at last where the last ends"),
    ("tensor_B_mode_0_seg", "0\n4\n3\n", "{0}: the segments do not rise from 0 to the number of coordinates, 3\n"
                                         "  try: write where each begins, and at last where the last ends"),
    ("tensor_B_mode_0_crd", "0\n3\n1\n", "{0}:2: coordinate 3 is not below extent 3 of mode 0\n  try: count from 0"),
    ("tensor_B_mode_0_crd", "2\n2\n1\n", "{0}:2: coordinate 2 does not rise within its segment\n"
                                         "  try: write the coordinates of a segment in rising order, each once"),
    ("tensor_B_mode_vals", "5\n6\n", "{0}: there are 2 values, but 3 positions\n  try: write a value for each position"),
    ("tensor_B_mode_vals", "5\n6\n7 8\n", "{0}:3: '7 8' is no number\n  try: write one number a line"),
    ("tensor_B_mode_vals", None, "{0}: cannot be read: No such file or directory\n  try: write this file"),
])
def test_files_that_do_not_belong_together_are_refused(tmp_path, file, text, message):
    put(tmp_path, RIGHT)
    assert read_levels(tmp_path, "B", COLUMNS).nnz == 3
    if text is None:
        (tmp_path / file).unlink()
    else:
        (tmp_path / file).write_text(text)
    with pytest.raises(UserError) as refusal:
        read_levels(tmp_path, "B", COLUMNS)
    assert str(refusal.value) == message.format(tmp_path / file)


def test_a_dense_level_of_too_many_positions_is_refused(tmp_path):
    put(tmp_path, {"tensor_B_mode_shape": "100000\n100000\n"})
    with pytest.raises(UserError, match="dense mode 1 makes 10,000,000,000 positions, more than 16,777,216"):
        read_levels(tmp_path, "B", Format("dd", (0, 1)))


def test_damaged_files_are_read_as_a_tensor_or_refused(tmp_path):
    refused = 0
    for seed in range(300):
        random_ = random.Random(seed)
        name = random_.choice(sorted(RIGHT))
        text = RIGHT[name]
        at = random_.randrange(len(text))
        changed = random_.choice((text[:at], text[:at] + chr(ord(text[at]) ^ 1 << random_.randrange(8)) + text[at + 1:],
                                  text[:at] + text[at:] * 2, text[:at] + text[at + 1:]))
        put(tmp_path, RIGHT | {name: changed})
        try:
            assert read_levels(tmp_path, "B", COLUMNS).rank == 2
        except UserError:
            refused += 1
    assert 100 < refused < 290
