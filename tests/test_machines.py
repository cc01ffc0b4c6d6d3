"""The machine where nobody names one, and every kernel by its name alone; tests/compiler/test_kernel.py knows the names."""

from typing import Any

import numpy as np
import pytest

import sardonyx
from sardonyx.compiler.lang.kernel import kernel_names, program_names
from sardonyx.hw.arch.errors import UserError
from sardonyx.machines import SMALLEST_FIRST

SMALL, SPARSE = SMALLEST_FIRST[:2]
# What does not fit `small`.
ON_SPARSE = ("mat_elemdiv", "mat_vecmul_iter_statements", "spmv_iter")


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
