"""Affine patterns: recurrences against the definition by nested loops; what does not fit is refused by name."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.compiler.dense.map.affine import Pattern, events, fields, nest, recurrence, replay
from sardonyx.hw.arch import presets
from sardonyx.hw.arch.errors import UserError
from sardonyx.hw.arch.tile import MEM
from sardonyx.sim.model.cycles.buffer import schedule

AMBER = presets.get("amber").mem


@st.composite
def patterns(draw: st.DrawFn) -> Pattern:
    """Up to six loops, whose words come one after the other."""
    extents = draw(st.lists(st.integers(1, 4), max_size=6))
    inner, cycles = 0, []
    for extent in extents:
        cycles.append(inner + draw(st.integers(1, 1000)))
        inner += (extent - 1) * cycles[-1]
    addresses = [draw(st.integers(-3000, 3000)) for _ in extents]
    return Pattern(tuple(extents), tuple(cycles), tuple(addresses), draw(st.integers(0, 65535)), draw(st.integers(-9, 5000)))


@given(patterns())
def test_events_are_those_of_nested_loops(pattern: Pattern) -> None:
    cycles, addresses = events(pattern)
    expected = [(pattern.cycle + sum(i * s for i, s in zip(reversed(index), pattern.cycle_strides, strict=True)),
                 pattern.address + sum(i * s for i, s in zip(reversed(index), pattern.address_strides, strict=True)))
                for index in product(*(range(extent) for extent in reversed(pattern.extents)))]
    assert list(zip(cycles.tolist(), addresses.tolist(), strict=True)) == expected


@given(patterns())
def test_the_fields_of_a_pattern_walk_it(pattern: Pattern) -> None:
    gaps = recurrence(pattern.extents, pattern.cycle_strides)
    wide = all(gap <= 65536 for gap, extent in zip(gaps, pattern.extents, strict=True) if extent > 1)
    if not wide:
        with pytest.raises(UserError):
            fields(MEM, "rd0", pattern)
        return
    cycles, addresses = events(pattern)
    walked = schedule(MEM, fields(MEM, "rd0", pattern), "rd0", int(cycles.max()) + 1)
    assert [each.cycle for each in walked] == cycles.tolist()
    assert [each.address for each in walked] == (addresses % MEM.buffer_words).tolist()


def test_a_recurrence_contains_the_return_of_the_loops_inside() -> None:
    assert recurrence((3, 2, 4), (1, 64, 1000)) == (1, 62, 1000 - 66)
    assert np.array_equal(events(Pattern((), (), (), 5, 6)), [[5], [6]])


def test_loops_of_one_iteration_take_no_hardware() -> None:
    assert fields(MEM, "wr0", Pattern((1, 5, 1, 6, 1), (9, 1, 9, 8, 9), (9, 1, 9, 8, 9), 0, 0)) == \
        fields(MEM, "wr0", Pattern((5, 6), (1, 8), (1, 8), 0, 0))


@pytest.mark.parametrize("port,pattern,message", [
    ("wr1", Pattern((2, 2, 2), (1, 2, 4), (1, 2, 4), 0, 0),
     "wr1: a pattern of 3 loops, but wr1 has 2\n"
     "  try: merge loops whose strides continue each other, or choose larger sizes of the MEM tiles"),
    ("rd0", Pattern((2049,), (1,), (1,), 0, 0), "rd0: iterations of loop 0: 2049 does not fit rd0\n  try: give 1..2048"),
    ("rd0", Pattern((2, 2), (1, 65538), (1, 1), 0, 0),
     "rd0: cycles when loop 1 advances: 65537 does not fit rd0\n  try: give 1..65536"),
    ("rd1", Pattern((2,), (1,), (1,), 65536, 0),
     "rd1: the cycle of the first word: 65536 does not fit rd1\n  try: give 0..65535"),
    ("rd1", Pattern((2,), (1,), (1,), -1, 0), "rd1: the cycle of the first word: -1 does not fit rd1\n  try: give 0..65535"),
    ("valid", Pattern((4, 2), (1, 2), (0, 0), 0, 0),
     "valid: loop 1 of valid goes 1 cycles back\n  try: order the loops by their cycles, innermost first, without overlap"),
    ("valid", Pattern((4, 2), (1, 3), (0, 0), 0, 0),
     "valid: loop 1 of valid goes 0 cycles back\n  try: order the loops by their cycles, innermost first, without overlap")])
def test_what_does_not_fit_is_named(port: str, pattern: Pattern, message: str) -> None:
    with pytest.raises(UserError) as error:
        fields(MEM, port, pattern)
    assert str(error.value) == message


def test_only_tiles_with_replay_replay() -> None:
    assert replay(MEM, "wr0", 40, -1) == {"wr0_on": 1, "wr0_replay": 1, "wr0_cycle": 40, "wr0_address": 2047}
    with pytest.raises(UserError, match=r"^wr0: wr0 cannot walk the loops of a read port\n"):
        replay(AMBER, "wr0", 40, 0)


@pytest.mark.parametrize("places,loops", [
    ([0], []), ([0, 1, 2], [(3, 1)]), ([0, 0, 0], [(3, 0)]),
    ([0, 0, 1, 1, 2, 2], [(2, 0), (3, 1)]), ([0, 1, 2, 0, 1, 2], [(3, 1), (2, 0)]),
    ([0, 1, 1, 2, 2, 3], [(2, 1), (3, 1)]), ([0, 0, 1, 1, 0, 0, 1, 1], [(2, 0), (2, 1), (2, 0)]),
    ([0, 1, 1, 2, 2], None), ([0, 0, 1], None), ([0, 1, 2, 4], None), ([0, 0, 1, 2], None)])
def test_places_are_loops_or_are_not(places: list[int], loops: list[tuple[int, int]] | None) -> None:
    assert nest(np.array(places)) == loops


def sums(loops: list[tuple[int, int]]) -> list[int]:
    """Where loops go, innermost first, by definition."""
    found = [0]
    for count, stride in loops:
        found = [turn * stride + inner for turn in range(count) for inner in found]
    return found


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(-9, 9)), max_size=4))
def test_all_that_loops_go_to_is_found_as_loops(loops: list[tuple[int, int]]) -> None:
    found = nest(np.array(sums(loops)))
    assert found is not None and sums(found) == sums(loops) and len(found) <= len(loops)
