from operator import itemgetter
from typing import Any

import numpy as np
import pytest
from fibers import map_leaves, stream, trees, words
from graphs import every_way
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.hw.arch.op import BY_NAME
from sardonyx.hw.arch.token import MAYBE, parse_stream
from sardonyx.sim.model.tokens.network import Network, run_primitive
from sardonyx.sim.model.tokens.process import ProtocolError

OPERATIONS = {"adc": lambda a, b, c: a + b, "mult0": lambda a, b, c: a * b, "muladd": lambda a, b, c: a * b + c,
              "tsa": lambda a, b, c: a - b + c, "xor": lambda a, b, c: a ^ b}
depths = st.shared(st.integers(1, 3), key="depth")
rows = st.lists(st.tuples(*[words | st.just(MAYBE)] * 3), max_size=4)


@pytest.mark.parametrize("op", OPERATIONS)
@given(depth=depths, used=st.tuples(*[st.booleans()] * 3).filter(any),
       given=depths.flatmap(lambda depth: st.lists(trees(rows, depth), min_size=1, max_size=3)))
def test_combines_operands_as_numpy_does(op: str, depth: int, used: tuple[bool, ...], given: list[Any]) -> None:
    def operand(row: Any, at: int) -> np.uint16:
        return np.uint16(0 if row[at] == MAYBE else row[at]) if used[at] else np.uint16(7 + at)

    def result(row: Any) -> int:
        with np.errstate(over="ignore"):
            return int(OPERATIONS[op](*(operand(row, at) for at in range(3))))

    inputs = {port: stream([map_leaves(itemgetter(at), tree, depth) for tree in given], depth)
              for at, port in enumerate("abc") if used[at]}
    config = {"op": op} | {f"stream_{port}": used[at] for at, port in enumerate("abc")}
    config |= {f"const_{port}": 7 + at for at, port in enumerate("abc")}
    res = stream([map_leaves(result, tree, depth) for tree in given], depth)
    assert every_way("alu", config, inputs, {"res": res}) == len(res) + 1


def test_bits_go_with_data_and_the_condition_with_results() -> None:
    config = {"op": BY_NAME["sel"].code, "stream_a": 1, "stream_d": 1, "const_b": 9, "cond": 0}
    inputs = {("it", "a"): parse_stream("0 5 S0 0 S1 D"), ("it", "d"): [1, 0, 1]}
    outcome = Network({"it": ("alu", config)}).run(inputs, [("it", "res"), ("it", "p")])
    assert outcome.outputs == {("it", "res"): parse_stream("0 9 S0 0 S1 D"), ("it", "p"): [1, 0, 1]}


def test_without_streams_it_is_silent_and_unused_codes_give_zero() -> None:
    assert run_primitive("alu", {"const_a": 1})[0] == {"res": []}
    assert run_primitive("alu", {"op": 63, "stream_a": 1}, {"a": [5]})[0] == {"res": [0]}


@pytest.mark.parametrize("b,text", [("S0 3 D", "a shows 3, b shows S0"), ("3 S1 D", "a shows S0, b shows S1"),
                                    ("3 D", "a shows S0, b shows D")])
def test_operands_out_of_step_are_named(b: str, text: str) -> None:
    inputs = {"a": parse_stream("3 S0 D"), "b": parse_stream(b)}
    with pytest.raises(ProtocolError) as error:
        run_primitive("alu", {"stream_a": 1, "stream_b": 1}, inputs)
    assert str(error.value) == f"alu (alu): the operands are out of step: {text}"
