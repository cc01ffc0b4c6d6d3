"""Fibers as nested lists, the streams that stand for them, and primitives run on both hardware and token model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from sardonyx.hw.arch.primitive import PRIMITIVES
from sardonyx.hw.arch.tile import TileSpec
from sardonyx.hw.arch.token import DONE, MAYBE, stop
from sardonyx.sim.model.tokens.network import Network
from sardonyx.sim.rtl.bench import Case, Result, primitive_bench

seeds = st.none() | st.integers(1, 1 << 30)
"""Stalls of a run: none, or the seed of random ones."""

words = st.integers(0, 0xFFFF) | st.sampled_from([0, 1, 0x7FFF, 0x8000, 0xFFFF])
refs = words | st.just(MAYBE)
coordinates = st.lists(st.integers(0, 12) | st.integers(0, 0xFFFF), max_size=6, unique=True).map(sorted)


def trees(fibers: st.SearchStrategy[Any], depth: int) -> st.SearchStrategy[Any]:
    """Lists of lists ... of fibers, `depth` deep with the fiber's own list; any of them may be empty."""
    for _ in range(depth - 1):
        fibers = st.lists(fibers, max_size=4)
    return fibers


def tokens(tree: Any, depth: int) -> list[int]:
    """The tokens of a tree: ends that coincide are one stop, of the outermost that ends."""
    if depth == 0:
        return [tree]
    words = [token for child in tree for token in tokens(child, depth - 1)]
    if depth > 1 and tree:
        words.pop()
    return [*words, stop(depth - 1)]


def stream(transactions: Iterable[Any], depth: int) -> list[int]:
    """The stream of trees that follow each other."""
    return [token for tree in transactions for token in (*tokens(tree, depth), DONE)]


def map_leaves(apply: Callable[[Any], Any], tree: Any, depth: int) -> Any:
    """The tree with `apply` on everything `depth` deep."""
    return apply(tree) if depth == 0 else [map_leaves(apply, child, depth - 1) for child in tree]


def parts(transactions: Iterable[Any], at: int, depth: int) -> list[Any]:
    """The trees with component `at` of every tuple `depth` deep."""
    return [map_leaves(lambda each: each[at], tree, depth) for tree in transactions]


def flat(tree: Any, depth: int) -> list[Any]:
    """Everything `depth` deep, in order."""
    return [tree] if depth == 0 else [leaf for child in tree for leaf in flat(child, depth - 1)]


def run(name: str, config: Mapping[str, Any], inputs: Mapping[str, Sequence[int]], seed: int | None = None,
        tile: TileSpec | None = None) -> Result:
    """Run a primitive's Verilog behind its input FIFOs; it must agree with the token model and take everything."""
    primitive = PRIMITIVES[name]
    result = primitive_bench(name, tile).run(inputs, primitive.config.encode(**config), seed)
    assert not result.left
    meaning = Network({name: (name, config)}, ()).run(
        {(name, port): each for port, each in inputs.items()}, [(name, port.name) for port in primitive.outputs])
    assert result.outputs == {port: given for (_, port), given in meaning.outputs.items()}
    return result


def stuck(name: str, config: Mapping[str, Any], inputs: Mapping[str, Sequence[int]]) -> list[Result]:
    """Run a primitive on streams that do not fit: it must wait, whatever comes first.

    The streams are offered three times, so that tokens are left before the FIFOs at the inputs.
    """
    again = {port: [*each] * 3 for port, each in inputs.items()}
    code = PRIMITIVES[name].config.encode(**config)
    results = primitive_bench(name).run_many([Case(again, code, seed) for seed in (None, *range(1, 12))])
    assert all(result.left for result in results)
    return results
