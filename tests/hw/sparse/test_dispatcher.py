from collections import Counter

from fibers import seeds
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.hw.arch.primitive import PRIMITIVES
from sardonyx.hw.arch.token import DONE, parse_stream
from sardonyx.sim.model.tokens.network import Network
from sardonyx.sim.rtl.bench import Result, primitive_bench, run_primitive

done_streams = st.lists(st.lists(st.sampled_from([*parse_stream("3 S0 S1 N D"), DONE]), max_size=8), min_size=4, max_size=4)


def run(config: dict[str, int], inputs: list[list[int]], seed: int | None = None) -> Result:
    """The Verilog until nothing moves any more."""
    result = primitive_bench("dispatcher").run({f"done{at}": each for at, each in enumerate(inputs)},
                                               PRIMITIVES["dispatcher"].config.encode(**config), seed)
    assert not result.left
    return result


def model(config: dict[str, int], inputs: list[list[int]]) -> dict[str, list[int]]:
    """What the token model gives."""
    given = {("dispatcher", f"done{at}"): each for at, each in enumerate(inputs)}
    outputs = [("dispatcher", port) for port in ("number", "log")]
    found = Network({"dispatcher": ("dispatcher", config)}, ()).run(given, outputs)
    return {port: found.outputs["dispatcher", port] for port in ("number", "log")}


def test_free_copies_are_named_in_turn() -> None:
    found, _ = run_primitive("dispatcher", {"copies": 15, "first": 8, "ahead": 2}, {f"done{at}": "" for at in range(4)})
    assert found == {"number": "8 9 10 11 8 9 10 11",
                     "log": " ".join(f"1 {number}" for number in [8, 9, 10, 11] * 2)}


def test_a_copy_that_is_done_is_named_again() -> None:
    found, _ = run_primitive("dispatcher", {"copies": 3, "ahead": 1},
                             {"done0": "1 S0", "done1": "2 S0 D", "done2": "", "done3": ""})
    assert found["number"] == "0 1 1"


@given(streams=done_streams, copies=st.integers(0, 15), ahead=st.integers(1, 3), seed=seeds)
def test_a_copy_is_named_for_what_it_may_have_ahead_and_each_time_it_is_done(streams, copies: int, ahead: int, seed: int | None
                                                                             ) -> None:
    config = {"copies": copies, "first": 3, "ahead": ahead}
    inputs = [each if copies >> at & 1 else [] for at, each in enumerate(streams)]
    should = {3 + at: ahead + each.count(DONE) for at, each in enumerate(streams) if copies >> at & 1}
    for found in (run(config, inputs, seed).outputs, model(config, inputs)):
        assert Counter(found["number"]) == should
        assert found["log"] == [word for number in found["number"] for word in (1, number)]


@given(numbers=st.lists(st.lists(st.integers(0, 63), max_size=6), min_size=4, max_size=4), seed=seeds)
def test_numbers_of_other_dispatchers_are_given_in_order(numbers, seed: int | None) -> None:
    config = {"copies": 0, "first": 0, "ahead": 1}
    for found in (run(config, numbers, seed).outputs, model(config, numbers)):
        assert Counter(found["number"]) == Counter(number for each in numbers for number in each)
        assert found["log"] == [word for number in found["number"] for word in (1, number)]
    tagged = [[16 * at + number % 16 for number in each] for at, each in enumerate(numbers)]
    found = run(config, tagged, seed).outputs["number"]
    assert [[number for number in found if number // 16 == at] for at in range(4)] == tagged


def test_a_copy_is_named_again_only_when_it_is_done() -> None:
    """Copy 1 is done after a long fiber, copy 0 is not."""
    result = run({"copies": 3, "ahead": 1}, [[5] * 80, [7] * 40 + [DONE], [], []])
    assert result.outputs["number"] == [0, 1, 1]
    assert result.stamps["number"][2] > result.stamps["done1"][-1]
