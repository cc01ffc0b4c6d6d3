from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib import stream as streams
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from fibers import coordinates, flat, map_leaves, parts, run, seeds, stream, stuck, trees, words
from hypothesis import given
from hypothesis import strategies as st

from sardonyx.hw.arch.token import DONE, MAYBE, TOKEN, parse_stream
from sardonyx.hw.emit import macro
from sardonyx.hw.sparse.dropper import Dropper
from sardonyx.hw.sparse.reducer import Reducer
from sardonyx.hw.stream.fifo import Fifo2
from sardonyx.sim.rtl.bench import Bench, run_primitive

COORDINATE, VALUE = {"form": "coordinate"}, {"form": "value"}


@pytest.mark.parametrize("outer,inner,outer_o,inner_o", [
    ("0 1 2 3 S0 D", "1 S0 1 S0 S0 1 S1 D", "0 1 3 S0 D", "1 S0 1 S0 1 S1 D"),
    ("0 2 S0 D", "0 S0 S1 D", "0 S0 D", "0 S1 D"),
    ("0 1 2 S0 D", "S0 1 S0 S1 D", "1 S0 D", "1 S1 D"),
    ("0 S0 1 S1 D", "S1 3 S2 D", "S0 1 S1 D", "3 S2 D"),
    ("0 2 S0 D", "S0 S1 D", "S0 D", "D"),
    ("S0 D", "S1 D", "S0 D", "D"),
    ("0 S0 1 2 S1 D", "7 S1 S0 8 S2 D", "0 S0 2 S1 D", "7 S1 8 S2 D"),
])
def test_examples_of_the_coordinate_form(outer: str, inner: str, outer_o: str, inner_o: str) -> None:
    given = run_primitive("dropper", COORDINATE, {"outer": outer, "inner": inner})[0]
    assert given == {"outer_o": outer_o, "inner_o": inner_o}


def test_example_of_the_value_form() -> None:
    inputs = {"outer": "0 2 S0 1 3 S1 D", "inner": "0 5 S0 0 N S1 D"}
    assert run_primitive("dropper", VALUE, inputs)[0] == {"outer_o": "2 S0 S1 D", "inner_o": "5 S0 S1 D"}


def fibers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Fibers of (coordinate, what belongs to it)."""
    return coordinates.flatmap(lambda crds: st.tuples(*[inner] * len(crds)).map(
        lambda each: list(zip(crds, each, strict=True))))


def transactions(fiber: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[int, Any]]:
    """A depth, and some trees of it."""
    return st.integers(1, 3).flatmap(
        lambda depth: st.tuples(st.just(depth), st.lists(trees(fiber, depth), min_size=1, max_size=3)))


def pruned(tree: Any, depth: int) -> Any:
    """The tree without empty fibers at any level."""
    return tree if depth == 0 else [child for each in tree
                                    if (child := pruned(each, depth - 1)) != [] or depth == 1]


@given(case=transactions(fibers(st.lists(words, max_size=3))), seed=seeds)
def test_coordinates_of_empty_fibers_leave(case: tuple[int, Any], seed: int | None) -> None:
    depth, given = case
    outer, inner = stream(parts(given, 0, depth), depth), stream(parts(given, 1, depth), depth + 1)
    result = run("dropper", COORDINATE, {"outer": outer, "inner": inner}, seed)

    kept = [map_leaves(lambda fiber: [crd for crd, held in fiber if held], tree, depth - 1) for tree in given]
    assert result.outputs["outer_o"] == stream(kept, depth)
    left = [pruned(tree, depth + 1) for tree in parts(given, 1, depth)]
    assert result.outputs["inner_o"] == [
        token for tree in left for token in (stream([tree], depth + 1) if tree else [DONE])]

    if seed is None:
        # An empty fiber that is the last of its own has two tokens in outer; one cycle each in FIFO and register.
        doubles = sum(bool(fiber) and not fiber[-1][1] for tree in given for fiber in flat(tree, depth - 1))
        assert result.cycles == len(inner) + doubles + 2


@given(case=transactions(fibers(words | st.just(0) | st.just(MAYBE))), seed=seeds)
def test_pairs_of_zero_leave(case: tuple[int, Any], seed: int | None) -> None:
    depth, given = case
    outer, inner = (stream(parts(given, at, depth), depth) for at in (0, 1))
    result = run("dropper", VALUE, {"outer": outer, "inner": inner}, seed)
    kept = [map_leaves(lambda fiber: [each for each in fiber if each[1] not in (0, MAYBE)], tree, depth - 1)
            for tree in given]
    assert result.outputs == {port: stream(parts(kept, at, depth), depth)
                              for at, port in enumerate(("outer_o", "inner_o"))}
    if seed is None:
        assert result.cycles == len(outer) + 1


class Summed(wiring.Component):
    """A dropper with a guided reducer behind it, which reads all of an inner fiber before its coordinate."""

    module_name = "summed"

    def __init__(self) -> None:
        token = streams.Signature(TOKEN)
        super().__init__({"outer": In(token), "inner": In(token), "val_o": Out(token)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.dropper = dropper = macro(Dropper())
        m.submodules.reducer = reducer = macro(Reducer())
        m.submodules.outer = outer = macro(Fifo2(TOKEN))
        m.submodules.inner = inner = macro(Fifo2(TOKEN))
        m.d.comb += reducer.cfg.guided.eq(1)
        wiring.connect(m, wiring.flipped(self.outer), dropper.outer)
        wiring.connect(m, wiring.flipped(self.inner), dropper.inner)
        for source, fifo, sink in ((dropper.outer_o, outer, reducer.crd), (dropper.inner_o, inner, reducer.val)):
            m.d.comb += [fifo.i.payload.eq(source.payload), fifo.i.valid.eq(source.valid), source.ready.eq(fifo.i.ready),
                         sink.payload.eq(fifo.o.payload), sink.valid.eq(fifo.o.valid), fifo.o.ready.eq(sink.ready)]
        wiring.connect(m, reducer.val_o, wiring.flipped(self.val_o))
        return m


@pytest.fixture(scope="module")
def summed() -> Bench:
    return Bench(Summed())


@given(data=st.data(), seed=seeds)
def test_two_entries_behind_it_are_enough_for_a_reducer(summed: Bench, data: st.DataObject, seed: int | None) -> None:
    fiber = fibers(st.lists(words, max_size=3)).filter(lambda fiber: any(held for _, held in fiber))
    given = data.draw(st.lists(st.lists(fiber, min_size=1, max_size=4), min_size=1, max_size=3))
    outer, inner = stream(parts(given, 0, 2), 2), stream(parts(given, 1, 2), 3)
    result = summed.run({"outer": outer, "inner": inner}, stalls=seed)
    assert not result.left
    assert result.outputs["val_o"] == stream(
        [[[sum(held) & 0xFFFF for _, held in fiber if held] for fiber in tree] for tree in given], 2)


@pytest.mark.parametrize("config,outer,inner", [
    (COORDINATE, "0 S0 D", "1 S2 D"),
    (COORDINATE, "0 1 S0 D", "1 S1 D"),
    (COORDINATE, "0 1 S0 D", "S1 D"),
    (COORDINATE, "S0 D", "1 S1 D"),
    (COORDINATE, "0 S0 D", "1 S0 D"),
    (COORDINATE, "S0 D", "S0 S1 D"),
    (COORDINATE, "0 D", "1 D"),
    (VALUE, "0 S0 D", "S0 D"),
    (VALUE, "0 S0 D", "1 S1 D"),
])
def test_waits_when_streams_are_out_of_step(config: dict[str, str], outer: str, inner: str) -> None:
    results = stuck("dropper", config, {"outer": parse_stream(outer), "inner": parse_stream(inner)})
    assert not any(DONE in each.outputs["outer_o"] for each in results)
