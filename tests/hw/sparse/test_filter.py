import pytest
from blocks import blocks, joined, written
from fibers import run, seeds
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.sim.rtl.bench import run_primitive

MOST = 63
numbered = st.integers(1, 3).flatmap(lambda sections: st.tuples(
    st.just(sections), st.lists(st.tuples(st.integers(0, MOST), blocks(sections)), max_size=8)))
bounds = st.tuples(st.integers(0, MOST), st.integers(0, MOST)).map(sorted)


@pytest.mark.parametrize("config,inputs", [
    ({"given": 0}, {"block": "2 1 70 0 2 50 60", "number": ""}),
    ({"given": 1}, {"block": "1 70 2 50 60", "number": "2 0"}),
])
def test_examples(config: dict[str, int], inputs: dict[str, str]) -> None:
    found, _ = run_primitive("filter", {"sections": 1, "first1": 1, "first2": 2, **config}, inputs)
    assert found == {"block0": "2 50 60", "block1": "", "block2": "1 70"}


def test_an_output_that_keeps_numbers_has_them_in_front() -> None:
    found, _ = run_primitive("filter", {"sections": 1, "first1": 1, "first2": 2, "keep": 4},
                             {"block": "2 1 70 0 0", "number": ""})
    assert found == {"block0": "0", "block1": "", "block2": "2 1 70"}


@given(given=numbered, bounds=bounds, keep=st.integers(0, 7), apart=st.booleans(), seed=seeds)
def test_every_block_leaves_whole_at_the_output_of_its_number(given, bounds, keep: int, apart: bool, seed: int | None) -> None:
    sections, items = given
    first1, first2 = bounds
    numbers = [number for number, _ in items]
    inputs = {"block": joined(([] if apart else [number]) + written(block) for number, block in items),
              **({"number": numbers} if apart else {})}
    result = run("filter", {"sections": sections, "given": int(apart), "keep": keep, "first1": first1, "first2": first2},
                 inputs, seed)
    for at, mine in enumerate((range(first1), range(first1, first2), range(first2, MOST + 1))):
        assert result.outputs[f"block{at}"] == joined(
            ([number] if keep >> at & 1 else []) + written(block) for number, block in items if number in mine)
    if seed is None and items:
        # A word a cycle, numbers included, behind the FIFO at the input; a number that comes last and does not stay shows not.
        assert result.cycles <= sum(1 + len(written(block)) for _, block in items) + 1


def test_an_output_that_waits_stops_the_link_and_loses_nothing() -> None:
    for seed in range(1, 6):
        found, _ = run_primitive("filter", {"sections": 2, "first1": 1, "first2": 2},
                                 {"block": joined([number % 3, 2, 0, number, 1, 9] for number in range(30)), "number": ""},
                                 stalls=seed)
        for at in range(3):
            assert found[f"block{at}"] == " ".join(f"2 0 {number} 1 9" for number in range(at, 30, 3))
