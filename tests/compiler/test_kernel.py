import pytest

from sardonyx.compiler.lang.kernel import kernel_names, load_kernel, read_kernel
from sardonyx.hw.arch.errors import UserError

NAMES = """innerprod mat_elemadd mat_elemadd3 mat_elemmul mat_identity mattransmul mttkrp residual sddmm
spmspm spmv tensor3_elemadd tensor3_elemmul ttv vec_elemadd vec_elemmul""".split()


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
    assert message(load_kernel, "spmm") == "there is no kernel 'spmm'\n  try: use spmspm or spmv or sddmm"
    assert message(load_kernel, "?") == f"there is no kernel '?'\n  try: use one of {', '.join(NAMES)}"


def test_files_that_are_no_kernels(tmp_path):
    assert message(load_kernel, "no/such.toml") == \
        "no/such.toml: cannot be read: No such file or directory\n  try: give the path of a file"
    assert message(read_kernel, "k", 'doc = "A."', "k.toml") == \
        'k.toml: there is no expression\n  try: add expression = "x(i) = b(i)"'
    assert message(read_kernel, "k", "loops = 3", "k.toml") == (
        "k.toml: key 'loops' is unknown or of the wrong type\n"
        "  try: use doc (str), expression (str), order (str), formats (dict), shapes (list)")
    assert message(read_kernel, "k", "=", "k.toml").startswith("k.toml: this is not TOML: ")
