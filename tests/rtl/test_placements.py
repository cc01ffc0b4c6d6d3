"""What a program takes wherever it is placed."""

import numpy as np
from machines import KERNELS

import sardonyx


def test_a_sum_of_three_takes_as_many_cycles_whatever_its_placement() -> None:
    """Its second and third joiner take the same two streams: one that lags by a register would lose a word in ten."""
    draw, cycles = np.random.default_rng(3), []
    operands = {name: draw.integers(1, 9, 900) * (draw.random(900) < 0.4) for name in "bcd"}
    for seed in (0, 2, 3, 5):
        found = sardonyx.einsum("x(i) = b(i) + c(i) + d(i)", **operands, arch=KERNELS, engine="rtl", tile=900, seed=seed)
        np.testing.assert_array_equal(found.value, sum(operands.values()))
        assert found.cycles is not None
        cycles.append(found.cycles)
    assert max(cycles) - min(cycles) < 15, cycles


def test_a_number_times_a_vector_takes_as_many_cycles_whatever_its_placement() -> None:
    """Repeating and looking up the number takes more registers of routes in some placements: a cycle in 17 or 9 was lost."""
    draw, cycles = np.random.default_rng(4), []
    b, c = 3, draw.integers(1, 9, 1000) * (draw.random(1000) < 0.9)
    for seed in (0, 1, 4, 5):
        found = sardonyx.einsum("x(i) = b * c(i)", b=b, c=c, arch=KERNELS, engine="rtl", tile=1000, seed=seed)
        np.testing.assert_array_equal(found.value, b * c)
        assert found.cycles is not None
        cycles.append(found.cycles)
    assert max(cycles) - min(cycles) < 15, cycles
