"""Arrays in step, whole, from ports to ports: whatever waits, each result is of the words of its operation and of no others.

One operation is followed, any of the first ones. Its words have any values that stay, those of all others any at any time; its
results must be those of its own words, at every port and in order. So a word that was taken a step too early or too late, lost,
or kept in a PE for the next operation shows in a result, and so does a result that leaves twice or not at all. Products are a
cheap function of the same operands (`prover`): which one does not matter.
"""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Array, Module, Mux, Signal, Value
from chains import keeps_contract
from prover import Harness, Verdict, always, assume, cover, free, prove, reachable

from sardonyx import spatial as sp
from sardonyx.hw.arch.spatial import Chain, Port, Spatial
from sardonyx.hw.emit import macro
from sardonyx.hw.spatial.array import wave
from sardonyx.hw.spatial.array.keep import Loading
from sardonyx.hw.spatial.array.spatial_array import SpatialArray

# Of sums; of the number of an operation, more than a run of the bound has.
SUM_BITS, OPERATION_BITS = 2, 4
Element = tuple[int, ...]


def array(transform: list[list[int]]) -> Spatial:
    """Products of 2 x 2 matrices of words of a bit, with sums of two: the solver says which words they are."""
    design = sp.Design(sp.functionality("C(i,j) = A(i,k) * B(k,j)", dtype="int8"), sp.Transform(transform),
                       {"i": 2, "j": 2, "k": 2})
    found = design.spatial
    return dataclasses.replace(
        found, variables=tuple((name, SUM_BITS if name == "c" else 1) for name, _ in found.variables),
        operands=tuple(dataclasses.replace(each, bits=1) for each in found.operands),
        results=tuple(dataclasses.replace(each, bits=SUM_BITS) for each in found.results))


ARRAYS = {
    "weights stay": [[0, 0, 1], [0, 1, 0], [1, 1, 1]],
    "results stay": [[1, 0, 0], [0, 1, 0], [1, 1, 1]],
}


class Followed(Harness):
    """An array between sources that keep the contract and sinks that do as they like."""

    def __init__(self, spatial: Spatial) -> None:
        self.spatial = spatial
        super().__init__()

    def build(self, m: Module) -> None:
        m.submodules.array = part = macro(SpatialArray(self.spatial))
        which = free(m, OPERATION_BITS, "which", constant=True)
        kept = {(port.tensor, word.element): free(m, self.spatial.bits[port.tensor], f"{port.name}_{n}", constant=True)
                for port in self.spatial.inputs for n, word in enumerate(port.words)}
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
        return operation, nth

    def _gives(self, m: Module, name: str, port: Any, which: Value, words: list[Any]) -> None:
        operation, nth = self._turn(m, name, port, len(words))
        any_word = free(m, len(port.payload), f"{name}_any")
        m.d.comb += [port.valid.eq(free(m, 1, f"{name}_valid")),
                     port.payload.eq(Mux(operation == which, Array(words)[nth] if len(words) > 1 else words[0], any_word))]
        keeps_contract(m, name, port, assume)

    def _takes(self, m: Module, name: str, port: Any, which: Value, words: list[Value]) -> None:
        operation, nth = self._turn(m, name, port, len(words))
        m.d.comb += port.ready.eq(free(m, 1, f"{name}_ready"))
        wanted = Signal(len(port.payload), name=f"{name}_wanted")
        m.d.comb += wanted.eq(Array(words)[nth] if len(words) > 1 else words[0])
        always(m, f"{name} gives what its operation has", ~(port.valid & (operation == which))
               | (port.payload.as_unsigned() == wanted))
        waits = keeps_contract(m, name, port)
        reachable(m, f"{name} gives a second operation after it waited", waits & port.valid & port.ready & (operation == 1))


def _product(kept: Mapping[tuple[str, Element], Any], element: Element) -> Value:
    """The element of a result that has what words it is made of."""
    i, j = element
    of_k = [kept["A", (i, k)].as_signed() * kept["B", (k, j)].as_signed() for k in range(2)]
    return of_k[0] + of_k[1]


@pytest.mark.parametrize("name", ARRAYS)
def test_each_result_is_of_the_words_of_its_operation(name: str, tmp_path: Path) -> None:
    assert prove(Followed(array(ARRAYS[name])), tmp_path, bound=12) == Verdict(True)


@pytest.mark.parametrize("name", ARRAYS)
def test_an_operation_follows_another_one_that_waited_within_the_bound(name: str, tmp_path: Path) -> None:
    assert cover(Followed(array(ARRAYS[name])), tmp_path, 12)


class Careless(Loading):
    """Takes the words of an operation for complete when they are not."""

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.d.comb += [self.full.eq(1), self.load.eq(self.arrived)]
        return m


def test_a_chain_whose_words_are_taken_too_early_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wave, "Loading", Careless)
    claim = "C_1_0 gives what its operation has"
    assert prove(Followed(array(ARRAYS["weights stay"])), tmp_path, bound=8, only=claim).failed == (claim,)
