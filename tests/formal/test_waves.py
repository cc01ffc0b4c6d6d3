"""Arrays in step, whole, from ports to ports: whatever waits, each result is of the words of its operation and of no others.

That is proved in `test_waves_ever`; here is what is proved, that it can happen, and that it can fail. One operation is
followed, any. Its words have any values that stay, those of all others any at any time; its results must be those of its own
words, at every port and in order. So a word that was taken a step too early or too late, lost, or kept in a PE for the next
operation shows in a result, and so does a result that leaves twice or not at all. Products are a cheap function of the same
operands (`prover`): which one does not matter.
"""

import dataclasses
from collections.abc import Mapping
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from chains import keeps_contract
from prover import Harness, always, assume, cover, free, prove, reachable

from sardonyx import spatial as sp
from sardonyx.hw.arch.spatial import Chain, Port, Spatial
from sardonyx.hw.emit import macro
from sardonyx.hw.spatial.array import spatial_array, wave
from sardonyx.hw.spatial.array.beat import Beat
from sardonyx.hw.spatial.array.exit import Exit
from sardonyx.hw.spatial.array.keep import Loading
from sardonyx.hw.spatial.array.spatial_array import SpatialArray
from sardonyx.hw.spatial.array.wave import delayed

# Of sums; of the number of an operation, of which more are counted than are under way at once.
SUM_BITS, OPERATION_BITS = 2, 3
Element = tuple[int, ...]


MATRICES, VECTOR = "C(i,j) = A(i,k) * B(k,j)", "C(i) = A(i,k) * B(k)"
EIGHT = {"i": 2, "j": 2, "k": 2}
ARRAYS: dict[str, tuple[str, list[list[int]], dict[str, int]]] = {
    "weights stay": (MATRICES, [[0, 0, 1], [0, 1, 0], [1, 1, 1]], EIGHT),
    "results stay": (MATRICES, [[1, 0, 0], [0, 1, 0], [1, 1, 1]], EIGHT),
    "weights stay, all at once": (MATRICES, [[0, 0, 1], [1, 0, 0], [0, 1, 0]], EIGHT),
    "results stay, all at once": (MATRICES, [[1, 0, 0], [0, 1, 0], [0, 0, 1]], EIGHT),
    "results stay, hops of two cycles": (MATRICES, [[1, 0, 0], [0, 1, 0], [1, 2, 1]], EIGHT),
    "hexagonal, two operations at once": (MATRICES, [[1, 0, -1], [0, 1, -1], [1, 1, 1]], EIGHT),
    "a row, results stay": (VECTOR, [[1, 0], [1, 1]], {"i": 2, "k": 2}),
    "a row, weights stay": (VECTOR, [[0, 1], [1, 1]], {"i": 3, "k": 2}),
    "a row, kept for two steps": (VECTOR, [[0, 1], [2, 1]], {"i": 3, "k": 2}),
}


def array(name: str) -> Spatial:
    """Products of matrices of words of a bit, with sums of two: the solver says which words they are."""
    text, transform, extents = ARRAYS[name]
    found = sp.Design(sp.functionality(text, dtype="int8"), sp.Transform(transform), extents).spatial
    return dataclasses.replace(
        found, variables=tuple((name, SUM_BITS if name == "c" else 1) for name, _ in found.variables),
        operands=tuple(dataclasses.replace(each, bits=1) for each in found.operands),
        results=tuple(dataclasses.replace(each, bits=SUM_BITS) for each in found.results))


class Followed(Harness):
    """An array between sources that keep the contract and sinks that do as they like.

    turns: of each port the operation and the number of the word in it that is next, and how many words an operation has.
    """

    def __init__(self, spatial: Spatial, probes: "dict[str, tuple[str, int]] | None" = None) -> None:
        self.spatial = spatial
        self.turns: dict[str, tuple[Signal, Signal, int]] = {}
        self.words: dict[str, list[Any]] = {}
        super().__init__(probes)

    def build(self, m: Module) -> None:
        m.submodules.array = part = macro(SpatialArray(self.spatial))
        which = free(m, OPERATION_BITS, "which", constant=True)
        kept = {(port.tensor, word.element): free(m, self.spatial.bits[port.tensor], f"{port.name}_{n}", constant=True)
                for port in self.spatial.inputs for n, word in enumerate(port.words)}
        self.which, self.kept = which, kept
        for source in self.spatial.sources:
            self._gives(m, source.name, getattr(part, source.name), which, [kept[each] for each in self._elements(source)])
        for port in self.spatial.outputs:
            words = [_product(kept, word.element) for word in port.words]
            self._takes(m, port.name, getattr(part, port.name), which, words)

    def _elements(self, source: Port | Chain) -> list[tuple[str, Element]]:
        """What a stream gives in an operation."""
        if isinstance(source, Port):
            return [(source.tensor, word.element) for word in source.words]
        ports = {port.position: port for port in self.spatial.inputs if port.tensor == source.tensor}
        return [(source.tensor, ports[at].words[0].element) for at in reversed(source.positions)]

    def _turn(self, m: Module, name: str, port: Any, count: int) -> tuple[Signal, Signal]:
        """The operation and the number of the word in it that is next at a port."""
        operation = Signal(OPERATION_BITS, name=f"{name}_operation")
        nth = Signal(range(count), name=f"{name}_nth")
        with m.If(port.valid & port.ready):
            m.d.sync += [nth.eq(Mux(nth == count - 1, 0, nth + 1)), operation.eq(operation + (nth == count - 1))]
        self.turns[name] = operation, nth, count
        return operation, nth

    def _gives(self, m: Module, name: str, port: Any, which: Value, words: list[Any]) -> None:
        operation, nth = self._turn(m, name, port, len(words))
        self.words[name] = words
        any_word = free(m, len(port.payload), f"{name}_any")
        m.d.comb += [port.valid.eq(free(m, 1, f"{name}_valid")),
                     port.payload.eq(Mux(operation == which, Array(words)[nth] if len(words) > 1 else words[0], any_word))]
        keeps_contract(m, name, port, assume)

    def _takes(self, m: Module, name: str, port: Any, which: Value, words: list[Value]) -> None:
        operation, nth = self._turn(m, name, port, len(words))
        self.words[name] = words
        m.d.comb += port.ready.eq(free(m, 1, f"{name}_ready"))
        wanted = Signal(len(port.payload), name=f"{name}_wanted")
        m.d.comb += wanted.eq(Array(words)[nth] if len(words) > 1 else words[0])
        always(m, f"{name} gives what its operation has", ~(port.valid & (operation == which))
               | (port.payload.as_unsigned() == wanted))
        waits = keeps_contract(m, name, port)
        reachable(m, f"{name} gives a second operation after it waited", waits & port.valid & port.ready & (operation == 1))


def each_array() -> list[Any]:
    """All, of which but two are slow."""
    return [name if n < 2 else pytest.param(name, marks=pytest.mark.slow) for n, name in enumerate(ARRAYS)]


def _product(kept: Mapping[tuple[str, Element], Any], element: Element) -> Value:
    """The element of a result that has what words it is made of."""
    terms = {each[1] for tensor, each in kept if tensor == "A"}
    of_k = [kept["A", (element[0], k)].as_signed() * kept["B", (k, *element[1:])].as_signed() for k in sorted(terms)]
    return reduce(add, of_k)


@pytest.mark.parametrize("name", each_array())
def test_an_operation_follows_another_one_that_waited(name: str, tmp_path: Path) -> None:
    assert cover(Followed(array(name)), tmp_path, 16)


class Careless(Loading):
    """Takes the words of an operation for complete when they are not."""

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.d.comb += [self.full.eq(1), self.load.eq(self.arrived)]
        return m


class Hasty(Beat):
    """Begins an operation whenever its first words are there."""

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        later = Signal(self.steps - 1)
        m.d.comb += [self.at.eq(Cat(self.ready, later)), self.step.eq(self.at.any() & self.complete)]
        with m.If(self.step):
            m.d.sync += later.eq(self.at)
        return m


class Forgetful(Exit):
    """Gives the word of now in place of the one that was kept."""

    def elaborate(self, platform: Any) -> Module:
        m = super().elaborate(platform)
        m.d.comb += self.o.payload.eq(self.word)
        return m


def _sooner(m: Module, value: Value, cycles: int, name: str, reset_less: bool = False) -> Value:
    """A word of A is at its PE a cycle before its wave."""
    return delayed(m, value, cycles - name.startswith("A"), name, reset_less)


@pytest.mark.parametrize("module,name,broken", [
    (wave, "Loading", Careless),
    *(pytest.param(*each, marks=pytest.mark.slow) for each in (
        (wave, "Beat", Hasty), (spatial_array, "Exit", Forgetful), (wave, "delayed", _sooner)))])
def test_words_of_another_operation_are_found(module: Any, name: str, broken: Any, tmp_path: Path,
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, name, broken)
    claim = "C_1_0 gives what its operation has"
    assert prove(Followed(array("weights stay")), tmp_path, bound=10, only=claim).failed == (claim,)
