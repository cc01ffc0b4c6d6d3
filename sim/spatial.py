"""The engines for spatial arrays: ways to run operations on the words of their ports, all giving the same words.

``golden`` NumPy, from the recurrences alone; ``tokens`` the description of the array, step by step; ``rtl`` its generated
Verilog, compiled with Verilator, on streams.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..hw.arch.chain import ChainedBank
from ..hw.arch.elastic import Balance, Elastic
from ..hw.arch.logic import wrapped
from ..hw.arch.merger import Merger
from ..hw.arch.private_buffer import Bank, PrivateBuffer
from ..hw.arch.spatial import LENGTH, Spatial
from ..hw.arch.token import DATA_BITS
from ..hw.arch.written import Written
from ..hw.spatial.array.elastic_array import ElasticArray
from ..hw.spatial.array.spatial_array import SpatialArray
from ..hw.spatial.buffer.buffered_array import BufferedArray
from ..hw.spatial.merge.merger import MergerArray
from ..runtime.data import merged
from .model.banks.around import Around
from .model.banks.around import cycles as timed_cycles
from .model.banks.stage import Sink
from .model.banks.wide import Settings
from .model.elastic import simulate as simulate_elastic
from .model.merger import simulate as simulate_merger
from .model.private_buffer import given
from .model.queue import Queue
from .model.spatial import simulate
from .model.written import too_many, written
from .rtl import asked
from .rtl.bench import Bench, Result

# Cycles after which a run is taken to stand: for each word and step, and without a word beside the steps of an operation.
PATIENCE = 200
# Cycles besides its elements and bits that a buffer takes for a fiber, at most, in all formats.
FIBER_CYCLES = 8
# A coordinate, a token, and a value.
Pair = tuple[int, int]


@dataclass(frozen=True)
class Ran:
    """The words of every output port, and how many cycles that took."""

    outputs: dict[str, list[int]]
    cycles: int


@dataclass(frozen=True)
class RanElastic:
    """The pairs of every output port without a buffer, the words of arrays that buffers give, and how many cycles that took."""

    outputs: dict[str, list[Pair]]
    cycles: int
    arrays: dict[str, list[int]]


@dataclass(frozen=True)
class RanMerger:
    """The elements of every lane, and how many steps or cycles that took."""

    lanes: list[list[Pair]]
    cycles: int


@dataclass(frozen=True)
class Held:
    """Private buffers, and what they are filled with, by stream; words at the ports that they feed are then not used.

    results: the buffers of results, whose arrays take the place of words at their ports.
    """

    buffers: tuple[PrivateBuffer, ...] = ()
    fills: Mapping[str, Sequence[int]] = field(default_factory=dict)
    operations: int = 1
    results: tuple[Written, ...] = ()

    def ports(self, pairs: Mapping[str, Sequence[Pair]] | None = None, whole: bool = False) -> dict[str, list[Pair]]:
        """The pairs of all ports that they feed; pairs: those of ports by whose coordinates elements may be gathered.

        whole: those of operations beyond, too, that their last tensors serve.
        """
        found: dict[str, list[Pair]] = {}
        for buffer in sorted(self.buffers, key=lambda each: bool(each.asks)):
            found |= given(buffer, self.fills, self.operations, {**(pairs or {}), **found}, whole)
        return found

    def around(self, given: Mapping[str, Sequence[Pair]], array: Spatial | Elastic
               ) -> Callable[[Callable[[str], Sink], Mapping[str, Queue]], Around]:
        """They around an array, from what they give."""
        balanced = isinstance(array, Elastic) and any(isinstance(unit.kind, Balance) for unit in array.units)
        return lambda sink, leaving: Around(self.buffers, self.fills, given, sink, self.results, self.operations, leaving,
                                            self._wide, balanced, self.is_whole)

    def streams(self, words: Mapping[str, list[int]]) -> dict[str, Sequence[int]]:
        """The words of all streams, from those of the array alone."""
        return {**{name: words[name] for name in self.kept(words)}, **self.fills}

    def kept(self, ports: Iterable[str]) -> list[str]:
        """Those ports of the array that no buffer feeds."""
        fed = {name for buffer in self.buffers for names in buffer.sinks for name in names}
        fed |= {LENGTH} if any(bank.short for bank in self._banks()) else set()
        return [name for name in ports if name not in fed]

    @property
    def is_whole(self) -> bool:
        """Whether no tensor serves more operations than there are."""
        return not any(self.operations % bank.operations for bank in self._banks())

    def settings(self) -> dict[str, int]:
        """Of buffers of rows: as many operations share a tensor as may, and have all launches."""
        served, launches = self._wide
        return ({"shared": served - 1} if served > 1 else {}) | ({"launches": launches} if launches else {})

    @property
    def _wide(self) -> Settings:
        wide = [bank for bank in self._banks() if bank.wide]
        return Settings(max((bank.operations for bank in wide), default=1),
                        max((bank.rows for bank in wide if bank.short), default=0))

    @property
    def quiet(self) -> int:
        """Cycles in which buffers may move words inside alone: while one is read fiber by fiber, or the zeros of a dense
        result, or its bits, are written."""
        # Of a chain zeros may be given that are not stored.
        read = [(bank.values if isinstance(bank, ChainedBank) else min(bank.values, bank.words))
                + bank.fibers * (FIBER_CYCLES + -(-bank.levels[-1].extent // DATA_BITS)) for bank in self._banks()]
        return max(read, default=0) + max((each.stored for each in self.results), default=0)

    def _banks(self) -> Iterator[Bank]:
        return (bank for buffer in self.buffers for bank in buffer.banks)


def run_tokens(spatial: Spatial, inputs: Mapping[str, Sequence[int]], operations: int, held: Held = Held()) -> Ran:
    """Run operations on the description; with buffers, on the words that these give, and when."""
    given = held.ports()
    words = {**inputs, **{name: [value for _, value in pairs] for name, pairs in given.items()}}
    lengths = inputs.get(LENGTH)
    outputs = simulate(spatial, words, operations, lengths)
    alone = {name: len(each) for name, each in inputs.items() if name in held.kept(inputs)}
    offered = given if held.is_whole else held.ports(whole=True)
    return Ran(outputs, timed_cycles(spatial, alone, operations, lengths, held.around(offered, spatial)))


def back_to_back(spatial: Spatial, operations: int) -> int:
    """The cycles of so many operations whose words are there from the first one on."""
    words = {each.name: len(each.words) * operations for each in spatial.alone}
    words |= {each.name: len(each.positions) * operations for each in spatial.chains}
    return timed_cycles(spatial, words, operations, None, Held().around({}, spatial))


def run_rtl(spatial: Spatial, inputs: Mapping[str, Sequence[int]], operations: int, stalls: int | None = None,
            held: Held = Held()) -> Ran:
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
    top = BufferedArray(spatial, held.buffers) if held.buffers else SpatialArray(spatial)
    found = _ran(top, held.streams(words), stalls, most + held.quiet * operations, PATIENCE + spatial.steps + held.quiet, held)
    outputs, cycles = asked.asked(found, asked.of_array(spatial, operations, inputs.get(LENGTH)))
    return Ran({port.name: [wrapped(word, bits[port.tensor]) for word in outputs[port.name]] for port in spatial.outputs},
               cycles)


def _ran(top: SpatialArray | ElasticArray | BufferedArray, words: Mapping[str, Sequence[int]], stalls: int | None, most: int,
         idle: int, held: Held) -> Result:
    """Run words in Verilog; UserError if the buffer of a result has no room.

    AssertionError if words are left, or a buffer does not hold what it is filled with.
    """
    found = Bench(top).run(words, held.settings() or 0, stalls=stalls, max_cycles=most, idle=idle)
    if found.status.get("fault") and held.results:
        raise too_many(held.results[0])
    assert not found.left, f"words are left at ports {', '.join(found.left)}"
    assert not found.status.get("fault"), "a buffer was filled with what does not fit"
    return found


def run_elastic_tokens(elastic: Elastic, inputs: Mapping[str, Sequence[Pair]], held: Held = Held()) -> RanElastic:
    """Run an elastic array on its description; with buffers, on the pairs that these give, and when."""
    given = held.ports(inputs, whole=True)
    alone = {name: each for name, each in inputs.items() if name not in given}
    found = simulate_elastic(elastic, alone, held.around(given, elastic), held.operations)
    arrays = {name: words for each in held.results for name, words in written(each, found.outputs).items()}
    taken = {name for each in held.results for name in each.ports}
    outputs = {name: pairs for name, pairs in found.outputs.items() if name not in taken}
    return RanElastic(outputs, found.steps, arrays)


def run_elastic_rtl(elastic: Elastic, inputs: Mapping[str, Sequence[Pair]], stalls: int | None = None,
                    held: Held = Held()) -> RanElastic:
    """Run an elastic array in generated Verilog; otherwise as `run_rtl`."""
    bits = {port.name: elastic.bits(port.tensor) for port in (*elastic.inputs, *elastic.outputs)}
    words = {name: [value % (1 << bits[name]) | crd << bits[name] for crd, value in pairs] for name, pairs in inputs.items()}
    most = PATIENCE * (1 + sum(map(len, words.values())))
    top = BufferedArray(elastic, held.buffers, held.results) if held.buffers or held.results else ElasticArray(elastic)
    found = _ran(top, held.streams(words), stalls, most + held.quiet * held.operations, PATIENCE + held.quiet, held)
    taken = {name for each in held.results for name in each.ports}
    gave, cycles = found.outputs, found.cycles
    if held.buffers:
        gave, cycles = asked.asked(found, asked.of_elastic(elastic, held.results, found, held.operations))
    outputs = {port.name: [(word >> bits[port.name], wrapped(word, bits[port.name])) for word in gave[port.name]]
               for port in elastic.outputs if port.name not in taken}
    arrays = {each.name(name): gave[each.name(name)] for each in held.results for name in each.arrays}
    return RanElastic(outputs, cycles, arrays)


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
