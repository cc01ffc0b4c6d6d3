"""Statements that cover what the sparse compiler can lower, each with its meaning on dense arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sardonyx.compiler.lang.einsum import Einsum
from sardonyx.hw.arch.cgra import Arch
from sardonyx.hw.arch.primitive import DIVIDER, SCATTER
from sardonyx.tensors.coordinates import Coo
from sardonyx.tensors.values import random_tensor

e = np.einsum


def q(a: Any, b: Any) -> Any:
    """The quotients of integers, 0 where they are by 0."""
    return np.where(b == 0, 0, np.floor_divide(a, np.where(b == 0, 1, b)))


# By statement: what NumPy makes of it, given the operands as int64 arrays by name.
DENSE: dict[str, Callable[[Any], Any]] = {
    "x(i) = b(i)": lambda t: t.b,
    "X(i,j) = B(i,j)": lambda t: t.B,
    "X(i,j) = B(j,i)": lambda t: t.B.T,
    "X(i,j,k) = B(i,j,k)": lambda t: t.B,
    "x = b": lambda t: t.b,
    "x = b * c - -3 * d": lambda t: t.b * t.c + 3 * t.d,
    "x(i) = -b(i)": lambda t: -t.b,
    "x(i) = -(b(i) - c(i))": lambda t: t.c - t.b,
    "x(i) = 300 * b(i) * 300": lambda t: 90000 * t.b,
    "x(i) = (a + b) * c(i)": lambda t: (t.a + t.b) * t.c,
    "x(i) = B(i,j)": lambda t: t.B.sum(1),
    "x = B(i,j)": lambda t: t.B.sum(),
    "x = b * B(i) + c": lambda t: t.b * t.B.sum() + t.c,
    "x(i) = b(i) * b(i)": lambda t: t.b * t.b,
    "X(i,j) = b(i) * c(j)": lambda t: e("i,j->ij", t.b, t.c),
    "X(i,j) = B(i,j) - c(i) * d(j)": lambda t: t.B - e("i,j->ij", t.c, t.d),
    "X(i,j) = B(i,j) + C(i,j)": lambda t: t.B + t.C,
    "X(i,j) = B(i,j) + C(i,j) + D(i,j)": lambda t: t.B + t.C + t.D,
    "X(i,j) = B(i,j) + C(i,j) - D(i,j) + E(i,j)": lambda t: t.B + t.C - t.D + t.E,
    "X(i,j) = (B(i,j) + C(i,j)) * D(i,j)": lambda t: (t.B + t.C) * t.D,
    "X(i,j) = (B(i,j) + C(i,j)) * (D(i,j) - E(i,j))": lambda t: (t.B + t.C) * (t.D - t.E),
    "X(i,j) = B(i,j) - C(i,j) * D(i,j)": lambda t: t.B - t.C * t.D,
    "x(i) = a(i) * b(i) * (c(i) - d(i) * g(i))": lambda t: t.a * t.b * (t.c - t.d * t.g),
    "X(i,j,k) = B(i,j,k) * C(i,j,k)": lambda t: t.B * t.C,
    "X(i,j,k) = B(i,j,k) - C(i,j,k)": lambda t: t.B - t.C,
    "X(i,j) = B(i,k) * C(k,j)": lambda t: t.B @ t.C,
    "X(i,j) = B(i,k) * B(k,j)": lambda t: t.B @ t.B,
    "X(i,j) = B(i,k) * C(k,l) * D(l,j)": lambda t: t.B @ t.C @ t.D,
    "X(i,j) = B(i,j) * C(i,k) * D(k,j)": lambda t: t.B * (t.C @ t.D),
    "X(i,j) = B(i,j) * (C(i,k) * D(k,j))": lambda t: t.B * (t.C @ t.D),
    "x(i) = B(i,j) * c(j)": lambda t: t.B @ t.c,
    "x(i) = b(i) - C(i,j) * d(j)": lambda t: t.b - t.C @ t.d,
    "x(i) = b * C(j,i) * d(j) + g * f(i)": lambda t: t.b * (t.d @ t.C) + t.g * t.f,
    "x(i) = B(i,j) * c(j) + D(i,k) * g(k)": lambda t: t.B @ t.c + t.D @ t.g,
    "X(i,j) = B(i,j,k) * c(k)": lambda t: t.B @ t.c,
    "x = B(i,j,k) * C(i,j,k)": lambda t: (t.B * t.C).sum(),
    "X(i,j) = B(i,k,l) * C(j,k) * D(j,l)": lambda t: e("ikl,jk,jl->ij", t.B, t.C, t.D),
    "x = G(i,l) * B(i,j) * C(j,k) * D(k,l)": lambda t: e("il,ij,jk,kl->", t.G, t.B, t.C, t.D),
    "x(i) = A(i,k) * (B(i,j,k) * c(j) + D(i,k))": lambda t: (t.A * (e("ijk,j->ik", t.B, t.c) + t.D)).sum(1),
    "x(i) = a(i) * (b(i) + C(i,j) * d(j))": lambda t: t.a * (t.b + t.C @ t.d),
    "x(i) = (b(i) + C(i,j) * d(j)) * (g(i) - F(i,k) * h(k))":
        lambda t: (t.b + t.C @ t.d) * (t.g - t.F @ t.h),
    "x(i) = B(i,i)": lambda t: np.diag(t.B),
    "x = B(i,i)": lambda t: np.trace(t.B),
    "X(i,j) = B(i,j) * B(i,i) - C(j,i,j)": lambda t: t.B * np.diag(t.B)[:, None] - e("jij->ij", t.C),
    "x(i) = B(i,k) * B(k,k) * c(k)": lambda t: t.B @ (np.diag(t.B) * t.c),
    "x(i) = relu(b(i))": lambda t: np.maximum(t.b, 0),
    "x(i) = -abs(b(i) - c(i))": lambda t: -abs(t.b - t.c),
    "x(i) = b(i) * sign(c(i)) + nonzero(b(i)) * c(i)": lambda t: t.b * np.sign(t.c) + (t.b != 0) * t.c,
    "x = max(b(i), c) - min(c, 3)": lambda t: np.maximum(t.b.sum(), t.c) - np.minimum(t.c, 3),
    "x(i) = min(max(b(i), -2), 1)": lambda t: np.clip(t.b, -2, 1),
    "x(i) = relu(2 - -abs(b(i) + 1) - 6)": lambda t: np.maximum(abs(t.b + 1) - 4, 0),
    "x(i) = nonzero(6 - 2 * (3 - b(i))) - sign(-(b(i) + 1) * 3 + 3)": lambda t: (t.b != 0) + np.sign(t.b),
    "X(i,j) = max(B(i,j), C(i,j)) - min(B(i,j), D(i,j))": lambda t: np.maximum(t.B, t.C) - np.minimum(t.B, t.D),
    "X(i,j) = B(i,j) * (B(i,j) > C(i,j)) + C(i,j) * (2 < C(i,j))": lambda t: t.B * (t.B > t.C) + t.C * (t.C > 2),
    "X(i,j) = (-1 > B(i,j)) + (B(i,j) != C(i,j)) * D(i,j)": lambda t: (t.B < -1) + (t.B != t.C) * t.D,
    "X(i,j) = relu(B(i,k) * C(k,j))": lambda t: np.maximum(t.B @ t.C, 0),
    "X(i,j) = relu(B(i,k) * C(k,j) - 3) * D(i,j)": lambda t: np.maximum(t.B @ t.C - 3, 0) * t.D,
    "x(i) = sum(j, relu(B(i,j)))": lambda t: np.maximum(t.B, 0).sum(1),
    "x = relu(sum(i, abs(b(i) - c(i))) - 9) + sum(k, d(k))": lambda t: max(abs(t.b - t.c).sum() - 9, 0) + t.d.sum(),
    "X(i,j) = -2 * sum(k, max(B(i,k) * C(k,j), D(i,j,k)))":
        lambda t: -2 * np.maximum(t.B[:, None] * t.C.T[None], t.D).sum(2),
    "x(i) = max(k, B(i,k))": lambda t: t.B.max(1),
    "x = max(i, b(i) - c(i)) * d": lambda t: (t.b - t.c).max() * t.d,
    "X(i,j) = B(i,j) - 2 * max(k, B(i,k) * C(k,j))": lambda t: t.B - 2 * (t.B[:, :, None] * t.C[None]).max(1),
    "x(i) = max(B(i,k) * max(l, C(k,l)), -d(i))": lambda t: np.maximum(t.B @ t.C.max(1), -t.d),
    "x(i) = B(i,j) * relu(C(j,k) * d(k))": lambda t: t.B @ np.maximum(t.C @ t.d, 0),
    "x(i) = B(i,j) * relu(C(i,j)) - max(D(i,k), g(i))":
        lambda t: (t.B * np.maximum(t.C, 0)).sum(1) - np.maximum(t.D.sum(1), t.g),
    "X(i,j) = B(i,j) / C(i,j)": lambda t: q(t.B, t.C),
    "X(i,j) = b(i) / C(i,j) - -7 / D(i,j)": lambda t: q(t.b[:, None], t.C) - q(np.full_like(t.D, -7), t.D),
    "x(i) = B(i,k) * c(k) / d(i)": lambda t: q(t.B @ t.c, t.d),
    "x(i) = sum(k, B(i,k) / (c(i) - d(i))) * 2 / 3": lambda t: q(t.B, (t.c - t.d)[:, None]).sum(1) * 2 // 3,
    "X(i,j) = relu(B(i,k) / c(k) * D(k,j))": lambda t: np.maximum(q(t.B, t.c[None]) @ t.D, 0),
}


@functools.cache
def able(arch: Arch) -> Arch:
    """A machine that has what no preset has and single kernels need: dividers, and MEM tiles that scatter.

    One for all, as each makes its routing graph anew, which for an array of 512 tiles takes longer than to compile a kernel.
    """
    return replace(arch, pe=replace(arch.pe, primitives=(*arch.pe.primitives, DIVIDER)),
                   mem=replace(arch.mem, primitives=(*arch.mem.primitives, SCATTER)))


def random_operands(einsum: Einsum, extents: dict[str, int], densities: Sequence[float], seed: int
                    ) -> dict[str, Coo]:
    """Random operands; densities are taken in turn."""
    found: dict[str, Coo] = {}
    for access in einsum.operands:
        shape = [extents[index] for index in access.modes]
        density = densities[len(found) % len(densities)]
        found.setdefault(access.tensor, random_tensor(shape, density, seed + len(found)))
    return found


def agreeing(einsum: Einsum, extents: Sequence[int]) -> dict[str, int]:
    """Extents per index, equal where a tensor that is used twice asks for it."""
    found = dict(zip(einsum.order, extents))
    for _ in found:
        shapes: dict[str, tuple[str, ...]] = {}
        for access in einsum.operands:
            for index, other in zip(access.modes, shapes.setdefault(access.tensor, access.modes)):
                found[index] = found[other] = min(found[index], found[other])
    return found
