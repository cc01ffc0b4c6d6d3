import numpy as np
import pytest
from blocks import Block, blocks, joined, read, written
from fibers import seeds
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.hw.arch.primitive import PRIMITIVES
from sardonyx.sim.model.tokens.network import Network
from sardonyx.sim.rtl.bench import Result, primitive_bench, run_primitive

given_blocks = st.integers(1, 2).flatmap(lambda sections: st.tuples(
    st.just(sections), st.lists(st.lists(blocks(sections), max_size=5), min_size=4, max_size=4)))


def run(config: dict[str, int], inputs: list[list[int]], seed: int | None = None) -> Result:
    """The Verilog on the words of each input; it takes all of them."""
    result = primitive_bench("arbiter").run({f"block{at}": each for at, each in enumerate(inputs)},
                                            PRIMITIVES["arbiter"].config.encode(**config), seed)
    assert not result.left
    return result


def model(config: dict[str, int], inputs: list[list[int]]) -> list[int]:
    """What the token model gives."""
    given = {("arbiter", f"block{at}"): each for at, each in enumerate(inputs)}
    return Network({"arbiter": ("arbiter", config)}, ()).run(given, [("arbiter", "block")]).outputs["arbiter", "block"]


def by_number(found: list[int], sections: int) -> dict[int, list[Block]]:
    """The blocks of each number, in order."""
    each: dict[int, list[Block]] = {}
    for (number,), *block in read(found, sections + 1):
        each.setdefault(number, []).append(block)
    return each


def test_the_example() -> None:
    config = {"numbers": 15, "first": 4, "sections": 1}
    assert run_primitive("arbiter", config, {"block0": "", "block1": "2 50 60", "block2": "", "block3": ""})[0] == {
        "block": "1 5 2 50 60"}


@given(given=given_blocks, first=st.integers(0, 60), seed=seeds)
def test_blocks_of_an_input_keep_their_order_and_are_never_mixed(given, first: int, seed: int | None) -> None:
    sections, each = given
    config, inputs = {"sections": sections, "numbers": 15, "first": first}, [joined(map(written, some)) for some in each]
    should = {first + at: some for at, some in enumerate(each) if some}
    assert by_number(run(config, inputs, seed).outputs["block"], sections) == should
    assert by_number(model(config, inputs), sections) == should


@given(given=given_blocks, numbers=st.integers(0, 15), seed=seeds)
def test_blocks_that_have_a_number_leave_as_they_are(given, numbers: int, seed: int | None) -> None:
    """Those of other inputs bring numbers of 20 and more."""
    sections, each = given
    inputs = [joined((() if numbers >> at & 1 else (1, 20 + at)) + tuple(written(block)) for block in some)
              for at, some in enumerate(each)]
    config = {"sections": sections, "numbers": numbers, "first": 0}
    should = {at if numbers >> at & 1 else 20 + at: some for at, some in enumerate(each) if some}
    assert by_number(run(config, inputs, seed).outputs["block"], sections) == should
    assert by_number(model(config, inputs), sections) == should


@pytest.mark.parametrize("used", [(0, 1, 2, 3), (1, 3), (0, 2, 3)])
def test_the_turn_goes_round_among_inputs_that_have_blocks(used: tuple[int, ...]) -> None:
    inputs = [[2, at, at] * 6 if at in used else [] for at in range(4)]
    found = [block[0][0] for block in read(run({"sections": 1, "numbers": 15, "first": 0}, inputs).outputs["block"], 2)]
    assert found == [*used] * 6


def test_a_block_follows_the_one_before_without_a_cycle_between_where_another_input_waits() -> None:
    inputs = [[3, at, at, at] * 5 for at in range(4)]
    result = run({"sections": 1, "numbers": 15, "first": 0}, inputs)
    assert result.cycles == 20 * 6 + 2 and len(result.outputs["block"]) == 20 * 6
    alone = run({"sections": 1, "numbers": 0, "first": 0}, [[1, 7, 1, 8] * 5, [], [], []])
    # One input alone: a cycle between two blocks, in which it is chosen again.
    assert np.diff(alone.stamps["block"]).tolist() == ([1, 1, 1, 2] * 5)[:-1]


def test_no_input_starves() -> None:
    """Three inputs are never empty, and the fourth has its turn every fourth time."""
    inputs = [[1, 1] * 20, [1, 2] * 20, [1, 3] * 5, [1, 4] * 20]
    for seed in (1, 2, 3):
        words = run({"sections": 1, "numbers": 15, "first": 0}, inputs, seed).outputs["block"]
        found = [number for ((number,), _) in read(words, 2)]
        assert found.count(2) == 5 and len(found) == 65
