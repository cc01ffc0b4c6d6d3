"""The engines for spatial arrays: ways to run operations on the words of their ports, all giving the same words.

``golden`` NumPy, from the recurrences alone; ``tokens`` the description of the array, step by step; ``rtl`` its generated
Verilog, compiled with Verilator, on streams.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..hw.arch.elastic import Elastic
from ..hw.arch.merger import Merger
from ..hw.arch.spatial import LENGTH, Spatial, wrapped
from ..hw.spatial.array import SpatialArray
from ..hw.spatial.elastic_array import ElasticArray
from ..hw.spatial.merger import MergerArray
from ..runtime.data import merged
from .model.elastic import simulate as simulate_elastic
from .model.merger import simulate as simulate_merger
from .model.spatial import simulate
from .rtl.bench import Bench

# Cycles after which a run is taken to stand: for each word and step, and without a word beside the steps of an operation.
PATIENCE = 200
# A coordinate, a token, and a value.
Pair = tuple[int, int]


@dataclass(frozen=True)
class Ran:
    """The words of every output port, and how many steps or cycles that took."""

    outputs: dict[str, list[int]]
    cycles: int


@dataclass(frozen=True)
class RanElastic:
    """The pairs of every output port, and how many steps or cycles that took."""

    outputs: dict[str, list[Pair]]
    cycles: int


@dataclass(frozen=True)
class RanMerger:
    """The elements of every lane, and how many steps or cycles that took."""

    lanes: list[list[Pair]]
    cycles: int


def run_tokens(spatial: Spatial, inputs: Mapping[str, Sequence[int]], operations: int) -> Ran:
    """Run operations on the description."""
    found = simulate(spatial, inputs, operations, inputs.get(LENGTH))
    return Ran(found.outputs, found.steps)


def run_rtl(spatial: Spatial, inputs: Mapping[str, Sequence[int]], operations: int, stalls: int | None = None) -> Ran:
    """Run operations in generated Verilog, whose model is built the first time.

    stalls: seed of random stalls at all ports; None: words are always there, and room too. Raises AssertionError for a stream
    that breaks its contract or words that were not taken.
    """
    bits = spatial.bits
    words = {each.name: [word % (1 << bits[each.tensor]) for word in inputs[each.name]]
             for each in spatial.sources}
    if spatial.short:
        words[LENGTH] = [*inputs[LENGTH]]
    most = PATIENCE * (spatial.steps + spatial.interval * operations + sum(map(len, words.values())))
    found = Bench(SpatialArray(spatial)).run(words, stalls=stalls, max_cycles=most, idle=PATIENCE + spatial.steps)
    assert not found.left, f"words are left at ports {', '.join(found.left)}"
    return Ran({port.name: [wrapped(word, bits[port.tensor]) for word in found.outputs[port.name]] for port in spatial.outputs},
               found.cycles)


def run_elastic_tokens(elastic: Elastic, inputs: Mapping[str, Sequence[Pair]]) -> RanElastic:
    """Run an elastic array on its description."""
    found = simulate_elastic(elastic, inputs)
    return RanElastic(found.outputs, found.steps)


def run_elastic_rtl(elastic: Elastic, inputs: Mapping[str, Sequence[Pair]], stalls: int | None = None) -> RanElastic:
    """Run an elastic array in generated Verilog; otherwise as `run_rtl`."""
    bits = {port.name: elastic.bits(port.tensor) for port in (*elastic.inputs, *elastic.outputs)}
    words = {name: [value % (1 << bits[name]) | crd << bits[name] for crd, value in pairs] for name, pairs in inputs.items()}
    most = PATIENCE * (1 + sum(map(len, words.values())))
    found = Bench(ElasticArray(elastic)).run(words, stalls=stalls, max_cycles=most, idle=PATIENCE)
    assert not found.left, f"words are left at ports {', '.join(found.left)}"
    return RanElastic({port.name: [(word >> bits[port.name], wrapped(word, bits[port.name]))
                                   for word in found.outputs[port.name]] for port in elastic.outputs}, found.cycles)


def run_merger_tokens(kind: Merger, lanes: Sequence[Sequence[Sequence[Pair]]]) -> RanMerger:
    """Run a merger on its description; the elements of each lane and way."""
    found = simulate_merger(kind, lanes)
    return RanMerger([*found.lanes], found.steps)


def run_merger_rtl(kind: Merger, lanes: Sequence[Sequence[Sequence[Pair]]], stalls: int | None = None) -> RanMerger:
    """Run a merger in generated Verilog; otherwise as `run_rtl`."""
    words = merged.words(kind, lanes)
    most = PATIENCE * (1 + sum(map(len, words.values())))
    found = Bench(MergerArray(kind)).run(words, stalls=stalls, max_cycles=most, idle=PATIENCE)
    assert not found.left, f"words are left at ports {', '.join(found.left)}"
    return RanMerger(merged.elements(kind, found.outputs), found.cycles)
