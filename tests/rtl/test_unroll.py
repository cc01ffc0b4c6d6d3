"""Copies of a program beside each other in generated Verilog: the words of NumPy, and about as many times fewer cycles."""

import numpy as np
import pytest
import scipy.sparse
from machines import KERNELS

import sardonyx
from sardonyx.options import DISPATCH

RANDOM = np.random.default_rng(3)
B = scipy.sparse.csr_array(RANDOM.integers(-3, 4, (90, 71)) * (RANDOM.random((90, 71)) < 0.15))
C = RANDOM.integers(-3, 4, 71)


def run(copies: int, dispatch: str = "order"):
    result = sardonyx.einsum("x(i) = B(i,j) * c(j)", B=B, c=C, arch=KERNELS, engine="rtl-full", tile=9, unroll=copies,
                             dispatch=dispatch)
    assert (result.value == B @ C).all()
    return result


@pytest.mark.parametrize("dispatch", DISPATCH)
def test_two_copies_take_about_half_the_cycles(dispatch):
    one, two = run(1), run(2, dispatch)
    assert one.cycles / two.cycles > 1.8
    assert two.report["bottleneck"].startswith(("copies: ", "links: "))
