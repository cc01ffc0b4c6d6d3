import gzip

import numpy as np
import pytest
import scipy.io
from hypothesis import given, settings
from hypothesis import strategies as st
from mutations import try_to_read

from sardonyx.hw.arch.errors import UserError
from sardonyx.tensors.coordinates import Coo
from sardonyx.tensors.files import read_tensor
from sardonyx.tensors.values import to_array, to_value

MTX = b"%%MatrixMarket matrix coordinate real general\n2 3 4\n1 1 0.25\n1 3 -2.5\n2 1 0\n2 2 3.5\n"
TNS = b"# a comment\n# dims: 2 3 4 nnz: 2\n1 3 4 5\n2 1 1 -6\n"


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


def test_rounding_keeps_every_nonzero(write):
    assert read_tensor(write("a.mtx", MTX), "round") == Coo.make((2, 3), [[0, 0], [0, 2], [1, 1]], [1, -2, 4])


def test_small_values_follow_the_seed_on_the_pattern_of_nonzeros(write):
    path = write("a.mtx.gz", gzip.compress(MTX))
    one, same, other = (read_tensor(path, "small", seed) for seed in (1, 1, 2))
    assert one == same != other
    assert one.coords.tolist() == other.coords.tolist() == [[0, 0], [0, 2], [1, 1]]
    assert set(np.abs(one.values).tolist()) <= {1, 2, 3, 4}


def test_stored_zeros_are_removed_and_entries_stored_twice_added(write):
    path = write("a.mtx", b"%%MatrixMarket matrix coordinate integer general\n2 2 3\n1 1 0\n2 2 5\n2 2 6\n")
    assert read_tensor(path) == Coo.make((2, 2), [[1, 1]], [11])


def test_frostt_text_with_and_without_dimensions(write):
    expected = Coo.make((2, 3, 4), [[0, 2, 3], [1, 0, 0]], [5, -6])
    assert read_tensor(write("a.tns", TNS)) == expected
    assert read_tensor(write("b.tns.gz", gzip.compress(TNS))) == expected
    assert read_tensor(write("c.tns", b"1 3 4 5\n2 1 1 -6\n")) == expected
    assert read_tensor(write("d.tns", b"# dims: 3x3\n")) == Coo.empty((3, 3))


def test_numpy_files(tmp_path):
    array = np.array([[0, 2], [3, 0]], np.int8)
    np.save(tmp_path / "a.npy", array)
    assert read_tensor(tmp_path / "a.npy") == Coo.make((2, 2), [[0, 1], [1, 0]], [2, 3])


def message(path, *arguments):
    with pytest.raises(UserError) as error:
        read_tensor(path, *arguments)
    return str(error.value)


@pytest.mark.parametrize("value", [0, 7, -1])
@pytest.mark.parametrize("values", ["exact", "round"])
def test_a_number_in_a_numpy_file_is_a_scalar(value, values, tmp_path):
    """As the result of a statement is that has no indices."""
    np.save(tmp_path / "a.npy", np.array(value))
    found = read_tensor(tmp_path / "a.npy", values)
    assert found.shape == () and to_array(found) == value


def test_values_that_do_not_fit(write):
    path = write("a.mtx", MTX)
    assert message(path) == (f"{path}: value 0.25 at (1, 1) is not an integer (and 2 more)\n"
                             "  try: scale and round the values (of a file: --values round, in Python values='round')")
    big = write("b.tns", b"1 2 99999\n")
    assert message(big, "round") == (
        f"{big}: value 99999 at (1, 2) is not in -32768..32767\n"
        "  try: scale the values, or take small ones on this pattern (of a file: --values small, in Python values='small')")


def test_files_that_are_not_there_or_broken(write, tmp_path):
    for name in ("no.mtx", "no.tns.gz", "no.npy"):
        assert message(name) == \
            f"{name}: cannot be read: No such file or directory\n  try: give the path of a file"
    assert message("a.csv") == ("a.csv: '.csv' is no kind of tensor file\n"
                                "  try: use one of .mtx, .tns, .npy, or .mtx.gz, .tns.gz")
    assert message("a") == ("a: the name does not say which kind of file it is\n"
                            "  try: use one of .mtx, .tns, .npy, or .mtx.gz, .tns.gz")
    assert message("a.mtx",
                   "floor") == "'floor' is no way to take values\n  try: use one of exact, round, small"
    for content in (b"no gzip", gzip.compress(MTX)[:-9], gzip.compress(MTX)[:20] + b"xx"):
        path = write("a.mtx.gz", content)
        assert message(path) == f"{path}: the file is not whole gzip data\n  try: compress it again"
    path = write("a.npy", b"no array")
    assert message(path) == f"{path}: this is no NumPy array of numbers\n  try: save it with numpy.save"
    np.save(tmp_path / "c.npy", np.array([1j]))
    assert message(tmp_path / "c.npy") == \
        f"{tmp_path / 'c.npy'} is complex\n  try: take the real part, or the imaginary part"


BROKEN = [
    (b"", "a.tns: the file has no entries and no dimensions\n  try: write '# dims: 4 4 4' as a first line"),
    (b"# dims: two\n", "a.tns:1: '# dims: two' gives no dimensions\n"
     "  try: write '# dims: 4 4 4', each 2147483647 at most"),
    (b"1 1 1 5\n1 1 5\n", "a.tns:2: an entry of 3 coordinates and a value was expected, not '1 1 5'\n"
     "  try: write coordinates, then the value"),
    (b"# dims: 2 2\n\n1 3 5\n", "a.tns:3: coordinates 1 3 are not whole numbers from 1 to 2 2\n"
     "  try: count from 1, up to the dimensions"),
    (b"0 1 5\n", "a.tns:1: coordinates 0 1 are not whole numbers from 1 to 2147483647 2147483647\n"
                "  try: count from 1, up to the dimensions"),
    (b"1 1 x\n", "a.tns:1: value 'x' is no number\n  try: write coordinates, then the value"),
]


@pytest.mark.parametrize("content, expected", BROKEN)
def test_frostt_text_that_is_refused(write, content, expected):
    path = write("a.tns", content)
    assert message(path) == expected.replace("a.tns", str(path), 1)


@pytest.mark.parametrize("name", ["qiulp", "west2021", "bcsstm26", "G30", "karate", "football"])
def test_real_matrices_have_the_pattern_scipy_reads(shared, name):
    path = shared(f"matrices/{name}.mtx.gz")
    expected = scipy.io.mmread(path).tocsr()
    expected.eliminate_zeros()
    found = to_value(read_tensor(path, "small"))
    assert found.shape == expected.shape and ((found != 0) != (expected != 0)).nnz == 0


def test_real_tensors_have_the_dimensions_they_state(shared):
    folder = shared("tensors")
    assert read_tensor(folder / "matmul_2-2-2.tns.gz").shape == (4, 4, 4)
    assert read_tensor(folder / "collegemsg.tns.gz", "small").nnz == 33837


@pytest.mark.parametrize("values", [np.array([-32768, 5, -7], np.int16), np.array([-128, 127], np.int8),
                                    np.array([True, False])])
def test_rounding_leaves_integers_as_they_are(values, tmp_path):
    np.save(tmp_path / "v.npy", values)
    assert to_value(read_tensor(tmp_path / "v.npy", "round")).tolist() == values.astype(int).tolist()


@pytest.mark.parametrize("line", ["inf 1 3", "nan 1 3", "1e30 1 3", "9223372036854775807 1 3", "99999999999 1 3", "1.5 1 3",
                                  "# dims:", "# dims: 2 \u00b2", "# dims: 99999999999999999999999 4"])
def test_a_line_that_names_no_place_is_refused(line, write):
    path = write("a.tns", f"{line}\n1 1 5\n".encode("latin-1"))
    with pytest.raises(UserError, match=r"are not whole numbers from 1 to|gives no dimensions") as error:
        read_tensor(path)
    assert error.value.where == f"{path}:1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


@settings(max_examples=300)
@given(seed=st.integers(0, 1 << 32), name=st.sampled_from(["a.mtx", "a.tns", "a.mtx.gz", "symmetric.mtx", "array.mtx"]),
       values=st.sampled_from(["exact", "round", "small"]))
def test_damaged_files_are_read_or_refused(folder, seed, name, values):
    content = {"a.mtx": MTX, "a.tns": TNS, "a.mtx.gz": gzip.compress(MTX, mtime=0),
               "symmetric.mtx": b"%%MatrixMarket matrix coordinate integer symmetric\n% a comment\n3 3 2\n2 1 5\n3 3 -1\n",
               "array.mtx": b"%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2.0\n-3e0\n"}[name]

    def read(changed):
        (folder / name).write_bytes(changed)
        return read_tensor(folder / name, values)

    try_to_read(read, content, seed)


@pytest.mark.parametrize("line", ["1.0 1 5", "1 1 7,5", "1 1 1D2", "1 1 0x10", "1 1 1_0", "1 1 nan", "1 1 5\0", "\u0661 1 5"])
def test_frostt_text_has_decimal_numbers_only(line, write):
    path = write("a.tns", f"1 1 5\n{line}".encode())
    with pytest.raises(UserError) as error:
        read_tensor(path)
    assert error.value.where == f"{path}:2"


def test_a_long_line_is_shown_in_part(write):
    path = write("a.tns", b"1 1 5\n" + b"1 " * 5000 + b"\n")
    assert message(path) == (f"{path}:2: an entry of 2 coordinates and a value was expected, not "
                             f"'{'1 ' * 15} ... {' 1' * 15}'\n"
                             "  try: write coordinates, then the value")
    assert message(write("b.tns", b"1 " * 5000)).startswith(f"{path.parent / 'b.tns'}:1: an entry of 1 to 64 coordinates and a")
