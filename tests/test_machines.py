"""The machine where nobody names one, and every kernel of the papers and the public tools, by name alone."""

from typing import Any

import numpy as np
import pytest

import sardonyx
from sardonyx.compiler.lang.kernel import kernel_names, load_kernel, other_names, program_names
from sardonyx.hw.arch.errors import UserError
from sardonyx.machines import SMALLEST_FIRST

# Names of the graphs of Onyx, and of those that only the simulator of the public tools has; ones of BF16 and of bit vectors are
# not among them.
PUBLISHED = """
    vec_identity vec_elemmul vec_elemadd vec_scalar_mul mat_identity mat_elemmul mat_elemadd mat_elemdiv mat_elemadd3 plus3
    mat_elemadd_relu mat_vecmul_ij spmv spmv_relu mat_mattransmul mat_residual matmul_ijk matmul_ijk_crddrop matmul_ijk_relu
    matmul_ijk_crddrop_relu matmul_ikj matmul_ikj_relu matmul_jik matmul_jik_relu spmm_ijk_crddrop spmm_ijk_crddrop_relu
    spmm_ijk_crddrop_locator mat_sddmm mat_mask_tri mat_mask_tri_DA3sum_final mat_vecmul_iter masked_broadcast
    trans_masked_broadcast mat_dn2sp mat_sp2dn tensor3_identity tensor3_elemadd tensor3_elemmul tensor3_innerprod tensor3_ttv
    tensor3_ttm tensor3_mttkrp tensor3_mttkrp_unfused1 tensor3_mttkrp_unfused2
    matmul_kij matmul_kji matmul_jki mat_vecmul_ji vec_sub mat_identity_dense tensor3_identity_dense mat_ss2sd mat_sd2ss
""".split()
SMALL, SPARSE = SMALLEST_FIRST[:2]
# What does not fit `small`.
ON_SPARSE = ("mask_tri", "mask_tri_four", "mat_elemdiv", "mat_vecmul_iter_statements", "mattransmul", "spmv_iter")


def test_no_kernel_that_is_published_is_missing() -> None:
    assert set(PUBLISHED) <= {*kernel_names(), *other_names()}


@pytest.mark.parametrize("name", [*kernel_names(), *program_names()])
def test_a_kernel_runs_by_its_name_alone_on_the_smallest_machine_that_does(name: str) -> None:
    report = sardonyx.kernel(name, engine="tokens").report
    assert report["arch"] == (SPARSE if name in ON_SPARSE else SMALL)
    assert ("smaller" in report) == (name in ON_SPARSE)


def test_the_report_says_what_smaller_machines_lack() -> None:
    found = sardonyx.einsum("x(i) = b(i) / 3", b=np.arange(9), engine="tokens")
    assert (found.value == np.arange(9) // 3).all()
    assert [*found.report][:3] == ["engine", "arch", "smaller"]
    assert found.report["smaller"] == "the program needs primitives that 'small' does not have: divider"


@pytest.mark.parametrize("unroll,how,machine", [(2, {}, "small"), (7, {}, "sparse"), (2, {"dispatch": "dynamic"}, "sparse")])
def test_copies_and_their_dispatch_are_part_of_what_a_program_needs(unroll: int, how: "dict[str, Any]", machine: str) -> None:
    assert sardonyx.kernel("vec_identity", size=200, tile=9, engine="tokens", unroll=unroll, **how).report["arch"] == machine


@pytest.mark.parametrize("how,message", [
    ({"unroll": 64}, "64 copies of the program: they are too many for 'onyx': "),
    ({"unroll": 64, "text": "x(i) = b(i) / 3"}, "64 copies of the program: they are too many for 'sparse': "),
    ({"avoid": "0,1", "text": "x(i) = b(i) / 3"}, "the program needs primitives that 'small' does not have: divider\n"),
    ({"arch": "tiny", "text": "x(i) = b(i) / 3"}, "the program needs primitives that 'tiny' does not have: divider\n")])
def test_where_none_does_the_nearest_is_told_and_a_machine_that_is_named_is_the_only_one(
        how: "dict[str, Any]", message: str) -> None:
    text = how.pop("text", "x(i) = b(i) + 3 * b(i)")
    with pytest.raises(UserError) as error:
        sardonyx.einsum(text, b=np.arange(1, 200), engine="tokens", tile=2, **how)
    assert str(error.value).startswith(message)


def test_every_other_name_is_of_one_kernel() -> None:
    every = [also for name in kernel_names() for also in load_kernel(name).also]
    assert len(every) == len(set(every)) and not set(every) & {*kernel_names(), *program_names()}
