"""Events on the token model, against a trace of what moves in each cycle and against each other."""

from typing import Any

import numpy as np
import pytest
from graphs import network
from hypothesis import given
from hypothesis import strategies as st

import sardonyx
from sardonyx.cli import main
from sardonyx.hw.arch.counters import EVENTS, Counts
from sardonyx.hw.arch.token import parse_stream
from sardonyx.sim.model.counters import counted
from sardonyx.sim.model.tokens.network import Network
from sardonyx.sim.model.tokens.process import Queue
from sardonyx.sim.model.tokens.schedule import Output
from sardonyx.sim.model.tokens.watch import Watched
from sardonyx.tensors.values import random_tensor, to_value

CHAIN = """
first pass_through depth={depth}
sum reducer val=first.o
last pass_through i=sum.val_o
"""
FIBERS = parse_stream("1 2 3 S0 4 S0 S1 D")


def ran(depth: int = 0, **options: Any) -> "dict[Any, Counts]":
    graph = network(CHAIN.format(depth=depth))
    return dict(graph.run({("first", "i"): FIBERS}, [("last", "o")], events=True, **options).events)


def test_a_node_has_the_tokens_of_its_ports_and_what_comes_from_outside_and_goes_there_is_counted() -> None:
    found = ran()
    assert found["first"].tokens == 16 and found["first", "i"].tokens == found["first"].busy == 8
    # Two sums and one of nothing, a stop of one level less, and the end.
    assert found["sum"].tokens == 8 + 5 and found["last"].tokens == 10
    assert found["last", "o"] == Counts(5, 5, found["last", "o"].starved)


def test_no_tile_is_blocked_where_fifos_have_room_and_tokens_are_the_same_where_they_have_none() -> None:
    free, full = ran(), ran(capacity=2)
    assert not any(each.blocked for each in free.values())
    assert {place: each.tokens for place, each in free.items()} == {place: each.tokens for place, each in full.items()}


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), max_size=30))
def test_cycles_are_counted_as_the_model_of_the_hardware_counts_them(moves: "list[tuple[bool, bool, bool]]") -> None:
    """Of an input and an output in each cycle: whether a token enters, leaves, or else waits to be taken."""
    source, output, queue = Output(), Output(), Queue()
    place = Watched([(source, queue)], [output])
    for enters, leaves, waits in moves:
        source.count += enters
        output.count += leaves
        output.staged = Queue([0] * (waits and not leaves))
        place.look()
    moved = np.array([(enters, leaves) for enters, leaves, _ in moves], bool).reshape(-1, 2)
    assert place.counts == counted(moved, np.array([waits and not leaves for _, leaves, waits in moves], bool))


def test_a_token_that_nobody_takes_leaves_as_well() -> None:
    alu = Network({"add": ("alu", {"op": "adc", "stream_a": 1, "stream_b": 1})})
    tokens = parse_stream("1 2 S0 D")
    events = alu.run({("add", port): tokens for port in "ab"}, [("add", "res")], events=True).events
    assert events["add"].tokens == 3 * len(tokens) + 2      # A bit beside each value.


def test_the_graph_and_the_bitstream_have_the_same_events() -> None:
    operands = {"B": to_value(random_tensor((9, 9), 0.3, 1)), "C": to_value(random_tensor((9, 9), 0.3, 2))}
    tokens, fabric = (sardonyx.einsum("X(i,j) = B(i,k) * C(k,j)", tile=4, engine=engine, counters=True, **operands).report
                      for engine in ("tokens", "fabric"))
    assert tokens["counters"] == fabric["counters"]
    assert all(each["tokens"] >= each["busy"] > 0 for each in tokens["counters"])


def test_work_without_sub_tiles_has_no_events() -> None:
    found = sardonyx.einsum("x(i) = b(i) * c(i)", b=np.zeros(5, int), c=np.ones(5, int), engine="tokens", counters=True).report
    assert all(each[event] == 0 for each in found["counters"] for event in EVENTS)


def test_the_command_line_shows_the_events_of_a_graph(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "program", "x(i) = b(i) * c(i)", "--graph", str(tmp_path / "own.gv")]) == 0
    for name in "bc":
        np.save(tmp_path / f"{name}.npy", np.array([1, 0, 2, 3]))
    graph = ["run", "graph", str(tmp_path / "own.gv"), "--operands", str(tmp_path)]
    assert main([*graph, "--engine", "tokens", "--counters"]) == 0
    shown = capsys.readouterr().out
    assert "tile  block" in shown and "starved  blocked" in shown
