"""Orders of loops that an accumulator alone cannot do in generated Verilog: with the words of NumPy."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
import scipy.sparse
from machines import KERNELS

import sardonyx
from sardonyx.compiler.lang.einsum import parse
from sardonyx.cutting import Plan
from sardonyx.expected import estimated
from sardonyx.hw.arch import presets
from sardonyx.tensors.values import to_coo

RANDOM = np.random.default_rng(5)
B, C, D = (RANDOM.integers(-3, 4, shape) * (RANDOM.random(shape) < 0.3) for shape in ((7, 5, 11), (5, 3), (5, 11)))
MTTKRP = "X(i,j,l) = B(i,k,j) * C(k,l) * D(k,j)"
RIGHT = np.einsum("ikj,kl,kj->ijl", B, C, D)


@pytest.mark.parametrize("order", [order for order in permutations("ijlk") if order[0] == "k"][::2])
def test_orders_with_a_sum_around_three_indices(order):
    found = sardonyx.einsum(MTTKRP, B=B, C=C, D=D, arch=KERNELS, engine="rtl-full", order=order)
    edges = found.report["tile_edge"]
    assert np.array_equal(found.value, RIGHT) and (edges["k"] == 1 or min(edges[index] for index in "ijl") == 1)


def test_a_schedule_of_such_an_order():
    found = sardonyx.einsum(MTTKRP, B=B, C=C, D=D, arch=KERNELS, engine="rtl-full", schedule="reorder(k,i,j,l) split(j,4)")
    assert np.array_equal(found.value, RIGHT) and found.report["tile_edge"] == {"k": 5, "i": 1, "j": 4, "l": 3}


E, F, G = (RANDOM.integers(-3, 4, shape) * (RANDOM.random(shape) < 0.3) for shape in ((9, 7), (7, 8), (9, 8)))
VECTOR, OTHER = (RANDOM.integers(-3, 4, count) for count in (9, 7))
RELU, ONYX = "X(i,j) = relu(sum(k, E(i,k) * F(k,j))) + G(i,j)", presets.get("onyx")
QUEUED = replace(ONYX, glb=replace(ONYX.glb, queue=True))
# Loops of the result inside a sum that is in a term or an argument: MEM tiles keep it. Also with launches that begin before all
# words are there, with copies, and a result in dense levels.
KEPT = {"residual": ("x(i) = b(i) - E(i,j) * d(j)", "ji", KERNELS, {}, VECTOR - E @ OTHER),
        "relu": (RELU, "kij", KERNELS, {}, np.maximum(E @ F, 0) + G),
        "early": (RELU, "ikj", QUEUED, {"tile": {"i": 2}}, np.maximum(E @ F, 0) + G),
        "copies": ("x(i) = b(i) - 2 * E(i,j) * d(j)", "ji", ONYX, {"unroll": 2, "tile": 4, "formats": {"x": "d"}},
                   VECTOR - 2 * E @ OTHER)}


@pytest.mark.parametrize("case", KEPT)
def test_sums_that_mem_tiles_keep_for_a_term(case):
    text, order, arch, how, right = KEPT[case]
    operands = {name: value for name, value in {"b": VECTOR, "d": OTHER, "E": E, "F": F, "G": G}.items() if f"{name}(" in text}
    found = sardonyx.einsum(text, arch=arch, engine="rtl-full" if arch == KERNELS else "rtl", order=order, **operands, **how)
    value = found.value.toarray() if scipy.sparse.issparse(found.value) else found.value
    assert np.array_equal(value, right) and list(found.report["sums_apart"])
    assert found.report.get("copies", 1) == how.get("unroll", 1)


def test_such_a_sum_is_kept_for_another_statement():
    text = "T(i,j,l) = B(i,k,j) * C(k,l); X(i,j) = T(i,j,l) * C(j,l)"
    found = sardonyx.einsum(text, B=B[:, :, :5], C=C, arch=ONYX, engine="rtl", order="kijl; ijl", schedule="fuse(T)")
    right = np.einsum("ikj,kl,jl->ij", B[:, :, :5], C, C)
    assert np.array_equal(found.value.toarray(), right) and found.report["tile_edge"]["i"] == 1


def test_the_estimate_of_sums_that_mem_tiles_keep_is_near_the_cycles_of_verilog():
    random = np.random.default_rng(8)
    data = {name: random.integers(1, 4, (30, 30)) * (random.random((30, 30)) < 0.1) for name in "EFG"}
    plan, operands = Plan({"k": 30, "i": 4, "j": 30}), {name: to_coo(value) for name, value in data.items()}
    for order in ("kij", "ikj"):
        expected = estimated(parse(RELU, order), operands, ONYX, plan).cycles
        found = sardonyx.einsum(RELU, arch=ONYX, engine="rtl", order=order, tile=plan.edges, **data).report["cycles"]
        assert 0.9 <= expected / found <= 1.1
