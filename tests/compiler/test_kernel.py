import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutations import try_to_read

from sardonyx.compiler.lang.kernel import kernel_names, load_kernel, other_names, read_kernel
from sardonyx.hw.arch.errors import UserError

NAMES = """innerprod mask_tri mask_tri_four masked_broadcast mat_dn2sp mat_elemadd mat_elemadd3 mat_elemadd_relu
mat_elemdiv mat_elemmul mat_identity mat_identity_dense mat_sd2ss mat_sp2dn mat_ss2sd mat_vecmul_ij mat_vecmul_iter
mat_vecmul_ji matmul_ijk_relu matmul_ikj matmul_ikj_relu matmul_jik matmul_jik_relu matmul_jki matmul_jki_relu
matmul_kij matmul_kij_relu matmul_kji matmul_kji_relu mattransmul mttkrp residual sddmm spmm_ijk spmm_ijk_locator
spmm_ijk_relu spmspm spmv spmv_relu tensor3_elemadd tensor3_elemmul tensor3_identity tensor3_identity_dense
tensor3_mttkrp_unfused1 tensor3_mttkrp_unfused2 tensor3_ttm trans_masked_broadcast ttv vec_elemadd vec_elemmul
vec_elemsub vec_identity vec_scalar_mul""".split()


# Of the public hardware and of the Sparse Abstract Machine, those of integers.
PUBLIC = """vec_identity vec_elemmul vec_elemadd vec_sub vec_scalar_mul mat_identity mat_elemmul mat_elemadd
mat_elemdiv mat_elemadd3 plus3 mat_elemadd_relu mat_vecmul_ij mat_vecmul_ji spmv spmv_relu mat_mattransmul
mat_residual matmul_ijk matmul_ijk_crddrop matmul_ijk_relu matmul_ijk_crddrop_relu matmul_ikj matmul_ikj_relu
matmul_jik matmul_jki matmul_kij matmul_kji spmm_ijk_crddrop spmm_ijk_crddrop_relu spmm_ijk_crddrop_locator
mat_sddmm mat_mask_tri mat_mask_tri_DA3sum_final mat_vecmul_iter masked_broadcast trans_masked_broadcast mat_dn2sp
mat_sp2dn mat_ss2sd mat_sd2ss mat_identity_dense tensor3_identity_dense matmul_jik_relu
tensor3_identity tensor3_elemadd tensor3_elemmul tensor3_innerprod tensor3_ttv tensor3_ttm tensor3_mttkrp
tensor3_mttkrp_unfused1 tensor3_mttkrp_unfused2""".split()


def test_the_kernels_are_there():
    assert kernel_names() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_kernel_is_a_checked_statement_with_three_shapes(name):
    kernel = load_kernel(name)
    assert kernel.doc.endswith(".")
    order = kernel.einsum().order
    assert order == tuple(kernel.order)
    assert [tuple(shape) for shape in kernel.shapes] == [order] * 3
    assert set(kernel.shapes[0].values()) == {1}


def test_kernels_have_the_names_of_the_papers_too():
    assert load_kernel("matmul_ijk") == load_kernel("spmspm") and load_kernel("tensor3_mttkrp") == load_kernel("mttkrp")
    assert {*PUBLIC} <= {*kernel_names(), *other_names()}
    other = other_names()
    assert not other.keys() & set(NAMES) and len(other) == sum(len(load_kernel(name).also) for name in NAMES)


def test_a_file_of_the_users_own(tmp_path):
    path = tmp_path / "twice.toml"
    path.write_text('expression = "x(i) = 2 * b(i)"\nformats = { b = "d" }\n')
    kernel = load_kernel(str(path))
    assert (kernel.name, kernel.order, kernel.shapes) == ("twice", "", ())
    assert str(kernel.einsum().operands[0].format) == "d0"


def message(call, *arguments):
    with pytest.raises(UserError) as error:
        call(*arguments)
    return str(error.value)


def test_unknown_names_are_answered_with_near_ones():
    assert message(load_kernel, "spmspn") == "there is no kernel 'spmspn'\n  try: use spmspm or spmv"
    assert message(load_kernel, "tensor_ttv") == \
        "there is no kernel 'tensor_ttv'\n  try: use tensor3_ttv or tensor3_ttm or tensor3_mttkrp"
    assert message(load_kernel, "?") == f"there is no kernel '?'\n  try: use one of {', '.join(NAMES)}"


def test_files_that_are_no_kernels(tmp_path):
    assert message(load_kernel, "no/such.toml") == \
        "no/such.toml: cannot be read: No such file or directory\n  try: give the path of a file"
    assert message(read_kernel, "k", 'doc = "A."', "k.toml") == \
        'k.toml: there is no expression\n  try: add expression = "x(i) = b(i)"'
    assert message(read_kernel, "k", "loops = 3", "k.toml") == (
        "k.toml: key 'loops' is unknown or of the wrong type\n"
        "  try: use doc (str), expression (str), order (str), formats (dict), also (list), fuse (list), shapes (list)")
    assert message(read_kernel, "k", "=", "k.toml").startswith("k.toml: this is not TOML: ")


EXAMPLE = '\n  try: write lines such as expression = "x(i) = b(i)"'


@pytest.mark.parametrize("text,expected", [
    ("a = " + "[" * 100000, "this is not TOML that is read: it nests too deep" + EXAMPLE),
    ('expression = "x(i) = b(i)"\nformats = { b = 3 }', "the format of b is no text\n  try: write formats = { B = \"ss10\" }"),
    ('expression = "x(i) = b(i)"\nformats = { b = ["d"] }',
     "the format of b is no text\n  try: write formats = { B = \"ss10\" }"),
    *((f'expression = "x(i) = b(i)"\nshapes = [{shape}]',
       "one of the shapes has no extents from 1 to 2147483647\n  try: write shapes = [{ i = 11, j = 7 }]")
      for shape in ("3", "{ i = 0 }", "{ i = true }", "{ i = 2147483648 }", "{ i = 1.5 }"))])
def test_values_of_wrong_types(text, expected):
    assert message(read_kernel, "k", text, "k.toml") == f"k.toml: {expected}"


def test_a_number_that_python_does_not_read():
    assert message(read_kernel, "k", f"shapes = [{'9' * 5000}]", "k.toml").startswith("k.toml: this is not TOML: ")


def test_bytes_that_are_no_text(tmp_path):
    path = tmp_path / "k.toml"
    path.write_bytes(b'doc = "\xff"')
    assert message(load_kernel, str(path)) == f"{path}: this is not UTF-8: byte 8 is 0xff\n  try: write it as plain text"
    path.write_bytes(b" " * ((1 << 20) + 1))
    assert message(load_kernel, str(path)) == f"{path}: the file has more than 1 MB\n  try: give a smaller file"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("kernels")


@settings(max_examples=300)
@given(seed=st.integers(0, 1 << 32))
def test_damaged_files_are_read_or_refused(folder, seed):
    path = folder / "k.toml"

    def read(content):
        path.write_bytes(content)
        return load_kernel(str(path)).einsum()

    try_to_read(read, b'doc = "A."\nexpression = "X(i,j) = 3 * (B(i,k) - C(i,k)) * D(k,j)"\norder = "ijk"\n'
                b'formats = { B = "ds01", D = "ss10" }\nshapes = [{ i = 11, j = 7, k = 1 }]\n', seed)
