from operator import itemgetter
from typing import Any

import numpy as np
import pytest
from fibers import flat, map_leaves, run, seeds, stream, stuck, trees, words
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.hw.arch.primitive import QUOTIENT_CYCLES
from sardonyx.hw.arch.token import DONE, MAYBE, is_stop, parse_stream
from sardonyx.sim.model.tokens.network import Network
from sardonyx.sim.model.tokens.network import run_primitive as run_model
from sardonyx.sim.model.tokens.process import ProtocolError
from sardonyx.sim.rtl.bench import run_primitive

BOTH = {"stream_a": 1, "stream_b": 1}
NEAR = st.integers(-9, 9).map(lambda value: value % 65536)
operands = st.tuples(*[words | NEAR | st.just(MAYBE)] * 2)


def quotient(a: int, b: int) -> int:
    """What NumPy gives of int16, maybe as 0."""
    left, right = (np.array([0 if word == MAYBE else word], np.uint16).astype(np.int16) for word in (a, b))
    with np.errstate(divide="ignore", over="ignore"):
        return int((left // right).astype(np.uint16)[0])


@pytest.mark.parametrize("a,b,res", [
    ("7 65529 S0 7 5 S1 D", "2 2 S0 0 N S1 D", "3 65532 S0 0 0 S1 D"),
    ("32768 32768 32767 S0 D", "65535 1 32768 S0 D", "32768 32768 65535 S0 D"),
    ("N 0 1 65535 S0 D", "3 65533 65533 3 S0 D", "0 0 65535 65535 S0 D"),
])
def test_examples_of_the_contract(a: str, b: str, res: str) -> None:
    assert run_primitive("divider", BOTH, {"a": a, "b": b})[0] == {"res": res}


@given(depth=st.shared(st.integers(1, 3), key="depth"), seed=seeds, used=st.sampled_from([(1, 1), (1, 0), (0, 1)]),
       constant=words | NEAR, transactions=st.shared(st.integers(1, 3), key="depth").flatmap(
           lambda depth: st.lists(trees(st.lists(operands, max_size=4), depth), min_size=1, max_size=3)))
def test_quotients_are_those_of_numpy(depth: int, seed: int | None, used: tuple[int, int], constant: int,
                                      transactions: list[Any]) -> None:
    inputs = {port: stream([map_leaves(itemgetter(at), tree, depth) for tree in transactions], depth)
              for at, port in enumerate("ab") if used[at]}

    def pair(row: tuple[int, int]) -> list[int]:
        return [word if is_stream else constant for word, is_stream in zip(row, used, strict=True)]

    config = {"stream_a": used[0], "stream_b": used[1], "constant": constant}
    result = run("divider", config, inputs, seed)
    right = stream([map_leaves(lambda row: quotient(*pair(row)), tree, depth) for tree in transactions], depth)
    assert result.outputs["res"] == right
    if seed is None:
        pairs = [pair(row) for tree in transactions for row in flat(tree, depth)]
        divided = sum(MAYBE not in each and 0 not in each for each in pairs)
        # A cycle for each token and in the FIFO at the input, one in the divider.
        assert result.cycles == len(right) + divided * (QUOTIENT_CYCLES - 1) + 2
        assert run_model("divider", config, inputs)[1] == result.cycles - 1


def test_every_small_quotient() -> None:
    pairs = [(a % 65536, b % 65536) for a in range(-20, 21) for b in range(-20, 21)]
    inputs = {port: [*map(itemgetter(at), pairs), DONE] for at, port in enumerate("ab")}
    assert run("divider", BOTH, inputs).outputs["res"] == [*(quotient(*each) for each in pairs), DONE]


@pytest.mark.parametrize("b,text", [("S0 3 D", "a shows 3, b shows S0"), ("3 S1 D", "a shows S0, b shows S1"),
                                    ("3 D", "a shows S0, b shows D")])
def test_operands_out_of_step_wait_and_are_named(b: str, text: str) -> None:
    inputs = {"a": parse_stream("3 S0 D"), "b": parse_stream(b)}
    for result in stuck("divider", BOTH, inputs):
        assert not any(is_stop(token) or token == DONE for token in result.outputs["res"])
    with pytest.raises(ProtocolError) as error:
        run_model("divider", BOTH, inputs)
    assert str(error.value) == f"divider (divider): the operands are out of step: {text}"


def test_without_streams_it_is_silent() -> None:
    assert Network({"it": ("divider", {"constant": 3})}).run({}, [("it", "res")]).outputs == {("it", "res"): []}
    assert run_primitive("divider", {"constant": 3})[0] == {"res": ""}
