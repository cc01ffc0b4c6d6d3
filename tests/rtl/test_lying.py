"""Dense operands of sparse programs that lie in the global buffer, in Verilog; words are compared with NumPy by sub-tile."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from machines import KERNELS

import sardonyx


def dense(*sides: int) -> np.ndarray:
    return np.random.default_rng(sum(sides)).integers(1, 9, sides)


def sparse(*sides: int) -> np.ndarray:
    return np.where(np.random.default_rng(1).random(sides) < 0.15, dense(*sides), 0)


@pytest.mark.parametrize("text,order,formats,tile,operands", [
    ("x(i) = A(i,j) * b(j)", "ij", {"b": "d"}, {"i": 4, "j": 13}, {"A": sparse(31, 29), "b": dense(29)}),
    ("X(i,j) = A(i,k) * B(k,j)", "ikj", {"B": "dd"}, {"i": 5, "k": 7, "j": 6}, {"A": sparse(23, 19), "B": dense(19, 17)}),
    ("X(i,j) = A(i,k) * B(k,j)", "ijk", {"B": "dd10"}, {"i": 5, "k": 7, "j": 6}, {"A": sparse(23, 19), "B": dense(19, 17)}),
    ("X(i,j) = A(i,k) * B(k,j)", "ikj", {"B": "dd"}, {"i": 1, "k": 1, "j": 11}, {"A": sparse(13, 7), "B": dense(7, 11)}),
    ("X(i,j) = A(i,k,l) * B(k,j,l)", "ijkl", {"A": "sss", "B": "ddd102"}, {"i": 2, "j": 3, "k": 4, "l": 5},
     {"A": sparse(7, 5, 11), "B": dense(5, 7, 11)}),
], ids=("vector", "by rows", "by columns", "rows left out", "three dimensions"))
def test_programs_give_the_words_of_numpy_with_operands_as_they_lie(
        text: str, order: str, formats: Mapping[str, str], tile: Mapping[str, int], operands: Mapping[str, np.ndarray]) -> None:
    report = sardonyx.einsum(text, order=order, formats=formats, tile=tile, arch=KERNELS, engine="rtl-full", **operands).report
    assert " as they lie in operands" in report["words_in"]
