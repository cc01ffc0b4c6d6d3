"""Waves are those that no value is ahead of, and what has none is told why."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sardonyx import designs
from sardonyx.compiler.spatial.project import passing
from sardonyx.compiler.spatial.wavefront import wave

WAVES = {"matmul_input_stationary": (1, 1), "matmul_weight_stationary": (1, 1), "matmul_output_stationary": (1, 1),
         "matmul_deep": (2, 1), "matmul_cube": (1, 1, 1), "longest_common": (1,), "matmul_broadcast": (0, 0),
         "matmul_hexagonal": (0, 0), "fir_filter": (0,)}


@pytest.mark.parametrize("name", WAVES)
def test_designs_have_these_waves_and_others_say_why(name: str) -> None:
    spatial = designs.design(name).spatial
    assert spatial.wave == WAVES[name]
    assert passing(spatial).reason == {
        "matmul_broadcast": "values pass on within a step", "matmul_hexagonal": "values move in a circle of directions",
        "fir_filter": "values move in a circle of directions"}.get(name, "")


@pytest.mark.parametrize("name", WAVES)
def test_a_wave_takes_its_cycles_out_of_the_steps_and_leaves_none_ahead(name: str) -> None:
    spatial = designs.design(name).spatial
    for source, sink, _, delay in spatial.wires:
        assert 0 <= spatial.ranks[sink] - spatial.ranks[source] <= delay
    launches = [spatial.launch(cell.position, step) for cell in spatial.cells for step in cell.steps]
    assert min(launches) == 0 and max(launches) == spatial.launches - 1
    assert spatial.launches <= spatial.steps


def test_operations_may_end_early_where_all_steps_behind_some_are_alike_and_none_overlap() -> None:
    cuts = {name: designs.design(name).spatial.cut for name in WAVES}
    assert {name: cut for name, cut in cuts.items() if cut} == {
        "matmul_input_stationary": 1, "matmul_weight_stationary": 1, "matmul_deep": 1, "matmul_broadcast": 1}


WIRES = st.dictionaries(st.tuples(st.tuples(*[st.integers(-2, 2)] * 2), st.integers(0, 3)), st.integers(1, 64), max_size=4)


@given(WIRES)
def test_no_wave_leaves_fewer_bits_waiting(wires: "dict[tuple[tuple[int, ...], int], int]") -> None:
    def flowing(ways: "tuple[int, ...]") -> int:
        late = {wire: sum(a * b for a, b in zip(ways, wire[0])) for wire in wires if any(wire[0])}
        fits = all(0 <= cycles <= delay for (_, delay), cycles in late.items())
        return sum(wires[wire] for wire, cycles in late.items() if cycles == wire[1] > 0) if fits else -1

    found = wave(wires, 2).ways
    assert flowing(found) == max(flowing(ways) for ways in itertools.product(range(-3, 4), repeat=2)) >= 0


def test_words_that_would_wait_in_more_registers_than_there_are_between_pes_make_no_wave() -> None:
    wires = {((1,), 1): 8}
    assert wave(wires, 1, [((0,), 4), ((2,), 4)]).ways == (1,)
    refused = wave(wires, 1, [((0,), 4), ((3,), 4)])
    assert (refused.ways, refused.reason) == ((0,), "words at ports would wait in more registers than there are between PEs")


def test_an_array_of_many_axes_is_searched_in_bounds() -> None:
    assert wave({((1,) * 7, 7): 8}, 7).ways == (1,) * 7
